"""The edge of a spectrum of noise."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ..array_types import Vector as Vector

TINY = float(np.finfo(np.float64).tiny)


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


def independence_edges(variances: Vector, weights: Vector, n_samples: float) -> Vector:
    """`independence_edge` for each of the last axes, whose inputs stand for so many (``weights``) each.

    The smallest value is where ``sum (v / (s - v))^2 = T``. Newton's method finds it, on one over the
    root of that sum. It is concave and nearly linear in s: from below, Newton's method does not overshoot.
    """
    largest = variances.max(axis=-1, initial=0.0)[..., None]
    w = np.divide(variances, largest, out=np.ones_like(variances), where=largest > 0)
    target = 1 / math.sqrt(n_samples)
    mean = (weights * w).sum(axis=-1, keepdims=True) / weights.sum()
    s = np.maximum(1 + target, mean * (1 + math.sqrt(float(weights.sum())) * target))
    moving = np.ones(s.shape, dtype=bool)
    for _ in range(30):
        gap = s - w
        q = w / gap
        q *= q * weights
        squares = np.maximum(q.sum(axis=-1, keepdims=True), TINY)
        value = 1 / np.sqrt(squares)
        step = (target - value) / (value**3 * np.maximum((q / gap).sum(axis=-1, keepdims=True), TINY))
        s = np.where(moving, s + step, s)  # what has arrived stands still, whatever the others need
        moving &= np.abs(step) > 1e-6 * s
        if not moving.any():
            break
    share = (weights * w / (s - w)).sum(axis=-1, keepdims=True)
    return np.asarray((largest * s * (1 + share / n_samples))[..., 0])


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
    filling = float((1 + np.sqrt(n_features / effective_samples(n_samples, beta2))) ** 2)
    return filling if beta2 == 1 else max(filling, _steady_edge(n_features, beta2))


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


def samples_of(n: int, edge: float) -> float:
    """The number of samples without forgetting that has this edge."""
    return n / max((math.sqrt(edge) - 1) ** 2, TINY)


@lru_cache(maxsize=1024)
def edge_of_noise(n: int, n_samples: float, beta2: float, share: float) -> tuple[float, float, float]:
    """Edge of white noise, how far the largest eigenvalue strays beyond it, and the shape of the law below.

    The second is two standard deviations of Tracy and Widom's law (Johnstone 2001), and room for what that
    law does not know of very few samples. The third is the edge over the eigenvalue that has ``share`` of all
    above it, by the square root with which the density of Marchenko and Pastur's law vanishes at its edge.
    """
    edge = noise_edge(n, n_samples, beta2)
    T = max(samples_of(n, edge), 1.0)
    scale = (math.sqrt(T) + math.sqrt(n)) / T * (1 / math.sqrt(T) + 1 / math.sqrt(n)) ** (1 / 3)
    fall = (1.5 * math.pi * edge * share * (n / T) ** 0.75) ** (2 / 3)
    return edge, 2 * scale + 512 / T**2, edge / max(edge - fall, 0.2 * edge)
