"""One row per call: what a caller waits for, and how much of it is the validation of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from time import perf_counter, process_time
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.decomposition import IncrementalPCA
from sklearn.utils.validation import _num_samples, validate_data
from threadpoolctl import threadpool_limits

from benchmarks.inputs import signal_in_noise
from benchmarks.markdown import mark, number, size, table
from benchmarks.meter import Meter
from benchmarks.peers.peer import Array
from benchmarks.repeats import interleaved
from eigenstream import OnlineAdaptivePCA
from eigenstream.estimators.shell import FLOAT_TYPES
from eigenstream.model.parameters import row_weights
from eigenstream.plotting import BLUE, GREEN, ORANGE, PURPLE, SKY, panels

TITLE = "Latency of single rows"
LEARN_ONE, PARTIAL_FIT, EMPTY = "learn_one", "partial_fit, one row", "empty partial_fit"
BY_K, BY_ONE = "IncrementalPCA, k rows, divided by k", "IncrementalPCA, one row"
LIMIT, LIMIT_AT = 5.0, (64, 4)
"""Microseconds that `learn_one` should stay below in the mean, and where."""
RARE = 99.9
"""The percentile of single calls that is told."""
CALLS_SECONDS = 2.0
"""What to expect of the calls that are timed one by one."""
TIMES = 1.5
"""How many times the empty call a `partial_fit` of one row may take."""


@dataclass(frozen=True)
class Settings:
    sizes: tuple[tuple[int, int], ...] = ((64, 4), (256, 16), (1024, 32))
    warm: int = 20_000
    """Samples seen before."""
    rows: int = 2_000
    """Consecutive rows timed together."""
    slow_rows: int = 100
    """The same for IncrementalPCA by one row."""
    calls: int = 100_000
    """Calls of `learn_one` that are timed one by one."""
    repeats: int = 5
    seconds: tuple[float, ...] = (3.0, 3.0, 7.0)
    """What to expect at each size."""


def settings(quick: bool) -> Settings:
    return Settings(((64, 4), (32, 2)), 1_000, 100, 10, 2_000, 2, (0.3, 0.3)) if quick else Settings()


def seconds(quick: bool) -> float:
    return sum(settings(quick).seconds) + CALLS_SECONDS


def run(meter: Meter, quick: bool) -> dict[str, Any]:
    """One BLAS thread throughout."""
    chosen = settings(quick)
    taken = []
    with threadpool_limits(1):
        for (n, k), expected in zip(chosen.sizes, chosen.seconds, strict=True):
            with meter.measuring(f"latency {size(n, k)}", expected):
                taken.append({"n": n, "k": k, "microseconds": latencies(n, k, chosen, meter)})
        with meter.measuring(f"calls of learn_one {size(*LIMIT_AT)}", CALLS_SECONDS):
            calls = single_calls(*LIMIT_AT, chosen.calls)
    return {
        "warm": chosen.warm,
        "rows": chosen.rows,
        "repeats": chosen.repeats,
        "sizes": taken,
        "calls": calls,
    }


def single_calls(n: int, k: int, calls: int) -> dict[str, float]:
    """Microseconds of each call of `learn_one` from the second row of a stream on, with default settings."""
    X = list(signal_in_noise(n, k // 2, calls + 1))
    model, taken = OnlineAdaptivePCA(max_components=k), np.empty(calls)
    model.learn_one(X[0])
    computed = process_time()
    for i, x in enumerate(X[1:]):
        start = perf_counter()
        model.learn_one(x)
        taken[i] = perf_counter() - start
    computed = process_time() - computed
    taken *= 1e6
    return {
        "count": calls,
        "computing": 1e6 * computed / calls,
        "mean": float(taken.mean()),
        "median": float(np.median(taken)),
        "percentile": float(np.percentile(taken, RARE)),
        "max": float(taken.max()),
    }


def latencies(n: int, k: int, chosen: Settings, meter: Meter) -> dict[str, dict[str, float]]:
    """Microseconds per row of every way to learn one."""
    meter.note("warming up")
    X = signal_in_noise(n, k // 2, chosen.warm)
    one, many = (OnlineAdaptivePCA(max_components=k, random_state=0).fit(X) for _ in range(2))
    by_k, by_one = (IncrementalPCA(n_components=k).partial_fit(X[: 10 * k]) for _ in range(2))
    rows = X[: chosen.rows]
    single, batches = list(rows[:, None]), list(rows[: len(rows) // k * k].reshape(-1, k, n))
    slow = single[: chosen.slow_rows]
    works = {
        LEARN_ONE: (partial(each, one.learn_one, list(rows)), len(rows)),
        PARTIAL_FIT: (partial(each, many.partial_fit, single), len(rows)),
        EMPTY: (partial(each, partial(validate, many), single), len(rows)),
        BY_K: (partial(each, by_k.partial_fit, batches), k * len(batches)),
        BY_ONE: (partial(each, by_one.partial_fit, slow), len(slow)),
    }
    meter.note("in turns")
    times = interleaved({name: work for name, (work, _) in works.items()}, chosen.repeats)
    return {
        name: {kind: 1e6 * value / works[name][1] for kind, value in time.items()}
        for name, time in times.items()
    }


def each(call: Callable[[Array], object], inputs: Iterable[Array]) -> None:
    for x in inputs:
        call(x)


def validate(model: OnlineAdaptivePCA, X: Array) -> None:
    """What `partial_fit` checks before it learns, and nothing else."""
    row_weights(None, _num_samples(X))
    validate_data(model, X, reset=False, dtype=FLOAT_TYPES, ensure_all_finite=True, order="C")


def report(results: dict[str, Any]) -> str:
    """Targets, then all figures."""
    calls = results["calls"]
    single = (
        f"`OnlineAdaptivePCA(max_components={LIMIT_AT[1]}).learn_one` on {calls['count']:,} rows of "
        f"{LIMIT_AT[0]} inputs from the beginning of a stream, each call timed by itself, looks at the "
        f"spectrum and interruptions by the system included: mean {number(calls['mean'])} µs, median "
        f"{number(calls['median'])} µs, {RARE}th percentile {number(calls['percentile'])} µs, longest "
        f"{number(calls['max'])} µs. This process computed for {number(calls['computing'])} µs per call, the "
        "timing included; what the mean has more than that, it waited for other processes."
    )
    intro = (
        "Microseconds per row after warming up, one row per call, one thread, float64; everything is handed "
        f"rows that lie in memory as it wants them. Models have seen {results['warm']:,} samples; "
        f"{results['rows']:,} consecutive calls are timed together, so that blocks and looks at the spectrum "
        f"are shared out among them; best of {results['repeats']} repeats, in turns. Ours is "
        "`OnlineAdaptivePCA(max_components=k)` on k/2 components in noise. The empty `partial_fit` is what "
        "scikit-learn's `validate_data` and the check of weights take alone. IncrementalPCA must be given k "
        "rows the first time and may be given single ones after that: both are shown, the latter timed on "
        "fewer calls."
    )
    return "\n\n".join((_targets(results), single, intro, _figures(results["sizes"])))


def _targets(results: dict[str, Any]) -> str:
    calls = results["calls"]
    mean, rare = calls["mean"], f"{calls['percentile']:.0f} µs"
    rows = [
        (
            "learn_one, mean of all calls",
            size(*LIMIT_AT),
            f"{mean:.1f} µs",
            f"below {LIMIT:g} µs",
            mark(mean < LIMIT),
        ),
        (f"learn_one, {RARE}th percentile", size(*LIMIT_AT), rare, "stated", ""),
    ]
    for entry in results["sizes"]:
        best = {name: times["best"] for name, times in entry["microseconds"].items()}
        ratio = best[PARTIAL_FIT] / best[EMPTY]
        what, at = f"{PARTIAL_FIT}, over the empty one", size(entry["n"], entry["k"])
        rows.append((what, at, f"{ratio:.3f}x", f"at most {TIMES:g}x", mark(ratio <= TIMES)))
    return table(("", "(n, k)", "measured", "target", ""), rows)


def _figures(sizes: list[dict[str, Any]]) -> str:
    rows = [
        (name, size(entry["n"], entry["k"]), number(times["best"]), number(times["median"]))
        for entry in sizes
        for name, times in entry["microseconds"].items()
    ]
    return table(("", "(n, k)", "best, µs per row", "median, µs per row"), rows)


def draw(results: dict[str, Any]) -> Figure:
    """Bars by size, with the targets as lines."""
    figure, (axis,) = panels(1, 1, 10, 4.2)
    colours = {LEARN_ONE: BLUE, PARTIAL_FIT: SKY, EMPTY: GREEN, BY_K: ORANGE, BY_ONE: PURPLE}
    for group, entry in enumerate(results["sizes"]):
        times = entry["microseconds"]
        places = {name: group + 0.17 * (i - 2) for i, name in enumerate(colours)}
        targets = {PARTIAL_FIT: TIMES * times[EMPTY]["best"]}
        if (entry["n"], entry["k"]) == LIMIT_AT:
            targets[LEARN_ONE] = LIMIT
        for name, place in places.items():
            height, label = times[name]["best"], name if group == 0 else None
            axis.bar(place, height, 0.15, color=colours[name], label=label)
            above = 1.05 * max(height, targets.get(name, 0))
            axis.annotate(number(height), (place, above), ha="center", va="bottom", fontsize=8)
        for i, (name, target) in enumerate(targets.items()):
            label = "target" if group == i == 0 else None
            axis.hlines(target, places[name] - 0.08, places[name] + 0.08, "k", label=label)
    axis.set_yscale("log")
    axis.margins(y=0.1)
    axis.set_ylim(bottom=1)
    axis.grid(visible=False, axis="x")
    axis.set_xticks(range(len(results["sizes"])), [size(e["n"], e["k"]) for e in results["sizes"]])
    axis.set(xlabel="(n, k): inputs and outputs", ylabel="microseconds per row, best of repeats")
    axis.set_title(f"One row per call, after {results['warm']:,} samples")
    figure.legend(loc="outside right upper", frameon=False)
    return figure
