"""Dynamics of the paper's networks: growth, forgetting, settling, stability.

Averaged over the input, with sums per unit of memory (N, S, theta over the window, or over T without
forgetting) and time s counted in windows (in ln T without forgetting):

    dN/ds = -N + F C        dS/ds = -S + F C F'        F = (S + theta I)^-1 N
    dtheta/ds = -theta + alpha (r0 + r1 tr C + r2 tr F C F')

C is the input's second moment, lam its eigenvalues. docs/theory.md derives what follows, and
`eigenstream reproduce theory` measures it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..regularizers import Regularizer

Array = NDArray[np.float64]

NODES = 120
"""Points of the Gauss-Hermite rule: the rates below are right to six digits with half as many."""


def growth_exponent(lam: float, theta: float) -> float:
    """Exponent g of a weak mode's growth: T^g without forgetting, e^g per window with it.

    Negative below the threshold, where a mode fades. A mode is weak while its output is small beside the
    threshold.

    Examples
    --------
    >>> growth_exponent(6.0, 2.0)
    2.0
    """
    return lam / theta - 1


def growth_rate(lam: float, theta: float, beta: float) -> float:
    """Typical growth per window at this discount, for Gaussian input: a little below `growth_exponent`.

    A weak mode is multiplied by ``beta^2 + (1 - beta^2) x^2 / theta`` a sample; what is typical is the mean
    of the logarithm, not the logarithm of the mean.

    Examples
    --------
    >>> round(growth_rate(6.0, 2.0, 0.9999), 2), round(growth_rate(6.0, 2.0, 0.99), 2)
    (2.0, 1.82)
    """
    z, weight = np.polynomial.hermite_e.hermegauss(NODES)
    factor = beta**2 + (1 - beta**2) * lam / theta * z**2
    return float(weight @ np.log(factor) / weight.sum() / (1 - beta**2))


def effective_window(window: float, lam: float, noise: float) -> float:
    """Window with which plain discounted PCA would follow an axis as the network does: a little longer.

    The network's sums hold outputs of the axes that it had before, which leak out at the rate
    ``1 - noise / lam`` per window.
    """
    return window * lam / (lam - noise)


def axis_error(window: float, speed: float, lam: float, noise: float, n: int) -> float:
    """Expected squared sine between a network's axis and the true one, which turns by ``speed`` a sample.

    The first term is scatter, which a longer window averages out, the second is lag, which it makes worse.

    Parameters
    ----------
    window
        ``1 / (1 - beta^2)``, in samples.
    speed
        Radians a sample.
    lam, noise
        Variance along the axis, and along each of the other n - 1.
    n
        Number of inputs.

    Examples
    --------
    >>> round(axis_error(100, 1e-3, 4.0, 0.5, 20), 4)
    0.0267
    """
    scatter = (n - 1) * noise / (lam - noise) / (2 * window - 1)
    lag = speed * effective_window(window, lam, noise)
    return scatter + lag**2


def best_window(speed: float, lam: float, noise: float, n: int) -> float:
    """Window at which scatter and lag of `axis_error` add up to least.

    Examples
    --------
    >>> round(best_window(1e-3, 4.0, 0.5, 20))
    80
    """
    scatter = (n - 1) * noise / (lam - noise) / 2
    slope = (speed * effective_window(1.0, lam, noise)) ** 2
    return float((scatter / (2 * slope)) ** (1 / 3))


def jacobi_bound(A: ArrayLike) -> float:
    """Least eta at which ``y <- (1 - eta) y + eta (drive - (A - I) y)`` does not settle.

    A is ``I + W_yy`` for `HebbianNetwork`, whose eigenvalues are positive and sum to k: the bound is at
    least ``2 / k``, and 2 where all neurons respond independently.

    Examples
    --------
    >>> jacobi_bound(np.eye(3)), round(jacobi_bound((np.eye(4) + np.ones((4, 4))) / 2), 6)
    (2.0, 0.8)
    """
    mu = np.linalg.eigvals(np.asarray(A, dtype=np.float64))
    # |1 - eta mu| < 1 for every eigenvalue: eta below 2 Re(mu) / |mu|^2.
    return float(np.min(2 * mu.real / np.abs(mu) ** 2))


def relaxation_rates(
    eigenvalues: ArrayLike, theta: float, k: int, kept: tuple[int, ...]
) -> dict[str, list[float]]:
    """Rates at the stationary point that passes these modes, by what relaxes: its eigenvalues in words.

    For a threshold that does not depend on the output; every eigenvalue that is missing here is 0 (a rotation
    of the outputs) or -1 (forgetting itself).

    Examples
    --------
    >>> relaxation_rates([6.0, 4.0, 1.0], 3.0, 2, (0, 1))["amplitude"]
    [-1.0, -0.5]
    """
    lam = np.asarray(eigenvalues, dtype=np.float64)
    inside, outside = lam[list(kept)], np.delete(lam, list(kept))
    gains = 1 - theta / inside  # squared: output over input variance
    pairs = [(i, j) for i in range(len(kept)) for j in range(i)]
    return {
        "silent neuron, new mode": [float(b / theta - 1) for b in outside] * (k - len(kept)),
        "axis towards another": [float(b / a - 1) for a in inside for b in outside],
        "amplitude": [float(-2 * gain) for gain in gains],
        "correlation of two outputs": [float(-gains[i] - gains[j]) for i, j in pairs],
    }


class NetworkMoments(NamedTuple):
    """Sums per unit of memory: what the network remembers."""

    N: Array
    S: Array
    theta: float


def averaged_flow(point: NetworkMoments, C: ArrayLike, regularizer: Regularizer) -> NetworkMoments:
    """Right-hand sides of the averaged dynamics at a point."""
    moment = np.asarray(C, dtype=np.float64)
    r0, r1, r2 = regularizer.increment
    F = np.linalg.solve(point.S + point.theta * np.eye(len(point.S)), point.N)
    output = F @ moment @ F.T
    measured = r0 + r1 * np.trace(moment) + r2 * np.trace(output)
    return NetworkMoments(
        F @ moment - point.N, output - point.S, float(regularizer.alpha * measured - point.theta)
    )


def stationary_point(
    eigenvalues: ArrayLike, regularizer: Regularizer, k: int, kept: tuple[int, ...]
) -> NetworkMoments | None:
    """The stationary point at which these modes pass, one a neuron; None if one would be below the threshold.

    The input's second moment is diagonal, with these eigenvalues.
    """
    lam = np.asarray(eigenvalues, dtype=np.float64)
    r0, r1, r2 = regularizer.increment
    chosen = lam[list(kept)]
    base = regularizer.alpha * (r0 + r1 * lam.sum())
    theta = float((base + regularizer.alpha * r2 * chosen.sum()) / (1 + regularizer.alpha * r2 * len(kept)))
    if np.any(chosen <= theta) or theta <= 0:
        return None
    N, S = np.zeros((k, len(lam))), np.zeros((k, k))
    for neuron, mode in enumerate(kept):
        d = lam[mode] - theta
        N[neuron, mode], S[neuron, neuron] = np.sqrt(lam[mode] * d), d
    return NetworkMoments(N, S, theta)


def jacobian_eigenvalues(point: NetworkMoments, eigenvalues: ArrayLike, regularizer: Regularizer) -> Array:
    """Eigenvalues of the linearized averaged dynamics at a stationary point, real parts, largest first.

    Positive: the point is left. Zero: the outputs may be rotated, which changes nothing (as many zeros as
    rotations). Negative: relaxation, per window or per e-fold of T.
    """
    lam = np.asarray(eigenvalues, dtype=np.float64)
    k, n = point.N.shape
    inverse = np.linalg.inv(point.S + point.theta * np.eye(k))
    F = inverse @ point.N
    gain = regularizer.alpha * regularizer.increment[2]
    size = k * n + k * k + 1
    J = np.empty((size, size))
    for column in range(size):
        unit = np.zeros(size)
        unit[column] = 1
        dN, dS, dtheta = unit[: k * n].reshape(k, n), unit[k * n : -1].reshape(k, k), unit[-1]
        dF = inverse @ (dN - (dS + dtheta * np.eye(k)) @ F)
        output = (dF * lam) @ F.T + (F * lam) @ dF.T
        changes = (dF * lam - dN, output - dS, gain * np.trace(output) - dtheta)
        J[:, column] = np.concatenate([np.ravel(change) for change in changes])
    return np.sort(np.linalg.eigvals(J).real)[::-1]
