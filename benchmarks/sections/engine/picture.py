"""Times by size, and speed-ups beside their targets."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.markdown import size
from benchmarks.sections.engine.report import KINDS, speed_up
from eigenstream.plotting import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY, panels

COLOURS = {
    "eigenstream": BLACK,
    "FSM": BLUE,
    "CCIPCA": ORANGE,
    "Oja": GREEN,
    "IncrementalPCA, batch 1": RED,
    "IncrementalPCA, batch 100": PURPLE,
    "IncrementalPCA, batch 5k": SKY,
}
LINES = {"ours": "o-", "installable": "s--", "compiled": "^-"}


def draw(results: dict[str, Any]) -> Figure:
    """Lines for the contenders above, bars for the ratios below."""
    contests = results["contests"]
    figure, (times, ratios) = panels(2, 1, 10, 9)
    labels = [size(c["n"], c["k"]) for c in contests]
    for axis in (times, ratios):
        axis.set_xticks(range(len(contests)), labels)
        axis.set_xlabel("(n, k): inputs and outputs")
    _draw_times(times, contests)
    _draw_ratios(ratios, contests)
    return figure


def _draw_times(axis: Axes, contests: list[dict[str, Any]]) -> None:
    for i, first in enumerate(contests[0]["contenders"]):
        name, kind = first["name"], first["kind"]
        heights = [contest["contenders"][i]["one thread"]["best"] for contest in contests]
        label = name if kind == "ours" else f"{name} ({kind})"
        width = 2.8 if kind == "ours" else 1.4
        axis.plot(heights, LINES[kind], color=COLOURS[name], linewidth=width, label=label, markersize=5)
    axis.set_yscale("log")
    axis.set(ylabel="microseconds per sample", title="Time per sample, one thread, float64")
    axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)


def _draw_ratios(axis: Axes, contests: list[dict[str, Any]]) -> None:
    for offset, kind, colour in zip((-0.2, 0.2), KINDS, (SKY, ORANGE), strict=True):
        places = [i + offset for i in range(len(contests))]
        ratios = [speed_up(contest, kind) for contest in contests]
        targets = [contest["targets"][kind] for contest in contests]
        axis.bar(places, [r - 1 for r in ratios], 0.36, bottom=1, color=colour, label=f"fastest {kind} peer")
        label = "target" if kind == KINDS[0] else "_target"
        axis.hlines(targets, [p - 0.19 for p in places], [p + 0.19 for p in places], BLACK, label=label)
        for place, ratio, target in zip(places, ratios, targets, strict=True):
            top = max(ratio, target, 1) * 1.03
            axis.annotate(f"{ratio:.2g}", (place, top), ha="center", va="bottom", fontsize=9)
    axis.set_yscale("log")
    axis.axhline(1, color="0.5", linewidth=0.8)
    axis.set(
        ylabel="peer's time over ours (above 1: ours is faster)",
        title="Ours against the fastest peer of each kind",
    )
    axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
