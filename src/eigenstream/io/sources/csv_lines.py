"""Parser of CSV: numbers between delimiters, with or without a line of names."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from . import cells
from .batch import SKIP, Hint, SourceError
from .lines import WIDEST_TEXT, Complaint, Parser, Piece, refuse_wide, shortened
from .options import GROUPED, ReadOptions
from .times import time_hints

DELIMITERS = (",", "\t", ";", "|")
BETWEEN_SPACES = re.compile(r"[^ \t\n\r\v\f]+")
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
MARKER = re.compile(r"[^\d]{1,20}|#\w+.?")
"""Words that people write for a missing value; an error proposes them for `na`."""
SKIP_LINES = Hint("skip_lines", None, "says how many lines stand before the names")
INDEX_NAMES = ("", "Unnamed: 0")
"""Names of the column of row numbers that pandas writes."""


class CsvParser(Parser):
    """Parser of CSV; the first line shows its format.

    Parameters
    ----------
    first, line
        The first line, and its number.
    source
        For messages.
    options
        Columns to read, and what is known about the text.
    peek
        Returns the line after the first, if there is one, where the first does not show the format.
    """

    def __init__(
        self, first: bytes, source: str, options: ReadOptions, line: int, peek: Callable[[], bytes | None]
    ) -> None:
        self.options, self.first = options, first
        for delimiter in (*DELIMITERS, " "):
            refuse_wide(first.count(delimiter.encode()), source, line)
        text = options.decoded(first)
        self.delimiter = options.delimiter or self._likely_delimiter(text, peek)
        fields = self._fields(text)
        self.full = len(fields)
        self.counting = False
        """True if the names are the numbers from 0."""
        known = set(options.names or ())
        self.titled = options.header or False
        if options.header is None:
            self.titled = bool(known) and known <= {field.strip() for field in fields}
            self.titled = self.titled or self._is_header(fields, peek)
        self.titles = [field.strip() for field in fields] if self.titled else None
        if self.titled and "\N{REPLACEMENT CHARACTER}" in text and options.encoding is None:
            raise SourceError(
                f"{source}, line {line}: not text in UTF-8",
                Hint("encoding", "latin-1", "reads many such files"),
            )

        def without_numbers() -> list[int]:
            example = self._fields(options.decoded(peek() or b"")) if self.titled else fields
            return [i for i, field in enumerate(example) if not self._is_value(field)]

        self.chosen, self._kept = options.choose(self.titles, self.full, source, without_numbers)
        self.kept = [self.titles[i] if self.titles else str(i) for i in self._kept]
        self.width = len(self.chosen)
        self.names = None if self.titles is None else [self.titles[i] for i in self.chosen]
        self._seen = False
        """True once a line has been parsed."""

    def quick(self, piece: Piece) -> NDArray[np.float64] | None:
        data, separator = piece.data, self.delimiter.encode()
        quoted = b'"' in data
        if quoted and (piece.occurrences(b'"') % 2).any():  # a quoted text without an end
            return None
        if self.delimiter == " ":
            data = b"".join(b" ".join(line.split()) + b"\n" for line in piece.lines())
        if self.options.decimal == ",":
            if b"." in data:
                return None
            data = data.replace(b",", b".")
        rows, in_place = None, len(separator) == 1 and cells.available()
        if in_place:
            missing = self.options.missing
            rows = cells.parsed(data, len(piece), self.full, separator, self.chosen, missing)
        if rows is None and (self.delimiter != " " if quoted else not in_place):
            rows = self._taken_apart(data, len(piece))
        self._seen = self._seen or rows is not None
        return rows

    def _taken_apart(self, data: bytes, count: int) -> NDArray[np.float64] | None:
        """Parse lines cell by cell: where quotes may hide delimiters, and without pyarrow."""
        text = self.options.decoded(data)
        lines = [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]
        try:
            rows = list(csv.reader(lines, delimiter=self.delimiter))
        except csv.Error:
            return None
        if len(rows) != count or any(len(row) != self.full for row in rows):
            return None
        return cells.parsed_fields(rows, self.chosen, self.options.missing)

    def row(self, line: bytes) -> list[float] | Complaint:
        if line.count(b'"') % 2 and b'"' in line.rpartition(self.delimiter.encode())[2]:
            what = "a quoted text goes on in the next line; only rows of one line each are read"
            return Complaint("", what, (SKIP,))
        separators = line.count(self.delimiter.encode())
        plain = b'"' not in line and self.delimiter != " "
        if separators > WIDEST_TEXT or (plain and separators + 1 != self.full):
            return self._wrong_width(separators + 1)
        fields = self._fields(self.options.decoded(line))
        if len(fields) != self.full:
            return self._wrong_width(len(fields))
        numbers = []
        for place, i in enumerate(self.chosen):
            try:
                numbers.append(self._number(fields[i]))
            except ValueError:
                what = f"{shortened(fields[i])} is not a number"
                return Complaint(self.column(place), what, self._hints(i, fields))
        self._seen = True
        return numbers

    def texts(self, line: bytes) -> list[str]:
        text = self.options.decoded(line)
        if self.delimiter != " " and '"' not in text:
            fields = text.rstrip("\r\n").split(self.delimiter, max(self._kept) + 1)
        else:
            fields = self._fields(text)
        return [fields[i] if i < len(fields) else "" for i in self._kept]

    def column(self, number: int) -> str:
        i = self.chosen[number]
        return f"column {i}" if self.titles is None else f"column {i} ({self.titles[i]})"

    def note(self) -> str | None:
        if not self.counting:
            return None
        return "the first line counts from 0: it is taken for names; without a header it is data"

    def may_count_rows(self) -> bool:
        """Return True if the first column has the name of an index that pandas writes."""
        return self.titles is not None and self.chosen[0] == 0 and self.titles[0] in INDEX_NAMES

    def _wrong_width(self, found: int) -> Complaint:
        what, hints = f"has {found} fields where {self.full} were expected", tuple[Hint, ...]()
        if not self._seen and self._begins_as_comment():
            hints = (self._comment(),)
        elif not self._seen and self.titled:
            hints = self._other_delimiter() or (SKIP_LINES,)
        return Complaint("", what, hints)

    def _hints(self, i: int, fields: Sequence[str]) -> tuple[Hint, ...]:
        word = fields[i].strip()
        if fields[0].lstrip()[:1] == "#" or (not self._seen and self._begins_as_comment()):
            return (self._comment(),)
        other = () if self._seen else self._other_delimiter()
        if other:
            return other
        timed = () if self._seen or self.kept else time_hints(self.titles[i] if self.titles else str(i), word)
        if timed:
            return timed
        grouped = self._grouped(word)
        if grouped:
            return grouped
        if self.delimiter != "," and DECIMAL_COMMA.fullmatch(word):
            return (Hint("decimal", ",", "reads it as a number"),)
        if self._seen and MARKER.fullmatch(word):
            return (Hint("na", word, "reads it as a missing value"), SKIP)
        if not self._seen and self.titled and not any(self._is_value(fields[i]) for i in self.chosen):
            return (SKIP,) if self.full > 1 else (SKIP_LINES,)  # a line of units, or one before the names
        return ()

    def _grouped(self, word: str) -> tuple[Hint, ...]:
        """Return hints for a number with thousands marks."""
        for mark, decimal in ((".", ","), (",", "."), (" ", None)):
            if mark == self.options.thousands or not GROUPED[mark].fullmatch(word):
                continue
            ends = decimal is not None and decimal in word
            if ends or mark == " " or self.options.decimal == decimal == ",":
                other = ends and decimal != self.options.decimal
                turned = (Hint("decimal", decimal, "reads the decimal mark"),) if other else ()
                return (*turned, Hint("thousands", mark, "reads groups of three digits"))
        return ()

    def _other_delimiter(self) -> tuple[Hint, ...]:
        """Return a hint if the given delimiter is not in the first line, but another is."""
        there = [d for d in DELIMITERS if d.encode() in self.first and d != self.options.decimal]
        if self.options.delimiter is None or self.full > 1 or not there:
            return ()
        return (Hint("delimiter", there[0], f"fits the first line, which has no {self.delimiter!r}"),)

    def _begins_as_comment(self) -> bool:
        return self.first.lstrip()[:1] in (b"#", b"%", b"!")

    def _comment(self) -> Hint:
        sign = chr(self.first.lstrip()[0]) if self._begins_as_comment() else "#"
        return Hint("comment", sign, "passes over lines that begin with it")

    def _fields(self, text: str) -> list[str]:
        if self.delimiter == " ":
            return BETWEEN_SPACES.findall(text)
        try:
            return next(csv.reader([text.rstrip("\r\n")], delimiter=self.delimiter), [""])
        except csv.Error:
            return [text]

    def _number(self, field: str) -> float:
        word = field.strip()
        if word.lower() in self.options.missing:
            return float("nan")
        return self.options.number(word)

    def _is_value(self, field: str) -> bool:
        """Return True if the field can be in a column of numbers."""
        try:
            self._number(field)
        except ValueError:
            return bool(DECIMAL_COMMA.fullmatch(field.strip()))
        return True

    def _is_number(self, field: str) -> bool:
        try:
            return not np.isnan(self._number(field))
        except ValueError:
            return False

    def _likely_delimiter(self, text: str, peek: Callable[[], bytes | None]) -> str:
        there = [d for d in DELIMITERS if d in text and d != self.options.decimal]
        if not there:
            return self._spaces_or_none(text, peek)
        for delimiter in there:
            if delimiter != "," and all(map(_is_decimal, text.split(delimiter))):
                return delimiter
        return max(there, key=lambda d: (text.count(d), d == ","))

    def _spaces_or_none(self, text: str, peek: Callable[[], bytes | None]) -> str:
        """Return a space if numbers stand between spaces, else a comma: a name may have spaces too."""
        only = "," if self.options.decimal == "." else ";"
        words = BETWEEN_SPACES.findall(text)
        if len(words) < 2:
            return only
        if not all(map(_is_decimal, words)):
            words = BETWEEN_SPACES.findall(self.options.decoded(peek() or b""))
        return " " if len(words) > 1 and any(map(_is_decimal, words)) else only

    def _is_header(self, fields: Sequence[str], peek: Callable[[], bytes | None]) -> bool:
        """Return True for a line without a single number, or one that counts from 0."""
        if not any(map(self._is_number, fields)):
            return True
        counted = fields[1:] if not fields[0].strip() else fields
        if len(counted) < 3 or [field.strip() for field in counted] != [str(i) for i in range(len(counted))]:
            return False
        following = self._fields(self.options.decoded(peek() or b""))
        self.counting = len(following) == len(fields) and not all(map(_is_whole, following[1:]))
        return self.counting


def _is_decimal(word: str) -> bool:
    """Return True for a number with a decimal point or comma."""
    try:
        float(word.strip().replace(",", "."))
    except ValueError:
        return False
    return True


def _is_whole(field: str) -> bool:
    return field.strip().lstrip("+-").isdigit()
