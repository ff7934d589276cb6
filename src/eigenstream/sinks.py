"""Where scores go: CSV, NPY or a folder of Parquet parts, each of which can be cut back to an earlier place.

`Sink.settle` makes everything written so far durable and says where that is; a sink opened with that place
forgets whatever was written after it. So an interrupted job continues as if it had never written too much.
"""

from __future__ import annotations

import io
import os
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .locking import lock

Floats = NDArray[np.floating[Any]]
Place = dict[str, Any]

PART = 2**16
"""Rows of a Parquet part. Parts are cut by rows alone, so that they do not depend on when it was settled."""


class SinkError(ValueError):
    """An output that cannot be written (on): says where and why."""


class Sink(ABC):
    """Rows of scores with their numbers in the source, in order."""

    @abstractmethod
    def write(self, numbers: NDArray[np.int64], scores: Floats) -> None:
        """Append rows."""

    @abstractmethod
    def settle(self, *, final: bool = False) -> Place:
        """Make what was written durable; returns the place to come back to. ``final``: no more comes."""

    def committed(self) -> None:  # noqa: B027
        """The place last returned by `settle` has been written down: nothing before it is needed any more."""

    def close(self) -> None:  # noqa: B027
        """Let go of files."""


def column_names(width: int) -> list[str]:
    """What the scores are called."""
    return [f"component_{i}" for i in range(width)]


def open_sink(path: str, width: int, dtype: Any, place: Place | None = None) -> Sink:
    """A sink for rows of ``width`` scores; its kind follows from the name, ``-`` is CSV on standard output.

    Parameters
    ----------
    path
        NAME.csv, NAME.npy or NAME.parquet (a folder).
    width, dtype
        Scores a row, and their type.
    place
        Where to go on, as `Sink.settle` returned it; None begins anew.
    """
    kinds: dict[str, type[_File] | type[Parquet]] = {".csv": Csv, ".npy": Npy, ".parquet": Parquet}
    kind = Csv if path == "-" else kinds.get(Path(path).suffix.lower())
    if kind is None:
        raise SinkError(f"output {path!r} must end in .csv, .npy or .parquet")
    names = {"part", "bytes"} if kind is Parquet else {"rows", "bytes"}
    if place is not None and not _is_place(place, names):
        raise SinkError(
            f"output {path!r}: {place!r} is no place in such a file; start afresh without resuming"
        )
    return Csv(None, width, dtype, place) if path == "-" else kind(Path(path), width, dtype, place)


def _is_place(place: Any, names: set[str]) -> bool:
    if not isinstance(place, dict) or set(place) != names:
        return False
    return all(type(number) is int and 0 <= number < 2**63 for number in place.values())


class Appended:
    """A file that only grows at its end, unbuffered, so that a full disk shows at once."""

    def __init__(self, path: Path | None, length: int) -> None:
        self.path, self.length = path, length
        if path is None:
            return
        if (path.stat().st_size if path.exists() else 0) < length:
            raise SinkError(
                f"{path} is shorter than the {length:,} bytes that had been written; put it back, or start "
                "afresh without resuming"
            )
        self.handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if not lock(self.handle):
            os.close(self.handle)
            raise SinkError(
                f"another process is writing to {path}: wait until it has ended, or write elsewhere"
            )
        os.ftruncate(self.handle, length)
        os.lseek(self.handle, length, os.SEEK_SET)

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

    def close(self) -> None:
        if self.path is not None:
            os.close(self.handle)


class _File(Sink):
    """Abstract: one file with a head and rows behind it."""

    def __init__(self, path: Path | None, width: int, dtype: Any, place: Place | None) -> None:
        self.width, self.dtype, self.rows = width, np.dtype(dtype), int(place["rows"]) if place else 0
        self.file = Appended(path, int(place["bytes"]) if place else 0)
        if place is None:
            self.file.append(self.head())

    @abstractmethod
    def head(self) -> bytes: ...

    def settle(self, *, final: bool = False) -> Place:
        self.file.settle()
        return {"bytes": self.file.length, "rows": self.rows}

    def close(self) -> None:
        self.file.close()


class Csv(_File):
    """A line a row: its number in the source, then its scores, written so that they read back exactly."""

    def head(self) -> bytes:
        return ",".join(["row", *column_names(self.width)]).encode() + b"\n"

    def write(self, numbers: NDArray[np.int64], scores: Floats) -> None:
        text = _lines_by_arrow(numbers, scores) if scores.dtype == np.float64 else None
        if text is None:
            written = repr if scores.dtype == np.float64 else "{:.9g}".format
            rows = zip(numbers.tolist(), scores.tolist(), strict=True)
            lines = [f"{number},{','.join(map(written, row))}\n" for number, row in rows]
            text = "".join(lines).encode()
        self.file.append(text)
        self.rows += len(scores)


