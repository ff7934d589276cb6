"""Alarms as events: they begin, count after a while, reach a peak, and end or are accepted.

A row exceeds where its surprise is above a *line*. The line is steered to the rate of false alarms: up by a
step with each row that exceeds, down a little with each other row, within bounds (quantile tracking; cf.
Gibbs and Candes 2021, arXiv:2106.00170). An alarm is on from the first row that exceeds until about twice as
many rows in sequence have not as had: chance keeps it on for two rows, and a fault that flickers is one
event.

While most of the last rows exceed, a fault is on and not chance: the model learns nothing and no row lifts
the line. So the fault is judged by what was known before it, until rows are back or it is accepted. Rows that
exceed for an anchor, which stands still, keep the alarm on, if the anchor was calm before it. What the anchor
alone sees, for hundreds of rows, is a drift.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..learners.knowledge import Vector
from ..learners.marks import Mark

# Rows.
LONGEST_CALM = 32
"""Most rows in sequence below the line that end an alarm."""

# Memory of the share of rows that exceed, as the weight of the newest: eleven rows in sequence make a half.
# Averages exceed for some rows in sequence by chance: with an eighth (six rows), learning stopped for nothing
# often enough to treble the rate of a drifting stream.
NEWEST = 0.0625
# A share: most of them.
DENSE = 0.5
"""Share of the last rows that exceed from which on a fault is on."""

# The same for rows that only the anchor sees: 44 rows in sequence make a half.
NEWEST_OF_DRIFT = 1 / 64
# A share, half of `DENSE`: a drift must not flicker around one line.
DRIFT_ENDS = 0.25
"""Share of the last rows that only the anchor sees below which a drift is over."""

# A fault exceeds row after row, for the anchor, too.
SPARSE = 0.25
"""Share of the last rows that exceed up to which an anchor does not keep an alarm on."""

# A logarithm of p: usual rows have 1 in the mean. What is far off for the anchor before an alarm begins has
# drifted, and the anchor says nothing of the alarm. A fault comes to a calm anchor at once. At 2, one of
# thirteen real plants had twice as many alarms in its calm rows; at 1.25 nothing was different.
CALM_ANCHOR = 1.5
"""Mean surprise of the last rows for the anchor, before an alarm, up to which it keeps the alarm on."""

# A share of a row. Faults in less than a fifth of all rows may come for ever; those in half of them are
# accepted when they have 1.3 times as many rows as one that lasts.
FORGIVEN = 0.25
"""Rows of faults that each other row makes up for."""

# Rows. What came before a fault that flickers is what came before its first alarm.
AFTERMATH = 64
"""Rows after an alarm in which another one is compared with what came before the first."""

# A logarithm of p. Ten exceeding rows in sequence move the line by a factor of e; it walks by a quarter on
# its own. On twelve real streams 9 kept a rate of 0.01 within a factor of two, with half the step 7.
STEP = 0.1
"""Distance by which a row that exceeds moves the line up."""

# A share of that step. Between rows that exceed, limits are then the same for a dozen rows and more.
GRAIN = STEP / 8
"""Size of the steps in which the line comes down, in logarithms of p."""

# A logarithm of p: rows thirty times as rare as asked for. Farther out, rows of faults below the lifted line
# teach the limits a longer tail: where an input was off by eight deviations in a tenth of the rows, at a rate
# of 0.001, none of them was seen any more in the end with a factor of 1,000; with 100 .86 of them in one of
# twelve streams, with 30 .98. With 10, streams of rain alarmed for longer.
FARTHEST = math.log(30)
"""Largest distance of the line above its place."""

# A share of the line: at a rate of 0.01 down to p = 0.1. A calm stream does not make rows alarm that are like
# one in ten.
LOWEST = 0.5
"""Largest distance of the line below its place, as a share of it."""

# Rows. A burst with pauses is one. After the normal run of Tennessee Eastman, its six training runs of faults
# 3, 4, 8 and 10 to 12 told 434 times that an input is out of order or no longer so; with 16 rows 140 times,
# with 32 80 times, with 64 58 times and with 128 46 times. Runs that test a method were not looked at.
CALM = 64
"""Rows in order after which a notice about an input ends."""

# Ten rows and more: more of them do not change who is blamed.
HELD = 16
"""Rows of an alarm, the last that exceeded, by which inputs are blamed."""

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
    """Statistic that was most surprising there."""
    contributors: Contributors = ()
    """The inputs that explain most of it, with their shares, largest first."""
    readings: tuple[tuple[str, float, float], ...] = ()
    """Mean readings of these inputs in the rows that they are blamed for, and the expected ones."""

    @property
    def state(self) -> Literal["began", "lasts", "ended", "accepted"]:
        """``"began"`` at the row at which it counts, then ``"lasts"``; ``"ended"`` or ``"accepted"``."""
        if self.ended is not None:
            return "accepted" if self.accepted else "ended"
        return "lasts" if self.last != self.counts_from else "began"


@dataclass
class Notice:
    """Something worth knowing that is no alarm: a drift, or an input that does not behave as usual."""

    kind: str
    """``"drift"``, ``"flat"``, ``"lively"``, ``"gone"``, or ``"off"``: one more that fails in an alarm."""
    began: int
    ended: int | None = None
    """The first row after it; None: it is still on."""
    input: str = ""
    """Name of the input; empty for a drift."""

    @property
    def told(self) -> int:
        """The row at which it is known that it began, or has ended: an input is in order for a while then."""
        if self.ended is None:
            return self.began
        return self.ended - 1 if self.kind in ("drift", "off") else self.ended + CALM


@dataclass
class Line:
    """Correction of the line, steered to the rate."""

    rate: float
    above: float = 0.0
    """Correction at the row below, in logarithms of p."""
    at: int | None = None
    """None: it is not steered."""

    def corrections(self, rows: NDArray[np.int64], line: float) -> Vector:
        """The correction of this line at each of these rows if none of them exceeds."""
        if self.at is None:
            return np.full(len(rows), self._within(self.above, line))
        if len(rows) == 1:
            return np.array([self.now(int(rows[0]), line)])
        down = GRAIN * np.floor(STEP / GRAIN * self.rate * (rows - self.at))
        return np.asarray(np.clip(self.above - down, -LOWEST * line, FARTHEST))

    @staticmethod
    def _within(correction: float, line: float) -> float:
        return min(max(correction, -LOWEST * line), FARTHEST)

    def exceeded(self, row: int, line: float) -> None:
        """Note that this row has exceeded."""
        self.above, self.at = self.now(row, line) + STEP, row

    def now(self, row: int, line: float) -> float:
        """The correction at this row."""
        down = 0.0 if self.at is None else GRAIN * math.floor(STEP / GRAIN * self.rate * (row - self.at))
        return self._within(self.above - down, line)

    def steer(self, row: int) -> None:
        """Begin to be steered at this row."""
        self.above, self.at = 0.0, row

    def rest(self, row: int, line: float, margin: float = 0.0) -> None:
        """Stay from this row on where it is, or by a margin higher."""
        self.above, self.at = self._within(self.now(row, line) + margin, line), None


@dataclass
class Watch:
    """Alarms from rows that exceed, and the decision which rows are those of a fault."""

    rate: float
    confirm: tuple[int, int]
    """An alarm counts once k of n rows in sequence have exceeded."""
    end_after: int | None = None
    """Rows in sequence below the line that end an alarm; None: about twice as many as exceeded."""
    hold: int = 1000
    """Most rows for which nothing is learnt and no row lifts the line: as many as an alarm may last.

    A fault whose alarm ends again and again is learnt then: a model that is wrong must learn that it is."""
    on: Alarm | None = None
    line: Line = field(init=False)
    hits: deque[int] = field(init=False)
    """The last k rows that exceeded."""
    density: float = 0.0
    """Share of the last rows that exceeded, as of the row below."""
    at: int = 0
    held_from: int = -1
    """The row from which on a fault is on; -1: none is."""
    lately: float = 0.0
    """Rows of faults that no other rows have made up for."""
    keeps: bool = True
    """True if an anchor keeps alarms on."""
    anchored: bool = False
    """True if the anchor keeps on the alarm that is on, or kept the last one."""
    began_above: float = 0.0
    """The line at the first row of the alarm that is on, or of the last one."""
    anchored_at: int = -AFTERMATH - 1
    """The last row that exceeded."""
    drifting: float = 0.0
    """Share of the last rows that only the anchor saw, as of the row below."""
    drifting_at: int = 0
    drift: Notice | None = None
    """The drift that is on."""
    past: deque[Alarm] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    """Alarms that counted."""

    def __post_init__(self) -> None:
        self.line = Line(self.rate)
        self.hits = deque(maxlen=self.confirm[0])

    @property
    def counts(self) -> bool:
        """True while an alarm is on that counts."""
        return self.on is not None and self.on.counts_from is not None

    @property
    def held(self) -> bool:
        """True while a fault is on."""
        return self.held_from >= 0

    def mark(self) -> Mark:
        """The present state, for `revert`."""
        on = None if self.on is None else vars(self.on).copy()
        line = self.line.above, self.line.at
        drift = self.anchored, self.began_above, self.anchored_at, self.drifting, self.drifting_at, self.drift
        density = self.density, self.at, self.held_from, self.lately
        return self.on, on, line, self.hits.copy(), density, drift, self.past

    def revert(self, mark: Mark) -> None:
        """Go back to the last mark."""
        self.on, on, line, self.hits, density, drift, self.past = mark
        self.density, self.at, self.held_from, self.lately = density
        self.line.above, self.line.at = line
        self.anchored, self.began_above, self.anchored_at, self.drifting, self.drifting_at, self.drift = drift
        if self.on is not None:
            vars(self.on).update(on)  # the same alarm, which may also stand in the past

    def follow(
        self,
        first: int,
        surprises: Vector,
        line: float,
        excess: Vector | None = None,
        usual: Vector | None = None,
        drift: Vector | None = None,
    ) -> Followed:
        """Follow rows from this number on.

        Parameters
        ----------
        first
            Number of the first of the rows.
        surprises
            Surprise of each row; NaN where there is none.
        line
            The surprise from which on rows exceed, before corrections.
        excess
            What the anchor finds of each row, above 1 where it exceeds; NaN where it says nothing.
        usual
            Mean surprise of the last rows for the anchor, at each row.
        drift
            Mean severity of many rows for the anchor, above 1 where there is a drift; NaN: none is known.
        """
        result, done = Followed(first, len(surprises)), 0
        # No comparison with NaN holds.
        seen = np.zeros(len(surprises), dtype=bool) if excess is None else excess > 1
        lowest = line + self.line.now(first + len(surprises), line)  # rows that exceed only lift it
        drifts = np.zeros(len(surprises), dtype=bool) if drift is None else drift > 1
        candidates = ((surprises > lowest) | seen | drifts).nonzero()[0]
        for i in candidates.tolist():
            row = first + i
            if surprises[i] > line + self.line.now(row, line):
                self._pass(row, result)
                if self.on is None:
                    self.began_above = line + self.line.now(row, line)
                self._exceed(row, result, calm=usual is not None and bool(usual[i] < CALM_ANCHOR))
                if self.line.at is not None and not (self.held and row - self.held_from < self.hold):
                    result.lines[done : i + 1] = line + self.line.corrections(result.rows[done : i + 1], line)
                    self.line.exceeded(row, line)
                    done = i + 1
            elif seen[i] or drifts[i]:
                self._pass(row, result)
                if seen[i] and self._kept_on(row, float(surprises[i])):
                    self._exceed(row, result)
                    result.prolonged[i] = True
                elif drifts[i] and self.on is None:
                    self._drift(row, result)
        result.lines[done:] = line + self.line.corrections(result.rows[done:], line)
        self._pass(first + len(surprises), result)
        self._end_drift(first + len(surprises), result)
        result.lately = self._count(result.faulty)
        return result

    def _count(self, faulty: NDArray[np.bool_]) -> Vector:
        """Rows of faults that others have not made up for, at each of these rows."""
        so_far = self.lately + np.cumsum(np.where(faulty, 1.0, -FORGIVEN))
        lately = so_far - np.minimum(np.minimum.accumulate(so_far), 0.0)
        self.lately = float(lately[-1]) if len(lately) else self.lately
        return np.asarray(lately)

    def _kept_on(self, row: int, surprise: float) -> bool:
        """True if the anchor keeps the alarm that is on: it was calm before, and many rows have exceeded.

        The model has to see it, too, by the line that the alarm began with: its first rows have lifted that.
        """
        if self.on is None or not self.anchored:
            return False
        sees = surprise > self.began_above
        return sees and self.density * (1 - NEWEST) ** (row - self.at) > SPARSE

    def _drift(self, row: int, result: Followed) -> None:
        """Note a row that only the anchor sees."""
        self._end_drift(row, result)
        self.drifting = self._drifting(row) + NEWEST_OF_DRIFT
        self.drifting_at = row
        if self.drifting > DENSE and self.drift is None:
            self.drift = Notice("drift", row)
            result.notices.append(self.drift)

    def _drifting(self, row: int) -> float:
        return float(self.drifting * (1 - NEWEST_OF_DRIFT) ** (row - self.drifting_at))

    def _end_drift(self, row: int, result: Followed) -> None:
        """End the drift that is on, if it is over before this row."""
        if self.drift is not None and self._drifting(row) < DRIFT_ENDS:
            rows = math.log(DRIFT_ENDS / self.drifting) / math.log(1 - NEWEST_OF_DRIFT)
            ended = Notice("drift", self.drift.began, self.drifting_at + int(rows) + 1)
            self.drift = None
            result.notices.append(ended)

    def _exceed(self, row: int, result: Followed, *, calm: bool = False) -> None:
        """Note a row that exceeds; ``calm``: the anchor has been calm up to this row."""
        result.exceeds[row - result.first] = True
        if self.on is None:
            self.on = Alarm(row, row)
            if row - self.anchored_at > AFTERMATH:
                self.anchored = self.keeps and calm
            self.hits.clear()
        self.anchored_at = row
        if self.on not in result.touched:
            result.touched.append(self.on)
        alarm = self.on
        alarm.last, alarm.rows = row, alarm.rows + 1
        self.hits.append(row)
        k, n = self.confirm
        if alarm.counts_from is None and len(self.hits) == k and self.hits[-1] - self.hits[0] < n:
            alarm.counts_from = row
            self.past = deque((*self.past, alarm), REMEMBERED)  # a mark may hold the one before
            result.told.append(replace(alarm))
        elif alarm.counts_from is not None and alarm.rows == HELD:
            result.told.append(replace(alarm))
        self.density = self.density * (1 - NEWEST) ** (row - self.at) + NEWEST
        self.at = row
        if self.density > DENSE and not self.held:
            self.held_from = row
            result.faults.append((alarm.began, row))

    def _pass(self, row: int, result: Followed) -> None:
        """Go on to this row, none before which exceeds: mark rows of alarms and faults, end what is over."""
        if self.held:
            calm = int(math.log(DENSE / self.density) / math.log(1 - NEWEST)) if self.density > DENSE else 0
            until = min(row, self.at + calm + 1)
            held = slice(max(self.held_from, result.first), min(until, self.held_from + self.hold))
            result.mark(result.held, held, True)
            result.mark(result.faulty, slice(max(self.held_from, result.first), until), True)
            if until < row:
                self.held_from = -1
        alarm = self.on
        if alarm is None:
            return
        end = alarm.last + self._calm(alarm) + 1
        until = min(row, end)
        result.mark(result.since, slice(alarm.began, until), alarm.began)
        if alarm.counts_from is not None:
            result.mark(result.counting, slice(alarm.counts_from, until), True)
        if end <= row:
            self.end(end, result)

    def _calm(self, alarm: Alarm) -> int:
        """Rows in sequence below the line that end an alarm."""
        return min(2 * alarm.rows - 1, LONGEST_CALM) if self.end_after is None else self.end_after

    def end(self, row: int, result: Followed, *, accepted: bool = False) -> None:
        """End the alarm that is on, before this row."""
        alarm = self.on
        assert alarm is not None
        alarm.ended, alarm.accepted = row, accepted
        if alarm not in result.touched:
            result.touched.append(alarm)
        if alarm.counts_from is not None:
            result.ended.append(alarm)
        self.on = None
        if accepted:
            self.held_from, self.density, self.lately, self.anchored = -1, 0.0, 0.0, False


class Followed:
    """Alarms from following some rows."""

    def __init__(self, first: int, rows: int) -> None:
        self.first = first
        self.rows = np.arange(first, first + rows)
        self.lines: Vector = np.zeros(rows)
        """The line at each row."""
        self.exceeds: NDArray[np.bool_] = np.zeros(rows, dtype=bool)
        self.since: NDArray[np.int64] = np.full(rows, -1)
        """The row at which the alarm began that each row belongs to, or -1."""
        self.counting: NDArray[np.bool_] = np.zeros(rows, dtype=bool)
        """True for rows that belong to an alarm that has begun to count."""
        self.held: NDArray[np.bool_] = np.zeros(rows, dtype=bool)
        """True for rows of a fault that are not learnt."""
        self.faulty: NDArray[np.bool_] = np.zeros(rows, dtype=bool)
        """The same without the bound on how long nothing is learnt: limits never count them."""
        self.lately: Vector = np.zeros(rows)
        """Rows of faults that no others have made up for, at each row."""
        self.faults: list[tuple[int, int]] = []
        """Rows at which alarms began that turned out to be faults, and at which they did."""
        self.prolonged: NDArray[np.bool_] = np.zeros(rows, dtype=bool)
        """True for rows that exceed for the anchor alone, in an alarm that it keeps on."""
        self.notices: list[Notice] = []
        """Drifts that began or ended."""
        self.touched: list[Alarm] = []
        """Alarms that were on."""
        self.told: list[Alarm] = []
        """Alarms as they were when they began to count, and when `HELD` of their rows had exceeded."""
        self.ended: list[Alarm] = []
        """Alarms that counted and have ended."""

    def mark(self, array: NDArray[np.generic], rows: slice, value: int) -> None:
        """Set those of these rows that are followed."""
        start, stop = (max(edge - self.first, 0) for edge in (rows.start, rows.stop))
        array[start:stop] = value
