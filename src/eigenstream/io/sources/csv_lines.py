"""Parser of CSV: numbers between delimiters, with or without a line of names."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from . import cells
from .batch import CHOOSE, NO_TEXT, SKIP, Hint, SourceError, some_of
from .lines import WIDEST_TEXT, Complaint, Parser, Piece, refuse_wide, shortened
from .options import GROUPED, ReadOptions
from .time_formats import CLOCK, is_day
from .times import time_hints

DELIMITERS = (",", "\t", ";", "|")
BETWEEN_SPACES = re.compile(r"[^ \t\n\r\v\f]+")
DECIMAL_COMMA = re.compile(r"[-+]?(?:\d+,\d*|,\d+)(?:[eE][-+]?\d+)?")
MARKED = re.compile(r"[-+]?\d*([.,])\d*(?:[eE][-+]?\d+)?")
"""A number with a decimal mark."""
LOOK = 10_000
"""Rows in which a decimal mark is looked for; after as many rows of whole numbers it is a point: a row with a
comma is an error then, and looking takes no more time."""
TO_POINT = bytes.maketrans(b".,\x01", b"\x01.,")
"""A comma becomes a point, and a point something that no number has; each byte can be turned back."""
TO_POINT_WORDS = {ord("."): "\x01", ord(","): ".", 1: ","}
MARKER = re.compile(r"[^\d]{1,20}|#\w+.?")
"""Words that people write for a missing value; an error proposes them for `na`."""
YEARS = range(1000, 3000)
"""Whole numbers that are names of columns rather than values where they go on by equal steps."""
FEWEST_YEARS, FEWEST_NUMBERS = 3, 4
"""Least number of years, and of other whole numbers, in equal steps that are taken for names."""
LONGEST_NAME = 16
"""Signs that a whole number has less than to be taken for a name."""
MOST_STEPS = 1000
"""Numbers of the first line whose steps are compared."""
SKIP_LINES = Hint("skip_lines", None, "says how many lines stand before the names")
SAMPLE, SAMPLED = 64, 2**16
"""Rows that show where columns end, and the most cells of them, but two rows at least: enough that a value
which is sometimes missing is seen, and read in some milliseconds."""
ROW_NAMES = "row.names"
"""Name of a first column that the header lacks; R's own word, whose tables are so written."""
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
    remark
        The comment right before the first line, if there is one that may hold names.
    sample
        Returns this number of the lines after the first; none where they would have to be waited for.
    """

    def __init__(
        self,
        first: bytes,
        source: str,
        options: ReadOptions,
        line: int,
        peek: Callable[[], bytes | None],
        remark: bytes | None = None,
        sample: Callable[[int], list[bytes]] = lambda count: [],
    ) -> None:
        self.options, self.first = options, first
        for delimiter in (*DELIMITERS, " "):
            refuse_wide(first.count(delimiter.encode()), source, line)
        text = options.decoded(first)
        self.delimiter = options.delimiter or self._likely_delimiter(text, peek)
        self.given = options.decimal is not None
        """True if an option says which the decimal mark is."""
        fields = self._fields(text)
        self.full = len(fields)
        self.settle(options.decimal or self._known_mark())
        self.counting = ""
        """Reason for which a first line with numbers is taken for names; empty if it is not."""
        known = set(options.names or ())
        self.titled = options.header or False
        if options.header is None:
            self.titled = bool(known) and known <= {field.strip() for field in fields}
            self.titled = self.titled or self._is_header(fields, peek)
        self.titles = [field.strip() for field in fields] if self.titled else None
        self.remarked = False
        """True if a comment holds the names."""
        if remark is not None and options.header is not False and options.titles is None:
            self._take_names(remark, fields)
        if self.titled and "\N{REPLACEMENT CHARACTER}" in text and options.encoding is None:
            raise SourceError(
                f"{source}, line {line}: not text in UTF-8",
                Hint("encoding", "latin-1", "reads many such files"),
            )

        rows = [
            self._fields(options.decoded(row)) for row in sample(max(2, min(SAMPLE, SAMPLED // self.full)))
        ]
        self.indexed = self.titled and options.titles is None and self._find_index(rows)
        """True if the header lacks the name of the first column."""

        def example() -> list[str]:
            return self._fields(options.decoded(peek() or b"")) if self.titled else fields

        def without_numbers() -> list[int]:
            data = rows if self.titled else [fields, *rows]
            if not data or len(data[0]) != len(example()):
                data = [example()]
            return [i for i in range(len(data[0])) if not self._is_value(self._first_value(data, i))]

        self._emptied = 0
        """Number of columns at the end that have neither name nor value."""
        columns = self._columns(example, rows if self.titled else [fields, *rows], source)
        aside = [0] if self.indexed else []
        try:
            self.chosen, self._kept = options.choose(self.titles, columns, source, without_numbers, aside)
        except SourceError as error:
            more = self._other_delimiter(peek() or b"")
            if options.exclude is not None:  # as text, perhaps
                more = more or self._grouped_in(example())
            raise SourceError(error.what, *error.hints, *more) from None
        self.unknown = options.unknown(self.titles, columns, source, without_numbers, aside)
        if columns < self.full:
            self.chosen = list(self.chosen)  # a range stands for all fields
        self.kept = [self.titles[i] if self.titles else str(i) for i in self._kept]
        self.width = len(self.chosen)
        self.names = None if self.titles is None else [self.titles[i] for i in self.chosen]
        self.numbers = list(self.chosen)
        self._seen = False
        """True once a line has been parsed."""
        first_row = rows[0] if rows and not self.titled and options.header is None else []
        self._heads = [
            i
            for i, below in enumerate(first_row[: len(fields)])
            if self._is_number(below) and fields[i].strip() and not self._is_value(fields[i])
        ]
        """Columns in which the first line, though it is taken for data, has a word above a number."""

    def _known_mark(self) -> str | None:
        """Return the decimal mark, if other marks leave but one; None if numbers have to show it."""
        # A single field with a comma may as well be two behind a wrong delimiter.
        if self.delimiter == "," or self.options.thousands == "," or self.full == 1:
            return "."
        return "," if self.options.thousands == "." else None

    def settle(self, mark: str | None) -> None:
        """Go on with this decimal mark; None: the first number that has one decides."""
        self.mark = mark
        self.options = replace(self.options, decimal=mark)

    def look(self, piece: Piece, row: int) -> None:
        """Look for the first number with a decimal mark, where none has been seen in the rows before."""
        if self.mark is None and row >= LOOK:
            self.settle(".")
        if self.mark is not None or not (b"," in piece.data or b"." in piece.data):
            return
        for line in piece.part(0, min(len(piece), LOOK - row)).lines():
            fields = self._fields(self.options.decoded(line))
            words = (fields[i].strip() for i in self.chosen if i < len(fields))
            found = next(filter(None, map(MARKED.fullmatch, words)), None)
            if found is not None:
                self.settle(found[1])
                return

    def _take_names(self, remark: bytes, fields: Sequence[str]) -> None:
        """Take the names from a comment that has as many as there are fields of data."""
        titles = [field.strip() for field in self._fields(self.options.decoded(remark))]
        named = [title for title in titles if title]
        fits = len(titles) == len(fields) and len(set(named)) == len(named) and all(titles[: len(named)])
        if fits and any(map(self._is_number, fields)) and not any(map(self._is_number, titles)):
            self.titles, self.titled, self.remarked, self.counting = titles, False, True, ""

    def _find_index(self, rows: Sequence[Sequence[str]]) -> bool:
        """Return True if rows have one field more than there are names, and it is the first that has none.

        Where the last one is empty in all rows, they end in a delimiter.
        """
        assert self.titles is not None
        if self.full < 2 or not rows or any(len(row) != self.full + 1 for row in rows):
            return False
        if not any(map(self._is_number, rows[0][1:])):  # names, below a line that is none
            return False
        self.full += 1
        if not any(row[-1].strip() for row in rows):
            return False
        self.titles = [ROW_NAMES, *self.titles]
        return True

    def _columns(self, example: Callable[[], list[str]], rows: Sequence[Sequence[str]], source: str) -> int:
        """Return the number of columns: fields at the end without a name and a value are none.

        Names that are given replace those of the file.
        """
        filled = max((i + 1 for row in rows for i, one in enumerate(row) if one.strip()), default=self.full)
        filled = min(filled, self.full) if len(rows) > 1 else self.full
        titles = self.titles if self.options.titles is None else list(self.options.titles)
        named = self.full if titles is None else len(titles)
        while titles is not None and named > 1 and not titles[named - 1]:
            named -= 1
        whole = named == self.full
        if titles is not None and named < self.full:
            values = example()
            whole = filled <= named if len(rows) > 1 else not any(map(str.strip, values[named:]))
            if whole:
                titles, self.full = titles[:named], len(values) if len(values) >= named else self.full
        if not whole:
            self.options.named(filled, source)  # raises where names were given
        self.titles = titles
        if titles is None:
            self._emptied = self.full - filled
        return filled if titles is None else len(titles)

    def quick(self, piece: Piece) -> NDArray[np.float64] | None:
        data, separator = piece.data, self.delimiter.encode()
        quoted = b'"' in data
        if quoted and (piece.occurrences(b'"') % 2).any():  # a quoted text without an end
            return None
        if self.delimiter == " ":
            data = b"".join(b" ".join(line.split()) + b"\n" for line in piece.lines())
        missing = self.options.missing
        if self.options.decimal == ",":
            missing = tuple(word.translate(TO_POINT_WORDS) for word in missing)
            if self.delimiter == ",":
                rows = self._taken_apart(data, len(piece), missing, TO_POINT_WORDS)
                self._seen = self._seen or rows is not None
                return rows
            data = data.translate(TO_POINT)
        rows, in_place = None, len(separator) == 1 and cells.available()
        if in_place:
            rows = cells.parsed(data, len(piece), self.full, separator, self.chosen, missing)
        if rows is None and (self.delimiter != " " if quoted else not in_place):
            rows = self._taken_apart(data, len(piece), missing)
        self._seen = self._seen or rows is not None
        return rows

    def _taken_apart(
        self, data: bytes, count: int, missing: Sequence[str], marks: dict[int, str] | None = None
    ) -> NDArray[np.float64] | None:
        """Parse lines cell by cell: where quotes may hide delimiters, and without pyarrow."""
        text = self.options.decoded(data)
        lines = [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]
        try:
            rows = list(csv.reader(lines, delimiter=self.delimiter))
        except csv.Error:
            return None
        if len(rows) != count or any(len(row) != self.full for row in rows):
            return None
        if marks is not None:
            rows = [[word.translate(marks) for word in row] for row in rows]
        return cells.parsed_fields(rows, self.chosen, missing)

    def row(self, line: bytes) -> list[float] | Complaint:
        if line.count(b'"') % 2 and b'"' in line.rpartition(self.delimiter.encode())[2]:
            what = "a quoted text goes on in the next line; only rows of one line each are read"
            return Complaint("", what, (SKIP,))
        separators = line.count(self.delimiter.encode())
        plain = b'"' not in line and self.delimiter != " "
        if separators > WIDEST_TEXT or (plain and separators + 1 != self.full):
            return self._wrong_width(separators + 1, line)
        fields = self._fields(self.options.decoded(line))
        if len(fields) != self.full:
            return self._wrong_width(len(fields), line)
        numbers = []
        for place, i in enumerate(self.chosen):
            try:
                numbers.append(self._number(fields[i]))
            except ValueError:
                what = f"{shortened(fields[i])} is not a number"
                return Complaint(self.column(place), what, self._hints(i, fields, line))
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

    def notes(self) -> list[str]:
        notes = list[str]()
        if self.titles is None and self.options.names and not _are_numbers(self.options.names):
            known = some_of(self.options.names)
            notes.append(f"the first line has no names: columns are taken by their order for {known}")
        if self.counting:
            notes.append(
                f"the first line {self.counting}: it is taken for names; header=False reads it as data"
            )
        if self.remarked and self.titles:
            notes.append(f"the comment before the first row is taken for names ({some_of(self.titles)})")
        if self.indexed:
            notes.append(
                f"rows have one field more than there are names: the first one, {ROW_NAMES}, is not learnt; "
                "columns that are named decide"
            )
        if self._emptied:
            notes.append(
                f"{self._emptied} columns at the end have no value in the first rows: they are taken for none"
            )
        if self.mark == "," and not self.given:
            notes.append("a comma is taken for the decimal mark")
        return notes

    def has_text(self, line: bytes) -> bool:
        """Return True if a row has a text in one of its columns, read or not: a time, a name, a place."""
        return not all(map(self._is_value, self._fields(self.options.decoded(line))))

    def may_count_rows(self) -> bool:
        """Return True if the first column has the name of an index that pandas writes."""
        return self.titles is not None and self.chosen[0] == 0 and self.titles[0] in INDEX_NAMES

    def _wrong_width(self, found: int, line: bytes) -> Complaint:
        what, hints = f"has {found} fields where {self.full} were expected", tuple[Hint, ...]()
        if line.lstrip()[:1] == b"#" or (not self._seen and self._begins_as_comment()):
            hints = (self._comment(),)
        elif not self._seen:
            hints = self._other_delimiter(line) or ((SKIP_LINES,) if self.titled else ())
        return Complaint("", what, hints)

    def _hints(self, i: int, fields: Sequence[str], line: bytes) -> tuple[Hint, ...]:
        word = fields[i].strip()
        if fields[0].lstrip()[:1] == "#" or (not self._seen and self._begins_as_comment()):
            return (self._comment(),)
        other = () if self._seen else self._other_delimiter(line)
        if other:
            return other
        timed = () if self._seen or self.kept else time_hints(*self._time(i, fields))
        timed = timed or self._other_half(i, fields)
        if timed:
            return timed
        grouped = self._grouped(word)
        if grouped:
            return grouped
        if DECIMAL_COMMA.fullmatch(word):
            both = (Hint("delimiter", ",", "says that columns have commas between them"),)
            thousands = (Hint("thousands", ",", "reads it as a whole number"),)
            return (
                *(both if self.delimiter == "," else ()),
                Hint("decimal", ",", "reads it as a number"),
                *(thousands if self.delimiter == "," and GROUPED[","].fullmatch(word) else ()),
            )
        if self._seen and MARKER.fullmatch(word):
            left_out = Hint("exclude", self._also_excluded(i), "leaves the column out")
            return (Hint("na", word, "reads it as a missing value"), SKIP, left_out)
        if not self._seen and self.titled and not any(self._is_value(fields[i]) for i in self.chosen):
            return (SKIP,) if self.full > 1 else (SKIP_LINES,)  # a line of units, or one before the names
        if not self._seen and self._heads and line.startswith(self.first):
            return (Hint("header", None, "takes the first line for names"), CHOOSE, NO_TEXT)
        return ()

    def _also_excluded(self, i: int) -> str:
        """Return the columns that are left out, and this one."""
        name, before = self.titles[i] if self.titles else str(i), self.options.exclude
        name = str(i) if "," in name or not name or name.strip().isdigit() else name
        listed = [before] if isinstance(before, str) else list(before or ())
        return ",".join(map(str, [*listed, name]))

    def _time(self, i: int, fields: Sequence[str]) -> tuple[str, str]:
        """Return the name and the text of a column, of two if the next one holds a time of day."""
        names, word = self.titles or list(map(str, range(self.full))), fields[i].strip()
        following = fields[i + 1].strip() if i + 1 < len(names) else ""
        if CLOCK.fullmatch(following) and is_day(word):
            return f"{names[i]}+{names[i + 1]}", f"{word} {following}"
        return names[i], word

    def _other_half(self, i: int, fields: Sequence[str]) -> tuple[Hint, ...]:
        """Return a hint if the time column and this one are the date and the time of day of a row."""
        if self._seen or len(self.options.time_parts(self.titles)) != 1:
            return ()
        names, own = self.titles or list(map(str, range(self.full))), self._kept[0]
        pairs = {(own, i), (i, own)} if own < len(fields) else set()
        for day, clock in pairs:
            if is_day(fields[day]) and CLOCK.fullmatch(fields[clock].strip()):
                return (
                    Hint("time_column", f"{names[day]}+{names[clock]}", "takes both as the time of a row"),
                )
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

    def _grouped_in(self, fields: Sequence[str]) -> tuple[Hint, ...]:
        """Return hints for the first number with thousands marks in a line."""
        return next(filter(None, (self._grouped(field.strip()) for field in fields)), ())

    def _other_delimiter(self, following: bytes) -> tuple[Hint, ...]:
        """Return a hint if the given delimiter is not in the first line, or less often than another."""
        if self.options.delimiter is None:
            return ()
        text = self.options.decoded(self.first)
        likely = self._likely_delimiter(text, lambda: following)
        words = len(BETWEEN_SPACES.findall(text)) if likely == " " else text.count(likely) + 1
        if likely == self.delimiter or words <= self.full:
            return ()
        why = f"which has no {self.delimiter!r}" if self.full == 1 else f"better than {self.delimiter!r}"
        return (Hint("delimiter", likely, f"fits the first line, {why}"),)

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

    def _first_value(self, rows: Sequence[Sequence[str]], i: int) -> str:
        """Return the first field of a column that is not missing; the first one if all are."""
        found = (
            row[i] for row in rows if i < len(row) and row[i].strip().lower() not in self.options.missing
        )
        return next(found, rows[0][i])

    def _is_number(self, field: str) -> bool:
        try:
            return not np.isnan(self._number(field))
        except ValueError:
            return self.mark is None and bool(DECIMAL_COMMA.fullmatch(field.strip()))

    def _likely_delimiter(self, text: str, peek: Callable[[], bytes | None]) -> str:
        there = [d for d in DELIMITERS if d in text and d != self.options.decimal]
        if not there:
            return self._spaces_or_none(text, peek)
        for delimiter in there:
            if delimiter != "," and all(map(_is_decimal, text.split(delimiter))):
                return delimiter
        words = BETWEEN_SPACES.findall(text)
        if there == [","] and len(words) > 1 and all(map(_is_decimal, words)):
            # "1,5 2,5" has decimal commas, "1, 2" has not.
            return "," if all(map(_is_decimal, text.split(","))) else " "
        if len(there) == 1:
            return there[0]
        following = self.options.decoded(peek() or b"")

        def fit(delimiter: str) -> tuple[bool, float, int, bool]:
            """Return how well a delimiter fits: as often in the next line, between numbers there, often."""
            count, values = text.count(delimiter), following.split(delimiter)
            share = sum(map(_is_decimal, values)) / len(values)
            return len(values) == count + 1, share, count, delimiter == ","

        return max(there, key=fit)

    def _spaces_or_none(self, text: str, peek: Callable[[], bytes | None]) -> str:
        """Return a space if numbers stand between spaces, else a comma: a name may have spaces too."""
        only = ";" if self.options.decimal == "," else ","
        words = BETWEEN_SPACES.findall(text)
        if len(words) < 2:
            return only
        if not all(map(_is_decimal, words)):
            words = BETWEEN_SPACES.findall(self.options.decoded(peek() or b""))
        return " " if len(words) > 1 and any(map(_is_decimal, words)) else only

    def _is_header(self, fields: Sequence[str], peek: Callable[[], bytes | None]) -> bool:
        """Return True for a line without a single number, or one whose numbers can only be names."""
        numbers = [i for i, field in enumerate(fields) if self._is_number(field)]
        if not numbers:
            return True
        counted = fields[1:] if not fields[0].strip() else fields
        counts = len(counted) > 2 and [one.strip() for one in counted] == [
            str(i) for i in range(len(counted))
        ]
        quoted, steps = self._are_quoted(numbers), _in_equal_steps([fields[i] for i in numbers])
        if not (counts or quoted or steps):
            return False
        line = peek() or b""
        following = self._fields(self.options.decoded(line))
        if counts and len(following) == len(fields) and not all(map(_is_whole, following[1:])):
            self.counting = "counts from 0"
        elif quoted and self._begins_unquoted(line, numbers, len(fields)):
            self.counting = "has quotes around its numbers, and the next one has none"
        elif steps and self._is_below_names(fields, following, numbers):
            first = ", ".join(fields[i].strip() for i in numbers[:2])
            self.counting = f"has numbers that go on by equal steps ({first}, ...)"
        return bool(self.counting)

    def _are_quoted(self, numbers: Sequence[int]) -> bool:
        """Return True if all fields of the first line with something in them are quoted, without need."""
        raw = self._raw(self.first) if b'"' in self.first else []
        if len(raw) <= numbers[-1] or any(self.delimiter in raw[i] for i in numbers):
            return False
        return all(one[0] == one[-1] == '"' and len(one) > 1 for one in raw if one)

    def _begins_unquoted(self, line: bytes, numbers: Sequence[int], width: int) -> bool:
        """Return True if a line has values without quotes where the first one has numbers."""
        raw = self._raw(line)
        raw = raw[1:] if len(raw) == width + 1 else raw  # a name of the row that the header lacks
        below = [raw[i] for i in numbers] if len(raw) == width else []
        return any(map(self._is_number, below)) and all(
            '"' not in one and self._is_value(one) for one in below
        )

    def _raw(self, line: bytes) -> list[str]:
        """Return the fields of a line with their quotes."""
        text = self.options.decoded(line).rstrip("\r\n")
        if self.delimiter == " ":
            return BETWEEN_SPACES.findall(text)
        return [one.strip() for one in re.findall(_field(self.delimiter), text)]

    def _is_below_names(
        self, fields: Sequence[str], following: Sequence[str], numbers: Sequence[int]
    ) -> bool:
        """Return True if words of the first line stand above words, and its numbers above other values.

        A name of a year is a year, and then one other name may stand above numbers; where names are other
        numbers, some values below them must have decimals.
        """
        if len(following) != len(fields):
            return False
        years = all(_is_year(fields[i]) for i in numbers)
        others = [(fields[i].strip(), following[i].strip()) for i in range(len(fields)) if i not in numbers]
        while others and others[-1] == ("", ""):  # lines that end in a delimiter
            others.pop()
        if not others or any(time_hints("", name) for name, _ in others):
            return False
        if years and others[0][0] == "" and others[0][1] in ("0", "1"):  # an index without a name
            others[0] = ("", "row")
        if any(self._is_number(below) and not (years and name) for name, below in others):
            return False
        values = [following[i] for i in numbers]
        if all(self._is_value(below) for _, below in others) or not all(map(self._is_value, values)):
            return False
        if years:
            return not all(map(_is_year, values))
        return not all(_is_whole(one) for one in values if self._is_number(one))


def _field(delimiter: str) -> re.Pattern[str]:
    """Return a pattern of a field with what ends the one before it; a quoted one may hold the delimiter."""
    end = re.escape(delimiter)
    return re.compile(rf'(?:^|(?<={end}))(?:\s*"(?:[^"]|"")*"\s*|[^{end}]*)(?={end}|$)')


def _in_equal_steps(words: Sequence[str]) -> bool:
    """Return True for whole numbers in equal steps, enough of them to be names."""
    if len(words) < FEWEST_YEARS or not all(_is_whole(word) and len(word) < LONGEST_NAME for word in words):
        return False
    if len(words) < FEWEST_NUMBERS and not all(map(_is_year, words)):
        return False
    numbers = [int(float(word)) for word in words[:MOST_STEPS]]
    return numbers[1] != numbers[0] and len({b - a for a, b in pairwise(numbers)}) == 1


def _is_year(word: str) -> bool:
    return len(word.strip()) == 4 and _is_whole(word) and int(word) in YEARS


def _are_numbers(names: Sequence[str]) -> bool:
    """Return True for names that inputs without names have: x0, x1."""
    return all(re.fullmatch(r"x\d+", name) for name in names)


def _is_decimal(word: str) -> bool:
    """Return True for a number with a decimal point or comma."""
    try:
        float(word.strip().replace(",", "."))
    except ValueError:
        return False
    return True


def _is_whole(field: str) -> bool:
    return field.strip().lstrip("+-").isdigit()
