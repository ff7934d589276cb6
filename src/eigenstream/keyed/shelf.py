"""The keys of a bank: those in its file, and those in memory that have changed since."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .store import Entry, Key, Store


class Shelf:
    """The keys of a bank, and the way of its models into the file.

    Parameters
    ----------
    store
        The file.
    packed
        Returns the entry and the bytes of a model that is in memory, given its key.
    """

    def __init__(self, store: Store, packed: Callable[[Key], tuple[Entry, bytes]]) -> None:
        self.store, self._packed = store, packed
        self.stored = {entry.key for entry in store.entries()}
        self.changed: set[Key] = set()
        """Keys in memory that have learnt something since they were stored."""
        self._calls: int = store.fact("calls") or 0

    def keys(self) -> Iterator[Key]:
        """All keys, in memory or not."""
        yield from self.stored | self.changed

    def __len__(self) -> int:
        return len(self.stored | self.changed)

    def __contains__(self, key: object) -> bool:
        return key in self.stored or key in self.changed

    def learnt(self, keys: Iterable[Key]) -> None:
        """Note that a call has brought rows for these keys."""
        self._calls += 1
        self.changed.update(keys)

    def unlearn(self, new: Iterable[Key]) -> None:
        """Go back to before a call that has failed: forget the keys that were new in it."""
        self.changed.difference_update(new)

    def take_back(self, keys: Iterable[Key], new: Iterable[Key]) -> None:
        """Go back to before `put_away`; what the file holds of these keys is written again, or dropped."""
        gone = set(new)
        self.changed.update(set(keys) - gone)
        self.store.drop(gone)
        self.stored -= gone

    def put_away(self, keys: Iterable[Key]) -> None:
        """Write changed models of these keys, which leave memory; durable with the next `save`."""
        leaving = list(keys)
        self._put(key for key in leaving if key in self.changed)
        self.changed.difference_update(leaving)

    def save(self, facts: dict[str, Any]) -> None:
        """Make everything durable, and these facts with it: all or nothing."""
        self._put(self.changed)
        self.changed.clear()
        self.store.commit(facts | {"calls": self._calls})

    def _put(self, keys: Iterable[Key]) -> None:
        chosen = list(keys)
        self.store.put(map(self._packed, chosen), self._calls)
        self.stored.update(chosen)
