"""Watching a stream: what it costs, and which faults of a plant it sees."""

from __future__ import annotations

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
from benchmarks.sections.monitor import plant
from eigenstream import OnlineAdaptivePCA, StreamMonitor
from eigenstream.plotting import BLUE, GREEN, ORANGE, PURPLE, SKY, panels

TITLE = "Watching a stream"
TIMES = 2.0
"""How many times as long as learning alone watching may take."""
PLANT_SECONDS = 60.0


@dataclass(frozen=True)
class Settings:
    sizes: tuple[tuple[int, int], ...] = ((64, 4), (256, 16), (1024, 32), (4096, 32))
    rows: tuple[int, ...] = (20_000, 10_000, 4_096, 2_048)
    warm: int = 4_096
    repeats: int = 5
    seconds: tuple[float, ...] = (2.0, 6.0, 6.0, 9.0)
    runs: bool = True


def settings(quick: bool) -> Settings:
    return Settings(((64, 4),), (500,), 500, 2, (0.5,), False) if quick else Settings()


def seconds(quick: bool) -> float:
    chosen = settings(quick)
    return sum(chosen.seconds) + chosen.runs * PLANT_SECONDS


def run(meter: Meter, quick: bool) -> dict[str, Any]:
    """One BLAS thread throughout."""
    chosen = settings(quick)
    costs = []
    with threadpool_limits(1):
        for (n, k), rows, expected in zip(chosen.sizes, chosen.rows, chosen.seconds, strict=True):
            with meter.measuring(f"cost {size(n, k)}", expected):
                costs.append({"n": n, "k": k, "rows": rows, **cost(n, k, rows, chosen)})
        results: dict[str, Any] = {"warm": chosen.warm, "repeats": chosen.repeats, "costs": costs}
        runs = plant.load() if chosen.runs else "a quick run leaves it out"
        if isinstance(runs, str):
            return results | {"skipped": runs}
        with meter.measuring("Tennessee Eastman", PLANT_SECONDS):
            found = {name: plant.detection(i, runs) for name, i in plant.methods(runs["train_00"]).items()}
            own = {
                f"{lags} lags, {rate:g}": plant.own_rate(runs, lags, rate)
                for lags in (0, 2)
                for rate in (0.01, 0.001)
            }
    return results | {"plant": found, "own": own}


