"""The Gaussian that a reading stands for: its covariance, and the log-likelihood of rows under it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats
from ..learners.arrays import host
from .reading import Reading

TINY = float(np.finfo(np.float64).tiny)
"""Noise at least, so that rows outside a model without noise are unlikely and not undefined."""


class Density(NamedTuple):
    """Variances along the kept axes, and of the noise in every other direction: both Gaussian."""

    kept: NDArray[np.float64]
    noise: float


def density(reading: Reading, samples: int, *, centered: bool) -> Density:
    """Components and even noise, with the variances of scikit-learn's PCA.

    These are divided by one sample less than a reading's own if the mean was taken from the samples, and the
    noise is the mean of as many other directions as this number of samples can have.
    """
    count = reading.count
    unbiased = count / (count - 1) if centered and count > 1 else 1.0
    kept = unbiased * reading.kept_variances.astype(np.float64)
    others = min(reading.mean.size, samples) - reading.rank
    left = unbiased * reading.total_variance - float(kept.sum())
    return Density(kept, max(left, 0.0) / others if others > 0 else 0.0)


def covariance(reading: Reading, expected: Density) -> NDArray[np.float64]:
    """Covariance of the inputs, in their own units (n x n)."""
    axes = host(reading.kept_axes).astype(np.float64)
    found: NDArray[np.float64] = (axes.T * np.maximum(expected.kept - expected.noise, 0.0)) @ axes
    found.flat[:: len(found) + 1] += expected.noise
    if reading.scale is not None:
        scale = host(reading.scale).astype(np.float64)
        found *= scale * scale[:, None]
    return found


def log_likelihood(reading: Reading, rows: Floats, expected: Density) -> Floats:
    """Log-likelihood of each row (in nats); minus infinity where float cannot hold how unlikely it is."""
    n, noise = reading.mean.size, max(expected.noise, TINY)
    width = n * np.log(2 * np.pi) + float(np.sum(np.log(expected.kept))) + (n - reading.rank) * np.log(noise)
    if reading.scale is not None:
        width += 2 * float(np.sum(np.log(host(reading.scale), dtype=np.float64)))
    with np.errstate(over="ignore"):
        inside = reading.project(rows).astype(np.float64) ** 2 @ (1 / expected.kept)
        outside = reading.squared_residuals(rows).astype(np.float64) / noise
        likelihood: Floats = -0.5 * (inside + (outside if n > reading.rank else 0.0) + width)
        return likelihood.astype(rows.dtype)
