"""One row a call: what a caller waits for, and how much of it is the validation of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from eigenstream.estimators.planning import row_weights
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
from eigenstream.plotting import BLUE, GREEN, ORANGE, PURPLE, SKY, panels

TITLE = "Latency of single rows"
LEARN_ONE, PARTIAL_FIT, EMPTY = "learn_one", "partial_fit, one row", "empty partial_fit"
BY_K, BY_ONE = "IncrementalPCA, k rows, divided by k", "IncrementalPCA, one row"
LIMIT, LIMIT_AT = 10.0, (64, 4)
"""Microseconds that `learn_one` should stay below, and where."""
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
    repeats: int = 5
    seconds: tuple[float, ...] = (3.0, 4.0, 9.0)
    """What to expect at each size."""


def settings(quick: bool) -> Settings:
    return Settings(((64, 4), (32, 2)), 1_000, 100, 10, 2, (0.3, 0.3)) if quick else Settings()


def seconds(quick: bool) -> float:
    return sum(settings(quick).seconds)


def run(meter: Meter, quick: bool) -> dict[str, Any]:
    """One BLAS thread throughout."""
    chosen = settings(quick)
    taken = []
    with threadpool_limits(1):
        for (n, k), expected in zip(chosen.sizes, chosen.seconds, strict=True):
            with meter.measuring(f"latency {size(n, k)}", expected):
                taken.append({"n": n, "k": k, "microseconds": latencies(n, k, chosen, meter)})
    return {"warm": chosen.warm, "rows": chosen.rows, "repeats": chosen.repeats, "sizes": taken}


def latencies(n: int, k: int, chosen: Settings, meter: Meter) -> dict[str, dict[str, float]]:
    """Microseconds a row of every way to learn one."""
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
    intro = (
        "Microseconds a row after warming up, one row a call, one thread, float64; everything is handed rows "
        f"that lie in memory as it wants them. Models have seen {results['warm']:,} samples; "
        f"{results['rows']:,} consecutive calls are timed together, so that looks at the spectrum are "
        f"shared out among them (consolidations are rarer: the best repeat may have none); best of "
        f"{results['repeats']} repeats, in turns. Ours is "
        "`OnlineAdaptivePCA(max_components=k)` on k/2 components in noise. The empty `partial_fit` is what "
        "scikit-learn's `validate_data` and the check of weights take alone. IncrementalPCA must be given k "
        "rows the first time and may be given single ones after that: both are shown, the latter timed on "
        "fewer calls."
    )
    return f"{intro}\n\n{_targets(results['sizes'])}\n\n{_figures(results['sizes'])}"


def _targets(sizes: list[dict[str, Any]]) -> str:
    rows = []
    for entry in sizes:
        best = {name: times["best"] for name, times in entry["microseconds"].items()}
        at = size(entry["n"], entry["k"])
        if (entry["n"], entry["k"]) == LIMIT_AT:
            verdict = mark(best[LEARN_ONE] < LIMIT)
            rows.append((LEARN_ONE, at, f"{best[LEARN_ONE]:.1f} µs", f"below {LIMIT:g} µs", verdict))
        ratio = best[PARTIAL_FIT] / best[EMPTY]
        target = f"at most {TIMES:g}x"
        rows.append((f"{PARTIAL_FIT}, over the empty one", at, f"{ratio:.3f}x", target, mark(ratio <= TIMES)))
    return table(("", "(n, k)", "measured", "target", ""), rows)


def _figures(sizes: list[dict[str, Any]]) -> str:
    rows = [
        (name, size(entry["n"], entry["k"]), number(times["best"]), number(times["median"]))
        for entry in sizes
        for name, times in entry["microseconds"].items()
    ]
    return table(("", "(n, k)", "best, µs a row", "median, µs a row"), rows)


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
    axis.set_ylim(bottom=1)
    axis.grid(visible=False, axis="x")
    axis.set_xticks(range(len(results["sizes"])), [size(e["n"], e["k"]) for e in results["sizes"]])
    axis.set(xlabel="(n, k): inputs and outputs", ylabel="microseconds a row, best of repeats")
    axis.set_title(f"One row a call, after {results['warm']:,} samples")
    figure.legend(loc="outside right upper", frameon=False)
    return figure