def cost(n: int, k: int, rows: int, chosen: Settings) -> dict[str, Any]:
    """Microseconds per row of learning, and of watching and learning, in calls of a thousand rows.

    Each repeat has rows of its own: of rows that were learnt before, limits would be too low for others.
    """
    X = signal_in_noise(n, k // 2, chosen.warm + (1 + chosen.repeats) * rows)
    model = OnlineAdaptivePCA(max_components=k, standardize=True, half_life=5000).fit(X[: chosen.warm])
    monitor = StreamMonitor(OnlineAdaptivePCA(max_components=k, standardize=True, half_life=5000))
    monitor.fit(X[: chosen.warm])
    fresh = np.split(X[chosen.warm :], 1 + chosen.repeats)
    to_learn, to_watch = iter(fresh), iter(fresh)
    works = {
        "learning": lambda: [model.partial_fit(part) for part in _thousands(next(to_learn))],
        "watching": lambda: [monitor.partial_fit(part) for part in _thousands(next(to_watch))],
    }
    times = interleaved(works, chosen.repeats)
    return {
        name: {kind: 1e6 * value / rows for kind, value in taken.items()} for name, taken in times.items()
    }


def _thousands(X: Array) -> list[Array]:
    return [X[start : start + 1000] for start in range(0, len(X), 1000)]


def report(results: dict[str, Any]) -> str:
    """Targets, then all figures."""
    parts = [
        "What watching costs: `StreamMonitor.partial_fit` against `OnlineAdaptivePCA.partial_fit` of the "
        "same rows, standardized, half-life 5,000, 1,000 rows per call, after "
        f"{results['warm']:,} rows; one thread, microseconds per row, best of {results['repeats']} repeats, "
        "in turns.",
        _costs(results["costs"]),
    ]
    if "skipped" in results:
        return "\n\n".join((*parts, f"The Tennessee Eastman plant: {results['skipped']}."))
    return "\n\n".join((*parts, *_plant(results)))


def _costs(costs: list[dict[str, Any]]) -> str:
    rows = []
    for entry in costs:
        learning, watching = entry["learning"]["best"], entry["watching"]["best"]
        ratio = watching / learning
        met = mark(ratio <= TIMES)
        rows.append((size(entry["n"], entry["k"]), number(learning), number(watching), f"{ratio:.2f}x", met))
    return table(("(n, k)", "learning", "watching", "ratio", f"target: at most {TIMES}x"), rows)


def _plant(results: dict[str, Any]) -> list[str]:
    found = results["plant"]
    visible = [i for i in range(1, plant.RUNS) if i not in plant.HIDDEN]
    means = {name: _mean(entry["detected"], visible) for name, entry in found.items()}
    delays = {
        name: _mean([800 if d is None else d for d in entry["delay"]], visible)
        for name, entry in found.items()
    }
    ours = {name: mean for name, mean in means.items() if name.startswith("ours")}
    rivals = {name: mean for name, mean in means.items() if name not in ours}
    best, worst = max(rivals, key=rivals.__getitem__), min(ours, key=ours.__getitem__)
    summary = (
        "Tennessee Eastman plant: trained on the normal run `train_00`, tested on all 21 faulty runs. "
        f"Everyone gets the line at which {plant.RATE:.0%} of the rows of the normal test run alarm. Share "
        "of rows that alarm after the onset of the fault, in the mean over the "
        f"{len(visible)} visible faults: ours "
        + ", ".join(f"{mean:.3f} ({name.removeprefix('ours, ')})" for name, mean in ours.items())
        + "; others "
        + ", ".join(f"{mean:.3f} ({name})" for name, mean in rivals.items())
        + f". Target: ours ahead: {mark(ours[worst] > rivals[best])}."
    )
    headings = ("fault", *found)
    rows: list[tuple[str, ...]] = []
    for i in range(1, plant.RUNS):
        hidden = " (hidden)" if i in plant.HIDDEN else ""
        cells = (f"{e['detected'][i - 1]:.3f}, {_rows(e['delay'][i - 1])}" for e in found.values())
        rows.append((f"{i}{hidden}", *cells))
    rows.append(("**mean of the visible**", *(f"{means[name]:.3f}, {delays[name]:.0f}" for name in found)))
    rows.append(
        ("false alarms before faults", *(f"{e['false alarms before faults']:.2%}" for e in found.values()))
    )
    own = ", ".join(f"{share:.2%} ({name})" for name, share in results["own"].items())
    return [
        summary,
        f"At our own limits, the share of rows of the normal test run that alarm, adaptive: {own}.",
        "Each cell: share of rows that alarm, and rows until the first alarm (800: none).",
        table(headings, rows),
    ]


def _mean(values: list[Any], faults: list[int]) -> float:
    return float(np.mean([values[i - 1] for i in faults]))


def _rows(delay: int | None) -> str:
    return "none" if delay is None else str(delay)


def draw(results: dict[str, Any]) -> Figure:
    """Detection by fault, if the plant was there, and the cost by size."""
    figure, axes = panels(1, 2, 12, 4.4)
    colours = (BLUE, SKY, GREEN, PURPLE, ORANGE, "0.2", "0.55")
    for colour, (name, entry) in zip(colours, results.get("plant", {}).items(), strict=False):
        axes[0].plot(range(1, plant.RUNS), entry["detected"], "o-", color=colour, label=name, ms=4, lw=1)
    axes[0].set(
        xlabel="fault", ylabel="share of rows that alarm", title="Tennessee Eastman, 1 % false alarms"
    )
    if results.get("plant"):
        axes[0].legend(frameon=False, fontsize=7)
    names = [size(entry["n"], entry["k"]) for entry in results["costs"]]
    ratios = [entry["watching"]["best"] / entry["learning"]["best"] for entry in results["costs"]]
    axes[1].bar(names, ratios, color=BLUE, width=0.5)
    axes[1].axhline(TIMES, color="k", lw=1)
    axes[1].set(xlabel="(n, k): inputs and outputs", ylabel="times learning alone", title="Cost of watching")
    return figure
