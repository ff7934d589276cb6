"""Clicks of people on a running job: alarms that they acknowledge, and what they shelve.

The page's thread notes what is clicked; the learning thread begins shelves between two batches, and the
record of the job takes everything along with the next checkpoint.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

from ..monitoring.handled import Acknowledged, Handled, Subject
from .record import MOST_MARKS, MOST_SHELVES, HandledRecord, StoredMark, StoredShelf
from .shelves import Shelf, shelf_of

# Durations that one asks for: a look at the sensor, a repair, the rest of a shift.
TIMES = ("30min", "2h", "8h")
"""Durations for which the page shelves an input or a key, where rows have times."""
# Whoever has no times has rows of any rate: steps of ten from what takes minutes at a row per second.
ROWS = ("1000", "10000", "100000")
"""The same in rows, where they have none."""

Place = tuple[int, float | None]
"""Number of a row in the source, and its time, if it is known."""


class Places(NamedTuple):
    """Places of the first rows of a batch, or of the last."""

    batch: Place
    keys: Mapping[str, Place] | None = None
    """Of each key that has rows in it and a shelf; None with one monitor."""

    def of(self, key: str | None) -> Place | None:
        """The place of a row of this key, or, without a key, of the batch; None if the key has no row."""
        return self.batch if key is None else (self.keys or {}).get(key)


class Handling:
    """Acknowledged alarms of a job, and what is shelved; safe to use from several threads.

    Parameters
    ----------
    record
        What `record` has returned, if the job goes on from one.
    """

    def __init__(self, record: HandledRecord | None = None) -> None:
        held = record or {"acknowledged": [], "shelves": []}
        marks = (StoredMark(*mark) for mark in held["acknowledged"])
        self._acknowledged: dict[Acknowledged, float] = {
            (one.key, int(one.row)): float(one.when) for one in marks
        }
        shelves = (Shelf(*one, by="page") for one in held["shelves"])
        self._shelves: dict[tuple[str, Subject], Shelf] = {("page", one.subject): one for one in shelves}
        self._unsaid = {at for at, shelf in self._shelves.items() if shelf.row is not None}
        """Shelves that have begun and of which no line has told yet."""
        self._ended: list[Subject] = []
        """Inputs and keys that somebody has taken off their shelves since the last batch."""
        self._names: frozenset[str] = frozenset()
        self._keys: Container[object] | None = None
        self._times: dict[str, str] = {}
        self._alarms: dict[str | None, frozenset[int]] = {}
        self._clock = "time"
        self._lock = Lock()

    def offer(
        self,
        names: Iterable[str],
        *,
        timed: bool,
        clock: str = "time",
        keys: Container[object] | None = None,
    ) -> None:
        """Take messages from now on, about these inputs and keys; if rows have no times, shelves count rows.

        ``keys`` is None with one monitor.
        """
        self._names, self._clock, self._keys = frozenset(names), clock, keys
        self._times = {how_long: shelf_of(f"x={how_long}").length for how_long in (TIMES if timed else ROWS)}

    def close(self) -> None:
        """Take no more messages: the job has ended, and nothing would keep them."""
        self._times = {}

    def shelve(self, shelves: Sequence[Shelf]) -> None:
        """Shelve inputs and keys from their next row on, as a command has asked."""
        with self._lock:
            self._shelves |= {(shelf.by, shelf.subject): shelf for shelf in shelves}

    def list_alarms(self, alarms: Mapping[str | None, Iterable[int]]) -> None:
        """Take acknowledgements of these alarms, which the page lists, and of no others.

        They are given by their first rows, and by the keys that somebody looks at; None with one monitor.
        Of these keys, other alarms are forgotten.
        """
        with self._lock:
            self._alarms = {key: frozenset(rows) for key, rows in alarms.items()}
            self._acknowledged = {
                (key, row): when
                for (key, row), when in self._acknowledged.items()
                if key not in self._alarms or row in self._alarms[key]
            }

    def take(self, message: Any) -> bool:
        """Note what somebody has clicked; returns False for anything that cannot have been clicked.

        ``{"acknowledge": ROW}`` names an alarm by its first row, ``{"shelve": NAME, "time": "2h"}`` an input
        and one of the times on offer, ``{"unshelve": NAME}`` an input that is shelved. In a fleet all three
        have a ``"key"``, and an empty name is the whole key; an input of all keys, which a command has
        shelved, is taken off without one.
        """
        key = message.get("key") if isinstance(message, dict) else None
        if not isinstance(key, str | None):
            return False
        with self._lock:
            if not self._times:
                return False
            match message:
                case {"acknowledge": int(row)} if self._is_listed(key, row):
                    self._acknowledged[key, int(row)] = time.time()
                    for first in [*self._acknowledged][:-MOST_MARKS]:
                        del self._acknowledged[first]
                case {"shelve": str(name), "time": str(how_long)} if (
                    how_long in self._times and self._can_shelve(Subject(name, key))
                ):
                    shelf = shelf_of(f"x={how_long}")._replace(name=name, key=key, by="page")
                    self._shelves["page", shelf.subject] = shelf
                case {"unshelve": str(name)} if Subject(name, key) in self._subjects():
                    self._shelves = {at: one for at, one in self._shelves.items() if at[1] != (name, key)}
                    self._ended.append(Subject(name, key))
                case _:
                    return False
        return True

    def begin(self, places: Places) -> tuple[list[Shelf], list[Subject]]:
        """Begin shelves with these rows; returns those of the page, to tell of, and what was taken off.

        Each key has a clock of its own: a shelf of a key begins with a row of that key. One of all keys
        begins with any, and a row that is earlier than that says nothing about the others.
        """
        with self._lock:
            said = []
            for at, shelf in self._shelves.items():
                place = places.of(shelf.key)
                if place is None:
                    continue
                if at in self._unsaid or (shelf.row is None and shelf.by == "page"):
                    said.append(at)
                if shelf.row is None or shelf.key is not None or places.keys is None:
                    self._shelves[at] = shelf.begun(*place)
            self._unsaid -= {*said}
            ended, self._ended = self._ended, []
            return [self._shelves[at] for at in said], ended

    def forget(self, places: Places) -> None:
        """Forget shelves that are over at these rows; by the clock of one key nothing is over for others."""
        with self._lock:
            self._shelves = {at: one for at, one in self._shelves.items() if not _is_over(one, places)}

    @property
    def shelves(self) -> tuple[Shelf, ...]:
        """Everything that is shelved."""
        with self._lock:
            return tuple(self._shelves.values())

    def handled(self) -> Handled:
        """As the page shows it."""
        with self._lock:
            shelved = {one.subject: one.until(self._clock) for one in self._shelves.values()}
            return Handled(dict(self._acknowledged), shelved, dict(self._times))

    def record(self) -> HandledRecord | None:
        """As plain values for the record of the job; what a command has shelved, the next one asks for."""
        with self._lock:
            shelves = [StoredShelf(*one[:-1]) for one in self._shelves.values() if one.by == "page"]
            if not self._acknowledged and not shelves:
                return None
            marks = [StoredMark(row, when, key) for (key, row), when in self._acknowledged.items()]
            return {"acknowledged": marks, "shelves": shelves}

    def _is_listed(self, key: str | None, row: int) -> bool:
        """True if this alarm is on the page, and nobody has acknowledged it."""
        return row in self._alarms.get(key, ()) and (key, row) not in self._acknowledged

    def _can_shelve(self, subject: Subject) -> bool:
        """True if there is such an input or key, and the record of the job has room for it."""
        if len(self._shelves) >= MOST_SHELVES and ("page", subject) not in self._shelves:
            return False
        if self._keys is None:
            return subject.key is None and subject.name in self._names
        return subject.key in self._keys and (not subject.name or subject.name in self._names)

    def _subjects(self) -> set[Subject]:
        return {subject for _, subject in self._shelves}


def _is_over(shelf: Shelf, places: Places) -> bool:
    """True if a shelf is over at these rows; one that counts rows is so for all keys alike."""
    own = places.of(shelf.key)
    if shelf.rows is None and places.keys is not None and (shelf.key is None or own is None):
        return False
    return not shelf.lasts(*(own or places.batch))