def _lines_by_arrow(numbers: NDArray[np.int64], scores: Floats) -> bytes | memoryview | None:
    """The same lines several times faster; None without pyarrow.

    Arrow writes a number as Python does between 0.0001 and 10**10, unless it is whole. Zero is frequent; the
    others are left to Python.
    """
    try:
        import pyarrow as pa
        from pyarrow import compute
    except ImportError:
        return None
    columns = [compute.cast(pa.array(numbers), pa.string())]
    columns += [_words_by_arrow(np.ascontiguousarray(values)) for values in scores.T]
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


class Npy(_File):
    """A matrix of scores."""

    def head(self) -> bytes:
        """Always of the same length: NumPy leaves room for the number of rows to grow."""
        head = io.BytesIO()
        shape = (self.rows, self.width)
        npy.write_array_header_1_0(
            head, {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": shape}
        )
        return head.getvalue()

    def write(self, numbers: NDArray[np.int64], scores: Floats) -> None:
        self.file.append(np.ascontiguousarray(scores, dtype=self.dtype))
        self.rows += len(scores)

    def settle(self, *, final: bool = False) -> Place:
        os.pwrite(self.file.handle, self.head(), 0)
        return super().settle()


class Parquet(Sink):
    """A folder of parts, each of which appears whole or not at all.

    Rows of the part in the making wait in a hidden file beside the parts, which is cut back like any other.
    """

    def __init__(self, folder: Path, width: int, dtype: Any, place: Place | None) -> None:
        _require_arrow(folder)
        names = column_names(width)
        self.folder, self.row = folder, np.dtype([("row", "<i8"), *((name, dtype) for name in names)])
        self.dtype, self.width = np.dtype(dtype), width
        self.part = int(place["part"]) if place else 0
        missing = next((n for n in range(self.part) if not self._part(n).exists()), None)
        if missing is not None:
            raise SinkError(
                f"{self._part(missing)} had been written, but is gone; put it back, or start afresh without "
                "resuming"
            )
        folder.mkdir(exist_ok=True)
        self._final = False
        self._cut_back()
        self.waiting = Appended(self._waiting(self.part), int(place["bytes"]) if place else 0)

    def write(self, numbers: NDArray[np.int64], scores: Floats) -> None:
        rows = np.empty(len(scores), dtype=self.row)
        rows["row"] = numbers
        for i, name in enumerate(self.row.names[1:] if self.row.names else ()):
            rows[name] = scores[:, i]
        while len(rows):
            room = PART - self.waiting.length // self.row.itemsize
            self.waiting.append(rows[:room].view(np.uint8))
            rows = rows[room:]
            if self.waiting.length == PART * self.row.itemsize:
                self._complete()

    def settle(self, *, final: bool = False) -> Place:
        if final and self.waiting.length:
            self._complete()
        self._final = final
        self.waiting.settle()
        return {"part": self.part, "bytes": self.waiting.length}

    def committed(self) -> None:
        for waiting in self.folder.glob(".part-*.rows"):
            if self._final or waiting != self._waiting(self.part):
                waiting.unlink()

    def close(self) -> None:
        self.waiting.close()

    def _cut_back(self) -> None:
        """Remove what was written after the place: later parts, and rows of other parts than this one."""
        for part in self.folder.glob("part-*.parquet"):
            if part.name >= self._part(self.part).name:
                part.unlink()
        for hidden in (*self.folder.glob(".part-*.tmp"), *self.folder.glob(".part-*.rows")):
            if hidden != self._waiting(self.part):
                hidden.unlink()

    def _complete(self) -> None:
        """Turn the rows that wait into a part, and begin the next."""
        import pyarrow
        from pyarrow import parquet

        rows = np.fromfile(self._waiting(self.part), dtype=self.row)
        table = pyarrow.table({name: np.ascontiguousarray(rows[name]) for name in self.row.names or ()})
        temporary = self._waiting(self.part).with_suffix(".tmp")
        parquet.write_table(table, temporary, write_page_checksum=True)
        _make_durable(temporary)
        os.replace(temporary, self._part(self.part))
        self.waiting.close()
        self.part += 1
        self.waiting = Appended(self._waiting(self.part), 0)

    def _part(self, number: int) -> Path:
        return self.folder / f"part-{number:06d}.parquet"

    def _waiting(self, number: int) -> Path:
        return self.folder / f".part-{number:06d}.rows"


def _require_arrow(folder: Path) -> None:
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise SinkError(f"{folder}: to write Parquet, pip install 'eigenstream[parquet]'") from None


def _make_durable(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
