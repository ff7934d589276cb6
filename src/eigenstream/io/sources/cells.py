"""Parse the cells of many lines of text at once, with pyarrow where it is installed.

Every function may return None: then each line is parsed with care. The numbers are those of Python's
``float``, bit for bit.

Arrow's casts from string are used on the bytes in place, rather than ``pyarrow.csv``: measured on blocks of
1,024 rows with 8, 64 and 256 columns, ``pyarrow.csv`` reads .5 to .9 times as many rows per second (pyarrow
26, one thread), as it copies each cell, builds columns, and these have to be turned into rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]

QUOTE, LINE_FEED = 34, 10
EVERY_SECOND = 0b01010101
LARGEST = 1 << 30
"""Bytes parsed together: Arrow's offsets have 32 bits."""


def parsed(
    data: bytes, count: int, width: int, separator: bytes, chosen: Sequence[int], missing: Sequence[str]
) -> Rows | None:
    """Parse the chosen columns of ``count`` lines of ``width`` cells each.

    Parameters
    ----------
    data
        The lines; all but the last end in a line feed.
    separator
        One byte.
    missing
        Words in lower case that stand for a missing value; it becomes NaN.
    """
    data = _with_plain_ends(data)
    spans = _spans(data, count * width, width, separator)
    if spans is None:
        return None
    numbers = _numbers(_strings(data, *spans, count, width, chosen), missing)
    if numbers is None:
        return None
    rows = numbers[::2].reshape(count, width)
    return np.ascontiguousarray(rows if isinstance(chosen, range) else rows[:, chosen])


def parsed_fields(
    rows: Sequence[Sequence[str]], chosen: Sequence[int], missing: Sequence[str]
) -> Rows | None:
    """Parse the chosen columns of lines that are split into cells already."""
    words = [row[i] for row in rows for i in chosen]
    if any("(" in word or "_" in word for word in words):  # "nan(1)" is a number to Arrow, 1_000 to Python
        return None
    try:
        numbers = _numbers(words, missing) if available() else np.array(words, dtype=np.float64)
    except ValueError:  # not a number, or not text in UTF-8
        return None
    return None if numbers is None else np.array(numbers).reshape(len(rows), len(chosen))


def available() -> bool:
    """Return True if pyarrow is installed."""
    try:
        import pyarrow.compute  # noqa: F401
    except ImportError:
        return False
    return True


def _with_plain_ends(data: bytes) -> bytes:
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").removesuffix(b"\r")
    return data if data.endswith(b"\n") else data + b"\n"


def _spans(
    data: bytes, count: int, width: int, separator: bytes
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]] | None:
    """Find where cells begin (None: right behind the last) and end; None if a line has not ``width``."""
    if b"\r" in data or b"(" in data or len(data) > LARGEST:  # "nan(1)" is a number to Arrow
        return None
    array = np.frombuffer(data, dtype=np.uint8)
    is_end = array == separator[0]
    is_end |= array == LINE_FEED
    ends = np.flatnonzero(is_end)
    if len(ends) != count or not (array[ends[width - 1 :: width]] == LINE_FEED).all():
        return None
    return _unquoted(data, array, ends) if b'"' in data else (None, ends)


def _unquoted(
    data: bytes, array: NDArray[np.uint8], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Find the same within quotes; None unless each quote begins or ends a cell: none hides a separator."""
    starts = np.concatenate(([0], ends[:-1] + 1))
    quoted = array[starts] == QUOTE
    ended = (ends > starts) & (array[ends - 1] == QUOTE)
    if (quoted != ended).any() or (ends - starts)[quoted].min(initial=2) < 2:
        return None
    if data.count(b'"') != 2 * np.count_nonzero(quoted):
        return None
    return starts + quoted, ends - quoted


def _strings(
    data: bytes,
    starts: NDArray[np.int64] | None,
    ends: NDArray[np.int64],
    count: int,
    width: int,
    chosen: Sequence[int],
) -> Any:
    """Return an Arrow array over the data in place: the cells and, between them, gaps that are null.

    Nothing is copied; cells of columns that are not chosen are null, too, and so never parsed.
    """
    import pyarrow as pa

    total = 2 * len(ends)
    offsets = np.empty(total + 1, dtype=np.int32)
    offsets[1::2] = ends
    if starts is None:
        offsets[0] = 0
        np.add(ends, 1, out=offsets[2::2], casting="unsafe")
    else:
        offsets[:-1:2], offsets[-1] = starts, len(data)
    if isinstance(chosen, range):
        bits = np.full((total + 7) // 8, EVERY_SECOND, dtype=np.uint8)
    else:
        valid = np.zeros((count, width, 2), dtype=bool)
        valid[:, chosen, 0] = True
        bits = np.packbits(valid, bitorder="little")
    return pa.StringArray.from_buffers(total, pa.py_buffer(offsets), pa.py_buffer(data), pa.py_buffer(bits))


def _numbers(cells: Any, missing: Sequence[str]) -> Rows | None:
    """Parse strings, a list or an Arrow array; the values of null slots are undefined."""
    import pyarrow as pa
    from pyarrow import compute

    cells = pa.array(cells, pa.string()) if isinstance(cells, list) else cells
    try:
        plain = compute.cast(cells, pa.float64())
        return np.frombuffer(plain.buffers()[1], dtype=np.float64, count=len(plain))
    except pa.ArrowInvalid:
        if not missing:
            return None
    try:
        trimmed = compute.ascii_trim_whitespace(cells)
        gone = compute.is_in(compute.ascii_lower(trimmed), value_set=pa.array(missing, pa.string()))
        kept = compute.if_else(gone, pa.scalar(None, pa.string()), trimmed)
        numbers: Rows = compute.cast(kept, pa.float64()).to_numpy(zero_copy_only=False)
        return numbers
    except pa.ArrowInvalid:
        return None
