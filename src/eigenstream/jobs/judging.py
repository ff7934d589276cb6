"""Stages of a job that watches: verdicts on rows, and alarms in row numbers of the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..io.sinks import Layout
from ..keyed import MonitorBank
from ..model import StreamModel, TimesGoBack
from ..monitoring import (
    COLUMNS,
    STATISTICS,
    Alarm,
    Contributors,
    MonitoredModel,
    MonitorSettings,
    Notice,
    Verdicts,
)
from .record import SETTINGS_OF_MONITOR, STANDSTILL, FleetStart, Request, Scalar
from .stage import KeyedStage, Said, Stage
from .times import OF_A_KEY, Times
from .watcher import LISTED, AlarmEvent, NoticeEvent, Numbering, in_words

if TYPE_CHECKING:
    from ..io.sinks.sink import Texts
    from ..io.sources import Batch


def model_for(request: Request, start: StreamModel | None = None) -> StreamModel:
    """The model of a job: a new one, or one over the model it goes on from."""
    parameters = request.parameters
    if not request.watches:
        return StreamModel(**parameters) if start is None else start
    if start is None:
        return MonitoredModel(settings_of(parameters), **parameters_of_model(parameters))
    if not isinstance(start, MonitoredModel):
        if parameters.get("frozen"):
            raise ValueError(
                "it has learnt but never watched, so it has no limits to judge by: watch a calm stretch with "
                "it first and save that, then judge by what was saved"
            )
        return MonitoredModel.over(start, settings_of(parameters))
    if parameters.get("frozen"):
        freeze(start)
    return start


def parameters_of_model(parameters: Mapping[str, Scalar]) -> dict[str, Any]:
    """The parameters of a job that are for its model, not for its monitor."""
    return {
        name: value for name, value in parameters.items() if name not in (*SETTINGS_OF_MONITOR, *STANDSTILL)
    }


def settings_of(parameters: Mapping[str, Scalar]) -> MonitorSettings:
    """The settings of the monitor of a job."""
    given: dict[str, Any] = {name: parameters[name] for name in SETTINGS_OF_MONITOR if name in parameters}
    return MonitorSettings(**given)


def parameters_of(settings: MonitorSettings) -> dict[str, Scalar]:
    """The parameters from which `settings_of` makes these settings."""
    k, n = settings.confirm
    return {name: getattr(settings, name) for name in SETTINGS_OF_MONITOR} | {"confirm": f"{k}/{n}"}


class Judging(Stage):
    """Judges each row before it is learnt."""

    model: MonitoredModel

    def __init__(
        self, model: MonitoredModel, parameters: Mapping[str, Scalar], names: list[str] | None, numbering: Any
    ) -> None:
        super().__init__(model)
        if names and not model.features:
            model.features = list(names)
            if model.monitor is not None:
                model.monitor.names = model.features
        self.numbering = Numbering([list(pair) for pair in numbering])
        self._freeze_after = parameters.get("freeze_after")

    @property
    def came(self) -> int:
        return 0 if self.model.monitor is None else self.model.monitor.counts.came

    def layout(self, kept: Sequence[str], residuals: bool) -> Layout:
        return layout(kept)

    def learn(self, batch: Batch, *, scored: bool, residuals: bool) -> Said | None:
        first, calls, notices = self.came, list[Alarm](), list[Notice]()
        self.numbering.note(first, batch.numbers)
        own, self.model.on_alarm = self.model.on_alarm, calls.append
        heard, self.model.on_notice = self.model.on_notice, notices.append
        try:
            verdicts, contributors = self._judged(batch, blame=scored)
        finally:
            self.model.on_alarm, self.model.on_notice = own, heard
        self.verdicts = verdicts
        self.events = self._events(calls, batch, first)
        self.notices = self._notices(notices, batch, first)
        if own is not None:
            for alarm in calls:
                own(alarm)
        if heard is not None:
            for notice in notices:
                heard(notice)
        said = Said(self._numbers(verdicts), _with_remarks(batch.texts, contributors)) if scored else None
        monitor = self.model.monitor
        assert monitor is not None
        on = monitor.watch.on
        named = [] if on is None else [on.began, on.counts_from, on.last, on.peak_row]
        named += [row for rows in monitor.inputs.on.values() for row in rows]
        named += [] if monitor.watch.drift is None else [monitor.watch.drift.began]
        named += [alarm.began for alarm in [*monitor.watch.past][-LISTED:]]
        self.numbering.forget(row for row in named if row is not None)
        return said

    def _numbers(self, verdicts: Verdicts) -> Any:
        """Verdicts as a matrix; the row at which an alarm began in numbers of the source."""
        numbers = verdicts.matrix()
        inside = numbers[:, -1] >= 0
        numbers[inside, -1] = [self.numbering.number(int(row)) for row in numbers[inside, -1]]
        return numbers

    def _judged(self, batch: Batch, *, blame: bool) -> tuple[Verdicts, list[Contributors]]:
        """Verdicts on a batch; the model is frozen after exactly as many rows as asked for."""
        times = self._times(batch)
        left = None if self._freeze_after is None or self._frozen else int(self._freeze_after) - self.came
        if left is None or left > len(batch.rows):
            return self._judge(batch.rows, times, blame)
        parts = []
        for part in (slice(left), slice(left, None)):
            if part.start is not None:
                freeze(self.model)
            if len(batch.rows[part]):
                parts.append(self._judge(batch.rows[part], None if times is None else times[part], blame))
        verdicts, blamed = zip(*parts, strict=True)
        return Verdicts.joined(list(verdicts)), [one for part in blamed for one in part]

    def _judge(self, rows: Any, times: Any, blame: bool) -> tuple[Verdicts, list[Contributors]]:
        return self.model.explain_many(rows, times) if blame else (self.model.judge_many(rows, times), [])

    @property
    def _frozen(self) -> bool:
        return self.model.monitor is not None and self.model.monitor.frozen

    def _events(self, calls: list[Alarm], batch: Batch, first: int) -> list[AlarmEvent]:
        """Alarms that began to count or ended, in order of rows."""
        events = []
        for alarm in calls:
            row = alarm.last if alarm.ended is None else alarm.ended - 1
            time = None if batch.times is None else float(batch.times[row - first])
            length, number = alarm.last - alarm.began + 1, self.numbering.number(row)
            events.append((row, AlarmEvent(alarm.state, number, time, length, self._numbered(alarm))))
        return [event for _, event in sorted(events, key=lambda pair: pair[0])]

    def _notices(self, notices: list[Notice], batch: Batch, first: int) -> list[NoticeEvent]:
        """Notices that began or ended, in order of rows."""
        events = []
        for notice in notices:
            row = notice.told
            time = None if batch.times is None else float(batch.times[max(row - first, 0)])
            began = self.numbering.number(notice.began)
            ended = None if notice.ended is None else self.numbering.number(notice.ended - 1) + 1
            said = replace(notice, began=began, ended=ended)
            state: Any = "began" if ended is None else "ended"
            events.append((row, NoticeEvent(state, self.numbering.number(row), time, said)))
        return [event for _, event in sorted(events, key=lambda pair: pair[0])]

    def _numbered(self, alarm: Alarm) -> Alarm:
        """A copy in numbers of the source."""
        number = self.numbering.number
        return replace(
            alarm,
            began=number(alarm.began),
            last=number(alarm.last),
            peak_row=number(alarm.peak_row),
            counts_from=None if alarm.counts_from is None else number(alarm.counts_from),
            ended=None if alarm.ended is None else number(alarm.ended - 1) + 1,
        )


class RowPlaces(NamedTuple):
    """Numbers and times that rows of a monitor have in their sources, as far as they are remembered."""

    numbering: Numbering
    times: Times

    @classmethod
    def of(cls, position: Any) -> RowPlaces:
        """Those of one key, from the position that is saved with its monitor; None: nothing is known."""
        held = position or {"numbering": [], "times": []}
        pairs = [list(pair) for pair in held["times"]]
        return cls(Numbering([list(pair) for pair in held["numbering"]]), Times(pairs, **OF_A_KEY))


class KeyedJudging(KeyedStage):
    """Judges each row by the monitor of its key, before that learns it."""

    model: MonitorBank

    def __init__(
        self, bank: MonitorBank, request: Request, names: list[str] | None, start: FleetStart | None
    ) -> None:
        super().__init__(bank, request, start)
        self.names = names
        self.severity = np.zeros(0)
        """Of each row of the last batch."""
        self.on: dict[Any, Alarm] = {}
        """Alarms of its keys that are on, in row numbers of their monitors."""
        self.still_on: set[Any] = set()
        """Keys whose alarm was on at their last row in this job."""
        self.unjudged: dict[Any, int] = {}
        """Rows of each key that a frozen bank has no monitor for, or none with limits."""
        self.before_limits = 0
        """Rows that came before their key had limits."""
        self.waiting: dict[Any, int] = {}
        """Those of keys that have no limits yet."""

    def layout(self, kept: Sequence[str], residuals: bool) -> Layout:
        return layout(kept)

    def learn(self, batch: Batch, *, scored: bool, residuals: bool) -> Said | None:
        assert batch.texts is not None
        numbers = np.tile(UNJUDGED, (len(batch.rows), 1))
        texts = np.hstack((batch.texts, np.full((len(batch.rows), 1), "", dtype=object)))
        severity, frozen = np.zeros(len(batch.rows)), self.request.parameters.get("frozen")
        keys, notices = self._keys(batch), list[NoticeEvent]()
        self.on = {}
        unjudged, early = dict[Any, int](), dict[Any, list[NDArray[np.bool_]]]()
        # A frozen bank learns nothing, so it begins no monitors either.
        known = np.flatnonzero([key in self.model for key in keys]) if frozen else np.arange(len(keys))

        def judge(key: Any, monitor: MonitoredModel, own: Any) -> list[AlarmEvent]:
            rows = known[own]
            if frozen and not _can_freeze(monitor):
                unjudged[key] = unjudged.get(key, 0) + len(rows)
                return []
            before, part = RowPlaces.of(monitor.position_), _part(batch, rows)
            stage = Judging(monitor, self.request.parameters, self.names, before.numbering.breaks)
            came, times = stage.came, before.times
            try:
                said = stage.learn(part, scored=scored, residuals=False)
            except TimesGoBack as error:
                raise error.of(key, rows) from None
            if part.times is not None:
                times.add(came, part.times, begins=False)
            # Saved with the monitor.
            monitor.position_ = {"numbering": stage.numbering.breaks, "times": times.pairs}
            if said is not None:
                numbers[rows], texts[rows] = said
            assert stage.verdicts is not None
            severity[rows] = stage.verdicts.severity
            early.setdefault(key, []).append(~stage.verdicts.limited)
            alarms = monitor.alarms_
            self.on.pop(key, None)
            if alarms and alarms[-1].ended is None:
                self.on[key] = alarms[-1]
            notices.extend(event._replace(key=key) for event in stage.notices)
            return [event._replace(key=key) for event in stage.events]

        judged = self.model.each([keys[i] for i in known], batch.rows[known], judge) if len(known) else []
        # Only now: a call that is interrupted counts nothing.
        for i in np.setdiff1d(np.arange(len(keys)), known).tolist():
            self._leave(keys[i], 1)
        for key, rows in unjudged.items():
            self._leave(key, rows)
        for key, parts in early.items():
            self._count_early(key, np.concatenate(parts))
        self.still_on = (self.still_on - early.keys()) | self.on.keys()
        self.severity = severity
        self.events = sorted((event for _, events in judged for event in events), key=lambda event: event.row)
        self.notices = sorted(notices, key=lambda event: event.row)
        if self.on or self.events:
            self.start = {**self.start, "alarmed": True}
        return Said(numbers, texts) if scored else None

    def _count_early(self, key: Any, early: NDArray[np.bool_]) -> None:
        """Count rows of a key that came before it had limits; it waits for them if the last one did."""
        number = int(np.count_nonzero(early))
        self.before_limits += number
        if early[-1]:
            self.waiting[key] = self.waiting.get(key, 0) + number
        else:
            self.waiting.pop(key, None)

    def _leave(self, key: Any, rows: int) -> None:
        """Count rows that are not judged."""
        self.unjudged[key] = self.unjudged.get(key, 0) + rows


UNJUDGED = [*[np.nan] * len(STATISTICS), *[np.inf] * len(STATISTICS), 0.0, 0.0, 0.0, -1.0]
"""Entries of `COLUMNS` of a row that is not judged."""


def _can_freeze(monitor: MonitoredModel) -> bool:
    """Freeze a monitor that has limits, once; returns False if it has none."""
    try:
        if monitor.monitor is None or not monitor.monitor.frozen:
            freeze(monitor)
    except ValueError:
        return False
    return True


def _part(batch: Batch, rows: Any) -> Batch:
    """Some rows of a batch."""
    texts, times = (None if one is None else one[rows] for one in (batch.texts, batch.times))
    return replace(batch, rows=batch.rows[rows], numbers=batch.numbers[rows], texts=texts, times=times)


def layout(kept: Sequence[str]) -> Layout:
    """The columns of the output of a job that watches."""
    whole = ("alarm", "since")
    return Layout(len(COLUMNS), np.float64, kept, names=COLUMNS, whole=whole, remarks=("contributors",))


def freeze(model: MonitoredModel) -> None:
    """Freeze the model; a ValueError where it has no limits yet, and would never have any."""
    monitor = model.monitor
    if monitor is not None and monitor.reference is not None:
        model.freeze()
    if monitor is None or not monitor.limits.told.any():
        rows = 0 if monitor is None else monitor.counts.came
        raise ValueError(
            f"after {rows:,} rows there is no basis for limits yet, so a frozen model would never alarm: let "
            "it watch more rows first"
        )


def _with_remarks(texts: Texts | None, contributors: list[Contributors]) -> Texts:
    remarks = np.array([in_words(one) for one in contributors], dtype=object)[:, None]
    return remarks if texts is None else np.hstack((texts, remarks))
