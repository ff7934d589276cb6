"""The charts of a model that learns, those of a monitor, and the way of a snapshot into them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, FixedTicker, Range1d
from bokeh.models.annotations.geometry import Span
from bokeh.plotting import figure as Figure
from numpy.typing import ArrayLike, NDArray

from ..io.durations import is_date
from ..model.expectation import BAND, Trace
from ..model.history import STATISTIC_NAMES
from ..plotting.axes import BrokenLine
from . import figures
from .board import MOST_COMPONENTS, MOST_TRACKS, Loadings, Snapshot
from .figures import HEIGHTS, LOADINGS, TRACKS

MOST_NAMES = 24
"""Most inputs whose names fit under the components."""
MOST_TRACES = 3
"""Inputs to blame whose traces are shown."""
TRACED = ("sample", "value", "expected", "low", "high")
"""Columns of a trace."""
LEAST_ZOOM = 100
"""Rows on either side of a short alarm that is zoomed to: enough to see what is usual."""


class ChartSet(ABC):
    """Abstract: figures over one axis of samples or times, and the data that a snapshot puts into them.

    Data do not go through the figures' own sources: they travel in one message, which page.js puts into all
    of them at once, so that each chart is painted once.

    Parameters
    ----------
    timed
        As in `Page`.
    """

    sources: dict[str, ColumnDataSource]
    """Data of the figures, by name."""
    over_samples: tuple[Figure, ...]
    """The figures that share the axis of samples."""
    timed_figures: tuple[Figure, ...]
    """Those and others that show times, if any are known."""
    figures: tuple[Figure, ...]
    """All of them."""

    def __init__(self, timed: bool) -> None:
        self.snapshot: Snapshot | None = None
        """The one shown."""
        self.timed = timed
        self.dated: bool | None = None
        """True if times are dates, False if they count from some start; None until the first has come."""
        self.samples = Range1d(start=0, end=1)
        self.ranges: dict[str, Any] = {"samples": self.samples}
        """Ranges that `frame` sets, by name."""
        self.here = Span(dimension="height", line_dash="dotted", line_color="#8795a6")
        """The line that follows the pointer in all figures over samples."""

    @abstractmethod
    def show(self, snapshot: Snapshot) -> dict[str, dict[str, Any]]:
        """The columns that a browser puts into its sources to show this; those left out stay as they are."""

    def take(self, snapshot: Snapshot) -> None:
        """Take this for the one shown; the first with times says what the axes show."""
        self.snapshot = snapshot
        if self.timed and self.dated is None and len(snapshot.times):
            self.dated = is_date(float(snapshot.times[0, 1]))
            for figure in self.timed_figures:
                figures.show_times(figure, self.dated)

    def scale(self, log: bool) -> None:  # noqa: B027
        """Show variances on a logarithmic scale, or on a linear one."""

    def whole(self) -> None:  # noqa: B027
        """Show everything on axes other than that of samples."""

    def frame(self, stretch: str) -> dict[str, tuple[float, float]]:
        """Ranges that show the whole stream, or its recent part; none where the user has chosen one."""
        if self.snapshot is None or stretch == "own":
            return {}
        end = max(self.snapshot.now.sample, 1)
        start = min(self.snapshot.recent, int(0.9 * end)) if stretch == "recent" else 0
        left, right = self.along([start, end])
        return {"samples": (float(left - 0.01 * (right - left)), float(right + 0.01 * (right - left)))}

    def along(self, samples: ArrayLike) -> NDArray[np.float64]:
        """Places of samples on the axis: their counts, or their times, those of dates in milliseconds."""
        counts = np.asarray(samples, dtype=np.float64)
        known = np.zeros((0, 2)) if self.snapshot is None else self.snapshot.times
        if not self.timed or not len(known):
            return counts
        return np.asarray((1e3 if self.dated else 1.0) * np.interp(counts, known[:, 0], known[:, 1]))

    def broken(
        self, counts: NDArray[Any], values: NDArray[Any], *, held: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Places of samples, and their values in columns, with NaN at pauses: lines break there."""
        if not self.timed or self.snapshot is None or not len(self.snapshot.times):
            return np.asarray(counts, dtype=np.float64), values
        known = self.snapshot.times
        line = BrokenLine(np.asarray(counts, np.int64), lambda at: np.interp(at, known[:, 0], known[:, 1]))
        places, values = line.through(values, held=held)
        dates = places.astype("datetime64[ms]") if self.dated else places
        return dates.astype(np.float64), values

    @property
    def place(self) -> tuple[str, str]:
        """Line of a tooltip that names the place on the axis."""
        return figures.SAMPLE if self.dated is None else figures.DATE if self.dated else figures.TIME

    def at_rows(self, rows: ArrayLike) -> NDArray[np.float64]:
        """Places of rows, which are numbered from 0: row 0 was taken when the first sample was."""
        return self.along(np.asarray(rows, dtype=np.float64) + self.timed)


