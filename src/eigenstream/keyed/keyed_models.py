"""The part that a bank of models and a bank of monitors share: keys, one file, and what is saved in it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Self

from ..model import RankChange
from ..model.whole_calls import Callers
from .shelf import Shelf
from .store import Entry, Key, Store


class KeyedModels(ABC):
    """Abstract: models by key, the longest idle of them in a file.

    Parameters
    ----------
    path
        The file. If it exists, the bank goes on from what was last saved in it. None: no file.
    max_models
        Most models held in memory between two calls; None: all of them.
    fresh
        Begin anew: what is in the file stays until the first `save`, which replaces it.

    Attributes
    ----------
    on_rank_change
        Called with the key and the `RankChange` for each change, after the call that learnt it.
    position_
        The position in the source that the last `save` was given.
    samples
        Rows that have come, of all keys.
    """

    def __init__(self, path: str | os.PathLike[str] | None, max_models: int | None, fresh: bool) -> None:
        refuse_count("max_models", max_models)
        self.max_models = max_models
        self.on_rank_change: Callable[[Key, RankChange], object] | None = None
        self.store = Store(path if path is not None else ":memory:", fresh=fresh)
        self.position_: Any = self.store.fact("position")
        self.samples: int = self.store.fact("samples") or 0
        self._shelf = Shelf(self.store, self._packed)
        self.callers = Callers()
        self._undo: list[Callable[[], object]] = []
        """Steps that take back what the present call has done so far, the last one first."""

    def _reverting(self) -> Callable[[], None]:
        self._undo = []
        return self._take_back

    def _take_back(self) -> None:
        while self._undo:
            self._undo.pop()()

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

    def keys(self) -> Iterator[Key]:
        """All keys, in memory or not."""
        return self._shelf.keys()

    def __iter__(self) -> Iterator[Key]:
        return self.keys()

    def __len__(self) -> int:
        return len(self._shelf)

    def __contains__(self, key: object) -> bool:
        return key in self._shelf

    def save(self, position: Any = None) -> None:
        """Write everything to the file, and a position in the source with it: all or nothing."""
        self.position_ = position
        facts = {"position": position, "samples": self.samples, "width": self.width}
        self._shelf.save(self._facts() | facts)

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
