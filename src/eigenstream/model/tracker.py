"""A learner on a stream: rows that wait for their block, looks at the spectrum, scores, events.

Everything happens at absolute sample counts, so that how a stream is cut into calls cannot matter:

- rows are learnt in blocks that start at multiples of the block size; rows of an unfinished block wait,
- on a grid (`Plan.next_look`) threshold and rank are decided, changes of rank are noted, and the spectrum is
  written to the history,
- most looks are glances: bounds tell that the decision stands, and nothing is decomposed (`Tracker._stands`);
  where nothing has moved since the last glance, not even bounds are needed,
- whoever asks for a `Reading` gets one of everything learnt so far, waiting rows too. It is computed aside:
  asking changes nothing.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..learners.arrays import host, zeros
from ..learners.knowledge import Floats, Knowledge, Matrix, Vector
from ..learners.learner import Batching, Glancing, KnowsLeading, Learner, Spread, Steps, provides
from ..learners.marks import Mark, Marked
from ..learners.threads import threads_for
from ..rank import Evidence, Rule
from ..rank.advice import advice, second_opinion, worth
from ..rank.decision import Decision, decide, decide_at_a_glance, decide_unmoved
from ..rank.standing import Last, is_still, may_have_crossed
from .blocks import Blocks, Missing
from .delays import embedded, last_rows
from .events import RankChange, Tally
from .filling import filled_by
from .history import History
from .last_look import LastLook
from .looks import evidence_at_a_glance, evidence_of, reading_of, spectrum_of
from .pace import EvenPace, StreamClock
from .plan import Plan
from .reading import Reading
from .time_filter import Forecast

CHANGES = 1000
"""Most changes of rank that are remembered: it bounds the memory and the file of a stream without end."""

# Rows. Embedding copies each of them lags + 1 times.
LONGEST_PART = 1024
"""Most rows that are put beside their predecessors at a time, which takes memory."""

FILLED = "filled"
"""Asks `Tracker.follow` for rows without gaps instead of scores."""

# A factor: a pause of ten half-lives within one block. The rank of before says nothing of what came after.
FORGOTTEN = 1e-3
"""A discount over a block below which the rank has to be decided anew at once."""


def _alike(mask: NDArray[np.bool_], part: slice) -> slice:
    """The part as far as the mask does not change."""
    values = mask[part]
    change = np.flatnonzero(values != values[0])
    return slice(part.start, part.start + int(change[0] if len(change) else len(values)))


def _uneven(rows: int, weights: Vector | None, left_out: NDArray[np.bool_] | None) -> list[int]:
    """Positions of rows that are left out or have another weight than 1, and the number of rows."""
    if weights is None and left_out is None:
        return [rows]
    odd = np.zeros(rows, dtype=bool) if left_out is None else left_out
    return [*np.flatnonzero(odd if weights is None else odd | (weights != 1)).tolist(), rows]


class Tracker(Marked):
    """A learner on a stream.

    Parameters
    ----------
    plan
        The task.
    learner
        The learner; None: a new one of the kind that the plan names.
    """

    LEARNT = ("clock", "time", "look_at", "recent", "changes")

    def __init__(self, plan: Plan, learner: Learner | None = None) -> None:
        self.plan = plan
        self.learner = learner or plan.learner(0.0 if isinstance(plan.alpha, Rule) else plan.alpha)
        self.last_look = LastLook(plan, self.learner)
        self.blocks = Blocks(plan, self.learner, self.last_look)
        """Rows on their way to the learner."""
        self.clock = StreamClock()
        """Times of the last rows, if the half-life is in seconds."""
        self.recent: Floats | None = None
        """The last rows as they came, as many as there are lags; None before the first."""
        self.time = 0
        self.look_at = plan.next_look(0, plan.window)
        self.changes: deque[RankChange] = deque(maxlen=CHANGES)
        self.history = History(plan.k)
        """The spectrum over time."""
        self._spread = provides(self.learner, Spread)
        self._glanced_at = self.learner if plan.glances and isinstance(self.learner, Glancing) else None
        """The learner, if looks may be glances."""
        self._several = self.learner if plan.whole_blocks and provides(self.learner, Batching) else None
        """The learner, if it takes several blocks at once."""
        self._even = Steps.even(self.learner.block, plan.beta2)
        """The steps of a block of rows of weight 1."""
        self._readings: dict[bool, Reading] = {}
        """Readings of everything learnt so far, once somebody has asked for them, by whether only leading
        axes are in them; see `Callers`."""

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_readings": {}}

    @property
    def decision(self) -> Decision:
        """Coefficient, threshold and rank as of the last look."""
        return self.last_look.decision

    @property
    def tally(self) -> Tally:
        """Counts of the rows that came, by what became of them."""
        return self.blocks.tally

    def mark(self) -> Mark:
        """The present state, for `revert`: references only, see `eigenstream.learners.marks`."""
        parts = self.learner.mark(), self.last_look.mark(), self.blocks.mark(), self.history.mark()
        return *parts, super().mark()

    def mark_for_one(self) -> Mark:
        """`mark` for a call of `follow_one`: where the row only waits, these counts are all that changes."""
        blocks, number = self.blocks, self.blocks.waiting.number
        waits = number + 1 < self.learner.block and self.time + 1 < self.look_at
        if waits and blocks.inputs.all_vary and not blocks.idle:
            return number, blocks.tally.learnt, self.time
        return self.mark()

    def revert(self, mark: Mark) -> None:
        """Go back to the last mark, to the bit: what was learnt since then is as if it had never come."""
        self._readings = {}
        if len(mark) == 3:
            self.blocks.forget_open()
            self.blocks.waiting.number, self.tally.learnt, self.time = mark
            return
        learner, look, blocks, history, others = mark
        super().revert(others)
        self.learner.revert(learner)
        self.last_look.revert(look)
        self.blocks.revert(blocks)
        self.history.revert(history)

    def follow(
        self,
        rows: Floats,
        weights: Vector | None = None,
        missing: Missing = "raise",
        scores: str | None = None,
        times: Vector | None = None,
        left_out: NDArray[np.bool_] | None = None,
        residuals: bool = False,
        innovations: bool = False,
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
            `SCORES`. `FILLED`: no scores, but the row itself, gaps filled by all rows before it, and the
            standard deviation of each filled entry (0 where an entry came, NaN where nothing is known of it).
            None: nothing.
        times
            When each row came, in seconds, never backwards (`row_times`); if the plan's half-life is in
            seconds, and only then.
        left_out
            Which rows not to learn from; they are the predecessors of others all the same. None: none.
        residuals
            Whether a last column of the scores holds each row's squared residual by the same.
        innovations
            Whether last columns hold each row less its forecast by the rows before, if gaps are filled by
            time.
        """
        assert (times is None) == (self.plan.seconds is None)
        self._readings = {}
        changes: list[RankChange] = []
        parts: list[Floats] = []
        usable: Any
        gaps = missing != "raise" and self._has_gaps(rows)
        in_time, empty = missing == "impute" and self.learner.block > 1, None
        if in_time:
            self.blocks.begin_time()
        if in_time and gaps and scores == FILLED:
            empty = self._empty(rows)
        with threads_for(self.plan.n):
            start, plain = 0, not (gaps or in_time or scores)
            uneven = _uneven(len(rows), weights, left_out)
            while start < len(rows):
                part = slice(start, start + self.rows_until_due())
                even_until = uneven[bisect_left(uneven, start)]
                if plain and self._several is not None and even_until > start:
                    part = self._whole_blocks(part, even_until)
                if empty is not None:
                    part = _alike(empty, part)
                even = part.stop <= even_until
                X, usable = self._embedded(rows[part]), slice(None)
                steps = self._steps(len(X), None if weights is None or even else weights[part])
                if gaps or (left_out is not None and not even):
                    usable = self.blocks.usable(X, missing) if gaps else np.ones(len(X), dtype=bool)
                    if left_out is not None:
                        usable &= ~left_out[part]
                    X, steps = X[usable], steps.part(usable)
                nothing = empty is not None and bool(empty[part.start])
                if nothing:
                    passed = None if times is None else self._since_learnt(times[part])
                    parts.append(self._filled(*self.blocks.fill_empty(len(usable), passed), rows[part]))
                if times is not None:
                    steps = self._timed(steps, times[part][usable])
                elif in_time:
                    steps = self._paused(steps, usable)
                if scores is not None and not nothing:
                    filled, variances = self.blocks.fill_next(X, steps) if gaps else (X, None)
                    if scores == FILLED:
                        answers = self._filled(filled, variances, X)
                    else:
                        answers = self._scored(filled, scores, residuals)
                    if innovations:
                        answers = np.column_stack((answers, self.blocks.innovations_next(X, steps)))
                    parts.append(zeros((len(rows[part]), answers.shape[1]), rows))
                    parts[-1][:] = np.nan
                    if scores == FILLED:
                        parts[-1][:, : self.plan.width] = rows[part]
                    parts[-1][usable] = answers
                changes += self._take(X, steps)
                start = part.stop
        if times is not None and len(times):
            self.clock = self.clock._replace(latest=float(times[-1]))
        return (np.vstack(parts) if parts else None), changes

    def _filled(self, rows: Floats, variances: Matrix | None, came: Floats) -> Floats:
        """Rows without gaps beside the deviations of filled entries; NaN where an input had no value yet."""
        own = slice(self.plan.width)
        filled = rows[:, own]
        if variances is None:
            return np.hstack((filled, np.zeros_like(filled)))
        unknown, std = self.blocks.unknown(came)[:, own], np.sqrt(variances[:, own])
        both = np.where(unknown, np.nan, filled), np.where(unknown, np.nan, std)
        return np.hstack(both).astype(filled.dtype)

    def _scored(self, rows: Floats, scores: str, residuals: bool) -> Floats:
        """Scores of rows without gaps before they are learnt."""
        look = self.last_look
        answers = look.scores(rows, scores)
        return np.column_stack((answers, look.squared_residuals(rows))) if residuals else answers

    def follow_one(self, row: Floats, scores: str) -> tuple[Floats, list[RankChange]]:
        """`follow` for one complete row of weight 1, if the plan is plain: as little overhead as possible."""
        score, blocks = self.last_look.scores(row, scores), self.blocks
        waiting = blocks.waiting
        i, steps = waiting.number, waiting.steps
        self._readings = {}
        last = self.learner.block == 1 or i + 1 == self.learner.block
        if last or blocks.idle or not blocks.inputs.all_vary:
            due = self.rows_until_due() == 1
            with threads_for(self.plan.n) if due else nullcontext():
                return score, self._take(row[None], self._paused(self._steps(1), slice(None)))
        waiting.rows[i] = row
        steps.weight[i], steps.discount[i], steps.extra[i], steps.passed[i] = 1.0, self.plan.beta2, 0.0, 1.0
        blocks.tally.learnt += 1
        waiting.number = i + 1
        self.time += 1
        if self.time < self.look_at:
            return score, []
        with threads_for(self.plan.n):
            return score, self.look()

    def _embedded(self, rows: Floats) -> Floats:
        """Rows beside their predecessors, if that is asked for."""
        lags = self.plan.lags
        if not lags:
            return rows
        before, self.recent = self.recent, last_rows(rows, lags, self.recent)
        return embedded(rows, lags, before)

    def _empty(self, rows: Floats) -> NDArray[np.bool_]:
        """True for rows without any value, their own or of their predecessors."""
        empty, lags = np.asarray(np.isnan(rows).all(axis=1)), self.plan.lags
        if not lags:
            return empty
        before = np.ones(lags, dtype=bool) if self.recent is None else np.isnan(self.recent).all(axis=1)
        every = np.lib.stride_tricks.sliding_window_view(np.append(before, empty), lags + 1)
        return np.asarray(every.all(axis=1))

    def _has_gaps(self, rows: Floats) -> bool:
        return bool(np.isnan(rows).any()) or (self.recent is not None and bool(np.isnan(self.recent).any()))

    def _timed(self, steps: Steps, times: Vector) -> Steps:
        """Steps with discounts by the times of the rows, which must be learnt from next."""
        assert self.plan.seconds is not None
        if not len(times):
            return steps
        passed = self.clock.passed(times)
        self.clock = self.clock._replace(learnt=float(times[-1]))
        return replace(steps, discount=np.exp2(-passed / self.plan.seconds), passed=passed)

    def _paused(self, steps: Steps, usable: Any) -> Steps:
        """Steps of usable rows, with the rows that have passed between them: a mask, or all of them."""
        blocks = self.blocks
        if isinstance(usable, slice):
            if not blocks.idle:
                return steps
            usable = np.ones(len(steps.weight), dtype=bool)
        return replace(steps, passed=blocks.passing(usable))

    def _steps(self, rows: int, weights: Vector | None = None) -> Steps:
        """Steps of these rows."""
        block = self.learner.block
        if weights is None and (rows <= block or self._several is not None):
            return self._even if rows >= block else self._even.part(slice(rows))
        even = Steps.even(rows, self.plan.beta2)
        return even if weights is None else replace(even, weight=weights)

    def rows_until_due(self) -> int:
        """Number of rows that can be learnt before a block or a look is due."""
        block = self.learner.block
        until_block = block - self.blocks.waiting.number if block > 1 else np.inf
        most = LONGEST_PART if self.plan.lags else np.inf
        return int(min(self.look_at - self.time, until_block, most))

    def _whole_blocks(self, part: slice, end: int) -> slice:
        """The part, with further whole blocks up to this end and the next look if they are learnt at once."""
        assert self._several is not None
        block, most = self.learner.block, self._several.at_once
        if most == 1 or self.blocks.waiting.number:
            return part
        number = min(end - part.start, self.look_at - self.time, most * block) // block
        return slice(part.start, part.start + number * block) if number > 1 else part

    def reading(self, *, leading: bool = False) -> Reading:
        """Reading of everything learnt so far; remembered until the next row.

        If ``leading``, it may have no axes behind the first k: narrow input has these in less time.
        """
        kept = self._readings
        found = kept.get(False) or kept.get(leading)
        if found is None:
            with threads_for(self.plan.n):
                learner = self.blocks.caught_up()
                ours = learner is not self.learner  # and then nobody else has it
                if leading and provides(learner, KnowsLeading):
                    if ours:
                        learner.decompose()
                    known = learner.known_leading()
                else:
                    known = learner.known()
                found = kept.setdefault(leading, reading_of(known, self.plan, self._decided(known)))
        return found

    def reading_as_decided(self) -> Reading:
        """`reading` with the rank and threshold of the last look, and axes whose signs are arbitrary."""
        with threads_for(self.plan.n):
            learner = self.blocks.caught_up()
            known = learner.known_at_once() if provides(learner, KnowsLeading) else learner.known()
            return reading_of(known, self.plan, self.decision)

    def known(self) -> Knowledge:
        """Knowledge of the input, waiting rows too; sums over samples."""
        return self.blocks.caught_up().known()

    def _totals(self) -> Knowledge:
        """`known` without axes."""
        return self.blocks.caught_up().known(axes=False)

    def encode(self, rows: Floats, missing: str, scores: str) -> Floats:
        """Scores of rows by everything learnt so far; NaN for rows that ``missing`` says to skip."""
        rows = self.completed(rows, missing)
        encoded = (
            self.reading(leading=True).astype(self.plan.dtype).beside(rows).encode(rows, scores, self.plan.k)
        )
        if missing != "raise":
            encoded[np.isnan(rows).any(axis=1)] = np.nan
        return encoded

    def completed(self, rows: Floats, missing: str) -> Floats:
        """Rows embedded, a stretch of their own, gaps filled by everything learnt if ``missing`` says so."""
        if self.plan.lags:
            rows = embedded(rows, self.plan.lags)
        if missing != "impute" or not np.isnan(rows).any():
            return rows
        filled, _ = self.imputed(rows)
        filled[np.isnan(rows).all(axis=1)] = np.nan  # what was made of nothing has no score
        return filled

    def imputed(self, rows: Floats, times: Vector | None = None) -> tuple[Floats, Matrix]:
        """Embedded rows filled by everything learnt, a stretch of their own; variances of filled entries.

        They come at these times, in seconds, or a usual step apart.
        """
        dynamics = self.blocks.dynamics_now()
        filled, variances = filled_by(self.reading(), rows, dynamics, times)
        unseen = self._unseen()
        if unseen.any():
            unknown = unseen & np.isnan(rows)
            filled[unknown] = variances[unknown] = np.nan
        return filled, variances

    def _unseen(self) -> NDArray[np.bool_]:
        """Inputs that have had no value yet (n)."""
        inputs = self.blocks.inputs
        return np.zeros(self.plan.n, bool) if inputs.all_vary else np.isnan(host(inputs.first))

    def forecast(self, steps: int, times: Vector | None = None) -> Forecast | None:
        """The next rows by everything learnt so far; None where nothing is known of time.

        They follow the last row at usual steps, or come at these times, in seconds, of rows with time stamps.
        """
        past = self.blocks.past_now()
        if past is None:
            return None
        usual, latest = past.dynamics.usual, self.clock.latest
        if usual is None or latest is None:
            horizons = self.blocks.horizons(steps)
        else:
            at = latest + usual * np.arange(1.0, steps + 1) if times is None else times
            horizons = past.dynamics.in_steps(self._since_learnt(at))
        unseen = self._unseen()[: self.plan.width]
        rows, std = (np.where(unseen, np.nan, each) for each in past.forecast(horizons))
        return Forecast(rows, std)

    def usual_step(self) -> float | None:
        """Usual time between two rows, in seconds; None where rows have no times, or too few came."""
        time = self.blocks.time
        return None if time is None or not time.started else self.blocks.dynamics().usual

    def _since_learnt(self, times: Vector) -> Vector:
        """Seconds since the last row that was learnt from."""
        return times - (times[:1] if self.clock.learnt is None else self.clock.learnt)

    def prepared(self, rows: Floats, missing: str, before: Floats | None = None) -> Floats:
        """Rows embedded, as a stretch of their own unless others came before them.

        Gaps are filled by the last block and look where ``missing`` says so and the row has a value.
        """
        if self.plan.lags:
            rows = embedded(rows, self.plan.lags, before)
        if missing == "impute" and np.isnan(rows).any():
            observed = ~np.isnan(rows).all(axis=1)
            rows = rows.copy()
            rows[observed] = self.blocks.fill(rows[observed])
        return rows

    def next_rows(self, rows: Floats, missing: str) -> Floats:
        """Rows as they would be learnt from if they came next."""
        rows = self.prepared(rows, missing, self.recent)
        return rows[~np.isnan(rows).any(axis=1)]

    def scores(self, rows: Floats, how: str) -> Floats:
        """Scores by the last block and look, gaps filled in; nothing is learnt."""
        return self.last_look.scores(self.blocks.fill(rows) if np.isnan(rows).any() else rows, how)

    @property
    def pace(self) -> EvenPace:
        """The pace of rows with time stamps, waiting rows too."""
        pace, waiting = self.clock.pace, self.blocks.waiting
        return pace.after(waiting.first(waiting.number)[1]) if waiting.number else pace

    @property
    def beta2(self) -> float:
        """The discount per sample; of rows with time stamps, as measured so far."""
        return self.plan.beta2 if self.plan.seconds is None else self.pace.beta2

    def restart(self, known: Knowledge, time: int) -> None:
        """Go on from this knowledge, as of this sample count, and look at it at once."""
        self.time, waiting, block = time, self.blocks.waiting, self.learner.block
        self.learner.restart(known, time, self.decision.alpha)
        if block > 1 and time % block:
            # Blocks start at multiples of their size: rows without weight fill up the one that is open.
            waiting.pretend(time % block, known.mean)
        self.look()
        self.changes = deque(maxlen=CHANGES)

    def advance(self, time: int, *, moved: bool) -> None:
        """Go on from rows that a stack of trackers has taken, up to this sample count.

        Parameters
        ----------
        time
            The sample count.
        moved
            True if the learner has learnt a block meanwhile.
        """
        self._readings = {}
        self.tally.learnt += time - self.time
        self.time, self.blocks.waiting.number = time, time % self.learner.block
        if moved:
            self.last_look.learner_moved()

    def _take(self, rows: Floats, steps: Steps) -> list[RankChange]:
        """Learn from at most `rows_until_due` rows without gaps."""
        if not len(rows):
            return []
        learnt = self.blocks.take(rows, steps)
        if learnt is not None:
            forgotten = False
            if self.plan.seconds is not None:
                self.clock = self.clock._replace(pace=self.clock.pace.after(learnt))
                forgotten = learnt.fading.decay < FORGOTTEN
            if forgotten or self._lacks_axes():
                self.look_at = self.time  # what was known of the spectrum is gone
        self.time += len(rows)
        return self.look() if self.time >= self.look_at else []

    def _lacks_axes(self) -> bool:
        """True if the learner knows fewer axes than are kept: a gross value hides others in rounding."""
        # Nobody scores rows by a spread learner, and asking it would wait for it.
        return not self._spread and len(self.last_look.seen().directions) < self.decision.rank

    def look(self) -> list[RankChange]:
        """Decide about threshold and rank, and note what has changed."""
        if self.stands():
            return []
        learner = self.blocks.caught_up()
        if learner.started and provides(learner, KnowsLeading):
            learner.decompose()
        known, early = learner.known(axes=False), None
        if not known.effective > 0:  # nothing has been learnt yet, or all of it forgotten
            look = self.last_look
            return self._noted(self.decision._replace(rank=0), np.zeros(0), look.rest, look.early)
        decision = self._decided(known, glances=self._glanced_at is not None)
        if self.learner.started:
            kept = self.learner.align(decision.rank, decision.alpha) / known.effective
        else:
            early = reading_of(learner.known(), self.plan, decision)
            kept = early.kept_variances.astype(np.float64)
        return self.note(known, decision, kept, early)

    def stands(self) -> bool:
        """True if a glance shows that the rank stays, which is then all that there was to look for."""
        learner = self._glanced_at
        return learner is not None and not self.blocks.waiting.number and self._stands(learner)

    def _stands(self, learner: Glancing) -> bool:
        """`stands`, of a learner that can be glanced at and has learnt all rows."""
        rank, rule, standing = self.decision.rank, self.plan.alpha, self.decision.standing
        if not standing.is_fresh or not isinstance(rule, Rule):
            return False
        if learner.lags.alike and not standing.persistence:  # since then rows have become alike
            return False
        whole = learner.spectrum()
        if whole is not None and (
            not whole.effective > 0
            or may_have_crossed(standing, rule, self._evidence_at_a_glance(whole, len(whole.lam)))
        ):
            return False
        if self._is_still(learner):
            return True
        glance = learner.glance(rank)
        if glance is None or not glance.known.effective > 0:
            return False
        known, below = glance.known, glance.below / glance.known.effective
        evidence = self._evidence_at_a_glance(known, rank)
        decision = decide_at_a_glance(self.plan.kind, rule, evidence, below, self.decision)
        if decision is None:
            return False
        learner.adopt(known.U, rank)
        if decision.standing.room and self.plan.seconds is None:
            moments = learner.moments(rank)
            if moments is not None and moments.spread < math.inf:
                last = Last(known.effective, moments.rest, moments.spread, moments.kept)
                decision = decision._replace(standing=decision.standing._replace(last=last))
        self.note(known, decision, evidence.variances)
        return True

    def _evidence_at_a_glance(self, known: Knowledge, number: int) -> Evidence:
        """Evidence in this many eigenvalues, and in the persistence of rows as of the last full look."""
        pace = self.pace if self.plan.seconds is not None else EvenPace()
        tau = self.decision.standing.persistence
        return evidence_at_a_glance(known, self.plan, number, self._n_inputs(known), self.time, pace, tau)

    def _is_still(self, learner: Glancing) -> bool:
        """True if nothing has moved since the last glance: then there is nothing to note either."""
        standing = self.decision.standing
        if standing.last is None:
            return False
        now = learner.moments(self.decision.rank)
        if now is None or not is_still(standing, now, learner.count, self._n_varying()):
            return False
        self.last_look.decision = decide_unmoved(self.decision, self.time - self.plan.center, self.plan.beta2)
        self.history.repeat(self.time)
        self.look_at = self.plan.next_look(self.time, self.plan.window)
        return True

    def note(
        self, known: Knowledge, decision: Decision, kept: Vector, early: Reading | None = None
    ) -> list[RankChange]:
        """Go on with what a look has found; returns how the rank has changed, if it has.

        Parameters
        ----------
        known
            Knowledge of the input.
        decision
            The decision about it.
        kept
            Variances along kept axes.
        early
            The reading itself, as long as the learner has no axes of its own.
        """
        rest = max(known.trace / known.effective - float(kept.sum()), 0.0)
        rest /= max(self.plan.n - decision.rank, 1)
        if self.history.takes(self.time):
            spectrum = spectrum_of(known, self.plan, decision.rank)
            self.history.note(self.time, spectrum, decision.threshold, decision.rank, rest)
        return self._noted(decision, np.maximum(kept, decision.threshold), rest, early)

    def _noted(
        self, decision: Decision, kept: Vector, rest: float, early: Reading | None
    ) -> list[RankChange]:
        window = self.plan.window if self.plan.seconds is None else self.pace.window
        self.look_at = self.plan.next_look(self.time, window)
        before = self.decision.rank
        self.last_look.take(decision, kept, rest, early)
        self.blocks.forget_open()
        if decision.rank == before:
            return []
        change = RankChange(self.time, before, decision.rank)
        self.changes = deque((*self.changes, change), CHANGES)  # another one: a mark may hold the one before
        return [change]

    def _decided(self, known: Knowledge, *, glances: bool = False) -> Decision:
        plan = self.plan
        if not known.effective > 0:
            return self.decision
        return decide(plan.kind, plan.alpha, self._evidence(known), self.decision, glances=glances)

    def evidence(self) -> Evidence:
        """Evidence in everything learnt so far, which must be something."""
        return self._evidence(self._totals())

    def advice(self) -> str:
        """Advice where the rank is 0 or has reached the capacity; empty otherwise."""
        return self._said_by(advice)

    def second_opinion(self) -> str:
        """Ranks of other rules, where they are clearly different; empty otherwise."""
        return self._said_by(second_opinion)

    def worth(self) -> str:
        """Number of independent rows that the rows are worth, in words; empty where nearly all are."""
        return self._said_by(lambda evidence, rank, alpha: worth(evidence, rank))

    def still_inputs(self) -> tuple[list[int], list[int]]:
        """Numbers of inputs that have had no value at all, and of those that have been constant so far."""
        inputs = self.blocks.inputs.on_host()
        first, varies = inputs.first[: self.plan.width], inputs.varies[: self.plan.width]
        empty = np.isnan(first)
        return np.flatnonzero(empty).tolist(), np.flatnonzero(~empty & ~varies).tolist()

    def n_independent(self) -> float:
        """Number of independent samples that judge what the components leave."""
        known = self._totals()
        if not known.effective > 0:
            return 0.0
        return self._evidence(known).n_independent(self.reading(leading=True).rank)

    def _said_by(self, adviser: Callable[[Evidence, int, float | Rule], str]) -> str:
        known = self._totals()
        if not known.effective > 0:
            return ""
        return adviser(self._evidence(known), self.reading(leading=True).rank, self.plan.alpha)

    def _evidence(self, known: Knowledge) -> Evidence:
        pace = self.pace if self.plan.seconds is not None else EvenPace()
        threshold = self.decision.threshold
        return evidence_of(known, self.plan, self._n_inputs(known), self.time, pace, threshold)

    def _n_inputs(self, known: Knowledge) -> int:
        """Number of inputs that vary."""
        return known.n_inputs or self._n_varying()

    def _n_varying(self) -> int:
        inputs = self.blocks.inputs
        return self.plan.n if inputs.all_vary else inputs.number