def source(*columns: str) -> ColumnDataSource:
    """A source with these columns and one row: a chart cannot choose its range by nothing at all."""
    return ColumnDataSource({name: [1.0] for name in columns})


def numbers(*columns: NDArray[Any]) -> list[NDArray[np.float64]]:
    """Columns in the only type that a browser takes sample counts in as they are."""
    return [np.asarray(column, dtype=np.float64) for column in columns]


class Charts(ChartSet):
    """Spectrum, rank, pace and components.

    Parameters
    ----------
    feature_names, lag_unit, timed
        As in `Page`.
    """

    def __init__(self, feature_names: list[str] | None, lag_unit: str, timed: bool = False) -> None:
        super().__init__(timed)
        self._names, self._tracks = feature_names, len(TRACKS)
        self.sources = {
            "timeline": source("sample", "threshold", "rank", *(f"v{i}" for i in range(MOST_TRACKS))),
            "steps": source("sample", "rank"),
            "events": ColumnDataSource({"sample": [], "before": [], "after": []}),
            "pace": source("sample", "rate", "lag"),
            "loadings": source("x", "width", "label", "anchor", *LOADINGS, *HEIGHTS),
        }
        timeline, steps, events, pace, loadings = self.sources.values()
        x_range, here = self.samples, self.here
        self.log = figures.eigenvalues("log", x_range, here, timeline, events)
        self.linear = figures.eigenvalues("linear", x_range, here, timeline, events)
        self.rank = figures.rank(x_range, here, steps, events)
        self.pace = figures.pace(x_range, here, pace, lag_unit)
        self.components = figures.components(loadings)
        self.ranges["components"] = self.components.y_range
        self.over_samples = self.timed_figures = (self.log, self.linear, self.rank, self.pace)
        self.figures = (*self.over_samples, self.components)
        self.scale(log=True)

    def show(self, snapshot: Snapshot) -> dict[str, dict[str, Any]]:
        old = self.snapshot
        self.take(snapshot)
        events = np.array(snapshot.events, dtype=np.float64).reshape(-1, 3)
        changes, (at, rate, lag) = steps(snapshot), snapshot.pace
        changes, events[:, 0] = [*self.broken(*changes, held=True)], self.along(events[:, 0])
        paced = self.broken(at, np.column_stack(numbers(rate, lag)))
        columns = {
            "timeline": self._timeline(snapshot),
            "steps": dict(zip(("sample", "rank"), changes, strict=True)),
            "pace": dict(zip(("sample", "rate", "lag"), (paced[0], *paced[1].T), strict=True)),
            "loadings": self._loadings(snapshot.loadings),
        }
        if old is None or old.events != snapshot.events:
            columns["events"] = dict(zip(("sample", "before", "after"), events.T, strict=True))
        if old is None or old.loadings.n_features != snapshot.loadings.n_features:
            columns["loadings"] |= self._features(snapshot.loadings)
        return columns

    def frame(self, stretch: str) -> dict[str, tuple[float, float]]:
        if self.snapshot is None:
            return {}
        components = (0.45 - max(len(self.snapshot.loadings.values), 1), 0.55)
        return {"components": components, **super().frame(stretch)}

    def whole(self) -> None:
        n = 1 if self.snapshot is None else self.snapshot.loadings.n_features
        self.components.x_range.update(start=-0.5, end=n - 0.5)

    def scale(self, log: bool) -> None:
        self.log.visible, self.linear.visible = log, not log

    def _timeline(self, snapshot: Snapshot) -> dict[str, Any]:
        sample, variances, threshold, rank, _ = snapshot.timeline
        width = max(variances.shape[1], len(TRACKS))
        along, table = self.broken(sample, np.column_stack((*numbers(threshold, rank), variances)))
        threshold, rank, variances = table[:, 0], table[:, 1], table[:, 2:]
        columns = np.full((width, len(along)), np.nan, dtype=np.float32)
        columns[: variances.shape[1]] = variances.T
        added = [f"v{i}" for i in range(self._tracks, width)]
        for figure in (self.log, self.linear):
            figures.add_tracks(figure, self.sources["timeline"], added)
            figures.list_values(figure, figures.timeline_rows(variances.shape[1], self.place))
        self._tracks = max(width, self._tracks)
        named = dict(zip(("sample", "threshold", "rank"), numbers(along, threshold, rank), strict=True))
        return {**named, **{f"v{i}": column for i, column in enumerate(columns)}}

    def _loadings(self, loadings: Loadings) -> dict[str, Any]:
        """The columns that change every time."""
        count, points = loadings.values.shape
        values = np.full((MOST_COMPONENTS, points), np.nan, dtype=np.float32)
        values[:count] = loadings.values
        largest = float(np.abs(loadings.values).max(initial=1e-9))
        heights = values * np.float32(0.46 / largest) - np.arange(MOST_COMPONENTS, dtype=np.float32)[:, None]
        figures.list_values(self.components, figures.component_rows(count))
        return dict(zip((*LOADINGS, *HEIGHTS), (*values, *heights), strict=True))

    def _features(self, loadings: Loadings) -> dict[str, Any]:
        """The columns that never change: places and labels of the bars."""
        n, start, names = loadings.n_features, loadings.start, self._names
        width = np.diff(start, append=n)
        if names is None or len(names) != n:
            names = [f"x{i}" for i in range(n)]
        if n <= MOST_NAMES:
            axis = self.components.xaxis
            axis.update(ticker=FixedTicker(ticks=list(range(n))), major_label_orientation=0.9)
            axis.major_label_overrides = dict(enumerate(names))
        self.whole()
        return {
            "x": start + (width - 1) / 2,
            "width": width * (0.8 if len(start) <= 128 else 1.0),
            "label": input_labels(start.tolist(), names),
            "anchor": np.zeros(len(start)),
        }


