"""Section IV: the online cost, what is left out of it when T is large, and what the learning rules add up to.

At time T, with the past fixed, the terms that depend on ``y = y_T`` are

    kept      -4 x'N'y + 2 y'(S + theta I) y        N = sum of y_t x_t', S = sum of y_t y_t', t < T
    left out  -2 |x|^2 |y|^2 + |y|^4                (R_YY: also alpha |y|^4, its simplification)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....network import HebbianNetwork
from ....regularizers import Regularizer
from ...reproduction.item import Claim, Table
from .. import experiment
from ..experiment import KINDS, Array
from ..texts import texts_of

*_, claim = texts_of("derivations")

AROUND = 20
"""Samples around each T over which the median is taken."""


class Online(NamedTuple):
    """The online problem at one time."""

    N: Array
    S: Array
    theta: float
    x: Array
    trace: float
    """Sum of |y_t|^2 over the past."""


def measure_large_t(n_samples: int, seed: int) -> Table:
    return {name: _along_the_stream(experiment.chosen_regularizer(name), n_samples, seed) for name in KINDS}


def _along_the_stream(regularizer: Regularizer, n_samples: int, seed: int) -> Table:
    times = [T for T in experiment.growing_times(n_samples, first=100, a_decade=6) if T > AROUND]
    X = experiment.stationary(n_samples + AROUND, seed)
    Y = experiment.run("engine", regularizer, X, [len(X)], seed=seed).Y
    rows = [_at(regularizer, X, Y, T) for T in times]
    return {
        "times": times,
        "dropped": [row[0] for row in rows],
        "simplified": [row[1] for row in rows],
        "minimizer": [row[2] for row in rows],
        "lag": [row[3] for row in rows],
        "expansion": _expansion_spread(regularizer, X, Y, seed),
    }


def _at(regularizer: Regularizer, X: Array, Y: Array, T: int) -> tuple[float, ...]:
    """Medians around T: terms left out over terms kept, twice, and two distances.

    They are those of the true minimizer, and of the linear system with the threshold that the printed rules
    have when sample T comes, both from the linear system with the cost's threshold.
    """
    found = []
    r1 = regularizer.increment[1]
    for t in range(T, T + AROUND):
        online, y = _problem(regularizer, X, Y, t), Y[t]
        kept = abs(4 * online.x @ online.N.T @ y) + 2 * y @ online.S @ y + 2 * online.theta * (y @ y)
        dropped = 2 * (online.x @ online.x) * (y @ y) + (y @ y) ** 2
        exact = _minimizer(regularizer, online)
        linear = _solution(online, online.theta)
        behind = regularizer.alpha * r1 * float(online.x @ online.x)
        late = _solution(online, online.theta - behind)
        away, lag = (np.linalg.norm(other - linear) / np.linalg.norm(linear) for other in (exact, late))
        found.append((dropped / kept, (y @ y) / (2 * online.trace), away, lag))
    return tuple(np.median(found, axis=0).tolist())


def _solution(online: Online, theta: float) -> Array:
    """Solution of the linear system, Eq. 16, with this threshold."""
    return np.asarray(np.linalg.solve(online.S + theta * np.eye(len(online.S)), online.N @ online.x))


def _problem(regularizer: Regularizer, X: Array, Y: Array, T: int) -> Online:
    """Sample T (counted from 0) after the samples before it; theta as the costs have it, T included."""
    r0, r1, r2 = regularizer.increment
    past_x, past_y = X[:T], Y[:T]
    trace = float(np.sum(past_y**2))
    theta = regularizer.alpha * (r0 * (T + 1) + r1 * float(np.sum(X[: T + 1] ** 2)) + r2 * trace)
    return Online(past_y.T @ past_x, past_y.T @ past_y, theta, X[T], trace)


def _minimizer(regularizer: Regularizer, online: Online) -> Array:
    """Minimize the whole online cost by Newton's method, from the minimizer of the terms kept."""
    quartic = 1 + regularizer.alpha * regularizer.increment[2]
    one = np.eye(len(online.S))
    M = online.S + (online.theta - online.x @ online.x) * one
    h = online.N @ online.x
    y = np.linalg.solve(online.S + online.theta * one, h)
    for _ in range(8):
        downhill = M @ y - h + quartic * (y @ y) * y
        curvature = M + quartic * ((y @ y) * one + 2 * np.outer(y, y))
        y = y - np.linalg.solve(curvature, downhill)
    return np.asarray(y, dtype=np.float64)


