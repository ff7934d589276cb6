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

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats, Matrix, Vector
from ..learners.knowledge import Knowledge
from ..learners.scale import scale_of

MISFIT = 1e-3
"""Least error that a model is taken to have, as a share of the mean variance.

With next to no noise, entries would be filled as if the axes were exact: what they are off by, and what is
filled in is learnt, would grow from row to row.
"""

# A share of the noise. Such a direction moves an expectation by less than a tenth of the error that noise
# leaves in it; without a bound every row would add an axis.
FAINT = 0.1
"""Directions whose variance is below this share of the noise say next to nothing about missing entries."""

# A factor: thirty half-lives. Dividing by less would overflow after some rows.
LONGEST_PAUSE = 1e-9
"""A discount per row below which it does not matter any more how much was forgotten."""


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
    noise = max(chance * rest, shrinkage(spectrum, count) * level, MISFIT * level)
    V = structure * spectrum[:r]
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


class Belief:
    """Distribution of the next row of a stream: a Gaussian that rows correct one by one."""

    def __init__(self, known: Gaussian) -> None:
        self.known = known
        self.mean, self.count = known.mean.copy(), known.effective
        self.axes = known.axes
        """The axes that are known, and below them those that rows have added."""
        self.scale = None if known.gain is None else scale_of(known.gain)
        self.precision: Matrix = np.diag(1 / (max(known.effective, LONGEST_PAUSE) * known.variances))
        """The inverse of V times the count (r, r)."""

    def expect(self, row: Floats, doubts: Vector | None = None) -> Expected:
        """Expectation of a row, and what that lacks.

        Parameters
        ----------
        row
            NaN where it has gaps (n).
        doubts
            Share of the noise in what is unexpected of each entry, between 0 and 1: an entry of variance v
            around its true value has the doubt ``v / (f + v)``. None: entries are exact (n).
        """
        doubtful, doubt = _doubts(row, doubts)
        A, B = self._system(doubtful, doubt)
        unseen, noise = self.axes[:, doubtful], self.known.noise
        trusted = self.axes @ self._trusted(row, doubtful, doubt)
        solved = _solved(A, np.column_stack((trusted, unseen * doubt)))
        z, spread = solved[:, 0], solved[:, 1:]
        along = noise * (B + B @ (spread @ unseen.T))
        variances = noise * doubt * (1 + np.einsum("ij,ij->j", unseen, spread))
        lacking = max(float(variances.sum()) - float(np.trace(along)), 0.0)
        if self.scale is not None:
            variances = variances * np.square(self.scale[doubtful])
        return Expected(self._expected(row, doubtful, doubt, z), doubtful, variances, along, lacking)

    def correct(self, row: Floats, weight: float, discount: float, *, center: bool) -> None:
        """Count a row without gaps: it moves V and the mean."""
        deviation = row - self.mean
        discount = max(discount, LONGEST_PAUSE)
        before = discount * self.count
        self.count = before + weight
        self.precision /= discount
        if not weight > 0:
            return
        if center:
            self.mean += weight / self.count * deviation
            weight *= before / self.count
        seen = self._coordinates(
            deviation if self.known.gain is None else deviation * self.known.gain, weight
        )
        reach = self.precision @ seen
        self.precision -= np.outer(reach, reach) * (weight / (1 + weight * float(seen @ reach)))

    def _coordinates(self, deviation: Vector, weight: float) -> Vector:
        """A deviation along the axes, which gain one if what they miss of it is not faint."""
        seen = self.axes @ deviation
        beyond = deviation - seen @ self.axes
        square, faint = float(beyond @ beyond), FAINT * self.known.noise * self.count
        if weight * square > faint > 0:
            length = math.sqrt(square)
            self.axes = np.vstack((self.axes, beyond / length))
            self.precision = np.pad(self.precision, (0, 1))
            self.precision[-1, -1] = 1 / faint
            seen = np.append(seen, length)
        return seen

    def _system(self, doubtful: NDArray[np.intp], doubt: Vector) -> tuple[Matrix, Matrix]:
        """A, and ``B = U diag(doubt) U'``: what the row does not say along the axes."""
        identity = np.eye(len(self.axes))
        if (
            2 * len(doubtful) <= self.axes.shape[1]
        ):  # of orthonormal axes, the smaller product tells the other
            B = (self.axes[:, doubtful] * doubt) @ self.axes[:, doubtful].T
        else:
            trust = np.ones(self.axes.shape[1])
            trust[doubtful] -= doubt
            B = identity - (self.axes * trust) @ self.axes.T
        return identity - B + self.known.noise * self.count * self.precision, B

    def _trusted(self, row: Floats, doubtful: NDArray[np.intp], doubt: Vector) -> Vector:
        """Deviations from the mean in the units of the axes, times the trust in them."""
        deviation = row - self.mean
        deviation[doubtful] = np.where(doubt < 1, deviation[doubtful] * (1 - doubt), 0.0)
        return deviation if self.known.gain is None else deviation * self.known.gain

    def _expected(self, row: Floats, doubtful: NDArray[np.intp], doubt: Vector, z: Floats) -> Floats:
        """The row with what z says in its gaps, and as far as entries are in doubt."""
        filled, deviation = row.copy(), z @ self.axes[:, doubtful]
        if self.scale is not None:
            deviation = deviation * self.scale[doubtful]
        said = self.mean[doubtful] + deviation
        filled[doubtful] = np.where(doubt < 1, row[doubtful] + doubt * (said - row[doubtful]), said)
        return filled


