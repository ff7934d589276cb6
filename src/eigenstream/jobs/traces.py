"""Traces of the inputs to blame around each alarm: what they were, and what they should have been."""

from __future__ import annotations

from collections import deque
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..io.sources import open as open_source
from ..keyed.keyed_models import factorized, grouped
from ..model.delays import embedded
from ..model.expectation import Trace, expectations
from .watcher import LISTED, Numbering, Watcher

if TYPE_CHECKING:
    from ..io.sources import Batch, Floats
    from ..keyed.bank_file import Key
    from ..monitoring import Alarm, Verdicts
    from .job import Job
    from .watcher import AlarmEvent

AROUND = 40
"""Rows before the first row of an alarm, and after its last, that are shown with it."""
LONGEST = 400
"""Rows of a trace: about as many as a chart of its size can show apart."""
INPUTS = 3
"""Inputs of an alarm, those to blame most, whose traces are kept."""
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

    def recall(self, job: Job) -> None:
        """Take in the rows before the position of a job that is resumed: files are read again for them."""
        model, source = job.model, job.source
        if job.position is None or not source.reader.files or getattr(model, "monitor", None) is None:
            return
        came, numbering = model.monitor.counts.came, Numbering([list(pair) for pair in job.numbering])
        first = min((alarm.began for alarm in model.alarms_[-LISTED:]), default=came) - AROUND
        most = min(came - first, CELLS // source.width, source.count)
        if most <= 0 or not numbering.breaks:
            return
        span = numbering.number(came - most), numbering.number(came - 1) + 1
        options = replace(source.options, rows=span, follow=False)
        with closing(open_source(job.request.source, options)) as again:
            values = np.vstack([batch.rows for batch in again])[-most:]
        self._rows, self._values = np.arange(came - len(values), came), values
        self._follow_all(model)

    def judged(self, verdicts: Verdicts) -> None:
        self._latest = verdicts.row

    def learnt(self, model: Any, batch: Batch) -> None:
        self._keep(batch)
        self._follow_all(model)

    def _follow_all(self, model: Any) -> None:
        for alarm in model.alarms_[-LISTED:]:
            if alarm.began not in self._done:
                self._follow(model, alarm)
        for began in [*self._found][: max(len(self._found) - LISTED, 0)]:
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
        assert self._values is not None
        if alarm.ended is not None and len(self._rows) and self._rows[-1] >= _around(alarm)[1] - 1:
            self._done.add(alarm.began)
        trace, before = traced(model, alarm, self._rows, self._values), self._found.get(alarm.began)
        if trace is not None and (before is None or len(trace.rows) >= len(before.rows)):
            self._found[alarm.began] = trace


class FleetTraces(Watcher):
    """Keeps the rows of the keys of a fleet around their alarms, from when the job began."""

    def __init__(self) -> None:
        self._recent: deque[tuple[dict[Key, NDArray[np.intp]], Floats]] = deque()
        """The latest batches: which rows are whose, and the rows."""
        self._kept: dict[Key, Floats] = {}
        """The latest rows of keys that have alarmed, those last that alarmed last."""
        self._begun: list[Key] = []

    def alarmed(self, event: AlarmEvent) -> None:
        if event.key is not None and event.state == "began":
            self._begun.append(event.key)

    def learnt(self, model: Any, batch: Batch) -> None:
        assert batch.keys is not None
        own = grouped(*factorized(batch.keys))
        self._recent.append((own, batch.rows))
        while len(self._recent) > 1 and sum(rows.size for _, rows in self._recent) > CELLS:
            self._recent.popleft()
        most = max(4 * CELLS // (LISTED * batch.rows.shape[1]), LONGEST // 4)
        for key in self._kept.keys() & own.keys():
            self._kept[key] = np.vstack((self._kept[key], batch.rows[own[key]]))[-most:]
        for key in self._begun:
            known = self._kept.pop(key, None)
            self._kept[key] = self._rows(key)[-most:] if known is None else known
        self._begun = []
        for key in [*self._kept][: max(len(self._kept) - LISTED, 0)]:
            del self._kept[key]

    def _rows(self, key: Key) -> Floats:
        """Rows of a key in the latest batches."""
        return np.vstack([rows[own[key]] for own, rows in self._recent if key in own])

    def of(self, key: Key, model: Any) -> tuple[Trace, ...]:
        """The traces of the alarms of a key, of which this is the monitor now; the earliest first."""
        values = self._kept.get(key)
        if values is None or model.monitor is None:
            return ()
        came = model.monitor.counts.came
        rows = np.arange(came - len(values), came)
        found = (traced(model, alarm, rows, values) for alarm in model.alarms_[-LISTED:])
        return tuple(trace for trace in found if trace is not None)


def _around(alarm: Alarm) -> tuple[int, int]:
    """The first row that is shown with an alarm, and the first after them."""
    begin = alarm.began - AROUND
    return begin, min(alarm.last + 1 + AROUND, begin + LONGEST)


def traced(model: Any, alarm: Alarm, rows: NDArray[np.int64], values: Floats) -> Trace | None:
    """The trace of an alarm, as far as it has come; None if its beginning is not among these rows."""
    here = slice(*np.searchsorted(rows, _around(alarm)))
    width, lags = model.n_features_in_, model.fitted().plan.lags
    names = model.input_names_[:width]
    blamed = [name for name, _ in alarm.contributors if name in names][:INPUTS]
    if not blamed or alarm.began not in rows[here]:
        return None
    own, shown = [names.index(name) for name in blamed], np.asarray(values[here], np.float64)
    # With lags, an input is left out with its predecessors: they would give away what it was.
    left_out = [number + width * lag for lag in range(lags + 1) for number in own]
    expected, deviation = expectations(model.reading(), embedded(shown, lags), left_out)
    now = slice(len(own))
    return Trace(
        *(alarm.began, alarm.last, rows[here].copy(), blamed),
        *(shown[:, own], expected[:, now], deviation[now]),
    )
