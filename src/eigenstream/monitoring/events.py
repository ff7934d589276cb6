"""Alarms as events: they begin, count after a while, reach a peak, and end or are accepted.

An alarm is on from the first row that exceeds a limit until `CALM` rows in sequence have not. The limits
count its rows only when it ends: rows of a fault must not raise them. Afterwards rows that exceeded count as
chance only as often as chance would have it, with a margin.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..learners.knowledge import Matrix, Vector
from ..learners.marks import Mark

# A fault that flickers is one event. The price: at a rate of 0.01 chance alone keeps an alarm on for 28 %
# of the rows, 1 - 0.99**32.
CALM = 32
"""Rows in sequence below the limits that end an alarm."""

# As many as make a basis for limits (`limits.BASIS`); more would only cost memory.
HELD = 64
"""Rows of an alarm, its first, that are kept to be counted when it has ended."""

# Chance and heavy tails exceed now and then, a fault row after row.
SPARSE = 0.5
"""Share of rows that exceed, below which a long alarm is due to limits that are too low."""

# `SPARSE` of fewer rows is a handful, which chance exceeds too.
GRACE = 16
"""Rows of an alarm that do not yet tell a fault from chance."""

# The multiple lets limits rise that are too low; the number is below `limits.FEW`, which make a quantile,
# so that no single alarm sets a limit.
MARGIN, SAVED = 3.0, 4.0
"""Rows of alarms that count as chance: this multiple of the rate, and this number at a time, at most."""

Contributors = tuple[tuple[str, float], ...]
"""Inputs with their shares of a statistic, largest first."""

# Bounds the memory, and the file, of a monitor that runs for years.
REMEMBERED = 1000
"""Number of alarms that are remembered."""


@dataclass
class Alarm:
    """An alarm: rows in sequence that left the usual pattern. Row numbers count from 0."""

    began: int
    last: int
    """The last row so far that exceeded a limit."""
    rows: int = 0
    """Number of rows that exceeded a limit."""
    counts_from: int | None = None
    """The row at which there were enough of them to count; None: not yet."""
    ended: int | None = None
    """The first row after it; None: it is still on."""
    accepted: bool = False
    """True if it ended because its rows were accepted as the new normal."""
    peak: float = 0.0
    """The largest severity."""
    peak_row: int = -1
    statistic: str = ""
    """Statistic that was largest there, in units of its limit."""
    contributors: Contributors = ()
    """The inputs that added most to it there, with their shares, largest first."""


@dataclass
class Allowance:
    """Number of rows that exceed which may still count as chance: earned row by row, spent one by one."""

    rate: float
    left: float = SAVED
    at: int = 0
    """Row at which that was left: earnings are a function of row numbers, not of calls."""

    def spend(self, row: int) -> bool:
        """Spend one at this row; True if one was left."""
        left = min(self.left + MARGIN * self.rate * (row - self.at), SAVED)
        if left < 1:
            return False
        self.left, self.at = left - 1, row
        return True


@dataclass
class Watch:
    """Alarms from rows that exceed, and the decision which ratios count for the limits, and when."""

    rate: float
    confirm: tuple[int, int]
    """An alarm counts once k of n rows in sequence have exceeded."""
    on: Alarm | None = None
    allowance: Allowance = field(init=False)
    hits: deque[int] = field(init=False)
    """The last k rows that exceeded."""
    held: list[Vector] = field(default_factory=list)
    """Ratios of the first rows of the alarm that is on; the last entry is the severity."""
    past: deque[Alarm] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    """Alarms that counted."""

    def __post_init__(self) -> None:
        self.allowance = Allowance(self.rate)
        self.hits = deque(maxlen=self.confirm[0])

    @property
    def counts(self) -> bool:
        """True while an alarm is on that counts."""
        return self.on is not None and self.on.counts_from is not None

    def mark(self) -> Mark:
        """The present state, for `revert`."""
        on = None if self.on is None else vars(self.on).copy()
        allowance = self.allowance.left, self.allowance.at
        return self.on, on, allowance, self.hits.copy(), self.held, len(self.held), self.past

    def revert(self, mark: Mark) -> None:
        """Go back to the last mark."""
        self.on, on, allowance, self.hits, self.held, number, self.past = mark
        self.allowance.left, self.allowance.at = allowance
        del self.held[number:]
        if self.on is not None:
            vars(self.on).update(on)  # the same alarm, which may also stand in the past

    def follow(self, first: int, exceeds: NDArray[np.bool_], counted: Matrix) -> Followed:
        """Follow rows from this number on.

        Parameters
        ----------
        first
            Number of the first of the rows.
        exceeds
            True for rows that exceed a limit.
        counted
            Ratios and severity of each row, for the limits to count (T, 4); rows of NaN are left out.
        """
        result = Followed(len(exceeds))
        hits = np.flatnonzero(exceeds)
        row = 0
        while row < len(exceeds):
            if self.on is None:
                following = np.searchsorted(hits, row)
                until = int(hits[following]) if following < len(hits) else len(exceeds)
                result.fed.append(counted[row:until])
                if until == len(exceeds):
                    break
                self._begin(first + until)
                row = until
            row = self._go_on(first, row, hits, counted, result)
        return result

    def _begin(self, row: int) -> None:
        self.on = Alarm(row, row)
        self.hits.clear()
        self.held = []

    def _go_on(self, first: int, row: int, hits: NDArray[np.intp], counted: Matrix, result: Followed) -> int:
        """Follow the alarm that is on to its end, or to the end of the rows; return that position."""
        alarm, start = self.on, row
        assert alarm is not None
        result.touched.append(alarm)
        before = alarm.rows
        for hit in hits[np.searchsorted(hits, row) :]:
            if first + hit - alarm.last > CALM:
                break
            alarm.last, row = first + int(hit), int(hit) + 1
            alarm.rows += 1
            self._count(alarm, result)
        end = alarm.last + CALM + 1 - first
        over = end <= len(result.since)
        row = min(end, len(result.since))
        result.since[start:row] = alarm.began
        exceeding = before + np.cumsum(counted[start:row, -1] > 1)
        age = np.arange(first + start, first + row) - alarm.began + 1
        dense = exceeding >= SPARSE * age
        result.dense[start:row] = dense & (age > GRACE)
        late = min(row, start + HELD - len(self.held))
        self.held.extend(counted[start:late])
        later = np.flatnonzero(~dense[late - start :]) + late
        self._feed(counted[later], first + later, result)
        if over:
            self.end(first + row, result)
        return row

    def _count(self, alarm: Alarm, result: Followed) -> None:
        """Note one more row that exceeded."""
        k, n = self.confirm
        self.hits.append(alarm.last)
        if alarm.counts_from is None and len(self.hits) == k and self.hits[-1] - self.hits[0] < n:
            alarm.counts_from = alarm.last
            self.past = deque((*self.past, alarm), REMEMBERED)  # a mark may hold the one before
            result.begun.append(alarm)

    def end(self, row: int, result: Followed, *, accepted: bool = False) -> None:
        """End the alarm that is on, before this row."""
        alarm = self.on
        assert alarm is not None
        alarm.ended, alarm.accepted = row, accepted
        if alarm.counts_from is not None:
            result.ended.append(alarm)
        if not accepted:
            self._feed(np.array(self.held), np.full(len(self.held), row), result)
        self.on, self.held = None, []

    def _feed(self, counted: Matrix, rows: NDArray[np.intp], result: Followed) -> None:
        """Let rows of an alarm count, those that exceed only as far as chance allows."""
        if len(counted):
            pairs = zip(counted, rows, strict=True)
            chance = [not ratios[-1] > 1 or self.allowance.spend(int(row)) for ratios, row in pairs]
            result.fed.append(counted[chance])


class Followed:
    """Alarms and countable ratios from following some rows."""

    def __init__(self, rows: int) -> None:
        self.since: NDArray[np.int64] = np.full(rows, -1)
        """The row at which the alarm began that each row belongs to, or -1."""
        self.dense: NDArray[np.bool_] = np.zeros(rows, dtype=bool)
        """Rows of alarms that have lasted for a while, and most of whose rows exceed: of a fault."""
        self.fed: list[Any] = []
        """Ratios that count for the limits from now on."""
        self.touched: list[Alarm] = []
        """Alarms that were on."""
        self.begun: list[Alarm] = []
        """Alarms that began to count."""
        self.ended: list[Alarm] = []
        """Alarms that counted and have ended."""

    def counting(self, first: int) -> NDArray[np.bool_]:
        """True for rows, from this number on, that belong to an alarm that has begun to count."""
        rows = np.arange(first, first + len(self.since))
        counting = np.zeros(len(rows), dtype=bool)
        for alarm in self.touched:
            if alarm.counts_from is not None:
                counting |= (self.since == alarm.began) & (rows >= alarm.counts_from)
        return counting
