"""Learning rows that belong together: gaps are filled and outliers capped by what was known before them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..learners.arrays import host
from ..learners.knowledge import Floats, Knowledge
from ..learners.learner import Learner, Steps
from .events import Tally
from .imputation import Filled, complete, fill_by_means, fill_by_means_so_far
from .last_look import LastLook
from .open_block import OpenBlock
from .outliers import Usual, cap, first_seen
from .waiting import Waiting

Missing = Literal["raise", "skip", "impute"]


@dataclass
class Blocks(LastLook):
    """Abstract: a learner that learns block by block, and the rows that wait for theirs."""

    waiting: Waiting = field(init=False)
    """Rows of an unfinished block."""
    has_gaps: bool = False
    """Whether a row with gaps has ever been learnt from."""
    usual: Usual = field(default_factory=Usual)
    """What rows are off by, if outliers are capped."""
    tally: Tally = field(default_factory=Tally)
    _open: OpenBlock | None = None
    """Rows that wait, gaps filled, once somebody has asked."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.waiting = Waiting(self.learner.block, self.plan.n, self.plan.dtype)

    def known(self) -> Knowledge:
        """What is known of the input, waiting rows too; sums over samples."""
        return self._caught_up().known()

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

    def _learn(self, learner: Learner, rows: Floats, steps: Steps) -> None:
        """Learn from rows that belong together; gaps are filled by what was known before them."""
        if not self.has_gaps or not np.isnan(rows).any():
            learner.learn(self._capped(learner, rows, steps), steps)
            return
        filled = self._filled(rows, steps)
        rows = self._capped(learner, filled.rows, steps)
        learner.learn(rows, replace(steps, extra=steps.extra + filled.extra))
        if filled.along.any():
            lam, P = np.linalg.eigh(filled.along)
            learner.spread(np.sqrt(np.maximum(lam, 0.0))[:, None] * (P.T @ filled.axes))

    def _filled(self, rows: Floats, steps: Steps) -> Filled:
        """Rows that belong together, those that wait first, without gaps; and what they lack."""
        in_blocks = self.learner.block > 1
        if not self.learner.started:
            by_means = fill_by_means(rows, standardize=self.plan.standardize)
            return by_means if in_blocks else complete(self.fill(rows))
        block = self._open_block(len(rows)) if in_blocks else self._new_block(len(rows))
        block.take(host(rows[block.number :]), steps.part(slice(block.number, None)))
        return block.filled()

    def fill_next(self, rows: Floats, steps: Steps) -> Floats:
        """Rows that come next, at most to the end of the block, gaps filled: each by all rows before it."""
        number = self.waiting.number
        if self.learner.block == 1 or (self.early is not None and not self.learner.started):
            return self.fill(rows)
        if not self.learner.started:
            return fill_by_means_so_far(np.vstack((host(self.waiting.rows[:number]), rows)))[number:]
        block = self._open_block(number)
        rest = slice(block.number, number)
        block.take(host(self.waiting.rows[rest]), self.waiting.steps.part(rest))
        return block.take(rows, steps)

    def _open_block(self, most: int) -> OpenBlock:
        """The open block if it holds at most so many rows, or else a new one."""
        if self._open is None or self._open.number > most:
            self._open = self._new_block(self.learner.block)
        return self._open

    def _new_block(self, rows: int) -> OpenBlock:
        plan, corrects = self.plan, self.learner.block > 1 and not self.plan.cap_outliers
        return OpenBlock(self.expected(), rows, plan.dtype, center=plan.center, corrects=corrects)

    def _capped(self, learner: Learner, rows: Floats, steps: Steps) -> Floats:
        """The rows, outliers scaled down if that is asked for."""
        if not self.plan.cap_outliers:
            return rows
        if learner.started:
            seen = self._seen().on_host()
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

    def _caught_up(self) -> Learner:
        """The learner with waiting rows learnt; a copy, unless none wait."""
        number = self.waiting.number
        if not number:
            return self.learner
        plan, learner = self.plan, self.learner.copy()
        if not self.learner.started:
            # So few rows are known exactly by their own directions, which is cheaper for any learner.
            from ..learners.subspace import Subspace

            learner = Subspace(plan.n, number, number, center=plan.center, standardize=plan.standardize)
        self._learn(learner, *self.waiting.first(number))
        return learner
