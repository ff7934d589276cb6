"""Gaps filled by the rows before: each input by its own past, all of them by what else is new in the row.

The rows before, gaps filled, forecast the next one (`Persistence`). What is new in a row, its innovations, is
related between inputs as rows are: a second learner knows their covariance, and entries that have come
correct the forecast of those that have not (`gap_kernels`). A predecessor that was filled itself is in doubt,
by the variance that errors have gathered over the rows since its last value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats, Matrix, Vector
from ..learners.knowledge import Knowledge
from ..learners.learner import Learner, Steps
from ..learners.marks import Mark, Marked
from ..learners.scale import scale_of
from ..learners.scatter import ROUNDING
from ..learners.stored import LARGEST_VALUE, stored_array
from .gap_state import GROSS, Outlook
from .imputation import Filled, Gaussian, alike_from, gaussian
from .judgement import OLDEST, RECENT, WIDE, ForecastErrors, HiddenErrors, SecondMixture, bins_of
from .persistence import SLOWEST, Forecaster, Persistence
from .plan import Plan

if TYPE_CHECKING:
    from .past import Past

LONGEST = 32
"""Rows over which errors of forecasts are followed one by one; beyond, as those of a first-order process."""

AGES = np.concatenate((np.arange(LONGEST + 1), LONGEST * 2 ** np.arange(1, 8)))
"""Ages of gaps that are told apart; the last one stands for all that are older."""

NEVER = int(AGES[-1])
"""Age of an input that has had no value yet, or whose past is not known."""

BINS_BY_AGE = np.concatenate(([0], bins_of(np.arange(1, NEVER + 1))))
"""Bin of each age, see `judgement.BINS`; no gap has the age 0."""

# A share. Inputs that stand still for a block and then move would otherwise outweigh all others together.
STILL = 1e-3
"""Least standard deviation of an innovation, in those of its input."""

# Blocks. Judging fills a block once more; how errors grow with the age of a gap changes slowly.
OFTEN, STRIDES = 8, (1, 2, 4, 8, 16)
"""The first `OFTEN` blocks are all judged; then every second of twice that number, and so on."""

# Blocks. What a thousand rows have said about innovations, a few more change little.
LEARNT_OFTEN = 16
"""Number of first blocks that are all learnt from, if nothing is forgotten; then every second, and so on."""

# Rows. Four of them judge what the other four have told.
FIRST_ROWS = 8
"""Rows that a first model is made of at least, before a block has been learnt."""

# Blocks. What a model of some hundred rows is off by says little about the rows after them.
FIRST = 1
"""Blocks that do not count for the second mixture."""

# Directions of innovations beyond the components of the rows, where there are too many inputs for all: each
# costs time in every row with gaps, and the rest counts as noise.
BEYOND = 8
"""Directions of innovations that are known of wide input, besides as many as components may be kept."""

# A share of a variance. Rows at the same moment, as some files have them, would be known without any error.
AT_ONCE = 1e-12
"""Least variance of what is new in a row, in that of the input."""

TINY = float(np.finfo(np.float64).tiny)


class Dynamics(NamedTuple):
    """Relation of rows to those before them, as it is known between two blocks."""

    forecaster: Forecaster
    outlook: Outlook
    known: Gaussian
    """Distribution of innovations."""
    factors: Floats
    """Of `HiddenErrors.factors`."""
    second: SecondMixture
    ahead: tuple[Matrix, Matrix]
    """Of `ForecastErrors.judged`."""
    usual: float | None = None
    """Usual time between two rows, in seconds; None: rows have no times."""

    @property
    def judged(self) -> Vector:
        """Variance of time's answer to gaps of `OLDEST` rows, which are the oldest that are judged (n)."""
        oldest = int(np.searchsorted(AGES, OLDEST))
        return np.asarray(np.square(self.outlook.deviations) + self.outlook.gathered[oldest])

    def in_steps(self, passed: Vector) -> Vector:
        """Times between rows as numbers of usual steps."""
        return in_steps(passed, self.usual)

    def over(self, steps: Vector) -> Floats:
        """Coefficients over each number of steps, as `gap_kernels.follow` takes them."""
        return coefficients(self.forecaster, steps, whole=self.usual is None)

    def ahead_of(self, last: Matrix, horizons: Vector) -> Matrix:
        """Deviations from the mean at these horizons, in usual steps after the last two rows (m, n)."""
        mean = moved_means(last[1], last[0], self.outlook.far)
        if self.usual is None:
            rows = self.forecaster.ahead(last[1] - mean, last[0] - mean, int(horizons.max(initial=0)))
            return rows[horizons.astype(np.int64) - 1] + mean
        return np.asarray(self.over(horizons)[:, 0] * (last[1] - mean) + mean)

    def errors_ahead(self, ages: Matrix) -> tuple[Matrix, Matrix]:
        """Factor of a forecast's deviation from the mean, and its variance, by the age of its predecessor.

        Both are as judged on blocks. Neither falls where the other horizons are: a forecast says no more than
        a shorter one, and its variance is no smaller; between the oldest ages of bins it grows evenly (m, n).
        """
        kept, factors = np.minimum.accumulate(self.ahead[0], axis=0), self.ahead[1]
        oldest: Matrix = np.exp2(np.arange(len(factors), dtype=np.float64))[:, None]
        ends = factors * self._expected_ahead(oldest)
        ends = np.maximum.accumulate(ends, axis=0)
        before = np.vstack((np.zeros(ends.shape[1]), ends[:-1]))
        bins = bins_of(ages)
        at, end = (bins, np.arange(ages.shape[1])), oldest[bins, 0]
        evenly = before[at] + (2 * ages / end - 1) * (ends[at] - before[at])
        alone = np.maximum(factors[at] * self._expected_ahead(ages), before[at])
        return kept[at], np.where((bins > 0) & (ages <= end), evenly, alone)

    def _expected_ahead(self, horizons: Matrix) -> Matrix:
        """Variances that forecasts expect (m, n); of less than a step as of a first-order process."""
        forecaster, outlook = self.forecaster, self.outlook
        whole = np.maximum(horizons, 1.0)
        expected = forecast_variances(forecaster, outlook.deviations, outlook.gathered[-1], whole)
        if (horizons >= 1).all():
            return expected
        square = np.square(np.clip(forecaster.a, TINY, SLOWEST))
        return np.asarray(expected * np.where(horizons < 1, (1 - square**horizons) / (1 - square), 1.0))


