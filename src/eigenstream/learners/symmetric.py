"""Symmetric matrices of which the lower triangle is kept; from `WIDE` on zeros are in the other one."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats, Matrix, Vector
from .threads import forget_libraries

# Inputs. Below, NumPy's product and the sum take as long, and a command starts half a second sooner.
WIDE = 48
"""Width from which on SciPy's routines are used."""


# A sine. At this angle to those before, rounding leaves nine digits of an axis.
DEPENDENT = 1e-3
"""A column that is nearer to those before it is not made orthogonal to them."""


# Columns. LAPACK's own choice is 32; more memory than it asks for changes nothing.
PANEL = 64
"""Columns that routines may take together."""


@cache
def _blas() -> Any:
    from scipy.linalg import blas  # here, because it would double the time a command takes to start

    forget_libraries()  # SciPy has a library of its own, which was not there when they were counted
    return blas


@cache
def _lapack() -> Any:
    from scipy.linalg import lapack

    return lapack


def load_routines() -> None:
    """Load SciPy's routines, before threads are limited: its library would not be among them."""
    _blas(), _lapack()


def add_products(C: Matrix, R: Matrix, decay: float) -> None:
    """``C <- decay C + R'R`` in place, of C-contiguous arrays."""
    if len(C) < WIDE:
        C *= decay
        C += R.T @ R
        return
    upper = C.T
    if _blas().dsyrk(1.0, R.T, beta=decay, c=upper, overwrite_c=1) is not upper:
        raise ValueError(
            "the matrix is not contiguous, float64 and writeable: products went into a copy of it"
        )


def product(C: Matrix, B: Floats) -> Matrix:
    """``C B`` with columns B (n, m), or a vector."""
    if len(C) < WIDE:
        return C @ B
    if B.ndim == 1:
        return np.asarray(_blas().dsymv(1.0, C.T, B))
    return np.asarray(_blas().dsymm(1.0, C.T, B))


def eigenpairs(H: Matrix) -> tuple[Vector, Matrix]:
    """Eigenvalues of a small matrix, largest first, and eigenvectors as columns; of H a triangle is read.

    NumPy's function takes four times as long for a matrix of three rows.
    """
    lam, V, failed = _lapack().dsyevd(H, lower=1)
    if failed:
        raise np.linalg.LinAlgError("eigenvalues of a small matrix did not converge")
    return lam[::-1], V[:, ::-1]


def leading_eigenpairs(C: Matrix, k: int) -> tuple[Vector, Matrix]:
    """All eigenvalues, smallest first, and the eigenvectors of the last k (or of all) as columns.

    By a tridiagonal matrix, and by inverse iteration on it: all eigenvalues and few eigenvectors take half
    the time of all eigenvectors (64 inputs with 4 of them, 256 with 16).
    """
    found = _leading(_lapack().dsytrd(C, lower=1, lwork=PANEL * len(C)), k)
    return _all_eigenpairs(C) if found is None else found


def leading_eigenpairs_in_place(C: Matrix, k: int) -> tuple[Vector, Matrix]:
    """`leading_eigenpairs` without a second matrix of the size of C, which must be nobody else's meanwhile.

    The same bits, and C is the same afterwards: the triangle that is not kept serves as memory.
    """
    variances, parts = C.diagonal().copy(), range(0, len(C), PANEL)
    for start in parts:  # the kept triangle lies in both now, and LAPACK changes the other one
        panel = slice(start, start + PANEL)
        C[panel, panel] += np.tril(C[panel, panel], -1).T
        C[panel, start + PANEL :] = C[start + PANEL :, panel].T
    found = _leading(_lapack().dsytrd(C.T, lower=1, lwork=PANEL * len(C), overwrite_a=1), k)
    for start in parts:
        panel = slice(start, start + PANEL)
        C[panel, panel] = np.tril(C[panel, panel])
        C[panel, start + PANEL :] = 0.0
    np.fill_diagonal(C, variances)
    return _all_eigenpairs(C) if found is None else found


def _all_eigenpairs(C: Matrix) -> tuple[Vector, Matrix]:
    lam, V = np.linalg.eigh(C)
    return lam, V


def _leading(tridiagonal: tuple[Any, ...], k: int) -> tuple[Vector, Matrix] | None:
    """`leading_eigenpairs` by what `dsytrd` returns; None where that fails."""
    reflected, diagonal, beside, factors, _ = tridiagonal
    n, lapack = len(diagonal), _lapack()
    lam, failed = lapack.dsterf(diagonal, beside)
    if failed or not lam[-1] > 0:
        return None
    blocks, ends = np.ones(n, dtype=np.int32), np.zeros(n, dtype=np.int32)  # all of it is one block
    ends[0] = n
    Z, failed = lapack.dstein(diagonal, beside, lam[n - k :], blocks, ends)
    if failed:
        return None
    V = np.empty((n, k))
    V[:1] = Z[:1]
    # Reflections lie below the diagonal: from the second number on, a matrix of one row more than they need.
    below = reflected.ravel(order="K")[1 : 1 + n * (n - 1)].reshape((n, n - 1), order="F")
    V[1:], _, _ = lapack.dormqr("L", "N", below, factors, Z[1:], PANEL * k)
    if not np.isfinite(V).all():  # values near 1e64 overflow: these routines do not scale, the other one does
        return None
    return lam, V


def orthonormal_rows(Z: Matrix) -> tuple[Matrix | None, list[float]]:
    """Columns of Z made orthonormal, each less those before it, as rows, and the squares of their lengths.

    None where they nearly depend. By Cholesky's method on their products: accurate for columns that are
    nearly orthogonal, whatever their lengths.
    """
    products = Z.T @ Z
    squares: list[float] = products.diagonal().tolist()
    factor, failed = _lapack().dpotrf(products, lower=1)
    if failed:
        return None, squares
    for square, new in zip(squares, factor.diagonal().tolist(), strict=True):
        if not new * new > DEPENDENT * DEPENDENT * square:
            return None, squares
    return _blas().dtrsm(1.0, factor, Z, side=1, lower=1, trans_a=1).T, squares


def lower(C: Matrix) -> Matrix:
    """A matrix that has both triangles, as `add_products` leaves it."""
    return C if len(C) < WIDE else np.tril(C)


def squared_norm(C: Matrix) -> float:
    """Sum of the squares of all entries."""
    entries = C.ravel()
    if len(C) < WIDE:
        return float(entries.dot(entries))
    diagonal = C.diagonal()
    return 2 * float(entries.dot(entries)) - float(diagonal.dot(diagonal))


def whole(C: Matrix) -> Matrix:
    """Both triangles of C, in other memory."""
    lower = _small_triangle(len(C)) if len(C) < WIDE else np.tri(len(C), dtype=np.bool_)
    return np.where(lower, C, C.T)


@cache
def _small_triangle(n: int) -> NDArray[np.bool_]:
    """The lower triangle: to make it takes five times as long as to use it where n is small."""
    return np.tri(n, dtype=np.bool_)
