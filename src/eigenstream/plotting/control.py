"""Pictures of a monitor: control charts, and the inputs to blame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.expectation import BAND, Trace
from ..model.history import STATISTIC_NAMES, ControlHistory
from .axes import (
    BrokenLine,
    Times,
    axis_label,
    given_or_new,
    legend_below,
    legend_inside,
    logarithmic,
    on_axis,
    panels,
    short,
)
from .palette import BLUE, ORANGE, RED

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..monitoring import MonitoredModel, Verdicts

    Watched: TypeAlias = MonitoredModel | ControlHistory | Verdicts | Any

OF_A_ROW = ("t2", "spe", "distance")
"""Statistics whose contributions of inputs are drawn: those of a row alone, and of more than one input."""
CHARTS = {**STATISTIC_NAMES, "severity": "severity"}
"""Titles of charts: the statistics, and the largest ratio of one to its limit."""


class Chart(NamedTuple):
    """One control chart, row by row or stretch by stretch."""

    begins: NDArray[np.int64]
    """The first row of each stretch (m)."""
    ends: NDArray[np.int64]
    """The first row after it (m)."""
    statistic: NDArray[np.float64]
    limit: NDArray[np.float64]
    alarm: NDArray[np.bool_]
    meaning: str
    """Meaning of each value."""


def plot_control_chart(
    monitor: Watched, ax: Axes | None = None, *, statistic: str = "severity", times: Times | None = None
) -> Axes:
    """A statistic of a stream with its limit; where there was an alarm, the background is shaded.

    Parameters
    ----------
    monitor
        A monitor, of which the whole stream is drawn, or the verdicts that `StreamMonitor.learn_many` or
        `StreamMonitor.judge` returned, of which each row is drawn.
    ax
        Where to draw; a new figure if None.
    statistic
        ``"t2"``, ``"spe"``, ``"distance"``, or ``"severity"``: the largest ratio of one of them to its limit.
    times
        A function from row counts to seconds since 1970: the axis then shows times.

    Examples
    --------
    >>> from eigenstream import StreamMonitor, plotting, streams
    >>> monitor = StreamMonitor()
    >>> for batch in streams.plant(2000, random_state=0):
    ...     verdicts = monitor.learn_many(batch)
    >>> whole, last = plotting.plot_control_chart(monitor), plotting.plot_control_chart(verdicts)
    """
    if statistic not in CHARTS:
        raise ValueError(f"statistic must be one of {', '.join(map(repr, CHARTS))}, got {statistic!r}")
    chart = _chart(monitor, statistic)
    axis = given_or_new(ax, height=3)
    _draw_chart(axis, chart, CHARTS[statistic], times)
    legend_inside(axis, _handles(chart))
    return axis


def draw_control(
    monitor: Watched, title: str, times: Times | None = None, trace: Trace | None = None
) -> Figure:
    """A figure of control charts of the statistics; parameters as of `plot_control_chart`.

    With a ``trace``, those of the inputs to blame for one alarm stand below them.
    """
    charts, inputs = len(STATISTIC_NAMES), 0 if trace is None else len(trace.names)
    figure, axes = panels(charts + inputs, 1, 10, 2 + 1.9 * (charts + inputs))
    for axis, (statistic, name) in zip(axes[:charts], STATISTIC_NAMES.items(), strict=True):
        chart = _chart(monitor, statistic)
        _draw_chart(axis, chart, name, times)
        axis.sharex(axes[0])
    handles = _handles(chart)
    for axis in axes[: charts - 1]:
        axis.tick_params(labelbottom=False)
        axis.set_xlabel("")
    if trace is not None:
        for number, axis in enumerate(axes[charts:]):
            draw_trace(axis, trace, number, times)
            axis.set_xlabel("" if number + 1 < inputs else axis.get_xlabel())
        axes[charts].set_title(f"inputs to blame for the alarm at {trace.at}", fontsize="medium")
        handles += trace_handles()
    axes[0].set_title(title, parse_math=False)  # a name with $ in it is no formula
    legend_below(figure, handles)
    return figure


def plot_trace(trace: Trace, ax: Axes | None = None, *, number: int = 0, times: Times | None = None) -> Axes:
    """An input to blame around an alarm: its values, what they should have been, and the usual band.

    Parameters
    ----------
    trace
        Of `eigenstream.jobs.traces.Traces`.
    ax
        Where to draw; a new figure if None.
    number
        Which of its inputs: 0 is the one to blame most.
    times
        A function from row counts to seconds since 1970: the axis then shows times.
    """
    axis = given_or_new(ax, height=2.5)
    draw_trace(axis, trace, number, times)
    legend_inside(axis, trace_handles())
    return axis


def draw_trace(axis: Axes, trace: Trace, number: int, times: Times | None) -> None:
    """Draw one of the inputs of a trace on this axis."""
    counts = trace.rows + (times is not None)
    line, expected = BrokenLine(counts, times), trace.expected[:, number]
    low, high = (expected + sign * BAND * trace.deviation[number] for sign in (-1, 1))
    place, below = line.through(low)
    axis.fill_between(place, below, line.through(high)[1], color=BLUE, alpha=0.15, linewidth=0)
    axis.plot(*line.through(expected), color=BLUE, linewidth=1.2, linestyle="--")
    axis.plot(*line.through(trace.values[:, number]), color=RED, linewidth=1.4)
    last = min(trace.last, int(trace.rows[-1]))
    for stretch in line.stretches(trace.began + (times is not None), last + 1 + (times is not None)):
        axis.axvspan(*stretch, color=ORANGE, alpha=0.3, linewidth=0)
    axis.set(xlabel=axis_label(times))
    axis.set_ylabel(short(trace.names[number]), parse_math=False)


def trace_handles() -> list[Artist]:
    """Entries of a legend for the lines of a trace."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return [
        Line2D([], [], color=RED, label="value"),
        Line2D([], [], color=BLUE, linestyle="--", label="should have been"),
        Patch(color=BLUE, alpha=0.15, label="usual band"),
    ]


