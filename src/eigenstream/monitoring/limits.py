"""Control limits: they begin where theory puts them, and the rows seen correct them.

Theory gives each statistic a limit that rows in control exceed at a given rate, if rows are independent and
Gaussian and the model is exact. Real rows are none of these. So the statistics of rows, taken before each row
is learnt, are collected as ratios to the limit of theory, in a histogram that forgets as the model does:

    limit = theory * c,      c = the quantile 1 - level of the ratios

Where the quantile would rest on a handful of rows, it is measured at the smallest level that can be told,
and continued from there along the tail of theory, made heavier where the rows seen so far say so. A row can
exceed one limit or several: if rows exceed any limit ``overlap`` times as often as a given one, the level of
each is the rate divided by that.

The constants below were set together, none was measured alone. On the normal test run of the Tennessee
Eastman plant 1.9 % of the rows alarm at a rate of 1 %, 0.21 % at 0.1 % (benchmarks/results/monitor.md).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..learners.knowledge import Matrix, Vector
from ..learners.marks import Mark, Marked
from .reference import STATISTICS, Reference

# Bins 4 % wide: far less than the error of a quantile that rests on `FEW` rows.
PER_OCTAVE = 16
"""Bins of a histogram for each factor of two."""

# Ratios beyond it are counted in the outermost bins. A monitor's histograms take 11 kB.
LOWEST, HIGHEST = -10, 20
"""Range of the ratios that a histogram tells apart, as powers of two: 0.001 to 1,000,000."""

# Far beyond `HIGHEST`, and a number that a file may hold.
LARGEST_RATIO = 1e100
"""Ratios of rows that are further off are taken for this."""

# Its level is then known to a third, 1 / sqrt(8).
FEW = 8.0
"""Rows beyond a quantile that make it one."""

# Of `BASIS` rows a tenth is a handful; a quantile of more common rows would say nothing of a tail.
BODY = 0.1
"""Share of rows beyond the body of a distribution, by comparison with which its tail is heavy or not."""

# Both in logarithms, from the smallest level that can be told to the rate. 1 would be a straight line;
# heavy tails bend upwards, and too high a limit on few rows is the smaller evil.
HEAVIER = 2.0
"""Slope, as a multiple of the one measured, along which a tail's excess over theory is continued."""

# About as many as put `FEW` of them beyond `BODY`.
BASIS = 64.0
"""Rows that have to be judged before a limit is told."""

# A few rows that happen to be calm must not lower limits: `BASIS` of them go a fifth of the way.
DOUBT = 256.0
"""Prior weight, in rows, on theory's limit, against lower ones."""

# An overlap of 2, between that of three independent limits (3) and of limits exceeded by the same rows (1).
PRIOR = 4.0
"""Prior weight, in rows, on limits that are exceeded together half of the time."""

# At two, new rows have twice the T² of rows that were learnt; below, that factor grows without bound.
ROWS_PER_DIRECTION = 2.0
"""Rows per direction that have to be learnt before theory says anything of a statistic."""


class Theory:
    """Limits for independent Gaussian rows, judged by what was learnt from others.

    T² of p components, learnt from w rows, is ``p (w² - 1) / (w (w - p))`` times an F variable with p and
    w - p degrees of freedom, and so is the distance. SPE is a weighted sum of chi-squares, taken for a
    multiple of one chi-square with the same mean and variance (Box 1954, doi:10.1214/aoms/1177728786).
    """

    def __init__(self, reference: Reference) -> None:
        self._reference = reference

    def limits(self, levels: Vector) -> Vector:
        """Limits that the statistics exceed with these probabilities; infinity where nothing can be said."""
        reference = self._reference
        return np.array(
            [
                self._quadratic(reference.rank, levels[0]),
                self._spe(levels[1]),
                self._quadratic(reference.degrees, levels[2]),
            ]
        )

    def _quadratic(self, p: float, level: float) -> float:
        from scipy.special import fdtri  # here, because jobs that watch nothing load this module too

        w = self._reference.effective
        if not 0 < ROWS_PER_DIRECTION * p < w:
            return math.inf
        return float(p * (w * w - 1) / (w * (w - p)) * fdtri(p, w - p, 1 - level))

    def _spe(self, level: float) -> float:
        from scipy.special import chdtri

        first, second = self._reference.moments
        if not first > 0 or not second > 0:
            return math.inf
        return float(second / first * chdtri(first**2 / second, level))


class Tail:
    """Histograms of ratios that forget, one for each statistic."""

    def __init__(self, counts: Matrix | None = None) -> None:
        bins = (HIGHEST - LOWEST) * PER_OCTAVE
        self.counts = np.zeros((len(STATISTICS), bins)) if counts is None else counts

    @property
    def seen(self) -> Vector:
        """Effective number of rows counted for each statistic."""
        return np.asarray(self.counts.sum(axis=1))

    def add(self, ratios: Matrix, discount: float) -> None:
        """Count ratios (T, 3), NaN where there is none, after a discount of everything before."""
        kinds, bins = self.counts.shape
        with np.errstate(divide="ignore"):
            places = (np.log2(ratios) - LOWEST) * PER_OCTAVE
        told = ~np.isnan(places)
        places = np.clip(np.where(told, places, 0.0), 0, bins - 1).astype(np.intp) + np.arange(kinds) * bins
        came = np.bincount(places[told], minlength=kinds * bins).reshape(kinds, bins)
        self.counts = self.counts * discount + came

    def quantiles(self, levels: Vector) -> Vector:
        """Ratios that are exceeded at these levels, to a fraction of a bin."""
        pairs = zip(self.counts, levels, strict=True)
        return np.array([_quantile(counts[::-1], level) for counts, level in pairs])


