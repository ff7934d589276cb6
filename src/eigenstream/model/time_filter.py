"""What time says about gaps: each input by its own past, all of them by what else is new in the row.

The rows before, gaps filled, forecast the next one (`Persistence`). What is new in a row, its innovations, is
related between inputs as rows are: a second learner knows their covariance, and entries that have come
correct the forecast of those that have not (`Belief`). A predecessor that was filled itself is in doubt, by
the variance that errors have gathered over the rows since its last value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats, Matrix, Vector
from ..learners.knowledge import Knowledge
from ..learners.learner import Learner, Steps
from ..learners.marks import Mark, Marked
from ..learners.scatter import ROUNDING
from ..learners.stored import LARGEST_VALUE, stored_array
from .imputation import Belief, Filled, Gaussian, added, gaussian
from .judgement import Judgement, bins_of
from .persistence import SLOWEST, Forecaster, Persistence
from .plan import Plan

LONGEST = 32
"""Rows over which errors of forecasts are followed one by one; beyond, as those of a first-order process."""

AGES = np.concatenate((np.arange(LONGEST + 1), LONGEST * 2 ** np.arange(1, 8)))
"""Ages of gaps that are told apart; the last one stands for all that are older."""

NEVER = int(AGES[-1])
"""Age of an input that has had no value yet, or whose past is not known."""

# A share. Inputs that stand still for a block and then move would otherwise outweigh all others together.
STILL = 1e-3
"""Least standard deviation of an innovation, in those of its input."""

# Standard deviations. Those of a Gaussian stay below it in all but one of 16,000 entries. Of 4 and 6, the
# former filled eight of the sensor sets of the evaluation better; the other eight had no say in it.
GROSS = 4.0
"""Innovations beyond this are in doubt: they pull no harder than one of this size."""


# Blocks. Judging fills a block once more; how errors grow with the age of a gap changes slowly.
OFTEN, STRIDES = 8, (1, 2, 4, 8, 16)
"""The first so many blocks are all judged; then every second of twice as many, and so on."""

WIDE = 64
"""Inputs from which on blocks are judged as much less often as there are more: each has as many entries."""

# Directions of innovations beyond the components of the rows, where there are too many inputs for all: each
# costs time in every row with gaps, and the rest counts as noise.
BEYOND = 8
"""Directions of innovations that are known of wide input, besides as many as components may be kept."""

TINY = float(np.finfo(np.float64).tiny)

LARGEST_ROOT = 1e150
"""Largest number whose square is one."""


class Dynamics(NamedTuple):
    """What is known of time between two blocks."""

    forecaster: Forecaster
    mean: Vector
    """Mean of the rows (n)."""
    known: Gaussian
    """Distribution of innovations."""
    deviations: Vector
    """Standard deviation of each innovation; infinite where nothing has varied yet (n)."""
    noise: Vector
    """Variance of the noise in each innovation, in the units of the rows (n)."""
    gathered: Matrix
    """Variance of a forecast from a predecessor that has been filled for so long, by `AGES` (ages, n)."""
    factors: Floats
    """Of `Judgement.factors`."""
    elapsed: float | None = None
    """Usual time between two rows, as minus the logarithm of a discount; None: rows have no times."""

    def over(self, discount: float) -> tuple[Forecaster, Vector | float]:
        """The forecaster over one step, and the deviation of innovations in usual ones.

        Over s steps of time, a first-order process keeps ``phi^s``, and its innovations have the variance
        ``(1 - phi^(2 s)) / (1 - phi^2)``.
        """
        if self.elapsed is None:
            return self.forecaster, 1.0
        steps = -math.log(max(discount, TINY)) / self.elapsed if self.elapsed > 0 else 1.0
        phi = np.clip(self.forecaster.a, TINY, SLOWEST)
        kept = phi**steps
        scale = np.sqrt(np.maximum(1 - np.square(kept), TINY) / (1 - np.square(phi)))
        return Forecaster(kept, np.zeros_like(phi)), scale

    def doubts(
        self, new: Vector, ages: NDArray[np.int64]
    ) -> tuple[Vector | None, Vector | None, NDArray[np.bool_] | None]:
        """Doubts of innovations as `Belief.expect` takes them.

        Returns them, the variances that forecasts have gathered, and which innovations are gross; each None
        where there is nothing of the kind.

        Parameters
        ----------
        new
            Innovations, NaN in gaps (n).
        ages
            Rows since the last value of each input, before this row (n).
        """
        gathered = gross = None
        if ages.any():
            rows = np.searchsorted(AGES, ages, side="right") - 1
            gathered = self.gathered[rows, np.arange(len(ages))]
        ratio = np.abs(new) / (GROSS * self.deviations)
        variances = gathered
        if not np.nanmax(ratio, initial=0.0) <= 1:
            gross = ratio > 1  # a gap is not
            far = np.clip(new / GROSS, -LARGEST_ROOT, LARGEST_ROOT)  # its square has to be a number
            excess = np.where(gross, np.square(far) - np.square(self.deviations), 0.0)
            variances = excess if variances is None else np.maximum(excess, variances)
        if variances is None:
            return None, None, None
        under = self.noise + variances
        doubts = np.divide(variances, under, out=np.zeros_like(under), where=under > 0)
        return doubts, gathered, gross


class Said(NamedTuple):
    """What time says of one row."""

    row: Vector
    """The row, gaps filled (n)."""
    gaps: NDArray[np.intp]
    """Indices of the gaps (m)."""
    variances: Vector
    """Variance that time expects in each gap (m)."""
    ages: NDArray[np.int64]
    """Age of each gap: 1 if the row before had a value (m)."""


class Forecast(NamedTuple):
    """The next rows of a stream."""

    rows: Floats
    """Expectations (steps, n)."""
    std: Floats
    """Their standard deviations (steps, n)."""


class Past:
    """The filter on its way through rows.

    Parameters
    ----------
    dynamics
        What was known of time before these rows.
    last
        The two rows before them, the older one first (2, n).
    ages
        Rows since the last value of each input (n).
    rows
        Most rows to come.
    """

    def __init__(self, dynamics: Dynamics, last: Matrix, ages: NDArray[np.int64], rows: int) -> None:
        n = len(ages)
        self.dynamics, self.belief = dynamics, Belief(dynamics.known)
        self.before, self.last = last - dynamics.mean
        self.ages, self.number = ages, 0
        self.came: NDArray[np.bool_] = np.zeros((rows, n), dtype=bool)
        self.rows: Matrix = np.zeros((rows, n))
        self.new: Matrix = np.zeros((rows, n))
        self.extra: Vector = np.zeros(rows)
        self.along: Matrix = np.zeros((0, 0))

    @classmethod
    def anew(cls, dynamics: Dynamics, rows: int) -> Self:
        """A stretch of rows that nothing is known of yet."""
        n = len(dynamics.mean)
        return cls(dynamics, np.tile(dynamics.mean, (2, 1)), np.full(n, NEVER), rows)

    def take(self, row: Vector, weight: float, discount: float, *, corrects: bool) -> Said:
        """What time says of the next row, which counts so much; ``corrects`` as of `OpenBlock`."""
        dynamics, t = self.dynamics, self.number
        came = ~np.isnan(row)
        whole = bool(came.all())
        if whole and weight == 0:  # nothing happened: such rows stand for those of merged streams
            self.rows[t], self.number = self.last + dynamics.mean, t + 1
            return Said(row, np.zeros(0, dtype=np.intp), np.zeros(0), self.ages[:0])
        forecaster, scale = dynamics.over(discount)
        forecast, value = forecaster.after(self.last, self.before), row - dynamics.mean
        new = (value - forecast) / scale
        doubts, gathered, gross = dynamics.doubts(new, self.ages)
        self.along *= discount
        gaps, variances, raw = np.zeros(0, dtype=np.intp), np.zeros(0), new
        if doubts is not None or not whole:
            expected = self.belief.expect(new, doubts)
            new, self.extra[t] = expected.row.astype(np.float64, copy=False), expected.extra
            self.along = added(self.along, weight * expected.along)
            if not whole:
                value = np.where(came, value, forecast + scale * new)
                missing = ~came[expected.doubtful]
                gaps, variances = expected.doubtful[missing], expected.variances[missing]
                if gathered is not None:
                    variances = variances + gathered[gaps]
                if dynamics.elapsed is not None:
                    variances = variances * np.broadcast_to(np.square(scale), came.shape)[gaps]
            if gross is not None:  # learnt from as far as they are believed, or a change would never be
                new = np.where(
                    gross, np.clip(raw, -GROSS * dynamics.deviations, GROSS * dynamics.deviations), new
                )
        if not whole or self.ages.any():
            self.ages = np.where(came, 0, np.minimum(self.ages + 1, NEVER))
        self.came[t], self.rows[t], self.new[t] = came, value + dynamics.mean, new
        self.before, self.last, self.number = self.last, value, t + 1
        if corrects:
            self.belief.correct(new, weight, discount, center=False)
        return Said(self.rows[t], gaps, variances, self.ages[gaps])

    def take_whole(self, rows: Matrix, discounts: Vector) -> None:
        """Take all rows at once, where none of them and none before them has gaps."""
        dynamics = self.dynamics
        values = np.vstack((self.before, self.last, rows - dynamics.mean))
        if dynamics.elapsed is None:
            new = values[2:] - dynamics.forecaster.after(values[1:-1], values[:-2])
        else:
            over = [dynamics.over(float(discount)) for discount in discounts]
            new = np.stack(
                [
                    (values[t + 2] - f.after(values[t + 1], values[t])) / scale
                    for t, (f, scale) in enumerate(over)
                ]
            )
        most = GROSS * dynamics.deviations
        self.came[:], self.rows[:], self.new[:] = True, rows, np.clip(new, -most, most)
        self.number = len(rows)

    def forecast(self, steps: int) -> Forecast:
        """The next rows, after those that have been taken."""
        dynamics = self.dynamics
        last, before, rows = self.last, self.before, np.zeros((steps, len(self.last)))
        for h in range(steps):
            last, before = dynamics.forecaster.after(last, before), last
            rows[h] = last
        ages = np.minimum(self.ages + np.arange(1, steps + 1)[:, None], NEVER)
        each = np.arange(len(self.last))
        # A forecast from a gap is one over more rows, as far as errors are concerned.
        variances = dynamics.gathered[np.searchsorted(AGES, ages - 1, side="right") - 1, each]
        variances = np.minimum(variances + np.square(dynamics.deviations), dynamics.gathered[-1])
        factors = dynamics.factors[1, bins_of(ages), each]
        return Forecast(rows + dynamics.mean, np.sqrt(np.maximum(factors, 1.0) * variances))

    def innovations(self) -> Filled:
        """What was new in the rows so far."""
        t = self.number
        return Filled(self.new[:t], self.extra[:t], self.along, self.belief.axes[: len(self.along)])


class TimeFilter(Marked):
    """Persistence of inputs, covariance of innovations, errors as judged, and the last rows.

    All of it changes with whole blocks only: within a block a `Past` goes on from here.

    Parameters
    ----------
    plan
        The task of the tracker.
    """

    LEARNT = ("persistence", "judgement", "last", "came", "ages", "totals", "blocks")

    def __init__(self, plan: Plan) -> None:
        n = plan.width
        self.timed = plan.seconds is not None
        self.directions = n if plan.solver == "exact" else plan.k + BEYOND
        """Most directions of innovations that take part in filling."""
        self.learner = innovations_learner(plan)
        """Of innovations, each input in its own units."""
        self.persistence, self.judgement = Persistence.none(n), Judgement.none(n)
        self.last: Matrix = np.zeros((2, n))
        """The last two rows, the older one first, gaps filled by time."""
        self.came: NDArray[np.bool_] = np.zeros((2, n), dtype=bool)
        """Entries of these that have come."""
        self.ages: NDArray[np.int64] = np.full(n, NEVER)
        """Rows since the last value of each input."""
        self.totals: Vector = np.zeros(3)
        """Shares of entries that came, rows, and minus logarithms of discounts: weighted and discounted."""
        self.blocks = 0
        """Blocks that have been learnt."""

    def mark(self) -> Mark:
        return self.learner.mark(), super().mark()

    def revert(self, mark: Mark) -> None:
        learner, others = mark
        super().revert(others)
        self.learner.revert(learner)

    @property
    def started(self) -> bool:
        """True if there is something to fill gaps by."""
        return self.learner.started

    @property
    def in_doubt(self) -> bool:
        """True if the next row follows one that has gaps."""
        return bool(self.ages.any())

    def is_judged(self, *, gaps: bool) -> bool:
        """True if the next block is to be judged: later ones less and less often, wide ones seldom.

        Judging takes fifty times as long as learning. Blocks without gaps are judged each time that their
        number has doubled: enough for the first gap.
        """
        if not gaps:
            return self.blocks & (self.blocks - 1) == 0
        seldom = max(len(self.ages) // WIDE, 1)
        stride = STRIDES[min((self.blocks // (OFTEN * seldom)).bit_length(), len(STRIDES) - 1)]
        return self.blocks % (seldom * stride) == 0

    def dynamics(self, mean: Vector) -> Dynamics:
        """What is known of time; the rows have this mean (n)."""
        known, forecaster = self._innovations(), self._forecaster(self.totals[1])
        assert known.gain is not None
        scale, power = 1 / known.gain, np.square(known.axes)
        variances = known.noise + known.variances @ power
        deviations = np.where(variances > 0, np.sqrt(variances) * scale, np.inf)
        left = 1 - (known.variances / (known.variances + known.noise)) @ power
        alone = known.noise / np.maximum(left, np.finfo(np.float64).eps) * np.square(scale)
        spread = self.persistence.variances()
        gathered = np.minimum(alone * _gathered(forecaster), spread)
        gathered[-1] = spread
        noise, factors = known.noise * np.square(scale), self.judgement.factors(spread)
        elapsed = float(self.totals[2] / self.totals[1]) if self.timed else None
        return Dynamics(forecaster, mean, known, deviations, noise, gathered, factors, elapsed)

    def _forecaster(self, rows: float) -> Forecaster:
        found = self.persistence.forecaster(float(rows))
        return Forecaster(found.a + found.b, np.zeros_like(found.b)) if self.timed else found

    def _innovations(self) -> Gaussian:
        """Distribution of innovations; gaps leave fewer pairs of entries, on which a covariance rests."""
        known = self.learner.known().on_host()
        count = known.effective * float(self.totals[0] / self.totals[1]) ** 2
        assert known.scale is not None
        scale = np.maximum(known.scale, STILL * np.sqrt(self.persistence.variances()))
        some = slice(self.directions)
        variances, total = known.lam[some] / known.effective, known.trace / known.effective
        return gaussian(np.zeros(len(scale)), known.U[some], variances, 0, total, count, scale)

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
        self._go_on(deviations[2:] + mean, came[2:], ages, steps)

    def learn(self, past: Past, steps: Steps) -> None:
        """Learn from a block that has been followed."""
        deviations = np.vstack((self.last, past.rows)) - past.dynamics.mean
        self._compare(deviations, np.vstack((self.came, past.came)), steps)
        learn_filled(self.learner, past.innovations(), steps)
        self._go_on(past.rows, past.came, past.ages, steps)

    def judge(self, bins: NDArray[np.intp], answers: Floats, weights: Vector) -> None:
        """Take note of answers to entries that were hidden in a block; parameters as of `Judgement.after`."""
        self.judgement = self.judgement.after(bins, answers, weights)

    def _compare(self, deviations: Matrix, came: NDArray[np.bool_], steps: Steps) -> None:
        """Count the products of neighbours; after a pause there are none."""
        counts, _, decay, _ = steps.fading
        neighbours = np.ones(len(counts), dtype=bool)
        if self.timed and self.totals[2] > 0:
            passed = -np.log(np.maximum(steps.discount, TINY)) * self.totals[1] / self.totals[2]
            neighbours = (passed > 0.5) & (passed < 2)
        self.persistence = self.persistence.after(deviations, came, counts * neighbours, decay)
        self.judgement = self.judgement.discounted(decay)

    def _go_on(self, rows: Matrix, came: NDArray[np.bool_], ages: NDArray[np.int64], steps: Steps) -> None:
        counts, total, decay, _ = steps.fading
        self.last, self.came = np.vstack((self.last, rows))[-2:], np.vstack((self.came, came))[-2:]
        self.ages, self.blocks = ages, self.blocks + 1
        passed = counts @ -np.log(np.maximum(steps.discount, TINY))
        self.totals = decay * self.totals + np.array([counts @ came.mean(axis=1), total, passed])

    def joined(self, every: Sequence[TimeFilter], known: Knowledge) -> None:
        """Go on with what all of these know, of whose innovations this is known together."""
        self.persistence = Persistence(np.sum([one.persistence.sums for one in every], axis=0))
        self.judgement = Judgement(np.sum([one.judgement.sums for one in every], axis=0))
        self.totals = np.sum([one.totals for one in every], axis=0)
        self.blocks = sum(one.blocks for one in every)
        self.learner.restart(known, 0, 0.0)

    def follow(self, past: Past) -> None:
        """Go on from the rows of another filter."""
        self.last = np.vstack((past.before, past.last)) + past.dynamics.mean
        self.came = np.tile(past.ages == 0, (2, 1))
        self.ages = past.ages

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The stored form."""
        learner = {f"innovations.{name}": array for name, array in self.learner.arrays().items()}
        return learner | {
            "persistence": self.persistence.sums,
            "judgement": self.judgement.sums,
            "last": self.last,
            "came": self.came,
            "ages": self.ages,
            "totals": np.append(self.totals, float(self.blocks)),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `arrays` wrote; a ValueError where it cannot be."""
        n, prefix = len(self.ages), "innovations."
        self.persistence = Persistence(stored_array(arrays, "persistence", self.persistence.sums.shape))
        self.judgement = Judgement(stored_array(arrays, "judgement", self.judgement.sums.shape))
        self.last = stored_array(arrays, "last", (2, n), most=LARGEST_VALUE[np.float64])
        self.came = stored_array(arrays, "came", (2, n), np.bool_)
        self.ages = stored_array(arrays, "ages", (n,), np.int64, least=0, most=NEVER + 1)
        *totals, blocks = stored_array(arrays, "totals", (4,), least=0.0)
        self.totals, self.blocks = np.array(totals), int(blocks)
        self.learner.restore(
            {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        )
        if self.started and not 0 < totals[0] <= ROUNDING * totals[1]:
            raise ValueError(f"its filter has had {totals[0]} of {totals[1]} rows")


def _gathered(forecaster: Forecaster) -> Matrix:
    """Variance of a forecast by `AGES` of its predecessor, in those of an innovation (ages, n).

    After h rows without a value it is ``psi_1^2 + ... + psi_h^2``. Beyond `LONGEST` it grows as that of a
    first-order process does: over twice the age by a factor 1 + g, over four times by (1 + g)(1 + g^2).
    """
    squares = np.square(forecaster.responses(LONGEST + 1))
    squares[0] = 0.0
    found = np.zeros((len(AGES), squares.shape[1]))
    found[: LONGEST + 1] = np.cumsum(squares, axis=0)
    half, whole = found[LONGEST // 2], found[LONGEST]
    growth = np.clip(np.divide(whole, half, out=np.ones_like(whole), where=half > 0) - 1, 0.0, 1.0)
    for i in range(LONGEST + 1, len(AGES)):
        growth = growth**2
        found[i] = found[i - 1] * (1 + growth)
    return found


def learn_filled(learner: Learner, filled: Filled, steps: Steps) -> None:
    """Learn from rows whose gaps were filled, and what they lack."""
    lacking = None
    if filled.along.any():
        lam, P = np.linalg.eigh(filled.along)
        lacking = np.sqrt(np.maximum(lam, 0.0))[:, None] * (P.T @ filled.axes)
    learner.learn(filled.rows, replace(steps, extra=steps.extra + filled.extra), lacking)


def innovations_learner(plan: Plan) -> Learner:
    """A learner of innovations, of the kind that learns the rows; each input in its own units."""
    n, k = plan.width, min(plan.k, plan.width)
    return replace(plan, n=n, k=k, lags=0, center=False, standardize=True, dtype=np.float64).learner(0.0)
