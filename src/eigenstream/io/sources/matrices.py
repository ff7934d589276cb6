"""Readers of matrices that others wrote: Zarr arrays, and sparse matrices in Matrix Market or NPZ files.

The stored numbers of a sparse matrix are read at once; rows are made dense one batch at a time. Memory goes
by the numbers that are stored, not by the rows that a head claims: 70 bytes may claim two thousand million.
"""

from __future__ import annotations

import math
import warnings
import zipfile
from collections.abc import Callable, Iterable
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import RowReader
from .batch import SourceError
from .npy import npy_head
from .options import ReadOptions

LARGEST_CHUNK = 1 << 28
"""Most bytes of a chunk: Zarr decodes chunks as a whole, however well they are packed."""
LONGEST_LINE = 1 << 16
"""Most bytes of a line in the head of a Matrix Market file."""
LARGEST_BAND = 1 << 23
"""Most numbers of a row of chunks that is kept after decoding: 64 MiB of float64."""
EMPTY_ROWS, ROWS_PER_BYTE = 10**6, 100
"""Most rows without a stored number that a source may claim, and those for each byte that it stores: more
would take hours to learn from a file of 70 bytes."""
LARGEST_UNPACKED, PACKED_FACTOR = 1 << 28, 20
"""Most bytes to which the parts of an NPZ file of a sparse matrix unpack, where they are more than
`PACKED_FACTOR` times the bytes of the file: zeros pack a thousand times."""
FACTORS = {b"general": None, b"symmetric": 1.0, b"skew-symmetric": -1.0}
"""Symmetries of a Matrix Market file: the factor of a number on the other side of the diagonal."""
NUMBERS = {b"real", b"double", b"integer", b"unsigned-integer", b"pattern"}
"""Kinds of numbers in a Matrix Market file that are read."""
PARTS = {"format.npy", "shape.npy", "data.npy"}
"""Members of every NPZ file of a sparse matrix."""


class Zarr(RowReader):
    """A two-dimensional Zarr array."""

    kind = "zarr"

    def __init__(self, path: Path, options: ReadOptions) -> None:
        try:
            import zarr
        except ImportError:
            raise SourceError(f"{path}: to read Zarr, pip install 'eigenstream[zarr]'") from None
        try:
            self.array: Any = zarr.open_array(str(path), mode="r")
            shape, dtype = tuple(self.array.shape), np.dtype(self.array.dtype)
            shape_of_chunk = getattr(self.array, "shards", None) or self.array.chunks
            chunk, chunk_rows = math.prod(shape_of_chunk) * dtype.itemsize, int(shape_of_chunk[0])
        except Exception as error:  # a damaged store raises whatever its parts raise
            raise SourceError(f"{path} is not a readable Zarr array: {error}") from None
        if len(shape) != 2 or 0 in shape:
            raise SourceError(f"{path}: expected an array of rows and columns, got shape {shape}")
        refuse_empty(path, shape[0], (file.stat().st_size for file in path.rglob("*") if file.is_file()))
        super().__init__(str(path), shape, dtype, options)
        if chunk > LARGEST_CHUNK:
            raise SourceError(
                f"{path}: its chunks have {chunk:,} bytes; rechunk it to at most {LARGEST_CHUNK:,}"
            )
        self.band_rows = chunk_rows if chunk_rows * self.full <= LARGEST_BAND else None
        """Rows per chunk. One row of chunks, a band, is kept, so that batches smaller than a chunk decode it
        only once; None if a band is too large to keep."""
        self._band: tuple[int, NDArray[Any]] = (-1, np.zeros((0, 0)))
        """First row of the band that is kept, and its rows."""

    def fetch(self, start: int, stop: int) -> NDArray[Any]:
        if self.band_rows is None:
            return self._decoded(start, stop)
        parts = []
        for first in range(start - start % self.band_rows, stop, self.band_rows):
            band = self._band  # read once: another thread may ask for other rows at the same time
            if band[0] != first:
                band = self._band = (first, self._decoded(first, min(first + self.band_rows, self.total)))
            parts.append(band[1][max(start - first, 0) : stop - first])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _decoded(self, start: int, stop: int) -> NDArray[Any]:
        try:
            return np.asarray(self.array[start:stop])
        except Exception as error:  # as above
            raise SourceError(f"{self.name}, rows {start} to {stop}: cannot be read: {error}") from None


def refuse_empty(path: Path, rows: int, stored: Iterable[int]) -> None:
    """Raise if a source claims rows far beyond what it stores; ``stored`` yields numbers of bytes."""
    needed = (rows - EMPTY_ROWS) / ROWS_PER_BYTE
    if needed > 0 and not any(total >= needed for total in accumulate(stored)):
        raise SourceError(
            f"{path} claims {rows:,} rows, but stores next to nothing: at most {EMPTY_ROWS:,} rows, and "
            f"{ROWS_PER_BYTE} for each byte, are read of such a file"
        )


