"""Traces of the inputs to blame around each alarm: what they were, and what they should have been."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..model.delays import embedded
from ..model.expectation import Trace, expectations
from .watcher import Watcher

if TYPE_CHECKING:
    from ..io.sources import Batch, Floats
    from ..monitoring import Alarm, Verdicts

AROUND = 40
"""Rows before the first row of an alarm, and after its last, that are shown with it."""
LONGEST = 400
"""Rows of a trace: about as many as a chart of its size can show apart."""
INPUTS = 3
"""Inputs of an alarm, those to blame most, whose traces are kept."""
REMEMBERED = 200
"""Alarms, the latest, whose traces are kept: as many as the live page lists."""
CELLS = 2**20
"""Numbers of past rows that are kept: 8 MB, whatever their width."""


class Traces(Watcher):
    """Keeps the traces of the latest alarms of a monitor, from when the job began."""

    def __init__(self) -> None:
        self._found: dict[int, Trace] = {}
        """By the first row of the alarm."""
        self._done: set[int] = set()
        self._rows: NDArray[np.int64] = np.zeros(0, np.int64)
        self._values: Floats | None = None
        self._latest: NDArray[np.int64] = np.zeros(0, np.int64)

    @property
    def found(self) -> tuple[Trace, ...]:
        """The traces, of the earliest alarm first."""
        return tuple(self._found.values())

    def judged(self, verdicts: Verdicts) -> None:
        self._latest = verdicts.row

    def learnt(self, model: Any, batch: Batch) -> None:
        alarms: list[Alarm] = model.alarms_[-REMEMBERED:]
        self._keep(batch)
        for alarm in alarms:
            if alarm.began not in self._done:
                self._follow(model, alarm)
        for began in [*self._found][: max(len(self._found) - REMEMBERED, 0)]:
            del self._found[began]

    def _keep(self, batch: Batch) -> None:
        """Keep the latest rows, this batch at least."""
        rows, values = self._latest[-len(batch.rows) :], batch.rows
        most = max(CELLS // max(values.shape[1], 1), len(rows))
        if self._values is not None:
            rows, values = np.append(self._rows, rows), np.vstack((self._values, values))
        self._rows, self._values = rows[-most:], values[-most:]

    def _follow(self, model: Any, alarm: Alarm) -> None:
        """Take in what has come of an alarm and of the rows around it."""
        begin = alarm.began - AROUND
        end = min(alarm.last + 1 + AROUND, begin + LONGEST)
        here = slice(*np.searchsorted(self._rows, [begin, end]))
        if alarm.ended is not None and len(self._rows) and self._rows[-1] >= end - 1:
            self._done.add(alarm.began)
        if self._values is None or not len(self._rows[here]) or self._rows[here][-1] < alarm.began:
            return  # what is left of it is from before the job began
        trace = self._trace(model, alarm, here)
        before = self._found.get(alarm.began)
        if trace is not None and (before is None or len(trace.rows) >= len(before.rows)):
            self._found[alarm.began] = trace

    def _trace(self, model: Any, alarm: Alarm, here: slice) -> Trace | None:
        width, lags = model.n_features_in_, model.fitted().plan.lags
        names = model.input_names_[:width]
        blamed = [name for name, _ in alarm.contributors if name in names][:INPUTS]
        if not blamed:
            return None
        assert self._values is not None
        own, values = [names.index(name) for name in blamed], np.asarray(self._values[here], np.float64)
        # With lags, an input is left out with its predecessors: they would give away what it was.
        left_out = [number + width * lag for lag in range(lags + 1) for number in own]
        expected, deviation = expectations(model.reading(), embedded(values, lags), left_out)
        now = slice(len(own))
        rows = self._rows[here].copy()
        return Trace(alarm.began, alarm.last, rows, blamed, values[:, own], expected[:, now], deviation[now])
