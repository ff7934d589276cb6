"""Clicks of people on a running job: alarms that they acknowledge, and inputs that they shelve.

The page's thread notes what is clicked; the learning thread begins shelves between two batches, and the
record of the job takes everything along with the next checkpoint.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any

from ..monitoring.handled import Handled
from .record import HandledRecord
from .shelves import Shelf, shelf_of

# Durations that one asks for: a look at the sensor, a repair, the rest of a shift.
TIMES = ("30min", "2h", "8h")
"""Durations for which the page shelves an input, where rows have times."""
# Whoever has no times has rows of any rate: steps of ten from what takes minutes at a row per second.
ROWS = ("1000", "10000", "100000")
"""The same in rows, where they have none."""


class Handling:
    """Acknowledged alarms and shelved inputs of a job; safe to use from several threads.

    Parameters
    ----------
    record
        What `record` has returned, if the job goes on from one.
    """

    def __init__(self, record: HandledRecord | None = None) -> None:
        held = record or {"acknowledged": [], "shelves": []}
        self._acknowledged = {int(row): float(when) for row, when in held["acknowledged"]}
        self._shelves = {("page", one[0]): Shelf(*one, by="page") for one in held["shelves"]}
        self._unsaid = [key for key, shelf in self._shelves.items() if shelf.row is not None]
        """Shelves that have begun and of which no line has told yet."""
        self._ended: list[str] = []
        """Inputs that somebody has taken off their shelves since the last batch."""
        self._names: frozenset[str] = frozenset()
        self._times: dict[str, str] = {}
        self._alarms: frozenset[int] = frozenset()
        self._clock = "time"
        self._lock = Lock()

    def offer(self, names: Iterable[str], *, timed: bool, clock: str = "time") -> None:
        """Take messages from now on, about these inputs; if rows have no times, shelves count rows."""
        self._names, self._clock = frozenset(names), clock
        self._times = {how_long: shelf_of(f"x={how_long}").length for how_long in (TIMES if timed else ROWS)}

    def close(self) -> None:
        """Take no more messages: the job has ended, and nothing would keep them."""
        self._names, self._times, self._alarms = frozenset(), {}, frozenset()

    def shelve(self, shelves: Sequence[Shelf]) -> None:
        """Shelve inputs from the next row on, as a command has asked."""
        with self._lock:
            self._shelves |= {(shelf.by, shelf.name): shelf for shelf in shelves}

    def take(self, message: Any) -> bool:
        """Note what somebody has clicked; returns False for anything that cannot have been clicked.

        ``{"acknowledge": ROW}`` names an alarm by its first row, ``{"shelve": NAME, "time": "2h"}`` an input
        and one of the times on offer, ``{"unshelve": NAME}`` an input that is shelved.
        """
        with self._lock:
            match message:
                case {"acknowledge": int(row)} if row in self._alarms and row not in self._acknowledged:
                    self._acknowledged[int(row)] = time.time()
                case {"shelve": str(name), "time": str(how_long)} if (
                    name in self._names and how_long in self._times
                ):
                    self._shelves["page", name] = shelf_of(f"{name}={how_long}")._replace(by="page")
                case {"unshelve": str(name)} if name in self._names and name in self._inputs():
                    self._shelves = {key: one for key, one in self._shelves.items() if one.name != name}
                    self._ended.append(name)
                case _:
                    return False
        return True

    def begin(self, row: int, time: float | None, *, keyed: bool = False) -> tuple[list[Shelf], list[str]]:
        """Begin shelves with this row; returns those of the page, to tell of, and inputs taken off.

        With ``keyed``, each key has a clock of its own: a row that is earlier than the begin of a shelf says
        nothing about the others.
        """
        with self._lock:
            said, self._unsaid = self._unsaid, []
            said += [key for key, one in self._shelves.items() if one.row is None and one.by == "page"]
            for key, one in self._shelves.items():
                if one.row is None or not keyed:
                    self._shelves[key] = one.begun(row, time)
            ended, self._ended = self._ended, []
            return [self._shelves[key] for key in said if key in self._shelves], ended

    def forget(self, row: int, time: float | None, alarms: Iterable[int]) -> None:
        """Forget shelves that are over at this row, and alarms that are not among those that are listed."""
        with self._lock:
            self._shelves = {key: one for key, one in self._shelves.items() if one.lasts(row, time)}
            self._alarms = frozenset(alarms)
            self._acknowledged = {at: when for at, when in self._acknowledged.items() if at in self._alarms}

    @property
    def shelves(self) -> tuple[Shelf, ...]:
        """Everything that is shelved."""
        with self._lock:
            return tuple(self._shelves.values())

    def handled(self) -> Handled:
        """As the page shows it."""
        with self._lock:
            shelved = {one.name: one.until(self._clock) for one in self._shelves.values()}
            return Handled(dict(self._acknowledged), shelved, dict(self._times))

    def record(self) -> HandledRecord | None:
        """As plain values for the record of the job; what a command has shelved, the next one asks for."""
        with self._lock:
            shelves = [one[:-1] for one in self._shelves.values() if one.by == "page"]
            if not self._acknowledged and not shelves:
                return None
            return {"acknowledged": [*self._acknowledged.items()], "shelves": shelves}

    def _inputs(self) -> set[str]:
        return {shelf.name for shelf in self._shelves.values()}
