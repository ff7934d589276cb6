"""What the answer is: the closed forms of Section II and Appendix A, and the costs they minimize.

    X        (T, n)  input, rows are samples        lam  eigenvalues of the second moment X'X / T
    Y        (T, k)  output                         d    eigenvalues of Y'Y / T, d = max(lam - theta, 0)
    U        (k, n)  principal axes of X            Y  = X U' diag(sqrt(d / lam))

Sample weights turn T into their sum and X'X into a weighted sum: the discounted problems of Section V are
the weighted ones with ``beta^(2(T-1-t))``. The output is unique up to a rotation; this one is diagonal.

Chen, Pehlevan and Chklovskii (2016), doi:10.48550/arXiv.1612.03480.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .regularizers import Regularizer

Floats = NDArray[np.floating[Any]]


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
    """The rank: how many output eigenvalues are positive."""


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
        One weight a row, not negative.

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
    data, weights = _checked(X, sample_weight)
    T, n = data.shape
    k = min(T, n) if max_components is None else max_components
    if not 1 <= k <= n:
        raise ValueError(f"max_components must be between 1 and n_features={n}, got {max_components}")
    lam, U = spectrum(data, min(k, T), sample_weight=weights)
    capacity = len(U)
    theta = regularizer.threshold(lam, capacity)
    d = np.zeros(k, dtype=data.dtype)
    d[:capacity] = regularizer.shrink(lam, capacity)[:capacity]
    p = int(np.count_nonzero(d))
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
    data, weights = _checked(X, sample_weight)
    output, _ = _checked(Y, sample_weight, name="Y")
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
    data, weights = _checked(X, sample_weight)
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


def leading(M: NDArray[np.float64], number: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """All eigenvalues of a second moment, largest first, and its first eigenvectors as columns."""
    lam, V = np.linalg.eigh(M)
    return np.maximum(lam[::-1], 0), V[:, ::-1][:, :number]


def fixed_signs(U: Floats) -> Floats:
    """Rows with their largest entry positive, so that axes do not depend on the eigensolver's mood."""
    largest = U[np.arange(len(U)), np.argmax(np.abs(U), axis=1)]
    return np.multiply(U, np.where(largest < 0, -1, 1)[:, None], order="C")


