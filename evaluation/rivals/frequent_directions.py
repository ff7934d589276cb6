"""Frequent Directions, and the form of it that widens its sketch until the rows fit.

    SVD of the sketch B (2 l rows);  s_i^2 <- max(s_i^2 - s_l^2, 0);  B <- s V, its lower half free again

so that ``0 <= A'A - B'B <= |A - A_k|_F^2 / (l - k)`` for every k < l (Ghashami, Liberty, Phillips and
Woodruff 2016, doi:10.1137/15M1009718; Liberty 2013, doi:10.1145/2487575.2487623). The rank-adaptive form
(ARAMS: Winnicki et al. 2024, Matrix Sketching for Online Analysis of LCLS Imaging Datasets) raises l
whenever the last rows lie outside of what is kept by more than a share of their energy; it never lowers it.
"""

from __future__ import annotations

import numpy as np
from benchmarks.peers.peer import Array, Peer
from numpy.typing import DTypeLike

from evaluation.rivals.rival import BlockTracker


def shrunk(rows: Array, l: int) -> Array:
    """At most l - 1 directions of these rows, each shortened by the l-th."""
    _, s, V = np.linalg.svd(rows, full_matrices=False)
    if len(s) < l:
        return s[:, None] * V
    return np.sqrt(np.maximum(s[: l - 1] ** 2 - s[l - 1] ** 2, 0.0))[:, None] * V[: l - 1]


class FrequentDirections(Peer):
    """A sketch of 2k rows."""

    name, flavour = "Frequent Directions", "installable"

    def __init__(self, n: int, k: int, dtype: DTypeLike = np.float64, seed: int = 0) -> None:
        super().__init__(n, k, dtype, seed)
        self.sketch = np.zeros((2 * k, n), self.dtype)
        self.used = 0

    def _start(self, head: Array) -> None:
        """Nothing to prepare."""

    def _consume(self, X: Array) -> None:
        taken = 0
        while taken < len(X):
            if self.used == len(self.sketch):
                kept = shrunk(self.sketch, self.k)
                self.used = len(kept)
                self.sketch[: self.used] = kept
            fresh = X[taken : taken + len(self.sketch) - self.used]
            self.sketch[self.used : self.used + len(fresh)] = fresh
            self.used += len(fresh)
            taken += len(fresh)

    def _axes(self) -> Array:
        return np.linalg.svd(self.sketch[: self.used], full_matrices=False)[2][: self.k]


class RankAdaptiveFrequentDirections(BlockTracker):
    """ARAMS: the sketch grows by ``step`` rows while the residual's share is above ``error``."""

    name = "ARAMS"

    def __init__(self, n: int, error: float = 0.05, least: int = 2, step: int = 2, block: int = 50) -> None:
        super().__init__(n, 1.0, block)
        self.error, self.l, self.step = error, least, step
        self.sketch = np.empty((0, n))

    def _learn_block(self, rows: Array) -> None:
        self.sketch = shrunk(np.vstack((self.sketch, rows)), self.l)
        V = self.components()
        outside = rows - rows @ V.T @ V
        power = float(np.sum(rows**2))
        if power and float(np.sum(outside**2)) > self.error * power:
            self.l = min(self.l + self.step, self.n + 1)
        self.rank = len(V)

    def components(self) -> Array:
        length = np.linalg.norm(self.sketch, axis=1)
        present = length > 0
        return self.sketch[present] / length[present, None]
