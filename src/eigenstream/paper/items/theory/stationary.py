"""Stationary points of the averaged dynamics: their stability, and rates of disturbances."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eig

from .... import theory
from ....learners import network as engine
from ....learners.network.state import NetworkRule, input_output_sum, new_state, threshold
from ....regularizers import Regularizer, ScaleDependent, SquaredOutput
from ...reproduction.item import Claim, Table
from ..drawing import DARK, LOOKS, MIDDLE, Axes
from ..experiment import KINDS, Array
from ..texts import texts_of
from .growth import Row, row

*_, claim = texts_of("theory")

LAM = np.array([6.0, 5.0, 4.0, 2.0, 0.5])
K, POINT_THETA = 3, 3.0


def points(name: str) -> list[tuple[tuple[int, ...], float]]:
    """Stationary points by the modes that pass, and the largest eigenvalue at each."""
    regularizer = KINDS[name].for_threshold(LAM, POINT_THETA)
    found = []
    for p in range(1, K + 1):
        for kept in combinations(range(len(LAM)), p):
            point = theory.stationary_point(LAM, regularizer, K, kept)
            if point is not None:
                found.append((kept, float(theory.jacobian_eigenvalues(point, LAM, regularizer)[0])))
    return found


def measure_points(seed: int) -> Table:
    """Largest eigenvalues at all stationary points; no seed changes them."""
    return {name: [[list(kept), top] for kept, top in points(name)] for name in KINDS}


def point_rows(tables: Sequence[Table]) -> list[Row]:
    return [
        (
            "stable points",
            f"{name}: {len(listed)} stationary points",
            "modes 1, 2, 3 alone",
            _modes(listed),
            "",
        )
        for name, listed in tables[0].items()
    ]


def _modes(points: Sequence[tuple[Sequence[int], float]]) -> str:
    """Modes that pass at each of the points that are stable, counted from 1."""
    stable = [kept for kept, top in points if top < 1e-6]
    return " and ".join("modes " + ", ".join(str(mode + 1) for mode in kept) for kept in stable) or "none"


def draw_points(axis: Axes, tables: Sequence[Table]) -> str:
    for i, (name, listed) in enumerate(tables[0].items()):
        look = LOOKS[name]
        tops = np.array([top for _, top in listed])
        stable = tops < 1e-6
        shift = np.linspace(-0.25, 0.25, len(tops))
        axis.plot(i + shift[~stable], tops[~stable], look.marker, color=look.color, ms=4, mfc="none")
        axis.plot(i + shift[stable], tops[stable], look.marker, color=look.color, ms=6)
    axis.axhline(0, color=MIDDLE, lw=0.8)
    axis.set_xticks(range(len(KINDS)), ["R_TY", "R_XY", "R_YY"])
    # Linear up to 1, where most lie, and logarithmic above.
    axis.set_yscale("symlog", linthresh=1)
    axis.set(ylabel="largest eigenvalue", xlim=(-0.5, 2.5), ylim=(-0.2, 60))
    return "stationary points"


def point_claims(tables: Sequence[Table]) -> list[Claim]:
    listed = tables[0]
    unstable = min(top for found in listed.values() for _, top in found if top >= 1e-6)
    words = "; ".join(
        f"{name}: {len(found)} points, stable: {_modes(found)}" for name, found in listed.items()
    )
    alone = all(_modes(found) == "modes 1, 2, 3" for found in listed.values()) and unstable > 0.01
    return [claim("stability", f"{words}; every other has an eigenvalue of {unstable:.2f} or more", alone)]


class Disturbance(NamedTuple):
    """A stationary point of a small network, and the rate of the disturbance that is tried there."""

    lam: tuple[float, ...]
    k: int
    kept: tuple[int, ...]
    rate: float
    regularizer: Regularizer


# Small: a neuron that takes up a mode is slowed down by its own output, by the square of the disturbance.
THETA, BETA, OFF, DRAWS = 2.0, 0.9995, 0.01, 20
"""Threshold, discount (a window of 1,000), size of a disturbance beside its point, and streams per seed."""
FIXED = ScaleDependent(THETA)
MEASURED = SquaredOutput.for_threshold([6.0], THETA)


def _amplitude_by_output() -> float:
    """Rate of R_YY's amplitude: of the three eigenvalues of one neuron on one input the one that is most."""
    point = theory.stationary_point([6.0], MEASURED, 1, (0,))
    assert point is not None
    return float(theory.jacobian_eigenvalues(point, [6.0], MEASURED)[-1])


