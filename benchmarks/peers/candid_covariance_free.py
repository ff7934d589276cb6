"""CCIPCA: candid covariance-free incremental PCA, component after component on what the last left over.

    u_1 = x;  for i = 1 .. min(k, t):
        v_i <- (1 - w) v_i + w u_i (u_i . v_i) / |v_i|         w = (1 + l) / t
        u_{i+1} = u_i - (u_i . v_i) v_i / |v_i|^2

|v_i| estimates the eigenvalue. Weng, Zhang, Hwang 2003, doi:10.1109/TPAMI.2003.1217609. The amnesic
parameter l is 0 by default: all samples weigh the same, as befits a stationary stream.

One departure: the paper starts component i from ``v_i = u_i`` at t = i, a length where later terms are
variances, so that in small units the first samples outweigh thousands. Here ``v_i = 0.1 |u_i| u_i``, the
same at any scale; of the factors 1, 0.1, 0.01 and 0.0001 it was the best or close to it on five spectra.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from benchmarks.peers.kernels import kernel
from benchmarks.peers.peer import Array, Peer, aligned

BIRTH = 0.1


class CCIPCA(Peer):
    """State and read-off, common to both flavours."""

    name = "CCIPCA"

    def __init__(
        self, n: int, k: int, dtype: DTypeLike = np.float64, seed: int = 0, *, amnesia: float = 0.0
    ) -> None:
        super().__init__(n, k, dtype, seed)
        self.amnesia = amnesia

    def _start(self, head: Array) -> None:
        """Nothing to prepare: a component is born of the first residual that reaches it."""
        self.V = aligned(np.zeros((self.k, self.n), self.dtype))
        self.square = np.zeros(self.k)
        self.t = 0

    def _axes(self) -> Array:
        order = np.argsort(-np.linalg.norm(self.V, axis=1), kind="stable")
        return np.linalg.qr(self.V[order].T)[0].T


class PlainCCIPCA(CCIPCA):
    flavour = "installable"

    def _consume(self, X: Array) -> None:
        for x in X:
            self.t += 1
            w = min(1.0, (1 + self.amnesia) / self.t)
            u = x.copy()
            for i in range(min(self.k, self.t)):
                v = self.V[i]
                length = np.sqrt(self.square[i])
                if length > 0:
                    gain = w * float(u @ v) / length
                    v *= 1 - w
                    v += gain * u
                else:
                    v[:] = BIRTH * np.sqrt(u @ u) * u
                square = self.square[i] = float(v @ v)
                if square > 0:
                    u -= (float(u @ v) / square) * v


class CompiledCCIPCA(CCIPCA):
    flavour = "compiled"

    def _consume(self, X: Array) -> None:
        _learn(X, self.V, self.square, self.t, self.amnesia)
        self.t += len(X)


@kernel
def _learn(X: Array, V: Array, square: Array, t: int, amnesia: float) -> None:
    """One pass a component: it updates v, deflates u, and gathers ``u.v`` for the next. square is |v|^2."""
    number = V.dtype.type
    k, n = V.shape
    u = np.empty(n, V.dtype)
    for row in range(len(X)):
        uv, uu = number(0), number(0)
        for j in range(n):
            x = X[row, j]
            u[j] = x
            uv += x * V[0, j]
            uu += x * x
        seen = t + row + 1
        w = min(1.0, (1 + amnesia) / seen)
        # Up to k - 1, not k with a branch: rows must provably end before u for the loop to be vectorised.
        for i in range(min(k - 1, seen)):
            a, b, g = _blend(square, i, uv, uu, w)
            a, b, g = number(a), number(b), number(g)
            uv, uu = number(0), number(0)
            for j in range(n):
                v = a * V[i, j] + b * u[j]
                rest = u[j] - g * v
                V[i, j], u[j] = v, rest
                uv += rest * V[i + 1, j]
                uu += rest * rest
        if seen >= k:
            a, b, g = _blend(square, k - 1, uv, uu, w)
            a, b = number(a), number(b)
            for j in range(n):
                V[k - 1, j] = a * V[k - 1, j] + b * u[j]


@kernel
def _blend(square: Array, i: int, uv: float, uu: float, w: float) -> tuple[float, float, float]:
    """a, b of ``v <- a v + b u`` and g of ``u <- u - g v``, known before the pass that applies them.

    For ``u.v`` becomes ``a u.v + b |u|^2`` and ``|v|^2`` becomes ``a^2 |v|^2 + 2 a b u.v + b^2 |u|^2``: sums
    of terms of one sign, in which nothing cancels.
    """
    a, b = (1 - w, w * uv / np.sqrt(square[i])) if square[i] > 0 else (0.0, BIRTH * np.sqrt(uu))
    square[i] = a * a * square[i] + 2 * a * b * uv + b * b * uu
    return a, b, (a * uv + b * uu) / square[i] if square[i] > 0 else 0.0
