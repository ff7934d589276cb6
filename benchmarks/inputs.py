"""The streams everything is measured on."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from benchmarks.peers.peer import Array


def signal_in_noise(n: int, m: int, T: int, seed: int = 0, dtype: DTypeLike = np.float64) -> Array:
    """T centered Gaussian rows: m variances from 10 down to 4, the other n - m of 0.1.

    The m axes are random, and the same whatever the seed: each spreads over all inputs, as a component does.
    Along single inputs, variances would be those of independent inputs, some noisier than others.
    """
    axes = np.linalg.qr(np.random.default_rng([n, m]).standard_normal((n, m)))[0].astype(dtype)
    extra = np.sqrt(np.linspace(10, 4, m) - 0.1).astype(dtype)
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((T, n), dtype=np.dtype(dtype))  # type: ignore[arg-type]
    X *= np.sqrt(np.dtype(dtype).type(0.1))
    scores = rng.standard_normal((T, m), dtype=np.dtype(dtype))  # type: ignore[arg-type]
    X += (scores * extra) @ axes.T
    return X
