"""Axes that keep their order and direction from one moment to the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..offline import fixed_signs
from .knowledge import Matrix, Vector

# A ratio of eigenvalues. Near ties swap from look to look by chance alone, and so would the columns of the
# scores; two per cent is below what anybody reads as another order. Guards against flicker, not measured.
CROSSING = 1.02
"""Two axes trade places only once their eigenvalues have crossed by this factor."""


def matched(U: Matrix, lam: Vector, reference: Matrix, rank: int) -> tuple[NDArray[np.intp], Vector]:
    """Order and signs that keep each axis in the place and direction of its predecessor.

    An axis without a predecessor has its largest entry positive.

    Parameters
    ----------
    U, lam
        Axes as rows and their eigenvalues, largest first.
    reference
        The predecessors, as rows.
    rank
        How many axes are kept: none of them trades places with one that is not.
    """
    if len(U) == 0:
        return np.arange(0), np.ones(0)
    signs = np.sign(np.sum(fixed_signs(U) * U, axis=1))
    return matched_overlap(U @ reference.T, lam, rank, signs)


def matched_overlap(
    overlap: Matrix, lam: Vector, rank: int, signs: Vector
) -> tuple[NDArray[np.intp], Vector]:
    """`matched`, given the inner products of new axes (rows) and their predecessors (columns).

    Neighbours trade places against their eigenvalues only if these differ by less than `CROSSING`. The rank
    may be that of an earlier look: gross values may have hidden some of its axes in rounding since then.
    """
    order, rank = np.arange(len(lam)), min(rank, len(lam))
    if overlap.shape[1] == 0:
        return order, signs
    place = np.argmax(np.abs(overlap), axis=1)
    nearest = overlap[order, place]
    related = np.abs(nearest) > 0.5
    signs = np.where(np.abs(nearest) > 0.2, np.sign(nearest), signs)
    place = np.where(related, place, overlap.shape[1] + order)
    near = np.flatnonzero(lam[: max(rank - 1, 0)] < CROSSING * lam[1:rank])
    for i in near:  # insertion sort by place, across near ties only
        while i >= 0 and i + 1 != rank:
            one, two = order[i], order[i + 1]
            if place[one] < place[two] or lam[one] > CROSSING * lam[two]:
                break
            order[i], order[i + 1] = two, one
            i -= 1
    return order, signs[order]
