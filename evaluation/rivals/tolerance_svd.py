"""Incremental SVD that drops singular values below a share of the largest, as libROM and incrementalPOD do.

    [U, s] <- SVD of (discounted U s, block);  keep s_i > tolerance s_1

Brand 2002 (ECCV, doi:10.1007/3-540-47969-4_47); with a tolerance: Fareed, Singler, Zhang and Shen 2018
(doi:10.1016/j.camwa.2017.09.012), Oxberry, Kostova-Vassilevska, Arrighi and Chand 2017
(doi:10.1002/nme.5283). MATLAB's incrementalPOD has the tolerance 1e-6. Those never forget; the
discount is our addition in their favour, since without it a rank never falls.
"""

from __future__ import annotations

import numpy as np
from benchmarks.peers.peer import Array

from evaluation.rivals.rival import BlockTracker, decomposed


class ToleranceSVD(BlockTracker):
    """The rank is the number of singular values above ``tolerance`` times the largest."""

    name = "incremental SVD, tolerance"

    def __init__(self, n: int, discount: float = 1.0, tolerance: float = 1e-6, block: int = 50) -> None:
        super().__init__(n, discount, block)
        self.tolerance = tolerance
        self.scaled = np.empty((0, n))

    def _learn_block(self, rows: Array) -> None:
        s, V = decomposed(self.scaled, rows, self.discount)
        self.rank = int(np.count_nonzero(s > self.tolerance * s[0]))
        self.scaled = s[: self.rank, None] * V[: self.rank]

    def components(self) -> Array:
        return self.scaled / np.linalg.norm(self.scaled, axis=1)[:, None]
