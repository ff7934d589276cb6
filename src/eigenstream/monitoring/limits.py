"""Limits from rows that the model had not seen when it judged them: how rare is a row like this?

A statistic of a row counts by its logarithm ``x = ln(statistic / expected)``. The values of rows so far, each
taken before the row was learnt, are collected in histograms that forget as the model does. They tell how
rare a value is, its *surprise* ``-ln p``:

    p(x) = share of rows beyond x                 where about `FEW` independent rows lie beyond it
    p(x) = level * exp(-(x - edge) / slope)       beyond that edge (Hill 1975, doi:10.1214/aos/1176343247)

Rows resemble those before them: how many independent ones they are worth is told by the autocorrelation of
each statistic itself. On the scale of surprises all statistics can be compared: that of a row is the largest
one, and as that is not as rare as it would be alone, it has a tail of its own. Nothing here depends on the
rate of false alarms; it is where the surprise of a row is cut: a smaller rate never has a lower limit.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..learners.knowledge import Matrix, Vector
from ..learners.marks import Marked
from .reference import STATISTICS, Reference

# Of a statistic 20 logarithms, of the whole 32 surprises: see `WIDTH`.
BINS = 320
"""Bins of a histogram; all of them take 15 kB."""

# Bins 6 % wide, far less than the error of a quantile that rests on `FEW` rows; from 0.002 to 1,000,000 times
# the expected value, and surprises up to 32, p = 1e-14.
LOWEST, WIDTH = np.r_[np.full(len(STATISTICS), -6.0), 0.0], np.r_[np.full(len(STATISTICS), 1 / 16), 0.1]
"""Lower ends of the histograms, and the widths of their bins: of each statistic, and of the whole."""

# A level is then known to a fifth, 1 / sqrt(20), and the slope of the tail, too.
FEW = 20.0
"""Independent rows beyond the edge of a tail."""

# A quantile of more common rows would say nothing of a tail.
BODY = 0.1
"""Largest share of rows beyond the edge of a tail."""

# Independent rows: three lie beyond the edge of the tail, and theory says most about its slope. At 5, the
# largest limit on the way to 5,000 rows with an autocorrelation of 0.9 was 11 times the last one, at 20 three
# times.
# Who declares rows normal wants to have limits, whatever they are worth.
BASIS, BASIS_DECLARED = 30.0, 5.0
"""Independent rows that have to be judged before a limit is told: of a stream, or declared normal."""

# Rows, discounted. However alike they are, or however little the model knew at first, a stream gets limits.
MANY = 250.0
"""Rows that are enough for a limit, whatever they are worth."""

# Rows. Those of theory: of a chi-square for a statistic, of an exponential for the whole.
PRIOR, PRIOR_DECLARED = 10.0, 5.0
"""Prior weight on a slope: of rows of a stream, or declared normal."""

# One row: some slope where there is no row beyond the edge. With 10, simulated fleets of 14 inputs whose
# streams differ alarmed in 4.3 % of the rows from 32 to 64 instead of 3.2 %, where 1 % was asked for.
LEAST_SLOPE_PRIOR = 1.0
"""The same where there is prior evidence of like streams."""

# Logarithms: a factor of 4.5, and a surprise of 4. A tail as heavy as that of squares of Student's t(3), the
# heaviest with a variance, reaches as far once in ten rows of a tail; single gross rows must not set a slope.
# At twice as much, limits of such rows reached five times the last one on the way. Rows that are declared
# normal may be as far off again: with the bound of a stream, one of thirteen real plants alarmed in a tenth
# of its rows.
FARTHEST, FARTHEST_OF_WHOLE = 1.5, 4.0
FARTHEST_DECLARED, FARTHEST_OF_WHOLE_DECLARED = 3.0, 12.0
"""Largest distance from the edge of a tail with which a row counts for its slope."""

# A factor. "No row in a thousand was like this" does not say what one in a million is like.
REACH = 20.0
"""Rows that a limit may be extrapolated to, as a multiple of the independent ones that it rests on."""

# Logarithms of a share of the rate. The first two are blunt where relations between inputs are close, and the
# distance sees what they see; faults that change size or direction of everything are theirs. Faults that only
# the extreme sees are large: with the whole rate, a limit of Student's t(3) was 3.0 times the last one on the
# way instead of 2.8, and no more faults were seen.
BUDGET = np.log([4.0, 4.0, 1.0, 4.0, 1.0, 1.0])
"""Deduction from a statistic's surprise before it is compared: T², SPE and the extreme have a quarter of the
rate."""

# A logarithm: as if two statistics exceeded their limits at different rows.
UNCALIBRATED = math.log(2)
"""Deduction from the largest surprise as long as its own tail is not known."""

# The logarithm of 3.5 rates: no statistic exceeds its limit at the same row as another.
APART = math.log(np.exp(-BUDGET).sum())
"""Most that the largest surprise of several is worth less than it would be alone, on a stream."""

# Rows. Between two of them an autocorrelation is taken to fall by a constant factor; powers of two need eight
# sums for a memory of some hundred rows.
LAGS = (1, 2, 4, 8, 16, 32, 64, 128)
"""Distances between the rows of a pair."""

# A correlation. Chance makes as much of a few hundred rows.
NEGLIGIBLE = 0.05
"""An autocorrelation below this counts as none, and so do all at larger distances."""

# Farther out, a row surprises like one in a million: a limit must not run away from the rows that support it
# (on six columns of white noise it reached 345 instead of 22).
UNSUPPORTED = 14.0
"""Surprise of values beyond the support of a tail, at least."""

# Logarithms: a half more than the largest value so far; seven times as much as rows that are declared normal,
# which may be few and like each other. The extreme has no direction that few rows taught too small a
# variance: twice as much. With a half more, it added a half to the false alarms of young streams at rates
# below 0.001.
BEYOND = np.array([0.4, 0.4, 0.4, 0.7, 0.4, 0.4, 0.0])
BEYOND_DECLARED = np.array([2.0, 2.0, 2.0, 0.7, 2.0, 2.0, 0.0])
"""Distance from the largest value that was counted where the support of its tail ends; the whole has none."""

# A factor. A gross row keeps the average of independent rows beyond its limit for four more rows, not longer.
# In units of what was measured: on a plant whose later rows are a hundred times as far off as those that were
# learnt, a cap by theory cut the tail of the averages off that the limits come from.
GROSS = 12.0
"""Distance at which a row enters the average, as a multiple of the one where the tail of distances begins."""

# A logarithm; histograms end at 14. Guards sums of these against statistics that are infinite.
LARGEST_VALUE = 50.0
"""Logarithms beyond this count as this: far beyond what the histograms tell apart."""

DISTANCE, AVERAGE = STATISTICS.index("distance"), STATISTICS.index("average")

_BORDERS = np.column_stack(
    (LOWEST[:, None] + WIDTH[:, None] * np.arange(BINS + 1), np.full(len(LOWEST), 1000.0))
)
"""Values at which surprises are tabulated: borders of bins, and one beyond all values."""
_STEEPNESS = WIDTH[:, None] / np.diff(_BORDERS, axis=1)
"""Rise per width of a bin of a surprise that rises by one from each of them to the next."""
_ASCENDING = 1e-12 * np.arange(BINS + 2)
"""Least rise of surprises."""
_FIRSTS = np.arange(len(LOWEST)) * (BINS + 2)
"""Position of the first of these of each histogram, where all are in one line."""
_FARTHEST = np.append(np.full(len(STATISTICS), FARTHEST), FARTHEST_OF_WHOLE)
_FARTHEST_DECLARED = np.append(np.full(len(STATISTICS), FARTHEST_DECLARED), FARTHEST_OF_WHOLE_DECLARED)


class Joined(NamedTuple):
    """Histograms of a stream together with prior evidence."""

    counts: Matrix
    independent: Vector
    """Independent rows that each of them rests on."""
    enough: NDArray[np.bool_]
    """True where the evidence alone is enough for a limit."""


class Prior(Protocol):
    """Prior evidence for limits, which counts while a stream's own rows are few."""

    def joined(self, counts: Matrix, independent: Vector, theory: Vector) -> Joined:
        """Join this evidence and the histograms of a stream, which rest on these numbers of rows."""