def _named(what: str, lam: tuple[float, ...], k: int, kept: tuple[int, ...]) -> tuple[str, Disturbance]:
    """A disturbance of this kind at the point where these modes pass, under a name of its own."""
    case = f"{what}, λ = {', '.join(f'{one:g}' for one in lam)}, passes "
    rate = theory.relaxation_rates(lam, THETA, k, kept)[what][0]
    return case + " and ".join(f"{lam[mode]:g}" for mode in kept), Disturbance(lam, k, kept, rate, FIXED)


# None of the rates is 0 or -1, which others share: their directions could not be told apart.
DISTURBANCES: dict[str, Disturbance] = {
    **dict(
        [
            _named("silent neuron, new mode", (6.0, 3.0), 2, (0,)),
            _named("axis towards another", (6.0, 3.0), 1, (0,)),
            _named("axis towards another", (6.0, 3.0), 1, (1,)),
            _named("amplitude", (2.5,), 1, (0,)),
            _named("amplitude", (3.0,), 1, (0,)),
            _named("amplitude", (6.0,), 1, (0,)),
            _named("correlation of two outputs", (4.0, 2.5), 2, (0, 1)),
        ]
    ),
    "amplitude of R_YY, λ = 6": Disturbance((6.0,), 1, (0,), _amplitude_by_output(), MEASURED),
}


def measure(seed: int) -> Table:
    """Rate per window at which networks that start off a stationary point leave it or return."""
    return {name: _measured(case, seed) for name, case in DISTURBANCES.items()}


def _measured(case: Disturbance, seed: int) -> float:
    lam, window = np.array(case.lam), 1 / (1 - BETA**2)
    point = theory.stationary_point(lam, case.regularizer, case.k, case.kept)
    assert point is not None
    decomposed: Any = eig(theory.jacobian(point, lam, case.regularizer), left=True)
    values, left, right = decomposed
    chosen = int(np.argmin(np.abs(values - case.rate)))
    along, across = right[:, chosen].real, left[:, chosen].real
    start = np.concatenate([np.ravel(part) for part in point])
    along *= OFF * np.linalg.norm(start) / np.linalg.norm(along)
    rule, ends = NetworkRule.of(case.regularizer, BETA), []
    for draw in range(DRAWS):
        X = np.sqrt(lam) * np.random.default_rng([seed, draw]).standard_normal((round(window), len(lam)))
        # The same stream from either side: its own fluctuation drops out of the difference.
        ends.append(_end(start + along, case, rule, X, window) - _end(start - along, case, rule, X, window))
    grown = across @ np.mean(ends, axis=0) / (2 * across @ along)
    return float(np.log(grown) / (round(window) / window))


def _end(start: Array, case: Disturbance, rule: NetworkRule, X: Array, window: float) -> Array:
    """N, S and theta per unit of memory, in a row, after a network has learnt X."""
    k, n = case.k, len(case.lam)
    N, S = start[: k * n].reshape(k, n), start[k * n : -1].reshape(k, k)
    state = new_state(N * window, S * window, float(start[-1]) * window)
    engine.learn(state, rule, X)
    parts = (input_output_sum(state), state.S, threshold(state, rule))
    return np.concatenate([np.ravel(part) for part in parts]) / window


def _found(tables: Sequence[Table]) -> list[tuple[str, float, float]]:
    """Case, predicted and measured rate."""
    return [
        (name, case.rate, float(np.median([t[name] for t in tables]))) for name, case in DISTURBANCES.items()
    ]


def rows(tables: Sequence[Table]) -> list[Row]:
    return [row("rate per window", *found) for found in _found(tables)]


def draw(axis: Axes, tables: Sequence[Table]) -> str:
    kinds = dict.fromkeys(name.split(", λ")[0] for name in DISTURBANCES)
    markers = dict(zip(kinds, "so^vD", strict=True))
    axis.plot([-2.2, 1.2], [-2.2, 1.2], "-", color=MIDDLE, lw=0.8)
    for kind in kinds:
        pairs = [(p, m) for name, p, m in _found(tables) if name.split(", λ")[0] == kind]
        axis.plot(*zip(*pairs, strict=True), markers[kind], color=DARK, ms=4.5, mfc="none", label=kind)
    axis.set(xlabel="predicted rate per window", ylabel="measured")
    axis.legend(frameon=False, fontsize=5.5, loc="upper left")
    return "disturbances"


def claims(tables: Sequence[Table]) -> list[Claim]:
    found = _found(tables)
    value = "; ".join(f"{name}: {m:+.2f}, predicted {p:+.2f}" for name, p, m in found)
    near = all(abs(m - p) < 0.1 + 0.1 * abs(p) for _, p, m in found)
    return [claim("relaxation", value, near)]
