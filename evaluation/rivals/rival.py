"""What every rival that adapts its rank answers to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from benchmarks.peers.peer import Array
from numpy.typing import NDArray

Ranks = NDArray[np.int64]
HOLD = 10
"""Rows between two changes of rank, of those who change it row by row: a new direction has no energy yet."""


class RankTracker(ABC):
    """A streaming PCA over n inputs that chooses its number of components. Inputs are taken as centered.

    Parameters
    ----------
    n
        Inputs.
    discount
        What a second moment counts for one row later; 1 never forgets.
    """

    name: ClassVar[str]

    def __init__(self, n: int, discount: float = 1.0) -> None:
        self.n, self.discount = n, discount

    @abstractmethod
    def learn(self, X: Array) -> Ranks:
        """Learn rows in order; returns the rank after each of them."""

    @abstractmethod
    def components(self) -> Array:
        """The directions kept now (rank x n), orthonormal, largest first."""


class BlockTracker(RankTracker):
    """A rank tracker that learns rows in blocks; those of an unfinished block wait."""

    def __init__(self, n: int, discount: float, block: int) -> None:
        super().__init__(n, discount)
        self.block, self.rank = block, 0
        self._waiting = np.empty((0, n))

    def learn(self, X: Array) -> Ranks:
        ranks = np.empty(len(X), np.int64)
        done = -len(self._waiting)
        rows = np.vstack((self._waiting, X))
        while len(X) - done >= self.block:
            ranks[max(done, 0) : done + self.block - 1] = self.rank
            start = done + len(self._waiting)
            self._learn_block(rows[start : start + self.block])
            done += self.block
            ranks[done - 1] = self.rank
        ranks[max(done, 0) :] = self.rank
        self._waiting = rows[done + len(self._waiting) :].copy()
        return ranks

    @abstractmethod
    def _learn_block(self, rows: Array) -> None:
        """Learn one block and set ``rank``."""


def decomposed(scaled: Array, rows: Array, discount: float) -> tuple[Array, Array]:
    """Singular values and directions of what is known (each direction as long as its value) and new rows."""
    fade = np.sqrt(discount ** np.arange(len(rows) - 1, -1, -1))[:, None]
    known = scaled * np.sqrt(discount) ** len(rows)
    _, s, V = np.linalg.svd(np.vstack((known, fade * rows)), full_matrices=False)
    return s, V