def moved_means(last: Matrix, before: Matrix, far: Vector) -> Matrix:
    """`forecast_kernels.moved` of all entries."""
    return np.asarray(
        np.maximum(np.minimum(last, before) - far, 0.0) + np.minimum(np.maximum(last, before) + far, 0.0)
    )


def in_steps(passed: Vector, usual: float | None) -> Vector:
    """Times between rows as numbers of steps, of which this is the usual time; None: they are in rows."""
    if usual is None:
        return passed
    return passed / usual if usual > 0 else np.ones(len(passed))


def coefficients(forecaster: Forecaster, steps: Vector, *, whole: bool) -> Floats:
    """Coefficients of the last row and of the one before, and the deviation of innovations in usual ones.

    Over s steps of time, a first-order process keeps ``phi^s``, and its innovations have the variance
    ``(1 - phi^(2 s)) / (1 - phi^2)``. Over a ``whole`` number of steps the process of second order has the
    coefficients ``psi_s`` and ``b psi_{s-1}``, and the variance ``psi_0^2 + ... + psi_{s-1}^2``. Returns one
    for each number of steps, or one for all (T or 1, 3, n).
    """
    if whole:
        if (steps == 1).all():
            return np.stack((forecaster.a, forecaster.b, np.ones_like(forecaster.a)))[None]
        number = np.clip(steps, 1, NEVER).astype(np.int64)
        psi = forecaster.responses(int(number.max()) + 1)
        deviations = np.sqrt(np.cumsum(np.square(psi), axis=0))
        return np.stack((psi[number], forecaster.b * psi[number - 1], deviations[number - 1]), axis=1)
    phi = np.clip(forecaster.a, TINY, SLOWEST)
    kept = phi ** steps[:, None]
    scale = np.sqrt(np.maximum(1 - np.square(kept), AT_ONCE) / (1 - np.square(phi)))
    return np.stack((kept, np.zeros_like(kept), scale), axis=1)


