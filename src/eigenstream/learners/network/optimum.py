"""States at their optimum: the random start, the closed-form start and consolidation.

Everything that builds a state goes through `at_optimum`, so that a state's spectrum reads right from the
first sample on and no mode can ever die.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...offline import spectrum
from ...orthonormal import orthogonal_complement, random_orthonormal
from ...regularizers import Regularizer
from ..knowledge import Knowledge
from .state import (
    COUNT,
    TAU,
    THETA0,
    TRACE,
    Floats,
    NetworkRule,
    State,
    new_state,
    read_spectrum,
    threshold,
    with_sums,
)

# A share. A mode with no output at all could never grow again. What this adds to a reading is below
# `seeded_variance`, which decisions leave out.
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
        extra = orthogonal_complement(U, random_orthonormal(U.shape[1], missing, rng))
        U, lam = np.vstack((U, extra)), np.concatenate((lam, np.full(missing, fill)))
    d = np.maximum(lam - theta, FLOOR * lam)
    return np.asarray(np.sqrt(lam * d)[:, None] * U), np.asarray(np.diag(d))


def random_start(n: int, k: int, activity: float, rng: np.random.Generator, dtype: Any = np.float64) -> State:
    """The paper's start: random feed-forward weights, no lateral ones, cumulative activity ``activity``.

    Equal to a new `eigenstream.network.HebbianNetwork` with this ``initial_activity``: half of it is
    threshold, half output. It should be of the order of the first samples' squared length.
    """
    theta0 = activity / 2
    N, S = at_optimum(np.zeros((0, n)), np.zeros(0), theta0, k, activity, rng)
    return new_state(N, S, theta0, dtype)


def known_from_rows(
    X: Floats, k: int, rule: NetworkRule, weights: NDArray[np.float64] | None = None
) -> Knowledge:
    """All there is to know of these rows, discounted as the rule forgets: the closed form.

    ``weights`` holds the weight of each row and what is added to its squared length, 1 and 0 if None; not all
    weights may be zero.
    """
    T, n = X.shape
    weight, extra = (np.tile([1.0, 0.0], (T, 1)) if weights is None else weights).T
    weight = weight * rule.beta2 ** np.arange(T - 1, -1, -1.0)
    count, mean = float(weight.sum()), np.zeros(n)
    if rule.center:
        # Relative to a row, so that what is constant vanishes exactly.
        mean = X[0] + weight @ (X - X[0]).astype(np.float64) / count
        X = X - mean.astype(X.dtype)
    spread, U = spectrum(X, min(k, T), sample_weight=weight)
    lam = count * spread[: len(U)].astype(np.float64)
    trace = float(weight @ (np.einsum("ij,ij->i", X, X, dtype=np.float64) + extra))
    known = lam > float(np.finfo(X.dtype).eps) * n * lam[0]
    return Knowledge(lam[known], U[known].astype(np.float64), count, trace, mean)


def known_from_state(state: State) -> Knowledge:
    """Knowledge of a network."""
    lam, U = read_spectrum(state)
    return Knowledge(lam, U, float(state.totals[COUNT]), float(state.totals[TRACE]), state.mean)


def optimal_threshold(known: Knowledge, regularizer: Regularizer) -> float:
    """theta at the optimum, in the units of the sums."""
    lam = -np.sort(-known.lam)  # near ties may be kept in another order
    return regularizer.threshold_from(lam, known.trace, n_samples=known.effective)


def start_from(
    known: Knowledge,
    k: int,
    regularizer: Regularizer,
    rule: NetworkRule,
    rng: np.random.Generator,
    dtype: Any,
) -> State:
    """A state at the optimum of what is known: the closed-form start. Its clock has to be set.

    Where nothing varies there is no direction to start from, and the state is silent for good: wait instead.
    """
    theta = optimal_threshold(known, regularizer)
    N, S = at_optimum(known.U, known.lam, theta, k, _seed_eigenvalue(known, theta), rng)
    state = new_state(N, S, 0.0, dtype)
    state.mean[:] = known.mean
    first = known._replace(lam=known.lam[:k])
    state.totals[[TAU, COUNT, TRACE]] = _closed_form_tau(first, theta, rule), known.effective, known.trace
    return state


def consolidate(state: State, regularizer: Regularizer, rule: NetworkRule, rng: np.random.Generator) -> State:
    """The same knowledge at its optimum: outputs from before the filter had converged are forgotten."""
    known = known_from_state(state)
    # A threshold that is measured by the outputs changes here, because they do.
    theta = optimal_threshold(known, regularizer) if rule.r2 else threshold(state, rule)
    N, S = at_optimum(known.U, known.lam, theta, len(state.S), _seed_eigenvalue(known, theta), rng)
    settled = with_sums(state, N, S)
    if rule.r2:
        settled.totals[TAU] = _closed_form_tau(known, theta, rule)
        settled.totals[THETA0] = 0.0
    return settled


def _closed_form_tau(known: Knowledge, theta: float, rule: NetworkRule) -> float:
    """tau at the optimum: samples, input power and output power, mixed as the regularizer does."""
    output = float(np.maximum(known.lam - theta, 0).sum())
    return rule.r0 * known.effective + rule.r1 * known.trace + rule.r2 * output


def seeded_variance(theta: float, total: float, n: int) -> float:
    """Variances up to this level may be those of directions that a start has filled in, not the input's.

    All per sample: the threshold, the variance of the input, and the result.
    """
    return 2 * FLOOR * max(theta, FLOOR * total / n)


def _seed_eigenvalue(known: Knowledge, theta: float) -> float:
    """Eigenvalue that unknown directions start with: little beside the threshold, and never nothing."""
    return FLOOR * max(theta, FLOOR * known.trace / known.mean.size)
