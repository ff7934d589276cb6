"""Pictures: colours that the colour-blind can tell apart, and figures that need no screen.

Needs the extra ``plot`` (matplotlib).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from .history import ControlHistory, SpectrumHistory
from .palette import BLACK as BLACK
from .palette import BLUE as BLUE
from .palette import GREEN as GREEN
from .palette import ORANGE as ORANGE
from .palette import PURPLE as PURPLE
from .palette import RED as RED
from .palette import SKY as SKY
from .palette import YELLOW as YELLOW


def panels(rows: int, columns: int, width: float, height: float, **layout: Any) -> tuple[Figure, list[Axes]]:
    """A figure of this size in inches and its panels in reading order, with a light grid."""
    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, **layout).flat)
    for axis in axes:
        axis.grid(color="0.9", linewidth=0.8)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes


SHOWN = {"t2": "T²", "spe": "SPE", "distance": "distance"}
"""What the statistics of a monitor are called in pictures."""


def draw_control(
    history: ControlHistory, title: str, times: Callable[[NDArray[Any]], NDArray[np.float64]] | None = None
) -> Figure:
    """Control charts: the statistics with their limits, stretches with alarms shaded; parameters as below."""
    figure, axes = panels(3, 1, 10, 8, sharex=True)
    rows: NDArray[Any] = history.row
    ends: NDArray[Any] = np.append(rows[1:], rows[-1:] + np.diff(rows[-2:], append=rows[-1:] + 1)[:1])
    if times is not None:
        rows, ends = ((times(one + 1) * 1e3).astype("datetime64[ms]") for one in (rows, ends))
    for i, (axis, name) in enumerate(zip(axes, SHOWN.values(), strict=True)):
        statistic, limit = history.chart(i)
        axis.plot(rows, statistic, color=BLUE, linewidth=1.2)
        axis.plot(rows, limit, color=RED, linewidth=1.5, linestyle="--")
        axis.set(yscale="log", ylabel=name, xlim=(rows[0], ends[-1]))
        for stretch in _stretches(history.alarm):
            axis.axvspan(rows[stretch[0]], ends[stretch[-1]], color=ORANGE, alpha=0.3, linewidth=0)
    axes[0].set_title(title, parse_math=False)  # a name with $ in it is no formula
    axes[-1].set(xlabel="rows" if times is None else "time (UTC)")
    handles = [
        Line2D([], [], color=BLUE, label="largest of each stretch"),
        Line2D([], [], color=RED, linestyle="--", label="limit"),
        Patch(color=ORANGE, alpha=0.3, label="alarm"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _stretches(alarm: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """Positions that follow each other and alarm."""
    on = np.flatnonzero(alarm)
    return np.split(on, np.flatnonzero(np.diff(on) > 1) + 1) if len(on) else []


def draw_history(
    history: SpectrumHistory, title: str, times: Callable[[NDArray[Any]], NDArray[np.float64]] | None = None
) -> Figure:
    """The spectrum over time with its threshold, and the rank below.

    Parameters
    ----------
    history, title
        What to draw, and what to call it.
    times
        When samples were taken, in seconds since 1970: the axis shows that instead of sample counts.
    """
    figure, (spectrum, rank) = panels(2, 1, 10, 6, height_ratios=(3, 1), sharex=True)
    sample: NDArray[Any] = history.sample
    if times is not None:
        sample = (times(sample) * 1e3).astype("datetime64[ms]")
    threshold = np.where(history.threshold > 0, history.threshold, np.nan)
    known = np.where(history.variances > 0, history.variances, np.nan)
    kept = np.where(np.arange(known.shape[1]) < history.rank[:, None], known, np.nan)
    rest = np.where(history.rank < known.shape[1], known[:, -1], np.nan)
    spectrum.plot(sample, rest, color="0.6", linewidth=1.5)
    spectrum.plot(sample, kept, color=BLUE, linewidth=1.8)
    spectrum.plot(sample, threshold, color=RED, linewidth=1.5, linestyle="--")
    spectrum.set(yscale="log", ylabel="variance of the input")
    spectrum.set_title(title, parse_math=False)  # a name with $ in it is no formula
    handles = [
        Line2D([], [], color=BLUE, label="kept"),
        Line2D([], [], color="0.6", label="the rest, mean"),
        Line2D([], [], color=RED, linestyle="--", label="threshold"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    rank.fill_between(sample, history.rank, step="post", color=BLUE, alpha=0.15, linewidth=0)
    rank.step(sample, history.rank, where="post", color=BLUE, linewidth=1.8)
    rank.set(
        xlabel="samples" if times is None else "time (UTC)",
        ylabel="rank",
        ylim=(0, max(history.rank.max(initial=1) + 1, 2)),
    )
    rank.yaxis.set_major_locator(MaxNLocator(integer=True))
    for axis in (spectrum, rank):
        for change in sample[1:][np.diff(history.rank) != 0]:
            axis.axvline(change, color="0.5", linewidth=0.8, linestyle=":", zorder=0)
    return figure
