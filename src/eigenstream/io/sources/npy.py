"""Readers of matrices that NumPy saved: NPY files, and arrays in NPZ files."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .arrays import ForwardReader, RowReader
from .batch import CELLS, Hint, SourceError
from .options import ReadOptions

LONGEST_HEAD = 1 << 16
"""Most bytes of the head of a file; NumPy writes 128, and a damaged head may claim gigabytes."""


class NpyReader(RowReader):
    """An NPY file, read in parts: memory does not grow with the file."""

    kind = "npy"

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.file = path.open("rb")
        try:
            self.shape, self.by_column, self.stored = _head(self.file, str(path))
            self.start = self.file.tell()
            needed = self.start + self.shape[0] * self.shape[1] * self.stored.itemsize
            if os.fstat(self.file.fileno()).st_size < needed:
                raise SourceError(f"{path} is cut off: shape {self.shape} needs {needed:,} bytes")
            super().__init__(str(path), self.shape, self.stored, options)
            self.files = [path]
        except BaseException:
            self.close()
            raise

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
    """An array in an NPZ file, read forward; going back starts again from the beginning."""

    kind = "npz"

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path = path
        self._content: IO[bytes] | None = None
        try:
            self.archive = zipfile.ZipFile(path)
        except Exception as error:  # a damaged file raises whatever its decoders raise
            raise SourceError(f"{path} is not a readable NPZ file: {error}") from None
        try:
            self.member = self._member(options.array)
            self._begin()
            super().__init__(f"{path} ({self.member})", self.shape, self.stored, options)
            self.files = [path]
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
        """Return the checksum of the array that the file holds."""
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


def _head(file: IO[bytes], name: str) -> tuple[tuple[int, int], bool, np.dtype[Any]]:
    """Return shape, True if stored by columns, and type of a matrix that NumPy saved."""
    shape, by_column, stored = npy_head(file, name)
    if len(shape) != 2 or 0 in shape or min(shape) < 0:
        raise SourceError(f"{name}: expected a matrix with rows and columns, got shape {shape}")
    return (int(shape[0]), int(shape[1])), by_column, stored


def npy_head(file: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the same of any array."""
    try:
        start = io.BytesIO(file.read(LONGEST_HEAD))  # NumPy would read a head of any length that it claims
        version = npy.read_magic(start)
        header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, by_column, stored = header(start)
        file.seek(start.tell())
    except Exception as error:  # a damaged head raises whatever its parsers raise
        raise SourceError(f"{name} is not a readable NPY file: {error}") from None
    return shape, bool(by_column), stored
