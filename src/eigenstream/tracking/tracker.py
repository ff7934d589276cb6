"""A learner on a stream: rows that wait for their block, looks at the spectrum, scores, events.

Everything happens at absolute sample counts, so that how a stream is cut into calls cannot matter:

- rows are learnt in blocks that start at multiples of the block size; rows of an unfinished block wait,
- on a grid (`Plan.next_look`) threshold and rank are decided, changes of rank are noted, and the spectrum is
  written to the history,
- whoever asks for a `Reading` gets one of everything learnt so far, waiting rows too. It is computed aside:
  asking changes nothing.
"""

from __future__ import annotations

from collections import deque
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..advice import advice
from ..calibration import Decision, Evidence, decide
from ..delays import embedded, last_rows
from ..engine.knowledge import Floats, Knowledge, Vector
from ..engine.learner import Learner, Seen, Steps, rowwise
from ..engine.scale import standardized
from ..engine.threads import WIDE, one_thread
from ..history import History
from ..imputation import Filled, complete, fill, fill_by_means
from ..outliers import Usual, cap
from ..reading import SCORES, Reading
from ..rules import Rule
from .events import RankChange, Tally
from .looks import evidence_of, reading_of, spectrum_of
from .pace import Clock, Pace
from .plan import Plan
from .varying import Varying
from .waiting import Waiting
from .whole_calls import interrupts_deferred

CHANGES = 1000
"""How many changes of rank are remembered."""

LONGEST_PART = 1024
"""Most rows that are put beside their predecessors at a time, which takes memory."""

FORGOTTEN = 1e-3
"""A discount over a block below which the rank has to be decided anew at once."""

Missing = Literal["raise", "skip", "impute"]


