"""Spectra of second moments, and checks of the input."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..array_types import Floats as Floats


def spectrum(
    X: ArrayLike, max_components: int, *, sample_weight: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """All eigenvalues of the second moment, and its first principal axes as rows.

    Works on the smaller side: an n x n matrix when T >= n, a T x T one otherwise. Sums are taken in float64
    whatever the input, so float32 data do not lose small modes beside large ones.

    Examples
    --------
    >>> lam, U = spectrum(np.diag([3.0, 2.0, 1.0]), 2)
    >>> U
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    data, weights = checked(X, sample_weight)
    T, n = data.shape
    total = weights.sum()
    if T >= n:
        lam, V = leading(_gram(data, weights) / total, max_components)
        U = V.T
    else:
        scale = np.sqrt(weights / total)
        lam, V = leading(_gram(data.T, np.ones(n)) * scale[:, None] * scale, max_components)
        axes = data.T @ (scale[:, None] * V).astype(data.dtype)
        # Axes of vanishing eigenvalues come out of rounding; QR makes them orthonormal all the same.
        U = np.linalg.qr(axes)[0].T
    return lam.astype(data.dtype), fixed_signs(U).astype(data.dtype)


def decomposed(
    X: ArrayLike, max_components: int | None, sample_weight: ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    """The checked data, the whole spectrum and the principal axes within the capacity."""
    data, weights = checked(X, sample_weight)
    T, n = data.shape
    k = min(T, n) if max_components is None else max_components
    if not 1 <= k <= n:
        raise ValueError(f"max_components must be between 1 and n_features={n}, got {max_components}")
    return data, *spectrum(data, min(k, T), sample_weight=weights)


def leading(M: NDArray[np.float64], number: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """All eigenvalues of a second moment, largest first, and its first eigenvectors as columns."""
    lam, V = np.linalg.eigh(M)  # whose eigenvalues of zero come out as rounding, of either sign
    return np.maximum(lam[::-1], 0), V[:, ::-1][:, :number]


def fixed_signs(U: Floats) -> Floats:
    """Rows with their largest entry positive, so that axes do not depend on the eigensolver."""
    largest = U[np.arange(len(U)), np.argmax(np.abs(U), axis=1)]
    return np.multiply(U, np.where(largest < 0, -1, 1)[:, None], order="C")


def _gram(A: Floats, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """``A' diag(weights) A`` summed over chunks of rows in float64, without a copy of A."""
    rows, columns = A.shape
    # 2 M numbers at a time: bounds the copy of weighted rows to 16 MB. At least as many rows as columns:
    # adding a product to the total should cost little beside the product.
    chunk = max(columns, 2**21 // columns)
    weighted = bool(np.any(weights != 1))
    total = np.zeros((columns, columns))
    for start in range(0, rows, chunk):
        part = A[start : start + chunk]
        if weighted:
            part = part * np.sqrt(weights[start : start + chunk, None]).astype(A.dtype)
        total += part.T @ part
    return total


def checked(
    X: ArrayLike, sample_weight: ArrayLike | None, name: str = "X"
) -> tuple[Floats, NDArray[np.float64]]:
    """The matrix as float32 or float64 and one weight per row, or an error that says what came."""
    given = np.asarray(X)
    if given.dtype.kind not in "fiub":
        try:
            if given.dtype.kind == "c":
                raise TypeError
            given = given.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{name} must hold real numbers, got dtype {given.dtype}") from None
    if given.ndim != 2 or 0 in given.shape:
        raise ValueError(
            f"{name} must be a matrix with at least one row (sample) and one column, got shape {given.shape}"
        )
    data = given if given.dtype in (np.float32, np.float64) else given.astype(np.float64)
    # One multiply-add per number and no temporary: NaN and infinity both survive a sum of squares.
    power = np.einsum("ij,ij->", data, data, dtype=np.float64)
    if not power < np.finfo(data.dtype).max:
        if np.isfinite(data).all():
            raise ValueError(
                f"the squares of {name} overflow {data.dtype}: values up to {np.abs(data).max():g} are "
                "too large; rescale them"
            )
        row, column = np.argwhere(~np.isfinite(data))[0]
        raise ValueError(
            f"{name} must be finite, found {data[row, column]} in row {row}, column {column}; "
            "drop or fill such rows first"
        )
    return data, _checked_weights(sample_weight, len(data))


def _checked_weights(sample_weight: ArrayLike | None, rows: int) -> NDArray[np.float64]:
    if sample_weight is None:
        return np.ones(rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (rows,) or not np.all((weights >= 0) & np.isfinite(weights)) or not weights.any():
        raise ValueError(
            f"sample_weight must be {rows} finite numbers >= 0, one per row and not all zero, "
            f"got shape {weights.shape}"
        )
    return weights
