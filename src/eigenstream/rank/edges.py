"""The edge of a spectrum of noise."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..array_types import Vector as Vector

TINY = float(np.finfo(np.float64).tiny)

# Steps of Newton's method. Of 400 draws of even and uneven inputs, with 0.03 to 1,000 samples for each, the
# largest error of the edge is 1e-11 of it.
STEPS = 3
"""Steps that find the edge of independent inputs."""


def independence_edge(variances: Vector, n_samples: float) -> float:
    """Largest eigenvalue of the second moment of independent inputs with these variances, for many of both.

    The right edge of the generalized Marchenko-Pastur law (Silverstein and Choi 1995): the smallest value of
    ``s (1 + sum(v / (s - v)) / T)`` for s above the largest variance.

    Parameters
    ----------
    variances
        Variance of each input; zeros do not count.
    n_samples
        The number of samples T.

    Examples
    --------
    >>> round(independence_edge(np.ones(64), 6400), 6)
    1.21
    """
    return float(independence_edges(variances, np.ones(len(variances)), n_samples))


def independence_edges(variances: Vector, weights: Vector, n_samples: Vector | float) -> Vector:
    """`independence_edge` for each of the last axes, whose inputs stand for ``weights`` inputs each.

    The smallest value is where ``sum (v / (s - v))^2 = T``. Newton's method finds it, on one over the
    root of that sum. It is concave and nearly linear in s: from below, Newton's method does not overshoot.
    """
    largest = variances.max(axis=-1, initial=0.0, keepdims=True)
    some = largest > 0
    if some.all():
        w = variances / largest
    else:
        w = np.divide(variances, largest, out=np.ones_like(variances), where=some)
    samples = n_samples if isinstance(n_samples, float) else np.asarray(n_samples)[..., None]
    target, total = samples**-0.5, float(weights.sum())
    mean = (weights * w).sum(axis=-1, keepdims=True) / total
    s = np.maximum(1 + target, mean * (1 + math.sqrt(total) * target))
    for _ in range(STEPS):
        gap = s - w
        q = w / gap
        q *= q * weights
        squares, cubes = q.sum(axis=-1, keepdims=True), (q / gap).sum(axis=-1, keepdims=True)
        s = s + (target * np.sqrt(squares) - 1) * squares / cubes
    share = (weights * w / (s - w)).sum(axis=-1, keepdims=True)
    return np.asarray((largest * s * (1 + share / samples))[..., 0])


def noise_edge(n_features: int, n_samples: float, beta2: float = 1.0) -> float:
    """Largest eigenvalue of white noise of variance 1 after ``n_samples``, discounted by ``beta2`` a sample.

    Without forgetting ``(1 + sqrt(n/T))^2`` (Marchenko and Pastur 1967). With a full window, the root
    ``e > 1`` of ``e - 1 - ln e = n (1 - beta^2)``. While the window fills, the first formula with the
    effective number of samples as long as that is larger.

    Examples
    --------
    >>> round(noise_edge(64, 6400), 3), round(noise_edge(64, 10**6, 0.99**2), 3)
    (1.21, 3.537)
    """
    filling = (1 + math.sqrt(n_features / effective_samples(n_samples, beta2))) ** 2
    return filling if beta2 == 1 else max(filling, _steady_edge(n_features, beta2))


@lru_cache(maxsize=1024)
def effective_samples(n_samples: float, beta2: float = 1.0) -> float:
    """Kish's effective number of samples: the squared sum of their weights over the sum of the squares."""
    T = max(n_samples, 1.0)
    if beta2 == 1:
        return float(T)
    faded = beta2**T
    return float((1 - faded) * (1 + beta2) / ((1 + faded) * (1 - beta2)))


@lru_cache(maxsize=1024)
def _steady_edge(n_features: int, beta2: float) -> float:
    """The root ``e > 1`` of ``e - 1 - ln e = q``, by Newton's method from above."""
    q = n_features * (1 - beta2)
    e = 1 + q + math.sqrt(2 * q) + math.log1p(q)
    for _ in range(50):
        step = (e - 1 - math.log(e) - q) / (1 - 1 / e)
        e -= step
        if abs(step) <= 1e-15 * e:
            break
    return e


def samples_of(n: int, edge: Vector) -> Vector:
    """The number of independent samples, without forgetting, that have this edge."""
    return np.asarray(n / np.maximum((np.sqrt(edge) - 1) ** 2, TINY))