def _gram(A: Floats, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """``A' diag(weights) A`` summed over chunks of rows in float64, without a copy of A."""
    rows, columns = A.shape
    chunk = max(columns, 2**21 // columns)
    weighted = bool(np.any(weights != 1))
    total = np.zeros((columns, columns))
    for start in range(0, rows, chunk):
        part = A[start : start + chunk]
        if weighted:
            part = part * np.sqrt(weights[start : start + chunk, None]).astype(A.dtype)
        total += part.T @ part
    return total


def _checked(
    X: ArrayLike, sample_weight: ArrayLike | None, name: str = "X"
) -> tuple[Floats, NDArray[np.float64]]:
    """The matrix as float32 or float64 and one weight a row, or an error that says what came."""
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
    # One multiply-add a number and no temporary: NaN and infinity both survive a sum of squares.
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
            f"sample_weight must be {rows} finite numbers >= 0, one a row and not all zero, "
            f"got shape {weights.shape}"
        )
    return weights


class SaddleSolution(NamedTuple):
    """The offline optimum of a network with interneurons. Spectra are per sample, largest first."""

    Y: Floats
    """Outputs (T x k); columns of silent modes are exactly zero."""
    Z: Floats
    """Activities of the interneurons (T x k)."""
    output_eigenvalues: Floats
    interneuron_eigenvalues: Floats
    eigenvalues: Floats
    """Eigenvalues of the input second moment; those beyond min(T, n) are zero and left out."""
    components: Floats
    """Orthonormal principal axes as rows, signs fixed."""
    threshold: float
    n_components: int
    """The rank: how many output eigenvalues are positive."""


def solve_hard(
    X: ArrayLike,
    regularizer: Regularizer,
    max_components: int | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> SaddleSolution:
    """The saddle point of `cost_hard` in closed form: ``d = lam`` where ``lam > theta``, else 0.

    The interneurons have the soft-thresholded spectrum ``max(lam - theta, 0)``. ``theta`` is measured by the
    regularizer, ``alpha (r0 + r1 sum(lam) + r2 sum(d))``. Measured by the output it may come to lie exactly
    on an eigenvalue, whose mode then passes in part: silent it would be above the threshold, and passing
    whole below.

    Pehlevan and Chklovskii (2015), doi:10.48550/arXiv.1511.09426, for ``(r0, r1, r2) = (1, 0, 0)``.

    Examples
    --------
    >>> from eigenstream import ScaleDependent
    >>> solve_hard(np.diag([3.0, 2.0, 1.0]), ScaleDependent(1.0)).output_eigenvalues
    array([3.        , 1.33333333, 0.        ])
    """
    data, lam, U = _leading(X, max_components, sample_weight)
    theta, d = hard_spectrum(lam, regularizer, len(U))
    z = np.where(d > 0, np.maximum(lam[: len(U)] - theta, 0), 0)
    return _saddle(data, lam, U, theta, d, z, max_components)


def hard_spectrum(
    eigenvalues: ArrayLike, regularizer: Regularizer, max_components: int | None = None
) -> tuple[float, Floats]:
    """The threshold and the output eigenvalues of the hard-threshold network on this input spectrum.

    With p modes passing whole, ``theta_p = alpha (r0 + r1 sum(lam) + r2 S_p)`` grows with p: the largest p
    with ``lam_p > theta_p`` is the solution, unless the next mode is above its threshold still.
    """
    lam = np.asarray(eigenvalues, dtype=np.float64)
    k = lam.size if max_components is None else max_components
    r0, r1, r2 = regularizer.increment
    base = r0 + r1 * float(lam.sum())
    S = np.concatenate(([0.0], np.cumsum(lam[:k])))
    thetas = regularizer.alpha * (base + r2 * S)
    p = int(np.count_nonzero(lam[:k] > thetas[1:]))
    theta, d = float(thetas[p]), np.where(np.arange(k) < p, lam[:k], 0.0)
    if p < k and lam[p] > theta:
        theta = float(lam[p])
        d[p] = (theta / regularizer.alpha - base) / r2 - S[p]
    return theta, d


def solve_equalizing(
    X: ArrayLike,
    regularizer: Regularizer,
    gamma: float = 1.0,
    max_components: int | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> SaddleSolution:
    """The saddle point of `cost_equalizing` in closed form: one variance for all modes above the threshold.

    ``d = gamma (r0 + r1 sum(lam))`` where ``lam > theta = alpha (r0 + r1 sum(lam))``, else 0; the
    interneurons have ``max(lam - theta, 0)``.

    Examples
    --------
    >>> from eigenstream import ScaleDependent
    >>> solve_equalizing(np.diag([3.0, 2.0, 1.0]), ScaleDependent(1.0), gamma=5.0).output_eigenvalues
    array([5., 5., 0.])
    """
    check_gamma(regularizer, gamma)
    data, lam, U = _leading(X, max_components, sample_weight)
    r0, r1, _ = regularizer.increment
    measured = r0 + r1 * float(lam.sum(dtype=np.float64))
    theta = regularizer.alpha * measured
    passing = lam[: len(U)] > theta
    d = np.where(passing, gamma * measured, 0.0)
    return _saddle(data, lam, U, theta, d, np.where(passing, lam[: len(U)] - theta, 0.0), max_components)


def check_gamma(regularizer: Regularizer, gamma: float) -> None:
    """Refuse what sets no output variance: gamma must be positive, and the output not its own measure."""
    if not 0 < gamma < np.inf:
        raise ValueError(f"gamma must be a finite number > 0, got {gamma!r}")
    if regularizer.increment[2]:
        raise ValueError(
            f"{regularizer.name!r} measures by the output, whose power gamma itself sets: equalizing has no "
            "scale then. Use 'input-output' or 'scale-dependent'."
        )


def cost_hard(
    X: ArrayLike,
    Y: ArrayLike,
    Z: ArrayLike,
    regularizer: Regularizer,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """``|| XX' - YY' ||^2 - || YY' - ZZ' - theta T I ||^2``: minimized over Y, maximized over Z.

    Examples
    --------
    >>> from eigenstream import ScaleDependent
    >>> X, none = np.diag([3.0, 2.0, 1.0]), np.zeros((3, 1))
    >>> cost_hard(X, none, none, ScaleDependent(0.5))
    91.25
    """
    (A, B, C), theta, _ = _weighted(X, Y, Z, regularizer, sample_weight)
    similar = np.sum((A.T @ A) ** 2) - 2 * np.sum((A.T @ B) ** 2)
    inner = 2 * np.sum((B.T @ C) ** 2) - np.sum((C.T @ C) ** 2)
    traces = 2 * theta * (np.sum(B**2) - np.sum(C**2)) - theta**2 * len(A)
    return float(similar + inner + traces)


def cost_equalizing(
    X: ArrayLike,
    Y: ArrayLike,
    Z: ArrayLike,
    regularizer: Regularizer,
    gamma: float = 1.0,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """``Tr(-XX'YY' + YY'ZZ' + theta T YY' - gamma T ZZ')``: minimized over Y, maximized over Z."""
    check_gamma(regularizer, gamma)
    (A, B, C), theta, T = _weighted(X, Y, Z, regularizer, sample_weight)
    r0, r1, _ = regularizer.increment
    goal = gamma * (r0 * T + r1 * float(np.sum(A**2)))
    matched = np.sum((B.T @ C) ** 2) - np.sum((A.T @ B) ** 2)
    return float(matched + theta * np.sum(B**2) - goal * np.sum(C**2))


def _leading(
    X: ArrayLike, max_components: int | None, sample_weight: ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    """The checked data, the whole spectrum and the principal axes within the capacity."""
    data, weights = _checked(X, sample_weight)
    T, n = data.shape
    k = min(T, n) if max_components is None else max_components
    if not 1 <= k <= n:
        raise ValueError(f"max_components must be between 1 and n_features={n}, got {max_components}")
    lam, U = spectrum(data, min(k, T), sample_weight=weights)
    return data, lam, U


def _saddle(
    data: Floats, lam: Floats, U: Floats, theta: float, d: Floats, z: Floats, max_components: int | None
) -> SaddleSolution:
    """Outputs and interneurons with these spectra along the principal axes."""
    k = len(U) if max_components is None else max_components

    def along_axes(values: Floats) -> tuple[Floats, Floats]:
        activity, eigenvalues = np.zeros((len(data), k), dtype=data.dtype), np.zeros(k, dtype=data.dtype)
        p = int(np.count_nonzero(values))
        eigenvalues[:p] = values[:p]
        activity[:, :p] = data @ (U[:p].T * np.sqrt(eigenvalues[:p] / lam[:p]))
        return activity, eigenvalues

    (Y, output), (Z, interneurons) = along_axes(d), along_axes(z)
    return SaddleSolution(Y, Z, output, interneurons, lam, U, theta, int(np.count_nonzero(d)))


def _weighted(
    X: ArrayLike, Y: ArrayLike, Z: ArrayLike, regularizer: Regularizer, sample_weight: ArrayLike | None
) -> tuple[list[Floats], float, float]:
    """Rows times the square roots of their weights, and the threshold times the sum of the weights."""
    r0, r1, r2 = regularizer.increment
    if r2:
        raise ValueError(
            f"{regularizer.name!r} measures by the output: its saddle point is a fixed point, and has no cost"
        )
    checked = [_checked(M, sample_weight, name) for M, name in ((X, "X"), (Y, "Y"), (Z, "Z"))]
    if len({len(data) for data, _ in checked}) > 1:
        raise ValueError(f"X, Y and Z must have as many rows, got {[len(data) for data, _ in checked]}")
    parts = [np.sqrt(weights)[:, None] * data for data, weights in checked]
    T = float(checked[0][1].sum())
    theta = regularizer.alpha * (r0 * T + r1 * float(np.sum(parts[0] ** 2)))
    return parts, theta, T