def steps(snapshot: Snapshot) -> list[NDArray[np.float64]]:
    """Changes of the rank: exact as far back as events are known, from the thinned record before."""
    events = np.array(snapshot.events, dtype=np.int64).reshape(-1, 3)
    first = events[0, 0] if len(events) else snapshot.now.sample
    before = snapshot.timeline.sample < first
    rank = np.concatenate((snapshot.timeline.rank[before], events[:, 2], [snapshot.now.rank]))
    sample = np.concatenate((snapshot.timeline.sample[before], events[:, 0], [snapshot.now.sample]))
    return numbers(sample, rank)


class ControlCharts(ChartSet):
    """Control charts of the statistics with their limits, one above the other; alarms are shaded.

    Below them are the traces of the inputs to blame for the alarm that is clicked.
    """

    def __init__(self, timed: bool = False) -> None:
        super().__init__(timed)
        parts = ("", "_limit", "_anchor")
        control = source("sample", *(f"{name}{part}" for name in STATISTIC_NAMES for part in parts))
        alarms, alarm = (ColumnDataSource({"began": [], "last": []}) for _ in range(2))
        traces = {f"trace{i}": source(*TRACED) for i in range(MOST_TRACES)}
        self.sources = {"control": control, "alarms": alarms, "alarm": alarm, **traces}
        self.over_samples = tuple(
            figures.control(name, self.samples, self.here, control, alarms) for name in STATISTIC_NAMES
        )
        self.over_samples[-1].xaxis.axis_label = "rows"
        around = Range1d(start=0, end=1)
        self.ranges["around"] = around
        traced = [figures.trace(name, around, one, alarm) for name, one in traces.items()]
        self.figures = self.timed_figures = (*traced, *self.over_samples)

    def show(self, snapshot: Snapshot) -> dict[str, dict[str, Any]]:
        self.take(snapshot)
        watching = snapshot.watching
        if watching is None:
            return {}
        names = [name for one in STATISTIC_NAMES for name in (one, f"{one}_limit")]
        charts = [column for one in STATISTIC_NAMES for column in watching.history.chart(one)]
        sample, table = self.broken(watching.history.row + self.timed, np.column_stack(charts))
        columns = {"sample": sample, **dict(zip(names, table.T, strict=True))}
        for one in STATISTIC_NAMES:
            known = np.isfinite(columns[one]) | np.isfinite(columns[f"{one}_limit"])
            columns[f"{one}_anchor"] = np.full(len(sample), np.nan if known.any() else 1.0)
        spans = np.array([(alarm.began, alarm.last + 1) for alarm in watching.alarms]).reshape(-1, 2)
        began, last = numbers(*self.at_rows(spans.T))
        return {"control": columns, "alarms": {"began": began, "last": last}}

    def trace_of(self, began: int) -> Trace | None:
        """The trace of the alarm that began at this row, or of the latest that has one."""
        watching = None if self.snapshot is None else self.snapshot.watching
        traces = {} if watching is None else {trace.began: trace for trace in watching.traces}
        return traces.get(began, [*traces.values()][-1] if traces and began < 0 else None)

    def traced(self, trace: Trace | None) -> tuple[dict[str, dict[str, Any]], dict[str, tuple[float, float]]]:
        """Columns and range of the charts of a trace. Charts without one are hidden, and stay as they are."""
        found: dict[str, dict[str, Any]] = {}
        if trace is None:
            return found, {}
        for i in range(min(len(trace.names), MOST_TRACES)):
            expected, deviation = trace.expected[:, i], BAND * trace.deviation[i]
            table = np.column_stack(
                (trace.values[:, i], expected, expected - deviation, expected + deviation)
            )
            sample, table = self.broken(trace.rows + self.timed, table)
            found[f"trace{i}"] = dict(zip(TRACED, (sample, *table.T), strict=True))
        began, last, left, right = self.at_rows(
            [trace.began, trace.last + 1, trace.rows[0], trace.rows[-1] + 1]
        ).tolist()
        return found | {"alarm": {"began": [began], "last": [last]}}, {"around": (left, right)}

    def around(self, began: int) -> tuple[float, float] | None:
        """The stretch of the control charts that shows an alarm; None if it is not known."""
        watching = None if self.snapshot is None else self.snapshot.watching
        alarms = [] if watching is None else [one for one in watching.alarms if one.began == began]
        if not alarms:
            return None
        length = max(alarms[0].last + 1 - began, LEAST_ZOOM)
        left, right = self.at_rows([max(began - length, 0), alarms[0].last + 1 + length]).tolist()
        return left, right


def input_labels(start: list[int], names: list[str]) -> list[str]:
    """The input, or the first and last input, that each point of a thinned component stands for.

    Examples
    --------
    >>> input_labels([0, 2, 3], ["x0", "x1", "x2", "x3", "x4"])
    ['x0 to x1', 'x2', 'x3 to x4']
    """
    ends = [*start[1:], len(names)]
    return [
        names[a] if b == a + 1 else f"{names[a]} to {names[b - 1]}" for a, b in zip(start, ends, strict=True)
    ]
