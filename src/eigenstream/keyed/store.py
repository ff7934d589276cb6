"""Models by key in one file; a crash loses only what was written since the last commit.

A model is the bytes that `eigenstream.io.checkpoint.packed` makes of it: nothing in the file is executed.
`eigenstream.keyed.bank_file` describes the file.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import Any, NamedTuple

import msgspec

from .bank_file import SMALL, START, Commit, Facts, Key, PathLike, Stored, opened, read_commit, read_state
from .bank_file import is_bank as is_bank
from .bank_writer import Writer, identity


class CallInterrupted(Exception):
    """A call was ended by `interrupted` of a bank; the bank is as it was before the call."""


class Entry(NamedTuple):
    """One model of a bank: the facts that are known without reading it."""

    key: str | int
    samples: int
    rank: int


class Store:
    """The file of a bank: read without a lock, locked against other writers from the first write on.

    It is read as it was when it was opened, also while another process goes on writing.

    Parameters
    ----------
    path
        The file; ``:memory:`` is none. A new one appears with its first commit.
    fresh
        True begins anew: the first commit replaces an existing file.

    Raises
    ------
    ValueError
        If the file is something else, damaged, or of another version.
    """

    def __init__(self, path: PathLike, *, fresh: bool = False) -> None:
        self.path = os.fspath(path)
        self.models: dict[Key, Stored] = {}
        """Everything that is stored, whether or not it has been committed."""
        self._changed: dict[Key, None] = {}
        """Keys that were stored since the last commit."""
        self._facts = Facts()
        self._commit: Commit | None = None
        """The commit that was read."""
        self._seen: object = None
        self._handle: int | None = None
        """The file for reading, until there is a writer."""
        self._writer: Writer | None = None
        self._memory: dict[int, bytes] = {}
        """States of a store without a file, each by a number of its own."""
        self._numbers = count(START)
        self._spared = 0
        """Bytes to spare when a smaller file could not be made: it is tried again with twice as many."""
        self._closed = False
        self.interrupted: Callable[[], bool] | None = None
        """Asked after each model that is written; True ends the call with `CallInterrupted`."""
        if self.path != ":memory:":
            self._open(fresh)

    def _open(self, fresh: bool) -> None:
        try:
            self._handle = opened(self.path)
        except FileNotFoundError:
            return
        try:
            self._seen = identity(self._handle)
            if os.fstat(self._handle).st_size and not (fresh and is_bank(self.path)):
                self._commit = read_commit(self._handle, self.path)
                self._facts, self.models = self._commit.facts, dict(self._commit.models)
        except BaseException:
            self.close()
            raise

    @classmethod
    def copied(cls, path: PathLike, origin: PathLike) -> Store:
        """A store that begins with everything in another file, which stays as it is.

        A file at ``path`` stays until the first commit, which replaces it.
        """
        before, store = cls(origin), cls(path, fresh=True)
        try:
            store.put(
                (Entry(one.key, one.samples, one.rank), before._read(one), one.used)
                for one in before._by_use()
            )
            store._facts = before._facts
        except BaseException:
            store.close()
            raise
        finally:
            before.close()
        return store

    def fact(self, name: str) -> Any:
        """The fact that `commit` wrote under this name; None, or 0, if there is none."""
        return getattr(self._facts, name)

    def state(self, key: Key) -> bytes | None:
        """The stored model of this key."""
        stored = self.models.get(key)
        return None if stored is None else self._read(stored)

    def entries(self) -> Iterator[Entry]:
        """All stored models, the last used first."""
        for stored in self._by_use():
            yield Entry(stored.key, stored.samples, stored.rank)

    def put(self, models: Iterable[tuple[Entry, bytes, int]]) -> None:
        """Write models, each with the number of its last call; they are durable with the next `commit`."""
        stored = list[tuple[Entry, int, int, int]]()

        def states() -> Iterator[bytes]:
            for entry, state, used in models:
                self.go_on()
                stored.append((entry, used, len(state), zlib.crc32(state)))
                yield state

        offsets = self._append(states())
        placed = {
            entry.key: Stored(*entry, used, offset, length, checksum)
            for (entry, used, length, checksum), offset in zip(stored, offsets, strict=True)
        }
        self._changed.update(dict.fromkeys(placed))
        self.models.update(placed)

    def put_back(self, models: Mapping[Key, Stored | None]) -> None:
        """Go back to what `models` held of these keys before the last `put`; None is nothing."""
        for key, stored in models.items():
            if stored is None:
                self.models.pop(key, None)
            else:
                self.models[key] = stored

    def go_on(self) -> None:
        """Raise `CallInterrupted` if somebody wants the present call to end."""
        if self.interrupted is not None and self.interrupted():
            raise CallInterrupted

    def commit(self, facts: Mapping[str, Any]) -> None:
        """Make everything written so far durable, and these facts with it: all or nothing."""
        new = msgspec.structs.replace(self._facts, **facts)
        if self.path != ":memory:":
            writer = self._writing()
            if writer.is_sound:
                writer.commit(new, self.models, self._changed)
                self._make_smaller(writer, new)
            else:
                self._write_anew(writer, new)
        self._facts, self._changed = new, {}

    def close(self) -> None:
        """Close the file; what was not committed is lost."""
        self._closed = True
        self._close_reading()
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.close()

    def _close_reading(self) -> None:
        if self._handle is not None:
            handle, self._handle = self._handle, None
            os.close(handle)

    def __del__(self) -> None:
        if hasattr(self, "_closed"):
            self.close()

    def _by_use(self) -> list[Stored]:
        """All models, the last used first, in an order that does not depend on when they were written."""
        return sorted(
            self.models.values(),
            key=lambda stored: (-stored.used, isinstance(stored.key, str), stored.key),
        )

    def _read(self, stored: Stored) -> bytes:
        if self.path == ":memory:":
            return self._memory[stored.offset]
        handle = self._handle if self._writer is None else self._writer.handle
        if handle is None:
            raise ValueError(f"{self.path!r} is closed: open the bank again")
        return read_state(handle, stored, self.path)

    def _each_read(self, models: Iterable[Stored]) -> Iterator[bytes]:
        for stored in models:
            self.go_on()
            yield self._read(stored)

    def _append(self, states: Iterator[bytes]) -> list[int]:
        if self.path != ":memory:":
            return self._writing().append(states, self.models)
        if len(self._memory) > 2 * len(self.models):  # the models before the last call are needed no more
            self._memory = {stored.offset: self._memory[stored.offset] for stored in self.models.values()}
        added = dict(zip(self._numbers, states, strict=False))
        self._memory.update(added)
        return list(added)

    def _writing(self) -> Writer:
        """The writer of the file, which the first write makes."""
        if self._closed:
            raise ValueError(f"{self.path!r} is closed: open the bank again")
        if self._writer is None:
            self._writer = Writer(self.path, self._seen, self._commit)
            self._close_reading()
        if not self._writer.is_own:
            raise RuntimeError(
                f"{self.path} is written by the process that opened it, not by one that was forked from it: "
                "open a bank of another file here"
            )
        return self._writer

    def _make_smaller(self, writer: Writer, facts: Facts) -> None:
        """Write a new file once more bytes are needed no longer than are needed; the old one is as good."""
        needed = sum(stored.length for stored in self.models.values())
        spare = writer.size - needed
        if spare > max(needed + SMALL, 2 * self._spared):
            try:
                self._write_anew(writer, facts)
                self._spared = 0
            except (OSError, CallInterrupted):
                self._spared = spare

    def _write_anew(self, old: Writer, facts: Facts) -> None:
        """Write everything that is needed to a new file, which takes the place of the old one."""
        new = Writer(self.path, self._seen, instead=old if old.is_in_place else None)
        try:
            models = self._by_use()
            offsets = new.append(self._each_read(models), {})
            moved = {
                stored.key: msgspec.structs.replace(stored, offset=offset)
                for stored, offset in zip(models, offsets, strict=True)
            }
            new.commit(facts, moved, moved)
        finally:
            if new.aside is not None:
                new.close()
            else:  # it is in place, even if that may not be durable
                self._writer, self.models = new, moved
                old.close()
