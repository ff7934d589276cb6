"""The streams everything is measured on."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from benchmarks.peers.peer import Array


def signal_in_noise(n: int, m: int, T: int, seed: int = 0, dtype: DTypeLike = np.float64) -> Array:
    """T centered Gaussian rows: m variances from 10 down to 4, the other n - m of 0.1.

    Variances lie along the coordinate axes: no contender looks at single coordinates, and a rotation of
    16,384 of them would need 2 GB.
    """
    variances = np.full(n, 0.1)
    variances[:m] = np.linspace(10, 4, m)
    X = np.random.default_rng(seed).standard_normal((T, n), dtype=np.dtype(dtype))  # type: ignore[arg-type]
    X *= np.sqrt(variances).astype(dtype)
    return X
