"""The part that a bank of models and a bank of monitors share: keys, one file, and what is saved in it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..io.durations import is_duration
from ..model import RankChange
from ..model.whole_calls import Callers, whole_call
from .bank_file import Key, PathLike, damaged
from .store import Entry, Store

Made = TypeVar("Made")
NONSENSE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)
"""Errors of making a model or a plan of values that no bank has written."""
# Models. Their bytes take some 0.4 ms each to make: few enough to be made for nothing, enough for a mean.
TIMED = 8
"""Models that `KeyedModels.seconds_to_save` times."""


class KeyedModels(ABC):
    """Abstract: models by key, the longest idle of them in a file; parameters as of `Bank`.

    Attributes
    ----------
    samples
        Rows that have come, of all keys.
    calls
        Number of calls that have brought rows.
    """

    parameters: dict[str, Any]
    features: list[str] | None

    def __init__(self, path: PathLike | Store | None, max_models: int | None, fresh: bool) -> None:
        refuse_count("max_models", max_models)
        self.max_models = max_models
        self.on_rank_change: Callable[[Key, RankChange], object] | None = None
        given = path if path is not None else ":memory:"
        self.store = given if isinstance(given, Store) else Store(given, fresh=fresh)
        self.position_: Any = self.store.fact("position")
        self.samples: int = self.store.fact("samples")
        self.calls: int = self.store.fact("calls")
        self._changed: dict[Key, int] = {}
        """Keys in memory that have learnt since they were stored, with the number of their last call."""
        self._callers = Callers()
        self._undo: list[Callable[[], object]] = []
        """Steps that take back what the present call has done so far, the last one first."""

    def _reverting(self) -> Callable[[], None]:
        self._undo = []
        return self._take_back

    def _take_back(self) -> None:
        while self._undo:
            self._undo.pop()()

    @property
    def needs_timestamps(self) -> bool:
        """True if the half-life is a duration, so that every row needs its time."""
        return is_duration(self.parameters["half_life"])

    @property
    @abstractmethod
    def width(self) -> int | None:
        """Numbers per row; None before the first row."""

    @abstractmethod
    def _facts(self) -> dict[str, Any]:
        """Facts for the file besides position, samples and width, as values that JSON can hold."""

    @abstractmethod
    def _packed(self, key: Key) -> tuple[Entry, bytes]:
        """The entry and the bytes of a model that is in memory."""

    @abstractmethod
    def _rank(self, key: Key) -> int:
        """The rank of a model that is in memory."""

    def keys(self) -> Iterator[Key]:
        """All keys, in memory or not."""
        yield from self.store.models.keys() | self._changed.keys()

    def __iter__(self) -> Iterator[Key]:
        return self.keys()

    def __len__(self) -> int:
        return len(self.store.models.keys() | self._changed.keys())

    def __contains__(self, key: object) -> bool:
        return key in self.store.models or key in self._changed

    def ranks(self) -> Counter[int]:
        """Number of keys at each rank, as of the last looks of their models."""
        kept = Counter(one.rank for key, one in self.store.models.items() if key not in self._changed)
        return kept + Counter(self._rank(key) for key in self._changed)

    def used_since(self, calls: int) -> int:
        """Number of keys that rows have come for after this many calls (`calls`)."""
        last = {key: stored.used for key, stored in self.store.models.items()} | self._changed
        return sum(call > calls for call in last.values())

    @property
    def interrupted(self) -> Callable[[], bool] | None:
        """A function that is asked after each key, or some hundred keys, of a call that learns or saves.

        Once it answers True, the call raises `CallInterrupted`: nothing was learnt, or nothing was saved.
        """
        return self.store.interrupted

    @interrupted.setter
    def interrupted(self, asked: Callable[[], bool] | None) -> None:
        self.store.interrupted = asked

    def seconds_to_save(self) -> float:
        """Time that a `save` would take now, by that of a few models; 0 if nothing has changed."""
        some = list(islice(self._changed, TIMED))
        began = time.monotonic()
        for key in some:
            self._packed(key)
        return (time.monotonic() - began) / max(len(some), 1) * len(self._changed)

    @whole_call
    def save(self, position: Any = None) -> None:
        """Write everything to the file, and a position in the source with it: all or nothing.

        After an error of the disk the bank goes on, and the next save writes everything.
        """
        facts = {"position": position, "samples": self.samples, "width": self.width, "calls": self.calls}
        self._put(self._changed)
        self.store.commit(self._facts() | facts)
        self.position_, self._changed = position, {}

    def _learnt(self, keys: Iterable[Key]) -> None:
        """Note that the present call has brought rows for these keys."""
        calls, own = self.calls, list(keys)
        before = {key: self._changed.get(key) for key in own}

        def take_back() -> None:
            self.calls = calls
            for key, call in before.items():
                if call is None:
                    self._changed.pop(key, None)
                else:
                    self._changed[key] = call

        self._undo.append(take_back)
        self.calls += 1
        self._changed.update(dict.fromkeys(own, self.calls))

    def _put_away(self, keys: list[Key]) -> None:
        """Write changed models of these keys, which leave memory; durable with the next `save`."""
        changed = {key: self._changed[key] for key in keys if key in self._changed}
        before = {key: self.store.models.get(key) for key in changed}
        self._undo.append(lambda: self.store.put_back(before))
        self._undo.append(lambda: self._changed.update(changed))
        self._put(changed)
        for key in changed:
            del self._changed[key]

    def _put(self, keys: dict[Key, int]) -> None:
        self.store.put((*self._packed(key), call) for key, call in keys.items())

    def _of_file(self, make: Callable[[], Made]) -> Made:
        """Call a function that reads the file; name the file in the error if its content is damaged."""
        try:
            return make()
        except NONSENSE as error:
            damaged(self.store.path, repr(error))

    def _state(self, key: Key) -> tuple[bytes, str] | None:
        """The stored model of a key, and its name for messages; None if there is none."""
        state = self.store.state(key)
        return None if state is None else (state, f"{self.store.path}, key {key}")

    def close(self) -> None:
        """Close the file; what was not saved is lost."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def refuse_count(name: str, number: int | None) -> None:
    """Raise ValueError unless a parameter is None or a whole number of at least 1."""
    if number is not None and (not isinstance(number, int) or number < 1):
        raise ValueError(f"{name} must be None or a whole number of at least 1, got {number!r}")