class Autocorrelation(Marked):
    """Sums over values and their predecessors, which tell how many independent ones they are worth."""

    LEARNT = ("sums", "pairs", "last")

    def __init__(self, columns: int) -> None:
        self.sums = np.zeros((2 + len(LAGS), columns))
        """Of values, their squares, and products with values `LAGS` before."""
        self.pairs = np.zeros((1 + len(LAGS), columns))
        """Numbers of values and products."""
        self.last = np.full((LAGS[-1], columns), np.nan)
        """The last values."""

    def add(self, values: Matrix, discount: float) -> tuple[Matrix, Matrix]:
        """Count values (T, columns), NaN where there is none; returns what they add to sums and pairs."""
        known, first = np.concatenate((self.last, values)), len(self.last)
        some = np.flatnonzero(~np.isnan(values).all(axis=0))  # nothing is added to others
        columns = np.ascontiguousarray(known.T[some])  # sums along memory are many times faster
        missing = np.isnan(columns)
        told, given = (~missing).astype(np.float64), np.where(missing, 0.0, columns)
        sums, pairs = np.zeros(self.sums.shape), np.zeros(self.pairs.shape)
        now, here = given[:, first:], told[:, first:]
        sums[0, some], pairs[0, some] = now.sum(axis=1), here.sum(axis=1)
        sums[1, some] = np.einsum("ij,ij->i", now, now)
        for i, lag in enumerate(LAGS):
            past = slice(first - lag, len(known) - lag)
            sums[2 + i, some] = np.einsum("ij,ij->i", now, given[:, past])
            pairs[1 + i, some] = np.einsum("ij,ij->i", here, told[:, past])
        self.sums, self.pairs = self.sums * discount + sums, self.pairs * discount + pairs
        self.last = known[-first:]
        return sums, pairs

    def persistence(self) -> Vector:
        """Number of values that say as much as an independent one: ``1 + 2 sum of rho(l)``, at least 1."""
        number = np.maximum(self.pairs, 1e-9)
        mean, square = self.sums[0] / number[0], self.sums[1] / number[0]
        variance = np.maximum(square - mean * mean, 1e-12 * np.maximum(square, 1e-300))
        rho = np.clip((self.sums[2:] / number[1:] - mean * mean) / variance, 1e-6, 0.9999)
        rho = np.where(self.pairs[1:] > 0, rho, 1e-6)
        before, gaps = np.vstack((np.ones(len(mean)), rho[:-1])), np.diff(LAGS, prepend=0)[:, None]
        lasts = np.logical_and.accumulate(rho >= NEGLIGIBLE)
        fall = np.minimum((rho / before) ** (1 / gaps), 0.99999)
        steps = fall * (1 - fall**gaps) / (1 - fall)  # falls by a constant factor in between
        total = np.where(lasts, before * steps, 0.0).sum(axis=0)
        # No slower beyond the last distance than up to there.
        slow = np.minimum(fall[-1], rho[-1] ** (1 / LAGS[-1]))
        return np.asarray(1 + 2 * (total + np.where(lasts[-1], rho[-1] * slow / (1 - slow), 0.0)))


