"""Saddle points of the networks with interneurons, searched for without their closed forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize

from .... import offline
from ....regularizers import InputOutput, Regularizer, ScaleDependent
from ...reproduction.item import Claim, Table
from ..drawing import LOOKS, Axes
from ..experiment import Array
from ..texts import texts_of

*_, claim = texts_of("relatives")

T, N, K, GAMMA = 12, 5, 4, 1.5
SPREAD = (3.0, 2.5, 2.0, 1.0, 0.4)
REGULARIZERS = {"scale-dependent": ScaleDependent(1.5), "input-output": InputOutput(0.12)}
STEPS, SHOWN = 1_000_000, 56
"""Most extragradient steps, and at how many of them the distance is noted. A mode close to the threshold
turns around the saddle for long: steps of size h damp it by about h² gamma (lam - theta) each."""
SMALL = 1e-9
"""Slope, relative to the input's power, at which the search ends."""


def slopes(form: str, X: Array, Y: Array, Z: Array, theta: float, goal: float) -> tuple[Array, Array]:
    """Derivatives of the cost by Y and by Z, over 2; theta and goal in sums over samples."""
    by_y = (Z @ Z.T - X @ X.T) @ Y + theta * Y
    if form == "hard":
        return 2 * by_y, 2 * ((Y @ Y.T - Z @ Z.T) @ Z - theta * Z)
    return by_y, Y @ (Y.T @ Z) - goal * Z


def measure(seed: int) -> Table:
    rng = np.random.default_rng([seed, 2])
    X = rng.standard_normal((T, N)) * SPREAD
    return {
        name: {"hard": _hard(X, r, rng), "equalizing": _equalizing(X, r, rng)}
        for name, r in REGULARIZERS.items()
    }


def _sums(X: Array, regularizer: Regularizer) -> float:
    """The threshold's measure in sums over samples."""
    r0, r1, _ = regularizer.increment
    return r0 * len(X) + r1 * float(np.sum(X**2))


def _hard(X: Array, regularizer: Regularizer, rng: np.random.Generator) -> Table:
    """Search the outer minimum, the inner maximum being known for any Y, from three random starts."""
    theta = regularizer.alpha * _sums(X, regularizer)

    def outer(flat: Array) -> tuple[float, Array]:
        Y = flat.reshape(T, K)
        lam, V = np.linalg.eigh(Y.T @ Y)
        Z = Y @ (V * np.sqrt(np.maximum(lam - theta, 0) / np.maximum(lam, 1e-300)))
        return offline.cost_hard(X, Y, Z, regularizer), 2 * slopes("hard", X, Y, Z, theta, 0.0)[0].ravel()

    exact: Any = {"maxiter": 3000, "ftol": 1e-15, "gtol": 1e-10}
    found = min(
        (
            minimize(outer, rng.standard_normal(T * K), jac=True, method="L-BFGS-B", options=exact)
            for _ in range(3)
        ),
        key=lambda result: float(result.fun),
    )
    best = offline.solve_hard(X, regularizer, K)
    cost = offline.cost_hard(X, best.Y, best.Z, regularizer)
    Y = found.x.reshape(T, K)
    return {
        "cost": abs(float(found.fun) / cost - 1),
        "output": _distance(Y, np.asarray(best.Y, dtype=np.float64)),
    }


def _equalizing(X: Array, regularizer: Regularizer, rng: np.random.Generator) -> Table:
    """Descend in Y and ascend in Z by extragradient steps from a random start."""
    measured = _sums(X, regularizer)
    gamma = GAMMA if regularizer.increment[0] else GAMMA * T / measured
    theta, goal = regularizer.alpha * measured, gamma * measured
    best = np.asarray(offline.solve_equalizing(X, regularizer, gamma, K).Y, dtype=np.float64)
    Y, Z = (rng.standard_normal((T, K)) for _ in range(2))
    rate, course = 0.4 / float(np.sum(X**2)), []
    noted = set(np.geomspace(1, STEPS, SHOWN).round().astype(int).tolist())
    for step in range(1, STEPS + 1):
        by_y, by_z = slopes("equalizing", X, Y, Z, theta, goal)
        ahead_y, ahead_z = slopes("equalizing", X, Y - rate * by_y, Z + rate * by_z, theta, goal)
        Y, Z = Y - rate * ahead_y, Z + rate * ahead_z
        ended = step % 1000 == 0 and max(np.abs(by_y).max(), np.abs(by_z).max()) * rate < 0.4 * SMALL
        if step in noted or ended:
            course.append([step, _distance(Y, best)])
        if ended:
            break
    return {"output": course[-1][1], "course": course}


def _distance(Y: Array, best: Array) -> float:
    """Relative distance of two outputs, whichever way they are rotated."""
    return float(np.linalg.norm(Y @ Y.T - best @ best.T) / np.linalg.norm(best @ best.T))


def draw(axis: Axes, tables: Sequence[Table]) -> str:
    for name in REGULARIZERS:
        for i, table in enumerate(tables):
            steps, away = np.array(table[name]["equalizing"]["course"]).T
            axis.plot(steps, away, color=LOOKS[name].color, lw=1, label=None if i else f"equalizing, {name}")
    axis.set(xscale="log", yscale="log", xlabel="extragradient steps")
    axis.set_ylabel("distance from the closed form")
    axis.legend(frameon=False, fontsize=6, loc="lower left")
    return "search for the saddle"


def claims(tables: Sequence[Table]) -> list[Claim]:
    hard = [t[name]["hard"] for t in tables for name in REGULARIZERS]
    equalizing = [t[name]["equalizing"]["output"] for t in tables for name in REGULARIZERS]
    cost, output = (max(found[key] for found in hard) for key in ("cost", "output"))
    value = (
        f"hard: cost to {cost:.0e}, outputs to {output:.0e}; equalizing: outputs to {max(equalizing):.0e} "
        f"({len(hard)} searches each, relative)"
    )
    return [claim("saddle", value, cost < 1e-6 and output < 1e-2 and max(equalizing) < 1e-5)]
