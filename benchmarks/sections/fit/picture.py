"""Speed-ups of `fit` by size, and seconds of first uses."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.sections.fit.grid import INCREMENTAL, OURS, PLAIN
from benchmarks.sections.fit.report import ratio
from benchmarks.sections.fit.settings import LEAST, MEDIAN, RUNS, WIDE
from eigenstream.plotting import BLACK, BLUE, ORANGE, PURPLE, SKY, panels


def draw(results: dict[str, Any]) -> Figure:
    """Bars for the ratios above, for the processes below."""
    figure, (ratios, processes) = panels(2, 1, 12, 8)
    _draw_ratios(ratios, results["grid"])
    _draw_processes(processes, results)
    return figure


def _draw_ratios(axis: Axes, grid: list[dict[str, Any]]) -> None:
    for offset, name, colour in zip((-0.2, 0.2), OURS, (BLUE, SKY), strict=True):
        for place, entry in enumerate(grid):
            height, label = ratio(entry, name), name if not place else None
            axis.bar(place + offset, height - 1, 0.36, bottom=1, color=colour, label=label)
            above = max(height, 1) * 1.04
            axis.annotate(f"{height:.2g}", (place + offset, above), ha="center", va="bottom", fontsize=8)
    for place, entry in enumerate(grid):
        target = WIDE.get((entry["n"], entry["k"]), LEAST)[0]
        axis.hlines(target, place - 0.4, place + 0.4, BLACK, label="target" if not place else None)
    axis.axhline(MEDIAN[0], color=ORANGE, linestyle="--", label="target of the median")
    axis.set_yscale("log")
    axis.grid(visible=False, axis="x")
    labels = [f"{entry['n']}\n{entry['k']}\n{entry['T']:,}" for entry in grid]
    axis.set_xticks(range(len(grid)), labels, fontsize=8)
    axis.set(xlabel="inputs n, components k, rows", ylabel="IncrementalPCA's time over ours")
    axis.set_title("fit against IncrementalPCA, one thread (above 1: ours is faster)")
    axis.margins(y=0.12)
    axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)


def _draw_processes(axis: Axes, results: dict[str, Any]) -> None:
    bars = [
        (f"{name}, digits,\n{threads}", uses[name]["process"]["best"], colour, None)
        for threads, uses in results["first use"].items()
        for name, colour in ((PLAIN, BLUE), (INCREMENTAL, PURPLE))
    ]
    bars += [
        (f"eigenstream run,\n{entry['rows']:,} rows", entry["seconds"]["best"], SKY, limit)
        for entry, limit in zip(results["runs"], RUNS.values(), strict=True)
    ]
    for place, (_, height, colour, limit) in enumerate(bars):
        axis.bar(place, height, 0.6, color=colour)
        axis.annotate(f"{height:.2f}", (place, height), (0, 2), textcoords="offset points", ha="center")
        if limit is not None:
            axis.hlines(limit, place - 0.35, place + 0.35, BLACK)
    axis.set_xticks(range(len(bars)), [label for label, *_ in bars], fontsize=8)
    axis.grid(visible=False, axis="x")
    axis.set(ylabel="seconds, best", title="New processes, from start to end (lines: targets)")
    axis.margins(y=0.12)
