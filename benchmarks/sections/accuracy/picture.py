"""Errors by case on a logarithmic scale."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.sections.accuracy.methods import BYTES, CCIPCA, DOUBLE, FSM, NETWORK, OURS, SAME, SUBSPACE
from eigenstream.plotting import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY, panels

MARKERS = {
    OURS: ("o", BLACK),
    SUBSPACE: ("o", RED),
    SAME: ("s", PURPLE),
    DOUBLE: ("D", SKY),
    BYTES: ("v", BLUE),
    NETWORK: ("^", GREEN),
    FSM: ("x", ORANGE),
    CCIPCA: ("+", ORANGE),
}
GAP = 0.6
"""Between data sets, in cases."""
EXACT = 1e-12
"""What is smaller is drawn here, at the lower edge."""


def draw(results: dict[str, Any]) -> Figure:
    """One panel per order of the rows: medians as markers, from the least to the largest error as lines."""
    figure, axes = panels(2, 1, 12, 9)
    titles = {
        "own": "Rows in their own order",
        "shuffled": f"Rows shuffled: median and range (shuffles: {results['seeds']})",
    }
    for axis, (order, title) in zip(axes, titles.items(), strict=True):
        _draw_order(axis, [case for case in results["cases"] if case["order"] == order])
        axis.set_title(title)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False)
    return figure


def _draw_order(axis: Axes, cases: list[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(case["data"] for case in cases))
    places = [i + GAP * names.index(case["data"]) for i, case in enumerate(cases)]
    for i, (method, (marker, colour)) in enumerate(MARKERS.items()):
        drawn = [(x, case) for x, case in zip(places, cases, strict=True) if _differs(case, method)]
        x = [place + 0.1 * (i - (len(MARKERS) - 1) / 2) for place, _ in drawn]
        errors = [case["methods"][method]["errors"][str(case["m"])] for _, case in drawn]
        low, middle, high = ([max(e[which], EXACT) for e in errors] for which in ("min", "median", "max"))
        axis.vlines(x, low, high, colour, linewidth=1, alpha=0.6)
        axis.plot(x, middle, marker, color=colour, markersize=6, label=method)
    axis.set_yscale("log")
    axis.set_ylim(EXACT / 4, 2)
    axis.grid(visible=False, axis="x")
    axis.set_xticks(places, [f"{case['m']}" for case in cases])
    for name in names:
        mine = [place for place, case in zip(places, cases, strict=True) if case["data"] == name]
        middle_of = sum(mine) / len(mine)
        axis.annotate(name, (middle_of, 0), (0, -30), ("data", "axes fraction"), "offset points", ha="center")
    axis.set_xlabel("components asked for, m", labelpad=18)
    axis.set_ylabel("error of the top m axes (bottom: zero)")


def _differs(case: dict[str, Any], method: str) -> bool:
    """Whether a method is another than ours by default."""
    return method != SUBSPACE or case["methods"][OURS]["solver"] != "subspace"
