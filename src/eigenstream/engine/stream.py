"""One sample after another: the compiled loop.

Per sample one pass over N gathers ``N x``; every `RECENT` samples a second one takes in what waits. Each sample
is treated by the same instructions however the stream is cut, so any chunking gives the same bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .compiled import kernel
from .settle import center, factorize, settle
from .state import DECAY, RECENT, TAU, THETA0, TIME, WAITING, Floats, Rule, State


@kernel
def stream(state: State, rule: Rule, X: Floats, weights: NDArray[np.float64], Y: NDArray[np.float64]) -> None:
    """Learn from the rows of X and write the responses into Y."""
    N, F, S, X_recent, Y_recent, mean, numbers, clock = state
    k, n = N.shape
    A, h, y = np.empty((k, k)), np.empty(k), np.empty(k)
    gathered = np.empty(k + RECENT - 1, F.dtype)
    time, waiting, decay = clock[TIME], clock[WAITING], numbers[DECAY]
    for t in range(len(X)):
        # Rows are passed as matrix and index: a view of a row costs as much as a row of 64 numbers.
        factorize(S, rule.alpha * numbers[TAU] + numbers[THETA0], A)
        power = center(X, t, weights[t], mean, numbers, rule, X_recent, waiting)
        gather(F, X_recent, waiting, gathered)
        for i in range(k):
            h[i] = decay * gathered[i]
        for s in range(waiting):
            for i in range(k):
                h[i] += gathered[k + s] * Y_recent[s, i]
                Y_recent[s, i] *= rule.beta2
        settle(S, numbers, rule, A, h, y, (power, weights[t], rule.noise * np.sqrt(power / n), time))
        for i in range(k):
            Y[t, i] = y[i]
            Y_recent[waiting, i] = weights[t] * h[i]
        decay *= rule.beta2
        time += 1
        waiting += 1
        if time % RECENT == 0:
            absorb(N, F, X_recent, Y_recent, decay)
            drop_denormals(S, numbers)
            waiting, decay = 0, 1.0
    clock[TIME], clock[WAITING], numbers[DECAY] = time, waiting, decay


@kernel
def gather(F: Floats, X: Floats, row: int, out: Floats) -> None:
    """``N x``, then the products of x with the samples that wait; four rows at a time share their load of x."""
    k, n = F.shape
    zero = F.dtype.type(0)
    for q in range(k // 4):
        i = 4 * q
        a0, a1, a2, a3 = zero, zero, zero, zero
        for j in range(n):
            x = X[row, j]
            a0 += F[i, j] * x
            a1 += F[i + 1, j] * x
            a2 += F[i + 2, j] * x
            a3 += F[i + 3, j] * x
        out[i], out[i + 1], out[i + 2], out[i + 3] = a0, a1, a2, a3
    for i in range(k // 4 * 4, k):
        a0 = zero
        for j in range(n):
            a0 += F[i, j] * X[row, j]
        out[i] = a0
    a0, a1, a2 = zero, zero, zero
    for j in range(n):
        x = X[row, j]
        a0 += X[0, j] * x
        a1 += X[1, j] * x
        a2 += X[2, j] * x
    out[k], out[k + 1], out[k + 2] = a0, a1, a2


@kernel
def absorb(N: NDArray[np.float64], F: Floats, X: Floats, Y: Floats, decay: float) -> None:
    """``N <- decay N + Y' X`` over the samples that waited; clears Y."""
    x0, x1, x2, x3 = X[0], X[1], X[2], X[3]
    for i in range(len(N)):
        c0, c1, c2, c3 = Y[0, i], Y[1, i], Y[2, i], Y[3, i]
        row, narrow = N[i], F[i]
        if F.itemsize == N.itemsize:
            for j in range(len(row)):
                row[j] = decay * row[j] + (c0 * x0[j] + c1 * x1[j] + c2 * x2[j] + c3 * x3[j])
        else:
            for j in range(len(row)):
                value = decay * row[j] + (c0 * x0[j] + c1 * x1[j] + c2 * x2[j] + c3 * x3[j])
                row[j] = value
                narrow[j] = value
        for s in range(RECENT):
            Y[s, i] = 0


@kernel
def drop_denormals(S: NDArray[np.float64], numbers: NDArray[np.float64]) -> None:
    """Zero what has decayed beyond meaning, before it becomes denormal and slow."""
    for i in range(len(S)):
        row = S[i]
        for j in range(len(row)):
            row[j] = row[j] if abs(row[j]) > 1e-280 else 0.0
    if numbers[THETA0] < 1e-280:
        numbers[THETA0] = 0.0