def _expansion_spread(regularizer: Regularizer, X: Array, Y: Array, seed: int) -> float:
    """Variation with y_T of the whole cost less the printed terms, over the cost's own variation."""
    T = 60
    online = _problem(regularizer, X, Y, T)
    rng = np.random.default_rng(seed)
    r2 = regularizer.increment[2]
    whole, terms = [], []
    for size in np.geomspace(0.1, 10, 12):
        y = size * rng.standard_normal(Y.shape[1])
        outputs = np.vstack((Y[:T], y))
        mismatch = X[: T + 1] @ X[: T + 1].T - outputs @ outputs.T
        if r2:
            penalty = regularizer.alpha * np.sum(outputs**2) ** 2
        else:
            mismatch = mismatch - online.theta * np.eye(T + 1)
            penalty = 0.0
        whole.append(float(np.sum(mismatch**2) + penalty))
        kept = -4 * online.x @ online.N.T @ y + 2 * y @ online.S @ y + 2 * online.theta * (y @ y)
        quartic = (1 + regularizer.alpha * r2) * (y @ y) ** 2
        terms.append(float(kept - 2 * (online.x @ online.x) * (y @ y) + quartic))
    return float(np.ptp(np.subtract(whole, terms)) / np.ptp(whole))


def slope(times: list[int], values: list[float]) -> float:
    """Slope of a straight line through the logarithms: -1 where a quantity falls like 1/T."""
    return float(np.polyfit(np.log(times), np.log(values), 1)[0])


def large_t_claims(table: Table) -> list[Claim]:
    found = []
    for name, row in table.items():
        varies, times = row["expansion"], row["times"]
        found += [
            claim(
                "expansion", f"varies by {varies:.0e} of what the cost varies by", varies < 1e-10, name=name
            ),
            claim("dropped", *_fall(row, "dropped", 0.02, 3), name=name, first=times[0], last=times[-1]),
            claim("minimizer", *_fall(row, "minimizer", 0.02, 3), name=name),
        ]
    behind, times = table["input-output"], table["input-output"]["times"]
    words, falls = _fall(behind, "lag", 0.01, 4)
    return [
        *found,
        claim("simplification", *_fall(table["squared-output"], "simplified", 0.01, 4)),
        claim("lag", words, max(behind["lag"]) < 1e-9, falls, first=times[0], last=times[-1]),
    ]


def _fall(row: Table, key: str, least: float, digits: int) -> tuple[str, bool]:
    """Words for a quantity that has to fall like 1/T, to below ``least``, and whether it does."""
    steepness, first, last = slope(row["times"], row[key]), row[key][0], row[key][-1]
    words = f"{first:.{digits}f} falls to {last:.{digits + 2}f}, like T^({steepness:.2f})"
    # Exactly -1 in the limit; over a decade or two the start is still seen in it.
    return words, -1.3 < steepness < -0.7 and last < least


N_OUTPUTS = 8
# Each is learnt in loops over single weights: more would take longer and say the same.
N_SAMPLES = 150
"""Samples that the networks learn."""


def measure_learning(n_samples: int, seed: int) -> Table:
    X = experiment.stationary(N_SAMPLES, seed)
    return {name: _checked(experiment.chosen_regularizer(name), X, seed) for name in KINDS}


