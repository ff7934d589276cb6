"""Settling of the activity, and bounds on eta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import theory
from ....network import ConvergenceError, EqualizingNetwork, HebbianNetwork, LocalNetwork
from ....regularizers import InputOutput, ScaleDependent
from ...reproduction.item import Claim, Table
from .. import experiment
from ..drawing import DARK, LOOKS, MIDDLE, Axes
from ..experiment import Array
from ..texts import texts_of
from .growth import Row, row

*_, claim = texts_of("theory")

SIZES = (4, 8, 20, 40)
"""Numbers of outputs."""
LEARNT = 150
THRESHOLD = 3.0


def measure(seed: int) -> Table:
    """Least eta at which networks do not settle, by bisection and by theory."""
    X = experiment.stationary(LEARNT + 1, seed)
    found = {}
    for k in SIZES:
        network = HebbianNetwork(64, k, experiment.chosen_regularizer("input-output"), **_options(seed))
        network.run(X[:LEARNT])
        A = np.eye(k) + network.W_yy
        found[f"k = {k}"] = [theory.jacobi_bound(A), _largest_eta(network, X[-1])]
    threshold = InputOutput.for_threshold(experiment.SPECTRUM, THRESHOLD)
    other = EqualizingNetwork(64, 6, threshold, ScaleDependent(1.0), **_options(seed)).start_from(X[:LEARNT])
    lam = float(np.linalg.eigvalsh(X[:LEARNT].T @ X[:LEARNT] / LEARNT)[-1])
    trace = float(np.sum(X[:LEARNT] ** 2)) / LEARNT
    bound = 2 * threshold.alpha * trace / lam
    return {"bounds": found | {"equalizing": [bound, _largest_eta(other, X[-1])]}}


def _options(seed: int) -> dict[str, Any]:
    return {"settling": "fixed-point", "random_state": seed}


def _largest_eta(network: LocalNetwork, x: Array) -> float:
    """Bisect between an eta at which the activity settles and one at which it does not, to a hundredth."""
    network.settling, network.tol, network.max_iter = "jacobi", 1e-6, 4_000
    low, high = 0.0, 2.5
    while high - low > 0.005 * high:
        network.eta = (low + high) / 2
        try:
            network.respond(x)
            low = network.eta
        except ConvergenceError:
            high = network.eta
    return (low + high) / 2


def _bounds(tables: Sequence[Table]) -> list[tuple[str, float, float]]:
    return [
        (case, *(float(v) for v in np.median([t["bounds"][case] for t in tables], axis=0)))
        for case in tables[0]["bounds"]
    ]


def rows(tables: Sequence[Table]) -> list[Row]:
    return [row("largest eta that settles", case, *pair) for case, *pair in _bounds(tables)]


def draw(axis: Axes, tables: Sequence[Table]) -> str:
    found = {case: pair for case, *pair in _bounds(tables)}
    predicted, measured = zip(*(found[f"k = {k}"] for k in SIZES), strict=True)
    axis.plot(
        SIZES, predicted, "-", color=LOOKS["input-output"].color, lw=1.2, label="2 / largest eigenvalue"
    )
    axis.plot(SIZES, measured, "o", color=DARK, ms=4, label="measured")
    axis.plot(SIZES, [2 / k for k in SIZES], ":", color=MIDDLE, label="2 / k, always enough")
    p, m = found["equalizing"]
    axis.plot([6], [p], "^", color=LOOKS["scale-dependent"].color, ms=6, label="equalizing: 2 θ / λ₁")
    axis.plot([6], [m], "^", color=DARK, ms=3)
    axis.set(xscale="log", yscale="log", xlabel="outputs k", ylabel="largest η that settles")
    axis.set_xticks(SIZES, [str(k) for k in SIZES])
    axis.set_xticks([], minor=True)
    axis.legend(frameon=False, fontsize=6)
    return "bounds on η"


def claims(tables: Sequence[Table]) -> list[Claim]:
    found = _bounds(tables)
    value = "; ".join(f"{case}: {m:.3g}, predicted {p:.3g}" for case, p, m in found)
    near = all(abs(m / p - 1) < 0.05 for _, p, m in found)
    enough = all(m > 2 / k for k, (_, _, m) in zip(SIZES, found, strict=False))
    return [claim("eta", value, near and enough)]
