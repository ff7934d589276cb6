"""Options that say how a source is read, as one value."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from numbers import Real
from operator import index
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..durations import seconds
from .batch import Hint, SourceError
from .columns import Chosen, Columns, chosen_columns, column_numbers, named_columns
from .keyed_times import KeyedClock
from .times import Clock

MISSING = ("", "na", "n/a", "nan", "null", "none", "-")
"""Words for an absent value in CSV, in lower case."""
SPACES = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"
GROUPS = {".": re.compile(r"\."), ",": re.compile(","), " ": re.compile(f"[{SPACES}]")}
GROUPED = {
    mark: re.compile(rf"[-+]?\d{{1,3}}(?:{group.pattern}\d{{3}})+(?:[.,]\d+)?")
    for mark, group in GROUPS.items()
}
"""Numbers with a mark between groups of three digits."""
NAMED_DELIMITERS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
TIME_COLUMN = Hint("time_column", None, "names the column that says when each row was taken")
TEXTS = ("delimiter", "decimal", "comment", "encoding", "array", "time_format", "thousands", "every")
"""Options that are text, or None."""
COLUMNS = ("columns", "exclude", "keep")
LARGEST_COUNT = 2**63
"""Rows and lines are counted in 64 bits."""


def _not_stored(default: Any) -> Any:
    return field(default=default, metadata={"stored": False})


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """Options of `eigenstream.sources.open`: each is one of its keywords.

    A new option is a field here, the code that obeys it, and, if the command line has it, one option there.
    The fields of `STORED` are kept with a model, so that its next source is read in the same way.

    Parameters
    ----------
    columns
        Names, numbers from 0 or ranges (``"a,b"``, ``"0:8"``); all columns if None.
    exclude
        Columns to leave out: the same, patterns of names (``"*_id"``), or ``"text"`` for those whose
        first value is no number.
    rows
        The first row of data to read, and the row to stop before (None: the end).
    batch_rows
        Rows per batch: batches end at its multiples. If None, 1,024, or fewer where rows are very wide. On
        standard input, and where a file is followed, rows that have come are handed out after a moment
        even if their batch is not full.
    on_bad_row
        ``"fail"`` raises an error for a row that cannot be parsed or is not finite, ``"skip"`` leaves it out.
    delimiter, header
        CSV: the field separator (a space: any run of spaces), and True if the first line holds names;
        detected if None.
    decimal
        CSV: the decimal mark, ``"."`` or ``","``. If None, a point between commas, and otherwise what the
        first number with a mark has.
    comment, skip_lines
        Text: the start of lines to ignore, and the number of lines at the top to ignore. If ``comment`` is
        None and the first line begins with ``#``, ``%`` or ``!``, such lines are ignored, but for the last
        one at the top if it holds as many names as there are columns.
    encoding
        Encoding of text. If None, UTF-8, or UTF-16 where a byte order mark says so.
    na
        Words and numbers that stand for a missing value (``"-999,?,Bad Input"``), besides the usual ones.
    array
        Name of the array in an NPZ file, of the sheet in an XLSX file, or of the file in a ZIP file, where
        there are several.
    thousands
        CSV: the mark between groups of three digits, ``"."``, ``","`` or a space.
    keep
        Columns to hand out as text (`Batch.texts`), such as a name; they are not among the numbers.
    time_column, time_format
        The column that says when each row was taken (`Batch.times`, in seconds since 1970), which is kept,
        too, and how it is written: ``"iso"``, ``"s"``, ``"ms"``, ``"us"`` or ``"ns"`` since 1970, an example
        (``"31.12.2024 23:59"``), or a format of `datetime.strptime`; detected if None. Several columns
        (``"Date+Time"``) are read with a space between them. A row whose time is before that of an earlier
        row, or far ahead of those before and behind it, is bad.
    key
        The column that says whose a row is (`Batch.keys`), which is kept, too; a row without one is bad.
    titles
        Names of all columns, in the place of a header (``"a,b,c"`` or a sequence).
    every
        MQTT: the time between rows of the last known values of all topics, such as ``"1s"``; if None, each
        message is a row.
    allow_nan
        True hands out missing values as NaN; otherwise they make a row bad.
    names
        Columns to read by name where there are names; ``columns`` and ``exclude`` count where there are none.
        So a model finds its inputs in a file whose columns stand in another order.
    follow, idle
        True waits for more at the end of a plain file of lines; ``idle`` seconds without anything new count
        as the end (None: never).
    threads
        Number of threads that parse text.

    Raises
    ------
    SourceError
        If an option has a value that it cannot have.
    """

    columns: Columns = None
    exclude: Columns = None
    rows: tuple[int, int | None] = (0, None)
    batch_rows: int | None = None
    on_bad_row: Literal["fail", "skip"] = "fail"
    delimiter: str | None = None
    header: bool | None = None
    decimal: str | None = None
    comment: str | None = None
    skip_lines: int = 0
    encoding: str | None = None
    na: str | Sequence[str | float] | None = None
    array: str | None = None
    thousands: str | None = None
    keep: Columns = None
    time_column: str | int | None = None
    time_format: str | None = None
    key: str | int | None = None
    titles: str | Sequence[str] | None = None
    every: str | None = None
    allow_nan: bool = _not_stored(False)
    names: Sequence[str] | None = _not_stored(None)
    follow: bool = _not_stored(False)
    idle: float | None = _not_stored(None)
    threads: int = _not_stored(1)

    def __post_init__(self) -> None:
        for name in TEXTS:
            if not isinstance(getattr(self, name), str | None):
                raise SourceError(f"{name} must be text, got {getattr(self, name)!r}")
        normal = {
            **{name: _columns(name, getattr(self, name)) for name in COLUMNS},
            **{name: _column(name, getattr(self, name)) for name in ("time_column", "key")},
            "rows": _rows(self.rows),
            "names": None if self.names is None else tuple(self.names),
            "na": _na(self.na),
            "titles": _titles(self.titles),
            "delimiter": NAMED_DELIMITERS.get(self.delimiter or "", self.delimiter),
        }
        for name, value in normal.items():
            object.__setattr__(self, name, value)
        for name, least in {"batch_rows": 1, "skip_lines": 0, "threads": 1}.items():
            if not (name == "batch_rows" and self.batch_rows is None):
                _count(name, getattr(self, name), least)
        if self.every is not None:
            try:
                seconds(self.every)
            except ValueError as error:
                raise SourceError(f"every: {error}") from None
        self._check_choices()
        self._check_marks()
        if self.time_format is not None and self.time_column is None:
            raise SourceError("time_format says how times are written: it needs a time_column", TIME_COLUMN)
        self.clock()

    def _check_choices(self) -> None:
        if self.on_bad_row not in ("fail", "skip"):
            raise SourceError(f"on_bad_row must be 'fail' or 'skip', got {self.on_bad_row!r}")
        if not isinstance(self.header, bool | None):
            raise SourceError(f"header must be True, False or None, got {self.header!r}")
        if self.encoding is not None:
            try:
                codecs.getincrementaldecoder(self.encoding)
            except LookupError:
                raise SourceError(f"there is no encoding {self.encoding!r}") from None

    def _check_marks(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise SourceError(f"the delimiter must be one character and no quote, got {self.delimiter!r}")
        if self.decimal not in (None, ".", ","):
            raise SourceError(f"the decimal mark must be a point or a comma, got {self.decimal!r}")
        if self.decimal == self.delimiter == ".":  # both may be commas, where numbers stand in quotes
            raise SourceError("delimiter and decimal mark cannot both be '.'")
        if self.thousands is not None and self.thousands not in set(GROUPED) - {self.decimal}:
            raise SourceError(
                "the thousands mark must be a point, a comma or a space, and not the decimal mark, got "
                f"{self.thousands!r}"
            )
        if self.comment is not None and (not self.comment or self.comment.isspace()):
            raise SourceError(f"a comment begins with something that can be seen, got {self.comment!r}")

    def document(self) -> dict[str, Any]:
        """Return the options of `STORED` as plain values for a file."""
        values = {name: getattr(self, name) for name in STORED}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_document(cls, document: Any) -> ReadOptions:
        """Return the options that `document` wrote; ValueError if it is anything else.

        An option that is not in the document has its default: the file is older than the option.
        """
        if not isinstance(document, dict) or not set(document) <= set(STORED):
            raise ValueError(f"the stored options of reading are {document!r}, expected some of {STORED}")
        try:
            return cls(**document)
        except SourceError as error:
            raise ValueError(f"the stored options of reading cannot be used: {error}") from None

    @property
    def keeps(self) -> bool:
        """True if columns are handed out as text, the time and the key among them."""
        return bool(self.keep) or self.time_column is not None or self.key is not None

    def clock(self) -> Clock | KeyedClock | None:
        """Return a reader of the times of rows, if they have any; with keys, each key has its own."""
        if self.time_column is None:
            return None
        return Clock(self.time_format) if self.key is None else KeyedClock(self.time_format)

    def time_parts(self, names: Sequence[str] | None) -> list[str | int]:
        """Return the columns that hold the time of a row: none, one, or several (``Date+Time``)."""
        column = self.time_column
        if not isinstance(column, str) or column in (names or ()):
            return [] if column is None else [column]
        return list(map(str.strip, column.split("+")))

    def named(self, width: int, source: str) -> list[str] | None:
        """Return the names given for all columns of a source that has none of its own, if there are some."""
        if self.titles is None:
            return None
        if len(self.titles) != width:
            what = f"{source}: {len(self.titles)} names were given for {width} columns"
            raise SourceError(what, Hint("titles", None, "gives each column its name"))
        return list(self.titles)

    def choose(
        self,
        names: Sequence[str] | None,
        width: int,
        source: str,
        text: Callable[[], Collection[int]] = tuple,
        aside: Collection[int] = (),
    ) -> Chosen:
        """Return the columns to read of a source that has these.

        Parameters
        ----------
        names, width
            The names of all its columns, where there are any, and their number.
        source
            Its name, for messages.
        text
            Returns the columns that hold no numbers; called if they are to be excluded.
        aside
            Columns that are not learnt unless ``columns`` asks for them, such as one that numbers rows.

        Examples
        --------
        >>> ReadOptions(columns="0:2", names=("a", "b")).choose(["b", "time", "a"], 3, "x.csv")
        Chosen(learnt=[2, 0], kept=[])
        >>> ReadOptions(keep="time").choose(["time", "a", "b"], 3, "x.csv")
        Chosen(learnt=[1, 2], kept=[0])
        """
        marks = self.time_parts(names) + ([] if self.key is None else [self.key])
        marked = column_numbers(marks, names, width, source)
        if len(marked) > len(marks):
            raise SourceError(f"{source}: expected one column for the time and one for the key, got {marks}")
        if len(set(marked)) < len(marked):
            raise SourceError(
                f"{source}: column {self.time_column} cannot be both the time and the key of a row",
                Hint("key", None, "names the column that says whose a row is"),
            )
        kept = list(dict.fromkeys([*marked, *column_numbers(self.keep or (), names, width, source)]))
        # An input called x4 is column 4 of a source without names.
        numbered = self.names is not None and not set(self.names) & set(names or self.names)
        if self.names is not None and names is not None and not numbered:
            return Chosen(named_columns(self.names, names, width, source), kept)
        learnt = chosen_columns(self.columns, names, width, source, self.exclude, text)
        left_out = {*kept, *(aside if self.columns is None else ())}
        if left_out:
            learnt = [number for number in learnt if number not in left_out]
        if numbered and called_by_number(learnt) != list(self.names or ()):
            return Chosen(named_columns(self.names or (), names or (), width, source), kept)
        if not learnt:
            raise SourceError(f"{source}: all columns are kept as text: nothing is left to learn from")
        return Chosen(learnt, kept)

    def unknown(
        self,
        names: Sequence[str] | None,
        width: int,
        source: str,
        text: Callable[[], Collection[int]] = tuple,
        aside: Collection[int] = (),
    ) -> list[str]:
        """Return the columns that would be learnt, were the inputs not given by name; see `choose`.

        Examples
        --------
        >>> ReadOptions(names=("a", "b")).unknown(["a", "b", "new"], 3, "x.csv")
        ['new']
        """
        if self.names is None or self.columns is not None or names is None:
            return []
        free = replace(self, names=None).choose(names, width, source, text, aside)
        known = {*self.choose(names, width, source, text, aside).learnt, *free.kept}
        return [names[number] for number in free.learnt if number not in known]

    def number(self, word: str) -> float:
        """Parse a number as CSV has it; ValueError if it is none."""
        if "_" in word:  # Python reads 1_000 as a number; nobody else does
            raise ValueError(word)
        if self.thousands is not None and GROUPED[self.thousands].fullmatch(word):
            word = GROUPS[self.thousands].sub("", word)
        if self.decimal == ",":
            if "." in word:  # 1.000 may be a thousand
                raise ValueError(word)
            word = word.replace(",", ".")
        return float(word)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Words of `na`, in lower case."""
        return tuple(str(one).strip().lower() for one in self._na if _as_number(one) is None)

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """All words for a missing value in CSV, in lower case."""
        return (*MISSING, *self.words)

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """Numbers of `na`."""
        return tuple(number for one in self._na if (number := _as_number(one)) is not None)

    @property
    def _na(self) -> Sequence[str | float]:
        if self.na is None:
            return ()
        return self.na.split(",") if isinstance(self.na, str) else self.na

    def recoded(self) -> bool:
        """Return True if the encoding writes digits otherwise than ASCII: lines cannot be cut from it."""
        return self.encoding is not None and "0,;\n".encode(self.encoding) != b"0,;\n"

    def decoded(self, line: bytes, errors: str = "replace") -> str:
        """Return the line as text; bytes that are no text are replaced."""
        return line.decode("utf-8" if self.recoded() else self.encoding or "utf-8", errors=errors)

    def with_gaps(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put NaN in the place of the numbers of `na`."""
        for number in self.numbers:
            rows[rows == number] = np.nan
        return rows


STORED = tuple(option.name for option in fields(ReadOptions) if option.metadata.get("stored", True))
"""Options that decide which numbers are read: they are kept with a model."""


def _as_number(one: Any) -> float | None:
    try:
        return None if "_" in str(one) else float(one)
    except ValueError:
        return None


def _na(value: Any) -> str | tuple[str | float, ...] | None:
    if isinstance(value, str | None):
        return value
    words = tuple(value) if isinstance(value, Iterable) else (None,)
    if not all(isinstance(one, str | Real) for one in words):
        raise SourceError(f"na must be words and numbers for a missing value, got {value!r}")
    return words


def called_by_number(columns: Sequence[int]) -> list[str] | None:
    """Return names by their numbers for chosen columns without names; None if these are the first ones.

    Examples
    --------
    >>> called_by_number([2, 3]), called_by_number([0, 1])
    (['x2', 'x3'], None)
    """
    numbers = list(columns)
    return None if numbers == list(range(len(numbers))) else [f"x{number}" for number in numbers]


def _titles(value: Any) -> tuple[str, ...] | None:
    """Return names of columns, each without blanks around it."""
    if value is None:
        return None
    words = value.split(",") if isinstance(value, str) else value
    names = tuple(words) if isinstance(words, Iterable) else (None,)
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise SourceError(f"titles must be names of columns such as 'a,b,c', got {value!r}")
    return tuple(map(str.strip, names))


def _count(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or not least <= value < LARGEST_COUNT:
        raise SourceError(f"{name} must be at least {least} and whole, got {value!r}")
    return index(value)


def _rows(rows: Any) -> tuple[int, int | None]:
    try:
        start, stop = rows
        if stop is None:
            return _count("rows", start, 0), None
        return _count("rows", start, 0), _count("rows", stop, start + 1)
    except (SourceError, TypeError, ValueError):
        raise SourceError(f"expected a range of rows such as (0, 1000), got {rows}") from None


def _column(name: str, value: Any) -> str | int | None:
    return value if isinstance(value, str | None) else _count(name, value, 0)


def _columns(name: str, value: Any) -> str | tuple[str | int, ...] | None:
    if isinstance(value, str | None):
        return value
    try:
        return tuple(one if isinstance(one, str) else index(one) for one in value)
    except TypeError:
        raise SourceError(f"{name} must be names, numbers or ranges of columns, got {value!r}") from None