class Forecast(NamedTuple):
    """The next rows of a stream."""

    rows: Floats
    """Expectations (steps, n)."""
    std: Floats
    """Their standard deviations (steps, n)."""


class TimeFilter(Marked):
    """Persistence of inputs, covariance of innovations, errors as judged, and the last rows.

    All of it changes with whole blocks only: within a block a `Past` goes on from here.

    Parameters
    ----------
    plan
        The task of the tracker.
    """

    LEARNT = (
        "persistence",
        "judgement",
        "second",
        "ahead",
        "last",
        "came",
        "ages",
        "held",
        "totals",
        "blocks",
    )

    def __init__(self, plan: Plan) -> None:
        n = plan.width
        self.timed = plan.seconds is not None
        self.steady = plan.seconds is None and plan.beta == 1
        """True if nothing is forgotten."""
        self.directions = n if plan.solver == "exact" else plan.k + BEYOND
        """Most directions of innovations that take part in filling."""
        self.components = min(plan.k, n)
        """Components of the learner of innovations."""
        self.learner = innovations_learner(plan)
        """Of innovations, each input in its own units."""
        self.persistence, self.judgement = Persistence.none(n), HiddenErrors.none(n)
        self.second, self.ahead = SecondMixture.none(), ForecastErrors.none(n)
        self.last: Matrix = np.zeros((2, n))
        """The last two rows, the older one first, gaps filled by time."""
        self.came: NDArray[np.bool_] = np.zeros((2, n), dtype=bool)
        """Entries of these that have come."""
        self.ages: NDArray[np.int64] = np.full(n, NEVER)
        """Rows since the last value of each input."""
        self.held: Vector = np.full(n, np.nan)
        """This value; NaN where there is none."""
        self.totals: Vector = np.zeros(3)
        """Shares of entries that came, rows, and times between them: weighted and discounted."""
        self.blocks = 0
        """Blocks that have come."""
        self._dynamics: list[Dynamics] = []
        """The dynamics, once somebody has asked for them; in a list, see `Callers`."""

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_dynamics": []}

    def mark(self) -> Mark:
        return self.learner.mark(), super().mark()

    def revert(self, mark: Mark) -> None:
        learner, others = mark
        super().revert(others)
        self.learner.revert(learner)
        self._dynamics = []

    @property
    def started(self) -> bool:
        """True if there is something to fill gaps by."""
        return self.learner.started

    @property
    def in_doubt(self) -> bool:
        """True if the next row follows one that has gaps."""
        return bool(self.ages.any())

    def is_judged(self, *, gaps: bool) -> bool:
        """True if the next block is to be judged: later ones less and less often, wide ones sooner so.

        Blocks without gaps are judged each time that their number has doubled: enough for the first gap.
        """
        if not gaps:
            return self.blocks & (self.blocks - 1) == 0
        often = max(OFTEN // max(len(self.ages) // WIDE, 1), 1)
        return self.blocks % _stride(self.blocks // often) == 0

    def is_learnt(self) -> bool:
        """True if the next block is to be learnt from: where nothing is forgotten, later ones seldom."""
        return not self.steady or self.blocks % _stride(self.blocks // LEARNT_OFTEN) == 0

    def dynamics(self, mean: Vector) -> Dynamics:
        """The dynamics of rows that have this mean (n)."""
        kept = self._dynamics
        if not kept:
            kept.append(self._dynamics_now(mean))
        found = kept[0]
        return found._replace(outlook=found.outlook._replace(mean=mean))

    def _dynamics_now(self, mean: Vector) -> Dynamics:
        forecaster, known, spread = self._forecaster(self.totals[1]), self._innovations(), self._spread()
        assert known.gain is not None
        scale, power = 1 / known.gain, np.square(known.axes)
        left = 1 - (known.variances / (known.variances + known.noise)) @ power
        alone = known.noise / np.maximum(left, np.finfo(np.float64).eps) * np.square(scale)
        growth = Growth.of(forecaster)
        gathered = np.minimum(alone * growth.gathered, spread)
        gathered[-1] = spread
        noise = known.noise * np.square(scale)
        usual = self._deviations()
        outlook = Outlook(mean, usual, noise, gathered, growth.carried, AGES, BINS_BY_AGE, self._far())
        factors, ahead = self.judgement.factors(spread), self.ahead.judged(spread)
        return Dynamics(forecaster, outlook, known, factors, self.second, ahead, self._usual())

    def _spread(self) -> Vector:
        """Variance of each input around its mean (n)."""
        return self.persistence.variances()

    def _far(self) -> Vector:
        """Deviation beyond which an input has left its mean, see `moved_means` (n)."""
        return np.asarray(GROSS * np.sqrt(self._spread()))

    def _usual(self) -> float | None:
        """Usual time between two rows, in seconds; None: rows have no times."""
        return float(self.totals[2] / self.totals[1]) if self.timed else None

    def _scale(self) -> tuple[Vector, NDArray[np.bool_]]:
        """Standard deviation of each innovation, and where there are any."""
        gain = self.learner.seen(0).on_host().gain
        assert gain is not None
        return np.maximum(scale_of(gain), STILL * np.sqrt(self._spread())), gain > 0

    def _deviations(self) -> Vector:
        """Standard deviation of each innovation; infinite where nothing has varied yet (n)."""
        scale, varies = self._scale()
        return np.where(varies, scale, np.inf)

    def _forecaster(self, rows: float) -> Forecaster:
        return self._as_used(self.persistence.forecaster(float(rows)))

    def _as_used(self, found: Forecaster) -> Forecaster:
        """Coefficients as rows are forecast by them: with times, of first order."""
        return Forecaster(found.a + found.b, np.zeros_like(found.b)) if self.timed else found

    def _innovations(self) -> Gaussian:
        """Distribution of innovations; gaps leave fewer pairs of values, on which a covariance rests."""
        known = self.learner.known().on_host()
        scale, _ = self._scale()
        n, total = len(scale), known.trace / known.effective
        told = self._directions_of(known)
        variances, U, count = known.lam[:told] / known.effective, known.U[:told], self._pairs(known)
        return gaussian(np.zeros(n), U, variances, 0, total, count, scale, limited=self.directions < n)

    def _pairs(self, known: Knowledge) -> float:
        """Effective number of rows in which two inputs both have a value."""
        return known.effective * float(self.totals[0] / self.totals[1]) ** 2

    def _directions_of(self, known: Knowledge) -> int:
        """Number of directions of innovations that take part in filling."""
        n, variances = len(self.ages), known.lam[: self.directions] / known.effective
        if self.directions >= n:
            return len(variances)
        return _beyond_chance(variances, n, known.trace / known.effective, self._pairs(known))

    def _keep_directions(self) -> None:
        """Let the learner of wide input keep few directions where what lies behind those of use is noise."""
        if self.directions < len(self.ages):
            known = self.learner.known(axes=False).on_host()
            self.learner.align(min(self._directions_of(known), self.components), 0.0)

    def begin(self, rows: Matrix, steps: Steps, mean: Vector) -> None:
        """Learn from the first block, with gaps, of which nothing was known before; it has this mean."""
        came = np.vstack((self.came, ~np.isnan(rows)))
        deviations = np.vstack((np.zeros((2, len(mean))), np.where(came[2:], rows - mean, 0.0)))
        self._compare(deviations, came, steps)
        forecaster, ages = self._forecaster(len(rows)), self.ages
        for t in range(2, len(deviations)):
            said = forecaster.after(deviations[t - 1], deviations[t - 2])
            deviations[t] = np.where(came[t], deviations[t], said)
            ages = np.where(came[t], 0, np.minimum(ages + 1, NEVER))
        new = deviations[2:] - forecaster.after(deviations[1:-1], deviations[:-2])
        exact = came[2:] & came[1:-1] & came[:-2]
        # As if all had come: columns with few innovations would seem to vary less.
        scale = np.sqrt(len(rows) / np.maximum(exact.sum(axis=0), 1))
        self.learner.learn(np.where(exact, new, 0.0) * scale, steps)
        self._count(came[2:], steps)
        self._keep_directions()
        self._go_on(deviations[2:] + mean, came[2:], ages)

    def learn(self, past: Past, steps: Steps) -> None:
        """Learn from a block that has been followed."""
        course, rows, came = past.course, past.course.rows[: past.number], past.course.came[: past.number]
        if self.is_learnt():
            deviations = np.vstack((self.last, rows)) - past.dynamics.outlook.mean
            self._compare(deviations, np.vstack((self.came, came)), steps)
            learn_filled(self.learner, past.innovations(), steps)
            self._count(came, steps)
            self._keep_directions()
        self._go_on(rows, came, course.ages)
        self.last = past.last  # a predecessor may have been corrected since

    def learn_whole(self, rows: Matrix, steps: Steps, mean: Vector) -> None:
        """Learn from a block where neither it nor what was before has gaps; rows have this mean."""
        came = np.ones(rows.shape, dtype=bool)
        if self.is_learnt():
            deviations = np.vstack((self.last, rows)) - mean
            forecaster = self._forecaster(self.totals[1])
            over = coefficients(forecaster, in_steps(steps.passed, self._usual()), whole=not self.timed)
            phi, drift, scale = over.swapaxes(0, 1)
            mean = moved_means(deviations[1:-1], deviations[:-2], self._far())
            said = phi * deviations[1:-1] + drift * deviations[:-2] + (1 - phi - drift) * mean
            new = (deviations[2:] - said) / scale
            most = GROSS * self._deviations()
            self._compare(deviations, np.vstack((self.came, came)), steps)
            self.learner.learn(np.clip(new, -most, most), steps)
            self._count(came, steps)
            self._keep_directions()
        self._go_on(rows, came, self.ages)

    def judge(self, bins: NDArray[np.intp], answers: Floats, weights: Vector) -> None:
        """Take note of answers to entries that were hidden in a block; parameters: `HiddenErrors.after`."""
        self.judgement = self.judgement.after(bins, answers[:4], weights)
        if self.blocks > FIRST:
            _, time, _, _, mixture, last = answers
            spread = self._spread()
            units = np.divide(1.0, np.sqrt(spread), out=np.zeros_like(spread), where=spread > 0)
            self.second = self.second.after(bins, np.stack((mixture, time, last)), units, weights)
        self._dynamics = []

    def _compare(self, deviations: Matrix, came: NDArray[np.bool_], steps: Steps) -> None:
        """Count the products of neighbours; after a pause there are none."""
        counts, decay = steps.fading.counts, steps.fading.decay
        if self.timed and not self.totals[2] > 0:
            neighbours = np.ones(len(counts), dtype=bool)
        else:
            passed = in_steps(steps.passed, self._usual())
            neighbours = (passed > 0.5) & (passed < 2)
        if self.started and neighbours.all():
            self._compare_ahead(deviations, came, counts)
        fitted = self._as_used(self.persistence.fitted(self.totals[1])) if self.started else None
        self.persistence = self.persistence.after(deviations, came, counts * neighbours, decay, fitted)
        self.judgement = self.judgement.discounted(decay)

    def _compare_ahead(self, deviations: Matrix, came: NDArray[np.bool_], counts: Vector) -> None:
        """Judge forecasts of a block from the two rows before it, by what was known then."""
        from .forecast_kernels import compare_ahead

        forecaster, sums = self._forecaster(self.totals[1]), RECENT * self.ahead.sums
        innovations, gathered = np.square(self._deviations()), Growth.of(forecaster).gathered
        compare_ahead(
            sums,
            *forecaster,
            innovations,
            self._spread(),
            self._far(),
            gathered,
            AGES,
            deviations,
            came,
            counts,
            BINS_BY_AGE,
        )
        self.ahead = ForecastErrors(sums)

    def _count(self, came: NDArray[np.bool_], steps: Steps) -> None:
        """Count a block that has been learnt from."""
        counts, total, decay = steps.fading[:3]
        passed = [counts @ came.mean(axis=1), total, counts @ steps.passed]
        self.totals = decay * self.totals + np.array(passed)
        self._dynamics = []

    def _go_on(self, rows: Matrix, came: NDArray[np.bool_], ages: NDArray[np.int64]) -> None:
        """Go on from the end of a block."""
        self.last, self.came = np.vstack((self.last, rows[-2:]))[-2:], np.vstack((self.came, came[-2:]))[-2:]
        self.ages, self.blocks = ages, self.blocks + 1
        late, held = np.flatnonzero(~came[-1]), rows[-1].copy()
        if len(late):
            at, known = len(came) - 1 - np.argmax(came[::-1, late], axis=0), came[:, late].any(axis=0)
            held[late] = np.where(known, rows[at, late], self.held[late])
        self.held = held

    def joined(self, every: Sequence[TimeFilter], known: Knowledge) -> None:
        """Go on with what all of these know, of whose innovations this is known together."""
        self.persistence = Persistence(np.sum([one.persistence.sums for one in every], axis=0))
        self.judgement = HiddenErrors(np.sum([one.judgement.sums for one in every], axis=0))
        self.totals = np.sum([one.totals for one in every], axis=0)
        self.second = SecondMixture(np.sum([one.second.sums for one in every], axis=0))
        self.ahead = ForecastErrors(np.sum([one.ahead.sums for one in every], axis=0))
        self.blocks = sum(one.blocks for one in every)
        self.learner.restart(known, 0, 0.0)
        self._dynamics = []

    def follow(self, past: Past) -> None:
        """Go on from the rows of another filter."""
        self.last, self.ages = past.last, past.course.ages.copy()
        self.held = np.where(self.ages == 0, self.last[1], past.held)
        self.came = np.tile(self.ages == 0, (2, 1))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The stored form."""
        learner = {f"innovations.{name}": array for name, array in self.learner.arrays().items()}
        return learner | {
            "persistence": self.persistence.sums,
            "judgement": self.judgement.sums,
            "second": self.second.sums,
            "ahead": self.ahead.sums,
            "held": self.held,
            "last": self.last,
            "came": self.came,
            "ages": self.ages,
            "totals": np.append(self.totals, float(self.blocks)),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the stored form; a ValueError if it is damaged."""
        n, prefix = len(self.ages), "innovations."
        self.persistence = Persistence(stored_array(arrays, "persistence", self.persistence.sums.shape))
        self.judgement = HiddenErrors(stored_array(arrays, "judgement", self.judgement.sums.shape))
        self.second = SecondMixture(stored_array(arrays, "second", self.second.sums.shape))
        self.ahead = ForecastErrors(stored_array(arrays, "ahead", self.ahead.sums.shape))
        self.held = stored_array(arrays, "held", (n,), most=LARGEST_VALUE[np.float64], gaps=True)
        self.last = stored_array(arrays, "last", (2, n), most=LARGEST_VALUE[np.float64])
        self.came = stored_array(arrays, "came", (2, n), np.bool_)
        self.ages = stored_array(arrays, "ages", (n,), np.int64, least=0, most=NEVER + 1)
        self._dynamics = []
        *totals, blocks = stored_array(arrays, "totals", (4,), least=0.0)
        self.totals, self.blocks = np.array(totals), int(blocks)
        self.learner.restore(
            {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        )
        if self.started and not 0 < totals[0] <= ROUNDING * totals[1]:
            raise ValueError(f"its filter has had {totals[0]} of {totals[1]} rows")


def _stride(number: int) -> int:
    """Stride between the blocks that are taken, after this multiple of the number that are all taken."""
    return STRIDES[min(number.bit_length(), len(STRIDES) - 1)]


def _beyond_chance(variances: Vector, n: int, total: float, count: float) -> int:
    """Number of first variances of n that do not differ from all others together by chance alone.

    All others share what is left of the total. Each axis costs time in every row with gaps.
    """
    others = n - len(variances)
    level = np.full(others, max(total - float(variances.sum()), 0.0) / max(others, 1))
    return min(alike_from(np.concatenate((variances, level)), count), len(variances))


class Growth(NamedTuple):
    """Errors of forecasts from predecessors that have been filled themselves."""

    gathered: Matrix
    """Variance by `AGES` of the predecessor, in those of an innovation (ages, n).

    After h rows without a value it is ``psi_1^2 + ... + psi_h^2``. Beyond `LONGEST` it grows as that of a
    first-order process does: over twice the age by a factor 1 + g, over four times by (1 + g)(1 + g^2).
    """
    carried: Matrix
    """Share of what is unexpected of a value that its predecessor was off by, for ages up to `LONGEST`.

    The predecessor was off by ``psi_0 e + ... + psi_{h-1} e'``, the forecast from it by the same innovations
    one row later and by a new one: the share is their covariance over the variance of the latter,
    ``(psi_0 psi_1 + ... + psi_{h-1} psi_h) / (psi_0^2 + ... + psi_h^2)`` (ages, n).
    """

    @classmethod
    def of(cls, forecaster: Forecaster) -> Growth:
        """Errors of forecasts with these coefficients."""
        from .forecast_kernels import grown

        n = len(forecaster.a)
        found = cls(np.empty((len(AGES), n)), np.empty((LONGEST + 1, n)))
        grown(*forecaster, AGES, LONGEST, *found)
        return found


def forecast_variances(
    forecaster: Forecaster, deviations: Vector, spread: Vector, horizons: Matrix
) -> Matrix:
    """Variances of forecasts, m horizons ahead (m, n or 1), at most those of the inputs (m, n).

    Parameters
    ----------
    forecaster
        Persistence of the inputs.
    deviations
        Standard deviation of each innovation (n).
    spread
        Variance of each input (n).
    horizons
        Rows ahead, at least 1; between whole numbers, in between.
    """
    table, each = Growth.of(forecaster).gathered, np.arange(len(spread))
    at = np.clip(np.searchsorted(AGES, horizons - 1, side="right") - 1, 0, len(AGES) - 2)
    share = np.minimum((horizons - 1 - AGES[at]) / (AGES[at + 1] - AGES[at]), 1.0)
    gathered = table[at, each] + share * (table[at + 1, each] - table[at, each])
    return np.asarray(np.minimum(np.square(deviations) * (1 + gathered), spread))


def learn_filled(learner: Learner, filled: Filled, steps: Steps) -> None:
    """Learn from rows whose gaps were filled, and what they lack."""
    lacking = None
    if filled.along.any():
        from .gap_kernels import root

        lacking = root(filled.along) @ filled.axes
    learner.learn(filled.rows, replace(steps, extra=steps.extra + filled.extra), lacking)


def innovations_learner(plan: Plan) -> Learner:
    """A learner of innovations, of the kind that learns the rows; each input in its own units."""
    n, k = plan.width, min(plan.k, plan.width)
    return replace(plan, n=n, k=k, lags=0, center=False, standardize=True, dtype=np.float64).learner(0.0)
