"""Whole lines of a stream of bytes, where they end, and the interface of their parsers."""

from __future__ import annotations

import hashlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .batch import Hint, SourceError
from .contents import BLOCK, Read, Ready, SeenBytes, fingerprint

LONGEST = 1 << 25
"""Most bytes of a line; a file with a longer one has no lines, and would be read into memory as a whole."""
WIDEST_TEXT = 2**20
"""Most columns of a text: a line of commas alone is refused before an object is made of each."""
FEW = 32
"""Lines that are parsed one by one instead of halved again to find the one that needs care."""


class Piece(NamedTuple):
    """Whole lines, one after the other; only the last line of a source may lack its line feed."""

    data: bytes
    ends: NDArray[np.int64]
    """End of each line in `data`."""
    numbers: NDArray[np.int64]
    """Number of each line, counted from 1."""

    def __len__(self) -> int:
        return len(self.ends)

    def lines(self) -> list[bytes]:
        """Return the lines one by one, with their line feeds."""
        starts = [0, *self.ends[:-1].tolist()]
        return [self.data[start:end] for start, end in zip(starts, self.ends.tolist(), strict=True)]

    def part(self, start: int, stop: int) -> Piece:
        """Return the lines from ``start`` to ``stop``."""
        first = int(self.ends[start - 1]) if start else 0
        data = self.data[first : int(self.ends[stop - 1])]
        return Piece(data, self.ends[start:stop] - first, self.numbers[start:stop])

    def starts(self) -> NDArray[np.uint8]:
        """Return the first byte of each line."""
        return np.frombuffer(self.data, dtype=np.uint8)[self._firsts()]

    def has_any(self, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return True for each line that has one of the bytes marked in ``wanted`` (256)."""
        found: NDArray[np.bool_] = np.logical_or.reduceat(
            wanted[np.frombuffer(self.data, dtype=np.uint8)], self._firsts()
        )
        return found

    def occurrences(self, byte: bytes) -> NDArray[np.int64]:
        """Count a byte in each line."""
        found = np.frombuffer(self.data, dtype=np.uint8) == byte[0]
        return np.asarray(np.add.reduceat(found, self._firsts(), dtype=np.int64))

    def without(self, left_out: NDArray[np.bool_]) -> Piece:
        """Return the lines that are not marked."""
        if not left_out.any():
            return self
        kept, lengths = ~left_out, np.diff(self.ends, prepend=0)
        data = np.frombuffer(self.data, dtype=np.uint8)[np.repeat(kept, lengths)].tobytes()
        return Piece(data, np.cumsum(lengths[kept]), self.numbers[kept])

    def _firsts(self) -> NDArray[np.int64]:
        """Return the start of each line."""
        return np.concatenate((np.zeros(1, dtype=np.int64), self.ends[:-1]))


def joined(first: Piece, second: Piece) -> Piece:
    """Return the lines of both; the first piece must end in a line feed."""
    ends = np.concatenate((first.ends, second.ends + len(first.data)))
    return Piece(first.data + second.data, ends, np.concatenate((first.numbers, second.numbers)))


NOTHING = Piece(b"", np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


class Lines:
    """Lines in order; `seen` holds the bytes and `line` the number of those that have been taken.

    Parameters
    ----------
    read
        Returns the next bytes, waiting for them; none at the end.
    name
        For messages.
    growing
        True leaves a last line without a line feed alone: it is still being written.
    digest
        True keeps a hash of all bytes taken, where they cannot be read again to check a position.
    ready
        Live input: waits for bytes, returns True if there are some. Lines are handed out as they come.
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
        self.line, self.seen = 0, SeenBytes()
        self.digest = hashlib.sha256() if digest else None
        """SHA-256 of all bytes taken."""
        self._data, self._ends, self._next = b"", np.zeros(0, dtype=np.int64), 0
        self._start: list[bytes] = []
        """Parts of a line whose end has not come yet."""
        self._ended = False

    def take(self, count: int) -> Piece:
        """Take the next lines of one block, at most ``count``; none at the end."""
        taken = self.coming(count) if count > 0 else NOTHING
        self.line += len(taken)
        self._next += len(taken)
        self.seen.add(taken.data)
        if self.digest is not None:
            self.digest.update(taken.data)
        return taken

    def pass_over(self, count: int) -> None:
        """Take ``count`` lines, or all that are left."""
        while count and (taken := len(self.take(count))):
            count -= taken

    def has_come(self) -> bool:
        """Return True if there is a line that need not be waited for."""
        return self._next < len(self._ends)

    def ready(self, seconds: float) -> bool:
        """Wait for a line or the end, ``seconds`` at most; return True if there is one."""
        until = time.monotonic() + seconds
        while self._ready is not None and self._next == len(self._ends) and not self._ended:
            if not self._ready(max(until - time.monotonic(), 0.0)):
                return False
            self._fetch()
        return True

    def coming(self, count: int) -> Piece:
        """Return the lines that `take` would return, without taking them."""
        while self._next == len(self._ends) and not self._ended:
            self._fetch()
        return self._cut(count) if self._next < len(self._ends) else NOTHING

    def jump(self, line: int, seen: SeenBytes) -> None:
        """Continue after these lines and bytes."""
        self.line, self.seen = line, seen
        self._data, self._ends, self._next = b"", np.zeros(0, dtype=np.int64), 0
        self._start, self._ended = [], False

    def fingerprint(self) -> Callable[[], str]:
        """Return a function that returns a hash of what has been taken up to now."""
        if self.digest is not None:
            return self.digest.copy().hexdigest
        head, tail = self.seen.head, self.seen.tail
        return lambda: fingerprint(head, tail)

    def _cut(self, count: int) -> Piece:
        """Cut lines out of the present block."""
        start = int(self._ends[self._next - 1]) if self._next else 0
        ends = self._ends[self._next : self._next + count] - start
        numbers = np.arange(self.line + 1, self.line + 1 + len(ends))
        return Piece(self._data[start : start + int(ends[-1])], ends, numbers)

    def _fetch(self) -> None:
        """Read the next block; all lines before it have been taken."""
        block = self.read(BLOCK)
        if not block:
            self._ended = True
            rest, self._start = b"".join(self._start), []
            if rest and not self.growing:  # a growing file has not got the end of this line yet
                self._data, self._ends, self._next = rest, np.array([len(rest)]), 0
            return
        ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == 10) + 1
        before = sum(map(len, self._start))
        if before + (int(ends[0]) if len(ends) else len(block)) > LONGEST:
            raise SourceError(
                f"{self.name}, line {self.line + 1}: longer than {LONGEST:,} bytes; is this a file of lines?"
            )
        if not len(ends):
            self._start.append(block)
            return
        rest = block[ends[-1] :]
        # The lines alone, so that taking all of them copies nothing.
        self._data = b"".join((*self._start, memoryview(block)[: ends[-1]]))
        self._ends, self._next = ends + before, 0
        self._start = [rest] if rest else []


