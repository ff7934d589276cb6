"""Outputs of one file, which only grows at its end and can be cut back: CSV, JSON lines, NPY.

Numbers are written so that they read back exactly.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
from abc import abstractmethod
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .. import files
from .sink import Floats, Layout, Place, Sink, SinkError, Texts

FINGERPRINT_BYTES = 2**16
"""Bytes of an output that are compared on resuming, at its beginning and before its end: hundreds of rows at
the cost of two reads, however long the output is."""


class Appended:
    """A file that only grows at its end, unbuffered, so that a full disk shows at once.

    It is opened and locked at once, but cut back to ``length`` only by `begin`.
    """

    def __init__(self, path: Path | None, length: int) -> None:
        self.path, self.length = path, length
        if path is None:
            return
        files.require_regular(path)
        size = path.stat().st_size if path.exists() else None
        if (size or 0) < length:
            lost = "is gone" if size is None else f"has {size:,} bytes"
            raise SinkError(
                f"{path} {lost}, but {length:,} had been written to it; put it back, or start afresh without "
                "resuming"
            )
        self.handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if not files.lock(self.handle):
            os.close(self.handle)
            raise SinkError(
                f"another process is writing to {path}: wait until it has ended, or write elsewhere"
            )

    def excess(self) -> bool:
        return self.path is not None and os.fstat(self.handle).st_size > self.length

    def begin(self) -> None:
        """Cut the file back to its length, and make its name durable."""
        if self.path is None:
            return
        os.ftruncate(self.handle, self.length)
        os.lseek(self.handle, self.length, os.SEEK_SET)
        files.sync_folder(self.path.absolute().parent)

    def append(self, content: Any) -> None:
        given = memoryview(content)
        left = given.cast("B") if given.nbytes else b""
        self.length += len(left)
        if self.path is None:
            sys.stdout.buffer.write(left)
            return
        while len(left):
            left = left[os.write(self.handle, left) :]

    def settle(self) -> None:
        if self.path is None:
            sys.stdout.buffer.flush()
        else:
            os.fsync(self.handle)

    def fingerprint(self, head: int) -> bytes:
        """Return the first bytes behind the head and the last ones: they tell this file from others."""
        if self.path is None:
            return b""
        start = os.pread(self.handle, max(min(FINGERPRINT_BYTES, self.length - head), 0), head)
        last = max(self.length - FINGERPRINT_BYTES, head)
        return start + os.pread(self.handle, max(self.length - last, 0), last)

    def close(self) -> None:
        if self.path is not None:
            os.close(self.handle)


def begins_as(found: bytes, expected: bytes) -> bool:
    """Return True if ``found`` can be the beginning written: a power cut may have left zeros in it."""
    return all(one in (other, 0) for one, other in zip(found, expected, strict=False))


def require_same(path: Path, place: Place, found: str) -> None:
    """Raise if the fingerprint found is not that of the place."""
    if place["sha256"] != found:
        raise SinkError(
            f"{path} does not hold what had been written to it: it was replaced or edited; put it back, or "
            "start afresh without resuming"
        )


class File(Sink):
    """Abstract: one file with a head and rows behind it."""

    def __init__(self, path: Path | None, layout: Layout, place: Place | None) -> None:
        self.layout, self.rows = layout, int(place["rows"]) if place else 0
        self.file = Appended(path, int(place["bytes"]) if place else 0)
        self._began = False
        if path is None:
            return
        self.identity = files.identity(path, self.file.handle)
        try:
            if place is not None:
                require_same(path, place, self._fingerprint())
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def head(self) -> bytes: ...

    @abstractmethod
    def append(self, numbers: NDArray[np.int64], scores: Floats, texts: Texts | None) -> None: ...

    def write(self, numbers: NDArray[np.int64], scores: Floats, texts: Texts | None = None) -> None:
        self._begin()
        self.append(numbers, scores, texts)
        self.rows += len(scores)

    def excess(self) -> bool:
        return self.file.excess()

    def beginning(self) -> bytes:
        """Return the bytes with which the file begins, however many rows it has."""
        return self.head()

    def resembles(self) -> bool:
        if self.file.path is None:
            return True
        beginning = self.beginning()
        return begins_as(os.pread(self.file.handle, len(beginning), 0), beginning)

    def settle(self, *, final: bool = False) -> Place:
        self._begin()
        self.file.settle()
        return {"bytes": self.file.length, "rows": self.rows, "sha256": self._fingerprint()}

    def close(self) -> None:
        self.file.close()

    def _begin(self) -> None:
        if not self._began:
            self._began = True
            self.file.begin()
            if self.file.length == 0:
                self.file.append(self.head())

    def _values(self, scores: NDArray[Any]) -> list[list[Any]]:
        """Return the rows as lists of Python's numbers, whole ones as integers."""
        table: list[list[Any]] = scores.tolist()
        for i in np.flatnonzero(self.layout.are_whole):
            for row in table:
                row[i] = int(row[i])
        return table

    def _fingerprint(self) -> str:
        # Without the head: that of NPY counts the rows, so it changes when more are written.
        return hashlib.sha256(self.file.fingerprint(len(self.head()))).hexdigest()


