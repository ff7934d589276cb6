"""Learning rows that belong together: gaps are filled and outliers capped by what was known before them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..engine.knowledge import Floats, Knowledge
from ..engine.learner import Learner, Steps
from ..imputation import fill_by_means
from ..outliers import Usual, cap, first_seen
from .events import Tally
from .last_look import LastLook
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
            seen = self._seen().on_host()
            variances = learner.variances(seen.axes)
        else:
            seen, variances = first_seen(rows, standardize=self.plan.standardize), np.zeros(0)
        decay = steps.fading.decay
        capped = cap(rows, seen.mean, seen.axes, variances, self.usual, decay, seen.gain)
        if learner is self.learner:  # a copy that only looks ahead leaves nothing behind
            self.usual = capped.usual
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
            from ..engine.subspace import Subspace

            learner = Subspace(plan.n, number, number, center=plan.center, standardize=plan.standardize)
        self._learn(learner, *self.waiting.first(number))
        return learner
