"""Readers of matrices that others wrote: Zarr arrays, and sparse matrices in Matrix Market or NPZ files.

The stored numbers of a sparse matrix are read at once; rows are made dense one batch at a time.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import RowReader
from .batch import SourceError
from .options import ReadOptions

LARGEST_CHUNK = 1 << 30
"""Most bytes of a chunk: Zarr decodes chunks as a whole."""
LARGEST_BAND = 1 << 23
"""Most numbers of a row of chunks that is kept after decoding: 64 MiB of float64."""
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


class SparseMatrix(RowReader):
    """A sparse matrix in memory, handed out as dense rows."""

    kind = "sparse"

    def __init__(self, path: Path, read: Callable[[str], Any], what: str, options: ReadOptions) -> None:
        from scipy.sparse import csr_array

        try:
            matrix = read(str(path))
            if hasattr(matrix, "check_format"):
                matrix.check_format(full_check=True)  # an index beyond the end would be written to
            self.matrix = csr_array(matrix)
        except Exception as error:  # a damaged file raises whatever its parsers raise
            raise SourceError(f"{path} is not a readable {what}: {error}") from None
        shape = self.matrix.shape
        if len(shape) != 2 or 0 in shape:
            raise SourceError(f"{path}: expected a matrix with rows and columns, got shape {shape}")
        super().__init__(str(path), shape, self.matrix.dtype, options)
        self.files = [path]

    def fetch(self, start: int, stop: int) -> NDArray[Any]:
        return np.asarray(self.matrix[start:stop].toarray())


def matrix_market(path: Path, options: ReadOptions) -> SparseMatrix:
    """Open a Matrix Market file."""
    from inspect import signature

    from scipy.io import mmread

    # From SciPy 1.15 on, one has to say which kind of matrix; before, one cannot.
    kind = {"spmatrix": False} if "spmatrix" in signature(mmread).parameters else {}
    return SparseMatrix(path, partial(mmread, **kind), "Matrix Market file", options)


def sparse_npz(path: Path, options: ReadOptions) -> SparseMatrix:
    """Open a sparse matrix in an NPZ file."""
    from scipy.sparse import load_npz

    return SparseMatrix(path, load_npz, "NPZ file of a sparse matrix", options)


def is_sparse_npz(path: Path) -> bool:
    """Return True if an NPZ file holds a sparse matrix."""
    try:
        with zipfile.ZipFile(path) as archive:
            return set(archive.namelist()) >= PARTS
    except (OSError, zipfile.BadZipFile):  # its reader says what is wrong
        return False
