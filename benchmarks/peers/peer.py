"""What every peer answers to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]


class Peer(ABC):
    """A streaming PCA of fixed rank k over n inputs.

    Parameters
    ----------
    n, k
        Inputs and components, ``1 <= k <= n``.
    dtype
        float64 or float32; state and answers have it.
    seed
        Taken so that all competitors are built alike. No peer draws: each starts from its first samples.
    """

    name: ClassVar[str]
    flavour: ClassVar[str]

    def __init__(self, n: int, k: int, dtype: DTypeLike = np.float64, seed: int = 0) -> None:
        if not 1 <= k <= n:
            raise ValueError(f"k={k} must be between 1 and n={n}, the number of inputs")
        self.n, self.k, self.dtype, self.seed = n, k, np.dtype(dtype), seed
        self._head: Array | None = np.empty((0, n), self.dtype)

    def learn(self, X: Array) -> None:
        """Consume rows in order; call again to continue. The first k are held back to start from."""
        X = np.ascontiguousarray(X, dtype=self.dtype)
        if self._head is not None:
            X = np.vstack((self._head, X))
            if len(X) < self.k:
                self._head = X
                return
            self._start(X[: self.k])
            self._head = None
        if len(X):
            self._consume(X)

    def components(self, m: int) -> Array:
        """The top m directions (m x n), orthonormal, largest first."""
        if self._head is not None:
            raise RuntimeError(f"{self.name} has seen {len(self._head)} samples and starts from k={self.k}")
        if not 1 <= m <= self.k:
            raise ValueError(f"m={m} must be between 1 and k={self.k}")
        return self._axes()[:m].astype(self.dtype)

    @abstractmethod
    def _start(self, head: Array) -> None:
        """Build the state from the first k samples, which are then learnt like any others."""

    @abstractmethod
    def _consume(self, X: Array) -> None:
        """Learn from the rows of X (at least one)."""

    @abstractmethod
    def _axes(self) -> Array:
        """All k directions, orthonormal rows, largest first."""


def span(rows: Array) -> Array:
    """Orthonormal rows that span the given ones, filled up if these are dependent."""
    return np.linalg.qr(rows.T)[0].T


def aligned(values: Array) -> Array:
    """A copy that starts on a cache line: straddling vectors cost the compiled passes up to a quarter."""
    raw = np.empty(values.nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    copy = raw[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy
