"""Streams whose rows resemble each other, with a known number of common factors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from benchmarks.peers.peer import Array
from scipy.signal import lfilter

from eigenstream.streams import random_orthonormal
from evaluation.streams import edge_of

STRENGTHS = (1.0, 4.0, 2.0, 1.4, 2.8)
"""Variances of the factors over that of the weakest, which is always there."""
PERIOD = 100
"""Rows of a season."""
ARMA = (0.95, -0.7)
"""Coefficients of the last value and of the last shock. Neighbours correlate by 0.52; that falls slowly."""
DRAWS = 8
"""Draws of noise whose largest eigenvalues, in the mean, are the edge."""
Noise = Callable[[int, int, np.random.Generator], Array]


@dataclass(frozen=True)
class Family:
    """Kind of stream: independent inputs, and factors that all inputs share."""

    noise: Noise
    """T rows of n independent inputs, of variance 1 (random walks: 1 in the mean over time)."""
    tau: float
    """Rows of noise that say as much as one independent row."""
    factors: float | None = None
    """Correlation of a factor from row to row; None: the noise's own law."""
    shared: int = 0
    """Components that the noise itself has: a season with a phase for each input is a sine and a cosine."""
    stationary: bool = True


def autoregressive(rho: float | Array) -> Noise:
    """Noise with this correlation from row to row, from its stationary law on."""

    def draw(T: int, n: int, rng: np.random.Generator) -> Array:
        Z = rng.standard_normal((T, n))
        r = np.broadcast_to(rho, n)
        Z[1:] *= np.sqrt(1 - r**2)
        return np.column_stack([lfilter([1.0], [1.0, -r[i]], Z[:, i]) for i in range(n)])

    return draw


def _arma(T: int, n: int, rng: np.random.Generator) -> Array:
    phi, theta = ARMA
    power = 1 + (phi + theta) ** 2 / (1 - phi**2)
    shocks = rng.standard_normal((T + 20 * round(1 / (1 - phi)), n))
    return np.asarray(lfilter([1.0, theta], [1.0, -phi], shocks, axis=0)[-T:] / np.sqrt(power))


def _mixed(T: int, n: int, rng: np.random.Generator) -> Array:
    """Correlations between 0 and 0.999, those near 1 as frequent as others on a logarithmic scale."""
    return autoregressive(1 - 10 ** rng.uniform(-3, 0, n))(T, n, rng)


def _season(T: int, n: int, rng: np.random.Generator) -> Array:
    angle = 2 * np.pi * (np.arange(T)[:, None] / PERIOD + rng.random(n))
    return np.asarray(np.sqrt(1.8) * np.sin(angle) + np.sqrt(0.1) * rng.standard_normal((T, n)))


def _walks(T: int, n: int, rng: np.random.Generator) -> Array:
    return np.asarray(np.cumsum(rng.standard_normal((T, n)), axis=0) / np.sqrt(T / 6))


def _tau(rho: float) -> float:
    return (1 + rho**2) / (1 - rho**2)


def _tau_of_arma() -> float:
    phi, theta = ARMA
    first = (1 + phi * theta) * (phi + theta) / (1 + 2 * phi * theta + theta**2)
    return 1 + 2 * first**2 / (1 - phi**2)


FAMILIES = {
    "white": Family(autoregressive(0.0), 1.0),
    "AR 0.5": Family(autoregressive(0.5), _tau(0.5)),
    "AR 0.9": Family(autoregressive(0.9), _tau(0.9)),
    "AR 0.99": Family(autoregressive(0.99), _tau(0.99)),
    "AR 0.999": Family(autoregressive(0.999), _tau(0.999)),
    "ARMA": Family(_arma, _tau_of_arma()),
    "mixed": Family(_mixed, _tau(0.99), factors=0.9),
    "season": Family(_season, PERIOD, factors=0.0, shared=2),
    "random walks": Family(_walks, np.inf, stationary=False),
    "AR 0.9 factors in white": Family(autoregressive(0.0), 1.0, factors=0.9),
    "AR 0.99 factors in white": Family(autoregressive(0.0), 1.0, factors=0.99),
    "white factors in AR 0.9": Family(autoregressive(0.9), _tau(0.9), factors=0.0),
    "white factors in AR 0.99": Family(autoregressive(0.99), _tau(0.99), factors=0.0),
}
"""Kinds of streams. The tau of *mixed* is that of its slowest third, which has the largest eigenvalues."""


class SlowStream(NamedTuple):
    rows: Array
    rank: int
    """The number of components: factors, and what the noise itself shares."""


def slow(
    family: str, n: int, T: int, factors: int, seed: int, half_life: int | None = None, weakest: float = 1.5
) -> SlowStream:
    """Rows of a stream.

    The weakest factor has ``weakest`` times the largest eigenvalue of noise like this: in the mean over
    draws, or, with a half-life, over time. Factors have exactly their variances, and are uncorrelated, in
    these rows as they count at the end: a slow factor that happens to stand still is not there.
    """
    rng = np.random.default_rng(seed)
    kind = FAMILIES[family]
    X = kind.noise(T, n, rng)
    if factors:
        draw = kind.noise if kind.factors is None else autoregressive(kind.factors)
        F = draw(T, factors, rng)
        weights = np.ones(T) if half_life is None else 0.5 ** (np.arange(T)[::-1] / half_life)
        F -= weights @ F / weights.sum()
        F = np.linalg.solve(np.linalg.cholesky((weights * F.T) @ F / weights.sum()), F.T).T
        powers = weakest * noise_edge(family, n, T, half_life) * np.array(STRENGTHS[:factors])
        X = X + F * np.sqrt(powers) @ random_orthonormal(n, factors, rng)
    return SlowStream(X, factors + kind.shared)


_edges: dict[tuple[str, int, int, int | None], float] = {}


def noise_edge(family: str, n: int, T: int, half_life: int | None) -> float:
    """Largest eigenvalue of noise like this, in the mean: of the covariance of T rows, or discounted."""
    place = family, n, T, half_life
    if place not in _edges:
        draw, found = FAMILIES[family].noise, []
        for seed in range(DRAWS if half_life is None else 1):
            X = draw(T, n, np.random.default_rng(seed))
            found.append(np.linalg.eigvalsh(np.cov(X.T))[-1] if half_life is None else edge_of(X, half_life))
        _edges[place] = float(np.mean(found))
    return _edges[place]


def independent_rows(family: str, T: int, half_life: int | None) -> float:
    """Independent rows that as many rows of this noise, or a window of them, are worth."""
    return (T if half_life is None else min(T, 2 * half_life / np.log(2))) / FAMILIES[family].tau
