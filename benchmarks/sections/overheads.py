"""Cost of what people switch on, beside learning the same rows without it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks.inputs import signal_in_noise
from benchmarks.markdown import mark, number, size, table
from benchmarks.meter import Meter
from benchmarks.peers.peer import Array
from benchmarks.repeats import interleaved
from eigenstream import OnlineAdaptivePCA, StreamMonitor
from eigenstream.plotting import BLUE, panels

TITLE = "Overheads: what an option costs"
PLAIN = "fit"
GAPS = "5 % of the values missing, filled"
STRETCHES = "5 % of the inputs gone for 200 rows, filled"
HALF = "half of the inputs gone for 100 rows of 200, filled"
TIMES: dict[str, float] = {
    "half-life 500": 2.0,
    "standardize": 2.0,
    "outliers capped": 3.0,
    "partial_fit, 10 rows at a time": 3.0,
    'missing="impute", nothing missing': 3.0,
    "StreamMonitor.learn_many": 2.0,
}
"""Times that each may take of `fit` alone."""
MORE_FOR_GAPS = 20.0
"""Microseconds per row that gaps may cost at 30 inputs."""
TIMES_FOR_GAPS = 3.0
"""Times that rows with gaps may take of `fit` alone at 1,000 inputs."""
WIDE = 1_000
"""Inputs from which on only the filling of gaps is timed."""
HALF_LIFE = 500
SHARE = 0.05


@dataclass(frozen=True)
class Settings:
    sizes: tuple[tuple[int, int, int], ...] = ((30, 6, 10_000), (64, 4, 10_000), (WIDE, 16, 10_000))
    repeats: int = 5
    seconds: float = 60.0


def settings(quick: bool) -> Settings:
    return Settings(((30, 6, 500),), 1, 4.0) if quick else Settings()


def seconds(quick: bool) -> float:
    return settings(quick).seconds


def run(meter: Meter, quick: bool) -> dict[str, Any]:
    chosen, entries = settings(quick), []
    with (
        threadpool_limits(1),
        meter.measuring("overheads", chosen.seconds),
        warnings.catch_warnings(),
    ):
        # A short stream of which half is missing may reach the capacity, which is not what is timed.
        warnings.simplefilter("ignore", UserWarning)
        for n, k, T in chosen.sizes:
            meter.note(size(n, k))
            X = signal_in_noise(n, k // 2, T)
            taken = interleaved(calls(X, k), chosen.repeats)
            entries.append(
                {
                    "n": n,
                    "k": k,
                    "T": T,
                    "microseconds": {name: 1e6 * times["best"] / T for name, times in taken.items()},
                }
            )
    return {"entries": entries, "repeats": chosen.repeats}


def calls(X: Array, k: int) -> dict[str, Callable[[], object]]:
    """What is timed, by name; every call ends with reading the rank."""
    gappy = np.where(np.random.default_rng(0).random(X.shape) < SHARE, np.nan, X)
    stretches, half = gone(X, SHARE, 200), gone(X, 0.5, 100)

    def fitted(rows: Array, **parameters: Any) -> Callable[[], object]:
        return lambda: OnlineAdaptivePCA(max_components=k, **parameters).fit(rows).n_components_

    fills = {
        PLAIN: fitted(X),
        'missing="impute", nothing missing': fitted(X, missing="impute"),
        GAPS: fitted(gappy, missing="impute"),
        STRETCHES: fitted(stretches, missing="impute"),
        HALF: fitted(half, missing="impute"),
    }
    if X.shape[1] >= WIDE:
        return fills
    normal = StreamMonitor(OnlineAdaptivePCA(max_components=k)).fit(X[: len(X) // 4])

    def by_ten() -> object:
        model = OnlineAdaptivePCA(max_components=k)
        for start in range(0, len(X), 10):
            model.partial_fit(X[start : start + 10])
        return model.n_components_

    return fills | {
        "half-life 500": fitted(X, half_life=HALF_LIFE),
        "standardize": fitted(X, standardize=True),
        "outliers capped": fitted(X, outliers="cap"),
        "partial_fit, 10 rows at a time": by_ten,
        "StreamMonitor.learn_many": lambda: normal.learn_many(X),
    }


def gone(X: Array, share: float, stretch: int) -> Array:
    """Rows in which this share of the inputs, others every 200 rows, is gone for a stretch."""
    gappy, rng = X.copy(), np.random.default_rng(0)
    for start in range(0, len(X), 200):
        gappy[start : start + stretch, rng.permutation(X.shape[1])[: int(share * X.shape[1])]] = np.nan
    return gappy


def report(results: dict[str, Any]) -> str:
    lines = []
    for entry in results["entries"]:
        times, where = entry["microseconds"], size(entry["n"], entry["k"])
        for name, value in times.items():
            ratio, asked, met = value / times[PLAIN], "", ""
            if name in TIMES and entry["n"] < WIDE:
                asked, met = f"at most {TIMES[name]:g} times", mark(ratio <= TIMES[name])
            if name == GAPS and entry["n"] == 30:
                asked = f"at most {MORE_FOR_GAPS:g} µs more"
                met = mark(value - times[PLAIN] <= MORE_FOR_GAPS)
            if name == GAPS and entry["n"] >= WIDE:
                asked, met = f"at most {TIMES_FOR_GAPS:g} times", mark(ratio <= TIMES_FOR_GAPS)
            lines.append((f"{where}: {name}", number(value), f"{ratio:.2f}", asked, met))
    intro = (
        f"Microseconds per row, one BLAS thread, in turns, best of {results['repeats']} repeats: "
        "`OnlineAdaptivePCA(max_components=k).fit(X)` of the same rows (k/2 components in white noise, "
        "float64), with one thing added at a time."
    )
    return f"{intro}\n\n{table(('', 'µs per row', 'times fit alone', 'target', ''), lines)}"


def draw(results: dict[str, Any]) -> Figure:
    figure, axes = panels(1, len(results["entries"]), 9, 4)
    for axis, entry in zip(axes, results["entries"], strict=True):
        times = entry["microseconds"]
        axis.barh(range(len(times)), list(times.values()), color=BLUE)
        axis.set_yticks(range(len(times)), list(times), fontsize=8)
        axis.invert_yaxis()
        axis.set(xlabel="µs per row", title=size(entry["n"], entry["k"]))
    return figure
