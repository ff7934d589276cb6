"""Shelved inputs and keys: for a while nobody is told of alarms that blame them, nor of notices about them.

Alarms are raised, judged and recorded as ever, in the model, the output, the page and the metrics. What was
not told is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from ..monitoring.handled import Subject
from .handling import Handling, Place, Places
from .watcher import AlarmEvent, NoticeEvent, ShelfEvent, Watcher

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
        self.counts: Counter[Subject] = Counter()
        """Events that were not told, by what was shelved."""
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
            held = next((shelf.subject for shelf in shelves if shelf.holds(event)), None)
            if held is not None:
                self.counts[held] += 1
                continue
            for watcher in self.watchers:
                if isinstance(event, AlarmEvent):
                    watcher.alarmed(event)
                else:
                    watcher.noticed(event)
        for watcher in self.watchers:
            watcher.learnt(model, batch)
        self.handling.forget(self._places(batch, -1))

    def _begin(self, batch: Batch) -> None:
        """Begin what was shelved since the last batch, and say so."""
        places = self._places(batch, 0)
        begun, ended = self.handling.begin(places)
        row, said = places.batch[0], list[ShelfEvent]()
        for name, key in ended:  # a time of another key would say nothing
            said.append(ShelfEvent("unshelved", *(places.of(key) or (row, None)), name, key=key))
        for shelf in begun:
            end = None if shelf.seconds is None or shelf.time is None else shelf.time + shelf.seconds
            last = None if shelf.rows is None or shelf.row is None else shelf.row + shelf.rows
            place = places.of(shelf.key) or places.batch
            said.append(ShelfEvent("shelved", *place, shelf.name, last, end, shelf.key))
        for event in said:
            for watcher in self.watchers:
                watcher.shelved(event)

    def _places(self, batch: Batch, at: Literal[0, -1]) -> Places:
        """Places of the first or the last row of a batch, and of each key in it that has a shelf."""
        if batch.keys is None:
            return Places(_place(batch, at))
        shelved = {shelf.key for shelf in self.handling.shelves if shelf.key is not None}
        numbered = list(enumerate(batch.keys)) if shelved else []
        rows = {key: row for row, key in (numbered if at else reversed(numbered)) if key in shelved}
        return Places(_place(batch, at), {key: _place(batch, row) for key, row in rows.items()})

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
        """Sentences on events that nobody was told of, and on keys that a command has shelved for nothing."""
        told = [f"{what} is shelved: nobody was told of {n:,} events" for what, n in self.counts.items()]
        idle = [one for one in self.handling.shelves if one.row is None and one.by == "command"]
        return told + [f"{one.subject} is shelved: there was no row of this key" for one in idle if one.key]


def _place(batch: Batch, row: int) -> Place:
    """Number and time of a row of a batch."""
    return int(batch.numbers[row]), None if batch.times is None else float(batch.times[row])
