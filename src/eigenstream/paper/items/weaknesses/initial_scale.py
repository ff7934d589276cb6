"""Self-calibration broken at the start: an initial activity of 10, whatever the units of the input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .... import metrics, offline
from ...reproduction.item import Claim, Table, verdict
from .. import experiment
from ..drawing import LOOKS, Axes
from ..experiment import SELF_CALIBRATING, Array
from .slow_start import PAPER, estimator, learnt_filter

# The units that sensors come in; squared, four decades of variance to either side.
SCALES = (0.01, 0.1, 1.0, 10.0, 100.0)
"""Factors on the inputs."""
N_SAMPLES = 2_000
STARTS = {"constant": "initial activity 10 (paper)", "scaled": "measured by the input"}


def measure(seed: int) -> Table:
    """The subspace error (m = 3) for inputs in different units, with both starts."""
    X = experiment.stationary(N_SAMPLES, seed)
    found: Table = {}
    for name in SELF_CALIBRATING:
        found[name] = {
            "constant": [_error(_constant_start(name, scale * X, seed), X) for scale in SCALES],
            "scaled": [_error(_scaled_start(name, scale * X, seed), X) for scale in SCALES],
        }
    return found


def _constant_start(name: str, X: Array, seed: int) -> Array:
    regularizer = experiment.chosen_regularizer(name)
    return experiment.run("engine", regularizer, X, [len(X)], seed=seed).filters[-1]


def _scaled_start(name: str, X: Array, seed: int) -> Array:
    model = estimator(experiment.chosen_regularizer(name), experiment.DEFAULT.k, seed, PAPER)
    return learnt_filter(model.fit(X))


def _error(F: Array, X: Array) -> float:
    return metrics.subspace_error(F, offline.spectrum(X, experiment.N_SIGNAL)[1], experiment.N_SIGNAL)


def _medians(tables: Sequence[Table], name: str, start: str) -> Array:
    return np.asarray(np.median([t[name][start] for t in tables], axis=0))


def draw(axis: Axes, tables: Sequence[Table]) -> str:
    for name in SELF_CALIBRATING:
        for start, style in (("constant", "o-"), ("scaled", "s--")):
            label = f"{name}, {STARTS[start]}"
            axis.plot(
                SCALES, _medians(tables, name, start), style, color=LOOKS[name].color, lw=1.7, label=label
            )
    axis.set(xscale="log", yscale="log", xlabel="inputs multiplied by", ylim=(None, 30))
    axis.set_ylabel(f"subspace error at T = {N_SAMPLES:,}, m = 3")
    axis.legend(frameon=False, fontsize=6.5, loc="upper right")
    return "a constant start has units"


def claims(tables: Sequence[Table]) -> list[Claim]:
    found = []
    for name in SELF_CALIBRATING:
        constant, scaled = (_medians(tables, name, start) for start in STARTS)
        found.append(
            Claim(
                f"ours: initial activity, {name}",
                "a constant initial activity breaks self-calibration; one measured by the input does not",
                f"subspace error at T = {N_SAMPLES:,} for inputs times {SCALES[0]:g} to {SCALES[-1]:g}",
                f"{constant[0]:.2f} at {SCALES[0]:g} and {constant[2]:.4f} at 1 with 10; "
                f"{scaled.min():.4f} to {scaled.max():.4f} with the scaled start",
                verdict(bool(constant[0] > 1 and scaled.max() < 0.01 and np.ptp(scaled) < 1e-6)),
            )
        )
    return found
