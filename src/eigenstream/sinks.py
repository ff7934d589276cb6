"""Where scores go: CSV, NPY or a folder of Parquet parts, each of which can be cut back to an earlier place.

`Sink.settle` makes everything written so far durable and says where that is; a sink opened with that place
forgets whatever was written after it. So an interrupted job continues as if it had never written too much.

Opening a sink locks the output and compares it with the place; it cuts nothing. The first `write` or `settle`
does. In between, the caller can look at what would be lost (`Sink.excess`) and `close` without harm.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from . import files

Floats = NDArray[np.floating[Any]]
Place = dict[str, Any]

PART = 2**16
"""Rows of a Parquet part. Parts are cut by rows alone, so that they do not depend on when it was settled."""
FINGERPRINT_BYTES = 2**16
"""How much of an output is compared at its beginning, and how much of what was written last."""


class SinkError(ValueError):
    """An output that cannot be written (on): says where and why."""


class Sink(ABC):
    """Rows of scores with their numbers in the source, in order."""

    identity: dict[str, Any] | None = None
    """Which file or folder this is (see `eigenstream.files.identity`); None for standard output."""

    @abstractmethod
    def write(self, numbers: NDArray[np.int64], scores: Floats) -> None:
        """Append rows."""

    @abstractmethod
    def settle(self, *, final: bool = False) -> Place:
        """Make what was written durable; returns the place to come back to. ``final``: no more comes."""

    def excess(self) -> bool:
        """Whether the output holds something that the first `write` will remove."""
        return False

    def committed(self) -> None:  # noqa: B027
        """The place last returned by `settle` has been written down: nothing before it is needed any more."""

    def close(self) -> None:  # noqa: B027
        """Let go of files."""


def column_names(width: int) -> list[str]:
    """What the scores are called."""
    return [f"component_{i}" for i in range(width)]


def check_output(path: str) -> None:
    """Raise `SinkError` if no output could be opened there, without touching anything."""
    if path == "-":
        if sys.stdout is None:
            raise SinkError("standard output is closed: name a file to write to")
        return
    if _kind(path) is Parquet:
        _require_arrow(Path(path))
    parent = Path(path).absolute().parent
    if not parent.is_dir():
        raise SinkError(f"output {path!r} cannot be written: there is no folder {str(parent)!r}")
    if Path(path).exists() and Path(path).is_dir() != (_kind(path) is Parquet):
        expected = "a folder" if _kind(path) is Parquet else "a file"
        raise SinkError(f"output {path!r} cannot be written: what is there is not {expected}")


def open_sink(path: str, width: int, dtype: Any, place: Place | None = None) -> Sink:
    """A sink for rows of ``width`` scores; its kind follows from the name, ``-`` is CSV on standard output.

    Parameters
    ----------
    path
        NAME.csv, NAME.npy or NAME.parquet (a folder).
    width, dtype
        Scores per row, and their type.
    place
        Where to go on, as `Sink.settle` returned it; None begins anew.

    Raises
    ------
    SinkError
        If it cannot be written, another process writes to it, or it does not hold what ``place`` says.
    """
    kind = _kind(path)
    if place is not None:
        _check_place(path, place, "part" if kind is Parquet else "rows")
    return Csv(None, width, dtype, place) if path == "-" else kind(Path(path), width, dtype, place)


def _kind(path: str) -> type[_File] | type[Parquet]:
    kinds: dict[str, type[_File] | type[Parquet]] = {".csv": Csv, ".npy": Npy, ".parquet": Parquet}
    kind = Csv if path == "-" else kinds.get(Path(path).suffix.lower())
    if kind is None:
        raise SinkError(f"output {path!r} must end in .csv, .npy or .parquet")
    return kind


def _check_place(path: str, place: Any, count: str) -> None:
    """Whether `Sink.settle` may have returned this."""
    counts = {count, "bytes"}
    known = isinstance(place, dict) and counts <= set(place) <= counts | {"sha256"}
    if not known or not all(type(place[name]) is int and 0 <= place[name] < 2**63 for name in counts):
        raise SinkError(
            f"output {path!r}: {place!r} is no place in such a file; start afresh without resuming"
        )
    if not isinstance(place.get("sha256"), str):
        raise SinkError(
            f"output {path!r}: the model holds no fingerprint of what had been written (an older eigenstream "
            "kept none), so nothing proves that this is its output; start afresh without resuming"
        )


class Appended:
    """A file that only grows at its end, unbuffered, so that a full disk shows at once.

    It is opened and locked at once, but cut back to ``length`` only by `begin`.
    """

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
        """The bytes that tell this file from others: its first (but for the head), and those written last."""
        if self.path is None:
            return b""
        start = os.pread(self.handle, max(min(FINGERPRINT_BYTES, self.length - head), 0), head)
        last = max(self.length - FINGERPRINT_BYTES, head)
        return start + os.pread(self.handle, max(self.length - last, 0), last)

    def close(self) -> None:
        if self.path is not None:
            os.close(self.handle)


def _require_same(path: Path, place: Place, found: str) -> None:
    if place["sha256"] != found:
        raise SinkError(
            f"{path} does not hold what had been written to it: it was replaced or edited; put it back, or "
            "start afresh without resuming"
        )


class _File(Sink):
    """Abstract: one file with a head and rows behind it."""

    def __init__(self, path: Path | None, width: int, dtype: Any, place: Place | None) -> None:
        self.width, self.dtype, self.rows = width, np.dtype(dtype), int(place["rows"]) if place else 0
        self.file = Appended(path, int(place["bytes"]) if place else 0)
        self._began = False
        if path is None:
            return
        self.identity = files.identity(path, self.file.handle)
        try:
            if place is not None:
                _require_same(path, place, self._fingerprint())
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def head(self) -> bytes: ...

    @abstractmethod
    def append(self, numbers: NDArray[np.int64], scores: Floats) -> None: ...

    def write(self, numbers: NDArray[np.int64], scores: Floats) -> None:
        self._begin()
        self.append(numbers, scores)
        self.rows += len(scores)

    def excess(self) -> bool:
        return self.file.excess()

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

    def _fingerprint(self) -> str:
        # Without the head: that of NPY counts the rows, so it changes when more are written.
        return hashlib.sha256(self.file.fingerprint(len(self.head()))).hexdigest()


class Csv(_File):
    """A line a row: its number in the source, then its scores, written so that they read back exactly."""

    def head(self) -> bytes:
        return ",".join(["row", *column_names(self.width)]).encode() + b"\n"

    def append(self, numbers: NDArray[np.int64], scores: Floats) -> None:
        worth_it = scores.dtype == np.float64 and scores.size >= WORTH_ARROW
        text = _lines_by_arrow(numbers, scores) if worth_it else None
        if text is None:
            written = repr if scores.dtype == np.float64 else "{:.9g}".format
            rows = zip(numbers.tolist(), scores.tolist(), strict=True)
            lines = [f"{number},{','.join(map(written, row))}\n" for number, row in rows]
            text = "".join(lines).encode()
        self.file.append(text)


WORTH_ARROW = 4096
"""Scores that are written through pyarrow if they come together: fewer do not repay its import."""


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

    def append(self, numbers: NDArray[np.int64], scores: Floats) -> None:
        self.file.append(np.ascontiguousarray(scores, dtype=self.dtype))

    def settle(self, *, final: bool = False) -> Place:
        self._begin()
        os.pwrite(self.file.handle, self.head(), 0)
        return super().settle()


PART_NAME = re.compile(r"part-(\d{6,})\.parquet")
HIDDEN_NAME = re.compile(r"\.part-(\d{6,})\.(rows|tmp)")


class Parquet(Sink):
    """A folder of parts, each of which appears whole or not at all.

    Rows of the part in the making wait in a hidden file beside the parts, which is cut back like any other.
    Only files with names of parts are ever removed from the folder.
    """

    def __init__(self, folder: Path, width: int, dtype: Any, place: Place | None) -> None:
        _require_arrow(folder)
        names = column_names(width)
        self.folder, self.row = folder, np.dtype([("row", "<i8"), *((name, dtype) for name in names)])
        self.part, self._length = (int(place["part"]), int(place["bytes"])) if place else (0, 0)
        self._final = False
        self._waiting_rows: Appended | None = None
        if place is None:
            folder.mkdir(exist_ok=True)
        elif not folder.is_dir():
            raise SinkError(f"{folder} had been written, but is gone; put it back, or start afresh")
        self._handle = os.open(folder, os.O_RDONLY)
        try:
            if not files.lock(self._handle):
                raise SinkError(
                    f"another process is writing to {folder}: wait until it has ended, or write elsewhere"
                )
            self.identity = files.identity(folder, self._handle)
            if place is not None:
                self._require_whole(place)
        except BaseException:
            os.close(self._handle)
            raise

    def write(self, numbers: NDArray[np.int64], scores: Floats) -> None:
        waiting = self._begin()
        rows = np.empty(len(scores), dtype=self.row)
        rows["row"] = numbers
        for i, name in enumerate(self.row.names[1:] if self.row.names else ()):
            rows[name] = scores[:, i]
        while len(rows):
            room = PART - waiting.length // self.row.itemsize
            waiting.append(rows[:room].view(np.uint8))
            rows = rows[room:]
            if waiting.length == PART * self.row.itemsize:
                waiting = self._complete(waiting)

    def excess(self) -> bool:
        waiting = self._waiting(self.part)
        return bool(self._superseded()) or (waiting.exists() and waiting.stat().st_size > self._length)

    def settle(self, *, final: bool = False) -> Place:
        waiting = self._begin()
        if final and waiting.length:
            waiting = self._complete(waiting)
        self._final = final
        waiting.settle()
        return {"part": self.part, "bytes": waiting.length, "sha256": self._fingerprint(waiting)}

    def committed(self) -> None:
        for number, path in self._named(HIDDEN_NAME):
            if path.suffix == ".rows" and (self._final or number != self.part):
                path.unlink()

    def close(self) -> None:
        if self._waiting_rows is not None:
            self._waiting_rows.close()
        os.close(self._handle)

    def _require_whole(self, place: Place) -> None:
        """Refuse a folder that lacks a part, or whose last part or waiting rows are not those written."""
        missing = next((n for n in range(self.part) if not self._part(n).exists()), None)
        if missing is not None:
            raise SinkError(
                f"{self._part(missing)} had been written, but is gone; put it back, or start afresh without "
                "resuming"
            )
        if not self._length and not self._waiting(self.part).exists():
            _require_same(self.folder, place, self._fingerprint(None))
            return
        waiting = Appended(self._waiting(self.part), self._length)
        try:
            _require_same(self.folder, place, self._fingerprint(waiting))
        finally:
            waiting.close()

    def _begin(self) -> Appended:
        """Remove what was written after the place, and open the file of waiting rows."""
        if self._waiting_rows is None:
            for path in self._superseded():
                path.unlink()
            self._waiting_rows = Appended(self._waiting(self.part), self._length)
            self._waiting_rows.begin()
            files.sync_folder(self.folder.absolute().parent)
        return self._waiting_rows

    def _superseded(self) -> list[Path]:
        """Parts from the place on, and hidden files other than the rows that wait at the place."""
        parts = [path for number, path in self._named(PART_NAME) if number >= self.part]
        hidden = [path for _, path in self._named(HIDDEN_NAME) if path != self._waiting(self.part)]
        return parts + hidden

    def _named(self, pattern: re.Pattern[str]) -> list[tuple[int, Path]]:
        """Files of the folder with such a name, and the number of the part each belongs to."""
        matches = [pattern.fullmatch(name) for name in sorted(os.listdir(self.folder))]
        return [(int(match[1]), self.folder / match[0]) for match in matches if match]

    def _fingerprint(self, waiting: Appended | None) -> str:
        """Of the end of the last part, and of the rows that wait."""
        digest = hashlib.sha256()
        if self.part:
            with self._part(self.part - 1).open("rb") as last:
                last.seek(-min(FINGERPRINT_BYTES, os.fstat(last.fileno()).st_size), os.SEEK_END)
                digest.update(last.read())
        if waiting is not None:
            digest.update(waiting.fingerprint(0))
        return digest.hexdigest()

    def _complete(self, waiting: Appended) -> Appended:
        """Turn the rows that wait into a part, and begin the next."""
        import pyarrow
        from pyarrow import parquet

        rows = np.fromfile(self._waiting(self.part), dtype=self.row)
        table = pyarrow.table({name: np.ascontiguousarray(rows[name]) for name in self.row.names or ()})
        temporary = self._waiting(self.part).with_suffix(".tmp")
        parquet.write_table(table, temporary, write_page_checksum=True)
        files.sync_file(temporary)
        os.replace(temporary, self._part(self.part))
        waiting.close()
        self.part += 1
        self._waiting_rows = Appended(self._waiting(self.part), 0)
        self._waiting_rows.begin()  # which syncs the folder, so the name of the new part too
        return self._waiting_rows

    def _part(self, number: int) -> Path:
        return self.folder / f"part-{number:06d}.parquet"

    def _waiting(self, number: int) -> Path:
        return self.folder / f".part-{number:06d}.rows"


def _require_arrow(folder: Path) -> None:
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise SinkError(f"{folder}: to write Parquet, pip install 'eigenstream[parquet]'") from None
