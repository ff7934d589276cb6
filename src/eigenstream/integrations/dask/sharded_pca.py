"""Streaming PCA of rows so wide that their features are spread over the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any, Literal, Self, cast

import dask.array as da
from distributed import CancelledError, KilledWorker, get_client

from ...io.durations import is_duration
from ...learners.arrays.dask import checked, padded
from ...learners.knowledge import Floats
from ...model import plan_for
from ...model.attributes import HistoryAttributes
from ...model.parameters import check_words
from ...model.reading import Reading
from ...model.stream_model import DEFAULTS
from ...model.tracker import Tracker
from ...model.whole_calls import Callers, reverting, whole_call
from ...rank import Rule
from ...regularizers import Regularizer
from .sharded_subspace import ShardedSubspace

LOST = (
    "workers were lost with what they held, and it could not be computed again ({error!r}). Fit again, from "
    "data that can be read again (files or functions, not futures), on workers with more memory if that was "
    "the reason"
)


class FeatureShardedPCA(HistoryAttributes):
    """Streaming PCA that finds its own number of components, with its features in shards.

    Rows come as Dask arrays, chunked along features: each chunk of columns is a shard, which stays with one
    worker together with its columns of the model. Whatever the number of features, a block of 64 rows costs
    one sum over all workers of ``(r + 64)^2`` numbers, r being the directions that are kept. The result is
    that of ``OnlineAdaptivePCA(solver="subspace")`` but for rounding, and how rows are cut into calls and
    chunks does not matter.

    A cluster has to run (``distributed.Client``). The workers need room for one chunk of rows, their columns
    of L twice (``2 (3 max_components + 88)`` numbers per column), and little else. If a worker dies, Dask
    computes again what it held, from the rows themselves: they should come from files or functions.

    Parameters
    ----------
    n_components, regularizer, alpha, max_components, center, scores
        As of `eigenstream.OnlineAdaptivePCA`.
    half_life
        After how many samples a sample counts half; None never forgets.

    Attributes
    ----------
    components_, mean_ : dask.array.Array
        In shards, as the input.
    n_components_, explained_variance_, threshold_, rank_history_, spectrum_history_, ...
        As of `eigenstream.OnlineAdaptivePCA`.

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> from distributed import Client
    >>> from eigenstream import streams
    >>> X = da.from_array(np.vstack(list(streams.paper_stream(2000, random_state=0))), chunks=(500, 16))
    >>> with Client(processes=False, dashboard_address="127.0.0.1:0", worker_dashboard_address="127.0.0.1:0"):
    ...     model = FeatureShardedPCA(max_components=8).fit(X)
    ...     model.n_components_, model.components_.numblocks, model.transform(X).compute().shape
    (4, (1, 4), (2000, 8))
    """

    def __init__(
        self,
        n_components: int | float | Rule | Literal["auto"] = "auto",
        *,
        regularizer: str | Regularizer = "input-output",
        alpha: float | None = None,
        max_components: int | None = None,
        half_life: float | None = None,
        center: bool = True,
        scores: Literal["shrunk", "projected", "whitened"] = "shrunk",
    ) -> None:
        self.n_components = n_components
        self.regularizer = regularizer
        self.alpha = alpha
        self.max_components = max_components
        self.half_life = half_life
        self.center = center
        self.scores = scores
        self._callers = Callers()
        self._tracker: Tracker | None = None
        self._read: Reading | None = None

    @whole_call
    def fit(self, X: da.Array) -> Self:
        """Forget everything and learn from these rows in one pass."""
        self._tracker = None
        return self._learn(X)

    @whole_call
    def partial_fit(self, X: da.Array) -> Self:
        """Learn from these rows, in order: any number of them."""
        return self._learn(X)

    @whole_call
    def pin(self) -> Self:
        """Keep what has been learnt as it is, instead of how to compute it again.

        Dask's scheduler remembers two tasks per block and shard, so that a lost worker can be made up for. On
        a stream without end, call this now and then. The shards pass through this process one by one. After
        it, a worker that dies takes its shard with it: the next call says so.
        """
        tracker = self._tracked()
        with _losses_explained():
            _learner(tracker).pin()
        self._tracker, self._read = copy(tracker), None  # a copy remembers no reading, which has a history
        return self

    def transform(self, X: da.Array) -> da.Array:
        """Scores of each row, lazily: ``max_components_`` columns, those beyond the rank exactly zero."""
        rows, reading = checked(X, self.n_features_in_), self._reading
        scores = reading.project(rows) * reading.factors(self.scores, rows.dtype)
        return padded(scores, self.max_components_)

    def squared_residuals(self, X: da.Array) -> da.Array:
        """Squared distance of each row from what the components can express, lazily."""
        return self._reading.squared_residuals(checked(X, self.n_features_in_))

    @property
    def n_features_in_(self) -> int:
        return self._tracked().plan.n

    @property
    def _reading(self) -> Reading:  # type: ignore[override]
        if self._read is None:
            tracker = self._tracked()
            with _losses_explained():
                reading, k = tracker.reading(), tracker.plan.k
                mean, axes = _learner(tracker).client.persist([reading.mean, reading.axes[:k]])
            self._read = replace(reading, mean=mean, axes=axes, variances=reading.variances[:k])
        return self._read

    def _tracked(self) -> Tracker:
        """The tracker of what has been learnt; AttributeError before the first row."""
        if self._tracker is None:
            raise AttributeError("this model has not learnt anything yet: call fit or partial_fit")
        return self._tracker

    def _reverting(self) -> Callable[[], None]:
        return reverting(self, self._tracker)

    def _learn(self, X: da.Array) -> Self:
        tracker = self._tracker
        rows = checked(X, None if tracker is None else tracker.plan.n)
        tracker = tracker or self._new_tracker(rows)
        with _losses_explained():
            for chunk in _learner(tracker).chunks(rows):
                tracker.follow(cast(Floats, chunk))
        self._tracker, self._read = tracker, None
        return self

    def _new_tracker(self, X: da.Array) -> Tracker:
        own = ("n_components", "regularizer", "alpha", "max_components", "half_life", "center", "scores")
        parameters: dict[str, Any] = DEFAULTS | {name: getattr(self, name) for name in own}
        check_words(parameters)
        if is_duration(self.half_life):
            raise ValueError(f"half_life must be a number of samples here, got {self.half_life!r}")
        plan = plan_for(parameters | {"solver": "subspace"}, X.shape[1], X.dtype.type)
        try:
            client = get_client()
        except ValueError:
            raise ValueError(
                "a model with its features in shards needs a cluster: start one, for instance with "
                'distributed.Client(dashboard_address="127.0.0.1:8787")'
            ) from None
        return Tracker(plan, ShardedSubspace(plan, X.chunks[1], client))


def _learner(tracker: Tracker) -> ShardedSubspace:
    assert isinstance(tracker.learner, ShardedSubspace)
    return tracker.learner


@contextmanager
def _losses_explained() -> Iterator[None]:
    """Within it, an error about lost data says what to do."""
    try:
        yield
    except (KilledWorker, CancelledError) as error:
        raise RuntimeError(LOST.format(error=error)) from error