@dataclass
class Tracker:
    """A learner on a stream, and what was last seen of it."""

    plan: Plan
    learner: Learner = field(init=False)
    waiting: Waiting = field(init=False)
    """Rows of an unfinished block."""
    _even: Steps = field(init=False)
    """What a block of rows of weight 1 counts."""
    inputs: Varying = field(init=False)
    """Which inputs have varied so far."""
    has_gaps: bool = False
    """Whether a row with gaps has ever been learnt from."""
    usual: Usual = field(default_factory=Usual)
    """What rows are off by, if outliers are capped."""
    recent: Floats | None = None
    """The last rows as they came, as many as there are lags; None before the first."""
    clock: Clock = field(default_factory=Clock)
    """When rows came, if the half-life is in seconds."""
    time: int = 0
    look_at: int = 1
    decision: Decision = field(init=False)
    """What was decided at the last look."""
    kept: Vector = field(init=False)
    """Variance along each kept axis, as of the last look."""
    rest: float = 0.0
    """Mean variance of all other directions, as of the last look."""
    changes: deque[RankChange] = field(default_factory=lambda: deque(maxlen=CHANGES))
    history: History = field(init=False)
    """The spectrum over time."""
    tally: Tally = field(default_factory=Tally)
    _factors: dict[str, Floats] = field(default_factory=dict)
    """What projections are multiplied by to become scores, since the last look."""
    _reading: Reading | None = None
    """The reading of everything learnt so far, once somebody has asked for it."""
    early: Reading | None = None
    """The first look, until the learner has axes of its own."""

    def __post_init__(self) -> None:
        plan = self.plan
        self.decision = Decision(0.0 if isinstance(plan.alpha, Rule) else plan.alpha, 0.0, 0)
        self.kept = np.zeros(0)
        self.learner = plan.learner(self.decision.alpha)
        self.waiting = Waiting(self.learner.block, plan.n, plan.dtype)
        self._even = Steps.even(self.learner.block, plan.beta2)
        self.look_at = plan.next_look(0, plan.window)
        self.history = History(plan.k)
        self.inputs = Varying(plan.n, plan.dtype)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_reading": None, "_factors": {}}

    def follow(
        self,
        rows: Floats,
        weights: Vector | None = None,
        missing: Missing = "raise",
        scores: str | None = None,
        times: Vector | None = None,
    ) -> tuple[Floats | None, list[RankChange]]:
        """Learn from rows in order; returns their scores from before, if asked for, and what changed.

        Parameters
        ----------
        rows
            Rows as they come, of the plan's `Plan.width` and type, C-contiguous, finite but for NaN where
            ``missing`` allows it.
        weights
            One per row; ones if None. A row is one step of time whatever its weight.
        missing
            What to do with rows that have NaN. Rows that are skipped do not let time pass, unless rows have
            time stamps.
        scores
            How to score each row by what was known before it (as of the last block and look), a name in
            `SCORES`; None: not at all.
        times
            When each row came, in seconds, never backwards (`row_times`); if the plan's half-life is in
            seconds, and only then.
        """
        self._reading = None
        changes: list[RankChange] = []
        parts: list[Floats] = []
        usable: Any
        gaps = missing != "raise" and self._has_gaps(rows)
        with nullcontext() if self.plan.n >= WIDE else one_thread():
            start = 0
            while start < len(rows):
                part = slice(start, start + self.rows_until_due())
                X, usable = self._embedded(rows[part]), slice(None)
                steps = self._steps(len(X), None if weights is None else weights[part])
                if gaps:
                    usable = self._usable(X, missing)
                    X, steps = X[usable], steps.part(usable)
                if times is not None:
                    steps = self._timed(steps, times[part][usable])
                if scores is not None:
                    parts.append(np.full((len(rows[part]), self.plan.k), np.nan, dtype=rows.dtype))
                    parts[-1][usable] = self._scores(self.fill(X).rows if gaps else X, scores)
                changes += self._take(X, steps)
                start = part.stop
        if times is not None and len(times):
            self.clock = self.clock._replace(latest=float(times[-1]))
        return (np.vstack(parts) if parts else None), changes

    def follow_one(self, row: Floats, scores: str) -> tuple[Floats, list[RankChange]]:
        """`follow` for one complete row of weight 1, if the plan is plain: as little overhead as possible."""
        score = self._scores(row[None], scores)[0]
        waiting = self.waiting
        i, steps = waiting.number, waiting.steps
        if self.learner.block == 1 or i + 1 == self.learner.block or not self.inputs.all_vary:
            self._reading = None
            with interrupts_deferred():
                return score, self._take(row[None], self._steps(1))
        waiting.rows[i] = row
        steps.weight[i], steps.discount[i], steps.extra[i] = 1.0, self.plan.beta2, 0.0
        # No call in between: an interruption comes before all of these or after.
        self._reading = None
        self.tally.learnt += 1
        waiting.number = i + 1
        self.time += 1
        return score, self._look() if self.time >= self.look_at else []

    def _embedded(self, rows: Floats) -> Floats:
        """Rows beside their predecessors, if that is asked for."""
        lags = self.plan.lags
        if not lags:
            return rows
        before, self.recent = self.recent, last_rows(rows, lags, self.recent)
        return embedded(rows, lags, before)

    def _has_gaps(self, rows: Floats) -> bool:
        return bool(np.isnan(rows).any()) or (self.recent is not None and bool(np.isnan(self.recent).any()))

    def _timed(self, steps: Steps, times: Vector) -> Steps:
        """Steps with discounts by the times of the rows, which must be learnt from next."""
        assert self.plan.seconds is not None
        if not len(times):
            return steps
        discount = self.clock.discounts(times, self.plan.seconds)
        self.clock = self.clock._replace(learnt=float(times[-1]))
        return replace(steps, discount=discount)

    def _steps(self, rows: int, weights: Vector | None = None) -> Steps:
        """What these rows count."""
        block = self.learner.block
        if weights is None and rows <= block:
            return self._even if rows == block else self._even.part(slice(rows))
        even = Steps.even(rows, self.plan.beta2)
        return even if weights is None else replace(even, weight=weights)

    def would_wait(self, rows: int) -> bool:
        """Whether so many rows only join those that wait, so that nothing is learnt or decided yet."""
        return (
            self.plan.plain
            and self.inputs.all_vary
            and self.learner.block > 1
            and rows < self.rows_until_due()
        )

    def rows_until_due(self) -> int:
        """How many rows can be learnt before a block, a look or an event of the network is due."""
        block = self.learner.block
        until_block = block - self.waiting.number if block > 1 else self.learner.rows_until_due()
        most = LONGEST_PART if self.plan.lags else np.inf
        return int(min(self.look_at - self.time, until_block, most))

    def reading(self) -> Reading:
        """What the model says of everything learnt so far; remembered until the next row."""
        if self._reading is None:
            with one_thread() if self.plan.n < WIDE else nullcontext():
                known = self.known()
                self._reading = reading_of(known, self.plan, self._decided(known), self._tells)
        return self._reading

    def encode(self, rows: Floats, missing: str, scores: str) -> Floats:
        """Scores of rows by everything learnt so far; NaN for rows that ``missing`` says to skip."""
        rows = self.prepared(rows, missing)
        encoded = self.reading().astype(self.plan.dtype).encode(rows, scores, self.plan.k)
        if missing != "raise":
            encoded[np.isnan(rows).any(axis=1)] = np.nan
        return encoded

    def scores(self, rows: Floats, how: str) -> Floats:
        """Scores by the last block and look, as `follow` returns them; nothing is learnt."""
        return self._scores(self.fill(rows).rows, how)

    def next_rows(self, rows: Floats, missing: str) -> Floats:
        """Rows as they would be learnt from if they came next."""
        rows = self.prepared(rows, missing, self.recent)
        return rows[~np.isnan(rows).any(axis=1)]

    def prepared(self, rows: Floats, missing: str, before: Floats | None = None) -> Floats:
        """Rows embedded, as a stretch of their own unless others came before them.

        Gaps are filled where ``missing`` says so and the row has a value.
        """
        if self.plan.lags:
            rows = embedded(rows, self.plan.lags, before)
        gaps = np.isnan(rows)
        if missing == "impute" and gaps.any():
            observed = ~gaps.all(axis=1)
            rows = rows.copy()
            rows[observed] = self.fill(rows[observed]).rows
        return rows

    def known(self) -> Knowledge:
        """What is known of the input, waiting rows too; sums over samples."""
        return self._caught_up().known()

    @property
    def alpha(self) -> float:
        """The coefficient as of the last look."""
        return self.decision.alpha

    @property
    def n_inputs(self) -> int:
        """How many inputs vary; at least 1."""
        return self.inputs.number

    @property
    def pace(self) -> Pace:
        """Of rows with time stamps, waiting rows too."""
        pace, number = self.clock.pace, self.waiting.number
        return pace.after(self.waiting.first(number)[1]) if number else pace

    @property
    def beta2(self) -> float:
        """The discount per sample; of rows with time stamps, as measured so far."""
        return self.plan.beta2 if self.plan.seconds is None else self.pace.beta2

    def fill(self, rows: Floats) -> Filled:
        """Rows with NaN filled in by what was known at the last block and look."""
        if not np.isnan(rows).any():
            return complete(rows)
        if self.early is not None or self.learner.started:
            seen = self._seen()
            return fill(rows, seen.mean, seen.axes, self.kept, self.rest, seen.gain)
        if self.learner.block == 1:
            rows = np.where(np.isnan(rows), self.inputs.first, rows)
        return fill_by_means(rows, standardize=self.plan.standardize)

    def restart(self, known: Knowledge, time: int) -> None:
        """Go on from this knowledge, as of this sample count, and look at it at once."""
        self.time = time
        self.learner.restart(known, time)
        if self.learner.block > 1 and time % self.learner.block:
            # Blocks start at multiples of their size: rows without weight fill up the one that is open.
            self.waiting.pretend(time % self.learner.block, known.mean)
        self._look()
        self.changes.clear()

    def _take(self, rows: Floats, steps: Steps) -> list[RankChange]:
        """Learn from at most `rows_until_due` rows without gaps."""
        if not len(rows):
            return []
        if not self.inputs.all_vary:
            self.inputs.see(rows)
        block, b, waiting = self.learner.block, len(rows), self.waiting
        if block == 1 or (b == block and not waiting.number):
            self._learn_block(rows, steps)
        else:
            waiting.write(rows, steps)
            if waiting.number + b == block:
                self._learn_block(*waiting.first(block))
            waiting.number = (waiting.number + b) % block
        self.time += b
        self.tally.learnt += b
        return self._look() if self.time >= self.look_at else []

    def _learn_block(self, rows: Floats, steps: Steps) -> None:
        """Learn from a whole block, or from rows that need none."""
        self._learn(self.learner, rows, steps)
        if self.plan.seconds is not None:
            self.clock = self.clock._replace(pace=self.clock.pace.after(steps))
            if steps.fading.decay < FORGOTTEN:
                self.look_at = self.time  # what was known of the spectrum is gone

    def _learn(self, learner: Learner, rows: Floats, steps: Steps) -> None:
        """Learn from rows that belong together; gaps are filled by what was known before them."""
        if not self.has_gaps or not np.isnan(rows).any():
            learner.learn(self._capped(learner, rows, steps), steps)
            return
        if learner.block > 1 and not learner.started:
            filled = fill_by_means(rows, standardize=self.plan.standardize)
        else:
            filled = self.fill(rows)
        rows = self._capped(learner, filled.rows, steps)
        learner.learn(rows, replace(steps, extra=steps.extra + filled.extra))
        if filled.along.shape[1]:
            along = np.tensordot(steps.fading.counts, filled.along, axes=1)
            lam, P = np.linalg.eigh(along)
            learner.spread(np.sqrt(np.maximum(lam, 0.0))[:, None] * (P.T @ filled.axes))

    def _capped(self, learner: Learner, rows: Floats, steps: Steps) -> Floats:
        """The rows, outliers scaled down if that is asked for."""
        if not self.plan.cap_outliers:
            return rows
        if learner.started:
            seen = self._seen()
            variances = learner.variances(seen.axes)
        else:
            seen, variances = _first_seen(rows, self.plan), np.zeros(0)
        decay = steps.fading.decay
        capped = cap(rows, seen.mean, seen.axes, variances, self.usual, decay, seen.gain)
        if learner is self.learner:  # a copy that only looks ahead leaves nothing behind
            self.usual = capped.usual
            self.tally.capped += capped.number
        return capped.rows

    def _look(self) -> list[RankChange]:
        """Decide about threshold and rank, and note what has changed."""
        learner = self._caught_up()
        known = learner.totals()
        if not known.effective > 0:
            self._schedule()
            return []
        decision = self._decided(known)
        self.learner.recalibrate(decision.alpha)
        if self.learner.started:
            self.early = None
            kept = self.learner.align(decision.rank) / known.effective
        else:
            self.early = reading_of(learner.known(), self.plan, decision, self._tells)
            kept = self.early.kept_variances.astype(np.float64)
        return self.note(known, decision, kept)

    def note(self, known: Knowledge, decision: Decision, kept: Vector) -> list[RankChange]:
        """Take over what a look has found: what is known, the decision, and the variances along kept axes."""
        self._schedule()
        before, self.decision = self.decision.rank, decision
        self.kept, self._factors = np.maximum(kept, decision.threshold), {}
        total = known.trace / known.effective
        self.rest = max(total - float(kept.sum()), 0.0) / max(self.plan.n - decision.rank, 1)
        told = len(known.lam) if self._tells else decision.rank
        self.history.add(self.time, spectrum_of(known, self.plan, told), decision.threshold, decision.rank)
        if decision.rank == before:
            return []
        change = RankChange(self.time, before, decision.rank)
        self.changes.append(change)
        return [change]

    def _schedule(self) -> None:
        """Say when the next look is due."""
        window = self.plan.window if self.plan.seconds is None else self.pace.window
        self.look_at = self.plan.next_look(self.time, window)

    def _decided(self, known: Knowledge) -> Decision:
        plan = self.plan
        if not known.effective > 0:
            return self.decision
        return decide(plan.kind, plan.alpha, self._evidence(known), self.decision)

    def evidence(self) -> Evidence:
        """What a decision about everything learnt so far rests on, which must be something."""
        return self._evidence(self.known())

    def advice(self) -> str:
        """What to try where the rank is 0 or has reached the capacity; empty otherwise."""
        known = self.known()
        if not known.effective > 0:
            return ""
        return advice(self._evidence(known), self.reading().rank, self.plan.alpha)

    def _evidence(self, known: Knowledge) -> Evidence:
        threshold, pace = self.decision.threshold, self.pace if self.plan.seconds is not None else Pace()
        return evidence_of(known, self.plan, self.n_inputs, self.time, pace, threshold, self._tells)

    @property
    def _tells(self) -> bool:
        return self.learner.tells_below_threshold

    def _seen(self) -> Seen:
        """Mean, kept axes and gain as of the last block and look."""
        if self.early is not None:
            scale = self.early.scale
            gain = None if scale is None else 1 / scale.astype(np.float64)
            return Seen(self.early.mean.astype(np.float64), self.early.kept_axes, gain)
        return self.learner.seen(self.decision.rank)

    def _caught_up(self) -> Learner:
        """The learner with waiting rows learnt; a copy, unless none wait."""
        number = self.waiting.number
        if not number:
            return self.learner
        plan, learner = self.plan, self.learner.copy()
        if not self.learner.started:
            # So few rows are known exactly by their own directions, which is cheaper for any learner.
            from ..engine.subspace import Subspace

            block = self.learner.block
            learner = Subspace(plan.n, block, block, center=plan.center, standardize=plan.standardize)
        self._learn(learner, *self.waiting.first(number))
        return learner

    def _scores(self, rows: Floats, how: str) -> Floats:
        """Scores by the last block and look, zero beyond the rank; the same bits for any chunking."""
        rank = self.decision.rank
        scores = np.zeros((len(rows), self.plan.k), dtype=rows.dtype)
        if not rank:
            return scores
        if self.early is None:
            projections = self.learner.project(rows, rank)
        else:
            centered = standardized(rows, self.early.mean, self.early.scale)
            projections = rowwise(centered, self.early.kept_axes.astype(rows.dtype))
        if how not in self._factors:
            self._factors[how] = SCORES[how](self.kept, self.decision.threshold).astype(rows.dtype)
        scores[:, :rank] = projections * self._factors[how]
        return scores

    def _usable(self, rows: Floats, missing: Missing) -> NDArray[np.bool_]:
        """Which rows can be learnt from; notes what becomes of those with gaps."""
        observed = ~np.isnan(rows)
        complete = observed.all(axis=1)
        usable = complete if missing == "skip" else observed.any(axis=1)
        if missing == "impute" and self.learner.block == 1 and not self.learner.started:
            # The network learns each row at once: it starts once every input has had a value.
            self.inputs.see(rows)
            usable &= self.inputs.all_seen
        incomplete = int(np.count_nonzero(usable & ~complete))
        self.has_gaps = self.has_gaps or incomplete > 0
        self.tally.imputed += incomplete
        self.tally.skipped += int(np.count_nonzero(~usable))
        return np.asarray(usable)


def _first_seen(rows: Floats, plan: Plan) -> Seen:
    """What is known of the input by its first rows alone, some of which may be outliers: medians."""
    mean, gain = np.median(rows, axis=0).astype(np.float64), None
    if plan.standardize:
        deviation = np.median(np.abs(rows - mean), axis=0).astype(np.float64)
        gain = np.divide(1.0, deviation, out=np.zeros(plan.n), where=deviation > 0)
    return Seen(mean, np.zeros((0, plan.n)), gain)
