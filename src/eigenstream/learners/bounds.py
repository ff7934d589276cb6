"""Bounds of eigenvalues, without the cost of finding them all."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from .knowledge import Matrix, Vector
from .symmetric import product

# Steps. Of noise in 64 to 256 inputs, six find the largest eigenvalue to 5 %, and of what stands out all.
STEPS = 6
"""Products with the matrix by which its largest eigenvalue is found."""


def largest_beyond(C: Matrix, U: Matrix) -> float:
    """The largest eigenvalue of C on the complement of orthonormal rows U, if anything too large.

    Of C the lower triangle is read.
    A few steps of Lanczos' method from a fixed direction: the largest Ritz value and its residual. Of noise
    this is between 0.95 and 1.04 of the eigenvalue; of what stands out of noise by half, all of it.
    """
    rank, n = U.shape
    basis, T, w = np.empty((rank + STEPS, n)), np.zeros((STEPS, STEPS)), _start(n)
    basis[:rank] = U
    w = w - (U @ w) @ U
    norm = math.sqrt(w @ w)
    for i in range(STEPS):
        known = basis[: rank + i + 1]
        np.divide(w, norm, out=known[-1])
        w = product(C, known[-1])
        along = known @ w
        w -= along @ known
        T[i, : i + 1] = along[rank:]
        norm = math.sqrt(w @ w)
        if not norm > 0:
            break
    ritz, vectors = np.linalg.eigh(T[: i + 1, : i + 1])
    return float(ritz[-1]) + norm * abs(float(vectors[-1, -1]))


@lru_cache(maxsize=16)
def _start(n: int) -> Vector:
    """A direction that no input prefers."""
    return np.random.default_rng(n).standard_normal(n)
