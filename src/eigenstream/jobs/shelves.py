"""A shelf: an input, or a key of a fleet, of which nobody is told for a while."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

from ..io.durations import seconds, when
from ..monitoring.handled import Subject
from .watcher import AlarmEvent, NoticeEvent


class Shelf(NamedTuple):
    """An input or a key that is shelved, how long, and from when on."""

    name: str
    """The input; empty: the whole key."""
    rows: int | None
    """Rows, or None if it is a duration."""
    seconds: float | None
    row: int | None = None
    """Row of the source at which it began; None: it begins with the next."""
    time: float | None = None
    """Time of that row, if it is known."""
    key: str | None = None
    """The key by whose rows it begins and ends; None: all keys, or there is one monitor."""
    by: Literal["command", "page"] = "command"

    def begun(self, row: int, time: float | None) -> Shelf:
        """The shelf, begun at this row if it has not begun before.

        Rows and clocks may begin anew: a shelf that had begun later by their count begins here, so that none
        lasts longer than asked for.
        """
        if self.row is None:
            return self._replace(row=row, time=time)
        earlier = self.time if self.time is None or time is None else min(self.time, time)
        return self._replace(row=min(self.row, row), time=earlier)

    @property
    def subject(self) -> Subject:
        return Subject(self.name, self.key)

    def holds(self, event: AlarmEvent | NoticeEvent) -> bool:
        """True if an event is about this input or key, and within the time."""
        if (self.key is not None and self.key != event.key) or (self.name and self.name != blamed(event)):
            return False
        return self.lasts(event.row, event.time)

    def lasts(self, row: int, time: float | None) -> bool:
        """True if a row, with its time, is within the time."""
        if self.row is None:
            return True
        if self.rows is not None:
            return row < self.row + self.rows
        assert self.seconds is not None
        return self.time is not None and time is not None and time < self.time + self.seconds

    def until(self, clock: str = "time") -> str:
        """The end in words, with the name of the column of times.

        Examples
        --------
        >>> shelf_of("valve=2h").until(), shelf_of("valve=2h").begun(9, 1.7e9).until()
        ('2 h after the next row', '2023-11-15 00:13:20')
        >>> shelf_of("valve=500").begun(1200, None).until()
        'row 1,700'
        """
        if self.row is None:
            return f"{self.length} after the next row"
        if self.rows is not None:
            return f"row {self.row + self.rows:,}"
        assert self.seconds is not None
        assert self.time is not None
        return when(self.time + self.seconds, clock)

    @property
    def length(self) -> str:
        """The length in words.

        Examples
        --------
        >>> [shelf_of(f"valve={how_long}").length for how_long in ("30min", "2h", "90s", "10000")]
        ['30 min', '2 h', '90 s', '10,000 rows']
        """
        if self.rows is not None:
            return f"{self.rows:,} rows"
        assert self.seconds is not None
        for unit, length in (("h", 3600), ("min", 60)):
            if self.seconds % length == 0:
                return f"{self.seconds / length:,.0f} {unit}"
        return f"{self.seconds:,.15g} s"


def shelf_of(given: str) -> Shelf:
    """The shelf that a text asks for: ``"valve=2h"``, or ``"valve=500"`` in rows.

    Examples
    --------
    >>> shelf_of("valve=2h").seconds
    7200.0
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


def of_fleet(shelf: Shelf, names: Collection[str]) -> Shelf:
    """The shelf that a name asks for in a fleet with these inputs: ``KEY/NAME``, ``KEY/``, or an input.

    A name that asks for none of them stays as it is. Keys and inputs may have slashes of their own.

    Examples
    --------
    >>> names = ["valve", "flow"]
    >>> [of_fleet(shelf_of(f"{name}=2h"), names).subject for name in ("valve", "unit 7/valve", "unit 7/")]
    [Subject(name='valve', key=None), Subject(name='valve', key='unit 7'), Subject(name='', key='unit 7')]
    """
    parts = shelf.name.split("/")
    splits = [("/".join(parts[:i]), "/".join(parts[i:])) for i in range(1, len(parts))]
    if shelf.name not in names:
        for key, name in splits:
            if key and (name in names or not name):
                return shelf._replace(name=name, key=key)
    return shelf


def blamed(event: AlarmEvent | NoticeEvent) -> str:
    """The input that an event is about: of an alarm, the one that explains most."""
    if isinstance(event, NoticeEvent):
        return event.notice.input
    return event.alarm.contributors[0][0] if event.alarm.contributors else ""
