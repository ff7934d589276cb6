"""Control charts in bounded memory: the largest statistics of stretches of rows, with their limits."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..learners.knowledge import Matrix, Vector
from ..learners.marks import Marked
from ..model.history import ControlHistory as ControlHistory
from .reference import STATISTICS

# About one per two pixels of a picture, and 37 kB.
LIMIT = 512
"""Most stretches kept."""

WIDTH = 1 + 2 * len(STATISTICS) + 2
"""Numbers per stretch: its first row, statistics, limits, severity, alarm."""
_STATISTICS, _LIMITS = slice(1, 1 + len(STATISTICS)), slice(1 + len(STATISTICS), 1 + 2 * len(STATISTICS))


# Rows that come one by one are merged together: one at a time, that was a tenth of `learn_one`.
WAITING = 32
"""Most rows that wait to be merged."""


@dataclass
class Stretches(Marked):
    """At most `LIMIT` stretches of a stream; where they begin depends on the row counts alone."""

    LEARNT = ("length", "table", "room", "number")
    length: int = 1
    """Rows per stretch; doubled whenever there are too many."""
    table: Matrix = field(default_factory=lambda: np.zeros((0, WIDTH)))
    room: Matrix = field(default_factory=lambda: np.empty((WAITING, WIDTH)))
    """Rows that wait to be merged, in the first places; a mark may hold it, with fewer of them."""
    number: int = 0
    """Number of these rows."""

    def add(
        self, first: int, statistics: Matrix, limits: Matrix, severity: Vector, alarm: NDArray[np.bool_]
    ) -> None:
        """Count rows that follow those before; parameters as of `Verdicts.of`."""
        if len(severity) == 1 and self.number < WAITING:
            row = self.room[self.number]
            row[0], row[-2], row[-1] = first, severity[0], alarm[0]
            row[_STATISTICS], row[_LIMITS] = statistics[0], limits[0]
            self.number += 1
            return
        merged = self.merged()
        merged._add(first, statistics, limits, severity, alarm)
        self.length, self.table, self.room, self.number = merged.length, merged.table, merged.room, 0

    def merged(self) -> Stretches:
        """The same with no row that waits; nothing changes."""
        found = Stretches(self.length, self.table)
        rows = self.room[: self.number]
        if len(rows):
            found._add(int(rows[0, 0]), rows[:, _STATISTICS], rows[:, _LIMITS], rows[:, -2], rows[:, -1] > 0)
        return found

    def _add(
        self, first: int, statistics: Matrix, limits: Matrix, severity: Vector, alarm: NDArray[np.bool_]
    ) -> None:
        """`add` without waiting."""
        if not len(severity):
            return
        before = self.length
        while (first + len(severity) - 1) // self.length >= LIMIT:
            self.length *= 2
        if self.length > before:
            table, self.table = self.table, np.zeros((0, WIDTH))
            self._merge(table)
        begun = first - first % self.length
        starts = np.arange(begun - first, len(severity), self.length)
        rows = np.empty((len(starts), WIDTH))
        rows[:, 0] = first + starts
        starts[0] = 0
        rows[:, _STATISTICS] = np.fmax.reduceat(statistics, starts, axis=0)
        rows[:, _LIMITS] = limits[np.append(starts[1:], len(severity)) - 1]
        rows[:, -2] = np.fmax.reduceat(severity, starts)
        rows[:, -1] = np.logical_or.reduceat(alarm, starts)
        self._merge(rows)

    def _merge(self, rows: Matrix) -> None:
        """Put shorter stretches into the stretches that they belong to."""
        if not len(rows):
            return
        if len(self.table):
            rows, self.table = np.concatenate((self.table[-1:], rows)), self.table[:-1]
        stretch = rows[:, 0] // self.length
        starts = np.append(0, np.flatnonzero(stretch[1:] != stretch[:-1]) + 1)
        ends = np.append(starts[1:], len(rows)) - 1
        merged = np.fmax.reduceat(rows, starts, axis=0)
        merged[:, 0] = stretch[starts] * self.length
        merged[:, _LIMITS] = rows[ends, _LIMITS]
        self.table = np.concatenate((self.table, merged))

    def history(self) -> ControlHistory:
        """The stretches as arrays."""
        k = len(STATISTICS)
        row, statistics, limits, severity, alarm = np.split(
            self.merged().table, (1, 1 + k, 1 + 2 * k, 2 + 2 * k), axis=1
        )
        return ControlHistory(
            row[:, 0].astype(np.int64), statistics, limits, severity[:, 0], alarm[:, 0].astype(np.bool_)
        )
