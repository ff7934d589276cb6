"""The charts of a model that learns, and the way of a snapshot into them."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, FixedTicker
from numpy.typing import NDArray

from . import figures
from .chart_set import ChartSet, numbers, source
from .figures import HEIGHTS, LOADINGS, TRACKS
from .snapshot import MOST_COMPONENTS, MOST_TRACKS, Loadings, Snapshot
from .wording import input_labels

MOST_NAMES = 24
"""Most inputs whose names fit under the components."""


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
        self.over_samples = (self.log, self.linear, self.rank, self.pace)
        self.show_times()
        self.figures = (*self.over_samples, self.components)
        self.scale(log=True)

    def show(self, snapshot: Snapshot) -> dict[str, dict[str, Any]]:
        old, self.snapshot = self.snapshot, snapshot
        events = np.array(snapshot.events, dtype=np.float64).reshape(-1, 3)
        changes, (at, rate, lag) = steps(snapshot), snapshot.pace
        changes[0], events[:, 0] = self.along(changes[0]), self.along(events[:, 0])
        columns = {
            "timeline": self._timeline(snapshot),
            "steps": dict(zip(("sample", "rank"), changes, strict=True)),
            "pace": dict(zip(("sample", "rate", "lag"), numbers(self.along(at), rate, lag), strict=True)),
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
        sample, variances, threshold, rank = snapshot.timeline
        width = max(variances.shape[1], len(TRACKS))
        columns = np.full((width, len(sample)), np.nan, dtype=np.float32)
        columns[: variances.shape[1]] = variances.T
        added = [f"v{i}" for i in range(self._tracks, width)]
        for figure in (self.log, self.linear):
            figures.add_tracks(figure, self.sources["timeline"], added)
            figures.list_values(figure, figures.timeline_rows(variances.shape[1], self.timed))
        self._tracks = max(width, self._tracks)
        along = self.along(sample)
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
