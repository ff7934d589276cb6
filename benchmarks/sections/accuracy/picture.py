"""Errors by case on a logarithmic scale."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from benchmarks.sections.accuracy.methods import CCIPCA, FSM, INCREMENTAL, OURS
from benchmarks.sections.accuracy.report import figure as figure_of
from eigenstream.plotting import BLACK, BLUE, ORANGE, PURPLE, panels

MARKERS = {OURS: ("o", BLACK), INCREMENTAL: ("s", PURPLE), FSM: ("^", BLUE), CCIPCA: ("D", ORANGE)}
GAP = 0.6
"""Between data sets, in cases."""
EXACT = 1e-7
"""What is smaller is drawn here, at the lower edge."""


def draw(results: dict[str, Any]) -> Figure:
    """Medians as markers, from the least to the most over the seeds as lines."""
    cases = results["cases"]
    names = list(dict.fromkeys(case["data"] for case in cases))
    places = [i + GAP * names.index(case["data"]) for i, case in enumerate(cases)]
    figure, (axis,) = panels(1, 1, 12, 5)
    for offset, (method, (marker, colour)) in zip((-0.3, -0.1, 0.1, 0.3), MARKERS.items(), strict=True):
        x = [place + offset for place in places]
        spread = [case["methods"][method]["error"] for case in cases]
        low, high = ([max(s[end], EXACT) for s in spread] for end in ("min", "max"))
        axis.vlines(x, low, high, colour, linewidth=1, alpha=0.6)
        y = [max(figure_of(case, method), EXACT) for case in cases]
        axis.plot(x, y, marker, color=colour, markersize=7 if method == OURS else 5.5, label=method)
    axis.set_yscale("log")
    axis.set_ylim(bottom=EXACT / 2)
    axis.grid(visible=False, axis="x")
    axis.set_xticks(places, [f"{case['m']}" for case in cases])
    for name in names:
        mine = [place for place, case in zip(places, cases, strict=True) if case["data"] == name]
        middle = sum(mine) / len(mine)
        axis.annotate(name, (middle, 0), (0, -32), ("data", "axes fraction"), "offset points", ha="center")
    axis.set_xlabel("axes read off, m", labelpad=20)
    axis.set_ylabel(f"relative subspace error (at the bottom: below {EXACT:.0e})")
    axis.set_title(f"One shuffled pass, capacity 2m: median and range over {results['seeds']} shuffles")
    figure.legend(loc="outside right upper", frameon=False)
    return figure
