"""Section V: discounted costs as printed and as meant, learning rates, and how fast the past is forgotten.

Only the newest row and column of the discounted matrices depend on ``y_T``; with weights ``b_t`` they hold
``b_t b_T (x_t . x_T - y_t . y_T)``, and the regularizer's term stands on the diagonal if it multiplies the
identity, everywhere if it is a scalar subtracted from a matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from ....network import HebbianNetwork
from ....regularizers import InputOutput, Regularizer
from ....streams import Batches, colored_gaussian
from ...reproduction.item import Claim, Table
from .. import experiment
from ..experiment import KINDS, Array
from ..texts import texts_of
from .online import slope

*_, claim = texts_of("derivations")

# Windows of 5 to 100 samples: the claim is about the limit of long ones.
BETAS = (0.9, 0.97, 0.99, 0.995)
"""Discounts per sample."""
SMALL_SPECTRUM = (6.0, 4.0, 2.0, 0.2, 0.2, 0.2)
N_OUTPUTS = 3
SMALL = experiment.Setup(k=N_OUTPUTS)
NEWEST = 25
"""Number of last samples that are solved for."""
# That of the sudden change, Fig. 6.
BETA = 0.995
"""Discount at which learning rates and time scales are measured."""


def measure(n_samples: int, seed: int) -> Table:
    return {
        "windows": [1 / (1 - beta**2) for beta in BETAS],
        "readings": {name: _readings(KINDS[name], seed) for name in KINDS},
        "rates": {name: _learning_rates(name, n_samples, seed) for name in KINDS},
        "time_scale": _time_scale(seed),
    }


def _readings(kind: type[Regularizer], seed: int) -> dict[str, list[float]]:
    """Distances, by beta, of the minimizer of each reading of the cost from the network's output.

    The input's axes change halfway, so that it matters which samples count most.
    """
    regularizer = kind.for_threshold(SMALL_SPECTRUM, 1.0)
    found: dict[str, list[float]] = {"meant": [], "scalar": [], "order": []}
    for beta in BETAS:
        half = int(8 / (1 - beta**2))
        rng = np.random.default_rng(seed)
        X = np.vstack([*_small_stream(half, rng), *_small_stream(half, rng)])
        Y = experiment.run("engine", regularizer, X, [len(X)], seed=seed, beta=beta, setup=SMALL).Y
        newest = range(len(X) - NEWEST + 1, len(X) + 1)
        for reading, distances in found.items():
            away = [_difference(regularizer, X[:t], Y[:t], beta, reading) for t in newest]
            distances.append(float(np.linalg.norm(away) / np.linalg.norm(Y[-NEWEST:])))
    return found


def _small_stream(n_samples: int, rng: np.random.Generator) -> Batches:
    """Rows with the small spectrum, along axes of their own."""
    return colored_gaussian(SMALL_SPECTRUM, n_samples, random_state=rng)


def _difference(regularizer: Regularizer, X: Array, Y: Array, beta: float, reading: str) -> Array:
    """The minimizer of the cost less the network's output."""
    cost = _newest_cost(regularizer, X, Y, beta, reading)
    exact: Any = {"gtol": 1e-10, "maxiter": 500}
    return np.asarray(minimize(cost, Y[-1], method="BFGS", options=exact).x - Y[-1], dtype=np.float64)


def _newest_cost(
    regularizer: Regularizer, X: Array, Y: Array, beta: float, reading: str
) -> Callable[[Array], float]:
    """The discounted cost's part that depends on the newest output, in one of its readings."""
    r0, r1, r2 = regularizer.increment
    alpha, T = regularizer.alpha, len(X)
    age = np.arange(T - 1, -1, -1.0)
    b = beta ** (age[::-1] if reading == "order" else age)
    theta = alpha * (r0 * float(np.sum(b**2)) + r1 * float(np.sum((b[:, None] * X) ** 2)))
    past_power = float(np.sum((b[:-1, None] * Y[:-1]) ** 2))
    similarity, past_y, weight = X @ X[-1], Y[:-1], b * b[-1]
    spread = theta if reading == "scalar" else 0.0
    # Differences from y = 0, in units of their size: otherwise constants would drown what depends on y.
    unit = float(weight[-1]) * (theta + past_power)

    def cost(y: Array) -> float:
        column = weight[:-1] * (similarity[:-1] - past_y @ y)
        corner = weight[-1] * (similarity[-1] - y @ y)
        power = weight[-1] * (y @ y)
        penalty = alpha * power * (2 * past_power + power) if r2 else 0.0
        return float(2 * column @ (column - 2 * spread) + corner * (corner - 2 * theta) + penalty) / unit

    return cost