def _quantile(counts: Vector, level: float) -> float:
    """The ratio with this share of the counts, given from the largest bin down, beyond it."""
    beyond = np.cumsum(counts)
    wanted = level * beyond[-1]
    place = int(np.searchsorted(beyond, wanted))
    before = beyond[place - 1] if place else 0.0
    part = (wanted - before) / counts[place] if counts[place] else 0.0
    return float(2.0 ** (HIGHEST - (place + part) / PER_OCTAVE))


class Limits(Marked):
    """The limits of the statistics, and the severity of a row: its largest ratio to a limit.

    Parameters
    ----------
    rate
        The share of rows in control whose severity exceeds 1.
    """

    LEARNT = ("tail", "theory", "factors", "told", "edges", "together", "_theory")

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._theory: Theory | None = None
        self.tail = Tail()
        self.theory: Vector = np.full(len(STATISTICS), math.inf)
        """Limits by theory."""
        self.factors: Vector = np.ones(len(STATISTICS))
        """Factors by which rows seen so far correct them."""
        self.told: NDArray[np.bool_] = np.zeros(len(STATISTICS), dtype=bool)
        """True for statistics that have a limit."""
        self.edges: Vector = np.full(len(STATISTICS), math.inf)
        """Ratios that are exceeded at the smallest level that can be told."""
        self.together: Vector = np.array([2 * PRIOR, PRIOR])
        """Numbers of rows that exceeded any of the edges, and a given one."""

    def mark(self) -> Mark:
        return self.tail.counts, super().mark()

    def revert(self, mark: Mark) -> None:
        counts, others = mark
        super().revert(others)
        self.tail.counts = counts

    @property
    def values(self) -> Vector:
        """The limits; infinity where there is no basis for one."""
        return np.where(self.told, self.theory * self.factors, math.inf)

    @property
    def overlap(self) -> float:
        """Ratio of rows that exceed any limit to rows that exceed a given one."""
        any_, one = self.together
        return float(max(min(any_ / one, np.count_nonzero(self.told)), 1.0))

    def ratios(self, statistics: Matrix) -> Matrix:
        """Ratios of statistics to theory; NaN where theory says nothing (T, 3)."""
        ratios = np.full(statistics.shape, np.nan)
        known = np.isfinite(self.theory)
        with np.errstate(over="ignore"):
            ratios[:, known] = np.minimum(statistics[:, known] / self.theory[known], LARGEST_RATIO)
        return ratios

    def severities(self, ratios: Matrix) -> Vector:
        """The severity of each row; 0 where there is no basis for one."""
        if not self.told.any():
            return np.zeros(len(ratios))
        largest: Vector = (ratios[:, self.told] / self.factors[self.told]).max(axis=1)
        return np.nan_to_num(largest)

    def largest(self, ratios: Vector) -> str:
        """The statistic of a row that is largest in units of its limit."""
        told = np.where(self.told, ratios / self.factors, np.nan)
        return STATISTICS[int(np.nanargmax(told))]

    def refer(self, reference: Reference) -> None:
        """Take theory's limits from another reference: the model has moved on."""
        self._theory = Theory(reference)
        self.theory = self._theory.limits(np.full(len(STATISTICS), self.rate))
        self._tell()

    def correct(self, ratios: Matrix, discount: float, most: float = math.inf) -> None:
        """Correct the limits by ratios seen since; those that are told rise by at most ``most``, a factor."""
        if len(ratios):
            self.tail.add(ratios, discount)
            beyond = ratios[:, self.told] > self.edges[self.told]
            together = self.together * discount
            if self.told.any():
                together += beyond.any(axis=1).sum(), beyond.sum() / np.count_nonzero(self.told)
            self.together = together
        if (self.tail.seen >= BASIS).any():
            wanted = self._quantiles()
            self.factors = np.where(self.told, np.minimum(wanted, most * self.factors), wanted)
        self._tell()

    def _tell(self) -> None:
        self.told = np.isfinite(self.theory) & (self.tail.seen >= BASIS)

    def _quantiles(self) -> Vector:
        """The quantile of each histogram, continued along the tail where rows are few."""
        rate = self.rate / self.overlap
        seen = np.maximum(self.tail.seen, FEW)
        levels, body = np.clip(FEW / seen, rate, BODY), np.full(len(seen), BODY)
        self.edges = self.tail.quantiles(levels)
        beyond = np.log(self.edges / self._shape(levels))
        heavier = np.maximum(beyond - np.log(self.tail.quantiles(body) / self._shape(body)), 0.0)
        reach = np.log(levels / rate) / np.maximum(np.log(BODY / levels), 0.01)
        corrections = beyond + HEAVIER * heavier * reach
        # A few rows that happen to be calm do not say that limits can be lower than theory.
        corrections = np.where(corrections < 0, corrections * seen / (seen + DOUBT), corrections)
        last = self._shape(np.full(len(seen), rate))
        return np.where(self.tail.seen >= BASIS, last * np.exp(corrections), 1.0)

    def _shape(self, levels: Vector) -> Vector:
        """Limits of theory at these levels, as multiples of those for the rate."""
        known = np.isfinite(self.theory)
        shape = np.ones(len(levels))
        assert self._theory is not None
        shape[known] = self._theory.limits(levels)[known] / self.theory[known]
        return shape
