"""Reader of tables and queries of databases: rows in the order of a column, by which reading goes on."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from operator import index
from typing import Any, NamedTuple, Protocol

import numpy as np

from .batch import CELLS, BadValue, Chunk, Place, Reader, SourceError, texts_of
from .lines import is_text, shortened
from .options import ReadOptions

PAGE = 1 << 14
"""Most rows per question: a database is asked again and again and never left with an open transaction, which
would keep others from writing."""
LARGEST_PAGE = 1 << 26
"""Bytes of text after which a page ends, however few rows it has."""
POLL = 1.0
"""Seconds between two questions for new rows."""
ROWS = "eigenstream_rows"
STORED: dict[str, Callable[[str], Any]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "Decimal": Decimal,
}
"""Values of ordering columns that JSON does not have: the names of their types, and how to read them."""


class Question(NamedTuple):
    """A statement of SQL, and the values that stand where its marks are."""

    text: str
    values: list[Any]


class Answer(NamedTuple):
    """Names of columns, and rows."""

    names: list[str]
    rows: list[tuple[Any, ...]]


class Database(Protocol):
    """A database that answers questions."""

    def quoted(self, name: str) -> str:
        """Return a name as it stands in SQL."""

    def mark(self, number: int) -> str:
        """Return the mark that stands for a value of a question."""

    def ask(self, question: Question, collect: Callable[[Iterable[Any]], list[Any]]) -> Answer:
        """Return the columns and what ``collect`` takes of the rows; no transaction is left open."""

    def close(self) -> None:
        """Close all connections."""


class SqlReader(Reader):
    """Rows of a query in the order of some of its columns.

    The position is the ordering columns' value of the last row read: it must be unique, and larger in rows
    that are added. On continuing, a changed or missing last row, and rows that have come before it, are
    errors.

    Parameters
    ----------
    database
        The database to ask.
    query
        The query whose rows are read.
    order
        Names of the columns that order them; they are not learnt unless ``columns`` asks for them.
    name
        For messages.
    options
        Columns to read, and how long to wait for more rows.
    late
        True reads on where rows have come that stand before the last one read, with a note.
    """

    kind = "SQL"
    names: list[str]

    def __init__(
        self,
        database: Database,
        query: str,
        order: list[str],
        name: str,
        options: ReadOptions,
        *,
        late: bool = False,
    ) -> None:
        self.database, self.order, self.name, self.options = database, order, name, options
        self.live, self.late, self.aside = options.follow, late, order
        self._from = f"FROM ({query}) AS {ROWS}"
        first = self._ask("SELECT *", "LIMIT 1")
        self.titles = titles = first.names
        if len(set(titles)) < len(titles):
            raise SourceError(f"{name}: two columns have the same name; give each its own")
        missing = [one for one in order if one not in titles]
        if missing:
            raise SourceError(f"{name}: there is no column {missing[0]!r}; there are {', '.join(titles)}")
        if not first.rows and not self.live:
            raise SourceError(f"{name} is empty: there is nothing to learn from")
        example, self.full = first.rows[0] if first.rows else (None,) * len(titles), len(titles)

        def without_numbers() -> list[int]:
            return [i for i, value in enumerate(example) if self._number(value) is None]

        aside = [titles.index(one) for one in order]
        chosen, kept = options.choose(titles, self.full, name, without_numbers, aside)
        self.unknown = options.unknown(titles, self.full, name, without_numbers, aside)
        self.names, self.kept = [titles[i] for i in chosen], [titles[i] for i in kept]
        self.width, self.column_numbers = len(chosen), chosen
        self._columns = [*order, *self.names, *self.kept]
        self._refuse_without_order()
        self._last: list[Any] | None = None
        """Ordering values of the last row taken."""
        self._print = ""
        """Hash of the last row taken."""
        self._waiting: list[tuple[Any, ...]] = []
        self._taken: list[tuple[Any, ...]] = []
        self._notes: list[str] = []

    def take(self, count: int) -> Chunk | None:
        if not self._wait(self.options.idle):
            return None
        rows, self._waiting = self._waiting[:count], self._waiting[count:]
        order, width = len(self.order), self.width
        numbers, bad = np.zeros((len(rows), width)), []
        for i, row in enumerate(rows):
            found = [self._number(value) for value in row[order : order + width]]
            if None in found:
                at = found.index(None)
                where = f"{self._place_of(row)}, {self.names[at]!r}"
                bad.append(BadValue(i, where, f"{shortened(_word(row[order + at]))} is not a number"))
            else:
                numbers[i] = found
        texts = [list(map(_word, row[order + width :])) for row in rows]
        bad += self._no_text(rows, texts, {value.row for value in bad})
        self._taken, self._last, self._print = rows, list(rows[-1][:order]), _print(rows[-1])
        numbered = np.arange(self.row, self.row + len(rows))
        self.row += len(rows)
        filled = self.options.with_gaps(numbers)
        return Chunk(filled, numbered, bad, texts_of(texts, len(self.kept)) if self.kept else None)

    def records(self) -> Iterator[Mapping[str, str]]:
        order = len(self.order)
        self._columns = [*self.order, *(name for name in self.titles if name not in self.order)]
        self._waiting = []
        while self._wait(self.options.idle):
            rows, self._waiting = self._waiting, []
            self._last, self._print = list(rows[-1][:order]), _print(rows[-1])
            for row in rows:
                self.row += 1
                words = dict(zip(self._columns, map(_word, row), strict=True))
                yield {name: words[name] for name in self.titles}

    def _no_text(self, rows: Any, texts: list[list[str]], known: set[int]) -> list[BadValue]:
        return [
            BadValue(i, f"{self._place_of(rows[i])}, {name!r}", f"{shortened(word)} is not text")
            for i, row in enumerate(texts)
            for name, word in zip(self.kept, row, strict=True)
            if not is_text(word) and i not in known
        ]

    def ready(self, seconds: float) -> bool:
        return self._wait(seconds)

    def place(self) -> Callable[[], Place]:
        last = None if self._last is None else [_stored(value, self.name) for value in self._last]
        at = {"row": self.row, "last": last, "fingerprint": self._print}
        return lambda: at

    def go_to(self, place: Place) -> None:
        row, last = index(place["row"]), place["last"]
        if (last is None) != (row == 0) or row < 0 or (last is not None and len(last) != len(self.order)):
            raise ValueError(f"row {row} after {last!r}")
        self.row, self._waiting = row, []
        self._last, self._print = None if last is None else list(map(_restored, last)), place["fingerprint"]
        if self._last is not None:
            self._refuse_changes(self._last)

    def notes(self) -> list[str]:
        return super().notes() + self._notes

    def where(self, chunk: Chunk, row: int, column: int) -> str:
        return f"{self.where_row(chunk, row)}, {self.names[column]!r}"

    def where_row(self, chunk: Chunk, row: int) -> str:
        return self._place_of(self._taken[row])

    def close(self) -> None:
        self.database.close()

    def _place_of(self, row: tuple[Any, ...]) -> str:
        values = ", ".join(
            f"{name} {_word(value)}" for name, value in zip(self.order, row[: len(self.order)], strict=True)
        )
        return f"{self.name}, {values}"

    def _number(self, value: Any) -> float | None:
        """Return a value as a number, NaN where it is missing; None if it is none."""
        if value is None:
            return float("nan")
        try:
            if isinstance(value, str):
                word = value.strip()
                return float("nan") if word.lower() in self.options.missing else self.options.number(word)
            return float(value) if isinstance(value, int | float | Decimal) else None
        except (ValueError, OverflowError):
            return None

    def _wait(self, seconds: float | None) -> bool:
        """Fetch rows; with ``follow``, wait ``seconds`` at most. Return True if there are some."""
        until = None if seconds is None else time.monotonic() + seconds
        while not self._waiting:
            self._waiting = self._page()
            if self._waiting or not self.live:
                break
            left = POLL if until is None else min(until - time.monotonic(), POLL)
            if left <= 0:
                break
            time.sleep(left)
        return bool(self._waiting)

    def _page(self) -> list[tuple[Any, ...]]:
        """Return the next rows; of the one behind them it is known that it has another place."""
        quoted = ", ".join(map(self.database.quoted, self._columns))
        order = ", ".join(map(self.database.quoted, self.order))
        most = max(1, min(PAGE, CELLS // len(self._columns)))
        condition, values = ("", []) if self._last is None else self._compared(">", self._last)
        where = f"WHERE {condition} " if condition else ""
        rows = self._ask(f"SELECT {quoted}", f"{where}ORDER BY {order} LIMIT {most + 1}", values).rows
        places = [row[: len(self.order)] for row in rows]
        same = next((one for one, other in pairwise(places) if one == other), None)
        if same is not None:
            raise SourceError(
                f"{self.name}: two rows have {', '.join(self.order)} {', '.join(map(_word, same))}: their "
                "order cannot be known; order by a column that is unique, or by several (&order=time,id)"
            )
        # The row behind the last one is left for the next page, as it has been compared with it.
        return rows[:most] if len(rows) > most else rows[:-1] if _is_cut(rows) else rows

    def _ask(self, select: str, rest: str, values: list[Any] | None = None) -> Answer:
        return self.database.ask(Question(f"{select} {self._from} {rest}", values or []), _collected)

    def _compared(self, sign: str, values: list[Any]) -> tuple[str, list[Any]]:
        """Return the comparison of the ordering columns with values, and the values."""
        names = ", ".join(map(self.database.quoted, self.order))
        marks = ", ".join(map(self.database.mark, range(len(values))))
        return (f"{names} {sign} {marks}" if len(values) == 1 else f"({names}) {sign} ({marks})"), values

    def _refuse_without_order(self) -> None:
        missing = " OR ".join(f"{self.database.quoted(one)} IS NULL" for one in self.order)
        count = self._ask("SELECT count(*)", f"WHERE {missing}").rows[0][0]
        if count:
            raise SourceError(
                f"{self.name}: {count:,} rows have no {' or '.join(self.order)}: their order cannot be known"
            )

    def _refuse_changes(self, last: list[Any]) -> None:
        """Raise if the rows up to the last one read are not those that were read."""
        condition, values = self._compared("<=", last)
        before = int(self._ask("SELECT count(*)", f"WHERE {condition}", values).rows[0][0])
        condition, values = self._compared("=", last)
        quoted = ", ".join(map(self.database.quoted, self._columns))
        here = self._ask(f"SELECT {quoted}", f"WHERE {condition} LIMIT 1", values).rows
        at = f"{', '.join(self.order)} {', '.join(map(_word, last))}"
        # Old rows may have been removed, all up to some place.
        if (here and _print(here[0]) != self._print) or (before and not here):
            raise SourceError(
                f"{self.name} does not begin as it did: the row with {at}, read last, "
                + ("has changed" if here else "is gone, and others before it are there")
                + "; give the same source, or start afresh without resuming"
            )
        if before <= self.row:
            return
        what = f"{before - self.row:,} rows have come since that stand before {at}, the last one read"
        if not self.late:
            raise SourceError(
                f"{self.name}: {what}; order by a column that grows with every row, or read on without them "
                "with &late=allow in the address"
            )
        self._notes.append(f"{self.name}: {what}; they are not read")
        self.row = before


def _collected(rows: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return rows, as many as fit into memory, and two at least."""
    found, size = [], 0
    for row in rows:
        found.append(row)
        size += _length(row)
        if size > LARGEST_PAGE and len(found) > 1:
            break
    return found


def _is_cut(rows: list[tuple[Any, ...]]) -> bool:
    """Return True if `_collected` may have left out rows."""
    return len(rows) > 1 and sum(map(_length, rows)) > LARGEST_PAGE


def _length(row: tuple[Any, ...]) -> int:
    return sum(len(value) for value in row if isinstance(value, str | bytes))


def _word(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _stored(value: Any, name: str) -> Any:
    """Return an ordering value as JSON can hold it."""
    if isinstance(value, int | float | str):
        return value
    kind = type(value).__name__
    if kind not in STORED:
        raise SourceError(
            f"{name}: rows cannot be ordered by values of type {kind}, such as {_word(value)!r}"
        )
    return {kind: str(value) if kind == "Decimal" else value.isoformat()}


def _restored(value: Any) -> Any:
    """Return what `_stored` wrote; ValueError or TypeError if it is anything else."""
    if isinstance(value, int | float | str):
        return value
    ((kind, word),) = value.items()
    return STORED[kind](word)


def _print(row: tuple[Any, ...]) -> str:
    return hashlib.sha256("\0".join(map(_word, row)).encode(errors="replace")).hexdigest()
