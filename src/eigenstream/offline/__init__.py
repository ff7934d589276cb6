"""Offline answers: the closed forms of Section II and Appendix A, and the costs they minimize.

    X        (T, n)  input, rows are samples        lam  eigenvalues of the second moment X'X / T
    Y        (T, k)  output                         d    eigenvalues of Y'Y / T, d = max(lam - theta, 0)
    U        (k, n)  principal axes of X            Y  = X U' diag(sqrt(d / lam))

Sample weights turn T into their sum and X'X into a weighted sum: the discounted problems of Section V are
the weighted ones with ``beta^(2(T-1-t))``. The output is unique up to a rotation; this one is diagonal.

Chen, Pehlevan and Chklovskii (2016), doi:10.48550/arXiv.1612.03480.
"""

from .closed_forms import Floats as Floats
from .closed_forms import Solution as Solution
from .closed_forms import cost as cost
from .closed_forms import fixed_signs as fixed_signs
from .closed_forms import leading as leading
from .closed_forms import solve as solve
from .closed_forms import spectrum as spectrum
from .interneurons import SaddleSolution as SaddleSolution
from .interneurons import cost_equalizing as cost_equalizing
from .interneurons import cost_hard as cost_hard
from .interneurons import goal_of as goal_of
from .interneurons import hard_spectrum as hard_spectrum
from .interneurons import solve_equalizing as solve_equalizing
from .interneurons import solve_hard as solve_hard
