"""Moments of rows that the closed form needs: mean, scale and spectrum.

Rows are an array, or sparse, or of a library that registers its own `levels`, `sums_of_squares` and
`spectrum_of` (see `eigenstream.integrations.dask`).
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats as Floats
from ..array_types import Vector as Vector
from ..learners.scale import gain_of, scale_of
from ..learners.sparse import SparseRows
from ..learners.sparse_spectrum import leading_spectrum
from ..offline import spectrum


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
    return Moments(T, mean, scale, int(varies.sum()), variances, lam, axes)


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
