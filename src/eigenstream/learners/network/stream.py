"""One sample after another: the compiled loop.

Samples are taken in groups of `RECENT` on an absolute grid of sample counts. A pass over N gathers ``N x``
for the whole group, since within a group N can stand still: what its samples have taught so far enters
through their inner products. A second pass then takes them in. A group that arrives in pieces runs through
the same instructions piece by piece, so any chunking of a stream gives the same bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel
from .settle import center, factorize, settle
from .state import DECAY, RECENT, TAU, THETA0, TIME, WAITING, WEIGHT, Floats, NetworkRule, State, workspace

# Samples. A search reads all of N, as learning does once in four samples: one in sixteen passes more.
CLEANING = 64
"""Samples between searches for numbers that have decayed beyond meaning."""

# Columns: 4 KiB per row in float64, of which a cache of 32 KiB holds eight.
TILE = 512
"""Columns that a group of samples is worked on at a time: what the first-level cache holds."""


@kernel
def learn_rows(
    state: State, rule: NetworkRule, X: Floats, weights: NDArray[np.float64], Y: NDArray[np.float64]
) -> None:
    """Learn from the rows of X and write the responses into Y; ``weights`` holds weights and extras."""
    N, N_narrow, S, X_recent, Y_recent, mean, totals, clock = state
    k, n = N.shape
    A, h, y = workspace(N, k, k), workspace(N, 1, k)[0], workspace(N, 1, k)[0]
    projections, gram = workspace(N_narrow, k, RECENT), workspace(N_narrow, RECENT, RECENT)
    powers = np.empty(RECENT)
    tiny = vanishing(N_narrow)
    time, waiting, decay = clock[TIME], clock[WAITING], totals[DECAY]
    t = 0
    while t < len(X):
        group = min(RECENT - time % RECENT, len(X) - t)
        # Rows are passed as matrix and index: a view of a row costs as much as a row of 64 numbers.
        for s in range(group):
            powers[s] = center(X, t + s, weights, mean, totals, rule, X_recent, waiting + s)
        gather(N_narrow, X_recent, projections, gram)
        for s in range(group):
            factorize(S, rule.alpha * totals[TAU] + totals[THETA0], A)
            for i in range(k):
                h[i] = decay * float(projections[i, waiting])
            for r in range(waiting):
                for i in range(k):
                    h[i] += gram[r, waiting] * Y_recent[r, i]
                    Y_recent[r, i] *= rule.beta2
            amplitude = rule.noise * np.sqrt(powers[s] / n)
            settle(S, totals, rule, A, h, y, (powers[s], weights[t, WEIGHT], amplitude, time))
            for i in range(k):
                Y[t, i] = y[i]
                learnt = weights[t, WEIGHT] * h[i]
                Y_recent[waiting, i] = learnt if abs(learnt) > tiny else 0.0
            decay *= rule.beta2
            time += 1
            waiting += 1
            t += 1
        if time % RECENT == 0:
            absorb(N, N_narrow, X_recent, Y_recent, decay)
            waiting, decay = 0, 1.0
            if rule.beta2 < 1 and time % CLEANING == 0:
                drop_denormals(N, N_narrow, S, totals)
    clock[TIME], clock[WAITING], totals[DECAY] = time, waiting, decay


@kernel
def gather(N_narrow: Floats, X: Floats, projections: Floats, gram: Floats) -> None:
    """``N x`` for the four samples of a group (columns), and their products above the diagonal of ``gram``.

    A tile of the samples stays in the first-level cache while the rows pass by, two at a time: each number
    loaded is used more than once, so that arithmetic and not memory sets the pace.
    """
    k, n = N_narrow.shape
    zero = N_narrow.dtype.type(0)
    projections[:] = 0
    for start in range(0, n, TILE):
        # Unsigned, so that no index could be negative and count from the end: the loop becomes vector code.
        columns = range(np.uint64(start), np.uint64(min(start + TILE, n)))
        for i in range(0, k // 2 * 2, 2):
            a0, a1, a2, a3, b0, b1, b2, b3 = zero, zero, zero, zero, zero, zero, zero, zero
            for j in columns:
                a0 += N_narrow[i, j] * X[0, j]
                a1 += N_narrow[i, j] * X[1, j]
                a2 += N_narrow[i, j] * X[2, j]
                a3 += N_narrow[i, j] * X[3, j]
                b0 += N_narrow[i + 1, j] * X[0, j]
                b1 += N_narrow[i + 1, j] * X[1, j]
                b2 += N_narrow[i + 1, j] * X[2, j]
                b3 += N_narrow[i + 1, j] * X[3, j]
            projections[i, 0] += a0
            projections[i, 1] += a1
            projections[i, 2] += a2
            projections[i, 3] += a3
            projections[i + 1, 0] += b0
            projections[i + 1, 1] += b1
            projections[i + 1, 2] += b2
            projections[i + 1, 3] += b3
    if k % 2:
        a0, a1, a2, a3 = zero, zero, zero, zero
        for j in range(n):
            a0 += N_narrow[k - 1, j] * X[0, j]
            a1 += N_narrow[k - 1, j] * X[1, j]
            a2 += N_narrow[k - 1, j] * X[2, j]
            a3 += N_narrow[k - 1, j] * X[3, j]
        projections[k - 1, 0], projections[k - 1, 1] = a0, a1
        projections[k - 1, 2], projections[k - 1, 3] = a2, a3
    a0, a1, a2, b0, b1, b2 = zero, zero, zero, zero, zero, zero
    for j in range(n):
        a0 += X[0, j] * X[1, j]
        a1 += X[0, j] * X[2, j]
        a2 += X[0, j] * X[3, j]
        b0 += X[1, j] * X[2, j]
        b1 += X[1, j] * X[3, j]
        b2 += X[2, j] * X[3, j]
    gram[0, 1], gram[0, 2], gram[0, 3], gram[1, 2], gram[1, 3], gram[2, 3] = a0, a1, a2, b0, b1, b2


@kernel
def absorb(N: NDArray[np.float64], N_narrow: Floats, X: Floats, Y: Floats, decay: float) -> None:
    """``N <- decay N + Y' X`` over the samples that waited; clears Y.

    Where N_narrow is N itself, two rows share their loads of X; otherwise it follows N row by row.
    """
    k, n = N.shape
    paired = k // 2 * 2 if N_narrow.itemsize == N.itemsize else 0
    for i in range(0, paired, 2):
        a0, a1, a2, a3 = Y[0, i], Y[1, i], Y[2, i], Y[3, i]
        b0, b1, b2, b3 = Y[0, i + 1], Y[1, i + 1], Y[2, i + 1], Y[3, i + 1]
        for j in range(n):
            x0, x1, x2, x3 = X[0, j], X[1, j], X[2, j], X[3, j]
            N[i, j] = decay * N[i, j] + (a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3)
            N[i + 1, j] = decay * N[i + 1, j] + (b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3)
    for i in range(paired, k):
        a0, a1, a2, a3 = Y[0, i], Y[1, i], Y[2, i], Y[3, i]
        for j in range(n):
            value = decay * N[i, j] + (a0 * X[0, j] + a1 * X[1, j] + a2 * X[2, j] + a3 * X[3, j])
            N[i, j] = value
            N_narrow[i, j] = value
    for s in range(RECENT):
        for i in range(k):
            Y[s, i] = 0


@kernel
def vanishing(N_narrow: Floats) -> float:
    """Largest number that counts as zero in N, well above those that are denormal in N_narrow's precision."""
    return 1e-280 if N_narrow.itemsize == 8 else 1e-30


@kernel
def drop_denormals(
    N: NDArray[np.float64], N_narrow: Floats, S: NDArray[np.float64], totals: NDArray[np.float64]
) -> None:
    """Zero what has decayed beyond meaning, before it becomes denormal and a hundred times slower."""
    tiny = vanishing(N_narrow)
    for i in range(len(N)):
        for j in range(N.shape[1]):
            if abs(N[i, j]) < tiny:
                N[i, j] = 0.0
                N_narrow[i, j] = 0.0
        for j in range(len(S)):
            if abs(S[i, j]) < 1e-280:
                S[i, j] = 0.0
    if totals[THETA0] < 1e-280:
        totals[THETA0] = 0.0
