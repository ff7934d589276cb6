"""Block incremental SVD: what is known and one block of rows, decomposed together and cut to k.

Levy and Lindenbaum 2000 (doi:10.1109/83.855432), with the running mean of Ross, Lim, Lin and Yang 2008
(doi:10.1007/s11263-007-0075-7): a block's mean that differs from the mean so far is one more row. Block and
components are free, so that it can be given as many bytes as another method takes.
"""

from __future__ import annotations

import numpy as np
from benchmarks.peers.peer import Array, Peer
from numpy.typing import DTypeLike


class BlockSVD(Peer):
    """k components, ``block`` rows at a time; both stand in one array, which is all the memory it takes."""

    name, flavour = "block SVD", "installable"

    def __init__(
        self,
        n: int,
        k: int,
        dtype: DTypeLike = np.float64,
        seed: int = 0,
        *,
        block: int = 50,
        discount: float = 1.0,
    ) -> None:
        super().__init__(n, k, dtype, seed)
        self.block, self.discount = block, discount
        self.rows = np.zeros((k + 1 + block, n), self.dtype)
        self.mean = np.zeros(n, self.dtype)
        self.weight, self.waiting = 0.0, 0

    def _start(self, head: Array) -> None:
        """Nothing to prepare."""

    def _consume(self, X: Array) -> None:
        taken = 0
        while taken < len(X):
            free = self.rows[self.k + 1 + self.waiting :]
            fresh = X[taken : taken + len(free)]
            free[: len(fresh)] = fresh
            self.waiting += len(fresh)
            taken += len(fresh)
            if self.waiting == self.block:
                known, self.mean, self.weight = self._merged()
                self.rows[: self.k] = known
                self.waiting = 0

    def _merged(self) -> tuple[Array, Array, float]:
        """Scaled directions, mean and weight with the waiting rows."""
        fresh = self.rows[self.k + 1 : self.k + 1 + self.waiting]
        fade = self.discount ** np.arange(len(fresh) - 1, -1, -1)
        old, new = self.weight * self.discount ** len(fresh), float(fade.sum())
        center = fade @ fresh / new
        shift = np.sqrt(old * new / (old + new)) * (self.mean - center)
        faded = np.sqrt(fade)[:, None] * (fresh - center)
        stack = np.vstack((np.sqrt(self.discount) ** len(fresh) * self.rows[: self.k], shift, faded))
        _, s, V = np.linalg.svd(stack, full_matrices=False)
        known = np.zeros((self.k, self.n))
        r = min(self.k, len(s))
        known[:r] = s[:r, None] * V[:r]
        return known, (old * self.mean + new * center) / (old + new), old + new

    def _axes(self) -> Array:
        known = self._merged()[0] if self.waiting else self.rows[: self.k]
        return np.linalg.svd(known, full_matrices=False)[2]
