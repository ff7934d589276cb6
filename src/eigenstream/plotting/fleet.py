"""A picture of a fleet: all keys at a glance, those that matter most first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..keyed.overview import LEAST, MOST, KeysAtOnce
from .axes import Times, axis_label, legend_below, mosaic, short
from .control import draw_trace, trace_handles
from .palette import BLUE, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..keyed.bank_file import Key
    from ..model.expectation import Trace

NAMED = 24
"""Keys that have a line and a name; of all others there is the image."""


def draw_fleet(
    glance: KeysAtOnce, title: str, alarm: tuple[Key, Trace] | None = None, times: Times | None = None
) -> Figure:
    """A figure of the keys with an alarm on or the largest severity or rank, and an image of all keys.

    Parameters
    ----------
    glance
        Of `eigenstream.keyed.overview.Overview`.
    title
        The name of the stream.
    alarm
        A key, and the inputs to blame around one of its alarms, which are drawn below.
    times
        A function from row counts of that key to seconds since 1970: their axis then shows times.
    """
    order = glance.order
    below = [] if alarm is None else [f"trace {i}" for i in range(len(alarm[1].names))]
    ratios = {"width_ratios": (1.5, 1), "height_ratios": [8, *[1.9] * len(below)]}
    places = [["lines", "image"], *([name, name] for name in below)]
    figure, axes = mosaic(places, 12, 8 + 1.9 * len(below), **ratios)
    _draw_lines(axes["lines"], glance, order[:NAMED])
    _draw_image(axes["image"], glance, order)
    if alarm is not None:
        _draw_traces([axes[name] for name in below], *alarm, times)
        legend_below(figure, trace_handles())
    on = int(np.count_nonzero(glance.on))
    number, watched = int(glance.events.sum()), glance.of == "severity"
    many = "" if number == 1 else "s"
    happened = f"{on:,} on alarm, {number:,} alarm{many}" if watched else f"{number:,} change{many} of rank"
    said = f"{len(order):,} keys, {happened}"
    figure.suptitle(f"{title}: {said}", parse_math=False)
    return figure


def _draw_traces(axes: list[Axes], key: Key, trace: Trace, times: Times | None) -> None:
    """The inputs to blame for an alarm of one key."""
    for number, axis in enumerate(axes):
        draw_trace(axis, trace, number, times)
        axis.set_xlabel(axis_label(times, "rows of the key") if number + 1 == len(axes) else "")
    title = f"{short(key)}: inputs to blame for the alarm at {trace.at}"
    axes[0].set_title(title, fontsize="medium", parse_math=False)


def _draw_lines(axis: Axes, glance: KeysAtOnce, order: np.ndarray) -> None:
    """Severity or rank over the rows of each key, one line above the other."""
    labels, ranks = [], glance.of == "rank"
    for place, number in enumerate(order.tolist()):
        past = glance.past[number]
        shown = past > 0
        most = max(int(past.max()) - 1, 1) if ranks else 254
        height = 0.9 * (past[shown].astype(np.float64) - 1) / most
        along = np.linspace(0, 1, max(int(shown.sum()), 1))[: len(height)]
        axis.axhline(-place + (0 if ranks else 0.45), color="0.85", linewidth=0.6, zorder=0)
        color = RED if glance.on[number] else BLUE
        axis.plot(along, height - place, color=color, linewidth=1.3)
        now = f"{glance.now[number]:.3g}" if glance.rows[number] else "no rows"
        labels.append(f"{short(glance.keys[number])}  {now}")
    axis.set_yticks([-place + 0.3 for place in range(len(labels))], labels=labels, parse_math=False)
    axis.set(xticks=[], ylim=(-len(labels) + 0.8, 1.1), xlabel="rows of the key, the oldest first")
    title = "rank (grey: 0)" if ranks else "severity: alarms first (grey: the limit)"
    axis.set_title(title, fontsize="medium")
    axis.grid(visible=False)


def _draw_image(axis: Axes, glance: KeysAtOnce, order: np.ndarray) -> None:
    """One line of the image per key, in the same order."""
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.ticker import MaxNLocator

    values, ranks = glance.levels[order], glance.of == "rank"
    norm = Normalize(0, max(float(np.nanmax(values, initial=1)), 1)) if ranks else LogNorm(LEAST, MOST)
    drawn = axis.imshow(values, aspect="auto", interpolation="nearest", cmap="cividis", norm=norm)
    label = "rank" if ranks else "severity (above 1: a limit is exceeded)"
    axis.figure.colorbar(drawn, ax=axis, label=label, pad=0.02)
    axis.set(xticks=[], xlabel="rows of the key", ylabel="keys, in this order")
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_title("all keys", fontsize="medium")
    axis.grid(visible=False)
