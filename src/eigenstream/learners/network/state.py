"""The accumulator form: what a network remembers, and what can be read off it.

    N (k, n)  sum of y x'      respond:  (S + theta I) y = N x
    S (k, k)  sum of y y'      adapt:    N   <- beta^2 N   + s y x'
    theta     the threshold              S   <- beta^2 S   + s y y'
                                         tau <- beta^2 tau + s (r0 + r1 |x|^2 + r2 |y|^2)
                                         theta = alpha tau + theta0

All are sums over samples of weight s, discounted by ``beta^2`` a sample; ``theta0`` is the decaying part of
the start. It is the network of `eigenstream.network` in other variables: ``mu_i = S_ii + theta``,
``W_yx = N / mu`` and ``W_yy = S / mu`` off the diagonal.

The last few samples wait in ``X_recent`` and ``Y_recent`` and enter N together: that spares traffic through
N, the largest array, and lets float32 streams add up in float64 at little cost.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...array_types import Floats as Floats
from ...regularizers import Regularizer
from ..compiled import kernel

Matrix = TypeVar("Matrix", bound=Floats)

# Samples. Four of them share one pass over N, the largest array, and the loops are written out for four.
RECENT = 4
"""Samples that wait before they enter N; it must divide every block size."""

THETA0, TAU, COUNT, TRACE, DECAY = range(5)
TIME, WAITING = range(2)
WEIGHT, EXTRA = range(2)
"""Columns of the rows' weights: what a row counts, and what is added to its squared length."""


class NetworkRule(NamedTuple):
    """Rule of learning of a network: regularizer as numbers, forgetting, centering, spontaneous activity."""

    alpha: float
    r0: float
    r1: float
    r2: float
    beta2: float
    center: bool
    noise: float
    """Spontaneous activity as a share of the input's root mean square."""
    seed: int

    @classmethod
    def of(
        cls,
        regularizer: Regularizer,
        beta: float = 1.0,
        *,
        center: bool = False,
        noise: float = 0.0,
        seed: int = 0,
    ) -> NetworkRule:
        """The rule of a regularizer, typed as the kernels expect it."""
        return cls(
            float(regularizer.alpha),
            *regularizer.increment,
            float(beta) ** 2,
            bool(center),
            float(noise),
            int(seed),
        )


class State(NamedTuple):
    """Everything a network remembers; the kernels change it in place."""

    N: NDArray[np.float64]
    """Sum of y x' without the samples that wait (k, n)."""
    N_narrow: Floats
    """N in the precision of the data, which may be narrower: N itself for float64."""
    S: NDArray[np.float64]
    """Sum of y y' (k, k)."""
    X_recent: Floats
    """Samples that wait, as learnt: centered and scaled (RECENT, n)."""
    Y_recent: Floats
    """Their outputs, weighted and discounted up to now; zero where none waits (RECENT, k)."""
    mean: NDArray[np.float64]
    """Discounted mean of the input (n)."""
    totals: NDArray[np.float64]
    """theta0, tau, effective count, trace of the input scatter, and how much N has to decay yet."""
    clock: NDArray[np.int64]
    """Samples seen, and how many of them wait."""

    def copy(self) -> State:
        """The same state in memory of its own."""
        copies: list[Any] = [aligned(array) for array in self]
        if self.N_narrow.dtype == self.N.dtype:
            copies[1] = copies[0]
        return State(*copies)


APART = 1024
"""Bytes between arrays that a loop works on together.

Whether a vector loop may run is checked at run time, by how far apart its arrays *start*: short ones that
happen to lie close together would go through the scalar loop, which rounds differently.
"""


def aligned(array: Any, dtype: Any = None) -> Any:
    """A copy, apart from others, that starts on a cache line: wide loads are up to twice as fast there."""
    array = np.asarray(array, dtype)
    room = np.empty(array.nbytes + 64 + 2 * APART, dtype=np.uint8)
    start = APART + -(room.ctypes.data + APART) % 64
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def new_state(N: Floats, S: NDArray[np.float64], theta0: float, dtype: Any = np.float64) -> State:
    """A state at time 0 with these sums and this initial threshold."""
    k, n = N.shape
    master = aligned(N, np.float64)
    totals = np.zeros(5)
    totals[THETA0], totals[DECAY] = theta0, 1.0
    return State(
        N=master,
        N_narrow=master if np.dtype(dtype) == np.float64 else aligned(N, dtype),
        S=aligned(S, np.float64),
        X_recent=aligned(np.zeros((RECENT, n)), dtype),
        Y_recent=aligned(np.zeros((RECENT, k)), dtype),
        mean=aligned(np.zeros(n)),
        totals=totals,
        clock=np.zeros(2, dtype=np.int64),
    )


