"""Copies of text files in which some cells are replaced; everything else stays as it is, byte by byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from .sources.batch import SourceError
from .sources.contents import GZIP, PlainFile, Unpacked
from .sources.csv_lines import CsvParser
from .sources.json_lines import JsonLines
from .sources.line_reader import BYTE_ORDER_MARK, LineReader
from .sources.lines import Lines

LOOK = 1000
"""Rows in which the number of decimals of each column is looked for before the first row is written."""
BETWEEN_SPACES = re.compile(r"[^ \t\n\r\v\f]+")
NUMBER = re.compile(r"\s*[-+]?\d+(?:[.,](\d+))?\s*")
"""A number without an exponent, and its decimals."""
AROUND = re.compile(r"[ \t\n\r,:]*")
"""Characters between the parts of a JSON object, which has been parsed before."""


class Cell(NamedTuple):
    """Value to write into a gap, and its standard deviation."""

    value: float
    std: float


class Dialect(Protocol):
    """Way of writing the cells of a line."""

    def head(self, line: bytes) -> bytes:
        """The line of names, with those of new columns."""

    def look(self, line: bytes) -> None:
        """Learn from a row how numbers are written."""

    def row(self, line: bytes, cells: Mapping[int, Cell]) -> bytes:
        """A row with these gaps filled, by the number of the column among those that are read."""


class CsvDialect:
    """Lines of CSV: a filled cell has as many decimals as others of its column, and the same decimal mark.

    Parameters
    ----------
    parser
        The parser that has read them.
    names
        Names of the columns that are read.
    flag, std
        True adds a column with the names of filled columns, and one with the deviation of each.
    """

    def __init__(self, parser: CsvParser, names: Sequence[str], *, flag: bool, std: bool) -> None:
        self.parser, self.names, self.flag, self.std = parser, names, flag, std
        self.mark = parser.mark or "."
        self.encoding = parser.options.encoding or "utf-8"
        self.decimals: dict[int, int] = {}
        """Most decimals seen in each column."""

    def head(self, line: bytes) -> bytes:
        more = [f"{name}_std" for name in self.names] * self.std + ["filled"] * self.flag
        return self._with_more(line.decode(self.encoding, "surrogateescape"), list(map(self._cell, more)))

    def look(self, line: bytes) -> None:
        text = line.decode(self.encoding, "surrogateescape")
        spans = self._spans(text)
        for column, i in enumerate(self.parser.chosen):
            found = NUMBER.fullmatch(text[slice(*spans[i])].strip('"')) if i < len(spans) else None
            if found:
                self.decimals[column] = max(self.decimals.get(column, 0), len(found[1] or ""))

    def row(self, line: bytes, cells: Mapping[int, Cell]) -> bytes:
        text = line.decode(self.encoding, "surrogateescape")
        spans, done = self._spans(text), {}
        for column in sorted(cells, key=lambda one: self.parser.chosen[one], reverse=True):
            i = self.parser.chosen[column]
            if i < len(spans):
                start, end = spans[i]
                text = text[:start] + self._cell(self._written(column, cells[column].value)) + text[end:]
                done[column] = cells[column]
        more = []
        if self.std:
            stds = [f"{done[i].std:.4g}" if i in done else "" for i in range(len(self.names))]
            more += [self._cell(one.replace(".", self.mark)) for one in stds]
        if self.flag:
            more.append(self._cell("+".join(self.names[i] for i in sorted(done))))
        return self._with_more(text, more)

    def _written(self, column: int, value: float) -> str:
        decimals = self.decimals.get(column)
        word = f"{value:.6g}" if decimals is None else f"{value:.{decimals}f}"
        return word.replace(".", self.mark)

    def _cell(self, word: str) -> str:
        """The word, quoted where it holds a sign that would end the cell, as `csv` reads it."""
        if self.parser.delimiter not in word and '"' not in word:
            return word
        return '"' + word.replace('"', '""') + '"'

    def _with_more(self, text: str, more: Sequence[str]) -> bytes:
        """The line with cells at its end."""
        if more:
            body = text.rstrip("\r\n")
            text = self.parser.delimiter.join((body, *more)) + text[len(body) :]
        return text.encode(self.encoding, "surrogateescape")

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """First sign of each cell, and the one after its last."""
        body, delimiter = text.rstrip("\r\n"), self.parser.delimiter
        if delimiter == " ":
            return [found.span() for found in BETWEEN_SPACES.finditer(body)]
        spans, start, quoted = [], 0, False
        for i, sign in enumerate(body):
            if sign == '"':
                quoted = not quoted
            elif sign == delimiter and not quoted:
                spans.append((start, i))
                start = i + 1
        return [*spans, (start, len(body))]


class JsonDialect:
    """Lines of JSON; a filled value is the shortest number of six digits.

    Everything else in a line stays as it is written: a value stands in the place of its null, and a name that
    the line does not have behind the one that it follows in the first line.
    """

    def __init__(self, parser: JsonLines, names: Sequence[str], *, flag: bool, std: bool) -> None:
        self.parser, self.names, self.flag, self.std = parser, names, flag, std
        if parser.type is list and (flag or std):
            raise SourceError("arrays of JSON have no names for more columns: give --flag a file")

    def head(self, line: bytes) -> bytes:
        return line

    def look(self, line: bytes) -> None:
        pass

    def row(self, line: bytes, cells: Mapping[int, Cell]) -> bytes:
        if not cells and not self.flag and not self.std:
            return line
        text = line.decode()
        spans = json_spans(text)
        edits = [self._edit(spans, column, cell, text) for column, cell in cells.items()]
        if self.std:
            stds = {self.names[i]: float(f"{cell.std:.4g}") for i, cell in cells.items()}
            edits.append(self._added(spans, "std", stds, text))
        if self.flag:
            edits.append(self._added(spans, "filled", [self.names[i] for i in cells], text))
        # From the end, so that places stay; what is added at one place stays in the order of the columns.
        for (start, end, word), _ in sorted(
            zip(edits, range(len(edits)), strict=True), key=lambda one: (*one[0][:2], one[1]), reverse=True
        ):
            text = text[:start] + word + text[end:]
        return text.encode()

    def _edit(self, spans: Mapping[Any, tuple[int, int]], column: int, cell: Cell, text: str) -> Edit:
        """Put a value into the place of a null, or beside the values of the names before it."""
        key, number = self.parser.chosen[column], float(f"{cell.value:.6g}")
        if key in spans:
            return *spans[key], json.dumps(number)
        keys = self.parser.keys
        return self._added(spans, key, number, text, keys[: keys.index(key)])

    def _added(
        self,
        spans: Mapping[Any, tuple[int, int]],
        key: Any,
        value: Any,
        text: str,
        before: Sequence[Any] | None = None,
    ) -> Edit:
        """Add a name and its value behind the last of these names, or of all."""
        compact = ": " not in text and ", " not in text
        comma, colon, escaped = (",", ":", "\\u" in text) if compact else (", ", ": ", "\\u" in text)
        separators = (",", ":") if compact else None
        word = json.dumps(value, ensure_ascii=escaped, separators=separators)
        entry = json.dumps(key, ensure_ascii=escaped) + colon + word
        behind = [spans[name][1] for name in (spans if before is None else before) if name in spans]
        if behind:
            return max(behind), max(behind), comma + entry
        first = text.index("{") + 1
        return first, first, entry + (comma if spans else "")


Edit = tuple[int, int, str]
"""Beginning and end of a piece of text, and what to put there."""


def json_spans(text: str) -> dict[Any, tuple[int, int]]:
    """Beginnings and ends of the values of a JSON object, by name, or of an array, by number."""
    decoder, spans = json.JSONDecoder(), dict[Any, tuple[int, int]]()
    at = AROUND.match(text).end()  # type: ignore[union-attr]
    named, at = text[at] == "{", AROUND.match(text, at + 1).end()  # type: ignore[union-attr]
    while text[at] not in "}]":
        key: Any = len(spans)
        if named:
            key, at = decoder.raw_decode(text, at)
            at = AROUND.match(text, at).end()  # type: ignore[union-attr]
        _, end = decoder.raw_decode(text, at)
        spans[key] = at, end
        at = AROUND.match(text, end).end()  # type: ignore[union-attr]
    return spans


def dialect_of(reader: LineReader, names: Sequence[str], *, flag: bool, std: bool) -> Dialect:
    """The way of writing the cells of the lines that this reader reads."""
    if isinstance(reader.parser, JsonLines):
        return JsonDialect(reader.parser, names, flag=flag, std=std)
    assert isinstance(reader.parser, CsvParser)
    return CsvDialect(reader.parser, names, flag=flag, std=std)


def refilled(
    path: Path, reader: LineReader, dialect: Dialect, rows: set[int], cells: Mapping[int, Mapping[int, Cell]]
) -> Iterator[bytes]:
    """Lines of a file with its gaps filled.

    Parameters
    ----------
    path
        The file.
    reader
        The reader that has read it.
    dialect
        How its cells are written.
    rows
        Numbers of the lines that are rows.
    cells
        Gaps to fill, by the number of their line.
    """
    for line in islice((line for number, line in _numbered(path) if number in rows), LOOK):
        dialect.look(line)
    header = reader.parser.first if isinstance(reader.parser, CsvParser) and reader.parser.titled else None
    for number, line in _numbered(path):
        if number in rows:
            yield dialect.row(line, cells.get(number, {}))
        elif header is not None and line.removeprefix(BYTE_ORDER_MARK) == header:
            header = None
            yield dialect.head(line)
        else:
            yield line


def empty_at_end(path: Path, reader: LineReader) -> set[int]:
    """Numbers of the lines at the end of a CSV file that have delimiters and blanks alone."""
    found = set[int]()
    if isinstance(reader.parser, CsvParser) and reader.parser.delimiter != " ":
        signs = reader.parser.delimiter.encode() + b" \t\r\n"
        for number, line in _numbered(path):
            if line.strip(signs):
                found.clear()
            elif line.strip():
                found.add(number)
    return found


def json_with_all_names(path: Path) -> Iterator[bytes] | None:
    """Lines of JSON objects, where the first one has all names of numbers, as null if it lacks them.

    None where there is nothing to add. Names are looked for in the first `LOOK` lines.
    """
    with path.open("rb") as file:
        if not file.read(64).lstrip().startswith((b"{", GZIP)):
            return None
    numbered = _numbered(path)
    first = next((line for _, line in numbered), b"")
    if not first.lstrip().startswith(b"{"):
        return None
    try:
        known = dict.fromkeys(json.loads(first))
        for _, line in islice(numbered, LOOK):
            row = json.loads(line) if line.strip() else {}
            numbers = (name for name, value in row.items() if type(value) in (int, float))
            known |= {name: False for name in numbers if name not in known}
    except ValueError:
        return None  # the reader says what is wrong
    added = {name: None for name, new in known.items() if new is False}
    if not added:
        return None
    whole = json.dumps(json.loads(first) | added).encode() + b"\n"
    return chain((whole,), (line for _, line in islice(_numbered(path), 1, None)))


def _numbered(path: Path) -> Iterator[tuple[int, bytes]]:
    """Lines of a text file, plain or gzip, with their numbers from 1."""
    file = PlainFile(path)
    try:
        content = Unpacked(file) if file.begins_with(GZIP) else file
        lines = Lines(content.read, str(path))
        while len(piece := lines.take(1024)):
            yield from zip(piece.numbers.tolist(), piece.lines(), strict=True)
    finally:
        file.close()
