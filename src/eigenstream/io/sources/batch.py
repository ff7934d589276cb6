"""Batches of rows, the position where each ends, and the interface of readers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...array_types import Floats as Floats
from ..files import printable

Texts = NDArray[np.object_]
"""Cells of the columns kept as text, one row per row of numbers."""
Place = dict[str, Any]
"""Point at which a reader continues, in its own terms; JSON can hold it."""

CELLS = 2**22
"""Numbers held at a time by default: 32 MiB of float64, so that very wide rows do not fill memory."""

SHOWN = 3
"""Names of columns that a note gives as examples."""


class Hint(NamedTuple):
    """Advice in an error: an option of `sources.open`, a value for it, and its effect."""

    option: str
    value: str | None
    effect: str

    def __str__(self) -> str:
        return f"{self.option}{'' if self.value is None else f'={self.value!r}'} {self.effect}"


CHOOSE = Hint("columns", None, "chooses the columns to read")
NO_TEXT = Hint("exclude", "text", "leaves out columns without numbers")
SKIP = Hint("on_bad_row", "skip", "leaves such rows out")


class SourceError(ValueError):
    """Error of reading: says where and why; `hints` holds the options that help.

    Names and values of a file may be among its words: nothing in them is left that a terminal would obey.
    """

    def __init__(self, what: str, *hints: Hint) -> None:
        what = printable(what)
        hints = tuple(hint._replace(value=hint.value and printable(hint.value)) for hint in hints)
        super().__init__(f"{what} ({'; '.join(map(str, hints))})" if hints else what)
        self.what, self.hints = what, hints


class BadValue(NamedTuple):
    """Reason why a row cannot be used."""

    row: int
    """Number of the row in its chunk."""
    where: str
    """Line and column, for a message."""
    what: str
    hints: tuple[Hint, ...] = ()


class Chunk(NamedTuple):
    """Rows as a reader parsed them."""

    rows: Floats
    """C-contiguous, of the reader's width; NaN where a value is missing."""
    numbers: NDArray[np.int64]
    """Number of each row in the source, counted from 0."""
    bad: list[BadValue] = []  # noqa: RUF012 - never changed
    """Unparsable rows; their values in `rows` are placeholders."""
    texts: Texts | None = None
    """Cells of the columns kept as text, where there are any."""
    times: NDArray[np.float64] | None = None
    """Time of each row in seconds since 1970, where it is known."""

    def only(self, rows: Any) -> Chunk:
        """Return these rows (a slice, a mask or numbers), none of which may be bad."""
        texts = None if self.texts is None else self.texts[rows]
        times = None if self.times is None else self.times[rows]
        return Chunk(self.rows[rows], self.numbers[rows], [], texts, times)


def joined(parts: Sequence[Chunk]) -> Chunk:
    """Return the rows of several chunks as one; none may be bad."""
    columns = zip(*((part.rows, part.numbers, part.texts, part.times) for part in parts), strict=True)
    joined: list[Any] = [None if one[0] is None else np.concatenate(one) for one in columns]
    return Chunk(joined[0], joined[1], [], *joined[2:])


def texts_of(rows: list[list[str]], width: int) -> Texts:
    """Convert lists of texts to an array with one row per list."""
    texts = np.empty((len(rows), width), dtype=object)
    texts[:] = rows
    return texts


@dataclass(frozen=True)
class Batch:
    """Rows in order: a full batch, or a partial one on live input."""

    rows: Floats
    numbers: NDArray[np.int64]
    """Numbers of these rows in the source, counted from 0; skipped rows leave gaps."""
    count: int
    """Rows handed out so far, these included."""
    skipped: int
    """Rows skipped so far."""
    locate: Callable[[], Place]
    """Returns the reader's part of `position`."""
    texts: Texts | None = None
    """Cells of the columns kept as text, where there are any."""
    times: NDArray[np.float64] | None = None
    """Time of each row in seconds since 1970, where a column holds it."""
    share: float | None = None
    """Share of the source that has been read with these rows, where it is known."""
    keys: list[str] | None = None
    """Key of each row, where a column holds it."""

    @cached_property
    def position(self) -> dict[str, Any]:
        """Position after this batch, to continue from with `sources.open`; JSON can hold it."""
        return {"rows": self.count, "skipped": self.skipped, **self.locate()}


def some_of(names: Sequence[str]) -> str:
    """Return the first names of columns for a note, and dots for the others.

    Examples
    --------
    >>> some_of(["a", "b", "c", "d"])
    'a, b, c, ...'
    """
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")