def plot_contributions(
    monitor: Any,
    ax: Axes | None = None,
    *,
    row: ArrayLike | None = None,
    statistic: str | None = None,
    count: int = 10,
) -> Axes:
    """The inputs that add most to a statistic, with their shares in it.

    Parameters
    ----------
    monitor
        A monitor that has seen something.
    ax
        Where to draw; a new figure if None.
    row
        The row to explain, by what is known now; None: the peak of the last alarm, as it was explained then.
    statistic
        ``"t2"``, ``"spe"`` or ``"distance"``; None: the one that exceeds its limit most.
    count
        Most inputs to show.
    """
    shares, label = _of_last_alarm(monitor) if row is None else _of_row(monitor, row, statistic)
    largest = sorted(shares, key=lambda pair: pair[1], reverse=True)[:count]
    axis = given_or_new(ax, height=1 + 0.35 * len(largest))
    places = np.arange(len(largest))
    axis.barh(places, [share for _, share in largest], height=0.7, color=ORANGE)
    axis.set_yticks(places, labels=[short(name) for name, _ in largest], parse_math=False)
    axis.invert_yaxis()
    axis.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axis.set(xlabel=label, xlim=(0, None))
    axis.grid(visible=False, axis="y")
    return axis


def _of_last_alarm(monitor: Any) -> tuple[list[tuple[str, float]], str]:
    if not monitor.alarms_:
        raise ValueError("there was no alarm: say which row to explain with row=...")
    alarm = monitor.alarms_[-1]
    return list(alarm.contributors), f"share of {CHARTS[alarm.statistic]} at row {alarm.peak_row:,}"


def _of_row(monitor: Any, row: ArrayLike, statistic: str | None) -> tuple[list[tuple[str, float]], str]:
    X: Any = row.to_frame().T if hasattr(row, "to_frame") else row  # a row of a data frame keeps its names
    X = X if np.ndim(X) == 2 else np.asarray(X)[None]
    if len(X) != 1:
        raise ValueError(f"row must be one row of the input, got {len(X)} of them")
    if statistic is None:
        verdict = monitor.judge(X).one(0)
        ratios = {name: getattr(verdict, name) / getattr(verdict, f"{name}_limit") for name in OF_A_ROW}
        statistic = max(ratios, key=ratios.__getitem__)
    if statistic not in STATISTIC_NAMES:
        expected = ", ".join(map(repr, STATISTIC_NAMES))
        raise ValueError(f"statistic must be one of {expected}, got {statistic!r}")
    added = monitor.contributions(X)[statistic][0]
    if not added.sum() > 0:
        raise ValueError("the monitor knows too little to explain this row: let it see more rows first")
    names = monitor.model_.input_names_[: len(added)]
    return list(zip(names, added / added.sum(), strict=True)), f"share of {CHARTS[statistic]}"


def _chart(monitor: Any, statistic: str) -> Chart:
    """One chart of a monitor, of its history, or of verdicts."""
    if hasattr(monitor, "since"):  # verdicts, row by row
        values = np.asarray(getattr(monitor, statistic), dtype=np.float64)
        limits = np.asarray(getattr(monitor, f"{statistic}_limit", np.ones(len(values))))
        shown, limit = np.where(values > 0, values, np.nan), np.where(np.isfinite(limits), limits, np.nan)
        return Chart(monitor.row, monitor.row + 1, shown, limit, monitor.alarm, "each row")
    history = monitor if isinstance(monitor, ControlHistory) else monitor.control_history_
    rows = history.row
    ends = np.append(rows[1:], rows[-1:] + np.diff(rows[-2:], append=rows[-1:] + 1)[:1])
    shown, limit = history.chart(statistic)
    return Chart(rows, ends, shown, limit, history.alarm, "largest per interval")


def _draw_chart(axis: Axes, chart: Chart, name: str, times: Times | None) -> None:
    # A row has the time of its count, which is one more than its number.
    begins, ends = (edge + (times is not None) for edge in (chart.begins, chart.ends))
    line = BrokenLine(begins, times)
    axis.plot(*line.through(chart.statistic), color=BLUE, linewidth=1.2)
    axis.plot(*line.through(chart.limit), color=RED, linewidth=1.5, linestyle="--")
    for alarm in _stretches(chart.alarm):
        for stretch in line.stretches(begins[alarm[0]], ends[alarm[-1]]):
            axis.axvspan(*stretch, color=ORANGE, alpha=0.3, linewidth=0)
    logarithmic(axis)
    axis.set(ylabel=name, xlabel=axis_label(times))
    if len(begins):
        axis.set_xlim(*on_axis(np.array([begins[0], ends[-1]]), times))


def _stretches(alarm: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """Positions that follow each other and alarm."""
    on = np.flatnonzero(alarm)
    return np.split(on, np.flatnonzero(np.diff(on) > 1) + 1) if len(on) else []


def _handles(chart: Chart) -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return [
        Line2D([], [], color=BLUE, label=chart.meaning),
        Line2D([], [], color=RED, linestyle="--", label="limit"),
        Patch(color=ORANGE, alpha=0.3, label="alarm"),
    ]
