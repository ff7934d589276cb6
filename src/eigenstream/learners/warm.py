"""Leading eigenpairs of the small matrix of the subspace learner, from those that were leading before.

    M = [[D diag(lam), B'], [B, G]]     r directions of before, and b new rows

is diagonal but for the new rows: axes of before are nearly eigenvectors. Three steps of subspace iteration
find those that stand out tenfold to 8 digits and more, and two find directions in the noise behind them. More
steps would find noise that holds more of *these* rows, and let go of what gathers slowly over many blocks.
Eigenvalues are those of M on the directions that were found, without any further error.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..array_types import Matrix, Vector
from .arrays import beside, host, launches
from .symmetric import DEPENDENT, eigenpairs, load_routines, orthonormal_rows
from .threads import one_thread

# A share of the rows of M, of which there are 88 to 152. At 72 of 136 it takes 60 % of the time of the whole
# decomposition, at a third 35 %.
MOST_WARM = 0.53
"""Largest share of directions that are looked for in this way."""

# Steps. Of two components that begin in the middle of 4,000 rows of 400 and 1,000 inputs and of 3,000 rows
# of 2,000, errors at the end are 0.18, 0.10 and 0.16. With four steps of all they are 0.20, 0.38 and 0.89,
# with whole decompositions 0.20, 0.39 and 1.0, so that fewer steps are better, not only faster. With a
# half-life of 500 the rank follows at rows 2,251, 2,320 and 1,920, for 2,251, 2,256 and 1,824 of whole
# decompositions (seeds from 50,000 on, four to six each; the number of steps was chosen on these).
LEADING_STEPS, STEPS = 1, 2
"""Products of M with the leading directions alone, and then with all."""

# Directions, as many as are spare where k components are kept. Not measured at this number of steps.
RISING = 8
"""Directions behind the components that lead, too: the next component rises among them."""


def warm_pairs(M: Any, r: int, kept: int, wanted: int) -> tuple[Vector, Matrix] | None:
    """The leading eigenvalues, largest first, and eigenvectors as columns; None where M has to be decomposed.

    Directions that nothing stands out in are mixed with the new rows, so that what is new in these is found,
    too. None where directions nearly depend on each other after a step: M has a lower rank, or one block
    outweighs everything before it.

    Parameters
    ----------
    M
        The matrix, both triangles; the first r rows are those of directions of before. On a device, only the
        matrix of the directions that were found is decomposed on the host.
    r
        Number of directions of before.
    kept
        Number of directions that stand out.
    wanted
        Number of eigenvalues that are looked for, at least r.
    """
    load_routines()
    steps = (min(kept + RISING, wanted),) * LEADING_STEPS + (wanted,) * STEPS
    with one_thread():
        if launches(M):
            Q, small, fine = M.iterated(_mixture_beside(wanted - kept, len(M) - r, M), kept, steps, DEPENDENT)
            if not fine:
                return None
        else:
            M = host(M)
            Z = np.zeros((wanted, len(M)))
            Z[:r] = M[:r]
            Z[kept:] += _mixture(wanted - kept, len(M) - r) @ M[r:]
            for first in steps:
                Q = orthonormal_rows(Z[:first].T)[0]
                if Q is None:
                    return None
                Z[:first] = Q @ M
            small = Z @ Q.T
        e, W = eigenpairs(small)
        return e, (W.T @ Q).T


def _mixture_beside(directions: int, rows: int, M: Any) -> Any:
    """`_mixture` on the device of M; it is put there once."""
    key = directions, rows, M.device
    if key not in _PLACED:
        if len(_PLACED) >= MOST_PLACED:
            _PLACED.clear()
        _PLACED[key] = beside(_mixture(directions, rows), M)
    return _PLACED[key]


# Mixtures. Ranks change rarely: a few models in turn need no more.
MOST_PLACED = 16
"""Most mixtures that are kept on devices."""
_PLACED: dict[Any, Any] = {}


@lru_cache(maxsize=16)
def _mixture(directions: int, rows: int) -> Matrix:
    """Random weights of new rows in each direction: the same ones always."""
    weights: Matrix = np.random.default_rng(0).standard_normal((directions, rows)) / np.sqrt(rows)
    return weights