def factorized(keys: Sequence[Key] | NDArray[Any]) -> tuple[list[Key], NDArray[Any]]:
    """The distinct keys in order of appearance, and the index of each row's key among them."""
    each = keys.tolist() if isinstance(keys, np.ndarray) else list(keys)
    index = {key: i for i, key in enumerate(dict.fromkeys(each))}
    for key in index:
        if type(key) not in (str, int) or (type(key) is int and not -(2**63) <= key < 2**63):
            raise TypeError(f"keys must be strings or whole numbers of 64 bits, got {key!r}")
        if type(key) is str and not key.isascii() and key.encode(errors="replace").decode() != key:
            raise ValueError(f"keys must be text that UTF-8 can write, got {key!r}")
    # Sorting 16-bit numbers takes a tenth of the time.
    dtype = np.uint16 if len(index) <= 2**16 else np.int64
    return list(index), np.fromiter(map(index.__getitem__, each), dtype=dtype, count=len(each))


def grouped(names: list[Key], codes: NDArray[Any]) -> dict[Key, NDArray[np.intp]]:
    """The rows of each key, in order, given the result of `factorized`.

    Examples
    --------
    >>> grouped(*factorized(["b", "a", "b"]))
    {'b': array([0, 2]), 'a': array([1])}
    """
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))
    return dict(zip(names, np.split(np.argsort(codes, kind="stable"), ends[:-1]), strict=True))
