"""Sparse rows that are centered without being filled: what is subtracted from them is kept beside them.

    R = diag(s) (X - 1 m')     X (b, n) sparse, m (n) what was subtracted, s (b) what rows were multiplied by

Every product that the subspace learner needs of R is one of X and a correction of rank one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats as Floats
from ..array_types import Matrix as Matrix

# Rows of a block: filled rows take no more memory than a block that waits.
PART = 64
"""Rows that are filled at a time, where nothing else helps."""


class SparseRows:
    """Rows of a sparse matrix, with the operations that this package asks of rows.

    Parameters
    ----------
    X
        The matrix, without stored zeros (see `without_zeros`). Never changed.
    """

    __array_ufunc__ = None  # NumPy's operators leave their work to the methods here
    device = None
    """They live on the host."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.m: Floats = np.zeros(X.shape[1])
        self.s: Floats = np.ones(X.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.X.dtype  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __getitem__(self, rows: slice) -> Self:
        """Some of the rows, from which nothing has been subtracted yet."""
        return type(self)(self.X[rows])

    def astype(self, dtype: Any, copy: bool = True) -> Self:
        return type(self)(self.X.astype(dtype, copy=copy))

    def get(self) -> Floats:
        """All numbers, zeros too."""
        filled: Floats = self.s[:, None] * (self.X.toarray() - self.m)
        return filled.astype(self.dtype, copy=False)

    def parts(self) -> Iterator[Floats]:
        """The same a few rows at a time."""
        for start in range(0, len(self), PART):
            yield self[start : start + PART].get()

    def __sub__(self, mean: Floats) -> Self:
        less = type(self)(self.X)
        less -= mean
        return less

    def __isub__(self, mean: Floats) -> Self:
        self.m = self.m + mean.reshape(-1)
        return self

    def __imul__(self, factors: Floats) -> Self:
        """Rows times one number each (b, 1), or columns times one number each (n)."""
        if factors.ndim == 2:
            self.s = self.s * factors[:, 0]
        else:
            self.X, self.m = _csr(self.X.multiply(factors)), self.m * factors
        return self

    def __truediv__(self, scale: Floats) -> Self:
        """The columns divided by one number each, in rows of their own."""
        quotient = type(self)(self.X)
        quotient.m, quotient.s = self.m, self.s
        quotient /= scale
        return quotient

    def __itruediv__(self, scale: Floats) -> Self:
        return self.__imul__(1 / scale)

    def __matmul__(self, A: Floats) -> Floats:
        """``R A``"""
        product: Floats = (self.X @ A - self.m @ A) * (self.s if A.ndim == 1 else self.s[:, None])
        return product

    def __rmatmul__(self, A: Floats) -> Floats:
        """``A R``"""
        weighted = A * self.s
        product: Floats = (self.X.T @ weighted.T).T - np.multiply.outer(weighted.sum(axis=-1), self.m)
        return product

    def gram(self) -> Matrix:
        """``R R'``"""
        along = self.X @ self.m
        inner = (self.X @ self.X.T).toarray() - along - along[:, None] + self.m @ self.m
        return np.asarray(self.s[:, None] * inner * self.s)

    def scatter(self) -> Matrix:
        """``R' R``, for narrow rows."""
        weights = np.square(self.s)
        sums = weights @ self.X
        inner = (self.X.T @ (self.X * weights[:, None])).toarray()
        cross = np.outer(sums, self.m)
        return np.asarray(inner - cross - cross.T + weights.sum() * np.outer(self.m, self.m))

    def sums_of_squares(self) -> Floats:
        """Sum of squares of each column (n)."""
        weights = np.square(self.s)
        raw, shift = weights @ self.X.power(2), np.square(self.m) * weights.sum()
        sums = raw - 2 * self.m * (weights @ self.X) + shift
        rounding = len(self) * np.finfo(np.float64).eps  # of what the sums are differences of
        return np.where(sums > rounding * (raw + shift), sums, 0.0)

    def differ_from(self, first: Floats) -> NDArray[np.bool_]:
        """True for columns that have a number other than this one (n)."""
        entries = self.X.tocoo()
        _, column = entries.coords
        differ = np.zeros(len(first), dtype=bool)
        differ[column[entries.data != first[column]]] = True
        filled = np.bincount(column, minlength=len(first)) == len(self)
        return np.asarray(differ | ((first != 0) & ~filled))


def _csr(X: Any) -> Any:
    from scipy.sparse import csr_array  # here, because it would double the time a command takes to start

    return csr_array(X)


def without_zeros(X: Any) -> SparseRows:
    """Rows of a CSR matrix, whose stored form depends on its numbers alone."""
    X = _csr(X)
    if not X.has_canonical_format or (X.data == 0).any():
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return SparseRows(X)


def numbers(rows: Any) -> Floats:
    """The numbers of rows: of sparse ones those that are stored, as a single row."""
    stored: Floats = rows.X.data[None] if isinstance(rows, SparseRows) else rows
    return stored
