"""The drawing of a Hebbian/anti-Hebbian network: neurons, synapses, and the scalar that glia share."""

from __future__ import annotations

from typing import Any

import numpy as np

from .drawing import DARK, LOOKS, Axes, Figure, figure_of, lettered

Point = tuple[float, float]

INPUTS: list[Point] = [(0.0, y) for y in (3.6, 2.4, 1.2, 0.0)]
OUTPUTS: list[Point] = [(3.0, y) for y in (3.0, 1.8, 0.6)]
RADIUS = 0.27
GLIA = "#4d8f6f"
BROKEN: Any = (0, (2.2, 0.9))
"""The line of the shared scalar, which in grey looks like that of a synapse."""
SYNAPSES: tuple[Point, Point] = ((1.75, 0.45), (3.62, 0.95))
"""Points among the feed-forward and the lateral synapses, where the scalar is delivered."""
BOTTOM = -1.15


def draw_network() -> Figure:
    """Left to right: scale-dependent, input-output and squared-output."""
    figure, axes = figure_of(1, 3, 2.5)
    for axis, name in zip(axes, LOOKS, strict=True):
        axis.set(xlim=(-0.9, 4.9), ylim=(-1.7, 4.3), aspect="equal")
        axis.axis("off")
        _draw_neurons(axis, LOOKS[name].color, light=name == "squared-output")
        _draw_feedforward(axis)
        _draw_lateral(axis)
    words = "no shared scalar:\na constant $\\alpha$"
    axes[0].text(1.5, BOTTOM - 0.25, words, ha="center", va="top", fontsize=6.5, color="0.25")
    _draw_glia(axes[1], INPUTS, r"$\alpha\,\Vert x\Vert^2$", "input")
    _draw_glia(axes[2], OUTPUTS, r"$\alpha\,\Vert y\Vert^2$", "output")
    lettered(axes, list(LOOKS))
    figure.legend(handles=_keys(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def _draw_neurons(axis: Axes, color: str, *, light: bool) -> None:
    from matplotlib.patches import Circle

    for centers, names, face, ink in (
        (INPUTS, ("x_1", "x_2", "x_3", "x_n"), "0.95", DARK),
        (OUTPUTS, ("y_1", "y_2", "y_k"), color, DARK if light else "white"),
    ):
        for (x, y), name in zip(centers, names, strict=True):
            axis.add_patch(Circle((x, y), RADIUS, facecolor=face, edgecolor=DARK, zorder=3))
            axis.text(x, y - 0.02, f"${name}$", ha="center", va="center", zorder=4, color=ink)


def _draw_feedforward(axis: Axes) -> None:
    for start in INPUTS:
        for end in OUTPUTS:
            direction = np.subtract(end, start) / np.linalg.norm(np.subtract(end, start))
            rims = (np.add(start, RADIUS * direction), np.subtract(end, RADIUS * direction))
            _connect(axis, *rims, arrowstyle="-|>", color="0.6")
    axis.text(1.5, 4.0, "$W^{YX}$, Hebbian", ha="center", color="0.35")


def _draw_lateral(axis: Axes) -> None:
    """Connect every two outputs, with a dot at both ends: each inhibits the other."""
    for upper, lower, angle, bend in ((0, 1, -35, 0.45), (1, 2, -35, 0.45), (0, 2, 5, 0.8)):
        tilt = np.deg2rad(angle)
        out, into = ((RADIUS + 0.05) * np.array([np.cos(tilt), sign * np.sin(tilt)]) for sign in (1, -1))
        start, end = np.add(OUTPUTS[upper], out), np.add(OUTPUTS[lower], into)
        _connect(axis, start, end, arrowstyle="-", color=DARK, connectionstyle=f"arc3,rad={-bend}")
        axis.plot(*np.transpose([start, end]), "o", color=DARK, markersize=3.5, zorder=4)
    axis.text(3.0, 3.65, "$W^{YY}$, anti-Hebbian", ha="left", color=DARK)


def _draw_glia(axis: Axes, neurons: list[Point], symbol: str, of: str) -> None:
    """A cell around these neurons that sums their power and tells every synapse."""
    from matplotlib.patches import FancyBboxPatch

    x, top = neurons[0]
    box: Any = {"boxstyle": "round,pad=0.12", "facecolor": GLIA, "edgecolor": "none", "zorder": 0}
    axis.add_patch(FancyBboxPatch((x - 0.33, BOTTOM), 0.66, top + 0.33 - BOTTOM, alpha=0.35, **box))
    axis.text(x, BOTTOM + 0.12, symbol, ha="center", va="bottom", fontsize=6.5, zorder=4)
    for target, bend in zip(SYNAPSES, (0.3, 0.42), strict=True):
        side = 1 if x < target[0] else -1
        _connect(
            axis,
            np.array([x + side * 0.47, BOTTOM + 0.3]),
            np.array(target),
            arrowstyle="-|>",
            color=GLIA,
            linewidth=1.8,
            linestyle=BROKEN,
            connectionstyle=f"arc3,rad={bend * side}",
            zorder=5,
        )
    words = f"glia or extracellular space:\nsum of {of} power, to all synapses"
    axis.text(1.5, BOTTOM - 0.25, words, ha="center", va="top", fontsize=6.5, color="0.25")


def _connect(axis: Axes, start: Any, end: Any, **style: Any) -> None:
    from matplotlib.patches import FancyArrowPatch

    style = {"linewidth": 0.8, "mutation_scale": 7, "shrinkA": 0, "shrinkB": 0, "zorder": 2, **style}
    axis.add_patch(FancyArrowPatch(tuple(start), tuple(end), **style))


def _keys() -> list[Any]:
    from matplotlib.lines import Line2D

    styles: dict[str, dict[str, Any]] = {
        "feed-forward synapse, excites": {"color": "0.6", "marker": ">", "markersize": 4, "linewidth": 0.8},
        "lateral synapses, inhibit both ways": {
            "color": DARK,
            "marker": "o",
            "markersize": 3.5,
            "linewidth": 0.8,
        },
        "one scalar, shared by all synapses": {"color": GLIA, "linewidth": 1.8, "ls": BROKEN},
    }
    return [Line2D([], [], label=label, **style) for label, style in styles.items()]
