"""Shelved inputs: for a while nobody is told of alarms that blame them, nor of notices about them.

Alarms are raised, judged and recorded as ever, in the model, the output, the page and the metrics. What was
not told is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .handling import Handling
from .shelves import blamed
from .watcher import LISTED, AlarmEvent, NoticeEvent, ShelfEvent, Watcher

if TYPE_CHECKING:
    from ..io.sources import Batch
    from .stage import Model


class Shelving(Watcher):
    """Stands before watchers that tell somebody, and keeps from them what is shelved.

    Parameters
    ----------
    watchers
        Whoever tells.
    handling
        What is shelved; it changes while the job runs.
    """

    def __init__(self, watchers: Sequence[Watcher], handling: Handling) -> None:
        self.watchers, self.handling = watchers, handling
        self.counts: Counter[str] = Counter()
        """Events that were not told, by input."""
        self._events: list[AlarmEvent | NoticeEvent] = []

    def alarmed(self, event: AlarmEvent) -> None:
        self._events.append(event)

    def noticed(self, event: NoticeEvent) -> None:
        self._events.append(event)

    def learnt(self, model: Model, batch: Batch) -> None:
        self._begin(batch)
        events, self._events = self._events, []
        shelves = self.handling.shelves
        for event in events:
            if any(shelf.holds(event) for shelf in shelves):
                self.counts[blamed(event)] += 1
                continue
            for watcher in self.watchers:
                if isinstance(event, AlarmEvent):
                    watcher.alarmed(event)
                else:
                    watcher.noticed(event)
        for watcher in self.watchers:
            watcher.learnt(model, batch)
        if batch.keys is None:  # by the clock of one key nothing is over for the others
            alarms: Any = getattr(model, "alarms_", ())
            self.handling.forget(*_place(batch, -1), (alarm.began for alarm in alarms[-LISTED:]))

    def _begin(self, batch: Batch) -> None:
        """Begin what was shelved since the last batch, and say so."""
        row, time = _place(batch, 0)
        begun, ended = self.handling.begin(row, time, keyed=batch.keys is not None)
        said = [ShelfEvent("unshelved", row, time, name) for name in ended]
        for shelf in begun:
            end = None if shelf.seconds is None or shelf.time is None else shelf.time + shelf.seconds
            last = None if shelf.rows is None or shelf.row is None else shelf.row + shelf.rows
            said.append(ShelfEvent("shelved", row, time, shelf.name, last, end))
        for event in said:
            for watcher in self.watchers:
                watcher.shelved(event)

    def judged(self, verdicts: Any) -> None:
        for watcher in self.watchers:
            watcher.judged(verdicts)

    def judged_keys(self, keys: Any, severity: Any, on: Any) -> None:
        for watcher in self.watchers:
            watcher.judged_keys(keys, severity, on)

    def rank_changed(self, change: Any, key: Any = None) -> None:
        for watcher in self.watchers:
            watcher.rank_changed(change, key)

    def saving(self) -> None:
        for watcher in self.watchers:
            watcher.saving()

    def stopping(self) -> None:
        for watcher in self.watchers:
            watcher.stopping()

    def saved(self, samples: int) -> None:
        for watcher in self.watchers:
            watcher.saved(samples)

    def skipped(self, reason: str) -> None:
        for watcher in self.watchers:
            watcher.skipped(reason)

    def in_words(self) -> list[str]:
        """Number of events that nobody was told of, one sentence per input."""
        return [f"{name} is shelved: nobody was told of {n:,} events" for name, n in self.counts.items()]


def _place(batch: Batch, at: int) -> tuple[int, float | None]:
    """Number and time of a row of a batch."""
    return int(batch.numbers[at]), None if batch.times is None else float(batch.times[at])
