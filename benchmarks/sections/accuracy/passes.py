"""Pass after pass over one data set: errors, time and size of every learner, order by order."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.inputs import signal_in_noise
from benchmarks.meter import Meter
from benchmarks.peers.peer import Array
from benchmarks.sections.accuracy.methods import (
    BYTES,
    BYTES_SUBSPACE,
    METHODS,
    OURS,
    SUBSPACE,
    Method,
    components_for,
    incremental_bytes,
    model_bytes,
)
from benchmarks.sections.accuracy.settings import Settings, tops
from eigenstream import OnlineAdaptivePCA, offline
from eigenstream.metrics import subspace_error

TWINS = {SUBSPACE: OURS, BYTES_SUBSPACE: BYTES}
"""Methods that are the same where "auto" takes the subspace learner anyway."""
OWN, SHUFFLED = "own", "shuffled"


def warm_up() -> None:
    """Compile what is compiled."""
    X = signal_in_noise(64, 3, 1_000)
    for method in METHODS.values():
        method.learn(X, 6, 0)


def orders(T: int, seeds: int) -> dict[str, list[Array]]:
    """Orders of the rows by kind."""
    shuffles = [np.random.default_rng(seed).permutation(T) for seed in range(seeds)]
    return {OWN: [np.arange(T)], SHUFFLED: shuffles}


def cases(name: str, X: Array, chosen: Settings, meter: Meter) -> list[dict[str, Any]]:
    """One case for every kind of order and number of components m < n; learners take turns."""
    T, n = X.shape
    mean = X.mean(axis=0)
    truth = offline.spectrum(X - mean, min(max(chosen.capacities), n))[1]
    found = []
    for kind, these in orders(T, chosen.seeds).items():
        for m in (m for m in chosen.capacities if m < n):
            passes: dict[str, list[dict[str, Any]]] = {key: [] for key in METHODS}
            for seed, order in enumerate(these):
                meter.note(f"{kind} order, {m} components, pass {seed + 1} of {len(these)}")
                for key, one in one_turn(X[order], mean, truth[:m], seed).items():
                    passes[key].append(one)
            methods = {key: summary(passes[key], m) for key in METHODS}
            found.append({"data": name, "order": kind, "T": T, "n": n, "m": m, "methods": methods})
    return found


def one_turn(rows: Array, mean: Array, truth: Array, seed: int) -> dict[str, dict[str, Any]]:
    """What every method makes of the rows in this order; after the first order, only those with targets."""
    found: dict[str, dict[str, Any]] = {}
    for key, method in METHODS.items():
        if seed and method.further:
            continue
        if key in TWINS and found[OURS]["solver"] == "subspace":
            found[key] = found[TWINS[key]]
            continue
        size = found[method.bytes_of]["bytes"] if method.bytes_of else None
        k = components(method, len(truth), rows.shape, size)
        found[key] = one_pass(method, rows - mean if method.centered else rows, k, truth, seed)
    return found


def components(method: Method, m: int, shape: tuple[int, ...], size: int | None) -> int:
    """How many components a method is given."""
    T, n = shape
    if size is not None:
        return components_for(size, n, T)
    return min(2 * m, n - 1) if method.doubled else m


def one_pass(method: Method, rows: Array, k: int, truth: Array, seed: int) -> dict[str, Any]:
    """What one learner makes of the rows in this order; without components it knows nothing."""
    if not k:
        return {"k": 0, "errors": [1.0] * len(tops(len(truth))), "milliseconds": 0.0, "bytes": 0}
    start = perf_counter()
    learner = method.learn(rows, k, seed)
    axes = method.axes(learner)
    milliseconds = 1e3 * (perf_counter() - start)
    errors = [error(axes, truth[:top]) for top in tops(len(truth))]
    return {"k": k, "errors": errors, "milliseconds": milliseconds, **sizes(learner, rows.shape[1], k)}


def sizes(learner: Any, n: int, k: int) -> dict[str, Any]:
    """Bytes of state and buffer; of ours, its solver and the rows a network starts from."""
    if isinstance(learner, OnlineAdaptivePCA):
        plan = learner._tracker.plan
        return {"bytes": model_bytes(learner), "solver": plan.solver, "start": plan.init_samples}
    if hasattr(learner, "singular_values_"):
        return {"bytes": incremental_bytes(n, k, learner.batch_size)}
    arrays = (value for value in vars(learner).values() if isinstance(value, np.ndarray))
    return {"bytes": sum(array.nbytes for array in arrays)}


def error(axes: Array, truth: Array) -> float:
    """Relative distance of the top subspaces; 1 where fewer axes are known than asked for."""
    top = len(truth)
    return subspace_error(axes[:top], truth, normalize="relative") if len(axes) >= top else 1.0


def summary(passes: Sequence[dict[str, Any]], m: int) -> dict[str, Any]:
    """Over the passes of one kind: least, median and largest error for each number of axes; costs."""
    errors = {
        str(top): spread([one["errors"][i] for one in passes]) for i, top in enumerate(tops(m))
    }  # as text: JSON knows no other keys
    costs = {key: float(np.median([one[key] for one in passes])) for key in ("milliseconds", "bytes")}
    fixed = {key: passes[0][key] for key in ("k", "solver", "start") if key in passes[0]}
    return {**fixed, "errors": errors, **costs}


def spread(values: Sequence[float]) -> dict[str, float]:
    names = ("min", "median", "max")
    return dict(zip(names, np.quantile(values, (0, 0.5, 1)).tolist(), strict=True))
