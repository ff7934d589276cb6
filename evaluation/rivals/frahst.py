"""FRAHST: the row-Householder subspace tracker, with as many directions as keep a share of the energy.

    h = Q'x,   z = |x|^2 - |h|^2,   X = a S + 2 a (S v) v' + h h',   X' b = sqrt(z) h
    phi^2 = 1/2 + 1 / sqrt(4 (|b|^2 + 1)),   gamma = (1 - 2 phi^2) / (2 phi),   delta = phi / sqrt(z)
    v = gamma b,   S <- X - v h' / delta,   Q <- Q - 2 (delta x - Q (delta h - v)) v'

a is the discount. The recursion is Strobach's (2009, Signal Processing 89, doi:10.1016/j.sigpro.2009.04.012);
the rank rule and its defaults, 0.96 and 0.98 at a = 0.96, are those of dos Santos Teixeira and Milidiu (2010,
ACM SAC, doi:10.1145/1774088.1774434): a new direction is what the row has outside the subspace. As with
SPIRIT, ten rows pass between two changes; without that the rank swings from 1 to n and back."""

from __future__ import annotations

import numpy as np
from benchmarks.peers.peer import Array, span

from evaluation.rivals.rival import HOLD, Ranks, RankTracker


class FRAHST(RankTracker):
    """FRAHST with its published thresholds; ``most == least`` fixes the rank."""

    name = "FRAHST"

    def __init__(
        self,
        n: int,
        discount: float = 0.96,
        low: float = 0.96,
        high: float = 0.98,
        least: int = 1,
        most: int | None = None,
    ) -> None:
        super().__init__(n, discount)
        self.low, self.high = low, high
        self.least, self.most = least, n if most is None else most
        self.Q, self.v = np.eye(n, least), np.zeros(least)
        self.S: Array | None = None
        self.of_rows = self.of_scores = 0.0
        self.unchanged = 0

    @property
    def rank(self) -> int:
        return self.Q.shape[1]

    def learn(self, X: Array) -> Ranks:
        ranks = np.empty(len(X), np.int64)
        if self.S is None and len(X) >= self.rank:
            self.Q = span(np.asarray(X[: self.rank], dtype=np.float64)).T.copy()
        for t, x in enumerate(np.asarray(X, dtype=np.float64)):
            self._learn_one(x)
            ranks[t] = self.rank
        return ranks

    def _learn_one(self, x: Array) -> None:
        a, Q, v = self.discount, self.Q, self.v
        power = float(x @ x)
        if self.S is None:
            self.S = 1e-4 * (power or 1.0) * np.eye(self.rank)
        h = x @ Q
        z = power - float(h @ h)
        if z > 1e-12 * power:
            X = a * (self.S + 2 * np.outer(self.S @ v, v)) + np.outer(h, h)
            b = np.linalg.solve(X.T, np.sqrt(z) * h)
            phi2 = 0.5 + 0.5 / np.sqrt(b @ b + 1)
            phi = np.sqrt(phi2)
            delta = phi / np.sqrt(z)
            v = (1 - 2 * phi2) / (2 * phi) * b
            self.S = X - np.outer(v, h / delta)
            Q -= 2 * np.outer(delta * x - Q @ (delta * h - v), v)
            self.v = v
        self.of_rows = a * self.of_rows + power
        self.of_scores = a * self.of_scores + float(h @ h)
        self._adapt(x)

    def _adapt(self, x: Array) -> None:
        r = self.rank
        self.unchanged += 1
        if self.unchanged <= HOLD:
            return
        if self.of_scores < self.low * self.of_rows and r < self.most:
            outside = x - self.Q @ (x @ self.Q)
            z = float(outside @ outside)
            if z > 0:
                self.Q = np.column_stack((self.Q, outside / np.sqrt(z)))
                S = np.zeros((r + 1, r + 1))
                S[:r, :r], S[r, r] = self.S, z
                self.S, self.v, self.unchanged = S, np.append(self.v, 0.0), 0
        elif self.of_scores > self.high * self.of_rows and r > self.least:
            assert self.S is not None
            self.Q, self.S, self.v = self.Q[:, :-1].copy(), self.S[:-1, :-1].copy(), self.v[:-1]
            self.unchanged = 0

    def components(self) -> Array:
        """By the eigenvectors of the symmetric part of S, which is Q'(sum of x x')Q."""
        assert self.S is not None
        V = np.linalg.eigh(self.S + self.S.T)[1][:, ::-1]
        return (self.Q @ V).T
