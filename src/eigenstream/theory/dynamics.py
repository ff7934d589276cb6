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


def start_cost(lam: float, theta: float) -> float:
    """Factor by which a start with gains ten times smaller lengthens the time to learn a mode, at beta = 1.

    For a threshold that does not depend on the output. Time counts from where the initial activity would have
    been gathered: from ``-activity / theta``.

    Examples
    --------
    >>> start_cost(4.0, 2.0), start_cost(2.5, 2.0)
    (10.0, 10000.0)
    """
    return float(10 ** (1 / growth_exponent(lam, theta)))


def start_cost_by_output(lam: float, activity: float) -> float:
    """Samples by which such a start lengthens it where the threshold is measured by the output (R_YY).

    While outputs are small, nothing is added to the initial activity: a weak mode is multiplied by
    ``1 + x^2 / activity`` a sample and grows exponentially, not like a power of T.

    Examples
    --------
    >>> round(start_cost_by_output(4.0, 20.0), 1)
    14.3
    """
    z, weight = np.polynomial.hermite_e.hermegauss(NODES)
    return float(np.log(10) * weight.sum() / (weight @ np.log1p(lam / activity * z**2)))


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


def output_bias(
    window: float, lam: float, theta: float, *, n_modes: int = 1, speed: float = 0.0, noise: float = 0.0
) -> float:
    """Relative bias of an output variance, which would be ``lam - theta``, by forgetting and by lag.

    The first part comes from fluctuations of the sums over a window, in first order of ``1 / window``.
    Scatter of the axis has no part in it: a neuron makes up in noise for what it loses in signal. The second
    comes from the lag of an axis that turns.

    Parameters
    ----------
    window
        ``1 / (1 - beta^2)``, in samples.
    lam, theta
        Variance along the axis, and the threshold, which does not depend on the output.
    n_modes
        Modes of this variance that are transmitted: each fluctuates with all of them.
    speed
        Radians a sample by which the axis turns.
    noise
        Variance along the other axes, towards which it turns.

    Examples
    --------
    >>> round(output_bias(25, 4.0, 1.0), 4), round(output_bias(25, 4.0, 1.0, n_modes=4), 4)
    (-0.0093, -0.0233)
    >>> round(output_bias(100, 4.0, 1.0, speed=1e-3, noise=0.5), 4)
    -0.0174
    """
    # An axis that turns by `turn` a window stands still beside its sums where S + theta is the larger root of
    # (lam/v - 1) (1 - noise/v) = turn^2; if there is none, the network cannot follow.
    turn = 1 + (speed * window) ** 2
    inside = (lam + noise) ** 2 - 4 * turn * lam * noise
    v = (lam + noise + np.sqrt(inside)) / (2 * turn) if inside > 0 else theta
    fluctuation = (n_modes + 1) / 2 * _fluctuation(lam, theta) / window
    return float(max((v - lam) / (lam - theta) - fluctuation, -1.0))


def _fluctuation(lam: float, theta: float) -> float:
    """Share of its variance that one mode's output lacks by fluctuations of its sums, times the window."""
    gain = 1 - theta / lam  # squared: output over input variance
    return (1 - gain) * (1 + gain) / (gain * (1 + 2 * gain))


def least_bias_window(speed: float, lam: float, theta: float, noise: float) -> float:
    """Window at which `output_bias` of one mode is least, where lag is small.

    Examples
    --------
    >>> round(least_bias_window(1e-3, 4.0, 1.0, 0.5))
    42
    """
    lag = (speed * lam) ** 2 / ((lam - noise) * (lam - theta))
    return float((_fluctuation(lam, theta) / (2 * lag)) ** (1 / 3))


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
    return np.sort(np.linalg.eigvals(jacobian(point, eigenvalues, regularizer)).real)[::-1]


def jacobian(point: NetworkMoments, eigenvalues: ArrayLike, regularizer: Regularizer) -> Array:
    """Matrix of the linearized averaged dynamics at a point, on N row by row, S row by row, and theta."""
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
    return J
