"""The charts of a monitor: T², SPE and distance with their limits, and alarms shaded."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource

from ..model.history import STATISTIC_NAMES
from . import figures
from .chart_set import ChartSet, numbers, source
from .snapshot import Snapshot


class ControlCharts(ChartSet):
    """Three control charts, one above the other."""

    def __init__(self, timed: bool = False) -> None:
        super().__init__(timed)
        control = source("sample", *STATISTIC_NAMES, *(f"{name}_limit" for name in STATISTIC_NAMES))
        alarms = ColumnDataSource({"began": [], "last": []})
        self.sources = {"control": control, "alarms": alarms}
        self.over_samples = tuple(
            figures.control(name, self.samples, self.here, control, alarms) for name in STATISTIC_NAMES
        )
        self.over_samples[-1].xaxis.axis_label = "rows"
        self.figures = self.over_samples
        self.show_times()

    def show(self, snapshot: Snapshot) -> dict[str, dict[str, Any]]:
        self.snapshot = snapshot
        watching = snapshot.watching
        if watching is None:
            return {}
        (sample,) = numbers(self.at_rows(watching.history.row))
        columns = {"sample": sample}
        for name in STATISTIC_NAMES:
            columns[name], columns[f"{name}_limit"] = watching.history.chart(name)
        spans = np.array([(alarm.began, alarm.last + 1) for alarm in watching.alarms]).reshape(-1, 2)
        began, last = numbers(*self.at_rows(spans.T))
        return {"control": columns, "alarms": {"began": began, "last": last}}
