"""Rows of matrices that can be read anywhere: NPY files, Zarr arrays, and generated streams."""

from __future__ import annotations

import hashlib
import math
import os
import zipfile
from abc import abstractmethod
from collections.abc import Callable, Iterator
from operator import index
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .batch import CELLS, Chunk, Floats, Hint, Place, Reader, SourceError
from .columns import Columns, chosen_columns

LONGEST_HEAD = 1 << 16
PRINT = 16
"""Rows at the beginning, and before the place reached, by which a matrix is recognised."""


class RowReader(Reader):
    """Abstract: rows by their numbers. A subclass says how to fetch some of them."""

    total: int

    def __init__(
        self, name: str, shape: tuple[int, int], dtype: Any, columns: Columns, exclude: Columns = None
    ) -> None:
        self.name, self.row = name, 0
        self.total, self.full = shape
        self.dtype = _float_type(name, dtype)
        self.chosen = chosen_columns(columns, self.names, self.full, name, exclude)
        self.width = len(self.chosen)
        self.names = None if self.names is None else [self.names[i] for i in self.chosen]

    @abstractmethod
    def fetch(self, start: int, stop: int) -> NDArray[Any]:
        """These rows, all columns."""

    def take(self, count: int) -> Chunk | None:
        start, stop = self.row, min(self.row + count, self.total)
        if start >= stop:
            return None
        self.row = stop
        return Chunk(self.rows(start, stop), np.arange(start, stop), [])

    def pass_over(self, count: int) -> None:
        self.row = min(self.row + count, self.total)

    def rows(self, start: int, stop: int) -> Floats:
        """These rows, the columns chosen, as floats."""
        fetched = self.fetch(start, stop)
        if not isinstance(self.chosen, range):
            fetched = fetched[:, self.chosen]
        rows: Floats = np.ascontiguousarray(fetched, dtype=self.dtype)
        return rows

    def place(self) -> Callable[[], Place]:
        row = self.row
        return lambda: {"row": row, "fingerprint": self.fingerprint(row)}

    def fingerprint(self, row: int) -> str:
        """By which the first rows are recognised: a hash of the first and the last of them."""
        digest = hashlib.sha256(f"{self.width} {np.dtype(self.dtype)}".encode())
        if row:
            some = max(1, min(PRINT, CELLS // self.full))
            digest.update(self.rows(0, min(some, row)).tobytes())
            digest.update(self.rows(max(row - some, 0), row).tobytes())
        return digest.hexdigest()

    def go_to(self, place: Place) -> None:
        row = index(place["row"])
        if row > self.total:
            raise SourceError(
                f"{self.name} has become shorter: {row:,} rows had been read, it has {self.total:,}"
            )
        if self.fingerprint(row) != place["fingerprint"]:
            raise SourceError(
                f"{self.name} does not begin as it did: something in its first {row:,} rows has changed; "
                "give the same source, or start afresh without resuming"
            )
        self.row = row

    def where(self, chunk: Chunk, row: int, column: int) -> str:
        named = self.names and f" ({self.names[column]})"
        return f"{self.name}, row {int(chunk.numbers[row])}, column {self.chosen[column]}{named or ''}"

    def progress(self) -> float | None:
        return self.row / max(self.total, 1)

    def behind(self) -> int | None:
        return self.total - self.row


class ForwardReader(RowReader):
    """Abstract: rows that are costly to go back to; the last are remembered, to recognise their place.

    A subclass says by a fingerprint which file it is.
    """

    def __init__(
        self, name: str, shape: tuple[int, int], dtype: Any, columns: Columns, exclude: Columns = None
    ) -> None:
        super().__init__(name, shape, dtype, columns, exclude)
        self._last: Floats = np.zeros((0, self.width), dtype=self.dtype)

    def take(self, count: int) -> Chunk | None:
        chunk = super().take(count)
        if chunk is not None:
            some = max(1, min(PRINT, CELLS // self.full))
            kept = np.concatenate((self._last, chunk.rows[-some:]))
            self._last = kept[-some:]
        return chunk

    def pass_over(self, count: int) -> None:
        super().pass_over(count)
        self._last = self._last[:0]

    def place(self) -> Callable[[], Place]:
        row, last = self.row, self._last
        return lambda: {
            "row": row,
            "fingerprint": self.fingerprint(row),
            "last": [len(last), hashlib.sha256(last.tobytes()).hexdigest()],
        }

    def go_to(self, place: Place) -> None:
        super().go_to(place)
        count, seen = index(place["last"][0]), place["last"][1]
        if not 0 <= count <= min(self.row, PRINT):
            raise ValueError(f"{count} rows before row {self.row}")
        last = self.rows(self.row - count, self.row) if count else self._last[:0]
        if hashlib.sha256(last.tobytes()).hexdigest() != seen:
            raise SourceError(
                f"{self.name} does not begin as it did: the rows before row {self.row:,} have changed; "
                "give the same source, or start afresh without resuming"
            )
        self._last = last


class Npy(RowReader):
    """A matrix as NumPy saves it, read piece by piece: memory does not grow with the file."""

    kind = "npy"

    def __init__(self, path: Path, columns: Columns, exclude: Columns = None) -> None:
        self.file = path.open("rb")
        try:
            self._read_head(path)
            super().__init__(str(path), self.shape, self.stored, columns, exclude)
        except BaseException:
            self.close()
            raise

    def _read_head(self, path: Path) -> None:
        self.shape, self.by_column, self.stored = _head(self.file, str(path))
        self.start = self.file.tell()
        shape = self.shape
        needed = self.start + shape[0] * shape[1] * self.stored.itemsize
        if os.fstat(self.file.fileno()).st_size < needed:
            raise SourceError(f"{path} is cut off: shape {shape} needs {needed:,} bytes")

    def fetch(self, start: int, stop: int) -> NDArray[Any]:
        total, width = self.shape
        if not self.by_column:
            return self._numbers(start * width, (stop - start) * width).reshape(-1, width)
        rows = np.empty((stop - start, width), dtype=self.stored)
        some = max(1, CELLS // total)  # short columns are read many at a time
        for j in range(0, width, some):
            if some == 1:
                rows[:, j] = self._numbers(j * total + start, stop - start)
            else:
                columns = self._numbers(j * total, min(some, width - j) * total).reshape(-1, total)
                rows[:, j : j + some] = columns[:, start:stop].T
        return rows

    def _numbers(self, first: int, count: int) -> NDArray[Any]:
        numbers = np.empty(count, dtype=self.stored)
        offset, left = self.start + first * self.stored.itemsize, numbers.view(np.uint8).data
        while len(left):  # the system reads at most 2 GiB at a time
            got = os.preadv(self.file.fileno(), [left], offset)
            if not got:
                raise SourceError(f"{self.name} was cut off while it was read: {offset:,} bytes are left")
            offset, left = offset + got, left[got:]
        return numbers

    def close(self) -> None:
        self.file.close()


class Npz(ForwardReader):
    """A matrix in a file as ``numpy.savez`` writes it, read forward; to go back is to begin again."""

    kind = "npz"

    def __init__(self, path: Path, array: str | None, columns: Columns, exclude: Columns = None) -> None:
        self.path = path
        self._content: IO[bytes] | None = None
        try:
            self.archive = zipfile.ZipFile(path)
        except Exception as error:  # a damaged file raises whatever its decoders raise
            raise SourceError(f"{path} is not a readable NPZ file: {error}") from None
        try:
            self.member = self._member(array)
            self._begin()
            super().__init__(f"{path} ({self.member})", self.shape, self.stored, columns, exclude)
            if self.by_column and self.shape[0] * self.shape[1] > CELLS:
                raise SourceError(
                    f"{self.name} is stored by columns: save it with np.ascontiguousarray, or as NPY"
                )
        except BaseException:
            self.close()
            raise

    def _member(self, array: str | None) -> str:
        names = [name.removesuffix(".npy") for name in self.archive.namelist() if name.endswith(".npy")]
        if not names:
            raise SourceError(f"{self.path} holds no arrays: if it is a spreadsheet, export it as CSV")
        if array is not None and array not in names:
            raise SourceError(f"{self.path}: there is no array {array!r}; there are {', '.join(names)}")
        if array is None and len(names) != 1:
            raise SourceError(
                f"{self.path} holds {len(names)} arrays: {', '.join(names)}",
                Hint("array", names[0], "chooses one of them"),
            )
        return names[0] if array is None else array

    def _begin(self) -> None:
        if self._content is not None:
            self._content.close()
        try:
            self._content, self._at = self.archive.open(self.member + ".npy"), 0
        except Exception as error:  # as above
            raise SourceError(f"{self.path} is not a readable NPZ file: {error}") from None
        self.shape, self.by_column, self.stored = _head(self._content, f"{self.path} ({self.member})")

    def fetch(self, start: int, stop: int) -> NDArray[Any]:
        total, width = self.shape
        if self.by_column:
            self._begin()
            return self._numbers(total * width).reshape(width, total).T[start:stop]
        if start < self._at:
            self._begin()
        some = max(1, CELLS // width)
        while self._at < start:
            self._at += len(self._numbers(min(some, start - self._at) * width)) // width
        self._at = stop
        return self._numbers((stop - start) * width).reshape(-1, width)

    def fingerprint(self, row: int) -> str:
        """The checksum of everything, which the file has from the start."""
        known = self.archive.getinfo(self.member + ".npy")
        return f"{self.member} {known.file_size} {known.CRC:08x} {self.width}"

    def _numbers(self, count: int) -> NDArray[Any]:
        assert self._content is not None
        size = count * self.stored.itemsize
        try:
            content = self._content.read(size)
        except Exception as error:  # as above
            raise SourceError(f"{self.name} is damaged: {error}") from None
        if len(content) < size:
            raise SourceError(f"{self.name} is cut off: shape {self.shape} needs more bytes than there are")
        return np.frombuffer(content, dtype=self.stored)

    def close(self) -> None:
        if self._content is not None:
            self._content.close()
        self.archive.close()


class _Start:
    """The start of a file, which is short: NumPy would read a head as long as it says it is."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def read(self, size: int = -1, /) -> bytes:
        if size > LONGEST_HEAD:
            raise ValueError(f"a head of {size:,} bytes")
        return self.file.read(size)


def _head(file: IO[bytes], name: str) -> tuple[tuple[int, int], bool, np.dtype[Any]]:
    """Shape, whether columns come one after the other, and type of a matrix that NumPy saved."""
    try:
        start = _Start(file)
        version = npy.read_magic(start)
        header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, by_column, stored = header(start)
    except Exception as error:  # a damaged head raises whatever its parsers raise
        raise SourceError(f"{name} is not a readable NPY file: {error}") from None
    if len(shape) != 2 or 0 in shape or min(shape) < 0:
        raise SourceError(f"{name}: expected a matrix with rows and columns, got shape {shape}")
    return (int(shape[0]), int(shape[1])), bool(by_column), stored


class Zarr(RowReader):
    """A two-dimensional Zarr array."""

    kind = "zarr"

    def __init__(self, path: Path, columns: Columns, exclude: Columns = None) -> None:
        try:
            import zarr
        except ImportError:
            raise SourceError(f"{path}: to read Zarr, pip install 'eigenstream[zarr]'") from None
        try:
            self.array: Any = zarr.open_array(str(path), mode="r")
            shape, dtype = tuple(self.array.shape), np.dtype(self.array.dtype)
            shape_of_chunk = getattr(self.array, "shards", None) or self.array.chunks
            chunk, tall = math.prod(shape_of_chunk) * dtype.itemsize, int(shape_of_chunk[0])
        except Exception as error:  # a damaged store raises whatever its parts raise
            raise SourceError(f"{path} is not a readable Zarr array: {error}") from None
        if len(shape) != 2 or 0 in shape:
            raise SourceError(f"{path}: expected an array of rows and columns, got shape {shape}")
        super().__init__(str(path), shape, dtype, columns, exclude)
        if chunk > LARGEST_CHUNK:
            raise SourceError(
                f"{path}: its chunks have {chunk:,} bytes; rechunk it to at most {LARGEST_CHUNK:,}"
            )

        self.tall = tall if tall * self.full <= LARGEST_SLAB else 1
        """Rows that are decoded at once and kept until others are asked for: a chunk is decoded only once."""
        self._slab: tuple[int, NDArray[Any]] = (-1, np.zeros((0, 0)))

    def fetch(self, start: int, stop: int) -> NDArray[Any]:
        if self.tall == 1:
            return self._decoded(start, stop)
        parts = []
        for low in range(start - start % self.tall, stop, self.tall):
            slab = self._slab  # taken once: somebody else may be asking for other rows at the same time
            if slab[0] != low:
                slab = self._slab = (low, self._decoded(low, min(low + self.tall, self.total)))
            parts.append(slab[1][max(start - low, 0) : stop - low])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _decoded(self, start: int, stop: int) -> NDArray[Any]:
        try:
            return np.asarray(self.array[start:stop])
        except Exception as error:  # as above
            raise SourceError(f"{self.name}, rows {start} to {stop}: cannot be read: {error}") from None


LARGEST_CHUNK = 1 << 30
LARGEST_SLAB = 1 << 23
"""Numbers in rows that are kept."""


class Generated(RowReader):
    """A stream made on the spot, the same each time."""

    kind = "generated"

    def __init__(
        self,
        name: str,
        shape: tuple[int, int],
        make: Callable[[int], Iterator[Floats]],
        columns: Columns,
        exclude: Columns = None,
    ) -> None:
        self.make, self._at = make, -1
        self._batches: Iterator[Floats] = iter(())
        self._rest = np.zeros((0, shape[1]))
        super().__init__(name, shape, np.float64, columns, exclude)

    def fetch(self, start: int, stop: int) -> NDArray[Any]:
        if start != self._at:  # from the beginning again: it has no memory of what it made
            self._batches, self._rest = self.make(start), np.zeros((0, self._rest.shape[1]))
        while len(self._rest) < stop - start:
            self._rest = np.vstack((self._rest, next(self._batches)))
        rows, self._rest = self._rest[: stop - start], self._rest[stop - start :]
        self._at = stop
        return rows

    def fingerprint(self, row: int) -> str:
        return self.name


def _float_type(name: str, dtype: Any) -> Any:
    """float32 stays float32; whole numbers and float16 become the next wider float that holds them."""
    kind = np.dtype(dtype)
    if kind.kind not in "fiub" or kind.itemsize > 8 or kind.hasobject:
        raise SourceError(f"{name}: expected real numbers, got type {kind}")
    return np.float32 if kind.kind == "f" and kind.itemsize <= 4 else np.float64
