"""Rules that others have published, each from a spectrum: eigenvalues largest first, inputs, samples."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import optimize, stats

from benchmarks.peers.peer import Array


def gavish_donoho(lam: Array, n: int, T: int) -> int:
    """The optimal hard threshold for white noise of unknown level (2014, doi:10.1109/TIT.2014.2323359)."""
    ratio = min(n, T) / max(n, T)
    cut = np.sqrt(2 * (ratio + 1) + 8 * ratio / (ratio + 1 + np.sqrt(ratio**2 + 14 * ratio + 1)))
    y = np.sqrt(lam[: min(n, T)])
    return int(np.count_nonzero(y > cut / np.sqrt(_median_of_white_noise(ratio)) * np.median(y)))


@lru_cache(maxsize=256)
def _median_of_white_noise(ratio: float) -> float:
    """Median of the Marchenko-Pastur law."""
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2
    x = low + (high - low) * (1 - np.cos(np.linspace(0, np.pi, 20_001))) / 2
    density = np.sqrt(np.maximum((x - low) * (high - x), 0)) / np.maximum(x, 1e-12)
    share = np.concatenate(([0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(x))))
    return float(np.interp(0.5, share / share[-1], x))


def screenot(lam: Array, n: int, T: int, most: int | None = None) -> int:
    """The optimal hard threshold for noise of any colour.

    Donoho, Gavish and Romanov (2023), doi:10.1214/22-AOS2232. The ``most`` largest singular values are
    replaced by what the next as many let expect; by default a quarter of them, at most 100.
    """
    y = np.sqrt(lam[: min(n, T)])[::-1]
    m, ratio = len(y), min(n, T) / max(n, T)
    k = max(min(m // 4, 100), 1) if most is None else most
    bulk = y.copy()
    rise = (1 - (np.arange(k) / k) ** (2 / 3)) / (2 ** (2 / 3) - 1)
    bulk[m - k :] = (y[m - k - 1] + rise * (y[m - k - 1] - y[m - 2 * k - 1]))[::-1]
    top = bulk.max()

    def excess(x: float) -> float:
        gap = x * x - bulk**2
        phi, slope = np.mean(x / gap), -np.mean((x * x + bulk**2) / gap**2)
        dual, dual_slope = ratio * phi + (1 - ratio) / x, ratio * slope - (1 - ratio) / x**2
        return float(x * (slope * dual + phi * dual_slope) / (phi * dual) + 4)

    return int(np.count_nonzero(y > optimize.brentq(excess, top * (1 + 1e-9), 10 * top)))


SHAPES = np.geomspace(0.1, 50, 16)


def bema(lam: Array, n: int, T: int, trim: float = 0.2) -> int:
    """Gamma-distributed noise fitted to the bulk (Ke, Ma and Lin 2023, doi:10.1080/01621459.2021.1933497).

    The shape of the gamma law is chosen on a grid; quantiles come from one simulated noise per shape, the
    largest eigenvalue's 90 % quantile from twenty.
    """
    y = lam[: min(n, T)]
    middle = slice(int(np.ceil(trim * len(y))), int(np.floor((1 - trim) * len(y))))
    best, threshold = np.inf, np.inf
    for bulk, top in _gamma_noise(n, T):
        q = bulk[: len(y)][middle]
        level = float(q @ y[middle] / (q @ q))
        error = float(np.sum((y[middle] - level * q) ** 2))
        if error < best:
            best, threshold = error, level * top
    return int(np.count_nonzero(y > threshold))


@lru_cache(maxsize=64)
def _gamma_noise(n: int, T: int) -> list[tuple[Array, float]]:
    """For each shape: eigenvalues of such noise of mean 1, and the 90 % quantile of the largest one."""
    rng = np.random.default_rng(0)
    white, order = _wishart(n, T, rng), (np.arange(n) + 0.5) / n
    tops = [(_wishart(n, T, rng), rng.random(n)) for _ in range(20 if n <= 256 else 6)]
    return [
        (
            np.linalg.eigvalsh(_coloured(white, order, shape))[::-1],
            float(np.quantile([np.linalg.norm(_coloured(W, u, shape), 2) for W, u in tops], 0.9)),
        )
        for shape in SHAPES
    ]


def _wishart(n: int, T: int, rng: np.random.Generator) -> Array:
    X = rng.standard_normal((T, n), dtype=np.float32).astype(np.float64)
    return np.asarray(X.T @ X / T)


def _coloured(W: Array, u: Array, shape: float) -> Array:
    deviations = np.sqrt(stats.gamma.ppf(u, shape, scale=1 / shape))
    return np.asarray(W * deviations[:, None] * deviations)


def minka(lam: Array, n: int, T: int) -> int | None:
    """Bayesian evidence (Minka 2000), as scikit-learn has it; None where that takes too long or fails."""
    from sklearn.decomposition._pca import _infer_dimension

    if n > 200 or not (lam[:n] > 1e-12 * lam[0]).all():
        return None
    return int(_infer_dimension(lam[:n], T))
