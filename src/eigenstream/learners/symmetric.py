"""Symmetric matrices of which the lower triangle is kept; the other one is memory without meaning."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsymm, dsymv, dsyrk

from ..array_types import Floats, Matrix
from .threads import forget_libraries

forget_libraries()  # SciPy has a library of its own, which may not have been there when they were counted


def add_products(C: Matrix, R: Matrix, decay: float) -> None:
    """``C <- decay C + R'R`` in place, of C-contiguous arrays."""
    upper = C.T
    if dsyrk(1.0, R.T, beta=decay, c=upper, overwrite_c=1) is not upper:
        raise ValueError(
            "the matrix is not contiguous, float64 and writeable: products went into a copy of it"
        )


def product(C: Matrix, B: Floats) -> Matrix:
    """``C B`` with columns B (n, m), or a vector."""
    if B.ndim == 1:
        return np.asarray(dsymv(1.0, C.T, B))
    return np.asarray(dsymm(1.0, C.T, B))


def whole(C: Matrix) -> Matrix:
    """Both triangles of C, in other memory."""
    lower: Matrix = np.tril(C)
    return lower + np.tril(C, -1).T
