"""States at their optimum: the random start, the closed-form start and consolidation.

Everything that builds a state goes through `at_optimum`, so that a state's spectrum reads right from the
first sample on and no mode can ever die.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..offline import spectrum
from ..regularizers import Regularizer
from ..streams import random_orthonormal
from .state import (
    COUNT,
    TAU,
    THETA0,
    TIME,
    TRACE,
    Floats,
    Rule,
    State,
    new_state,
    read_spectrum,
    threshold,
    with_sums,
)

FLOOR = 1e-2
"""Share of its variance that a mode below the threshold keeps in the state, so that it can come back."""


def at_optimum(
    U: Floats, lam: Floats, theta: float, k: int, fill: float, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """N and S of a network whose outputs are optimal for this input spectrum.

    ``d = max(lam - theta, FLOOR * lam)``, ``N = diag(sqrt(lam d)) U``, ``S = diag(d)``.

    Parameters
    ----------
    U, lam
        Principal axes (rows) and eigenvalues of the input scatter, sums over samples; the first k are used.
    theta
        The threshold, in the same units.
    k
        How many outputs; directions missing from U are drawn at random, orthogonal to the rest.
    fill
        The eigenvalue they get.
    rng
        Where they are drawn from.
    """
    U, lam = np.asarray(U, dtype=np.float64)[:k], np.asarray(lam, dtype=np.float64)[:k]
    missing = k - len(U)
    if missing:
        extra = made_orthogonal(U, random_orthonormal(U.shape[1], missing, rng))
        U, lam = np.vstack((U, extra)), np.concatenate((lam, np.full(missing, fill)))
    d = np.maximum(lam - theta, FLOOR * lam)
    return np.asarray(np.sqrt(lam * d)[:, None] * U), np.asarray(np.diag(d))


def made_orthogonal(U: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Orthonormal rows with the components along U removed."""
    for _ in range(2):  # twice is enough (Kahan and Parlett)
        rows = rows - (rows @ U.T) @ U
    Q, R = np.linalg.qr(rows.T)
    return np.ascontiguousarray((Q * np.sign(np.diag(R))).T)


def random_start(n: int, k: int, activity: float, rng: np.random.Generator, dtype: Any = np.float64) -> State:
    """The paper's start: random feed-forward weights, no lateral ones, cumulative activity ``activity``.

    Equal to a new `eigenstream.network.HebbianNetwork` with this ``initial_activity``: half of it is
    threshold, half output. It should be of the order of the first samples' squared length.
    """
    theta0 = activity / 2
    N, S = at_optimum(np.zeros((0, n)), np.zeros(0), theta0, k, activity, rng)
    return new_state(N, S, theta0, dtype)


def closed_form_start(
    X: Floats,
    k: int,
    regularizer: Regularizer,
    rule: Rule,
    rng: np.random.Generator,
    sample_weight: Floats | None = None,
    power_factor: Floats | None = None,
) -> State:
    """The state at the offline optimum of the first rows, discounted as the rule forgets.

    Where nothing varies there is no direction to start from, and the state is silent for good: wait instead.
    """
    T, n = X.shape
    given = np.ones(T) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    weights = given * rule.beta2 ** np.arange(T - 1, -1, -1.0)
    count = float(weights.sum())
    mean = np.zeros(n)
    if rule.center:
        mean = weights @ X.astype(np.float64) / count
        X = X - mean.astype(X.dtype)
    lam, U = spectrum(X, min(k, T), sample_weight=weights)
    seen = lam > np.finfo(X.dtype).eps * n * lam[0]
    lam64 = np.asarray(lam, dtype=np.float64)
    trace = count * float(lam64.sum())
    if power_factor is not None:
        powers = np.einsum("ij,ij->i", X, X, dtype=np.float64)
        trace = float(weights @ (powers * power_factor))
    theta = optimal_threshold(count * lam64[: len(U)], count, trace, regularizer, rule)
    output = float(np.maximum(count * lam64[: len(U)] - theta, 0).sum())
    kept = min(len(U), int(seen.sum()))
    N, S = at_optimum(U[:kept], count * lam64[:kept], theta, k, FLOOR * max(theta, FLOOR * trace / n), rng)
    state = new_state(N, S, 0.0, X.dtype)
    state.mean[:] = mean
    state.numbers[[TAU, COUNT, TRACE]] = rule.r0 * count + rule.r1 * trace + rule.r2 * output, count, trace
    state.clock[TIME] = T
    return state


def optimal_threshold(lam: Floats, count: float, trace: float, regularizer: Regularizer, rule: Rule) -> float:
    """theta at the optimum, in the units of the sums, from the leading eigenvalues and the trace."""
    if rule.r2:
        return regularizer.threshold(lam) if len(lam) else 0.0
    return rule.alpha * (rule.r0 * count + rule.r1 * trace)


def consolidate(state: State, regularizer: Regularizer, rule: Rule, rng: np.random.Generator) -> State:
    """The same knowledge at its optimum: outputs from before the filter had converged are forgotten."""
    k, n = state.N.shape
    lam, U = read_spectrum(state)
    theta = threshold(state, rule)
    if rule.r2:
        # R_YY measures its threshold by the outputs, which change here.
        theta = optimal_threshold(lam, state.numbers[COUNT], state.numbers[TRACE], regularizer, rule)
    N, S = at_optimum(U, lam, theta, k, FLOOR * max(theta, FLOOR * state.numbers[TRACE] / n), rng)
    settled = with_sums(state, N, S)
    if rule.r2:
        settled.numbers[TAU] = float(np.maximum(lam - theta, 0).sum())
        settled.numbers[THETA0] = 0.0
    return settled
