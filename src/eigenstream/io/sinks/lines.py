"""Scores as text: CSV and JSON lines, written so that they read back exactly."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .file import File
from .sink import Floats, Texts


class CsvSink(File):
    """CSV: one line per row, with its number in the source and its scores."""

    def head(self) -> bytes:
        return ",".join(map(_quoted, self.layout.columns)).encode(errors="replace") + b"\n"

    def append(self, numbers: NDArray[np.int64], scores: Floats, texts: Texts | None) -> None:
        heads = list(map(str, numbers.tolist()))
        if texts is not None:
            kept = [",".join(map(_quoted, row)) for row in texts.tolist()]
            heads = [f"{number},{row}" for number, row in zip(heads, kept, strict=True)]
        worth_it = scores.dtype == np.float64 and scores.size >= WORTH_ARROW
        are_whole = self.layout.are_whole
        text = _lines_by_arrow(heads, scores, are_whole) if worth_it else None
        if text is None:
            written = repr if scores.dtype == np.float64 else "{:.9g}".format
            columns = [
                map(str if whole else written, (column.astype(np.int64) if whole else column).tolist())
                for column, whole in zip(scores.T, are_whole, strict=True)
            ]
            lines = [",".join(row) + "\n" for row in zip(heads, *columns, strict=True)]
            text = "".join(lines).encode(errors="replace")
        self.file.append(text)


def _quoted(text: str) -> str:
    if not any(sign in text for sign in ',"\r\n'):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


WORTH_ARROW = 4096
"""Fewest scores of a call that are written with pyarrow: fewer do not repay its import."""


def _lines_by_arrow(heads: list[str], scores: Floats, are_whole: list[bool]) -> bytes | memoryview | None:
    """Write the same lines several times faster; None without pyarrow.

    Arrow writes a number as Python does between 0.0001 and 10**10, unless it is whole. Zero is frequent; the
    others are left to Python.
    """
    try:
        import pyarrow as pa
        from pyarrow import compute
    except ImportError:
        return None
    try:
        columns = [pa.array(heads, pa.string())]
    except UnicodeError:
        return None
    columns += [
        compute.cast(pa.array(values.astype(np.int64)), pa.string())
        if whole
        else _words_by_arrow(np.ascontiguousarray(values))
        for values, whole in zip(scores.T, are_whole, strict=True)
    ]
    rows = compute.binary_join_element_wise(*columns, ",")
    ended = compute.binary_join_element_wise(rows, "", "\n")
    return memoryview(ended.buffers()[2]) if len(ended) else b""


def _words_by_arrow(values: Floats) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    zero = (values == 0) & ~np.signbit(values)
    if zero.all():
        return pa.repeat("0.0", len(values))
    size = np.abs(values)
    with np.errstate(invalid="ignore"):
        alike = (size >= 1e-4) & (size < 1e10) & (values != np.trunc(values))
    words = compute.if_else(pa.array(zero), "0.0", compute.cast(pa.array(values), pa.string()))
    other = ~alike & ~zero
    if other.any():
        written = pa.array(list(map(repr, values[other].tolist())), pa.string())
        words = compute.replace_with_mask(words, pa.array(other), written)
    return words


class Jsonl(File):
    """JSON lines: one object per row; null where there is no score, or no limit."""

    def head(self) -> bytes:
        return b""

    def beginning(self) -> bytes:
        return f"{{{json.dumps(self.layout.columns[0])}: ".encode()

    def append(self, numbers: NDArray[np.int64], scores: Floats, texts: Texts | None) -> None:
        names = self.layout.columns
        kept = [[]] * len(numbers) if texts is None else texts.tolist()
        table = np.where(np.isfinite(scores), scores.astype(object), None).tolist()  # type: ignore[call-overload]
        for i in np.flatnonzero(self.layout.are_whole):
            for row in table:
                row[i] = int(row[i])
        rows = zip(numbers.tolist(), kept, table, strict=True)
        lines = [json.dumps(dict(zip(names, [n, *words, *row], strict=True))) for n, words, row in rows]
        self.file.append("".join(line + "\n" for line in lines).encode())