class SparseMatrix(RowReader):
    """A sparse matrix in memory, handed out as dense rows."""

    kind = "sparse"

    def __init__(self, path: Path, read: Callable[[str], Any], what: str, options: ReadOptions) -> None:
        from scipy.sparse import coo_array

        try:
            matrix = read(str(path))
            shape = matrix.shape
            if len(shape) != 2 or 0 in shape:
                raise SourceError(f"{path}: expected a matrix with rows and columns, got shape {shape}")
            refuse_empty(path, shape[0], [path.stat().st_size])
            options.choose(None, shape[1], str(path))  # before room is made for them
            if hasattr(matrix, "check_format"):
                matrix.check_format(full_check=True)  # an index beyond the end would be written to
            matrix = coo_array(matrix)
            matrix.sum_duplicates()
            order = np.lexsort((matrix.col, matrix.row))
            self._at, self._columns = matrix.row[order], matrix.col[order]
            self._values = matrix.data[order]
        except SourceError:
            raise
        except Exception as error:  # a damaged file raises whatever its parsers raise
            raise SourceError(f"{path} is not a readable {what}: {error}") from None
        super().__init__(str(path), shape, matrix.dtype, options)
        self.files = [path]

    def fetch(self, start: int, stop: int) -> NDArray[Any]:
        rows = np.zeros((stop - start, self.full), dtype=self._values.dtype)
        first, last = np.searchsorted(self._at, (start, stop))
        rows[self._at[first:last] - start, self._columns[first:last]] = self._values[first:last]
        return rows


def matrix_market(path: Path, options: ReadOptions) -> SparseMatrix:
    """Open a Matrix Market file."""
    return SparseMatrix(path, _market, "Matrix Market file", options)


def _market(path: str) -> Any:
    """Parse a Matrix Market file; not by SciPy, whose parser reads beyond its memory in damaged files."""
    from scipy.sparse import coo_array

    with open(path, "rb") as file:
        _, _, layout, field, symmetry = file.readline(LONGEST_LINE).lower().split()
        line = b"%"
        while line.startswith(b"%") or (line and not line.strip()):
            line = file.readline(LONGEST_LINE)
        body = file.read()
    sizes, factor = list(map(int, line.split())), FACTORS[symmetry]
    dense, shape = layout == b"array", (sizes[0], sizes[1])
    if field not in NUMBERS or min(sizes) < 0 or len(sizes) != (2 if dense else 3):
        raise ValueError(f"expected real numbers and sizes, got {field.decode()} ones and {sizes}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy warns where it finds something else than numbers
        numbers = np.fromstring(body, sep=" ")
    if dense and factor is None:
        return coo_array(numbers.reshape(shape[::-1]).T)  # by columns
    if dense:  # the lower triangle by columns
        above = int(factor == -1)
        if shape[0] != shape[1] or 2 * len(numbers) != shape[0] * (shape[0] + 1 - 2 * above):
            raise ValueError(f"{len(numbers):,} numbers in a symmetric matrix of sizes {sizes}")
        at, values = np.column_stack(np.triu_indices(shape[0], above)[::-1]), numbers
    else:
        entries = numbers.reshape(sizes[2], 2 if field == b"pattern" else 3)
        at, values = entries[:, :2].astype(np.int64) - 1, entries[:, 2:].ravel()
        values = np.ones(len(at)) if field == b"pattern" else values
        if (at != entries[:, :2] - 1).any() or (at < 0).any() or (at >= shape).any():
            raise ValueError("an index is not whole, or beyond the size")
    if factor is not None:
        other = at[:, 0] != at[:, 1]
        at, values = np.vstack((at, at[other, ::-1])), np.concatenate((values, factor * values[other]))
    return coo_array((values, (at[:, 0], at[:, 1])), shape=shape)


def sparse_npz(path: Path, options: ReadOptions) -> SparseMatrix:
    """Open a sparse matrix in an NPZ file."""
    from scipy.sparse import load_npz

    with zipfile.ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > max(LARGEST_UNPACKED, PACKED_FACTOR * path.stat().st_size):
        raise SourceError(
            f"{path} unpacks to {unpacked:,} bytes, {PACKED_FACTOR} times its size; at most "
            f"{LARGEST_UNPACKED:,} are read of such a file"
        )
    _refuse_lying_members(path)
    return SparseMatrix(path, load_npz, "NPZ file of a sparse matrix", options)


def _refuse_lying_members(path: Path) -> None:
    """Raise if an array's head claims more bytes than the archive says it has: NumPy makes room for them."""
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                with archive.open(member) as content:
                    shape, _, kind = npy_head(content, f"{path} ({member.filename})")
                if math.prod(shape) * kind.itemsize > member.file_size:
                    raise SourceError(
                        f"{path} ({member.filename}) is cut off: shape {shape} needs more bytes"
                    )
    except SourceError:
        raise
    except Exception as error:  # as above
        raise SourceError(f"{path} is not a readable NPZ file: {error}") from None


def is_sparse_npz(path: Path) -> bool:
    """Return True if an NPZ file holds a sparse matrix."""
    try:
        with zipfile.ZipFile(path) as archive:
            return set(archive.namelist()) >= PARTS
    except Exception:  # its reader says what is wrong
        return False