class CsvSink(File):
    """CSV: one line per row, with its number in the source and its scores; empty where there is none."""

    def head(self) -> bytes:
        return ",".join(map(_quoted, self.layout.columns)).encode(errors="replace") + b"\n"

    def append(self, numbers: NDArray[np.int64], scores: Floats, texts: Texts | None) -> None:
        heads = list(map(str, numbers.tolist()))
        if texts is not None:
            kept = [",".join(map(_quoted, row)) for row in texts.tolist()]
            heads = [f"{number},{row}" for number, row in zip(heads, kept, strict=True)]
        comma = b"," if scores.shape[1] else b""
        rows = zip(heads, self._written(scores), strict=True)
        lines = [b"%b%b%b\n" % (head.encode(errors="replace"), comma, row) for head, row in rows]
        self.file.append(b"".join(lines))

    def _written(self, scores: Floats) -> list[bytes]:
        """Return the scores of each row between commas, as Python writes them."""
        table = self._values(scores)
        if scores.dtype != np.float64:
            words = ([str(v) if isinstance(v, int) else _shortest(v) for v in row] for row in table)
            return [",".join(row).encode() for row in words]
        rows = [row[1:-1] for row in msgspec.json.Encoder().encode_lines(table).split(b"\n")]
        # Elsewhere it writes another exponent than Python, and null for what is not finite.
        size = np.abs(scores)
        alike = ((size >= 1e-4) & (size < 1e16)) | (size == 0)
        for i in np.flatnonzero(~alike.all(axis=1)):
            rows[i] = ",".join("" if v != v else repr(v) for v in table[i]).encode()
        return rows[: len(table)]


def _shortest(value: float) -> str:
    """Return a float32 as text that reads back exactly; empty for NaN."""
    return "" if value != value else f"{value:.9g}"


def _quoted(text: str) -> str:
    if not any(sign in text for sign in ',"\r\n'):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


class Jsonl(File):
    """JSON lines: one object per row; null where there is no score, or no limit."""

    def head(self) -> bytes:
        return b""

    def beginning(self) -> bytes:
        return f"{{{json.dumps(self.layout.columns[0])}: ".encode()

    def append(self, numbers: NDArray[np.int64], scores: Floats, texts: Texts | None) -> None:
        names = self.layout.columns
        kept = [[]] * len(numbers) if texts is None else texts.tolist()
        table = self._values(np.where(np.isfinite(scores), scores.astype(object), None))  # type: ignore[call-overload]
        rows = zip(numbers.tolist(), kept, table, strict=True)
        lines = [json.dumps(dict(zip(names, [n, *words, *row], strict=True))) for n, words, row in rows]
        self.file.append("".join(line + "\n" for line in lines).encode())


class NpySink(File):
    """A matrix of scores."""

    def head(self) -> bytes:
        """Return the head, always of the same length: NumPy leaves room for the number of rows to grow."""
        head, type_ = io.BytesIO(), npy.dtype_to_descr(np.dtype(self.layout.dtype))
        shape = (self.rows, self.layout.width)
        npy.write_array_header_1_0(head, {"descr": type_, "fortran_order": False, "shape": shape})
        return head.getvalue()

    def beginning(self) -> bytes:
        return self.head().partition(b"'shape'")[0]

    def append(self, numbers: NDArray[np.int64], scores: Floats, texts: Texts | None) -> None:
        self.file.append(np.ascontiguousarray(scores, dtype=self.layout.dtype))

    def settle(self, *, final: bool = False) -> Place:
        self._begin()
        os.pwrite(self.file.handle, self.head(), 0)
        return super().settle()
