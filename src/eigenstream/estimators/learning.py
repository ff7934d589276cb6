"""Calls that learn: each happens whole or not at all, and says what has changed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples

from ..learners.arrays import as_came, launches
from ..model import RankChange, Tracker, plan_for, row_times
from ..model.parameters import check_words, refuse_huge, refuse_tiny, row_weights, squares_fit
from ..model.reading import Floats
from ..model.stream_model import DEFAULTS
from ..model.whole_calls import Callers, reverting
from ..rank import FixedRank
from .validation import placed, refuse_infinite, shaped, times_of

MANY_SKIPPED = 32
"""Rows that have to be skipped before somebody is warned that most are."""


class WholeCalls:
    """Abstract: the learning part of `OnlineAdaptivePCA`, which has the parameters."""

    missing: Literal["raise", "skip", "impute"]
    scores: Literal["shrunk", "projected", "whitened"]
    on_rank_change: Callable[[RankChange], object] | None
    position_: Any = None
    _tracker: Tracker
    _warned_at_capacity = False
    _warned_of_skipping = False

    @property
    def callers(self) -> Callers:
        """Whoever learns with this model at this moment."""
        return self.__dict__.setdefault("_callers", Callers())  # type: ignore[no-any-return]

    def _reverting(self) -> Callable[[], None]:
        # Whoever has made an error of a warning can go on with the next call.
        warned = ("_warned_at_capacity", "_warned_of_skipping")
        return reverting(self, vars(self).get("_tracker"), warned)

    def _learn(
        self,
        X: ArrayLike,
        sample_weight: ArrayLike | None,
        timestamps: Any,
        *,
        fresh: bool,
        how: str | None = None,
    ) -> Floats:
        """Check rows, learn from them and say what has changed; within a `whole_call`."""
        weights = row_weights(sample_weight, _num_samples(X))
        rows = self._checked_rows(X, fresh=fresh)
        times = self._times(X, timestamps, len(rows))
        tracker = self._tracker
        scores, changes = tracker.follow(rows, weights, self.missing, how, times)
        self._announce(changes)
        return np.zeros((0, tracker.plan.k)) if scores is None else as_came(scores, X)

    def _checked_rows(self, X: ArrayLike, *, fresh: bool) -> Floats:
        """Rows that can be learnt from, and if there is no tracker yet, or no longer, one for them."""
        rows = shaped(self, X, reset=fresh)
        check_words({"missing": self.missing, "scores": self.scores})
        if fresh:
            parameters = {name: getattr(self, name) for name in DEFAULTS}
            if not isinstance(rows, np.ndarray) and parameters["solver"] == "auto":
                parameters["solver"] = "subspace"  # the one that learns rows where they live
            plan = plan_for(parameters, rows.shape[1], rows.dtype.type, launches=launches(rows))
            self._tracker = Tracker(plan)
            self._warned_at_capacity = self._warned_of_skipping = False
            self.position_ = None
        with np.errstate(over="ignore"):
            rows = placed(self, rows).astype(self._tracker.plan.dtype, copy=False)
        if not squares_fit(rows):
            refuse_infinite(rows, self.missing)
            refuse_huge(rows)
        if fresh:
            refuse_tiny(rows, self._tracker.plan.solver)
        return rows

    def _times(self, X: ArrayLike, timestamps: Any, rows: int) -> NDArray[np.float64] | None:
        plan = self._tracker.plan
        if plan.seconds is not None:
            timestamps = times_of(X, timestamps)
        return row_times(timestamps, rows, plan, self._tracker.clock.latest)

    def _announce(self, changes: list[RankChange]) -> None:
        plan, rank = self._tracker.plan, self._tracker.decision.rank
        reached = rank == plan.k < plan.n and not isinstance(plan.alpha, FixedRank)
        if reached and not self._warned_at_capacity:
            advice = self._tracker.advice()  # by everything learnt so far, so there may be none any more
            if advice:
                self._warned_at_capacity = True
                warnings.warn(advice, UserWarning, stacklevel=5)
        tally = self._tracker.tally
        if tally.skipped >= MANY_SKIPPED and tally.skipped > tally.learnt and not self._warned_of_skipping:
            self._warned_of_skipping = True
            message = (
                f"{tally.skipped:,} of {tally.skipped + tally.learnt:,} rows so far were skipped because of "
                "missing values: missing='impute' would learn from them too"
            )
            warnings.warn(message, UserWarning, stacklevel=5)
        if self.on_rank_change is not None:
            for change in changes:
                self.on_rank_change(change)
