"""Thousands of models, each with a key, advanced together on all cores."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import checkpoint
from ..engine.knowledge import Floats
from ..engine.threads import one_thread
from ..tracking import RankChange, StreamModel, Tracker, plan_for, row_times
from ..tracking.fleet import Fleet, Slots, fits
from ..tracking.model import DEFAULTS, plain, rebuilt_parameters
from ..tracking.pace import Clock
from ..tracking.parameters import check_words, refuse_huge, refuse_tiny, squares_fit
from ..tracking.plan import Plan
from ..tracking.stored_form import restored, stored
from ..tracking.whole_calls import interrupts_deferred
from .store import Entry, Key, Store

PART = 512
"""Keys that one thread works on at a time."""


class Bank:
    """One streaming model per key; each is, to the bit, what a model of its own would be.

    Rows of a call are grouped by key and learnt in order, thousands of keys at a time. At most ``max_models``
    models are held in memory; those that were idle for longest wait in the file, and come back when rows for
    them do.

    Parameters
    ----------
    path
        The file of the bank. If it exists, the bank goes on from what was last saved in it. None: nowhere.
    max_models
        How many models are held in memory between two calls; None: all of them.
    workers
        How many threads learn; None: one per core.
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
        What the last `save` was told about the position in the source.

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
        path: str | os.PathLike[str] | None = None,
        *,
        max_models: int | None = None,
        workers: int | None = None,
        fresh: bool = False,
        **parameters: Any,
    ) -> None:
        for name, number in (("max_models", max_models), ("workers", workers)):
            if number is not None and (not isinstance(number, int) or number < 1):
                raise ValueError(f"{name} must be None or a whole number of at least 1, got {number!r}")
        StreamModel(**parameters)  # refuses unknown names
        parameters.setdefault("random_state", 0)
        self.max_models, self.workers = max_models, workers or cores()
        self.on_rank_change: Callable[[Key, RankChange], object] | None = None
        self.store = Store(path if path is not None else ":memory:", fresh=fresh)
        try:
            self.parameters = self._agreed(parameters)
        except BaseException:
            self.store.close()
            raise
        self.position_: Any = self.store.fact("position")
        self.samples: int = self.store.fact("samples") or 0
        """Rows learnt from, of all keys."""
        self.plan: Plan | None = None
        """What all models do; None before the first row."""
        if (width := self.store.fact("width")) is not None:
            self._make_plan(width, np.dtype(self.store.fact("dtype")).type)
        self._calls: int = self.store.fact("calls") or 0
        self._stored = {entry.key for entry in self.store.entries()}
        self._in_memory: dict[Key, int | Tracker] = {}
        """Slots in the fleet, and trackers that cannot be there; the longest idle first."""
        self._changed: set[Key] = set()
        """Keys in memory that have learnt something since they were stored."""
        self._pool = ThreadPoolExecutor(self.workers, "eigenstream-bank") if self.workers > 1 else None

    def learn_many(
        self, keys: Sequence[Key] | NDArray[Any], rows: ArrayLike, timestamps: Any = None
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
        """
        X = self._checked(rows)
        names, codes = _factorized(keys)
        if len(codes) != len(X):
            raise ValueError(f"expected one key per row, got {len(codes)} keys and {len(X)} rows")
        if not len(X):
            return np.zeros((0, 0 if self.plan is None else self.plan.k))
        plan = self._planned(X)
        order = np.argsort(codes, kind="stable")
        counts = np.bincount(codes, minlength=len(names))
        gappy = set()
        if self.parameters["missing"] != "raise":
            gappy = set(np.unique(codes[np.isnan(X).any(axis=1)]).tolist())
        places = [self._place(name, i in gappy) for i, name in enumerate(names)]
        scores = np.zeros((len(X), plan.k), dtype=plan.dtype)
        ends = np.cumsum(counts)
        owned = [order[end - count : end] for end, count in zip(ends.tolist(), counts.tolist(), strict=True)]
        try:
            times = self._times(places, owned, timestamps)
        except ValueError:
            self._forget_new(names)
            raise
        with one_thread(), interrupts_deferred():
            changes = self._learn(places, owned, X, times, scores)
        self._calls += 1
        self.samples += len(X)
        self._changed.update(names)
        self._evict()
        if self.on_rank_change is not None:
            for i, change in changes:
                self.on_rank_change(names[i], change)
        return scores

    def model(self, key: Key) -> StreamModel:
        """The model of this key as a model of its own; a copy. Its position is the bank's."""
        tracker = restored(*self._state_of(key))
        model = StreamModel(**self.parameters)
        model.tracker, model.position_ = tracker, self.position_
        return model

    def keys(self) -> Iterator[Key]:
        """All keys, in memory or not."""
        yield from self._in_memory
        yield from self._stored - self._in_memory.keys()

    def __iter__(self) -> Iterator[Key]:
        return self.keys()

    def __len__(self) -> int:
        return len(self._stored | self._in_memory.keys())

    def __contains__(self, key: object) -> bool:
        return key in self._in_memory or key in self._stored

    def save(self, position: Any = None) -> None:
        """Write everything to the file, and a position in the source with it: all or nothing."""
        self._put(self._changed)
        self._changed.clear()
        self.position_ = position
        self.store.commit(
            {
                "parameters": plain(self.parameters, 0 if self.plan is None else self.plan.seed),
                "position": position,
                "samples": self.samples,
                "calls": self._calls,
                "width": None if self.plan is None else self.plan.width,
                "dtype": None if self.plan is None else np.dtype(self.plan.dtype).name,
            }
        )

    def close(self) -> None:
        """Let go of the file and of threads; what was not saved is gone."""
        if self._pool is not None:
            self._pool.shutdown()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def _agreed(self, given: dict[str, Any]) -> dict[str, Any]:
        """The parameters given, or those of the file, which must not differ."""
        before = self.store.fact("parameters")
        if before is None:
            check_words(DEFAULTS | given)
            return DEFAULTS | given
        for name, value in json.loads(json.dumps(plain(DEFAULTS | given, 0))).items():
            if name in given and before[name] != value:
                raise ValueError(
                    f"{self.store.path!r} was made with {name}={before[name]!r}, not {name}={value!r}: leave "
                    f"{name} out, or name another file"
                )
        return rebuilt_parameters(before)

    def _checked(self, rows: ArrayLike) -> Floats:
        X = np.asarray(rows)
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            raise ValueError(f"expected a table of numbers, got shape {X.shape} of {X.dtype}")
        own = np.float32 if X.dtype == np.float32 else np.float64
        X = np.ascontiguousarray(X, dtype=own if self.plan is None else self.plan.dtype)
        if self.plan is not None and X.shape[1] != self.plan.width:
            raise ValueError(f"expected rows of {self.plan.width} numbers, got {X.shape[1]}")
        if not squares_fit(X):
            allowed = np.isfinite(X) if self.parameters["missing"] == "raise" else ~np.isinf(X)
            if not allowed.all():
                row, column = np.argwhere(~allowed)[0]
                raise ValueError(
                    f"row {row}, column {column} is {X[row, column]}: leave out rows with missing values by "
                    "missing='skip', or fill them in by missing='impute'"
                )
            refuse_huge(X)
        return X

    def _planned(self, X: Floats) -> Plan:
        if self.plan is None:
            refuse_tiny(X, plan_for(self.parameters, X.shape[1], X.dtype.type).solver)
            self._make_plan(X.shape[1], X.dtype.type)
        assert self.plan is not None
        return self.plan

    def _make_plan(self, width: int, dtype: Any) -> None:
        plan = plan_for(self.parameters, width, dtype)
        self.plan, self._fleet = plan, Fleet(plan, self.parameters["scores"])

    def _place(self, key: Key, alone: bool) -> int | Tracker:
        """Where the model of this key is, in memory by now; ``alone``: it can no longer be in the fleet."""
        assert self.plan is not None
        place = self._in_memory.pop(key, None)
        if place is None:
            state = self.store.state(key) if key in self._stored else None
            place = Tracker(self.plan) if state is None else restored(*checkpoint.unpacked(state, str(key)))
        if isinstance(place, Tracker) and not alone and fits(place):
            place = self._fleet.add(place)
        elif alone and not isinstance(place, Tracker):
            place = self._fleet.remove(place)
        self._in_memory[key] = place  # behind all that were idle for longer
        return place

    def _forget_new(self, keys: list[Key]) -> None:
        """Forget models that were made for rows that were then refused."""
        for key in keys:
            place = self._in_memory[key]
            tracker = place if isinstance(place, Tracker) else self._fleet.tracker(place)
            if not tracker.time and key not in self._stored:
                del self._in_memory[key]
                if not isinstance(place, Tracker):
                    self._fleet.remove(place)

    def _times(self, places: list[int | Tracker], owned: list[Slots], timestamps: Any) -> list[Any]:
        """When the rows of each key came, checked before anything is learnt."""
        assert self.plan is not None
        if self.plan.seconds is None and timestamps is None:
            return [None] * len(owned)
        stamps = None if timestamps is None else np.asarray(timestamps)
        return [
            row_times(None if stamps is None else stamps[own], len(own), self.plan, _clock_of(place).latest)
            for place, own in zip(places, owned, strict=True)
        ]

    def _learn(
        self,
        places: list[int | Tracker],
        owned: list[Slots],
        X: Floats,
        times: list[Any],
        scores: Floats,
    ) -> list[tuple[int, RankChange]]:
        """Let all of them learn, parts of the fleet and single trackers each as a task of its own."""
        together = [i for i, place in enumerate(places) if not isinstance(place, Tracker)]

        def learn_part(part: list[int]) -> list[tuple[int, RankChange]]:
            slots = np.array([places[i] for i in part], dtype=np.intp)
            counts = np.array([len(owned[i]) for i in part])
            own = np.concatenate([owned[i] for i in part])
            found = np.zeros((len(own), scores.shape[1]), dtype=scores.dtype)
            changed = self._fleet.learn(slots, counts, X[own], found)
            scores[own] = found
            where = {int(slot): i for slot, i in zip(slots, part, strict=True)}
            return [(where[slot], change) for slot, change in changed]

        def learn_alone(i: int) -> list[tuple[int, RankChange]]:
            own, tracker = owned[i], places[i]
            assert isinstance(tracker, Tracker)
            how = self.parameters["missing"], self.parameters["scores"]
            found, changed = tracker.follow(X[own], None, *how, times[i])
            scores[own] = found
            return [(i, change) for change in changed]

        each = map if self._pool is None else self._pool.map
        size = max(min(PART, -(-len(together) // self.workers)), 1)
        parts = [together[start : start + size] for start in range(0, len(together), size)]
        alone = [i for i, place in enumerate(places) if isinstance(place, Tracker)]
        results = [*each(learn_part, parts), *each(learn_alone, alone)]
        return sorted((change for result in results for change in result), key=lambda one: one[0])

    def _evict(self) -> None:
        """Put the longest idle models into the file."""
        if self.max_models is None:
            return
        idle = list(islice(self._in_memory, max(len(self._in_memory) - self.max_models, 0)))
        self._put(key for key in idle if key in self._changed)
        for key in idle:
            place = self._in_memory.pop(key)
            if not isinstance(place, Tracker):
                self._fleet.remove(place)
            self._changed.discard(key)

    def _put(self, keys: Any) -> None:
        chosen = list(keys)
        self.store.put(map(self._packed, chosen), self._calls)
        self._stored.update(chosen)

    def _packed(self, key: Key) -> tuple[Entry, bytes]:
        arrays, document = self._state_of(key)
        return Entry(key, document["time"], document["decision"][2]), checkpoint.packed(arrays, document)

    def _state_of(self, key: Key) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        place = self._in_memory.get(key)
        if place is not None:
            return stored(place if isinstance(place, Tracker) else self._fleet.tracker(place))
        state = self.store.state(key) if key in self._stored else None
        if state is None:
            raise KeyError(f"there is no model with the key {key!r}")
        return checkpoint.unpacked(state, str(key))


def _clock_of(place: int | Tracker) -> Clock:
    """When the rows of a model came; of those in the fleet nobody asks."""
    return place.clock if isinstance(place, Tracker) else Clock()


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _factorized(keys: Sequence[Key] | NDArray[Any]) -> tuple[list[Key], NDArray[Any]]:
    """The different keys in the order in which they come, and for each row which of them it has."""
    each = keys.tolist() if isinstance(keys, np.ndarray) else list(keys)
    index = {key: i for i, key in enumerate(dict.fromkeys(each))}
    for key in index:
        if type(key) not in (str, int) or (type(key) is int and not -(2**63) <= key < 2**63):
            raise TypeError(f"keys must be strings or whole numbers of 64 bits, got {key!r}")
    # Sorting 16-bit numbers takes a tenth of the time.
    dtype = np.uint16 if len(index) <= 2**16 else np.int64
    return list(index), np.fromiter(map(index.__getitem__, each), dtype=dtype, count=len(each))
