"""Slow near the threshold: a mode grows like T^(lam/theta - 1), and early outputs stay in the sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import metrics, offline, streams
from ....regularizers import InputOutput, Regularizer
from ...reproduction.item import Claim, Table, verdict
from .. import experiment
from ..drawing import DARK, LOOKS, Axes
from ..experiment import Array

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


def measure(seed: int) -> Table:
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


def draw(axis: Axes, tables: Sequence[Table]) -> str:
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


def claims(tables: Sequence[Table]) -> list[Claim]:
    ends = {name: float(values[-1]) for name, values in _medians(tables).items()}
    starts = {name: float(values[0]) for name, values in _medians(tables).items()}
    paper, closed, both = VARIANTS
    return [
        Claim(
            "ours: slow near the threshold",
            "the closed-form start spares the network most of its early error",
            f"median relative subspace error, m = {N_READ}, at T = {tables[0]['times'][0]}",
            ", ".join(f"{name} {value:.3f}" for name, value in starts.items()),
            verdict(starts[closed] < starts[paper] / 2),
        ),
        Claim(
            "ours: slow near the threshold",
            "consolidation forgets outputs from before the filter had converged, and is the more accurate",
            f"median relative subspace error, m = {N_READ}, at T = {N_SAMPLES:,}",
            ", ".join(f"{name} {value:.4f}" for name, value in ends.items()),
            verdict(ends[both] < ends[paper] / 2 and ends[both] < ends[closed]),
        ),
    ]
