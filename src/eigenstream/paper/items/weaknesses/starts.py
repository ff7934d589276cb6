"""Starts: slow near the threshold, where a mode grows like T^(lam/theta - 1), and one that has units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import metrics, offline, streams
from ....regularizers import InputOutput, Regularizer
from ...reproduction.item import Claim, Table
from .. import experiment
from ..drawing import DARK, LOOKS, Axes
from ..experiment import SELF_CALIBRATING, Array
from ..texts import texts_of

*_, claim = texts_of("weaknesses")

# A power law: eigenvalues lie close together on both sides of any threshold.
SPECTRUM: Array = 10 / np.arange(1.0, 65)
"""Input spectrum."""
THRESHOLD = 0.8
"""Below the twelfth eigenvalue, so that several modes are just above it."""
N_OUTPUTS, N_READ = 20, 10
N_SAMPLES = 4_000
PAPER: dict[str, Any] = {"init_samples": 0, "consolidation": None}
VARIANTS: dict[str, dict[str, Any]] = {
    "random start (paper)": PAPER,
    "closed-form start": {"init_samples": 2 * N_OUTPUTS, "consolidation": None},
    "and consolidation": {"init_samples": 2 * N_OUTPUTS, "consolidation": 1.25},
}


def measure_slow_start(seed: int) -> Table:
    """Relative subspace error of the top ten modes as T grows, for each variant."""
    X = np.vstack(list(streams.colored_gaussian(SPECTRUM, N_SAMPLES, random_state=seed)))
    times = experiment.growing_times(N_SAMPLES, first=100, a_decade=8)
    best = [offline.spectrum(X[:T], N_READ)[1] for T in times]
    return {"times": times, "errors": {name: _errors(X, times, best, seed, name) for name in VARIANTS}}


def _errors(X: Array, times: list[int], best: list[Any], seed: int, variant: str) -> list[float]:
    model = estimator(InputOutput.for_threshold(SPECTRUM, THRESHOLD), N_OUTPUTS, seed, VARIANTS[variant])
    errors, before = [], 0
    for T, components in zip(times, best, strict=True):
        model.partial_fit(X[before:T])
        before = T
        errors.append(metrics.subspace_error(learnt_filter(model), components, N_READ, normalize="relative"))
    return errors


def estimator(regularizer: Regularizer, k: int, seed: int, options: dict[str, Any]) -> Any:
    """The library's estimator with the paper's network inside, on input as it comes."""
    from ....estimators import OnlineAdaptivePCA
    from ....model.network import Network

    network: dict[str, Any] = {"solver": Network(**options), "center": False, "random_state": seed}
    return OnlineAdaptivePCA(regularizer=regularizer, max_components=k, **network)


def learnt_filter(model: Any) -> Array:
    """Filter of the network inside an estimator, ``(I + W_yy)^-1 W_yx``."""
    W_yy = model.lateral_weights_
    return np.asarray(np.linalg.solve(np.eye(len(W_yy)) + W_yy, model.feedforward_weights_), dtype=np.float64)


def _medians(tables: Sequence[Table]) -> dict[str, Array]:
    return {name: np.median([t["errors"][name] for t in tables], axis=0) for name in VARIANTS}


def draw_slow_start(axis: Axes, tables: Sequence[Table]) -> str:
    for (name, values), color, style in zip(
        _medians(tables).items(),
        (LOOKS["scale-dependent"].color, LOOKS["input-output"].color, DARK),
        ("-", "--", "-."),
        strict=True,
    ):
        axis.plot(tables[0]["times"], values, style, color=color, lw=1.7, label=name)
    axis.set(xscale="log", yscale="log", xlabel="samples T", ylim=(None, 0.6))
    axis.set_ylabel(f"relative subspace error, m = {N_READ}")
    axis.legend(frameon=False, fontsize=6.5, loc="upper right")
    return "slow near the threshold (input-output)"


def slow_start_claims(tables: Sequence[Table]) -> list[Claim]:
    medians, first = _medians(tables), tables[0]["times"][0]
    starts, ends = ({name: float(values[at]) for name, values in medians.items()} for at in (0, -1))
    paper, closed, both = VARIANTS
    early, late = (
        ", ".join(f"{name} {value:.{digits}f}" for name, value in found.items())
        for found, digits in ((starts, 3), (ends, 4))
    )
    spared = starts[closed] < starts[paper] / 2
    better = ends[both] < ends[paper] / 2 and ends[both] < ends[closed]
    return [
        claim("closed-form-start", early, spared, n_read=N_READ, first=first),
        claim("consolidation", late, better, n_read=N_READ, n_samples=N_SAMPLES),
    ]


# The units that sensors come in; squared, four decades of variance to either side.
SCALES = (0.01, 0.1, 1.0, 10.0, 100.0)
"""Factors on the inputs."""
SCALED_SAMPLES = 2_000
# The paper gives no initial activity: 10 is what Figs. 4 to 6 take here.
STARTS = {"constant": "initial activity 10 (ours)", "scaled": "measured by the input"}


def measure_initial_scale(seed: int) -> Table:
    """The subspace error (m = 3) for inputs in different units, with both starts."""
    X = experiment.stationary(SCALED_SAMPLES, seed)
    return {
        name: {
            "constant": [_error(_constant_start(name, scale * X, seed), X) for scale in SCALES],
            "scaled": [_error(_scaled_start(name, scale * X, seed), X) for scale in SCALES],
        }
        for name in SELF_CALIBRATING
    }


def _constant_start(name: str, X: Array, seed: int) -> Array:
    regularizer = experiment.chosen_regularizer(name)
    return experiment.run("engine", regularizer, X, [len(X)], seed=seed).filters[-1]


def _scaled_start(name: str, X: Array, seed: int) -> Array:
    model = estimator(experiment.chosen_regularizer(name), experiment.DEFAULT.k, seed, PAPER)
    return learnt_filter(model.fit(X))


def _error(F: Array, X: Array) -> float:
    return metrics.subspace_error(F, offline.spectrum(X, experiment.N_SIGNAL)[1], experiment.N_SIGNAL)


def _medians_of(tables: Sequence[Table], name: str, start: str) -> Array:
    return np.asarray(np.median([t[name][start] for t in tables], axis=0))


def draw_initial_scale(axis: Axes, tables: Sequence[Table]) -> str:
    for name in SELF_CALIBRATING:
        for start, style in (("constant", "o-"), ("scaled", "s--")):
            label = f"{name}, {STARTS[start]}"
            axis.plot(
                SCALES, _medians_of(tables, name, start), style, color=LOOKS[name].color, lw=1.7, label=label
            )
    axis.set(xscale="log", yscale="log", xlabel="inputs multiplied by", ylim=(None, 30))
    axis.set_ylabel(f"subspace error at T = {SCALED_SAMPLES:,}, m = 3")
    axis.legend(frameon=False, fontsize=6.5, loc="upper right")
    return "a constant start has units"


def initial_scale_claims(tables: Sequence[Table]) -> list[Claim]:
    found = []
    for name in SELF_CALIBRATING:
        constant, scaled = (_medians_of(tables, name, start) for start in STARTS)
        value = (
            f"{constant[0]:.2f} at {SCALES[0]:g} and {constant[2]:.4f} at 1 with 10; "
            f"{scaled.min():.4f} to {scaled.max():.4f} with the scaled start"
        )
        broken = constant[0] > 1 and scaled.max() < 0.01 and np.ptp(scaled) < 1e-6
        words = {"n_samples": SCALED_SAMPLES, "least": SCALES[0], "most": SCALES[-1]}
        found.append(claim("initial-activity", value, broken, name=name, **words))
    return found