def _learning_rates(name: str, n_samples: int, seed: int) -> Table:
    """The mean of 1 / mu over the outputs as T grows, with forgetting and without."""
    times = experiment.growing_times(n_samples, a_decade=8)
    X = experiment.stationary(n_samples, seed)
    found: Table = {"times": times}
    for label, beta in (("forgetting", BETA), ("never", 1.0)):
        network = experiment.Engine(
            experiment.chosen_regularizer(name),
            experiment.N_INPUTS,
            experiment.DEFAULT,
            experiment.weights_generator(seed),
            beta=beta,
        )
        rates, before = [], 0
        for T in times:
            network.run(X[before:T])
            rates.append(float(np.mean(1 / network.mu)))
            before = T
        found[label] = rates
    return found


def _time_scale(seed: int) -> Table:
    """Number of silent samples until a network's cumulative activity has fallen to 1/e."""
    network = HebbianNetwork(6, N_OUTPUTS, InputOutput(0.1), beta=BETA, random_state=seed)
    start, steps = network.mu.copy(), 0
    while float(np.max(network.mu / start)) > math.exp(-1):
        network.step(np.zeros(6))
        steps += 1
    return {"printed": -1 / math.log(BETA), "corrected": -0.5 / math.log(BETA), "measured": steps}


def claims(table: Table) -> list[Claim]:
    found: list[Claim] = []
    for name in KINDS:
        found += [*_reading_claims(name, table), _rate_claim(name, table["rates"][name])]
    return [*found, _time_scale_claim(table["time_scale"])]


def _reading_claims(name: str, table: Table) -> list[Claim]:
    readings, windows = table["readings"][name], table["windows"]
    meant = readings["meant"]
    steepness = slope(windows, meant)
    right = meant[-1] < 0.05 and -1.6 < steepness < -0.5
    found = [
        claim(
            "rules",
            f"{meant[0]:.3f} falls to {meant[-1]:.4f} (relative), like the window to the power "
            f"{steepness:.2f}",
            right,
            name=name,
            shortest=windows[0],
            longest=windows[-1],
        )
    ]
    for reading in ("scalar", "order"):
        if reading == "scalar" and name == "squared-output":
            continue  # its cost subtracts nothing
        found.append(
            claim(
                f"cost-{reading}",
                f"{readings[reading][-1]:.3f} as printed, {meant[-1]:.4f} as meant (relative)",
                readings[reading][-1] < 0.03,
                right,
                name=name,
                longest=windows[-1],
            )
        )
    return found


def _rate_claim(name: str, rates: Table) -> Claim:
    times = np.array(rates["times"])
    late = times >= times[-1] / 4
    fixed, falling = (np.array(rates[label])[late] for label in ("forgetting", "never"))
    steepness = slope(times[late].tolist(), falling.tolist())
    return claim(
        "rates",
        f"varies by {np.ptp(fixed) / fixed.mean():.0%} around {fixed.mean():.2g} with forgetting; falls like "
        f"T^({steepness:.2f}) without",
        bool(np.ptp(fixed) < 0.5 * fixed.mean()) and -1.2 < steepness < -0.8,
        name=name,
        first=times[late][0],
        last=times[-1],
        beta=BETA,
    )


def _time_scale_claim(found: Table) -> Claim:
    measured = found["measured"]
    return claim(
        "time-scale",
        f"{measured}; -1/ln β is {found['printed']:.0f}, -1/(2 ln β) is {found['corrected']:.0f}",
        abs(measured - found["printed"]) < 2,
        abs(measured - found["corrected"]) < 2,
        beta=BETA,
    )
