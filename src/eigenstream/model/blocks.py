"""Learning rows block by block: gaps are filled and outliers capped by what was known before the block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from ..learners.arrays import host
from ..learners.knowledge import Floats, Matrix, Vector
from ..learners.learner import Learner, Measuring, Placing, Roomy, Spread, Steps, provides
from ..learners.marks import Mark, Marked
from .events import Tally
from .imputation import Filled, complete, fill_by_means
from .judgement import hide
from .last_look import LastLook
from .outliers import Usual, cap, first_seen
from .plan import Plan
from .time_filter import FIRST_ROWS, NEVER, Dynamics, TimeFilter, learn_filled
from .varying import Varying
from .waiting import Waiting

if TYPE_CHECKING:  # kernels take a moment to load: only where there are gaps
    from .open_block import OpenBlock
    from .past import Past

Missing = Literal["raise", "skip", "impute"]


class Blocks(Marked):
    """The way of rows to a learner: they wait for their block, and are learnt with it.

    Parameters
    ----------
    plan
        The task.
    learner
        The learner.
    look
        The last look at it, by which gaps are filled.
    """

    LEARNT = ("has_gaps", "usual", "time", "unseen", "idle")

    def __init__(self, plan: Plan, learner: Learner, look: LastLook) -> None:
        self.plan, self.learner, self.look = plan, learner, look
        self.inputs = Varying(0 if provides(learner, Spread) else plan.n, plan.dtype)
        """The inputs that have varied so far; none if the learner counts them."""
        self._room_of = learner if provides(learner, Roomy) and learner.room.dtype == plan.dtype else None
        """The learner, if rows wait in its room."""
        room = None if self._room_of is None else self._room_of.room
        self.waiting = Waiting(learner.block, plan.n, plan.dtype, room)
        """Rows of an unfinished block."""
        self.has_gaps = False
        """True if a row with gaps has ever been learnt from."""
        self.unseen: NDArray[np.bool_] = np.zeros(plan.n, dtype=bool)
        """Inputs without any value in the blocks that have been learnt."""
        self.idle = 0
        """Rows without any value since the last one that had some, if gaps are filled by time.

        At most `NEVER`, after which nothing changes any more.
        """
        self.usual = Usual()
        """Usual distance of rows from what is known, if outliers are capped."""
        self.tally = Tally()
        self.time: TimeFilter | None = None
        """The filter that fills gaps by the past; None where nobody has asked for gaps to be filled."""
        self._open: list[OpenBlock] = []
        """Rows that wait, gaps filled, once somebody has asked; whoever fills takes it out: see `Callers`."""
        self._innovations_asked = False
        """True once somebody has asked for innovations: blocks then keep the forecasts of their rows."""

    def mark(self) -> Mark:
        time = None if self.time is None else self.time.mark()
        return self.waiting.mark(), self.inputs.mark(), self.tally.mark(), time, super().mark()

    def revert(self, mark: Mark) -> None:
        waiting, inputs, tally, time, others = mark
        super().revert(others)
        if self.time is not None:
            self.time.revert(time)
        self.waiting.revert(waiting)
        self.inputs.revert(inputs)
        self.tally.revert(tally)
        self.forget_open()

    def forget_open(self) -> None:
        """Drop the filled rows of the open block: what they were filled by has changed."""
        self._open = []

    def take(self, rows: Floats, steps: Steps) -> Steps | None:
        """Take rows, at most to the end of the block; returns what its rows count if one has been learnt.

        Or several whole blocks, if none waits and the learner takes them at once, with the steps of each.
        """
        if not self.inputs.all_vary:
            self.inputs.see(rows)
        self.tally.learnt += len(rows)
        block, waiting = self.learner.block, self.waiting
        if block == 1 or (len(rows) >= block and not waiting.number):
            self._learn_block(rows, steps)
            return steps
        waiting.write(rows, steps)
        if waiting.number + len(rows) < block:
            waiting.number += len(rows)
            return None
        waiting.set_aside()
        rows, steps = waiting.block()
        self._learn_block(rows, steps)
        waiting.clear()
        return steps

    def _learn_block(self, rows: Floats, steps: Steps) -> None:
        """Learn from a whole block, or from rows that need none."""
        first = not self.learner.started
        if self.has_gaps and self.learner.block > 1 and (first or self.unseen.any()):
            missing = np.asarray(
                np.isnan(host(rows)).all(axis=0)
            )  # now: the learner may learn in their memory
            self._learn(self.learner, rows, steps)
            self.unseen = missing if first else self.unseen & missing
        else:
            self._learn(self.learner, rows, steps)
        if self._room_of is not None:
            self.waiting.rows = self._room_of.room
        self.look.learner_moved()
        self.forget_open()

    def begin_time(self) -> TimeFilter:
        """Follow the past of inputs from now on, with rows that come in blocks."""
        if self.time is None:
            from ..learners.compiled import need_numba

            need_numba()  # now, and not with the first gap
            self.time = TimeFilter(self.plan)
        return self.time

    def usable(self, rows: Floats, missing: Missing) -> NDArray[np.bool_]:
        """True for rows that can be learnt from; counts those with gaps."""
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

    def passing(self, usable: NDArray[np.bool_]) -> Vector:
        """Rows that pass with each usable one: itself, and those before it that are not; counts these."""
        at = np.flatnonzero(usable)
        passed = np.diff(at, prepend=-1 - self.idle)
        idle = len(usable) - 1 - int(at[-1]) if len(at) else self.idle + len(usable)
        self.idle = min(idle, NEVER)
        return passed.astype(np.float64)

    def pause(self, rows: int) -> None:
        """Let rows pass that did not come, if gaps are filled by time."""
        if self.time is not None:
            self.idle = min(self.idle + rows, NEVER)

    def unknown(self, rows: Floats) -> NDArray[np.bool_]:
        """True for entries of rows that come next whose input has had no value up to then."""
        if self.inputs.all_vary:
            return np.zeros(rows.shape, dtype=bool)
        came = np.logical_or.accumulate(~np.isnan(rows), axis=0)
        return np.asarray(np.isnan(self.inputs.first[: rows.shape[1]]) & ~came)

    def caught_up(self) -> Learner:
        """The learner with waiting rows learnt; a copy, unless none wait."""
        number = self.waiting.number
        if not number:
            return self.learner
        plan, learner = self.plan, self.learner.copy()
        if not self.learner.started and not provides(learner, Spread):
            # So few rows are known exactly by their own directions, which is cheaper for any learner.
            from ..learners.subspace import Subspace

            learner = Subspace(plan.n, number, number, center=plan.center, standardize=plan.standardize)
        self._learn(learner, *self.waiting.first(number))
        return learner

    def fill(self, rows: Floats) -> Floats:
        """Rows with NaN filled in by the last block and look, each for itself."""
        return self._fill(rows)[0]

    def _fill(self, rows: Floats) -> tuple[Floats, Matrix]:
        """The same, and the variances of filled entries."""
        if self.look.early is not None or self.learner.started:
            from .open_block import fill

            return fill(rows, self.look.expected())
        gaps = np.where(np.isnan(rows), np.nan, 0.0)
        return fill_by_means(np.where(np.isnan(rows), self.inputs.first, rows)).rows, gaps

    def fill_next(self, rows: Floats, steps: Steps) -> tuple[Floats, Matrix]:
        """Rows that come next, at most to the end of the block, gaps filled: each by all rows before it.

        Also the variance of each filled entry around the truth, NaN where nothing is known of it.
        """
        number = self.waiting.number
        if self.learner.block == 1:
            return self._fill(rows)
        if not self.learner.started:
            from .first_rows import fill_first

            return fill_first(self.plan, *self._first(rows, steps), number)
        block = self._opened(rows, steps)
        late = slice(block.number - len(rows), block.number)
        return block.answers[late], block.variances[late]

    def _first(self, rows: Floats, steps: Steps) -> tuple[Floats, Steps]:
        """Rows that wait for the first block, and these after them."""
        came, counts = self.waiting.first(self.waiting.number)
        return np.vstack((host(came), rows)), counts.followed_by(steps)

    def fill_empty(self, rows: int, passed: Vector | None) -> tuple[Floats, Matrix]:
        """The next ``rows`` rows, which have no value, filled by the rows before them, as `fill_next`.

        ``passed`` are the seconds since the last row that had some, where rows have time stamps.
        """
        nothing = np.full((rows, self.plan.n), np.nan, dtype=self.plan.dtype)
        past = self.past_now()
        if past is None:
            return self.fill_next(nothing, Steps.even(rows, 1.0))
        horizons = self.horizons(rows) if passed is None else past.dynamics.in_steps(passed)
        ahead, own = past.forecast(horizons), slice(self.plan.width)
        nothing[:, own], variances = ahead.rows, np.full(nothing.shape, np.nan)
        variances[:, own] = np.square(ahead.std)
        return nothing, variances

    def horizons(self, rows: int) -> Vector:
        """Rows since the last one that had a value, for each of the next rows."""
        return self.idle + np.arange(1.0, rows + 1)

    def innovations_next(self, rows: Floats, steps: Steps) -> Matrix:
        """Rows that come next, at most to the end of the block, less their forecasts by the rows before.

        NaN in gaps, before the first block has been learnt, and of the first value of an input.
        """
        own = slice(self.plan.width)
        came = np.asarray(rows[:, own], dtype=np.float64)
        if self.time is None or not self.time.started:
            return np.full(came.shape, np.nan)
        if not self._innovations_asked:
            self._innovations_asked = True
            self.forget_open()
        number = self.waiting.number + len(rows)
        block = (
            self._open[-1] if self._open and self._open[-1].number == number else self._opened(rows, steps)
        )
        assert block.past is not None
        found = came - block.past.course.forecasts[number - len(rows) : number]
        before = np.vstack((came[:1] * np.nan, came[:-1]))
        found[self.unknown(before)] = np.nan
        return found

    def _opened(self, rows: Floats, steps: Steps) -> OpenBlock:
        """The open block after rows that come next."""
        kept, number = self._open, self.waiting.number
        block = self._taken_from(kept, number)
        rest = slice(block.number, number)
        block.take(host(self.waiting.rows[rest]), self.waiting.steps.part(rest))
        block.take(rows, steps)
        kept.append(block)
        return block

    def _learn(self, learner: Learner, rows: Floats, steps: Steps) -> None:
        """Learn from rows that belong together; gaps are filled by what was known before them."""
        if self.time is not None and learner is self.learner:
            self._learn_in_time(self.time, rows, steps)
        elif self.has_gaps and np.isnan(rows).any():
            filled = self._placed(learner, self._filled(rows, steps), rows)
            learn_filled(learner, filled._replace(rows=self._capped(learner, filled.rows, steps)), steps)
        else:
            learner.learn(self._capped(learner, rows, steps), steps)

    def _learn_in_time(self, time: TimeFilter, rows: Floats, steps: Steps) -> None:
        """`_learn` of a whole block from which the filter learns, too."""
        came: Floats = np.array(host(rows))  # the learner may learn in the memory that they wait in
        own, gaps = came[:, : self.plan.width].astype(np.float64, copy=False), bool(np.isnan(came).any())
        first = not (self.learner.started and time.started)
        whole = not gaps and not time.in_doubt and bool((steps.weight > 0).all())
        judged = self._judged(came, steps) if not first and time.is_judged(gaps=gaps) else None
        mean = None if first else self._mean()
        filled, past = complete(rows), None
        if gaps or not (whole or first):
            filled = self._filled(rows, steps)
            past = self._open[-1].past if not first else None
            filled = self._placed(self.learner, filled, came)
        learn_filled(
            self.learner, filled._replace(rows=self._capped(self.learner, filled.rows, steps)), steps
        )
        if mean is None:
            time.begin(own, steps, self._mean())
            from .first_rows import first_judged

            time.judge(*first_judged(self.plan, came, steps))
        elif past is None:
            time.learn_whole(own, steps, mean)
        else:
            time.learn(past, steps)
        if judged is not None:
            time.judge(*judged, steps.weight)

    def _placed(self, learner: Learner, filled: Filled, rows: Floats) -> Filled:
        """Move the mean of inputs to their first value, in these rows, and what they were filled with before.

        Until then nothing is known of them: what was learnt instead of values must not count as values.
        """
        if not (self.unseen.any() and learner.started and self.plan.center):
            return filled
        came = np.logical_or.accumulate(~np.isnan(rows), axis=0)
        fresh = self.unseen & came[-1]
        if not fresh.any():
            return filled
        assert isinstance(learner, Placing)
        means = np.full(self.plan.n, np.nan)
        means[fresh] = rows[np.argmax(came[:, fresh], axis=0), fresh]
        learner.place(means)
        if learner is self.learner:
            self.look.learner_moved()
        return filled._replace(rows=np.where(fresh & ~came, means, filled.rows).astype(filled.rows.dtype))

    def _judged(self, rows: Floats, steps: Steps) -> tuple[NDArray[np.intp], Floats]:
        """Answers to entries of a block as if they were missing, see `OpenBlock.judged`."""
        assert self.time is not None
        gappy, own = rows.copy(), slice(self.plan.width)
        gappy[:, own] = hide(rows[:, own], self.time.blocks)
        block = self._new_block(len(rows), learns=False)
        block.take(gappy, steps)
        return block.judged(rows[:, own])

    def _filled(self, rows: Floats, steps: Steps) -> Filled:
        """Rows that belong together, those that wait first, without gaps; and what they lack."""
        in_blocks = self.learner.block > 1
        if not self.learner.started:
            by_means = fill_by_means(rows, standardize=self.plan.standardize)
            return by_means if in_blocks else complete(self.fill(rows))
        kept = self._open if in_blocks else []
        block = self._taken_from(kept, len(rows)) if in_blocks else self._new_block(len(rows))
        block.take(host(rows[block.number :]), steps.part(slice(block.number, None)))
        filled = block.filled()
        kept.append(block)
        return filled

    def _taken_from(self, kept: list[OpenBlock], most: int) -> OpenBlock:
        """The open block, taken out, if there is one of at most this many rows, or else a new one."""
        try:
            block = kept.pop()
        except IndexError:
            return self._new_block(self.learner.block)
        return block if block.number <= most else self._new_block(self.learner.block)

    def _new_block(self, rows: int, *, learns: bool = True) -> OpenBlock:
        from .open_block import OpenBlock
        from .past import Past

        plan, time, past = self.plan, self.time, None
        corrects = self.learner.block > 1 and not plan.cap_outliers
        if time is not None and time.started:
            before = time.last, time.ages, time.held
            learnt, kept = learns and time.is_learnt(), learns and self._innovations_asked
            past = Past(self.dynamics(), *before, rows, corrects=corrects, learns=learnt, forecasts=kept)
        known = self.look.expected()
        block = OpenBlock(
            known, rows, plan.dtype, center=plan.center, corrects=corrects, past=past, learns=learns
        )
        if plan.center and self.unseen.any():
            block.expect_first_values_of(self.unseen)
        return block

    def past_now(self) -> Past | None:
        """The filter after all rows, waiting ones too; None before it has begun."""
        if self.time is None:
            return None
        if not self.time.started:
            return self._past_of_first_rows()
        nothing = np.zeros((0, self.plan.n), dtype=self.plan.dtype)
        return self._opened(nothing, Steps.even(0, 1.0)).past

    def _past_of_first_rows(self) -> Past | None:
        """The filter after rows that wait for the first block; None as long as these are too few."""
        from .first_rows import block_after

        number = self.waiting.number
        if self.learner.block == 1 or self.learner.started or number < FIRST_ROWS:
            return None
        rows, steps = self.waiting.first(number)
        block = block_after(self.plan, host(rows), steps, 1)
        return None if block is None else block.past

    def dynamics_now(self) -> Dynamics | None:
        """Relation of rows to those before them, as well as it is known; None before it is."""
        if self.time is None or self.time.started:
            return None if self.time is None else self.dynamics()
        past = self._past_of_first_rows()
        return None if past is None else past.dynamics

    def _mean(self) -> Vector:
        """Mean of the inputs as of the last block."""
        return np.asarray(host(self.learner.seen(0).mean)[: self.plan.width])

    def dynamics(self) -> Dynamics:
        """Relation of rows to those before them, as of the last block."""
        assert self.time is not None
        return self.time.dynamics(self._mean())

    def _capped(self, learner: Learner, rows: Floats, steps: Steps) -> Floats:
        """The rows, outliers scaled down if that is asked for."""
        if not self.plan.cap_outliers:
            return rows
        if learner.started:
            assert isinstance(learner, Measuring)
            seen = self.look.seen().on_host()
            variances = learner.variances(seen.axes)
        else:
            seen, variances = first_seen(rows, standardize=self.plan.standardize), np.zeros(0)
        decay = steps.fading.decay
        capped = cap(rows, seen.mean, seen.axes, variances, self.usual, decay, seen.gain)
        if learner is self.learner:  # a copy that only looks ahead leaves nothing behind
            # How far the first rows are from their mean says nothing of how far later ones are from axes.
            self.usual = capped.usual if learner.started else Usual()
            self.tally.capped += capped.number
        return capped.rows
