"""The Tennessee Eastman plant: who sees its faults, at the same measured rate of false alarms."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.peers.peer import Array
from benchmarks.sections.accuracy.data import BESIDE, FOLDER
from eigenstream import OnlineAdaptivePCA, StreamMonitor
from eigenstream.model.delays import embedded

RUNS = 22
"""Run 0 is normal; in the others a fault begins after row 160."""
ONSET = 160
HIDDEN = (3, 9, 15)
"""Faults that are known to be nearly invisible to PCA."""
RATE = 0.01
"""Share of the rows of the normal test run that alarm, for everyone."""
STATIC, DYNAMIC, PEER = "PCA, 90 % of the variance", "DPCA, 2 lags, 90 %", "process-improve AdaptivePCA"

Index = Callable[[Array], Array]
"""What is said of each row of a test run: a number that is larger the more unusual the row is."""


def load() -> dict[str, Array] | str:
    """The runs, or the reason why there are none."""
    path = Path(os.environ.get(FOLDER, BESIDE)) / "tennessee_eastman.npz"
    if not path.exists():
        return f"there is no {path.name} in {path.parent}; the variable {FOLDER} says where to look"
    with np.load(path) as runs:
        return {name: runs[name].astype(np.float64) for name in runs.files}


def detection(index: Index, runs: dict[str, Array]) -> dict[str, Any]:
    """How many rows of each fault alarm, and after how many the first one does."""
    indices = [index(runs[f"test_{i:02d}"]) for i in range(RUNS)]
    line = float(np.quantile(indices[0], 1 - RATE))
    alarms = [values > line for values in indices]
    return {
        "line": line,
        "false alarms": float(alarms[0].mean()),
        "false alarms before faults": float(np.mean([a[:ONSET].mean() for a in alarms[1:]])),
        "detected": [float(a[ONSET:].mean()) for a in alarms[1:]],
        "delay": [int(np.argmax(a[ONSET:])) if a[ONSET:].any() else None for a in alarms[1:]],
    }


def own_rate(runs: dict[str, Array], lags: int, rate: float) -> float:
    """Share of the rows of the normal test run that alarm at our own limits, adaptive."""
    monitor = _trained(runs["train_00"], lags, rate)
    return float(monitor.learn_many(runs["test_00"]).alarm.mean())


def methods(training: Array) -> dict[str, Index]:
    """Everyone, trained on the normal training run."""
    found: dict[str, Index] = {}
    for lags in (0, 2):
        trained = _trained(training, lags, RATE)
        found[f"ours, frozen, {lags} lags"] = _following(copy.deepcopy(trained).freeze())
        found[f"ours, adaptive, {lags} lags"] = _following(trained)
    found |= {STATIC: static(training, 0), DYNAMIC: static(training, 2)}
    if find_spec("process_improve") is not None:
        found[PEER] = adaptive_peer(training)
    return found


def _trained(training: Array, lags: int, rate: float) -> StreamMonitor:
    """No run lasts long enough for a fault to be accepted as the new normal."""
    model = OnlineAdaptivePCA(standardize=True, lags=lags)
    return StreamMonitor(model, false_alarm_rate=rate, accept_after=10**6).fit(training)


def _following(trained: StreamMonitor) -> Index:
    return lambda rows: np.asarray(copy.deepcopy(trained).learn_many(rows).severity)


def static(training: Array, lags: int, share: float = 0.9) -> Index:
    """The textbook: T² and SPE of a model that stands still, each in units of its 99 % limit."""
    mean, scale = training.mean(axis=0), training.std(axis=0)
    Z = embedded((training - mean) / scale, lags)
    center = Z.mean(axis=0)
    variances, axes = np.linalg.eigh(np.cov((Z - center).T))
    variances, axes = variances[::-1], axes[:, ::-1]
    p = int(np.searchsorted(np.cumsum(variances) / variances.sum(), share)) + 1
    T, rest = len(Z), variances[p:]
    t2_limit = p * (T**2 - 1) / (T * (T - p)) * stats.f.ppf(1 - RATE, p, T - p)
    g = np.square(rest).sum() / rest.sum()
    spe_limit = g * stats.chi2.ppf(1 - RATE, rest.sum() / g)

    def index(rows: Array) -> Array:
        scores = (embedded((rows - mean) / scale, lags) - center) @ axes
        t2, spe = (scores[:, :p] ** 2 / variances[:p]).sum(axis=1), (scores[:, p:] ** 2).sum(axis=1)
        return np.asarray(np.maximum(t2 / t2_limit, spe / spe_limit))

    return index


def adaptive_peer(training: Array) -> Index:
    """At its defaults; it has to be told how many components: as many as make up 90 % of the variance."""
    from process_improve.multivariate import AdaptivePCA

    variances = np.linalg.eigvalsh(np.corrcoef(training.T))[::-1]
    p = int(np.searchsorted(np.cumsum(variances) / variances.sum(), 0.9)) + 1
    trained = AdaptivePCA(n_components=p).fit(training)

    def index(rows: Array) -> Array:
        model, found = copy.deepcopy(trained), []
        for row in rows:
            said = model.update(row)
            # Its SPE is a distance, not a squared one.
            found.append(max(said.hotellings_t2 / said.hotellings_t2_limit, (said.spe / said.spe_limit) ** 2))
        return np.array(found)

    return index
