"""Cost of small initial weights: a factor of time, or samples where the output measures the threshold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .... import theory
from ....regularizers import Regularizer, ScaleDependent, SquaredOutput
from ...reproduction.item import Claim, Table
from ..drawing import LOOKS, Axes
from ..experiment import Array, Engine, Setup
from ..texts import texts_of
from .growth import Row, row

*_, claim = texts_of("theory")

THETA, ACTIVITY = 2.0, 20.0
"""Threshold, and initial activity: as much as ten samples at the threshold bring."""
GAINS = (0.1, 0.01, 0.001)
"""Gains of the start, ten times smaller each."""
CASES: dict[str, tuple[float, Regularizer]] = {
    "R_TY, λ/θ = 2": (4.0, ScaleDependent(THETA)),
    "R_TY, λ/θ = 3": (6.0, ScaleDependent(THETA)),
    "R_YY, λ/θ = 2": (4.0, SquaredOutput.for_threshold([4.0], THETA)),
}
LENGTH, DRAWS = 20_000, 10
"""Samples within which the slowest case learns, and streams per seed, whose medians are taken."""


def measure(seed: int) -> Table:
    """Samples until a neuron alone has half its final gain, by case and start."""
    return {
        name: np.median([_times(lam, kind, [seed, draw]) for draw in range(DRAWS)], axis=0).tolist()
        for name, (lam, kind) in CASES.items()
    }


def _times(lam: float, regularizer: Regularizer, seed: list[int]) -> list[int]:
    x = np.sqrt(lam) * np.random.default_rng(seed).standard_normal((LENGTH, 1))
    half, found = 0.5 * np.sqrt(1 - THETA / lam), []
    for gain in GAINS:
        setup = Setup(k=1, mu_0=ACTIVITY, W_yx_length=gain)
        y = Engine(regularizer, 1, setup, np.random.default_rng(seed)).run(x)
        learnt = np.abs(y[:, 0]) > half * np.abs(x[:, 0])
        found.append(int(np.argmax(learnt)) if learnt.any() else LENGTH)
    return found


def _found(tables: Sequence[Table]) -> dict[str, Array]:
    return {name: np.median([t[name] for t in tables], axis=0) for name in CASES}


def costs(tables: Sequence[Table]) -> list[tuple[str, float, float]]:
    """Case, prediction and measurement of what the smallest start costs over the one before."""
    found = []
    for name, times in _found(tables).items():
        lam, _ = CASES[name]
        if name.startswith("R_YY"):
            pair = theory.start_cost_by_output(lam, ACTIVITY), float(times[-1] - times[-2])
        else:
            # Time counts from where the initial activity would have been gathered.
            early = ACTIVITY / THETA
            pair = theory.start_cost(lam, THETA), float((times[-1] + early) / (times[-2] + early))
        found.append((name, *pair))
    return found


def rows(tables: Sequence[Table]) -> list[Row]:
    words = {
        "R_TY": "a start ten times smaller: times as long",
        "R_YY": "a start ten times smaller: samples more",
    }
    return [row(words[name[:4]], name, *pair) for name, *pair in costs(tables)]


def draw(axis: Axes, tables: Sequence[Table]) -> str:
    for (name, times), look in zip(_found(tables).items(), LOOKS.values(), strict=True):
        lam, early = CASES[name][0], ACTIVITY / THETA
        if name.startswith("R_YY"):
            predicted = times[0] + theory.start_cost_by_output(lam, ACTIVITY) * np.arange(len(GAINS))
        else:
            predicted = (times[0] + early) * theory.start_cost(lam, THETA) ** np.arange(len(GAINS)) - early
        axis.plot(GAINS, predicted, ls=look.line, color=look.color, lw=1)
        axis.plot(GAINS, times, look.marker, color=look.color, ms=4.5, label=name)
    axis.set(xscale="log", yscale="log", xlabel="gain of the start", ylabel="samples to half the gain")
    axis.legend(frameon=False, fontsize=6, loc="upper right")
    return "cost of small starts"


def claims(tables: Sequence[Table]) -> list[Claim]:
    found = costs(tables)
    value = "; ".join(f"{name}: {m:.3g}, predicted {p:.3g}" for name, p, m in found)
    near = all(abs(m / p - 1) < 0.35 for _, p, m in found)
    return [claim("starts", value, near, activity=f"{ACTIVITY:g}")]
