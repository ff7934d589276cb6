"""Moments of rows that the closed form needs: mean, scale, spectrum, and likeness to predecessors.

Rows are an array, or sparse, or of a library that registers its own `levels`, `sums_of_squares`,
`spectrum_of` and `stretches_of` (see `eigenstream.integrations.dask`).
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats as Floats
from ..array_types import Vector as Vector
from ..learners.lags import WIDEST, BlockSums, LagSums, block_sums, projections_on
from ..learners.moves import Moves, moves_of
from ..learners.scale import gain_of, scale_of
from ..learners.sparse import SparseRows
from ..learners.sparse_spectrum import leading_spectrum
from ..offline import spectrum
from .plan import BLOCK

STRETCHES = 256
"""Stretches of rows by which likeness to predecessors is judged, at most: likeness needs no more."""

# Runs. Two of them, the beginning and the end, know nothing of each other where rows are sorted: handwriting
# by digit had 52 components instead of a stream's 54. With 8 and 16 it has 54, and noise of six kinds is as
# quiet (seeds from 850,000 on); many short runs would know too much of their neighbours.
RUNS = 8
"""Runs of stretches, of which every second makes one half."""

LARGEST_SAMPLE = 2**25
"""Numbers in all stretches together, at most: 256 MiB."""


class Moments(NamedTuple):
    """First and second moments of rows. All but mean and scale are in units of the scale."""

    n_samples: int
    mean: Floats
    """Mean that is subtracted from each input; zeros if they are not centered (n)."""
    scale: Floats | None
    """Divisor of each of them after that; None: ones."""
    n_inputs: int
    """Number of inputs that vary."""
    input_variances: Vector
    lam: Floats
    """Eigenvalues of the second moment, largest first: all of them, or the first of a large sparse matrix."""
    axes: Floats
    """The first of its axes, as rows."""
    persistence: Vector | None
    """Number of rows that say as much as an independent one, after 0, 1, ... components; None: 1."""
    moves: Moves | None
    """Sums over differences from row to row along the axes; None where rows are not alike."""

    @property
    def total(self) -> float:
        """Variance in all directions together."""
        complete = len(self.lam) == min(self.n_samples, len(self.mean))
        return float((self.lam if complete else self.input_variances).sum(dtype=np.float64))


def moments(rows: Any, k: int, *, center: bool, standardize: bool) -> Moments:
    """The moments of rows (T x n), with at most k axes."""
    T, n = rows.shape
    first, means, varies = levels(rows)
    mean = np.zeros(n, dtype=rows.dtype)
    if center:
        # A constant column must vanish exactly: its mean, being a sum, would leave a rounding residue.
        mean = np.where(varies, means, first).astype(rows.dtype)
        rows = rows - mean
    scale = None
    if standardize:
        scale = scale_of(gain_of(sums_of_squares(rows), T, np.zeros(n))).astype(rows.dtype)
        rows = rows / scale
    lam, axes, variances = spectrum_of(rows, min(k, T))
    return Moments(T, mean, scale, int(varies.sum()), variances, lam, axes, *likeness_of(rows, k, axes))


def likeness_of(rows: Any, k: int, axes: Floats) -> tuple[Vector | None, Moves | None]:
    """Number of rows that say as much as an independent one, after 0, 1, ... of k axes of centered rows.

    And where rows are alike, how they move along these axes.

    By stretches of rows from all over, each judged by axes from the other half of them: axes that were fitted
    to a stretch take its slowest movement with them, and leave it more lively than it is.
    """
    T, n = rows.shape
    number = max(round(T / BLOCK), 1)
    block = T // number  # so that all rows take part where there are few, in either direction of time
    most = max(min(STRETCHES, LARGEST_SAMPLE // (block * n)), 2)
    starts = np.linspace(0, T - block, min(number, most)).round().astype(np.int64)
    R = np.asarray(stretches_of(rows, starts, block), dtype=np.float64)
    lags, second = LagSums.none(n, min(k, n)), np.arange(len(R)) * RUNS // len(R) % 2 == 1
    for part, others in ((R[~second], R[second] if second.any() else R), (R[second], R[~second])):
        if len(part):
            unfitted = spectrum(others.reshape(-1, n), min(lags.directions, others.shape[0] * block))[1]
            Y = projections_on(part, unfitted, lags.directions)
            sums, pairs, inputs, _ = block_sums(None, Y, part, None, True, moves=False)
            lags = lags.after(1.0, BlockSums(sums.sum(axis=0), pairs.sum(axis=0), inputs.sum(axis=0)))
    persistence = lags.persistence(np.square(axes, dtype=np.float64))
    if persistence is None or n > WIDEST:
        return persistence, None
    Y = projections_on(R, np.asarray(axes, dtype=np.float64), lags.directions)
    moves = moves_of(Y, R, None, (slice(None),))
    return persistence, Moves(*(part.sum(axis=0) for part in moves))


@singledispatch
def stretches_of(rows: Any, starts: NDArray[np.int64], length: int) -> Floats:
    """Stretches of rows that begin there, one behind the other (m, length, n)."""
    return np.stack([np.asarray(rows[start : start + length]) for start in starts.tolist()])


@stretches_of.register
def _(rows: SparseRows, starts: NDArray[np.int64], length: int) -> Floats:
    return np.stack([(rows[start : start + length] - rows.m).get() for start in starts.tolist()])


@singledispatch
def levels(rows: Any) -> tuple[Floats, Vector, NDArray[np.bool_]]:
    """The first row, the mean, and which columns vary."""
    return rows[0], rows.mean(axis=0, dtype=np.float64), rows.min(axis=0) != rows.max(axis=0)


@levels.register
def _(rows: SparseRows) -> tuple[Floats, Vector, NDArray[np.bool_]]:
    first, T = rows[:1].get()[0], len(rows)
    return first, np.full(T, 1 / T) @ rows, rows.differ_from(first)


@singledispatch
def sums_of_squares(rows: Any) -> Vector:
    """Sum of squares of each column."""
    sums: Vector = np.square(rows, dtype=np.float64).sum(axis=0)
    return sums


@sums_of_squares.register
def _(rows: SparseRows) -> Vector:
    return np.asarray(rows.sums_of_squares(), dtype=np.float64)


@singledispatch
def spectrum_of(rows: Any, k: int) -> tuple[Floats, Floats, Vector]:
    """Eigenvalues of the second moment, the first k axes as rows, and the mean square of each column."""
    return *spectrum(rows, k), np.mean(np.square(rows, dtype=np.float64), axis=0)


@spectrum_of.register
def _(rows: SparseRows, k: int) -> tuple[Floats, Floats, Vector]:
    return *leading_spectrum(rows, k), rows.sums_of_squares() / len(rows)
