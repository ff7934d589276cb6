"""The closed forms of the three networks of the paper, and the costs they minimize."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..regularizers import Regularizer
from .spectra import Floats, checked, decomposed


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
