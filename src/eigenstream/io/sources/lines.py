"""Whole lines of a stream of bytes, and where they end."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .batch import SourceError

BLOCK = 1 << 20
"""Bytes read at a time: with fewer, calls take time; with more, what is made of them leaves the cache."""
LONGEST = 1 << 25
"""Bytes a line may have; more is taken for a file that has no lines."""
PRINT = 4096
"""Bytes at the beginning, and before the place reached, by which a file is recognised."""

Read = Callable[[int], bytes]
Ready = Callable[[float], bool]


class Piece(NamedTuple):
    """Whole lines, one after the other; only the last line of a source may lack its line feed."""

    data: bytes
    ends: NDArray[np.int64]
    """Where each line ends in `data`."""
    numbers: NDArray[np.int64]
    """Of the lines, counted from 1."""

    def __len__(self) -> int:
        return len(self.ends)

    def lines(self) -> list[bytes]:
        """One by one, with their ends."""
        starts = [0, *self.ends[:-1].tolist()]
        return [self.data[start:end] for start, end in zip(starts, self.ends.tolist(), strict=True)]

    def part(self, start: int, stop: int) -> Piece:
        """Some of the lines."""
        first = int(self.ends[start - 1]) if start else 0
        data = self.data[first : int(self.ends[stop - 1])]
        return Piece(data, self.ends[start:stop] - first, self.numbers[start:stop])

    def line(self, number: int) -> bytes:
        """One of them, with its end."""
        return self.data[int(self.ends[number - 1]) if number else 0 : int(self.ends[number])]

    def starts(self) -> NDArray[np.uint8]:
        """The first byte of each line."""
        return np.frombuffer(self.data, dtype=np.uint8)[self._firsts()]

    def has_any(self, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which lines have any of the bytes that are wanted (256)."""
        found: NDArray[np.bool_] = np.logical_or.reduceat(
            wanted[np.frombuffer(self.data, dtype=np.uint8)], self._firsts()
        )
        return found

    def occurrences(self, byte: bytes) -> NDArray[np.int64]:
        """How often a byte is in each line."""
        found = np.frombuffer(self.data, dtype=np.uint8) == byte[0]
        return np.asarray(np.add.reduceat(found, self._firsts(), dtype=np.int64))

    def without(self, left_out: NDArray[np.bool_]) -> Piece:
        """The lines that are not left out."""
        if not left_out.any():
            return self
        kept, lengths = ~left_out, np.diff(self.ends, prepend=0)
        data = np.frombuffer(self.data, dtype=np.uint8)[np.repeat(kept, lengths)].tobytes()
        return Piece(data, np.cumsum(lengths[kept]), self.numbers[kept])

    def _firsts(self) -> NDArray[np.int64]:
        """Where each line begins."""
        return np.concatenate((np.zeros(1, dtype=np.int64), self.ends[:-1]))


NOTHING = Piece(b"", np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


class Lines:
    """Lines one after the other; `offset` bytes in `line` lines have been taken.

    Parameters
    ----------
    read
        Returns the next bytes, waiting for them; none at the end.
    name
        For messages.
    growing
        Whether a last line without a line feed is still being written, and must be left alone.
    digest
        Whether to keep a hash of all bytes taken, where they cannot be read again to check a position.
    ready
        Whether `read` has something, for sources where bytes come as they happen. Such lines are handed out
        as they come.
    """

    def __init__(
        self,
        read: Read,
        name: str,
        *,
        growing: bool = False,
        digest: bool = False,
        ready: Ready | None = None,
    ) -> None:
        self.read, self.name, self.growing, self._ready = read, name, growing, ready
        self.offset = self.line = 0
        self.head = self.tail = b""
        """The first bytes taken, and the last: `PRINT` of each."""
        self.digest = hashlib.sha256() if digest else None
        """SHA-256 of all bytes taken."""
        self._data, self._ends, self._next = b"", np.zeros(0, dtype=np.int64), 0
        self._start: list[bytes] = []
        """The pieces of a line whose end has not come yet."""
        self._ended = False

    def take(self, count: int) -> Piece:
        """At most so many of the next lines, out of one block; none at the end."""
        taken = self.coming(count) if count > 0 else NOTHING
        self.line += len(taken)
        self._next += len(taken)
        self._remember(taken.data)
        return taken

    def ready(self, seconds: float) -> bool:
        """Whether there is a line, or the end, without waiting longer than this."""
        until = time.monotonic() + seconds
        while self._ready is not None and self._next == len(self._ends) and not self._ended:
            if not self._ready(max(until - time.monotonic(), 0.0)):
                return False
            self._fetch()
        return True

    def coming(self, count: int) -> Piece:
        """The lines that `take` would return, which stay to come."""
        while self._next == len(self._ends) and not self._ended:
            self._fetch()
        return self._cut(count) if self._next < len(self._ends) else NOTHING

    def jump(self, line: int, offset: int, head: bytes, tail: bytes) -> None:
        """Go on from here, after so many lines and bytes, of which these are the first and the last."""
        self.line, self.offset, self.head, self.tail = line, offset, head, tail
        self._data, self._ends, self._next = b"", np.zeros(0, dtype=np.int64), 0
        self._start, self._ended = [], False

    def fingerprint(self) -> Callable[[], str]:
        """By which what was taken is recognised, worked out when asked."""
        if self.digest is not None:
            return self.digest.copy().hexdigest
        head, tail = self.head, self.tail
        return lambda: fingerprint(head, tail)

    def _cut(self, count: int) -> Piece:
        """Lines out of the block at hand."""
        start = int(self._ends[self._next - 1]) if self._next else 0
        ends = self._ends[self._next : self._next + count] - start
        numbers = np.arange(self.line + 1, self.line + 1 + len(ends))
        return Piece(self._data[start : start + int(ends[-1])], ends, numbers)

    def _remember(self, data: bytes) -> None:
        self.offset += len(data)
        if len(self.head) < PRINT:
            self.head = (self.head + data[:PRINT])[:PRINT]
        self.tail = data[-PRINT:] if len(data) >= PRINT else (self.tail + data)[-PRINT:]
        if self.digest is not None:
            self.digest.update(data)

    def _fetch(self) -> None:
        """Read a block, when all lines before have been taken."""
        block = self.read(BLOCK)
        if not block:
            self._ended = True
            rest, self._start = b"".join(self._start), []
            if rest and not self.growing:  # whoever is still writing has not finished this line
                self._data, self._ends, self._next = rest, np.array([len(rest)]), 0
            return
        ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == 10) + 1
        before = sum(map(len, self._start))
        self._refuse_endless_line(before + (int(ends[0]) if len(ends) else len(block)))
        if not len(ends):
            self._start.append(block)
            return
        rest = block[ends[-1] :]
        # The lines alone, so that taking all of them copies nothing.
        self._data = b"".join((*self._start, memoryview(block)[: ends[-1]]))
        self._ends, self._next = ends + before, 0
        self._start = [rest] if rest else []

    def _refuse_endless_line(self, length: int) -> None:
        if length > LONGEST:
            raise SourceError(
                f"{self.name}, line {self.line + 1}: longer than {LONGEST:,} bytes; is this a file of lines?"
            )


def fingerprint(head: bytes, tail: bytes) -> str:
    """A hash of the first and the last bytes."""
    digest = hashlib.sha256(head)
    digest.update(tail)
    return digest.hexdigest()
