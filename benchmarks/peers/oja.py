"""Oja's subspace rule, with weights that stay orthonormal.

    y = W x,   p = W' y,   r = x - p
    W <- (I + g^2 |r|^2 y y')^(-1/2) (W + g y r')              g = c k / sum of |y|^2 so far

The increment is Oja's, ``g (y x' - y y' W)`` (Oja 1982, J. Math. Biology 15; 1992, Neural Networks 5).
The inverse root is the symmetric orthonormalisation, of rank one and so free, of Abed-Meraim, Attallah,
Chkeif and Hua 2000 (orthogonal Oja): the rule as printed diverges when a step
is too large, this one only turns. The step falls as c / t in units of the mean variance of the outputs, so
that the data's scale does not matter. Of c = 1/2, 1, 2, 4, 8, c = 2 did best where k is the number of
strong components; without a gap larger ones do better, with k above that number c = 1. One step serves all
components, so weak ones next to very strong ones come slowly.
"""

from __future__ import annotations

import numpy as np

from benchmarks.peers.kernels import kernel, sweep
from benchmarks.peers.peer import Array, Peer, aligned, span

STEP = 2.0


class Oja(Peer):
    """State and read-off, common to both flavours. S, the sum of y y', serves the step and the order."""

    name = "Oja"

    def _start(self, head: Array) -> None:
        self.W = aligned(span(head))
        self.S = np.zeros((self.k, self.k), self.dtype)

    def _axes(self) -> Array:
        """The rule finds a subspace only; the outputs' second moment orders it."""
        V = np.linalg.eigh(self.S)[1][:, ::-1]
        return np.linalg.qr((V.T @ self.W).T)[0].T


class PlainOja(Oja):
    flavour = "installable"

    def _consume(self, X: Array) -> None:
        W, S = self.W, self.S
        outer_W, outer_S = np.empty_like(W), np.empty_like(S)
        for x in X:
            y = W @ x
            p = y @ W
            r = x - p
            S += np.multiply(y[:, None], y, out=outer_S)
            along_p, along_r = _turn(float(np.trace(S)) / self.k, float(y @ y), float(r @ r))
            W += np.multiply(y[:, None], along_p * p + along_r * r, out=outer_W)


class CompiledOja(Oja):
    flavour = "compiled"

    def _consume(self, X: Array) -> None:
        _learn(X, self.W, self.S)


def _turn(variance: float, yy: float, rr: float) -> tuple[float, float]:
    """The factors of p and r in the row q of ``W <- W + y q'``, from |y|^2, |r|^2 and the step's unit."""
    g = STEP / variance if variance > 0 else 0.0
    root = 1 / np.sqrt(1 + g * g * rr * yy)
    return -g * g * rr * root * root / (1 + root), g * root


_compiled_turn = kernel(_turn)


@kernel
def _learn(X: Array, W: Array, S: Array) -> None:
    """Two passes over W a sample: one gathers W' y, one turns W and gathers the next W x."""
    number = W.dtype.type
    k, n = W.shape
    y, q = np.zeros(k, W.dtype), np.zeros(n, W.dtype)
    h = np.empty(k, W.dtype)
    sweep(W, number(1), y, X[0], X[0], h)
    for row in range(len(X)):
        x = X[row]
        yy, rr, variance = number(0), number(0), 0.0
        for i in range(k):
            y[i] = h[i]
            yy += y[i] * y[i]
            for j in range(k):
                S[i, j] += y[i] * y[j]
            variance += S[i, i] / k
        _project(W, y, q)
        for j in range(n):
            rest = x[j] - q[j]
            rr += rest * rest
        along_p, along_r = _compiled_turn(variance, yy, rr)
        of_p, of_x = number(along_p - along_r), number(along_r)
        for j in range(n):
            q[j] = of_p * q[j] + of_x * x[j]
        sweep(W, number(1), y, q, X[min(row + 1, len(X) - 1)], h)


@kernel
def _project(W: Array, y: Array, p: Array) -> None:
    """``p = W' y``, four rows at a time so that p is fetched and stored a quarter as often."""
    k, n = W.shape
    p[:] = 0
    grouped = k - k % 4
    for i in range(0, grouped, 4):
        y0, y1, y2, y3 = y[i], y[i + 1], y[i + 2], y[i + 3]
        for j in range(n):
            p[j] += y0 * W[i, j] + y1 * W[i + 1, j] + y2 * W[i + 2, j] + y3 * W[i + 3, j]
    for i in range(grouped, k):
        y0 = y[i]
        for j in range(n):
            p[j] += y0 * W[i, j]
