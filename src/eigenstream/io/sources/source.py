"""Cut rows into batches on a fixed grid, and drop or refuse rows that cannot be used."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import index
from typing import Any, Self

import numpy as np

from ...array_types import as_numbers
from ..files import printable
from .batch import (
    CELLS,
    CHOOSE,
    NO_TEXT,
    SKIP,
    BadValue,
    Batch,
    Chunk,
    Hint,
    Place,
    Reader,
    SourceError,
    Texts,
    joined,
    texts_of,
)
from .keyed_times import KeyedClock
from .lines import is_text, shortened
from .options import ReadOptions, called_by_number
from .times import AHEAD, BEFORE, GOOD, HOW, OPEN, Clock
from .waiting import WaitingRows

ROWS = 1024
"""Default rows per batch: enough that the cost per call is small, few enough that a person sees progress."""
PATIENCE = 0.25
"""Seconds that rows of live input wait for their batch to fill: a person hardly notices the delay."""

ORDER = {
    BEFORE: "is before the time of an earlier row",
    AHEAD: "is far ahead of the rows before and behind it",
}
"""Reasons why a row is left out, by the verdict on its time."""


class Source:
    """An iterable of `Batch`; `close` it, or use it in a ``with`` statement.

    Batches end at multiples of ``batch_rows``, counted from the first row. On live input a batch that has
    waited `PATIENCE` seconds is handed out as it is; the next one ends at the multiple.

    Parameters
    ----------
    reader
        Reader of the rows.
    options
        Options of reading; ``batch_rows``, ``rows``, ``on_bad_row``, ``allow_nan``, ``time_column`` and
        ``key`` are obeyed here.
    on_skip
        Called with the reason for each row left out.
    **reading
        Single options by name.
    """

    def __init__(
        self,
        reader: Reader,
        options: ReadOptions | None = None,
        *,
        on_skip: Callable[[str], object] | None = None,
        **reading: Any,
    ) -> None:
        options = replace(options or ReadOptions(), **reading)
        self.reader, self.options, self.on_skip = reader, options, on_skip
        self.name, self.width, self.names = reader.name, reader.width, reader.names
        if self.names is None:
            # As errors and options count them, whichever are chosen.
            self.names = called_by_number(reader.column_numbers)
        self._timing = max(len(options.time_parts(reader.kept)), 1)
        """Number of columns that hold the time."""
        self.kept = list(reader.kept)
        """Names of the columns kept as text; several that hold the time are one."""
        self.kept[: self._timing] = ["+".join(self.kept[: self._timing])] if self.kept else []
        self.stop, self.clock = options.rows[1], options.clock()
        self.batch_rows = options.batch_rows or max(1, min(ROWS, CELLS // (reader.full or reader.width)))
        self.count = self.skipped = self._read = 0
        self.first_skip = ""
        """Reason for the first skip."""
        self._waiting = WaitingRows()
        """Rows that were read and not handed out yet."""
        self._ended = False
        """True once the reader has no more rows."""
        self._part = reader.part
        """Number of the file that the last rows were from."""

    @property
    def notes(self) -> list[str]:
        """Remarks for a person about how it is read; reading may add some."""
        timed = self.clock is not None and self.clock.taken
        times = [f"{self.name}: times in {self.kept[0]!r} are read as {timed}"] if timed else []
        return list(map(printable, self.reader.notes() + times))

    @property
    def total(self) -> int | None:
        """Number of rows, where it is known."""
        total = self.reader.total
        return total if self.stop is None or total is None else min(total, self.stop)

    def __iter__(self) -> Iterator[Batch]:
        ended = self._ended = False
        while not ended:
            parts, ended = self._gathered(self.batch_rows - self.count % self.batch_rows)
            parts = [part for part in parts if len(part.rows)]
            if parts:
                yield self._batch(parts[0] if len(parts) == 1 else joined(parts))

    def _batch(self, rows: Chunk) -> Batch:
        self.count += len(rows.rows)
        place, share, keys = self._place(), self.reader.progress(), self._keys(rows)
        found = (rows.rows, rows.numbers, self.count, self.skipped)
        return Batch(*found, place, rows.texts, rows.times, share, keys)

    def _keys(self, rows: Chunk) -> list[str] | None:
        if self.options.key is None or rows.texts is None:
            return None
        keys: list[str] = rows.texts[:, int(self.clock is not None)].tolist()  # the time stands before it
        return keys

    def _place(self) -> Callable[[], Place]:
        """Return a function that returns the places of reader and clock as they are now."""
        place = self.reader.place()
        if self.clock is None:
            return place
        clock, waiting = self.clock.place(), self._waiting
        return lambda: {**place(), "clock": clock, "waiting": waiting.document()}

    def _gathered(self, wanted: int) -> tuple[list[Chunk], bool]:
        """Return chunks with ``wanted`` rows, or fewer on live input, and True at the end."""
        parts, until = list[Chunk](), None
        while wanted:
            ready = self._waiting.ready
            if ready is None:
                if until is not None and not self.reader.ready(max(until - time.monotonic(), 0.0)):
                    return parts, False
                ready = self._fetched(wanted)
            if ready is None:
                return parts, True
            rest = ready.only(slice(wanted, None)) if len(ready.rows) > wanted else None
            self._waiting = self._waiting._replace(ready=rest)
            parts.append(ready if rest is None else ready.only(slice(wanted)))
            wanted -= len(parts[-1].rows)
            if self.reader.live and until is None and len(parts[-1].rows):
                until = time.monotonic() + PATIENCE
        return parts, False

    def continue_from(self, position: dict[str, Any]) -> None:
        """Continue after the batch that had this position."""
        try:
            numbers = [index(position[name]) for name in ("rows", "skipped", "row")]
            rows, skipped, row = numbers
            if min(rows, skipped) < 0 or rows + skipped > row:
                raise ValueError(f"{rows} rows and {skipped} skipped among the first {row}")
            self.reader.go_to(position)
            if self.clock is not None:
                self._waiting = self._set_clock(self.clock, position)
            self.count, self.skipped, self._read = numbers
            self._part = self.reader.part
        except SourceError:
            raise
        except (LookupError, AttributeError, TypeError, ValueError, OverflowError, OSError):
            raise SourceError(
                f"{self.name}: the stored position is not one in a {self.reader.kind} source: resume with "
                "the source that it was saved in"
            ) from None

    def _set_clock(self, clock: Clock | KeyedClock, position: dict[str, Any]) -> WaitingRows:
        """Continue with the times of a position; return the rows that waited then."""
        width, kept = self.width, len(self.kept)
        waiting = WaitingRows.from_document(
            position["waiting"], width, kept, keyed=self.options.key is not None
        )
        held, times = waiting.held, list[float]()
        if held is not None and held.times is not None:
            times = held.times.tolist()
        if isinstance(clock, KeyedClock):
            clock.go_to(position["clock"], times, () if held is None else self._keys(held) or ())
        else:
            clock.go_to(position["clock"], times)
        return waiting

    def pass_over(self, rows: int) -> None:
        """Skip the first rows."""
        self.reader.pass_over(rows)
        self._read = rows

    def close(self) -> None:
        """Close all files."""
        self.reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _fetched(self, wanted: int) -> Chunk | None:
        """Return the next usable rows, perhaps none as yet, or more than are wanted; None at the end."""
        chunk = None if self._ended else self._next(wanted)
        if chunk is None:
            self._ended = True
            return self._decided()
        if self.reader.part == self._part or self.clock is None:
            return self._usable(chunk)
        # Within a file times must not go backwards. The next one may count from its own beginning, as it may
        # in a job of its own.
        self._part, before = self.reader.part, self._decided()
        self.clock.restart()
        usable = self._usable(chunk)
        return usable if before is None else joined([before, usable])

    def _decided(self) -> Chunk | None:
        """Return those of the rows held that are right by what has come; None if none are held."""
        held = self._waiting.held
        return None if held is None else self._in_order(held.only(slice(0)), str, final=True)

    def _next(self, wanted: int) -> Chunk | None:
        if self.stop is not None:
            wanted = min(wanted, self.stop - self._read)
        chunk = self.reader.take(wanted) if wanted > 0 else None
        if chunk is None:
            return None
        self._read += len(chunk.rows)
        if self._timing > 1 and chunk.texts is not None:
            chunk = chunk._replace(texts=_first_joined(chunk.texts, self._timing))
        return chunk._replace(rows=as_numbers(chunk.rows, self.name))  # a reader of one's own may mask some

    def _usable(self, chunk: Chunk) -> Chunk:
        """Return the chunk without bad rows, or raise an error that names the first."""
        bad = chunk.bad + self._unfit(chunk)
        if self.clock is not None and chunk.texts is not None:
            chunk = chunk._replace(times=self.clock.read(chunk.texts[:, 0].tolist()))
            bad += self._timeless(chunk, {value.row for value in bad})
        bad += self._keyless(chunk, {value.row for value in bad})
        if bad:
            self._leave_out(bad)
        left = np.ones(len(chunk.rows), dtype=bool)
        left[[value.row for value in bad]] = False
        usable = chunk.only(left) if bad else chunk
        if usable.times is None:
            return usable
        numbers = np.flatnonzero(left)
        return self._in_order(usable, lambda i: self.reader.where_row(chunk, int(numbers[i])))

    def _leave_out(self, bad: list[BadValue]) -> None:
        """Count rows that are left out, or raise an error that names the first."""
        bad = sorted(bad, key=lambda value: value.row)
        if self.options.on_bad_row == "fail":
            raise SourceError(f"{bad[0].where}: {bad[0].what}", *(bad[0].hints or self._advice(bad[0].row)))
        reasons = {value.row: printable(f"{value.where}: {value.what}") for value in reversed(bad)}
        self.skipped += len(reasons)
        self.first_skip = self.first_skip or reasons[bad[0].row]
        if self.on_skip is not None:
            for row in sorted(reasons):
                self.on_skip(reasons[row])

    def _in_order(self, chunk: Chunk, where: Callable[[int], str], *, final: bool = False) -> Chunk:
        """Return the rows in order by their times, those that were held first; hold undecided ones.

        ``final``: no more come that could decide.
        """
        clock, (_, held, places) = self.clock, self._waiting
        assert clock is not None
        assert chunk.times is not None
        if isinstance(clock, KeyedClock):
            codes = clock.judge(chunk.times, self._keys(chunk) or [], final=final)
        else:
            codes = clock.judge(chunk.times, final=final)
        good = np.flatnonzero(codes == GOOD)
        good = good[np.argsort(clock.decided_at[good], kind="stable")]
        if held is None and np.array_equal(good, np.arange(len(chunk.rows))):
            return chunk
        rows = chunk if held is None else joined([held, chunk])

        def place(i: int) -> str:
            return places[i] if i < len(places) else where(i - len(places))

        late, undecided = (np.flatnonzero(np.isin(codes, some)).tolist() for some in ((BEFORE, AHEAD), OPEN))
        if late:
            self._leave_out([self._bad(rows, 0, i, place(i), ORDER[int(codes[i])], SKIP) for i in late])
        held = rows.only(undecided) if undecided else None
        self._waiting = WaitingRows(None, held, list(map(place, undecided)))
        return rows.only(good)

    def _bad(self, chunk: Chunk, column: int, row: int, place: str, what: str, *hints: Hint) -> BadValue:
        """Return the complaint about the time or the key of a row, which are kept as text."""
        assert chunk.texts is not None
        is_time, name = column == 0 and self.clock is not None, self.kept[column]
        where = f"{place}, {'time' if is_time else 'key'} {name!r}"
        return BadValue(row, where, f"{shortened(chunk.texts[row, column])} {what}", hints)

    def _advice(self, row: int) -> tuple[Hint, ...]:
        """Return hints: a column that is bad from the first row on is probably not meant to be read."""
        if self.count == 0 and row == 0:
            return (CHOOSE, NO_TEXT)
        return (SKIP,)

    def _unfit(self, chunk: Chunk) -> list[BadValue]:
        """Find infinite values, and missing ones unless they are allowed."""
        # One multiply-add a number and no temporary: NaN and infinity both survive a sum of squares.
        if np.isfinite(np.vdot(chunk.rows, chunk.rows)):
            return []
        wrong = np.isinf(chunk.rows) if self.options.allow_nan else ~np.isfinite(chunk.rows)
        known = {value.row for value in chunk.bad}
        found = [(int(row), int(np.argmax(wrong[row]))) for row in np.flatnonzero(wrong.any(axis=1))]
        first = self.count == 0
        return [
            _unusable(
                row, first and row == 0, self.reader.where(chunk, row, column), float(chunk.rows[row, column])
            )
            for row, column in found
            if row not in known
        ]

    def _keyless(self, chunk: Chunk, known: set[int]) -> list[BadValue]:
        """Find rows without a key, or whose key cannot be written."""
        keys, column = self._keys(chunk) or (), int(self.clock is not None)
        if all(map(str.strip, keys)) and is_text("".join(keys)):
            return []
        found = {row: _wrong_key(key) for row, key in enumerate(keys) if row not in known}
        return [
            self._bad(chunk, column, row, self.reader.where_row(chunk, row), what, SKIP)
            for row, what in found.items()
            if what is not None
        ]

    def _timeless(self, chunk: Chunk, known: set[int]) -> list[BadValue]:
        """Find rows whose time cannot be parsed."""
        assert chunk.times is not None
        rows = [row for row in np.flatnonzero(np.isnan(chunk.times)).tolist() if row not in known]
        where = self.reader.where_row
        return [self._bad(chunk, 0, row, where(chunk, row), "is not a time", HOW, SKIP) for row in rows]


def _first_joined(texts: Texts, count: int) -> Texts:
    """Return the texts with the first ``count`` of each row as one, a space between them."""
    return texts_of([[" ".join(row[:count]), *row[count:]] for row in texts], texts.shape[1] - count + 1)


def _wrong_key(key: str) -> str | None:
    """Return what is wrong with a key, if something is."""
    if not key.strip():
        return "is no key: it is missing"
    return None if is_text(key) else "is not text in UTF-8"


def _unusable(row: int, first: bool, where: str, value: float) -> BadValue:
    if np.isnan(value):
        hint = Hint("allow_nan", None, "says what to do with missing values")
        return BadValue(row, where, "is missing (NaN)", (hint, CHOOSE if first else SKIP))
    return BadValue(row, where, f"{value} is not a finite number")