class Reader(ABC):
    """Abstract: one kind of source. A subclass sets `name` and `width` and defines `take`.

    That is enough to read. To continue from a position it also defines `go_to`; the default of `place`, the
    number of the next row, suits a source where rows have numbers.
    """

    kind = "custom"
    """Kind of source, for messages."""
    name: str
    """File name or "standard input", for messages."""
    width: int
    """Numbers per row."""
    full: int = 0
    """Number of columns, chosen or not (0: `width`): reading a row takes memory for all of them."""
    names: list[str] | None = None
    """Names of the chosen columns, where there are any."""
    column_numbers: Sequence[int] = ()
    """Number of each chosen column in the source, where only some are chosen."""
    kept: Sequence[str] = ()
    """Names of the columns kept as text."""
    aside: Sequence[str] = ()
    """Names of columns that say where a row stands: they are not learnt unless they are asked for."""
    unknown: Sequence[str] = ()
    """Names of columns that are not read because the model does not know them (`ReadOptions.unknown`)."""
    live = False
    """True if rows come as they happen."""
    unit = "rows"
    """Unit of `behind`."""
    total: int | None = None
    """Number of rows, where it is known."""
    row = 0
    """Number of the next row; `take` and `go_to` move it."""
    files: Sequence[Path] = ()
    """Files that are read, if it reads files."""
    part = 0
    """Number of the file that is read, where there are several."""
    lasts = True
    """True if it can be read again; False for a pipe."""

    @abstractmethod
    def take(self, count: int) -> Chunk | None:
        """Return the next rows: at least 1, at most ``count``; None at the end."""

    def records(self) -> Iterator[Mapping[str, str]]:
        """Yield the rows from here to the end, each with the words of its columns by their names.

        Columns that are not learnt are there where the source has them at hand; a missing value is "".
        """
        while (chunk := self.take(1024)) is not None:
            if chunk.bad:
                raise SourceError(f"{chunk.bad[0].where}: {chunk.bad[0].what}")
            names = [*(self.names or [f"x{i}" for i in range(self.width)]), *self.kept]
            for i, row in enumerate(chunk.rows.tolist()):
                words = ["" if value != value else repr(value) for value in row]
                kept = [] if chunk.texts is None else chunk.texts[i]
                yield dict(zip(names, (*words, *kept), strict=True))

    def ready(self, seconds: float) -> bool:
        """Wait for rows, ``seconds`` at most; return True if `take` would not wait."""
        return True

    def pass_over(self, count: int) -> None:
        """Skip ``count`` rows without checking them."""
        while count > 0:
            chunk = self.take(min(count, 1024))
            if chunk is None:
                return
            count -= len(chunk.rows)

    def place(self) -> Callable[[], Place]:
        """Return a function that returns the place reached now; it holds at least ``row``."""
        row = self.row
        return lambda: {"row": row}

    def go_to(self, place: Place) -> None:
        """Continue from a place; `SourceError` if the content before it has changed."""
        raise SourceError(f"{self.name} cannot be continued: start afresh without resuming")

    def where(self, chunk: Chunk, row: int, column: int) -> str:
        """Return where a value stands, for a message."""
        named = f" ({self.names[column]})" if self.names else ""
        number = self.column_numbers[column] if self.column_numbers else column
        return f"{self.where_row(chunk, row)}, column {number}{named}"

    def where_row(self, chunk: Chunk, row: int) -> str:
        """Return where a row stands, for a message."""
        return f"{self.name}, row {int(chunk.numbers[row])}"

    def file_row(self, row: int) -> tuple[Path, int] | None:
        """Return the file of this row and its number there, where there are several files and it is known."""
        return None

    def notes(self) -> list[str]:
        """Return remarks for a person about how the source is read."""
        if not self.unknown:
            return []
        what = "column" if len(self.unknown) == 1 else "columns"
        return [f"{self.name}: not read, {what} that the model does not know: {some_of(self.unknown)}"]

    def files_read(self) -> list[tuple[Path, int, bool]]:
        """Return each file read, the bytes read of it, and True if it had rows."""
        return [(path, path.stat().st_size, self.row > 0) for path in self.files]

    def progress(self) -> float | None:
        """Return the share read so far, where it is known."""
        return None

    def behind(self) -> int | None:
        """Return the amount not yet read, in `unit`, where it is known."""
        return None

    def close(self) -> None:  # noqa: B027
        """Close all files."""
