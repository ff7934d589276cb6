"""SPIRIT: hidden variables tracked one after the other, as many as keep a share of the energy.

    x_1 = x;  for i = 1 .. k:
        y_i = w_i . x_i,   d_i <- lambda d_i + y_i^2,   e = x_i - y_i w_i,   w_i <- w_i + y_i e / d_i
        x_{i+1} = x_i - y_i w_i
    k + 1 if sum of E(y_i^2) < f E(|x|^2),   k - 1 if sum of E(y_i^2) > F E(|x|^2)

Papadimitriou, Sun and Faloutsos 2005 (VLDB, pages 697-708, doi:10.5555/1083592.1083674): f = 0.95, F =
0.98, lambda = 0.96. New directions start as unit vectors; the first ones, in its favour, as the first rows,
since an input that never varies would be a direction lost. After a change of k the next one waits ten rows,
as in the authors' experiments: a new variable has no energy yet. The paper's small initial d_i is here a
thousandth of the first row's energy, so that units do not matter.
"""

from __future__ import annotations

import numpy as np
from benchmarks.peers.kernels import kernel
from benchmarks.peers.peer import Array, span

from evaluation.rivals.rival import HOLD, Ranks, RankTracker


class SPIRIT(RankTracker):
    """SPIRIT with its published thresholds; ``most`` bounds k, and ``most == least`` fixes it."""

    name = "SPIRIT"

    def __init__(
        self,
        n: int,
        discount: float = 0.96,
        low: float = 0.95,
        high: float = 0.98,
        least: int = 1,
        most: int | None = None,
    ) -> None:
        super().__init__(n, discount)
        self.settings = np.array([discount, low, high])
        most = n if most is None else most
        self.bounds = np.array([least, most])
        self.W, self.d, self.y = np.eye(most, n), np.zeros(most), np.zeros(most)
        self.energy = np.zeros(most + 1)
        """Of each hidden variable, and last of the rows."""
        self.counts = np.array([least, 0])
        """k, and how many rows have passed since it changed."""

    @property
    def rank(self) -> int:
        return int(self.counts[0])

    def learn(self, X: Array) -> Ranks:
        X = np.ascontiguousarray(X, dtype=np.float64)
        ranks = np.empty(len(X), np.int64)
        if len(X) and not self.d.any():
            if len(X) >= self.rank:
                self.W[: self.rank] = span(X[: self.rank])
            self.d[:] = 1e-3 * float(X[0] @ X[0]) or 1.0
        _follow(X, self.W, self.d, self.y, self.energy, self.counts, (*self.settings, *self.bounds), ranks)
        return ranks

    def components(self) -> Array:
        """w_i are orthonormal up to the tracking error: made so exactly."""
        return np.linalg.qr(self.W[: self.rank].T)[0].T


@kernel
def _follow(X, W, d, y, energy, counts, settings, ranks):  # type: ignore[no-untyped-def]
    """One row after the other; the loop over i is the recursion above."""
    discount, low, high, least, most = settings
    n = W.shape[1]
    rest = np.empty(n)
    for t in range(len(X)):
        k, power = counts[0], 0.0
        for j in range(n):
            rest[j] = X[t, j]
            power += rest[j] * rest[j]
        energy *= discount
        energy[-1] += power
        kept = 0.0
        for i in range(k):
            y_i = 0.0
            for j in range(n):
                y_i += W[i, j] * rest[j]
            d[i] = discount * d[i] + y_i * y_i
            y[i] = y_i
            energy[i] += y_i * y_i
            kept += energy[i]
            for j in range(n):
                W[i, j] += y_i / d[i] * (rest[j] - y_i * W[i, j])
                rest[j] -= y_i * W[i, j]
        counts[1] += 1
        if counts[1] > HOLD and kept < low * energy[-1] and k < most:
            W[k, :], W[k, k] = 0.0, 1.0
            d[k], energy[k] = 1e-3 * power, 0.0
            counts[0], counts[1] = k + 1, 0
        elif counts[1] > HOLD and kept > high * energy[-1] and k > least:
            counts[0], counts[1] = k - 1, 0
        ranks[t] = counts[0]