def with_sums(state: State, N: Floats, S: NDArray[np.float64]) -> State:
    """The same moment of the same stream with other sums N and S; nothing waits."""
    fresh = new_state(N, S, float(state.totals[THETA0]), state.N_narrow.dtype)
    fresh.mean[:] = state.mean
    fresh.totals[:DECAY] = state.totals[:DECAY]
    fresh.clock[TIME] = state.clock[TIME]
    return fresh


@kernel
def workspace(like: Matrix, rows: int, columns: int) -> Matrix:
    """An empty matrix of the same type, apart from others."""
    margin = APART // like.itemsize
    room = np.empty(rows * columns + 2 * margin, like.dtype)
    return room[margin:-margin].reshape(rows, columns)  # type: ignore[return-value]


@kernel
def threshold(state: State, rule: NetworkRule) -> float:
    """theta, the threshold in the units of the sums."""
    return float(rule.alpha * state.totals[TAU] + state.totals[THETA0])


def input_output_sum(state: State) -> NDArray[np.float64]:
    """N with the samples that still wait."""
    waiting = state.Y_recent.T.astype(np.float64) @ state.X_recent.astype(np.float64)
    return np.asarray(state.totals[DECAY] * state.N + waiting)


class Weights(NamedTuple):
    """The network's own view: what `eigenstream.network.HebbianNetwork` holds."""

    W_yx: NDArray[np.float64]
    W_yy: NDArray[np.float64]
    mu: NDArray[np.float64]


def to_weights(state: State, rule: NetworkRule) -> Weights:
    """The weights of the network this state stands for."""
    mu = np.diag(state.S) + threshold(state, rule)
    rate = np.divide(1, mu, out=np.zeros_like(mu), where=mu > 0)[:, None]
    W_yy = rate * state.S
    np.fill_diagonal(W_yy, 0)
    return Weights(rate * input_output_sum(state), W_yy, mu)


def response_filter(state: State, rule: NetworkRule) -> NDArray[np.float64]:
    """F = (S + theta I)^-1 N: what the network does to its input."""
    k = len(state.S)
    M = state.S + threshold(state, rule) * np.eye(k)
    return np.asarray(np.linalg.solve(M, input_output_sum(state)), dtype=np.float64)


class Spectrum(NamedTuple):
    """Input eigenvalues (sums over samples, largest first) and their axes as rows."""

    lam: NDArray[np.float64]
    U: NDArray[np.float64]


def read_spectrum(state: State) -> Spectrum:
    """The input spectrum as far as the network knows it; it never overestimates.

    ``N' S^-1 N <= X'X``, with equality where the outputs span the mode. With ``S = V diag(d) V'`` and
    ``L = diag(d)^(-1/2) V' N``, the eigenvalues of the k x k matrix ``L L'`` are those of ``N' S^-1 N``.
    Directions without variance are left out, so there may be fewer than k.
    """
    N = input_output_sum(state)
    d, V = np.linalg.eigh(state.S)
    # What falls below rounding in S would be amplified into N's rounding.
    rounding = float(np.finfo(state.N_narrow.dtype).eps)
    whiten = (V / np.sqrt(np.maximum(d, max(rounding * d[-1], np.finfo(np.float64).tiny)))).T
    # L first: products of N with itself would lose what whitening then amplifies, by 1e12 for dead modes.
    L = whiten @ N
    lam, P = np.linalg.eigh(L @ L.T)
    known = lam > rounding * max(lam[-1], 0.0)
    lam, P = lam[known][::-1], P[:, known][:, ::-1]
    return Spectrum(lam, (P / np.sqrt(lam)).T @ L)
