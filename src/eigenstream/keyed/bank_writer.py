"""The one writer of a bank's file: its lock, states that are appended, and commits."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from ..io import checkpoint, files
from .bank_file import (
    CHAIN,
    LARGEST_RECORD,
    PAGE,
    SMALL,
    START,
    Commit,
    Facts,
    Key,
    Place,
    Stored,
    WrittenCommit,
    head,
    opened,
    slot_bytes,
    slots,
)

CHUNK = 1 << 20
"""Bytes that are gathered before they are written: a call of the system for each state would cost more."""


class Writer:
    """A file that is written, locked against other writers until it is closed.

    Parameters
    ----------
    path
        The file of the bank. A link is followed.
    seen
        What `identity` said of the file at ``path`` when the bank was opened; None if there was none.
    commit
        The last commit of the file, to go on from. None makes a new file, which takes the place of the one at
        ``path`` with its first commit.
    instead
        The writer of the file at ``path``, if the new file is to take its place.

    Raises
    ------
    RuntimeError
        If the file has another writer, or has been changed since it was opened.
    """

    def __init__(
        self, path: str, seen: object, commit: Commit | None = None, instead: Writer | None = None
    ) -> None:
        self.path, self._seen, self._instead, self._owner = path, seen, instead, os.getpid()
        self.target = Path(os.path.realpath(path))
        self.aside: Path | None = None
        """The path of a new file until its first commit puts it in its place."""
        self.number: int = 0 if instead is None else instead.number
        self._slot, self._chain = 1, list[int]()
        self._last: Place | None = None
        self._committed = self._end = START
        self._gaps: list[tuple[int, int]] = []
        """Free places behind the last commit, each from one offset to another."""
        self._until_gaps = SMALL
        """Bytes to append before it is worth looking for gaps."""
        self._in_doubt = False
        """True if a commit has failed, so that nobody knows whether it counts: nothing may be overwritten."""
        if commit is not None:
            self.number, self._slot, self._chain = commit.number, commit.slot, commit.chain
            self._last, self._committed, self._end = commit.place, commit.end, commit.end
        with self._named():
            if commit is None:
                self.aside = self.target.with_name(f".{self.target.name}.{secrets.token_hex(8)}.tmp")
                self.handle = os.open(self.aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            else:
                self.handle = self._locked(os.O_RDWR)
            try:
                self._prepare()
            except BaseException:
                self.close()
                raise

    def _prepare(self) -> None:
        if self.aside is not None:
            files.lock(self.handle)
            self._write(0, head())
            if self.target.exists():
                os.fchmod(self.handle, stat.S_IMODE(self.target.stat().st_mode))
        elif os.fstat(self.handle).st_size > self._end:
            os.ftruncate(self.handle, self._end)  # behind the last commit lies what a killed writer left
        files.remove_leftovers(self.target)

    @property
    def is_own(self) -> bool:
        """True in the process that opened it, False in one that was forked since."""
        return self._owner == os.getpid()

    @property
    def is_sound(self) -> bool:
        """True if a commit can be appended; otherwise only a new file can hold it."""
        return not self._in_doubt and (self.aside is not None or self.is_in_place)

    @property
    def is_in_place(self) -> bool:
        """True if this is the file at the path, not one that somebody has moved or removed."""
        return files.is_at(self.handle, self.target)

    @property
    def size(self) -> int:
        """Bytes of all states and records, needed or not."""
        return self._end - START

    def append(self, states: Iterable[bytes], models: Mapping[Key, Stored]) -> list[int]:
        """Write states where nothing is needed; returns their offsets. They count with the next `commit`.

        Parameters
        ----------
        states
            The bytes of models.
        models
            All models of the bank by now: their states are needed.
        """
        if self._until_gaps <= 0:
            self._find_gaps(models)
        places = deque[tuple[int, int | None]]([*self._gaps, (self._end, None)])
        start, stop = places.popleft()
        offsets, at, gathered = list[int](), start, bytearray()
        with self._named():
            for state in states:
                while stop is not None and at + len(state) > stop:
                    self._write(start, gathered)
                    start, stop = places.popleft()
                    at, gathered = start, bytearray()
                offsets.append(at)
                at += len(state)
                self._until_gaps -= len(state)
                gathered += state
                if len(gathered) >= CHUNK:
                    self._write(start, gathered)
                    start, gathered = at, bytearray()
            self._write(start, gathered)
        # Only now: after an error, the next call writes to the same places.
        self._gaps = (
            [] if stop is None else [(at, stop), *((one, two) for one, two in places if two is not None)]
        )
        self._end = at if stop is None else self._end
        return offsets

    def _find_gaps(self, models: Mapping[Key, Stored]) -> None:
        """Find places behind the last commit that no model needs: models that were put away several times.

        Without them, a bank that puts models away and is never saved would fill the disk.
        """
        needed = sorted(
            (stored.offset, stored.offset + stored.length)
            for stored in models.values()
            if stored.offset >= self._committed
        )
        starts = [self._committed, *(stop for _, stop in needed)]
        stops = [*(start for start, _ in needed), starts[-1]]
        self._gaps = [(start, stop) for start, stop in zip(starts, stops, strict=True) if start < stop]
        self._end = starts[-1]
        self._until_gaps = max(sum(stop - start for start, stop in needed) // 2, SMALL)

    def commit(self, facts: Facts, models: Mapping[Key, Stored], changed: Collection[Key]) -> None:
        """Make everything written so far durable, with these facts: all or nothing.

        Parameters
        ----------
        facts
            Facts of the bank.
        models
            All models of the bank.
        changed
            Keys of those that have changed since the last commit, or are gone.
        """
        # All models are listed anew once the records since then have listed as many: a bank is opened by
        # reading them all, and yet a commit of a few models costs little.
        whole = (
            self._last is None
            or len(self._chain) == CHAIN
            or sum(self._chain[:-1]) + len(changed) > len(models)
            or any(key not in models for key in changed)
        )
        listed = list(models.values()) if whole else [models[key] for key in changed]
        text = json.dumps(msgspec.structs.asdict(facts))
        written = msgspec.json.encode(WrittenCommit(None if whole else self._last, text, listed))
        if len(written) > LARGEST_RECORD:
            raise ValueError(f"{self.path!r} has too many models for one file: {len(models):,}")
        place = Place(self._end, len(written), hashlib.sha256(written).hexdigest())
        slot, number = 1 - self._slot, self.number + 1
        with self._named():
            if checkpoint.holds_address(facts.position):  # which is nobody else's business
                os.fchmod(self.handle, stat.S_IMODE(os.fstat(self.handle).st_mode) & 0o700)
            self._write(place.offset, written)
            self._in_doubt = True  # until the end: an error of syncing leaves open what is on the disk
            os.fsync(self.handle)
            self._write((1 + slot) * PAGE, slot_bytes(number, place))
            os.fsync(self.handle)
            if self.aside is not None:
                self._take_place()
        self.number, self._slot, self._last = number, slot, place
        self._chain = [len(listed)] if whole else [len(listed), *self._chain]
        self._committed = self._end = place.offset + place.length
        self._gaps, self._until_gaps = [], SMALL
        self._in_doubt = False

    def _take_place(self) -> None:
        """Let the new file appear, whole, under its name."""
        assert self.aside is not None
        if not self.target.exists():
            try:
                os.link(self.aside, self.target)  # refuses where a file has come to be meanwhile
            except FileExistsError:
                raise self._changed() from None
            except OSError:  # a file system without links
                os.replace(self.aside, self.target)
            else:
                with suppress(OSError):  # the next writer removes it
                    os.unlink(self.aside)
        elif self._instead is None:
            before = self._locked(os.O_RDONLY)
            os.replace(self.aside, self.target)
            os.close(before)
        elif self._instead.is_in_place:
            os.replace(self.aside, self.target)
        else:
            raise self._changed()
        self.aside = self._instead = None
        files.sync_folder(self.target.parent)

    def _locked(self, flags: int) -> int:
        """Open the file at the path and lock it; it must be as it was when the bank was opened."""
        handle = opened(self.target, flags)
        if not files.lock(handle):
            os.close(handle)
            raise RuntimeError(
                f"another process, or another bank of this one, is writing to {self.path}: wait until it has "
                "ended, or name another file"
            )
        if identity(handle) == self._seen and files.is_at(handle, self.target):
            return handle
        os.close(handle)
        raise self._changed()

    def _changed(self) -> RuntimeError:
        return RuntimeError(
            f"{self.path} has been saved or replaced by another process since it was opened here, and is "
            "left as it is: open it again, or name another file"
        )

    def _write(self, offset: int, content: bytes | bytearray) -> None:
        rest = memoryview(content)
        while rest:
            written = os.pwrite(self.handle, rest, offset)
            rest, offset = rest[written:], offset + written

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Errors of the system name the bank's file, also those of a file beside it."""
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.path) from None

    def close(self) -> None:
        """Unlock and close the file; a new one without a commit is removed."""
        if self.is_own:
            if self.aside is not None:
                with suppress(OSError):  # the next writer removes it
                    self.aside.unlink()
            files.unlock(self.handle)  # also for processes that were forked and still have it open
        os.close(self.handle)


def identity(handle: int) -> tuple[object, ...]:
    """The file behind a handle, and its commits: both tell whether it has been changed."""
    status = os.fstat(handle)
    return status.st_dev, status.st_ino, *slots(handle)