class Complaint(NamedTuple):
    """Reason why a line cannot be parsed."""

    column: str
    what: str
    hints: tuple[Hint, ...] = ()


Parsed = tuple[NDArray[np.float64], list[tuple[int, Complaint]]]
"""Rows, and the numbers of bad lines with the reasons."""


class Parser(ABC):
    """Abstract: parses lines of numbers."""

    width: int
    full: int
    """Number of columns, chosen or not."""
    names: list[str] | None
    kept: Sequence[str] = ()
    """Names of the columns kept as text."""
    numbers: Sequence[int] = ()
    """Number of each chosen column."""
    unknown: Sequence[str] = ()
    """Names of columns that the model does not know."""
    titled: bool = False
    """True if the first line holds names."""

    @abstractmethod
    def quick(self, piece: Piece) -> NDArray[np.float64] | None:
        """Parse all lines at once; None if one of them needs care."""

    @abstractmethod
    def row(self, line: bytes) -> list[float] | Complaint:
        """Parse one line with care."""

    @abstractmethod
    def texts(self, line: bytes) -> list[str]:
        """Return the cells of one line kept as text, empty where it has none."""

    @abstractmethod
    def column(self, number: int) -> str:
        """Return the name of a column for a message."""

    def look(self, piece: Piece, row: int) -> None:  # noqa: B027
        """Look at lines before they are parsed, the first of which is this row of the source."""

    def notes(self) -> list[str]:
        """Return remarks for a person about how the lines are read."""
        return []

    def parsed(self, piece: Piece) -> Parsed:
        """Parse lines; halve them until most can be parsed at once."""
        quick = self.quick(piece)
        if quick is not None:
            return quick, []
        if len(piece) > FEW:
            middle = len(piece) // 2
            rows, bad = self.parsed(piece.part(0, middle))
            more, worse = self.parsed(piece.part(middle, len(piece)))
            return np.concatenate((rows, more)), bad + [(i + middle, what) for i, what in worse]
        rows, bad = np.zeros((len(piece), self.width)), []
        for i, line in enumerate(piece.lines()):
            found = self.row(line)
            if isinstance(found, Complaint):
                bad.append((i, found))
            else:
                rows[i] = found
        return rows, bad


def refuse_wide(columns: int, source: str, line: int) -> None:
    """Raise if a line has more columns than a text may have."""
    if columns > WIDEST_TEXT:
        raise SourceError(f"{source}, line {line}: more than {WIDEST_TEXT:,} columns, which text may have")


def is_text(word: str) -> bool:
    """Return True if a word holds no bytes that were no text: surrogates, or signs that replace them."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return "\N{REPLACEMENT CHARACTER}" not in word


def shortened(text: str) -> str:
    """Return the text for a message, cut to 40 characters."""
    return repr(text.strip() if len(text) <= 40 else text[:80].strip()[:37] + "...")
