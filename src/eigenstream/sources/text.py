"""Lines of text as rows of numbers: CSV and JSON lines."""

from __future__ import annotations

import csv
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .batch import SourceError
from .columns import Columns, chosen_columns

MISSING = {"", "na", "n/a", "nan", "null", "none", "-"}
"""How an absent value may be written, whatever the case."""
DELIMITERS = (",", "\t", ";", "|")


class Complaint(NamedTuple):
    """What is wrong with a line."""

    column: str
    what: str


class Parser(ABC):
    """From lines to numbers."""

    width: int
    full: int
    """Columns there are, chosen or not."""
    names: list[str] | None
    titled: bool = False
    """Whether the first line is not data."""

    @abstractmethod
    def quick(self, lines: Sequence[bytes]) -> NDArray[np.float64] | None:
        """All lines at once; None if one of them needs a closer look."""

    @abstractmethod
    def row(self, line: bytes) -> list[float] | Complaint:
        """One line with care."""

    @abstractmethod
    def column(self, number: int) -> str:
        """What to call a column in a message."""


class Csv(Parser):
    """Numbers between delimiters, with or without a line of names."""

    def __init__(
        self, first: bytes, source: str, columns: Columns, delimiter: str | None, header: bool | None
    ) -> None:
        if delimiter and (len(delimiter) != 1 or delimiter in '"\r\n'):
            raise SourceError(
                f"{source}: the delimiter must be one character and no quote, got {delimiter!r}"
            )
        text = first.decode("utf-8", errors="replace")
        self.delimiter = delimiter or max(DELIMITERS, key=lambda d: (text.count(d), d == ","))
        fields = self._fields(text)
        self.full = len(fields)
        # A line without a single number can hardly be data.
        self.titled = not any(map(_is_number, fields)) if header is None else header
        self.titles = [field.strip() for field in fields] if self.titled else None
        self.chosen = chosen_columns(columns, self.titles, self.full, source)
        self.width = len(self.chosen)
        self.names = None if self.titles is None else [self.titles[i] for i in self.chosen]

    def quick(self, lines: Sequence[bytes]) -> NDArray[np.float64] | None:
        separator = self.delimiter.encode()
        if {line.count(separator) for line in lines} != {self.full - 1}:
            return None
        if b'"' in b"".join(lines):
            return None
        usecols = None if isinstance(self.chosen, range) else self.chosen
        try:
            texts = [line.decode() for line in lines]
            return np.loadtxt(texts, delimiter=self.delimiter, comments=None, usecols=usecols, ndmin=2)
        except ValueError:
            return None

    def row(self, line: bytes) -> list[float] | Complaint:
        fields = self._fields(line.decode("utf-8", errors="replace"))
        if len(fields) != self.full:
            return Complaint("", f"has {len(fields)} fields where {self.full} were expected")
        numbers = []
        for place, i in enumerate(self.chosen):
            try:
                numbers.append(_number(fields[i]))
            except ValueError:
                return Complaint(self.column(place), f"{_shortened(fields[i])} is not a number")
        return numbers

    def column(self, number: int) -> str:
        i = self.chosen[number]
        return f"column {i}" if self.titles is None else f"column {i} ({self.titles[i]})"

    def _fields(self, text: str) -> list[str]:
        try:
            return next(csv.reader([text.rstrip("\r\n")], delimiter=self.delimiter), [""])
        except csv.Error:
            return [text]


class JsonLines(Parser):
    """An object or an array of numbers on each line; null is missing, and so is a name that is not there."""

    def __init__(self, first: bytes, source: str, columns: Columns, line: int) -> None:
        example = _decoded(first)
        if not isinstance(example, dict | list) or not example:
            raise SourceError(
                f"{source}, line {line}: expected a JSON object or array of numbers on each line"
            )
        self.type = type(example)
        self.keys: list[Any] = list(example) if isinstance(example, dict) else list(range(len(example)))
        self.full = len(self.keys)
        names = self.keys if self.type is dict else None
        self.chosen = [self.keys[i] for i in chosen_columns(columns, names, self.full, source)]
        self.width = len(self.chosen)
        self.names = self.chosen if self.type is dict else None

    def quick(self, lines: Sequence[bytes]) -> NDArray[np.float64] | None:
        rows = [self.row(line) for line in lines]
        if any(isinstance(row, Complaint) for row in rows):
            return None
        return np.array(rows, dtype=np.float64).reshape(-1, self.width)

    def row(self, line: bytes) -> list[float] | Complaint:
        found = _decoded(line)
        if not isinstance(found, self.type):
            kind = "object" if self.type is dict else "array"
            return Complaint("", f"{_shortened(line.decode('latin-1'))} is not a JSON {kind}")
        if isinstance(found, list) and len(found) != self.full:
            return Complaint("", f"has {len(found)} numbers where {self.full} were expected")
        values = [found.get(key) for key in self.chosen] if isinstance(found, dict) else found
        if isinstance(found, list):
            values = [found[i] for i in self.chosen]
        return _numbers(values, self)

    def column(self, number: int) -> str:
        return f"column {self.chosen[number]}" if self.type is list else f"{self.chosen[number]!r}"


def _numbers(values: Sequence[Any], parser: JsonLines) -> list[float] | Complaint:
    numbers = []
    for place, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            return Complaint(parser.column(place), f"{_shortened(json.dumps(value))} is not a number")
        try:
            numbers.append(np.nan if value is None else float(value))
        except OverflowError:
            return Complaint(parser.column(place), "a number too large for a float")
    return numbers


def _decoded(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _number(field: str) -> float:
    word = field.strip()
    if word.lower() in MISSING:
        return float("nan")
    if "_" in word:  # Python reads 1_000 as a number; nobody else does
        raise ValueError
    return float(word)


def _is_number(field: str) -> bool:
    try:
        return not np.isnan(_number(field))
    except ValueError:
        return False


def _shortened(text: str) -> str:
    return repr(text.strip() if len(text) <= 40 else text.strip()[:37] + "...")
