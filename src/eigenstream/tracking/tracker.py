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
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..advice import advice
from ..calibration import Decision, Evidence, decide
from ..engine.knowledge import Floats, Knowledge, Vector
from ..engine.learner import Learner, Steps, rowwise
from ..engine.threads import WIDE, one_thread
from ..history import History
from ..imputation import Filled, complete, fill, fill_by_means
from ..outliers import Usual, cap
from ..reading import SCORES, Reading
from ..rules import Rule
from .plan import Plan
from .whole_calls import interrupts_deferred

CHANGES = 1000
"""How many changes of rank are remembered."""

Missing = Literal["raise", "skip", "impute"]


class RankChange(NamedTuple):
    """The rank went from ``before`` to ``after`` at sample number ``sample``."""

    sample: int
    before: int
    after: int


@dataclass
class Tally:
    """What became of the rows that came."""

    learnt: int = 0
    imputed: int = 0
    """Rows learnt with some entries filled in; part of ``learnt``."""
    skipped: int = 0
    """Rows left out because entries were missing."""
    capped: int = 0
    """Rows learnt with a smaller pull because they were far off; part of ``learnt``."""


@dataclass
class Tracker:
    """A learner on a stream, and what was last seen of it."""

    plan: Plan
    learner: Learner = field(init=False)
    waiting: Floats = field(init=False)
    """Room for one block of rows, the first `n_waiting` of which have come but not been learnt from."""
    waiting_steps: Steps = field(init=False)
    n_waiting: int = 0
    _even: Steps = field(init=False)
    """What a block of rows of weight 1 counts."""
    first: Floats = field(init=False)
    """The very first row, to tell which inputs vary (NaN before it has come)."""
    varies: NDArray[np.bool_] = field(init=False)
    """Which inputs have varied so far: constant ones are not noise."""
    all_vary: bool = False
    has_gaps: bool = False
    """Whether a row with gaps has ever been learnt from."""
    usual: Usual = field(default_factory=Usual)
    """What rows are off by, if outliers are capped."""
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
        self.waiting = np.zeros((self.learner.block, plan.n), dtype=plan.dtype)
        self.waiting_steps = Steps.even(self.learner.block, plan.beta2)
        self._even = Steps.even(self.learner.block, plan.beta2)
        self.look_at = plan.next_look(0)
        self.history = History(plan.k)
        self.first, self.varies = np.full(plan.n, np.nan, dtype=plan.dtype), np.zeros(plan.n, dtype=bool)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_reading": None, "_factors": {}}

    def follow(
        self,
        rows: Floats,
        weights: Vector | None = None,
        missing: Missing = "raise",
        scores: str | None = None,
    ) -> tuple[Floats | None, list[RankChange]]:
        """Learn from rows in order; returns their scores from before, if asked for, and what changed.

        Parameters
        ----------
        rows
            Rows of the plan's width and type, C-contiguous, finite but for NaN where ``missing`` allows it.
        weights
            One per row; ones if None. A row is one step of time whatever its weight.
        missing
            What to do with rows that have NaN. Rows that are skipped do not let time pass.
        scores
            How to score each row by what was known before it (as of the last block and look), a name in
            `SCORES`; None: not at all.
        """
        self._reading = None
        changes: list[RankChange] = []
        parts: list[Floats] = []
        usable: Any
        gaps = missing != "raise" and bool(np.isnan(rows).any())
        with nullcontext() if self.plan.n >= WIDE else one_thread():
            start = 0
            while start < len(rows):
                part = slice(start, start + self.rows_until_due())
                X, usable = rows[part], slice(None)
                steps = self._steps(len(X), None if weights is None else weights[part])
                if gaps:
                    usable = self._usable(X, missing)
                    X, steps = X[usable], steps.part(usable)
                if scores is not None:
                    parts.append(np.full((len(rows[part]), self.plan.k), np.nan, dtype=rows.dtype))
                    parts[-1][usable] = self._scores(self.fill(X).rows if gaps else X, scores)
                changes += self._take(X, steps)
                start = part.stop
        return (np.vstack(parts) if parts else None), changes

    def follow_one(self, row: Floats, scores: str) -> tuple[Floats, list[RankChange]]:
        """`follow` for one complete row of weight 1, with as little overhead as possible."""
        score = self._scores(row[None], scores)[0]
        i = self.n_waiting
        if self.learner.block == 1 or i + 1 == self.learner.block or not self.all_vary:
            self._reading = None
            with interrupts_deferred():
                return score, self._take(row[None], self._steps(1))
        steps = self.waiting_steps
        self.waiting[i] = row
        steps.weight[i], steps.discount[i], steps.extra[i] = 1.0, self.plan.beta2, 0.0
        # No call in between: an interruption comes before all of these or after.
        self._reading = None
        self.tally.learnt += 1
        self.n_waiting = i + 1
        self.time += 1
        return score, self._look() if self.time >= self.look_at else []

    def _steps(self, rows: int, weights: Vector | None = None) -> Steps:
        """What these rows count."""
        block = self.learner.block
        if weights is None and rows <= block:
            return self._even if rows == block else self._even.part(slice(rows))
        even = Steps.even(rows, self.plan.beta2)
        return even if weights is None else replace(even, weight=weights)

    def would_wait(self, rows: int) -> bool:
        """Whether so many rows only join those that wait, so that nothing is learnt or decided yet."""
        return self.all_vary and self.learner.block > 1 and rows < self.rows_until_due()

    def rows_until_due(self) -> int:
        """How many rows can be learnt before a block, a look or an event of the network is due."""
        block = self.learner.block
        until_block = block - self.n_waiting if block > 1 else self.learner.rows_until_due()
        return int(min(self.look_at - self.time, until_block))

    def reading(self) -> Reading:
        """What the model says of everything learnt so far; remembered until the next row."""
        if self._reading is None:
            with one_thread() if self.plan.n < WIDE else nullcontext():
                known = self.known()
                self._reading = self._read(known, self._decided(known))
        return self._reading

    def encode(self, rows: Floats, missing: str, scores: str) -> Floats:
        """Scores of rows by everything learnt so far; NaN for rows that ``missing`` says to skip."""
        gaps = np.isnan(rows)
        if missing == "impute" and gaps.any():
            observed = ~gaps.all(axis=1)
            rows = rows.copy()
            rows[observed] = self.fill(rows[observed]).rows
        encoded = self.reading().astype(self.plan.dtype).encode(rows, scores, self.plan.k)
        if missing != "raise":
            encoded[np.isnan(rows).any(axis=1)] = np.nan
        return encoded

    def scores(self, rows: Floats, how: str) -> Floats:
        """Scores by the last block and look, as `follow` returns them; nothing is learnt."""
        return self._scores(self.fill(rows).rows, how)

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
        return max(int(self.varies.sum()), 1)

    def fill(self, rows: Floats) -> Filled:
        """Rows with NaN filled in by what was known at the last block and look."""
        if not np.isnan(rows).any():
            return complete(rows)
        if self.early is not None or self.learner.started:
            return fill(rows, *self._seen(), self.kept, self.rest)
        return fill_by_means(rows if self.learner.block > 1 else np.where(np.isnan(rows), self.first, rows))

    def restart(self, known: Knowledge, time: int) -> None:
        """Go on from this knowledge, as of this sample count, and look at it at once."""
        self.time = time
        self.learner.restart(known, time)
        if self.learner.block > 1 and time % self.learner.block:
            # Blocks start at multiples of their size: rows without weight fill up the one that is open.
            self.n_waiting = time % self.learner.block
            self.waiting[:] = known.mean
            self.waiting_steps.weight[:], self.waiting_steps.discount[:] = 0.0, 1.0
        self._look()
        self.changes.clear()

    def _take(self, rows: Floats, steps: Steps) -> list[RankChange]:
        """Learn from at most `rows_until_due` rows without gaps."""
        if not len(rows):
            return []
        if not self.all_vary:
            self._see_what_varies(rows)
        block, b = self.learner.block, len(rows)
        if block == 1 or (b == block and not self.n_waiting):
            self._learn(self.learner, rows, steps)
        else:
            fresh = slice(self.n_waiting, self.n_waiting + b)
            self.waiting[fresh] = rows
            for name in ("weight", "discount", "extra"):
                getattr(self.waiting_steps, name)[fresh] = getattr(steps, name)
            if self.n_waiting + b == block:
                self._learn(self.learner, self.waiting, self.waiting_steps.part(slice(None)))
            self.n_waiting = (self.n_waiting + b) % block
        self.time += b
        self.tally.learnt += b
        return self._look() if self.time >= self.look_at else []

    def _learn(self, learner: Learner, rows: Floats, steps: Steps) -> None:
        """Learn from rows that belong together; gaps are filled by what was known before them."""
        if not self.has_gaps or not np.isnan(rows).any():
            learner.learn(self._capped(learner, rows, steps), steps)
            return
        filled = fill_by_means(rows) if learner.block > 1 and not learner.started else self.fill(rows)
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
            mean, axes = self._seen()
            variances = learner.variances(axes)
        else:
            mean, axes, variances = np.median(rows, axis=0), np.zeros((0, self.plan.n)), np.zeros(0)
        capped = cap(rows, mean, axes, variances, self.usual, steps.fading.decay)
        if learner is self.learner:  # a copy that only looks ahead leaves nothing behind
            self.usual = capped.usual
            self.tally.capped += capped.number
        return capped.rows

    def _look(self) -> list[RankChange]:
        """Decide about threshold and rank, and note what has changed."""
        learner = self._caught_up()
        known = learner.totals()
        if not known.effective > 0:
            self.look_at = self.plan.next_look(self.time)
            return []
        evidence = self.evidence_in(known)
        decision = decide(self.plan.kind, self.plan.alpha, evidence, self.decision)
        self.learner.recalibrate(decision.alpha)
        if self.learner.started:
            self.early = None
            kept = self.learner.align(decision.rank) / known.effective
        else:
            self.early = self._read(learner.known(), decision)
            kept = self.early.kept_variances.astype(np.float64)
        return self.note(evidence, decision, kept)

    def note(self, evidence: Evidence, decision: Decision, kept: Vector) -> list[RankChange]:
        """Take over what a look has found: evidence, decision, and the variance along each kept axis."""
        self.look_at = self.plan.next_look(self.time)
        before, self.decision = self.decision.rank, decision
        self.kept, self._factors = np.maximum(kept, decision.threshold), {}
        self.rest = max(evidence.total - float(kept.sum()), 0.0) / max(self.plan.n - decision.rank, 1)
        self._record(evidence.variances, evidence.total)
        if decision.rank == before:
            return []
        change = RankChange(self.time, before, decision.rank)
        self.changes.append(change)
        return [change]

    def _decided(self, known: Knowledge) -> Decision:
        plan = self.plan
        if not known.effective > 0:
            return self.decision
        return decide(plan.kind, plan.alpha, self.evidence_in(known), self.decision)

    def evidence(self) -> Evidence:
        """What a decision about everything learnt so far rests on, which must be something."""
        return self.evidence_in(self.known())

    def advice(self) -> str:
        """What to try where the rank is 0 or has reached the capacity; empty otherwise."""
        known = self.known()
        if not known.effective > 0:
            return ""
        return advice(self.evidence_in(known), self.reading().rank, self.plan.alpha)

    def evidence_in(self, known: Knowledge) -> Evidence:
        plan = self.plan
        return Evidence.of(
            known,
            plan.k,
            self.n_inputs,
            self.time - plan.center,
            plan.beta2,
            floor=self._seeded(known),
            rounding=float(np.finfo(plan.dtype).eps),
            tells_below_threshold=self.learner.tells_below_threshold,
        )

    def _seeded(self, known: Knowledge) -> float:
        """Variances below this may be those that a network's start has put into unknown directions."""
        if self.plan.solver != "network":
            return 0.0
        from ..engine.network.optimum import seeded_variance

        return seeded_variance(self.decision.threshold, known.trace / known.effective, self.plan.n)

    def _read(self, known: Knowledge, decision: Decision) -> Reading:
        """A reading of this knowledge after this decision, kept axes first."""
        count = max(known.effective, np.finfo(np.float64).tiny)
        variances = known.lam / count
        order = np.argsort(~(variances[: self.plan.k] > decision.threshold), kind="stable")
        order = np.concatenate((order, np.arange(len(order), len(variances))))
        reading = Reading(
            known.mean.copy(),
            known.U[order],
            variances[order],
            min(decision.rank, len(order)),
            decision.threshold,
            decision.alpha,
            known.trace / count,
            known.effective,
            self.learner.tells_below_threshold,
        )
        for array in (reading.mean, reading.axes, reading.variances):
            array.flags.writeable = False  # handed out as it is, for others to read
        return reading

    def _seen(self) -> tuple[Floats, Floats]:
        """Mean and kept axes as of the last block and look."""
        if self.early is not None:
            return self.early.mean, self.early.kept_axes
        return self.learner.seen(self.decision.rank)

    def _caught_up(self) -> Learner:
        """The learner with waiting rows learnt; a copy, unless none wait."""
        if not self.n_waiting:
            return self.learner
        learner, waiting = self.learner.copy(), slice(self.n_waiting)
        if not self.learner.started:
            # So few rows are known exactly by their own directions, which is cheaper for any learner.
            from ..engine.subspace import Subspace

            learner = Subspace(self.plan.n, self.learner.block, self.learner.block, center=self.plan.center)
        self._learn(learner, self.waiting[waiting], self.waiting_steps.part(waiting))
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
            centered = rows - self.early.mean.astype(rows.dtype)
            projections = rowwise(centered, self.early.kept_axes.astype(rows.dtype))
        if how not in self._factors:
            self._factors[how] = SCORES[how](self.kept, self.decision.threshold).astype(rows.dtype)
        scores[:, :rank] = projections * self._factors[how]
        return scores

    def _record(self, variances: Vector, total: float) -> None:
        """Write the spectrum to the history; the mean of the rest where single variances are not known."""
        told = len(variances) if self.learner.tells_below_threshold else self.decision.rank
        told = min(told, self.plan.k)
        rest = max(total - float(variances[:told].sum()), 0.0)
        spectrum = np.full(self.plan.k, rest / max(self.plan.n - told, 1))
        spectrum[:told] = variances[:told]
        self.history.add(self.time, spectrum, self.decision.threshold, self.decision.rank)

    def _see_what_varies(self, rows: Floats) -> None:
        """Note the first value of each input, and which inputs have had another one since."""
        unseen = np.flatnonzero(np.isnan(self.first))
        observed = ~np.isnan(rows)
        came = unseen[observed[:, unseen].any(axis=0)]
        self.first[came] = rows[np.argmax(observed[:, came], axis=0), came]
        self.varies |= ((rows != self.first) & observed).any(axis=0)
        self.all_vary = bool(self.varies.all())

    def _usable(self, rows: Floats, missing: Missing) -> NDArray[np.bool_]:
        """Which rows can be learnt from; notes what becomes of those with gaps."""
        observed = ~np.isnan(rows)
        complete = observed.all(axis=1)
        usable = complete if missing == "skip" else observed.any(axis=1)
        if missing == "impute" and self.learner.block == 1 and not self.learner.started:
            # The network learns each row at once: it starts once every input has had a value.
            self._see_what_varies(rows)
            usable &= not np.isnan(self.first).any()
        incomplete = int(np.count_nonzero(usable & ~complete))
        self.has_gaps = self.has_gaps or incomplete > 0
        self.tally.imputed += incomplete
        self.tally.skipped += int(np.count_nonzero(~usable))
        return np.asarray(usable)
