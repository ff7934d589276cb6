"""The closed forms of the networks with interneurons (hard threshold, equalizing), and their costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..regularizers import Regularizer
from .closed_forms import Floats, checked, decomposed


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
    """The rank: number of positive output eigenvalues."""


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
    data, lam, U = decomposed(X, max_components, sample_weight)
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
    # Silent, the next mode is above the threshold, and passing whole below: it passes in part, on it.
    if p < k and lam[p] > theta:
        theta = float(lam[p])
        d[p] = (theta / regularizer.alpha - base) / r2 - S[p]
    return theta, d


def solve_equalizing(
    X: ArrayLike,
    regularizer: Regularizer,
    gamma: float | Regularizer = 1.0,
    max_components: int | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> SaddleSolution:
    """The saddle point of `cost_equalizing` in closed form: one variance for all modes above the threshold.

    ``d = gamma (r0 + r1 sum(lam))`` where ``lam > theta = alpha (r0 + r1 sum(lam))``, else 0; the
    interneurons have ``max(lam - theta, 0)``. If gamma is a regularizer, its r0 and r1 are those of d.

    Examples
    --------
    >>> from eigenstream import ScaleDependent
    >>> solve_equalizing(np.diag([3.0, 2.0, 1.0]), ScaleDependent(1.0), gamma=5.0).output_eigenvalues
    array([5., 5., 0.])
    """
    goal = goal_of(regularizer, gamma)
    data, lam, U = decomposed(X, max_components, sample_weight)
    trace = float(lam.sum(dtype=np.float64))
    theta, variance = (by.alpha * (by.increment[0] + by.increment[1] * trace) for by in (regularizer, goal))
    passing = lam[: len(U)] > theta
    d = np.where(passing, variance, 0.0)
    return _saddle(data, lam, U, theta, d, np.where(passing, lam[: len(U)] - theta, 0.0), max_components)


def goal_of(regularizer: Regularizer, gamma: float | Regularizer) -> Regularizer:
    """Measure of the output's variance, its alpha being gamma; a number is of the regularizer's own kind.

    Raises if gamma is not positive, or if something measures by the output, whose power gamma sets.
    """
    if not isinstance(gamma, Regularizer):
        if not 0 < gamma < np.inf:
            raise ValueError(f"gamma must be a finite number > 0, got {gamma!r}")
        gamma = type(regularizer)(gamma)
    if not gamma.alpha > 0:
        raise ValueError(f"gamma must be positive, got {gamma!r}")
    for measure in (regularizer, gamma):
        if measure.increment[2]:
            raise ValueError(
                f"{measure.name!r} measures by the output, whose power gamma itself sets: equalizing has no "
                "scale then. Use 'input-output' or 'scale-dependent'."
            )
    return gamma


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
    # || AA' ||^2 = || A'A ||^2: the T x T matrices of the formula are never formed.
    similar = np.sum((A.T @ A) ** 2) - 2 * np.sum((A.T @ B) ** 2)
    inner = 2 * np.sum((B.T @ C) ** 2) - np.sum((C.T @ C) ** 2)
    traces = 2 * theta * (np.sum(B**2) - np.sum(C**2)) - theta**2 * len(A)
    return float(similar + inner + traces)


def cost_equalizing(
    X: ArrayLike,
    Y: ArrayLike,
    Z: ArrayLike,
    regularizer: Regularizer,
    gamma: float | Regularizer = 1.0,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """``Tr(-XX'YY' + YY'ZZ' + theta T YY' - gamma T ZZ')``: minimized over Y, maximized over Z."""
    by = goal_of(regularizer, gamma)
    (A, B, C), theta, T = _weighted(X, Y, Z, regularizer, sample_weight)
    r0, r1, _ = by.increment
    goal = by.alpha * (r0 * T + r1 * float(np.sum(A**2)))
    matched = np.sum((B.T @ C) ** 2) - np.sum((A.T @ B) ** 2)
    return float(matched + theta * np.sum(B**2) - goal * np.sum(C**2))


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
    pairs = [checked(M, sample_weight, name) for M, name in ((X, "X"), (Y, "Y"), (Z, "Z"))]
    if len({len(data) for data, _ in pairs}) > 1:
        raise ValueError(f"X, Y and Z must have as many rows, got {[len(data) for data, _ in pairs]}")
    parts = [np.sqrt(weights)[:, None] * data for data, weights in pairs]
    T = float(pairs[0][1].sum())
    theta = regularizer.alpha * (r0 * T + r1 * float(np.sum(parts[0] ** 2)))
    return parts, theta, T
