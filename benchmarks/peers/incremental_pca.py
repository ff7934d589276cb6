"""scikit-learn's IncrementalPCA, fed in batches.

Its first batch must hold at least k rows, whatever comes later. So a user who wants one-sample updates
waits for k rows, fits them together, and goes on row by row; other batch sizes are raised to k if need be.
It subtracts a running mean of its own, and computes in float64 from the second batch on.
"""

from __future__ import annotations

import copy
from typing import ClassVar

import numpy as np
from sklearn.decomposition import IncrementalPCA

from benchmarks.peers.peer import Array, Peer


class IncrementalPCAPeer(Peer):
    """Rows wait until a batch of ``max(least, per_component k)`` is full; reading counts the waiting ones."""

    flavour = "installable"
    least: ClassVar[int] = 1
    per_component: ClassVar[int] = 0

    def _start(self, head: Array) -> None:
        self._model = IncrementalPCA(n_components=self.k)
        self._waiting = np.empty((0, self.n), self.dtype)

    def _consume(self, X: Array) -> None:
        X = np.vstack((self._waiting, X))
        batch = max(self.least, self.per_component * self.k)
        taken = 0
        while len(X) - taken >= (size := batch if self._fitted else max(batch, self.k)):
            self._model.partial_fit(X[taken : taken + size])
            taken += size
        self._waiting = X[taken:].copy()

    @property
    def _fitted(self) -> bool:
        return hasattr(self._model, "components_")

    def _axes(self) -> Array:
        if not len(self._waiting):
            return self._model.components_
        return copy.deepcopy(self._model).partial_fit(self._waiting).components_


class IncrementalPCAByOne(IncrementalPCAPeer):
    name = "IncrementalPCA, batch 1"


class IncrementalPCABy100(IncrementalPCAPeer):
    name = "IncrementalPCA, batch 100"
    least = 100
    per_component = 1


class IncrementalPCAByK(IncrementalPCAPeer):
    name = "IncrementalPCA, batch k"
    per_component = 1


class IncrementalPCABy5k(IncrementalPCAPeer):
    name = "IncrementalPCA, batch 5k"
    per_component = 5
