"""The closed forms of the three networks of the paper, the costs they minimize, and spectra of the input."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..array_types import Floats as Floats
from ..array_types import as_numbers
from ..regularizers import Regularizer


class Solution(NamedTuple):
    """The offline optimum. Spectra are per sample, largest first."""

    Y: Floats
    """Outputs (T x k); columns beyond ``n_components`` are exactly zero."""
    output_eigenvalues: Floats
    """Eigenvalues of the output second moment (k)."""
    eigenvalues: Floats
    """Eigenvalues of the input second moment; those beyond min(T, n) are zero and left out."""
    components: Floats
    """Orthonormal principal axes as rows, min(k, T, n) of them, signs fixed."""
    threshold: float
    n_components: int
    """The rank: number of positive output eigenvalues."""


def solve(
    X: ArrayLike,
    regularizer: Regularizer,
    max_components: int | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> Solution:
    """The output that minimizes `cost`, in closed form.

    Parameters
    ----------
    X
        Input (T x n). Not centered here: the paper takes centered input for granted.
    regularizer
        One of the three, with its alpha.
    max_components
        The capacity k; min(T, n) if None.
    sample_weight
        One weight per row, not negative.

    Examples
    --------
    >>> from eigenstream import InputOutput
    >>> X = np.diag([3.0, 2.0, 1.0])
    >>> solution = solve(X, InputOutput(0.25))
    >>> solution.n_components, round(solution.threshold, 4)
    (2, 1.1667)
    >>> solution.output_eigenvalues.round(4)
    array([1.8333, 0.1667, 0.    ])
    """
    data, lam, U = decomposed(X, max_components, sample_weight)
    k, T = min(data.shape) if max_components is None else max_components, len(data)
    # Fewer than k where there are fewer rows: the other outputs stay silent.
    capacity = len(U)
    theta = regularizer.threshold(lam, capacity)
    d = np.zeros(k, dtype=data.dtype)
    d[:capacity] = regularizer.shrink(lam, capacity)[:capacity]
    p = int(np.count_nonzero(d))
    # Where d > 0, lam is above a threshold >= 0: nothing is divided by zero.
    Y = np.zeros((T, k), dtype=data.dtype)
    np.matmul(data, U[:p].T * np.sqrt(d[:p] / lam[:p]), out=Y[:, :p])
    return Solution(Y, d, lam, U, theta, p)


def cost(
    X: ArrayLike, Y: ArrayLike, regularizer: Regularizer, *, sample_weight: ArrayLike | None = None
) -> float:
    """The printed cost of an output Y: similarity mismatch plus regularizer, sums over samples.

    ``|| X X' - Y Y' ||_F^2`` (rows are samples) plus ``2 alpha T Tr(YY')``, ``2 alpha Tr(XX') Tr(YY')`` or
    ``alpha Tr(YY')^2``; with weights, of the rows times their square roots, T being the sum of the weights.

    Examples
    --------
    >>> from eigenstream import ScaleDependent
    >>> X = np.diag([3.0, 2.0, 1.0])
    >>> cost(X, np.zeros((3, 1)), ScaleDependent(0.5))
    98.0
    """
    data, weights = checked(X, sample_weight)
    output, _ = checked(Y, sample_weight, name="Y")
    if len(output) != len(data):
        raise ValueError(f"X and Y must have as many rows, got {len(data)} and {len(output)}")
    scale = np.sqrt(weights)[:, None]
    A, B = scale * data, scale * output
    r0, r1, r2 = regularizer.increment
    trace_x, trace_y = float(np.vdot(A, A)), float(np.vdot(B, B))
    penalty = regularizer.alpha * trace_y * (2 * r0 * weights.sum() + 2 * r1 * trace_x + r2 * trace_y)
    if len(A) <= A.shape[1] + B.shape[1]:
        mismatch = A @ A.T - B @ B.T
    else:
        # AA' - BB' in an orthonormal basis of the columns: never T x T, and no cancellation of squares.
        R = np.asarray(np.linalg.qr(np.hstack((A, B)), mode="r"))
        left, right = R[:, : A.shape[1]], R[:, A.shape[1] :]
        mismatch = left @ left.T - right @ right.T
    return float(np.sum(mismatch**2) + penalty)


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
    given = np.asarray(as_numbers(X, name))
    if given.dtype.kind not in "fiub":
        try:
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
    weights = np.asarray(as_numbers(sample_weight, "sample_weight"), dtype=np.float64)
    if weights.shape != (rows,) or not np.all((weights >= 0) & np.isfinite(weights)) or not weights.any():
        raise ValueError(
            f"sample_weight must be {rows} finite numbers >= 0, one per row and not all zero, "
            f"got shape {weights.shape}"
        )
    return weights
