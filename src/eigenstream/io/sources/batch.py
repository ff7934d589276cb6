"""What a source hands out: batches of rows, and the position where each of them ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...array_types import Floats as Floats

Texts = NDArray[np.object_]
"""Cells of columns that are kept as text: a row each."""
Place = dict[str, Any]
"""Where reading goes on, in a reader's own terms; JSON can hold it."""

CELLS = 2**22
"""Numbers that are held at a time, unless asked otherwise."""


class Hint(NamedTuple):
    """An option that helps: its name in `sources.open`, a value, and what it does with that."""

    option: str
    value: str | None
    effect: str

    def __str__(self) -> str:
        return f"{self.option}{'' if self.value is None else f'={self.value!r}'} {self.effect}"


CHOOSE = Hint("columns", None, "chooses the columns to read")
NO_TEXT = Hint("exclude", "text", "leaves out columns without numbers")
SKIP = Hint("on_bad_row", "skip", "leaves such rows out")


class SourceError(ValueError):
    """A source that cannot be read (on): says where and why, and in `hints` which options help."""

    def __init__(self, what: str, *hints: Hint) -> None:
        super().__init__(f"{what} ({'; '.join(map(str, hints))})" if hints else what)
        self.what, self.hints = what, hints


class BadValue(NamedTuple):
    """Why a row cannot be used."""

    row: int
    """Which row of its chunk."""
    where: str
    """Line, column and the like."""
    what: str
    hints: tuple[Hint, ...] = ()


class Chunk(NamedTuple):
    """Rows as a reader found them."""

    rows: Floats
    """C-contiguous, of the reader's width; NaN where a value is missing."""
    numbers: NDArray[np.int64]
    """The place of each in the source: rows of data counted from 0."""
    bad: list[BadValue] = []  # noqa: RUF012 - never changed
    """Rows that could not be understood; their numbers mean nothing."""
    texts: Texts | None = None
    """The cells of columns that are kept, where there are any."""
    times: NDArray[np.float64] | None = None
    """When each row was taken, in seconds since 1970, where that is known."""

    def without(self, rows: list[int]) -> Chunk:
        """The rows but for these, none of which is bad."""
        texts = None if self.texts is None else np.delete(self.texts, rows, axis=0)
        times = None if self.times is None else np.delete(self.times, rows)
        return Chunk(np.delete(self.rows, rows, axis=0), np.delete(self.numbers, rows), [], texts, times)


def texts_of(rows: list[list[str]], width: int) -> Texts:
    """Texts as an array, a row each."""
    texts = np.empty((len(rows), width), dtype=object)
    texts[:] = rows
    return texts


@dataclass(frozen=True)
class Batch:
    """Rows one after the other: up to a multiple of `batch_rows`, or what had come when somebody waited."""

    rows: Floats
    numbers: NDArray[np.int64]
    """Which rows of the source these are, counted from 0; rows that were left out are missing."""
    count: int
    """Rows handed out so far, these included."""
    skipped: int
    """Rows left out so far."""
    locate: Callable[[], Place]
    texts: Texts | None = None
    """The cells of columns that are kept, as text, where there are any."""
    times: NDArray[np.float64] | None = None
    """When each row was taken, in seconds since 1970, where a column says so."""
    share: float | None = None
    """Share of the source that has been read with these rows, where it is known."""
    keys: list[str] | None = None
    """Key of each row, where a column holds it."""

    @cached_property
    def position(self) -> dict[str, Any]:
        """Where the source goes on after this batch, for `sources.open`; JSON can hold it."""
        return {"rows": self.count, "skipped": self.skipped, **self.locate()}


class Reader(ABC):
    """One kind of source: rows in order. A subclass sets `name` and `width` and says how to `take` rows.

    That is enough to read. To continue from a position it also says how to `go_to` a place; what `place`
    returns by default, the number of the next row, suits a source where rows have numbers.
    """

    kind = "custom"
    """For messages: the kind of source."""
    name: str
    """For messages: a file name, or "standard input"."""
    width: int
    """Numbers in a row that is handed out."""
    full: int = 0
    """How many columns there are, chosen or not (0: `width`): reading a row takes memory for all of them."""
    names: list[str] | None = None
    """Of the columns chosen."""
    kept: Sequence[str] = ()
    """What the columns are called that are handed out as text."""
    live = False
    """Whether rows come as they happen."""
    unit = "rows"
    """What `behind` counts in."""
    total: int | None = None
    """How many rows there are, where that is known."""
    row = 0
    """The number of the next row; `take` and `go_to` move it."""
    files: Sequence[Path] = ()
    """The files that it reads, where it reads files."""
    lasts = True
    """Whether it can be read again: not what comes through a pipe."""

    @abstractmethod
    def take(self, count: int) -> Chunk | None:
        """At most so many rows from here on, at least one; None at the end."""

    def ready(self, seconds: float) -> bool:
        """Whether `take` has something without waiting any longer; waits so many seconds at most."""
        return True

    def pass_over(self, count: int) -> None:
        """Leave out so many rows without looking at them."""
        while count > 0:
            chunk = self.take(min(count, 1024))
            if chunk is None:
                return
            count -= len(chunk.rows)

    def place(self) -> Callable[[], Place]:
        """The place reached, to be worked out if anyone asks; it holds at least ``row``."""
        row = self.row
        return lambda: {"row": row}

    def go_to(self, place: Place) -> None:
        """Continue from a place; a `SourceError` if what lies before it is not what it was."""
        raise SourceError(f"{self.name} cannot be continued: start afresh without resuming")

    def where(self, chunk: Chunk, row: int, column: int) -> str:
        """The place of one value, for a message."""
        named = f" ({self.names[column]})" if self.names else ""
        return f"{self.where_row(chunk, row)}, column {column}{named}"

    def where_row(self, chunk: Chunk, row: int) -> str:
        """The place of one row, for a message."""
        return f"{self.name}, row {int(chunk.numbers[row])}"

    def notes(self) -> list[str]:
        """What a person may want to know about how the source is read."""
        return []

    def files_read(self) -> list[tuple[Path, int, bool]]:
        """The files that have been read, how many bytes of each, and whether these had rows."""
        return [(path, path.stat().st_size, self.row > 0) for path in self.files]

    def progress(self) -> float | None:
        """The share that has been read, where it can be told."""
        return None

    def behind(self) -> int | None:
        """How much waits to be read, where it can be told."""
        return None

    def close(self) -> None:  # noqa: B027
        """Let go of files."""
