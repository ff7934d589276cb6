"""Bounds of eigenvalues, without the cost of finding them all.

A matrix C is given by its product with axes, ``times(U) = C U'``: the axes are rows, the products columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .axes import matched_overlap
from .knowledge import Matrix, Vector
from .symmetric import eigenpairs, orthonormal_rows

Times = Callable[[Matrix], Matrix]
TINY = float(np.finfo(np.float64).tiny)

# Products. The axis of the last look is a good start. Of noise in 64 to 256 inputs, looked at four times in a
# half-life, three products find the largest eigenvalue to 5 %: one to turn the axes, and these. A random
# start takes six. Of 48 streams of 64 and 128 inputs with six components that come and go, 45 have the
# changes of rank of looks at everything, and three have one a step of the grid later; with one more product
# 47 and one, with one less 26 and 18 (seeds from 5,000 on).
STEPS = 2
"""Products with the matrix by which its largest eigenvalue is found; one more where no axes are turned."""

# A squared sine. An axis of four times the noise is known that well from thirty samples for each input.
TURNED = 0.01
"""A kept axis may be this far from an eigenvector (bound of Davis and Kahan)."""

# Products of C with all axes. Each divides what is left of an angle by a ratio of eigenvalues.
TURNS = 3
"""Steps of subspace iteration after which axes that are still too far are not worth another one."""

# A cosine. Above the root of one half no other axis can be nearer.
SAME = 0.71
"""An axis is in the place of its predecessor where their inner product exceeds this."""


class SpectrumMoments(NamedTuple):
    """Numbers that stay where a matrix stays, by one product with the kept axes; sums are per sample."""

    kept: tuple[float, ...]
    """Quotients of Rayleigh along the kept axes."""
    rest: float
    """Sum of the eigenvalues beyond them."""
    spread: float
    """Sum of their squares over the square of their sum; infinite where squares overflow or vanish."""
    strayed: float
    """Largest squared sine between a kept axis and the eigenvector near it, as far as that is beyond all of
    them."""
    mixed: float
    """Largest share of the variance of scores along one axis that those along the others tell."""


def moments_of(trace: float, squares: float, axes: Matrix, CU: Matrix, count: float) -> SpectrumMoments:
    """Moments of C, given its trace, the sum of the squares of its entries, and its product with kept axes.

    With P the projection beyond the axes, ``|PCP|^2 = |C|^2 - 2 |CU|^2 + |UCU|^2``. A new component adds its
    square to that, which is much more than noise moves it by: the sum of squares of noise's eigenvalues is
    nearly a constant, in units of their mean.
    """
    kept: list[float] = []
    strayed = mixed = 0.0
    if len(axes):
        H = axes @ CU
        kept = H.diagonal().tolist()
        lengths, inside = np.einsum("ij,ij->j", CU, CU).tolist(), np.einsum("ij,ij->j", H, H).tolist()
        squares += sum(inside) - 2 * sum(lengths)
    rest = trace - sum(kept)
    if kept:
        mean, least = rest / max(axes.shape[1] - len(kept), 1), min(kept)
        if not least > mean:
            strayed = math.inf
        else:
            for mine, length, within in zip(kept, lengths, inside, strict=True):
                strayed = max(strayed, (length - within) / (mine - mean) / (mine - mean))
                mixed = max(mixed, (within - mine * mine) / mine / least)
    return SpectrumMoments(
        tuple([mine / count for mine in kept]),
        rest / count,
        squares / rest / rest if rest > 0 and TINY < squares < math.inf else math.inf,
        strayed,
        mixed,
    )


class Leading(NamedTuple):
    """Lower bounds of the first eigenvalues, with their axes as rows."""

    lam: Vector
    axes: Matrix


def turned(times: Times, axes: Matrix, rank: int) -> Leading | None:
    """Turn axes towards the eigenvectors, in the order and with the signs that they have.

    With ``U C U' = W diag(q) W'``, the columns z of ``C U'W`` are the axes of before times C, ``z'z / q`` is
    a lower bound of an eigenvalue, and ``z'z - q^2`` the squared distance of ``C u`` from ``q u``. None where
    axes have turned too far for a few such steps.

    Parameters
    ----------
    times
        Product of C with axes.
    axes
        Orthonormal axes as rows, perhaps one more than are kept.
    rank
        Number of axes that are kept.
    """
    for _ in range(TURNS):
        CU = times(axes)
        q, W = eigenpairs(axes @ CU)
        if not q[-1] > 0:
            return None
        order = _matched(W, q, rank)
        if order is not None:
            W, q = W[:, order], q[order]
        rows, squares = orthonormal_rows(CU @ W)
        if rows is None:
            return None
        axes = rows
        if _are_close(q.tolist(), squares, rank):
            return Leading(squares / q, axes)
    return None


def _matched(W: Matrix, lam: Vector, rank: int) -> NDArray[np.intp] | None:
    """Order of new axes, given their inner products with those of before (rows) as columns; signs in place.

    None: they are in the order of those before.
    """
    diagonal: list[float] = W.diagonal().tolist()
    if min(map(abs, diagonal)) > SAME:
        if min(diagonal) < 0:
            W *= np.sign(diagonal)
        return None
    order, signs = matched_overlap(W.T, lam, rank, np.ones(len(lam)))
    W[:, order] *= signs
    return order


def _are_close(q: list[float], squares: list[float], rank: int) -> bool:
    """True if kept axes with these Rayleigh quotients were close enough to eigenvectors to be so now.

    The step has divided what was left of an angle by the ratio of the quotient to the one behind, if any.
    """
    last = q[-1] if len(q) > rank else 0.0
    for mine, square in zip(q[:rank], squares, strict=False):
        gap = max(mine - last, 0.0) * (mine / last if last else 1.0)
        if square - mine * mine > TURNED * gap * gap:
            return False
    return True


def largest_beyond(times: Times, axes: Matrix) -> tuple[float, Vector]:
    """The largest eigenvalue of C on the complement of all axes but the last, and a direction near its own.

    A few steps of Lanczos' method: the largest Ritz value and its residual. Of noise this is between 0.95 and
    1.05 of the eigenvalue where the start is that of the last look, and all of it where something stands out.

    Parameters
    ----------
    times
        Product of C with an axis.
    axes
        Axes as rows, and the direction to start from as the last of them; they are orthonormal.
    """
    rank, n = len(axes) - 1, axes.shape[1]
    steps = STEPS if rank else STEPS + 1
    basis, T = np.empty((rank + steps, n)), np.zeros((steps, steps))
    basis[: rank + 1] = axes
    for i in range(steps):
        known = basis[: rank + i + 1]
        w = times(known[-1])
        along = known @ w
        w -= along @ known
        T[i, : i + 1] = along[rank:]
        norm = math.sqrt(w @ w)
        if not norm > 0 or i + 1 == steps:
            break
        np.divide(w, norm, out=basis[rank + i + 1])
    ritz, vectors = eigenpairs(T[: i + 1, : i + 1])
    bound = float(ritz[0]) + norm * abs(float(vectors[-1, 0]))
    return bound, vectors[:, 0] @ known[rank:]
