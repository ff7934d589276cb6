"""Rows with missing entries, filled in by what is already known of the stream.

A row is taken for ``x = mean + U' z + noise``: z Gaussian with covariance V along the known axes U, the noise
of the same variance f in every direction. Given the observed entries o, with ``A = U_o U_o' + f V^-1``,

    E z = A^-1 U_o (x_o - mean_o)          x_m = mean_m + U_m' E z
    cov x_m = f (I + U_m' A^-1 U_m)        what filled entries lack: expectations vary too little

which takes one linear system with as many unknowns as there are axes. A row that has come enters V by a
correction of rank one, so that the next row is filled by all rows before it.

V holds every direction that the model knows, not the kept ones alone: what is not kept may still say much
about a missing entry. How much of it is structure, and how much chance, follows from the spectrum and the
number of rows: variances that are not kept are shrunk towards their mean by the oracle approximating
shrinkage of Chen, Wiesel, Eldar and Hero (2010, doi:10.1109/TSP.2010.2053029). Of white noise nothing is left
but its level, which is f.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..array_types import Floats, Matrix, Vector
from ..learners.knowledge import Knowledge

MISFIT = 1e-3
"""Least error that a model is taken to have, as a share of the mean variance.

With next to no noise, entries would be filled as if the axes were exact: what they are off by, and what is
filled in is learnt, would grow from row to row.
"""

# A share of the noise. Such a direction moves an expectation by less than a tenth of the error that noise
# leaves in it; without a bound every row would add an axis.
FAINT = 0.1
"""Directions whose variance is below this share of the noise say next to nothing about missing entries."""


class Gaussian(NamedTuple):
    """Distribution of a row. All but the mean is in standardized units, where there are such."""

    mean: Vector
    """In the units of the rows (n)."""
    axes: Matrix
    """U: orthonormal, as rows (r, n)."""
    variances: Vector
    """The diagonal of V: variance along each axis over and above the noise (r)."""
    noise: float
    """f: the variance of the noise in every direction."""
    effective: float
    """The effective number of rows that all this was learnt from."""
    gain: Vector | None = None
    """Factors of a centered row (n), see `eigenstream.learners.scale`; None: ones."""


def gaussian(
    mean: Floats,
    axes: Floats,
    variances: Floats,
    rank: int,
    total: float,
    count: float,
    scale: Floats | None = None,
    *,
    limited: bool = False,
) -> Gaussian:
    """Distribution of a row by a model.

    Parameters
    ----------
    mean, axes, variances
        What is known of the input: its mean, its principal axes as rows, kept ones first, and the variance
        along each.
    rank
        How many of them are kept. All others count as noise, which may have a structure of its own.
    total
        Variance in all directions together.
    count
        The effective number of rows.
    scale
        What centered inputs are divided by; None: nothing.
    limited
        Whether axes were left out, not because no row has shown them: all other directions then have one
        level of variance, which is noise.
    """
    n, r = len(mean), len(variances)
    spectrum = np.zeros(n)
    spectrum[:r] = variances
    spectrum += (
        max(total - float(spectrum.sum()), 0.0) / n
    )  # what is in none of the directions is in all of them
    chance, rest = shrinkage(spectrum[rank:], count), float(spectrum[rank:].mean()) if rank < n else 0.0
    level = float(spectrum.mean())
    structure = np.where(np.arange(r) < rank, 1.0, 1 - chance)
    least = max(chance * rest, shrinkage(spectrum, count) * level, MISFIT * level)
    noise = least + (1 - chance) * float(spectrum[-1]) * (limited and r < n)
    V = structure * spectrum[:r] + least - noise
    known = V > FAINT * noise
    gain = None if scale is None else 1 / np.asarray(scale, dtype=np.float64)
    U = np.asarray(axes[known], dtype=np.float64)
    return Gaussian(np.asarray(mean, dtype=np.float64), U, V[known], noise, count, gain)


def gaussian_of(known: Knowledge) -> Gaussian:
    """Distribution of a row by what a learner knows, of which nothing is kept for sure."""
    count = known.effective
    return gaussian(known.mean, known.U, known.lam / count, 0, known.trace / count, count, known.scale)


def shrinkage(variances: Vector, count: float) -> float:
    """Share by which to shrink sample variances towards their mean: 1 where they differ by chance alone.

    Parameters
    ----------
    variances
        Along all directions that are compared.
    count
        How many samples they were measured on.

    Examples
    --------
    >>> shrinkage(np.array([1.1, 1.0, 0.9]), 100.0), round(shrinkage(np.array([3.0, 1.0, 0.1]), 100.0), 3)
    (1.0, 0.046)
    """
    n = max(len(variances), 1)
    squares, square = float(variances @ variances), float(variances.sum()) ** 2
    spread = (count + 1 - 2 / n) * (squares - square / n)
    asked = (1 - 2 / n) * squares + square
    return min(asked / spread, 1.0) if spread > 0 else 1.0


def alike_from(variances: Vector, count: float) -> int:
    """Number of first sample variances without which the rest differ by chance alone, by `shrinkage`.

    Examples
    --------
    >>> alike_from(np.array([3.0, 2.0, 1.1, 1.0, 0.9]), 100.0)
    2
    """
    n, backwards = np.arange(len(variances), 0, -1), variances[::-1]
    squares = np.cumsum(np.square(backwards))[::-1]
    square = np.square(np.cumsum(backwards)[::-1])
    spread = (count + 1 - 2 / n) * (squares - square / n)
    alike = (1 - 2 / n) * squares + square >= spread
    return int(np.argmax(alike)) if alike.any() else len(variances)


class Filled(NamedTuple):
    """Rows without gaps, and the variance that filled entries lack."""

    rows: Floats
    extra: Vector
    """Expected squared length that each row lacks off the axes (T)."""
    along: Matrix
    """Expected scatter that all rows together lack along the axes (r, r)."""
    axes: Matrix
    """These axes, as rows (r, n)."""


def complete(rows: Floats, extra: Vector | None = None) -> Filled:
    """Rows that lack nothing along any axis."""
    T, n = rows.shape
    return Filled(rows, np.zeros(T) if extra is None else extra, np.zeros((0, 0)), np.zeros((0, n)))


def fill_by_means(rows: Floats, *, standardize: bool = False) -> Filled:
    """Fill NaN with the mean of its column: for first rows, before anything else is known.

    A column without a single observed entry is filled with zeros. What rows lack is in units of each column's
    own standard deviation if ``standardize`` says so.
    """
    observed = ~np.isnan(rows)
    counts = np.maximum(observed.sum(axis=0), 1)
    means = np.where(observed, rows, 0).sum(axis=0, dtype=np.float64) / counts
    deviations = np.where(observed, rows - means, 0)
    variances = np.square(deviations, dtype=np.float64).sum(axis=0) / counts
    if standardize:
        variances = (variances > 0).astype(np.float64)
    filled = np.where(observed, rows, means).astype(rows.dtype)
    return complete(filled, (~observed) @ variances)
