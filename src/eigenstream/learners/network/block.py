"""Many samples at once: the same algorithm as `stream`, with the features in three matrix products.

For b samples, with N, S and theta at the block's start and t, s counting from 0,

    A = X N'  (b, k)      G = X X'  (b, b)      h_t = beta^(2t) A_t + sum_{s<t} beta^(2(t-1-s)) G_ts y_s

so that settling needs only A and G; afterwards ``N <- beta^(2b) N + sum_s beta^(2(b-1-s)) y_s x_s'``.
Features are touched in `project` and `take_in` alone (and centered before).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm

from ..compiled import kernel
from .settle import center, factorize, settle
from .state import EXTRA, TAU, THETA0, TIME, WEIGHT, Floats, NetworkRule, State, workspace
from .stream import drop_denormals


def learn_block(
    state: State, rule: NetworkRule, X: Floats, weights: NDArray[np.float64], Y: NDArray[np.float64]
) -> None:
    """Learn from one block of rows and write the responses into Y. Precondition: `X_recent` is empty."""
    rows = np.empty_like(X)
    learnt = np.empty_like(Y)
    center_rows(state, rule, X, weights, rows)
    projections, gram = project(state.N_narrow, rows)
    settle_rows(state, rule, projections, gram, weights, Y, learnt)
    take_in(state, learnt, rows, rule.beta2 ** len(rows))
    if rule.beta2 < 1:
        drop_denormals(state.N, state.N_narrow, state.S, state.totals)


def project(N_narrow: Any, rows: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``X N'`` and ``X X'``: all that settling needs to know of the features."""
    return (rows @ N_narrow.T).astype(np.float64), (rows @ rows.T).astype(np.float64)


def take_in(state: State, learnt: NDArray[np.float64], rows: Floats, decay: float) -> None:
    """``N <- decay N + learnt' X``."""
    if state.N_narrow is state.N:
        # In place: BLAS sees N' in column order, so that nothing is copied.
        dgemm(1.0, rows.T, np.asfortranarray(learnt), beta=decay, c=state.N.T, overwrite_c=True)
    else:
        add_narrow(state.N, state.N_narrow, learnt.T.astype(rows.dtype) @ rows, decay)


@kernel
def center_rows(
    state: State, rule: NetworkRule, X: Floats, weights: NDArray[np.float64], out: Floats
) -> None:
    """`center` for every row in order."""
    mean, totals = state.mean, state.totals
    for t in range(len(X)):
        center(X, t, weights, mean, totals, rule, out, t)


@kernel
def settle_rows(
    state: State,
    rule: NetworkRule,
    projections: NDArray[np.float64],
    gram: NDArray[np.float64],
    weights: NDArray[np.float64],
    Y: NDArray[np.float64],
    learnt: NDArray[np.float64],
) -> None:
    """Settle a block in order, given ``A = X N'`` and ``G = X X'``; ``learnt`` is weighted as N takes it in.

    Within the block, outputs are kept divided by their discount, so that each enters later samples unchanged.
    """
    S, totals, n = state.S, state.totals, state.N.shape[1]
    b, k = projections.shape
    A, h, y = workspace(S, k, k), workspace(S, 1, k)[0], workspace(S, 1, k)[0]
    discount = 1.0
    for t in range(b):
        factorize(S, rule.alpha * totals[TAU] + totals[THETA0], A)
        for i in range(k):
            h[i] = projections[t, i]
        for s in range(t):
            for i in range(k):
                h[i] += gram[t, s] * learnt[s, i]
        for i in range(k):
            h[i] *= discount
        weight, power = weights[t, WEIGHT], gram[t, t] + weights[t, EXTRA]
        amplitude = rule.noise * np.sqrt(power / n)
        settle(S, totals, rule, A, h, y, (power, weight, amplitude, state.clock[TIME] + t))
        discount *= rule.beta2
        for i in range(k):
            Y[t, i] = y[i]
            learnt[t, i] = weight * h[i] / discount
    for t in range(b):
        for i in range(k):
            learnt[t, i] *= discount
    state.clock[TIME] += b


@kernel
def add_narrow(N: NDArray[np.float64], N_narrow: Floats, increment: Floats, decay: float) -> None:
    """``N <- decay N + increment`` in float64, and N_narrow follows."""
    for i in range(len(N)):
        row, narrow, added = N[i], N_narrow[i], increment[i]
        for j in range(len(row)):
            value = decay * row[j] + added[j]
            row[j] = value
            narrow[j] = value
