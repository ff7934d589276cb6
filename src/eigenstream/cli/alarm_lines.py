"""Alarms as lines on standard output: for people, or as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from ..io.durations import moment
from ..io.files import shown
from ..jobs import Watcher
from ..jobs.alarms import in_words
from ..model.history import STATISTIC_NAMES

if TYPE_CHECKING:
    from ..jobs import AlarmEvent


class AlarmLines(Watcher):
    """A line for each alarm that begins to count or ends."""

    def __init__(self, file: Callable[[], TextIO], *, as_json: bool) -> None:
        self._file, self._told = file, _as_json if as_json else _as_words

    def alarmed(self, event: AlarmEvent) -> None:
        # Asked each time: on a terminal, a display may have put something before standard output meanwhile.
        print(self._told(event), file=self._file(), flush=True)


def _as_words(event: AlarmEvent) -> str:
    alarm, time = event.alarm, "" if event.time is None else f" ({moment(event.time).replace('T', ' ')})"
    peak = f"{alarm.peak:.3g} at row {alarm.peak_row:,}"
    if event.state == "began":
        since = f", since row {alarm.began:,}" if alarm.began != event.row else ""
        said = f"alarm began{since}; largest severity so far {peak}"
    else:
        how = "ended" if event.state == "ended" else "accepted as the new normal"
        exceeded = f"{alarm.rows:,} row{'s' if alarm.rows > 1 else ''} exceeded a limit"
        said = f"alarm {how}: {exceeded}, the last was row {alarm.last:,}; largest severity {peak}"
    said += f", {STATISTIC_NAMES[alarm.statistic]}; {in_words(alarm.contributors)}"
    key = "" if event.key is None else f"{event.key}, "
    return shown(f"{key}row {event.row:,}{time}: {said}")


def _as_json(event: AlarmEvent) -> str:
    alarm = event.alarm
    facts: dict[str, Any] = {"event": "alarm", "state": event.state, "row": event.row}
    if event.key is not None:
        facts["key"] = event.key
    if event.time is not None:
        facts["time"] = moment(event.time)
    facts |= {"since": alarm.began, "last": alarm.last, "rows": alarm.rows, "length": event.length}
    facts |= {"peak": alarm.peak, "peak_row": alarm.peak_row, "statistic": alarm.statistic}
    return json.dumps(facts | {"contributors": dict(alarm.contributors)})
