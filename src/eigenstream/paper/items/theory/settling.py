"""Settling of the activity, bounds on eta, and stability of the stationary points."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from .... import theory
from ....learners import network as engine
from ....learners.network.state import NetworkRule, input_output_sum, new_state
from ....network import ConvergenceError, EqualizingNetwork, HebbianNetwork, LocalNetwork
from ....regularizers import InputOutput, Regularizer, ScaleDependent
from ...reproduction.item import Claim, Table
from .. import experiment
from ..drawing import DARK, LOOKS, MIDDLE, Axes
from ..experiment import KINDS, Array
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


LAM = np.array([6.0, 5.0, 4.0, 2.0, 0.5])
K, POINT_THETA = 3, 3.0
RELAXING = (2.5, 4.0, 6.0)
"""Variances of single modes whose amplitude is disturbed, at a threshold of 2."""
SINGLE_THETA, BETA, OFF, DRAWS = 2.0, 0.9995, 0.3, 20
"""Threshold, discount (a window of 1,000), disturbance of the amplitude, and streams per seed."""


def points(name: str) -> list[tuple[tuple[int, ...], float]]:
    """Stationary points by the modes that pass, and the largest eigenvalue at each."""
    regularizer = _regularizer(name)
    found = []
    for p in range(1, K + 1):
        for kept in combinations(range(len(LAM)), p):
            point = theory.stationary_point(LAM, regularizer, K, kept)
            if point is not None:
                found.append((kept, float(theory.jacobian_eigenvalues(point, LAM, regularizer)[0])))
    return found


def _regularizer(name: str) -> Regularizer:
    return KINDS[name].for_threshold(LAM, POINT_THETA)


def measure_relaxation(seed: int) -> Table:
    """Largest eigenvalues at all stationary points, and how fast a disturbed amplitude relaxes."""
    return {
        "points": {name: [[list(kept), top] for kept, top in points(name)] for name in KINDS},
        "rates": [_relaxation(lam, seed) for lam in RELAXING],
    }


def _relaxation(lam: float, seed: int) -> float:
    """Rate per window at which N of networks that start off their optimum returns to it."""
    window = 1 / (1 - BETA**2)
    g = np.sqrt(1 - SINGLE_THETA / lam)
    rule = NetworkRule.of(ScaleDependent(SINGLE_THETA), BETA)
    ends: dict[float, list[float]] = {OFF: [], -OFF: []}
    for draw in range(DRAWS):
        for off, found in ends.items():
            # Along the slow direction: S changes 2 g times as much as N.
            n = g * lam * (1 + off)
            s = lam - SINGLE_THETA + 2 * g * g * lam * off
            state = new_state(np.array([[n * window]]), np.array([[s * window]]), SINGLE_THETA * window)
            X = np.sqrt(lam) * np.random.default_rng([seed, draw]).standard_normal((round(window), 1))
            engine.learn(state, rule, X)
            found.append(float(input_output_sum(state)[0, 0]) / window)
    # The same streams from either side: their own fluctuation drops out of the difference.
    after = float(np.mean(ends[OFF]) - np.mean(ends[-OFF]))
    return float(-np.log(after / (2 * OFF * g * lam)))


def _relaxations(tables: Sequence[Table]) -> list[tuple[float, float, float]]:
    measured = np.median([t["rates"] for t in tables], axis=0)
    return [(lam, 2 * (1 - SINGLE_THETA / lam), float(m)) for lam, m in zip(RELAXING, measured, strict=True)]


def relaxation_rows(tables: Sequence[Table]) -> list[Row]:
    found = [
        row("amplitude relaxes per window", f"λ/θ = {lam / SINGLE_THETA:g}", *pair)
        for lam, *pair in _relaxations(tables)
    ]
    for name, listed in tables[0]["points"].items():
        stable = [kept for kept, top in listed if top < 1e-6]
        case = f"{name}: {len(listed)} stationary points"
        found.append(("stable points", case, "modes 1, 2, 3 alone", _modes(stable), ""))
    return found


def _modes(points: Sequence[Sequence[int]]) -> str:
    """Modes that pass at each of some points, counted from 1."""
    return " and ".join("modes " + ", ".join(str(mode + 1) for mode in kept) for kept in points) or "none"


def draw_stability(axis: Axes, tables: Sequence[Table]) -> str:
    for i, (name, listed) in enumerate(tables[0]["points"].items()):
        look = LOOKS[name]
        tops = np.array([top for _, top in listed])
        stable = tops < 1e-6
        shift = np.linspace(-0.25, 0.25, len(tops))
        axis.plot(i + shift[~stable], tops[~stable], look.marker, color=look.color, ms=4, mfc="none")
        axis.plot(i + shift[stable], tops[stable], look.marker, color=look.color, ms=6)
    axis.axhline(0, color=MIDDLE, lw=0.8)
    axis.set_xticks(range(len(KINDS)), [name.replace("-", "-\n") for name in KINDS])
    # Linear up to 1, where most lie, and logarithmic above.
    axis.set_yscale("symlog", linthresh=1)
    axis.set(ylabel="largest eigenvalue per window", xlim=(-0.5, 2.5), ylim=(-0.2, 60))
    return "stationary points (filled: stable)"


def relaxation_claims(tables: Sequence[Table]) -> list[Claim]:
    listed = {
        name: [(tuple(kept), top) for kept, top in found] for name, found in tables[0]["points"].items()
    }
    stable = {name: [kept for kept, top in found if top < 1e-6] for name, found in listed.items()}
    unstable = min(top for found in listed.values() for _, top in found if top >= 1e-6)
    words = "; ".join(
        f"{name}: {len(found)} points, stable: {_modes(stable[name])}" for name, found in listed.items()
    )
    alone = all(found == [(0, 1, 2)] for found in stable.values()) and unstable > 0.01
    relaxed = _relaxations(tables)
    value = "; ".join(f"λ/θ = {lam / SINGLE_THETA:g}: {m:.2f}, predicted {p:.2f}" for lam, p, m in relaxed)
    near = all(abs(m / p - 1) < 0.2 for _, p, m in relaxed)
    return [
        claim("stability", f"{words}; every other has an eigenvalue of {unstable:.2f} or more", alone),
        claim("relaxation", value, near),
    ]
