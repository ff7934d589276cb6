"""Learning rows block by block: gaps are filled and outliers capped by what was known before the block."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..learners.arrays import host
from ..learners.knowledge import Floats
from ..learners.learner import Learner, Measuring, Roomy, Spread, Steps
from ..learners.marks import Mark, Marked
from .events import Tally
from .imputation import Filled, complete, fill, fill_by_means, fill_by_means_so_far
from .last_look import LastLook
from .open_block import OpenBlock
from .outliers import Usual, cap, first_seen
from .plan import Plan
from .varying import Varying
from .waiting import Waiting

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

    LEARNT = ("has_gaps", "usual")

    def __init__(self, plan: Plan, learner: Learner, look: LastLook) -> None:
        self.plan, self.learner, self.look = plan, learner, look
        self.inputs = Varying(0 if isinstance(learner, Spread) else plan.n, plan.dtype)
        """The inputs that have varied so far; none if the learner counts them."""
        self._room_of = learner if isinstance(learner, Roomy) and learner.room.dtype == plan.dtype else None
        """The learner, if rows wait in its room."""
        room = None if self._room_of is None else self._room_of.room
        self.waiting = Waiting(learner.block, plan.n, plan.dtype, room)
        """Rows of an unfinished block."""
        self.has_gaps = False
        """True if a row with gaps has ever been learnt from."""
        self.usual = Usual()
        """Usual distance of rows from what is known, if outliers are capped."""
        self.tally = Tally()
        self._open: list[OpenBlock] = []
        """Rows that wait, gaps filled, once somebody has asked; whoever fills takes it out: see `Callers`."""

    def mark(self) -> Mark:
        return self.waiting.mark(), self.inputs.mark(), self.tally.mark(), super().mark()

    def revert(self, mark: Mark) -> None:
        waiting, inputs, tally, others = mark
        super().revert(others)
        self.waiting.revert(waiting)
        self.inputs.revert(inputs)
        self.tally.revert(tally)
        self.forget_open()

    def forget_open(self) -> None:
        """Drop the filled rows of the open block: what they were filled by has changed."""
        self._open = []

    def take(self, rows: Floats, steps: Steps) -> Steps | None:
        """Take rows, at most to the end of the block; returns what its rows count if one has been learnt."""
        if not self.inputs.all_vary:
            self.inputs.see(rows)
        self.tally.learnt += len(rows)
        block, waiting = self.learner.block, self.waiting
        if block == 1 or (len(rows) == block and not waiting.number):
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
        self._learn(self.learner, rows, steps)
        if self._room_of is not None:
            self.waiting.rows = self._room_of.room
        self.look.learner_moved()
        self.forget_open()

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

    def caught_up(self) -> Learner:
        """The learner with waiting rows learnt; a copy, unless none wait."""
        number = self.waiting.number
        if not number:
            return self.learner
        plan, learner = self.plan, self.learner.copy()
        if not self.learner.started and not isinstance(learner, Spread):
            # So few rows are known exactly by their own directions, which is cheaper for any learner.
            from ..learners.subspace import Subspace

            learner = Subspace(plan.n, number, number, center=plan.center, standardize=plan.standardize)
        self._learn(learner, *self.waiting.first(number))
        return learner

    def fill(self, rows: Floats) -> Floats:
        """Rows with NaN filled in by the last block and look, each for itself."""
        if self.look.early is not None or self.learner.started:
            return fill(rows, self.look.expected())
        return fill_by_means(np.where(np.isnan(rows), self.inputs.first, rows)).rows

    def fill_next(self, rows: Floats, steps: Steps) -> Floats:
        """Rows that come next, at most to the end of the block, gaps filled: each by all rows before it."""
        number = self.waiting.number
        if self.learner.block == 1 or (self.look.early is not None and not self.learner.started):
            return self.fill(rows)
        if not self.learner.started:
            return fill_by_means_so_far(np.vstack((host(self.waiting.rows[:number]), rows)))[number:]
        kept = self._open
        block = self._taken_from(kept, number)
        rest = slice(block.number, number)
        block.take(host(self.waiting.rows[rest]), self.waiting.steps.part(rest))
        filled = block.take(rows, steps)
        kept.append(block)
        return filled

    def _learn(self, learner: Learner, rows: Floats, steps: Steps) -> None:
        """Learn from rows that belong together; gaps are filled by what was known before them."""
        if not self.has_gaps or not np.isnan(rows).any():
            learner.learn(self._capped(learner, rows, steps), steps)
            return
        filled = self._filled(rows, steps)
        rows = self._capped(learner, filled.rows, steps)
        lacking = None
        if filled.along.any():
            lam, P = np.linalg.eigh(filled.along)
            lacking = np.sqrt(np.maximum(lam, 0.0))[:, None] * (P.T @ filled.axes)
        learner.learn(rows, replace(steps, extra=steps.extra + filled.extra), lacking)

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

    def _new_block(self, rows: int) -> OpenBlock:
        plan, corrects = self.plan, self.learner.block > 1 and not self.plan.cap_outliers
        return OpenBlock(self.look.expected(), rows, plan.dtype, center=plan.center, corrects=corrects)

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
