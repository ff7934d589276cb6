"""Theory: what the paper derives of the networks, and what can be said of their dynamics.

`two_levels` is Section III of the paper: three regularizers on two sets of degenerate eigenvalues. `dynamics`
says how fast modes grow and fade, what forgetting costs, how the activity settles and which stationary points
are stable.
"""

from .dynamics import NetworkMoments as NetworkMoments
from .dynamics import averaged_flow as averaged_flow
from .dynamics import axis_error as axis_error
from .dynamics import best_window as best_window
from .dynamics import effective_window as effective_window
from .dynamics import growth_exponent as growth_exponent
from .dynamics import growth_rate as growth_rate
from .dynamics import jacobi_bound as jacobi_bound
from .dynamics import jacobian as jacobian
from .dynamics import jacobian_eigenvalues as jacobian_eigenvalues
from .dynamics import least_bias_window as least_bias_window
from .dynamics import output_bias as output_bias
from .dynamics import relaxation_rates as relaxation_rates
from .dynamics import start_cost as start_cost
from .dynamics import start_cost_by_output as start_cost_by_output
from .dynamics import stationary_point as stationary_point
from .two_levels import GRID as GRID
from .two_levels import AlphaRow as AlphaRow
from .two_levels import PhaseBoundary as PhaseBoundary
from .two_levels import TransmissionCurve as TransmissionCurve
from .two_levels import alpha_table as alpha_table
from .two_levels import phase_diagram as phase_diagram
from .two_levels import transmission_curve as transmission_curve
from .two_levels import two_level_spectrum as two_level_spectrum
