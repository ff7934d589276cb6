"""Fast Similarity Matching: a Hebbian/anti-Hebbian network with its lateral weights kept inverted.

    y = M^-1 W x
    W <- (1 - s) W + s y x'        s = 2 / (t + 5)
    M <- (1 - s) M + s y y'        as a rank-one (Sherman-Morrison) change of M^-1

Giovannucci, Minden, Pehlevan, Chklovskii 2018, arXiv:1808.02083. The step is the published code's default:
eta = 1 / (t + 5) and tau = 1/2, which gives W and M the same factor. So is the start: orthonormalised first
samples Q, with ``W = c Q`` and ``M = c I``. Its c is 1/100 for data scaled to unit power; here it is 1/100
of the power an output has over the first samples, so that units do not matter.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.peers.kernels import kernel, sweep
from benchmarks.peers.peer import Array, Peer, aligned, span


class FSM(Peer):
    """State and read-off, common to both flavours."""

    name = "FSM"

    def _start(self, head: Array) -> None:
        c = (np.mean(head**2) * self.n / self.k or 1.0) / 100
        self.W = aligned(self.dtype.type(c) * span(head))
        self.Minv = np.eye(self.k, dtype=self.dtype) / self.dtype.type(c)
        self.t = 0

    def _axes(self) -> Array:
        """Right singular vectors of ``M^(-1/2) W``: W is E[y x'] and M is E[y y'], so this orders them."""
        lam, V = np.linalg.eigh(self.Minv)
        return np.linalg.svd(np.sqrt(np.maximum(lam, 0))[:, None] * (V.T @ self.W), full_matrices=False)[2]


class PlainFSM(FSM):
    flavour = "installable"

    def _consume(self, X: Array) -> None:
        W, Minv = self.W, self.Minv
        outer_W, outer_M = np.empty_like(W), np.empty_like(Minv)
        h, y, z = np.empty((3, self.k), self.dtype)
        y_column, z_column = y[:, None], z[:, None]
        for x in X:
            s = 2 / (self.t + 5)
            np.dot(W, x, out=h)
            np.dot(Minv, h, out=y)
            np.dot(Minv, y, out=z)
            # The same factor on both sides keeps M^-1 symmetric to the last bit: asymmetry would grow.
            z *= math.sqrt(s / (1 - s + s * float(y.dot(z))))
            Minv -= np.multiply(z_column, z, out=outer_M)
            Minv /= 1 - s
            y *= s
            W *= 1 - s
            W += np.multiply(y_column, x, out=outer_W)
            self.t += 1


class CompiledFSM(FSM):
    flavour = "compiled"

    def _consume(self, X: Array) -> None:
        _learn(X, self.W, self.Minv, self.t)
        self.t += len(X)


@kernel
def _learn(X: Array, W: Array, Minv: Array, t: int) -> None:
    """One pass over W a sample and two over M^-1: each update also gathers the next product."""
    number = W.dtype.type
    k = len(W)
    y, z, h = np.zeros(k, W.dtype), np.zeros(k, W.dtype), np.empty(k, W.dtype)
    sweep(W, number(1), y, X[0], X[0], h)
    _respond(Minv, number(1), z, h, y)
    for row in range(len(X)):
        s = 2 / (t + row + 5)
        yz = number(0)
        for i in range(k):
            z_i = number(0)
            for j in range(k):
                z_i += Minv[i, j] * y[j]
            z[i] = z_i
            yz += y[i] * z_i
        root = number(np.sqrt(s / (1 - s + s * yz)))
        for i in range(k):
            z[i] *= root
            y[i] *= number(s)
        sweep(W, number(1 - s), y, X[row], X[min(row + 1, len(X) - 1)], h)
        _respond(Minv, number(1 / (1 - s)), z, h, y)


@kernel
def _respond(Minv: Array, growth: float, z: Array, h: Array, y: Array) -> None:
    """``M^-1 <- growth (M^-1 - z z')`` and ``y = M^-1 h`` in one pass."""
    k = len(Minv)
    for i in range(k):
        z_i = z[i]
        y_i = Minv.dtype.type(0)
        for j in range(k):
            m = growth * (Minv[i, j] - z_i * z[j])
            Minv[i, j] = m
            y_i += m * h[j]
        y[i] = y_i
