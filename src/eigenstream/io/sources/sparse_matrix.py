"""Readers of sparse matrices: Matrix Market files, and NPZ files that ``scipy.sparse.save_npz`` wrote.

The stored numbers are read at once; rows are made dense one batch at a time.
"""

from __future__ import annotations

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

PARTS = {"format.npy", "shape.npy", "data.npy"}
"""Members of every NPZ file of a sparse matrix."""


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
