"""Leading eigenpairs of the small matrix of the subspace learner, from those that were leading before.

    M = [[D diag(lam), B'], [B, G]]     r directions of before, and b new rows

is diagonal but for the new rows: axes of before are nearly eigenvectors. Four steps of subspace iteration
find those that stand out tenfold to 13 digits, and in the noise behind them directions that hold 99 % of what
the best ones would. Eigenvalues are those of M on the directions that were found, without any further error.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..array_types import Matrix, Vector
from .arrays import beside, host, launches
from .symmetric import DEPENDENT, eigenpairs, load_routines, orthonormal_rows
from .threads import one_thread

# A share of the rows of M, of which there are 88 to 152. At a half the iteration takes 70 % of the time of
# the whole decomposition, at a third 40 %, at 72 of 136 92 %; on a GPU, at 264 of 520, half as long again.
MOST_WARM = 0.5
"""Largest share of directions that are looked for in this way."""

# Steps. Components are found after two, but what has just begun gathers too slowly then. After four, errors
# of two components that begin in the middle of 4,000 rows are 1 % larger than with whole decompositions.
STEPS = 4
"""Products of M with all directions."""


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
    with one_thread():
        if launches(M):
            Q, small, fine = M.iterated(_mixture_beside(wanted - kept, len(M) - r, M), kept, STEPS, DEPENDENT)
            if not fine:
                return None
        else:
            M = host(M)
            Z = np.zeros((wanted, len(M)))
            Z[:r] = M[:r]
            Z[kept:] += _mixture(wanted - kept, len(M) - r) @ M[r:]
            for _ in range(STEPS):
                Q = orthonormal_rows(Z.T)[0]
                if Q is None:
                    return None
                Z = Q @ M
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
