"""Pass after pass over one data set: error, time and size of every learner, seed by seed."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.inputs import signal_in_noise
from benchmarks.meter import Meter
from benchmarks.peers.peer import Array
from benchmarks.sections.accuracy.methods import METHODS, Method, known_axes
from benchmarks.sections.accuracy.settings import Settings
from eigenstream import OnlineAdaptivePCA, offline
from eigenstream.metrics import subspace_error


def warm_up() -> None:
    """Compile what is compiled."""
    X = signal_in_noise(64, 3, 1_000)
    for method in METHODS.values():
        method.learn(X, 6, 0)


def cases(name: str, X: Array, chosen: Settings, meter: Meter) -> list[dict[str, Any]]:
    """One case for every number of axes m < n; learners take turns on each shuffle of the rows."""
    T, n = X.shape
    mean = X.mean(axis=0)
    found = []
    for m in (m for m in chosen.axes if m < n):
        truth = offline.spectrum(X - mean, m)[1]
        passes: dict[str, list[dict[str, float]]] = {method: [] for method in METHODS}
        for seed in range(chosen.seeds):
            meter.note(f"top {m}, seed {seed}")
            rows = X[np.random.default_rng(seed).permutation(T)]
            for key, method in METHODS.items():
                fed = rows - mean if method.centered else rows
                passes[key].append(one_pass(method, fed, truth, seed))
        capacities = {key: method.capacity(m, n) for key, method in METHODS.items()}
        methods = {key: {"k": capacities[key], **spreads(passes[key])} for key in METHODS}
        found.append({"data": name, "T": T, "n": n, "m": m, "methods": methods})
    return found


def one_pass(method: Method, rows: Array, truth: Array, seed: int) -> dict[str, float]:
    """What one learner makes of the rows in this order."""
    k = method.capacity(len(truth), rows.shape[1])
    start = perf_counter()
    learner = method.learn(rows, k, seed)
    milliseconds = 1e3 * (perf_counter() - start)
    figures = {
        "error": error(method.axes(learner), truth),
        "milliseconds": milliseconds,
        "KiB": len(pickle.dumps(learner)) / 2**10,
    }
    return figures | more(learner, truth) if isinstance(learner, OnlineAdaptivePCA) else figures


def more(model: OnlineAdaptivePCA, truth: Array) -> dict[str, float]:
    """Ours only: rank, and the error of other readings. The last one makes the model look once more."""
    tracker, rank = model._tracker, model.n_components_
    figures = {
        "rank": rank,
        "rows to start from": tracker.plan.start_rows,
        "rows held": len(tracker.rows),
        "rows since look": tracker.time - tracker.view.time,
        "error above threshold": error(known_axes(model), truth[:rank]) if rank else 1.0,
    }
    tracker.look()
    return {**figures, "error looked again": error(known_axes(model), truth)}


def error(axes: Array, truth: Array) -> float:
    """Relative distance of the top subspaces; 1 where fewer axes are known than asked for."""
    m = len(truth)
    return subspace_error(axes[:m], truth, normalize="relative") if len(axes) >= m else 1.0


def spreads(passes: Sequence[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Of every figure the median, quartiles and extremes over the seeds."""
    return {figure: spread([one[figure] for one in passes]) for figure in passes[0]}


def spread(values: Sequence[float]) -> dict[str, float]:
    names = ("min", "lower quartile", "median", "upper quartile", "max")
    return dict(zip(names, np.quantile(values, np.linspace(0, 1, 5)).tolist(), strict=True))
