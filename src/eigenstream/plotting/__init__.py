"""Pictures of models and monitors, in colours that the colour-blind can tell apart.

Each ``plot_`` function takes a model, a monitor or its history and, if you like, an axis of matplotlib; it
returns the axis. ``draw_history`` and ``draw_control`` put several of them into one figure, as ``--picture``
does on the command line. Needs the extra ``plot`` (matplotlib), which loads when something is drawn.
"""

from .axes import panels, require_matplotlib
from .components import plot_components
from .control import draw_control, plot_contributions, plot_control_chart, plot_trace
from .fleet import draw_fleet
from .palette import BLACK as BLACK
from .palette import BLUE as BLUE
from .palette import GREEN as GREEN
from .palette import ORANGE as ORANGE
from .palette import PURPLE as PURPLE
from .palette import RED as RED
from .palette import SKY as SKY
from .palette import YELLOW as YELLOW
from .plane import plot_loadings, plot_scores
from .spectrum import draw_history, plot_rank_history, plot_spectrum, plot_tracks

__all__ = [
    "draw_control",
    "draw_fleet",
    "draw_history",
    "panels",
    "plot_components",
    "plot_contributions",
    "plot_control_chart",
    "plot_loadings",
    "plot_rank_history",
    "plot_scores",
    "plot_spectrum",
    "plot_trace",
    "plot_tracks",
    "require_matplotlib",
]
