"""Shelved inputs: for a while nobody is told of alarms that blame them, nor of notices about them.

Alarms are raised, judged and recorded as ever, in the model, the output, the page and the metrics. What was
not told is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..io.durations import seconds
from .watcher import AlarmEvent, NoticeEvent, Watcher

if TYPE_CHECKING:
    from ..io.sources import Batch
    from .stage import Model


class Shelf(NamedTuple):
    """An input, and how long it is shelved from the first row of a job on."""

    name: str
    rows: int | None
    """Rows, or None if it is a duration."""
    seconds: float | None

    def holds(self, event: AlarmEvent | NoticeEvent, row: int, time: float | None) -> bool:
        """True if an event is about this input and within the time, which begins at this row."""
        if self.name != blamed(event):
            return False
        if self.rows is not None:
            return event.row < row + self.rows
        assert self.seconds is not None
        return time is not None and event.time is not None and event.time < time + self.seconds


def shelf_of(given: str) -> Shelf:
    """The shelf that a text asks for: ``"valve=2h"``, or ``"valve=500"`` in rows.

    Examples
    --------
    >>> shelf_of("valve=2h")
    Shelf(name='valve', rows=None, seconds=7200.0)
    >>> shelf_of("valve=500").rows
    500
    """
    name, _, how_long = given.rpartition("=")
    if not name or not how_long:
        raise ValueError(f"{given!r} names no input and no time: expected NAME=2h, or NAME=500 for 500 rows")
    if how_long.isdigit():
        if not int(how_long):
            raise ValueError(f"{given!r}: the number of rows must be at least 1")
        return Shelf(name, int(how_long), None)
    return Shelf(name, None, seconds(how_long))


def blamed(event: AlarmEvent | NoticeEvent) -> str:
    """The input that an event is about: of an alarm, the one that explains most."""
    if isinstance(event, NoticeEvent):
        return event.notice.input
    return event.alarm.contributors[0][0] if event.alarm.contributors else ""


class Shelving(Watcher):
    """Stands before watchers that tell somebody, and keeps from them what is shelved.

    Parameters
    ----------
    watchers
        Whoever tells.
    shelves
        What is shelved.
    """

    def __init__(self, watchers: Sequence[Watcher], shelves: Sequence[Shelf]) -> None:
        self.watchers, self.shelves = watchers, shelves
        self.counts = dict.fromkeys((shelf.name for shelf in shelves), 0)
        """Events that were not told, by input."""
        self._start: tuple[int, float | None] | None = None
        self._events: list[AlarmEvent | NoticeEvent] = []

    def alarmed(self, event: AlarmEvent) -> None:
        self._events.append(event)

    def noticed(self, event: NoticeEvent) -> None:
        self._events.append(event)

    def learnt(self, model: Model, batch: Batch) -> None:
        if self._start is None:
            self._start = int(batch.numbers[0]), None if batch.times is None else float(batch.times[0])
        events, self._events = self._events, []
        for event in events:
            if any(shelf.holds(event, *self._start) for shelf in self.shelves):
                self.counts[blamed(event)] += 1
                continue
            for watcher in self.watchers:
                if isinstance(event, AlarmEvent):
                    watcher.alarmed(event)
                else:
                    watcher.noticed(event)
        for watcher in self.watchers:
            watcher.learnt(model, batch)

    def judged(self, verdicts: Any) -> None:
        for watcher in self.watchers:
            watcher.judged(verdicts)

    def judged_keys(self, keys: Any, severity: Any, blamed: Any) -> None:
        for watcher in self.watchers:
            watcher.judged_keys(keys, severity, blamed)

    def rank_changed(self, change: Any, key: Any = None) -> None:
        for watcher in self.watchers:
            watcher.rank_changed(change, key)

    def saving(self) -> None:
        for watcher in self.watchers:
            watcher.saving()

    def saved(self, samples: int) -> None:
        for watcher in self.watchers:
            watcher.saved(samples)

    def skipped(self, reason: str) -> None:
        for watcher in self.watchers:
            watcher.skipped(reason)

    def in_words(self) -> list[str]:
        """Number of events that nobody was told of, one sentence per input."""
        return [f"{name} is shelved: nobody was told of {n:,} events" for name, n in self.counts.items() if n]
