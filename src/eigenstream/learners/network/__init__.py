"""The paper's networks in accumulator form, compiled: arrays in, arrays out.

`state` says what a network remembers, `optimum` how one starts; `stream` and `block` are two exact drivers
over one state, and `learn` picks between them by size. `learner.NetworkLearner` follows a stream with them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .block import learn_block
from .state import TIME, Floats, NetworkRule, State
from .stream import learn_rows

# Rows. As many as a block of the other learners has; `RECENT` divides it.
BLOCK = 64
"""Rows a block; blocks start at multiples of it in absolute sample count."""


def learn(
    state: State, rule: NetworkRule, X: Floats, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Learn from the rows of X in order, in place; returns the network's responses (T, k).

    How a stream is cut into calls does not matter: bit for bit where `stream` runs, to rounding where `block`
    does.

    Parameters
    ----------
    state, rule
        What the network remembers, and how it learns.
    X
        Rows, C-contiguous, finite and of the state's dtype.
    weights
        For each row its weight, and what is added to its squared length before that enters the threshold
        and the trace (rows with entries filled in lack the noise of what is missing); 1 and 0 if None.
    """
    T, k = len(X), len(state.S)
    if weights is None:
        weights = np.tile([1.0, 0.0], (T, 1))
    Y = np.empty((T, k))
    if not _is_wide(state, rule):
        learn_rows(state, rule, X, weights, Y)
        return Y
    head = min(-int(state.clock[TIME]) % BLOCK, T)
    tail = head + (T - head) // BLOCK * BLOCK
    learn_rows(state, rule, X[:head], weights[:head], Y[:head])
    for start in range(head, tail, BLOCK):
        rows = slice(start, start + BLOCK)
        learn_block(state, rule, X[rows], weights[rows], Y[rows])
    learn_rows(state, rule, X[tail:], weights[tail:], Y[tail:])
    return Y


def _is_wide(state: State, rule: NetworkRule) -> bool:
    """True if matrix products beat the loop: once N outgrows the cache and there are rows enough to share it.

    Measured on one core: float64 from n k = 2^21 on, float32 from 2^18 on, both with k >= 32. Within a block
    outputs are divided by their discount, which must not underflow.
    """
    k, n = state.N.shape
    enough = 2**21 if state.N_narrow is state.N else 2**18
    return k >= 32 and n * k >= enough and rule.beta2**BLOCK > 1e-100
