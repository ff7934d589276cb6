"""Federated PCA on one node: truncated SVDs of blocks, merged, with a rank from the singular values' shares.

    [U, s] <- SVD of (discounted U s, block), cut to rank r
    r + 1 if s_r / (s_1 + ... + s_r) > upper,   r - 1 if s_r / (s_1 + ... + s_r) < lower

Grammenos, Mendoza-Smith, Crowcroft and Mascolo 2020 (NeurIPS 33, arXiv:1907.08059): lower is 1 %, upper 10 %.
What a greater rank adds is the next direction of the next merge.
"""

from __future__ import annotations

import numpy as np
from benchmarks.peers.peer import Array

from evaluation.rivals.rival import BlockTracker, decomposed


class FederatedPCA(BlockTracker):
    """FPCA-Edge with its published bounds; ``most == least`` fixes the rank."""

    name = "Federated PCA"

    def __init__(
        self,
        n: int,
        discount: float = 1.0,
        lower: float = 0.01,
        upper: float = 0.1,
        block: int = 50,
        least: int = 1,
        most: int | None = None,
    ) -> None:
        super().__init__(n, discount, block)
        self.lower, self.upper = lower, upper
        self.least, self.most = least, n if most is None else most
        self.target = least
        self.scaled = np.empty((0, n))
        """Directions as rows, each as long as its singular value."""

    def _learn_block(self, rows: Array) -> None:
        s, V = decomposed(self.scaled, rows, self.discount)
        r = min(self.target, len(s))
        self.scaled = s[:r, None] * V[:r]
        self.rank = r
        share = s[r - 1] / max(float(np.sum(s[:r])), np.finfo(float).tiny)
        if share > self.upper and r < self.most:
            self.target = r + 1
        elif share < self.lower and r > self.least:
            self.target = r - 1

    def components(self) -> Array:
        return self.scaled / np.maximum(np.linalg.norm(self.scaled, axis=1), np.finfo(float).tiny)[:, None]
