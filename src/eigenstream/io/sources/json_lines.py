"""Parser of JSON lines: an object or an array of numbers on each line.

Lines written alike, of numbers only, are parsed by `json_template`, others by ``pyarrow.json``; without
pyarrow, and where these give up, by ``json``. Measured on blocks of 1,024 rows with 8, 64 and 256 columns,
``orjson`` with the same checks of types reads objects of numbers at .6 to .8 of that speed, arrays at .7 to
1.3, and objects with a text among the numbers at 1.3 to 1.7: not enough for one more dependency.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import cells
from .batch import SKIP, Hint, SourceError
from .json_template import Template
from .lines import Piece
from .options import ReadOptions
from .text import Complaint, Parser, refuse_wide, shortened
from .times import time_hints

MOST_VALUES = 2**21
"""Most values on a line, nested ones included: each takes some 50 bytes of memory when it is parsed."""


class JsonLines(Parser):
    """Parser of JSON lines; null and an absent name are missing values."""

    def __init__(self, first: bytes, source: str, options: ReadOptions, line: int) -> None:
        self.options = options
        if _values(first) > MOST_VALUES:
            raise SourceError(f"{source}, line {line}: more than {MOST_VALUES:,} values")
        example = _decoded(first)
        if not isinstance(example, dict | list) or not example:
            raise SourceError(
                f"{source}, line {line}: expected a JSON object or array of numbers on each line; "
                "one document over many lines is not read"
            )
        self.type = type(example)
        self.keys: list[Any] = list(example) if isinstance(example, dict) else list(range(len(example)))
        self.full = len(self.keys)
        refuse_wide(self.full, source, line)
        names = self.keys if self.type is dict else None
        values = list(example.values()) if isinstance(example, dict) else example
        chosen, kept = options.choose(
            names, self.full, source, lambda: [i for i, v in enumerate(values) if not _fits(v)]
        )
        self._kept = [self.keys[i] for i in kept]
        self.kept = [str(key) for key in self._kept]
        self.chosen = [self.keys[i] for i in chosen]
        self._places = chosen
        self._seen = False
        """True once a line has been parsed."""
        self._template = Template.of(first, self.full)
        self.width = len(self.chosen)
        self.names = self.chosen if self.type is dict else None

    def quick(self, piece: Piece) -> NDArray[np.float64] | None:
        if cells.available():
            data = _lines_of(piece, b"{}" if self.type is dict else b"[]")
            if data is None:
                return None
            if self._template is not None:
                rows = self._template.parsed(data, len(piece), self._places)
                if rows is not None:
                    self._seen = True
                    return rows
            if self.type is dict:
                return _from_objects(data, len(piece), self.chosen)
            return _from_arrays(data, len(piece), self.full, self.chosen)
        found = [self.row(line) for line in piece.lines()]
        if any(isinstance(row, Complaint) for row in found):
            return None
        return np.array(found, dtype=np.float64).reshape(-1, self.width)

    def row(self, line: bytes) -> list[float] | Complaint:
        if _values(line) > MOST_VALUES:
            return Complaint("", f"more than {MOST_VALUES:,} values")
        found = _decoded(line)
        if not isinstance(found, self.type):
            kind = "object" if self.type is dict else "array"
            return Complaint("", f"{shortened(line[:200].decode('latin-1'))} is not a JSON {kind}")
        if isinstance(found, list) and len(found) != self.full:
            return Complaint("", f"has {len(found)} numbers where {self.full} were expected")
        if isinstance(found, dict):
            return self._numbers([found.get(key) for key in self.chosen])
        return self._numbers([found[i] for i in self.chosen])

    def texts(self, line: bytes) -> list[str]:
        try:
            found = json.loads(line, parse_int=str, parse_float=str)  # as they are written
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, list):
            found = dict(enumerate(found))
        return [_text(found.get(key)) if isinstance(found, dict) else "" for key in self._kept]

    def column(self, number: int) -> str:
        return f"column {self.chosen[number]}" if self.type is list else f"{self.chosen[number]!r}"

    def _numbers(self, values: Sequence[Any]) -> list[float] | Complaint:
        numbers = []
        for place, value in enumerate(values):
            if isinstance(value, str) and value.strip().lower() in self.options.words:
                value = None
            if isinstance(value, bool) or not isinstance(value, int | float | None):
                marker = Hint("na", str(value), "reads it as a missing value")
                short = isinstance(value, str) and len(value) <= 40
                timed = () if self._seen or self.kept else time_hints(str(self.chosen[place]), str(value))
                hints = (marker, SKIP) if short and self._seen else timed
                what = f"{shortened(json.dumps(value))} is not a number"
                return Complaint(self.column(place), what, hints)
            try:
                numbers.append(np.nan if value is None else float(value))
            except OverflowError:
                return Complaint(self.column(place), "a number too large for a float")
        self._seen = True
        return numbers


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _values(line: bytes) -> int:
    """Return an upper bound on the values in a line: each needs a comma or a bracket of its own."""
    return line.count(b",") + line.count(b"[") + line.count(b"{")


def _fits(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _decoded(line: bytes) -> Any:
    try:
        return json.loads(line, parse_int=_whole)
    except (ValueError, RecursionError):
        return None


def _whole(digits: str) -> float:
    """Parse an integer as a float: Python refuses to make an int of very many digits."""
    number = float(digits)
    if np.isinf(number):
        return 10**400  # which is too large for a float, and said to be
    return number


def _lines_of(piece: Piece, brackets: bytes) -> bytes | None:
    """Return the lines; None if one is not between brackets (a value may span two) or not UTF-8."""
    data = piece.data.replace(b"\r\n", b"\n")
    if not data.endswith(b"\n"):
        data += b"\n"
    array = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(array == 10)
    starts = np.concatenate(([0], ends[:-1] + 1))
    if (
        len(ends) != len(piece)
        or (array[starts] != brackets[0]).any()
        or (array[ends - 1] != brackets[1]).any()
    ):
        return None
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            return None
    return data


def _table(data: bytes, fields: list[tuple[str, Any]], others: str) -> Any:
    import pyarrow as pa
    from pyarrow import json as arrow_json

    if b"Inf" in data:  # which Arrow takes for a number, Python does not
        return None
    try:
        return arrow_json.read_json(
            pa.BufferReader(data),
            arrow_json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            arrow_json.ParseOptions(explicit_schema=pa.schema(fields), unexpected_field_behavior=others),
        )
    except pa.ArrowInvalid:
        return None


def _from_objects(data: bytes, count: int, keys: Sequence[str]) -> NDArray[np.float64] | None:
    import pyarrow as pa

    table = _table(data, [(key, pa.float64()) for key in keys], "ignore")
    if table is None or table.num_rows != count:
        return None
    rows = np.empty((count, len(keys)))
    for i, key in enumerate(keys):
        rows[:, i] = table[key].to_numpy()
    return None if np.isinf(rows).any() else rows


def _from_arrays(data: bytes, count: int, width: int, chosen: Sequence[int]) -> NDArray[np.float64] | None:
    import pyarrow as pa

    if b"{" in data:
        return None
    wrapped = b'{"x":' + data[:-1].replace(b"\n", b'}\n{"x":') + b"}\n"
    table = _table(wrapped, [("x", pa.list_(pa.float64()))], "error")
    if table is None or table.num_rows != count:
        return None
    arrays = table["x"].combine_chunks()
    if arrays.null_count or (arrays.value_lengths().to_numpy() != width).any():
        return None
    rows = np.array(arrays.flatten().to_numpy(zero_copy_only=False)).reshape(count, width)
    if np.isinf(rows).any():
        return None
    return rows if list(chosen) == list(range(width)) else np.ascontiguousarray(rows[:, chosen])