class Expected(NamedTuple):
    """Expectation of a row with gaps, or with entries that are in doubt."""

    row: Floats
    """Without gaps (n)."""
    doubtful: NDArray[np.intp]
    """Indices of the gaps, and of entries in doubt (m)."""
    variances: Vector
    """Variance of each of these around its expectation, in the units of the rows (m)."""
    along: Matrix
    """Scatter that the row lacks along the axes (r, r)."""
    extra: float
    """Squared length that it lacks off the axes."""


def added(total: Matrix, more: Matrix) -> Matrix:
    """The sum of two scatters along axes, the second along more of them."""
    grown = len(more) - len(total)
    return more + (np.pad(total, (0, grown)) if grown else total)


def _doubts(row: Floats, doubts: Vector | None) -> tuple[NDArray[np.intp], Vector]:
    """Indices of entries that are in doubt, and how much: 1 for a gap."""
    gap = np.isnan(row)
    if doubts is None:
        doubtful = np.flatnonzero(gap)
        return doubtful, np.ones(len(doubtful))
    doubts = np.where(gap, 1.0, doubts)
    doubtful = np.flatnonzero(doubts)
    return doubtful, doubts[doubtful]


def _solved(A: Matrix, b: Floats) -> Floats:
    """The x of ``A x = b``; of many, the shortest.

    There are many where a gross value has made an axis so long that the noise is nothing beside it, and the
    observed entries say nothing of that axis: the mean is as good an answer as any.
    """
    try:
        return np.linalg.solve(A, b)
    except np.linalg.LinAlgError:
        if np.linalg.matrix_rank(A) == len(A):
            raise
        return np.linalg.lstsq(A, b, rcond=None)[0]


def fill(rows: Floats, known: Gaussian) -> tuple[Floats, Matrix]:
    """Fill NaN with what is expected there, each row for itself; also the variance of each filled entry.

    Examples
    --------
    >>> known = Gaussian(
    ...     np.zeros(2), np.array([[0.6, 0.8]]), np.array([9.0]), 0.1, 100.0
    ... )
    >>> fill(np.array([[2.0, np.nan]]), known)[0].round(2)
    array([[2.  , 2.59]])
    """
    belief, filled, variances = Belief(known), rows.copy(), np.zeros(rows.shape)
    for t in np.flatnonzero(np.isnan(rows).any(axis=1)):
        expected = belief.expect(rows[t])
        filled[t], variances[t, expected.doubtful] = expected.row, expected.variances
    return filled, variances


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


def fill_by_means_so_far(rows: Floats) -> tuple[Floats, Matrix]:
    """Fill NaN with the mean of its column in the rows before, zero where there is no value yet.

    Also the variance of the column so far where an entry was filled, NaN where there were fewer than two.
    """
    observed = ~np.isnan(rows)
    counts, values = np.cumsum(observed, axis=0), np.where(observed, rows, 0).astype(np.float64)
    means = np.cumsum(values, axis=0) / np.maximum(counts, 1)
    squares = np.cumsum(np.square(values), axis=0) / np.maximum(counts, 1) - np.square(means)
    variances = np.where(counts > 1, np.maximum(squares, 0.0), np.nan)
    return np.where(observed, rows, means).astype(rows.dtype), np.where(observed, 0.0, variances)
