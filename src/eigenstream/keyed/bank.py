"""Thousands of models, each with a key, advanced together on all cores."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..array_types import as_numbers
from ..io import checkpoint
from ..learners.knowledge import Floats
from ..model import StreamModel, Tracker, plan_for
from ..model.parameters import check_words, refuse_gaps, refuse_huge, refuse_tiny
from ..model.plan import Plan
from ..model.stored_form import restored, stored
from ..model.stream_model import DEFAULTS, plain, rebuilt_parameters
from ..model.whole_calls import whole_call
from .bank_file import Key, PathLike, damaged
from .keyed_models import KeyedModels, factorized, grouped, refuse_count
from .models import Call, Models, cores
from .store import Entry, Store

# Keys times squared inputs, 64 at least: half a second for 500 keys (.6 ms each of 8 inputs, 1 ms of 64):
# a job stopped by a signal must end within seconds.
MOST_READ = 500 * 64**2
"""Work up to which the rank of each key is read by all of its rows; beyond, it is that of its last look."""


class Bank(KeyedModels):
    """One streaming model per key; each is, to the bit, what a model of its own would be.

    Rows of a call are grouped by key and learnt in order, thousands of keys at a time. At most ``max_models``
    models are held in memory; those that were idle for longest wait in the file, and come back when rows for
    them do.

    Parameters
    ----------
    path
        The file of the bank. If it exists, the bank goes on from what was last saved in it. None: no file.
    max_models
        Most models held in memory between two calls; None: all of them.
    workers
        Number of threads that learn; None: one per core.
    fresh
        Begin anew: what is in the file stays until the first `save`, which replaces it.
    **parameters
        Parameters of the models, as of `OnlineAdaptivePCA`; ``random_state`` is 0 unless given. Those of a
        file need not be given again.

    Attributes
    ----------
    on_rank_change
        Called with the key and the `RankChange` for each change, after the call that learnt it.
    position_
        The position in the source that the last `save` was given.
    features
        Names of the inputs, if they have names (`learn_frame` gives them).

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).standard_normal((600, 4)) * [3.0, 1.0, 1.0, 1.0]
    >>> bank = Bank(max_models=2)
    >>> scores = bank.learn_many(["a", "b", "c"] * 200, rows)
    >>> bank.model("a").n_samples_seen_, sorted(bank.keys())
    (200, ['a', 'b', 'c'])
    """

    def __init__(
        self,
        path: PathLike | Store | None = None,
        *,
        max_models: int | None = None,
        workers: int | None = None,
        fresh: bool = False,
        **parameters: Any,
    ) -> None:
        refuse_count("workers", workers)
        StreamModel(**parameters)  # refuses unknown names
        super().__init__(path, max_models, fresh)
        self.workers = workers or cores()
        self._models: Models | None = None
        """Those in memory; None before the first row."""
        try:
            if self.store.fact("monitors"):
                raise ValueError(
                    f"{self.store.path!r} holds monitors, and models are needed: take a bank that "
                    "eigenstream run --key has saved (in Python, a MonitorBank opens monitors)"
                )
            self.parameters = self._agreed(parameters)
            self.features: list[str] | None = self.store.fact("features")
            width, dtype = self.store.fact("width"), np.dtype(self.store.fact("dtype")).type
            if width is not None:
                self._of_file(lambda: self._begin(width, dtype))
            if self.features is not None and len(self.features) != width:
                damaged(self.store.path, f"it has {len(self.features)} names for {width} inputs")
        except BaseException:
            self.store.close()
            raise

    @property
    def plan(self) -> Plan | None:
        """The plan that all models share; None before the first row."""
        return None if self._models is None else self._models.plan

    @property
    def width(self) -> int | None:
        """Numbers per row; None before the first row."""
        return None if self.plan is None else self.plan.width

    @whole_call
    def learn_many(
        self,
        keys: Sequence[Key] | NDArray[Any],
        rows: ArrayLike,
        timestamps: Any = None,
        *,
        blank: bool = False,
    ) -> Floats:
        """Learn from rows; returns each row's score by its own model, before learning from it.

        Parameters
        ----------
        keys
            Whose rows they are: strings or whole numbers.
        rows
            One row per key; the rows of one key in the order in which they came.
        timestamps
            When each row came, if the half-life is a duration, as of `OnlineAdaptivePCA.partial_fit`.
        blank
            True returns NaN instead of zeros for rows that came before their model had started.
        """
        X = self._checked(rows)
        names, codes = factorized(keys)
        if len(codes) != len(X):
            raise ValueError(f"expected one key per row, got {len(codes)} keys and {len(X)} rows")
        if not len(X):
            return np.zeros((0, 0 if self.plan is None else self.plan.k))
        self._undo.append(partial(vars(self).update, _models=self._models, samples=self.samples))
        if self._models is None:
            refuse_tiny(X, plan_for(self.parameters, X.shape[1], X.dtype.type).solver)
            models = self._begin(X.shape[1], X.dtype.type)
        else:
            models = self._models
        own = grouped(names, codes)
        new: list[Key] = []
        self._undo.append(lambda: models.discard(new))
        self._bring(names, models, new)
        times = models.times(own, timestamps)
        call = Call(X, own, times, np.zeros((len(X), models.plan.k), dtype=models.plan.dtype), blank)
        models.forget_marks()
        self._undo.append(models.revert)
        changes = models.learn(call, [names[i] for i in self._gappy(X, codes)], self.store.go_on)
        self.samples += len(X)
        self._learnt(names)
        if self.on_rank_change is not None:
            for key, change in changes:
                self.on_rank_change(key, change)
        self._evict(models)
        return call.scores

    def model(self, key: Key) -> StreamModel:
        """The model of this key as a model of its own; a copy. Its position is the bank's."""
        model = StreamModel(**self.parameters)
        model.tracker, model.position_ = self._callers.read(lambda: self._copied(key)), self.position_
        model.features = list(self.features or [])
        return model

    def ranks_by_all_rows(self) -> Counter[int] | None:
        """Number of keys at each rank, rows since the last looks counted; None where that would take long."""
        if not may_be_read(len(self), self.width or 0):
            return None
        return Counter(self.model(key).n_components_ for key in self.keys())

    def close(self) -> None:
        """Close the file and end the threads; what was not saved is lost."""
        if self._models is not None:
            self._models.close()
        super().close()

    def _facts(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "parameters": plain(self.parameters, 0 if plan is None else plan.seed),
            "dtype": None if plan is None else np.dtype(plan.dtype).name,
            "features": self.features,
        }

    def _agreed(self, given: dict[str, Any]) -> dict[str, Any]:
        """The parameters given, or those of the file, which must not differ."""
        before = self.store.fact("parameters")
        if before is None:
            check_words(DEFAULTS | given)
            return DEFAULTS | {"random_state": 0} | given
        parameters = self._of_file(lambda: rebuilt_parameters(before))
        for name, value in json.loads(json.dumps(plain(DEFAULTS | given, 0))).items():
            if name in given and before[name] != value:
                raise ValueError(
                    f"{self.store.path!r} was made with {name}={before[name]!r}, not {name}={value!r}: leave "
                    f"{name} out, or name another file"
                )
        return parameters

    def _checked(self, rows: ArrayLike) -> Floats:
        X = np.asarray(as_numbers(rows))
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            raise ValueError(f"expected a table of numbers, got shape {X.shape} of {X.dtype}")
        own = np.float32 if X.dtype == np.float32 else np.float64
        X = np.ascontiguousarray(X, dtype=own if self.plan is None else self.plan.dtype)
        if self.plan is not None and X.shape[1] != self.plan.width:
            raise ValueError(f"expected rows of {self.plan.width} numbers, got {X.shape[1]}")
        refuse_gaps(X, self.parameters["missing"])
        refuse_huge(X)
        return X

    def _begin(self, width: int, dtype: Any) -> Models:
        plan = plan_for(self.parameters, width, dtype)
        self._models = Models(plan, self.parameters["scores"], self.parameters["missing"], self.workers)
        return self._models

    def _bring(self, keys: list[Key], models: Models, new: list[Key]) -> None:
        """Bring the models of all keys into memory; adds those to ``new`` that are."""
        for key in keys:
            if key in models:
                continue
            self.store.go_on()
            if key in self.store.models:
                models.add(key, self._restored(key))
            else:
                new.append(key)
                models.add(key, Tracker(models.plan))

    def _gappy(self, X: Floats, codes: NDArray[Any]) -> list[int]:
        """Indices of the keys that have rows with gaps."""
        if self.parameters["missing"] == "raise":
            return []
        found: list[int] = np.unique(codes[np.isnan(X).any(axis=1)]).tolist()
        return found

    def _evict(self, models: Models) -> None:
        """Put the longest idle models into the file."""
        idle = [] if self.max_models is None else models.idle(self.max_models)
        if not idle:
            return
        held = models.held(idle)
        self._undo.append(lambda: models.put_back(held))
        self._put_away(idle)
        for key in idle:
            models.remove(key)

    def _packed(self, key: Key) -> tuple[Entry, bytes]:
        assert self._models is not None
        arrays, document = stored(self._models.tracker(key))
        return Entry(key, document["time"], document["decision"][2]), checkpoint.packed(arrays, document)

    def _rank(self, key: Key) -> int:
        assert self._models is not None
        return self._models.tracker(key).decision.rank

    def _copied(self, key: Key) -> Tracker:
        if self._models is None or key not in self:
            raise KeyError(f"there is no model with the key {key!r}")
        held = key in self._models
        return restored(*stored(self._models.tracker(key))) if held else self._restored(key)

    def _restored(self, key: Key) -> Tracker:
        """The tracker of a key that is in the file."""
        found, plan = self._state(key), self.plan
        assert found is not None
        assert plan is not None
        arrays, document = checkpoint.unpacked(*found)
        tracker = self._of_file(lambda: restored(arrays, document))
        if replace(tracker.plan, alpha=plan.alpha) != plan:
            damaged(self.store.path, f"the model with the key {key!r} is of another kind")
        return tracker


def may_be_read(keys: int, width: int) -> bool:
    """True if the ranks of this number of keys can be read by all of their rows within half a second."""
    return keys * max(width, 64) ** 2 <= MOST_READ