def _checked(regularizer: Regularizer, X: Array, seed: int) -> Table:
    network = HebbianNetwork(X.shape[1], N_OUTPUTS, regularizer, tol=1e-12, random_state=seed)
    start = HebbianNetwork(X.shape[1], N_OUTPUTS, regularizer, random_state=seed)
    Y = network.run(X[:-1])
    N, S, theta = _sums(regularizer, X[:-1], Y, start)
    mu = np.diag(S) + theta
    W_yy = S / mu[:, None] * (1 - np.eye(N_OUTPUTS))
    y = network.respond(X[-1])
    residual = (S + theta * np.eye(N_OUTPUTS)) @ y - N @ X[-1]
    zero = HebbianNetwork(X.shape[1], N_OUTPUTS, regularizer, random_state=seed)
    zero.W_yx = np.zeros_like(zero.W_yx)
    return {
        "weights": float(
            max(np.max(np.abs(network.W_yx - N / mu[:, None])), np.max(np.abs(network.W_yy - W_yy)))
        ),
        "residual": float(np.linalg.norm(residual) / np.linalg.norm(N @ X[-1])),
        "section_four": _section_four_gap(regularizer, X, seed),
        "from_zero": float(np.max(np.abs(zero.run(X[:50])))),
        "from_random": float(np.max(np.abs(Y))),
    }


def _sums(regularizer: Regularizer, X: Array, Y: Array, start: HebbianNetwork) -> tuple[Array, Array, float]:
    """Plain sums over the past, with the start as if it had been learnt: mu_1 W_1, half of mu_1 threshold."""
    r0, r1, r2 = regularizer.increment
    mu = start.mu[0]
    added = regularizer.alpha * (r0 * len(X) + r1 * np.sum(X**2) + r2 * np.sum(Y**2))
    N = mu * start.W_yx + Y.T @ X
    S = mu / 2 * np.eye(Y.shape[1]) + Y.T @ Y
    return N, S, float(mu / 2 + added)


def _section_four_gap(regularizer: Regularizer, X: Array, seed: int) -> float:
    """The rules of Section V at beta = 1 against those of Section IV, written out here weight by weight."""
    forgetting = HebbianNetwork(X.shape[1], N_OUTPUTS, regularizer, beta=1.0, random_state=seed)
    plain = HebbianNetwork(X.shape[1], N_OUTPUTS, regularizer, random_state=seed)
    gap = 0.0
    for x in X[:100]:
        y = forgetting.step(x)
        _learn_as_section_four(plain, x, plain.respond(x))
        gap = max(gap, float(np.max(np.abs(plain.W_yx - forgetting.W_yx))))
        gap = max(gap, float(np.max(np.abs(plain.W_yy - forgetting.W_yy))))
    return gap / float(np.max(np.abs(y)))


def _learn_as_section_four(network: HebbianNetwork, x: Array, y: Array) -> None:
    r0, r1, r2 = network.regularizer.increment
    c = network.regularizer.alpha * (r0 + r1 * (x @ x) + r2 * (y @ y))
    for i, y_i in enumerate(y):
        network.mu[i] += c + y_i**2
        network.W_yx[i] += (y_i * x - (c + y_i**2) * network.W_yx[i]) / network.mu[i]
        network.W_yy[i] += (y_i * y - (c + y_i**2) * network.W_yy[i]) / network.mu[i]
        network.W_yy[i, i] = 0


def learning_claims(table: Table) -> list[Claim]:
    found = []
    for name, row in table.items():
        weights, residual, gap = (row[key] for key in ("weights", "residual", "section_four"))
        found += [
            claim("covariances", f"agree to {weights:.0e}", weights < 1e-10, name=name, past=N_SAMPLES - 1),
            claim("fixed-point", f"{residual:.0e} (relative)", residual < 1e-8, name=name),
            claim("without-discount", f"agree to {gap:.0e}", gap < 1e-12, name=name),
        ]
    still = max(row["from_zero"] for row in table.values())
    active = min(row["from_random"] for row in table.values())
    started = f"{still:g} from zero, {active:.1f} from random"
    return [*found, claim("zero-start", started, still == 0 and active > 1)]
