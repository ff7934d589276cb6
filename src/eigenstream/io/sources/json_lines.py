"""Parser of JSON lines: an object or an array of numbers on each line.

Lines are decoded by ``msgspec`` to the columns asked for; lines that it refuses are parsed with care by
``json``, to say what is wrong. Measured on blocks of 1,024 rows with 8, 64 and 256 columns, it reads objects
and arrays of numbers .8 to 1.3 times as fast as a cut of lines at their commas by NumPy and Arrow did, and
objects with texts among the numbers 1.9 to 3.7 times as fast as ``pyarrow.json``. ``orjson``, which has no
types, reached .6 to 1.3 and 1.3 to 1.7.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from .batch import SKIP, Hint, SourceError
from .lines import Complaint, Parser, Piece, refuse_wide, shortened
from .options import ReadOptions
from .times import time_hints

MOST_VALUES = 2**21
"""Most values on a line, nested ones included: each takes some 50 bytes of memory when it is parsed."""
WIDEST_STRUCT = 2**16
"""Most columns that are decoded at once: making the type takes 8 microseconds per column, half a second
for these. Wider lines are parsed with care, some five times slower."""
NEGATIVE_ZERO = re.compile(rb"-0[\s,\]}]")
"""The integer -0, of which msgspec makes 0.0 instead of -0.0."""
NAN = b"NaN"


class JsonLines(Parser):
    """Parser of JSON lines; null and an absent name are missing values."""

    def __init__(self, first: bytes, source: str, options: ReadOptions, line: int) -> None:
        self.options = options
        if _most_values(first) > MOST_VALUES:
            raise SourceError(f"{source}, line {line}: more than {MOST_VALUES:,} values")
        example = _loaded(first)
        objects = (
            isinstance(example, list) and bool(example) and all(isinstance(one, dict) for one in example)
        )
        if objects or (example is None and first.strip().startswith(b"[")):
            raise SourceError(
                f"{source}, line {line}: a JSON array of rows is not read: write one object on each line "
                "instead, as jq -c '.[]' FILE > rows.jsonl does"
            )
        if not isinstance(example, dict | list) or not example:
            raise SourceError(
                f"{source}, line {line}: expected a JSON object or array of numbers on each line; "
                "one document over many lines is not read"
            )
        self.type = type(example)
        self.keys: list[Any] = list(example) if isinstance(example, dict) else list(range(len(example)))
        self.full = len(self.keys)
        refuse_wide(self.full, source, line)
        names = self.keys if self.type is dict else options.named(self.full, source)
        values = list(example.values()) if isinstance(example, dict) else example

        def without_numbers() -> list[int]:
            return [i for i, value in enumerate(values) if not _fits(value)]

        chosen, kept = options.choose(names, self.full, source, without_numbers)
        self.unknown = options.unknown(names, self.full, source, without_numbers)
        self._kept = [self.keys[i] for i in kept]
        self.kept = [str((names or self.keys)[i]) for i in kept]
        self.chosen = [self.keys[i] for i in chosen]
        self._seen = False
        """True once a line has been parsed."""
        self._decode = _decoder(self.chosen if self.type is dict else self.keys, self.type is list)
        self._named_nan = any(NAN.decode() in str(key) for key in self.keys)
        self.width = len(self.chosen)
        self.names = None if names is None else [names[i] for i in chosen]
        self.numbers = list(chosen)

    def quick(self, piece: Piece) -> NDArray[np.float64] | None:
        data = piece.data
        # Each value takes a byte, so that most pieces need not be searched.
        if len(data) > MOST_VALUES and _most_values(data) > MOST_VALUES:
            return None
        try:
            data.decode()  # msgspec does not look at what it passes over
            rows = self._rows(data, len(piece))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return None
        if not rows.all() and NEGATIVE_ZERO.search(data):
            return None
        self._seen = True
        return rows if self.type is dict else np.ascontiguousarray(rows[:, self.chosen])

    def _rows(self, data: bytes, count: int) -> NDArray[np.float64]:
        """Decode all lines, objects as far as chosen, arrays as a whole; DecodeError if one needs care."""
        # As Python writes it, beyond the standard; behind a backslash, an n would make an escape of it.
        if NAN in data and b"\\NaN" not in data and not self._named_nan:
            data = data.replace(NAN, b"null")
        lines, values = data.removesuffix(b"\n").split(b"\n"), msgspec.structs.astuple
        numbers = chain.from_iterable(map(values, map(self._decode, lines)))
        width = self.width if self.type is dict else self.full
        try:
            return np.fromiter(numbers, np.float64, count * width).reshape(count, width)
        except TypeError:  # a null among them
            return np.array([values(self._decode(line)) for line in lines], dtype=np.float64)

    def row(self, line: bytes) -> list[float] | Complaint:
        if _most_values(line) > MOST_VALUES:
            return Complaint("", f"more than {MOST_VALUES:,} values")
        found = _loaded(line)
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
            words = line.decode(errors="replace")
            found = json.loads(words, parse_int=str, parse_float=str)  # as they are written
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, list):
            found = dict(enumerate(found))
        return [_text(found.get(key)) if isinstance(found, dict) else "" for key in self._kept]

    def column(self, number: int) -> str:
        if self.type is dict:
            return f"{self.chosen[number]!r}"
        return f"column {self.chosen[number]}" + (f" ({self.names[number]})" if self.names else "")

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


def _most_values(line: bytes) -> int:
    """Return an upper bound on the values in a line: each needs a comma or a bracket of its own."""
    return line.count(b",") + line.count(b"[") + line.count(b"{")


def _fits(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _loaded(line: bytes) -> Any:
    try:
        # Bytes that are no text do not matter in a field that is not read.
        return json.loads(line.decode(errors="replace"), parse_int=_whole)
    except (ValueError, RecursionError):
        return None


def _whole(digits: str) -> float:
    """Parse an integer as a float: Python refuses to make an int of very many digits."""
    number = float(digits)
    if np.isinf(number):
        return 10**400  # which is too large for a float, and said to be
    return number


def _decoder(keys: Sequence[Any], array: bool) -> Callable[[bytes], Any]:
    """Return a decoder of lines to structs: of arrays of this length, or of objects with these keys."""
    if len(keys) > WIDEST_STRUCT:
        return _refuse
    names = {f"value_{i}": str(key) for i, key in enumerate(keys)}
    fields = [(name, float | None) if array else (name, float | None, None) for name in names]
    how: dict[str, Any] = {"array_like": True, "forbid_unknown_fields": True} if array else {"rename": names}
    try:
        return msgspec.json.Decoder(msgspec.defstruct("Row", fields, gc=False, **how)).decode
    except ValueError:  # a key with characters that JSON escapes: every line needs care
        return _refuse


def _refuse(line: bytes) -> Any:
    raise msgspec.DecodeError