class Limits(Marked):
    """Rarity of the statistics of a row, by the rows so far.

    Parameters
    ----------
    rate
        The share of rows in control that alarm.
    declared
        Number of rows that were declared normal. Limits rest on these as long as they are more than those
        that came since.
    """

    LEARNT = (
        *("memory", "counts", "theory", "independent", "since"),
        *("levels", "edges", "slopes", "based", "_known", "_surprises", "_rises", "prior"),
    )

    def __init__(self, rate: float, declared: int = 0) -> None:
        columns = len(STATISTICS) + 1
        self.rate, self.declared, self.since = rate, declared, 0
        self.memory = Autocorrelation(columns)
        self.margin = 0.0
        """Distance by which the line is higher for a model that stands still (`first_learning`)."""
        self.prior: Prior | None = None
        """Prior evidence, if there is some."""
        self.counts: Matrix = np.zeros((columns, BINS))
        """Histograms of the statistics and of the whole."""
        self.theory: Vector = np.ones(columns)
        """Degrees of freedom of the statistics, for slopes where rows are few."""
        self.independent: Vector = np.zeros(columns)
        """Independent rows that each of them rests on."""
        self.based: NDArray[np.bool_] = np.zeros(columns, dtype=bool)
        """True where the stream's own rows have been a basis for a limit: a limit that was told stays."""
        self._known: NDArray[np.bool_] = np.zeros(columns, dtype=bool)
        self.levels: Vector
        """Share of the rows beyond the edge of each tail."""
        self.edges: Vector
        self.slopes: Vector
        """Distance in which each tail falls by a factor of e."""
        self._surprises: Matrix
        """Surprise of each value in `_BORDERS`, ascending."""
        self._rises: Matrix
        """Its rise per width of a bin, from each of them on."""
        self._know_nothing()
        self.settle()

    def mark(self) -> tuple[object, ...]:
        return self.memory.mark(), super().mark()

    def revert(self, mark: tuple[object, ...]) -> None:
        memory, others = mark
        super().revert(others)  # type: ignore[arg-type]
        self.memory.revert(memory)  # type: ignore[arg-type]

    @property
    def rests_on_declared(self) -> bool:
        """True as long as most rows were declared normal: few, maybe, and like each other."""
        return self.declared > self.since

    @property
    def told(self) -> NDArray[np.bool_]:
        """True for statistics that have a limit."""
        return self._known[:-1]

    @property
    def settled(self) -> object:
        """Another object each time that tails have been found anew."""
        return self._surprises

    @property
    def line(self) -> float:
        """The surprise at which rows alarm: that of the rate, or of the rarest row that can be told."""
        rests_on = max(float(self.independent[-1]), float(self.independent[:-1].max()))
        return -math.log(max(self.rate, 1 / (REACH * max(rests_on, 1.0))))

    def gross(self, reference: Reference) -> float:
        """The distance at which a row that is farther off enters the average; infinite if not known."""
        edge = float(self.edges[DISTANCE]) if self._known[DISTANCE] else 0.0
        return GROSS * float(reference.expected[DISTANCE]) * math.exp(max(edge, 0.0))

    def values_of(self, statistics: Matrix, reference: Reference) -> Matrix:
        """Logarithms of statistics in units of what is expected; NaN where that is not known (T, 6)."""
        known = np.isfinite(reference.expected)
        with np.errstate(divide="ignore", over="ignore"):
            if known.all():
                values = np.log(statistics / reference.expected)
            else:
                values = np.full(statistics.shape, np.nan)
                values[:, known] = np.log(statistics[:, known] / reference.expected[known])
        return np.asarray(np.minimum(np.maximum(values, -LARGEST_VALUE), LARGEST_VALUE))

    def largest(self, values: Matrix) -> tuple[Vector, NDArray[np.intp]]:
        """The largest surprise of the statistics of each row, and whose it is; NaN where there is none."""
        unknown = np.isnan(values)
        unknown |= ~self.told
        some = unknown.any()
        surprises = self._looked_up(np.where(unknown, 0.0, values) if some else values, slice(-1)) - BUDGET
        if some:
            surprises[unknown] = -np.inf
        which, largest = surprises.argmax(axis=1), surprises[:, 0]
        for each in surprises.T[1:]:  # few columns: many times faster than along rows
            largest = np.maximum(largest, each)
        return np.where(largest > -np.inf, np.maximum(largest, 0.0), np.nan), which

    def surprise_of(self, which: int, found: Vector, reference: Reference) -> Vector:
        """The surprise that the whole finds in rows of which this statistic alone is told."""
        expected = float(reference.expected[which])
        if not (self.told[which] and math.isfinite(expected)):
            return np.full(len(found), np.nan)
        with np.errstate(divide="ignore", over="ignore"):
            values = np.clip(np.log(found / expected), -LARGEST_VALUE, LARGEST_VALUE)
        unknown = np.isnan(values)
        own = slice(which, which + 1)
        surprises = self._looked_up(np.where(unknown, 0.0, values)[:, None], own)[:, 0] - BUDGET[which]
        return self.of_whole(np.where(unknown, np.nan, np.maximum(surprises, 0.0)))

    def of_whole(self, largest: Vector) -> Vector:
        """The surprise that the largest of several surprises is worth."""
        if not self._known[-1]:
            return np.asarray(np.maximum(largest - UNCALIBRATED, 0.0))
        unknown = np.isnan(largest)
        found = self._looked_up(np.where(unknown, 0.0, largest)[:, None], slice(-1, None))[:, 0]
        found[unknown] = np.nan
        if self.rests_on_declared:
            return found
        return np.minimum(np.maximum(found, np.maximum(largest - APART, 0.0)), largest)

    def _looked_up(self, values: Matrix, columns: slice) -> Matrix:
        """Surprises of values of these histograms: bins are even, so that none has to be searched for."""
        at = np.maximum((values - LOWEST[columns]) / WIDTH[columns], 0.0)
        bins = np.minimum(at, BINS).astype(np.intp)
        at -= bins
        bins += _FIRSTS[columns]
        at *= self._rises.take(bins)
        at += self._surprises.take(bins)
        return np.asarray(at)

    def limits_at(self, line: Vector, reference: Reference) -> Matrix:
        """The value of each statistic at which the whole is as surprising; infinite if not told (T, 6)."""
        largest = self.largest_at(line)
        values = np.full((len(line), len(STATISTICS)), np.inf)
        known = np.flatnonzero(self.told & np.isfinite(reference.expected))
        for i in known.tolist():
            values[:, i] = np.interp(largest + BUDGET[i], self._surprises[i], _BORDERS[i])
        limits: Matrix = np.exp(values)
        limits[:, known] *= reference.expected[known]
        return limits

    def largest_at(self, line: Vector) -> Vector:
        """The largest surprise of the statistics at which the whole is as surprising."""
        if not self._known[-1]:
            return line + UNCALIBRATED
        found = np.asarray(np.interp(line, self._surprises[-1], _BORDERS[-1]))
        return found if self.rests_on_declared else np.clip(found, line, line + APART)

    def rest_on(self, prior: Prior | None) -> None:
        """Rest on this evidence besides the rows so far."""
        self.prior = prior
        self.settle()

    def count(self, values: Matrix, discount: float, reference: Reference) -> tuple[Matrix, Matrix] | None:
        """Count the values of rows, and their largest surprise, NaN where there is none (T, 6).

        Returns what they add to the sums of autocorrelations; None if there are no rows.
        """
        self.theory, added = np.append(np.maximum(reference.degrees, 1.0), 1.0), None
        if len(values):
            added = self.memory.add(values, discount)
            columns = len(LOWEST)
            told = ~np.isnan(values)
            places = (np.where(told, values, 0.0) - LOWEST) / WIDTH
            places = np.minimum(np.maximum(places, 0), BINS - 1).astype(np.intp) + np.arange(columns) * BINS
            came = np.bincount(places[told], minlength=columns * BINS).reshape(columns, BINS)
            self.counts = self.counts * discount + came
        self.settle()
        return added

    def count_whole(self, largest: Vector, reference: Reference) -> None:
        """Count the largest surprise of each row that was counted last, which these limits have told."""
        values = np.full((len(largest), len(LOWEST)), np.nan)
        values[:, -1], last = largest, self.memory.last
        self.count(values, 1.0, reference)
        self.memory.last = np.column_stack((last[:, :-1], self.memory.last[:, -1]))

    def settle(self) -> None:
        """Find the tails of the histograms."""
        counts, seen = self.counts, self.counts.sum(axis=1)
        basis = BASIS_DECLARED if self.rests_on_declared else BASIS
        self.independent = seen / self.memory.persistence()
        self.based = self.based | (self.independent >= basis) | (seen >= MANY)
        self._known = self.based
        if self.prior is not None:
            counts, self.independent, enough = self.prior.joined(counts, self.independent, self.theory)
            self._known, seen = self._known | enough, counts.sum(axis=1)
        if not self._known.any():
            self._know_nothing()
            return
        with np.errstate(divide="ignore"):
            self.levels = np.minimum(FEW / self.independent, BODY)
        beyond = np.zeros((len(seen), BINS + 1))
        beyond[:, :-1] = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
        beyond /= np.maximum(seen, 1e-300)[:, None]
        self.edges, self.slopes = self._tails(beyond, counts)
        tail = (_BORDERS - self.edges[:, None]) / self.slopes[:, None] - np.log(self.levels)[:, None]
        body = -np.log(np.maximum(beyond, self.levels[:, None]))
        np.copyto(tail[:, :-1], body, where=_BORDERS[:, :-1] < self.edges[:, None])
        tail += self._unsupported(counts)
        # Ascends, also where bins are empty: it is looked up both ways.
        self._surprises = np.maximum.accumulate(tail, axis=1) + _ASCENDING
        self._rises = _rises(self._surprises)

    def _know_nothing(self) -> None:
        """Begin without tails."""
        columns = len(LOWEST)
        self.levels, self.edges, self.slopes = np.ones(columns), np.zeros(columns), np.ones(columns)
        self._surprises = np.zeros(_BORDERS.shape)
        self._rises = _rises(self._surprises)

    def _unsupported(self, counts: Matrix) -> Matrix:
        """Addition to the surprise of values a little beyond the largest that was counted."""
        reach = BEYOND_DECLARED if self.rests_on_declared else BEYOND
        counted = counts > 0.5 * counts.max(axis=1, keepdims=True) / BINS
        most = BINS - np.argmax(counted[:, ::-1], axis=1)
        last = LOWEST + WIDTH * most + reach
        there = (last - self.edges) / self.slopes - np.log(self.levels)
        lift = np.where(counted.any(axis=1) & (last > self.edges), np.maximum(UNSUPPORTED - there, 0.0), 0.0)
        lift[-1] = 0.0
        return np.where(_BORDERS > last[:, None], lift[:, None], 0.0)

    def _tails(self, beyond: Matrix, counts: Matrix) -> tuple[Vector, Vector]:
        """Edges that the share ``levels`` of the rows lies beyond, and the mean distances of those from it.

        Parameters
        ----------
        beyond
            Share of the rows beyond each border.
        counts
            Rows in each bin.
        """
        columns = np.arange(len(beyond))
        at = np.count_nonzero(beyond > self.levels[:, None], axis=1) - 1
        at = np.minimum(np.maximum(at, 0), BINS - 1)
        inside = beyond[columns, at] - beyond[columns, at + 1]
        share = (beyond[columns, at] - self.levels) / np.where(inside > 0, inside, 1.0)
        edges = _BORDERS[columns, at] + WIDTH * np.where(inside > 0, np.minimum(share, 1.0), 1.0)
        distance = _BORDERS[:, :-2] + (WIDTH / 2)[:, None] - edges[:, None]
        farthest, prior = (
            (_FARTHEST_DECLARED, PRIOR_DECLARED) if self.rests_on_declared else (_FARTHEST, PRIOR)
        )
        distance = np.minimum(np.maximum(distance, 0.0), farthest[:, None])
        shares = counts / np.maximum(counts.sum(axis=1), 1e-300)[:, None]
        measured = np.einsum("ij,ij->i", shares, distance) / self.levels
        rows = self.levels * self.independent
        # Evidence of like streams takes the place of theory: they differ, which lengthens tails.
        prior = prior if self.prior is None else LEAST_SLOPE_PRIOR
        return edges, (rows * measured + prior * self._slopes_by_theory()) / (rows + prior)

    def _slopes_by_theory(self) -> Vector:
        """Distances, in logarithms, in which the tails of chi-squares fall by a factor of e."""
        from scipy.special import chdtri  # here, because jobs that watch nothing load this module too

        p, level = self.theory, self.levels
        slopes = np.log(chdtri(p, level / math.e) / chdtri(p, level))
        return np.append(slopes[:-1], 1.0)


def _rises(surprises: Matrix) -> Matrix:
    rises = np.zeros(surprises.shape)
    np.subtract(surprises[:, 1:], surprises[:, :-1], out=rises[:, :-1])
    rises[:, :-1] *= _STEEPNESS
    return rises