@lru_cache(maxsize=1024)
def samples_in_window(n: int, n_samples: float, beta2: float) -> float:
    """The number of samples without forgetting whose noise has the same edge as these, which fade."""
    return max(n / max((math.sqrt(noise_edge(n, n_samples, beta2)) - 1) ** 2, TINY), 1.0)


def independent_samples(n: int, n_samples: float, persistence: Vector) -> Vector:
    """The number of independent samples that have the same edge as this many of which each is like the last.

    Inputs that follow first-order autoregressions have a sample covariance with the largest eigenvalue

        min over s of  s n/T + s / sqrt(s^2 - 2 tau s + 1)

    in units of their variance, for many inputs n and samples T, with tau their persistence, the sum of their
    squared autocorrelations. It is the law of Silverstein and Choi with inputs and samples exchanged: the
    spectral density of the process takes the place of the variances, and its integrals have a closed form.
    For tau = 1 this is ``(1 + sqrt(n/T))^2``. Where T is large it is that of T / tau samples; where few are
    left it is higher. Newton's method finds s from above on a convex function, so it does not overshoot.

    Parameters
    ----------
    n
        The number of inputs.
    n_samples
        The number of samples T.
    persistence
        The persistence tau, at least 1.

    Examples
    --------
    >>> independent_samples(30, 2000, np.array([1.0, 9.5, 99.5])).round()
    array([2000.,  181.,   14.])
    """
    if persistence.ndim > 1:
        return np.stack([independent_samples(n, n_samples, one) for one in persistence])
    return _independent_samples(n, float(n_samples), persistence.tobytes())


# Of each decision. The same persistence is asked about a dozen times, for lines, doubts and words.
@lru_cache(maxsize=64)
def _independent_samples(n: int, n_samples: float, persistence: bytes) -> Vector:
    """`independent_samples`, computed once."""
    each = np.frombuffer(persistence)
    found = np.full(each.shape, n_samples)
    slow = each > 1
    if not slow.any():
        return found
    tau, ratio = each[slow], n_samples / n
    s, moving = 4 * tau + 1.7 * np.sqrt(tau * ratio) + 1, np.ones(len(tau), dtype=bool)
    for _ in range(50):
        power = ((tau * s - 1) * ratio) ** (2 / 3)
        step = (s * s - 2 * tau * s + 1 - power) / (2 * (s - tau) - 2 / 3 * tau * power / (tau * s - 1))
        s = np.where(moving, s - step, s)  # what has arrived stands still, whatever the others need
        moving &= step > 1e-9 * s
        if not moving.any():
            break
    edge = s / ratio + s / np.sqrt(s * s - 2 * tau * s + 1)
    found[slow] = np.maximum(samples_of(n, edge), 1.0)
    found.flags.writeable = False  # whoever asks gets the same one
    return found


def edges_of_noise(n: int, samples: Vector | float, share: float) -> tuple[Any, Any, Any]:
    """Edge of white noise, how far the largest eigenvalue strays beyond it, and the shape of the law below.

    The second is two standard deviations of Tracy and Widom's law (Johnstone 2001), and room for what that
    law does not know of very few samples. The third is the edge over the eigenvalue that has ``share`` of all
    above it, by the square root with which the density of Marchenko and Pastur's law vanishes at its edge.
    """
    return _edges_of_noise(n, samples, share) if isinstance(samples, float) else edges_at(n, samples, share)


def edges_at(n: int, samples: Any, share: float) -> tuple[Any, Any, Any]:
    """`edges_of_noise` of one number of samples, or of several."""
    root, ratio = samples**0.5, n / samples  # powers: NumPy's function takes long for one number
    edge = (1 + ratio**0.5) ** 2
    scale = (root + math.sqrt(n)) / samples * (1 / root + 1 / math.sqrt(n)) ** (1 / 3)
    fall = (1.5 * math.pi * share * edge * ratio**0.75) ** (2 / 3)
    return edge, 2 * scale + 512 / samples**2, edge / np.maximum(edge - fall, 0.2 * edge)


@lru_cache(maxsize=1024)
def _edges_of_noise(n: int, samples: float, share: float) -> tuple[float, float, float]:
    """`edges_at` of one number, to the bits that it has among others: powers of arrays are rounded apart."""
    edge, spread, shape = edges_at(n, np.array([samples]), share)
    return float(edge[0]), float(spread[0]), float(shape[0])
