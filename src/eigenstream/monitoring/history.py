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


@dataclass
class Stretches(Marked):
    """At most `LIMIT` stretches of a stream; where they begin depends on the row counts alone."""

    LEARNT = ("length", "table")
    length: int = 1
    """Rows per stretch; doubled whenever there are too many."""
    table: Matrix = field(default_factory=lambda: np.zeros((0, WIDTH)))

    def add(
        self, first: int, statistics: Matrix, limits: Matrix, severity: Vector, alarm: NDArray[np.bool_]
    ) -> None:
        """Count rows that follow those before; parameters as of `Verdicts.of`."""
        if not len(severity):
            return
        rows = np.arange(first, first + len(severity), dtype=np.float64)
        before = self.length
        while (first + len(severity) - 1) // self.length >= LIMIT:
            self.length *= 2
        if self.length > before:
            table, self.table = self.table, np.zeros((0, WIDTH))
            self._merge(table)
        self._merge(np.column_stack((rows, statistics, limits, severity, alarm)))

    def _merge(self, rows: Matrix) -> None:
        """Put rows, or shorter stretches, into the stretches that they belong to."""
        if not len(rows):
            return
        if len(self.table):
            rows, self.table = np.vstack((self.table[-1], rows)), self.table[:-1]
        stretch = rows[:, 0] // self.length
        starts = np.flatnonzero(np.diff(stretch, prepend=-1))
        ends = np.append(starts[1:], len(rows)) - 1
        merged = np.fmax.reduceat(rows, starts, axis=0)
        merged[:, 0] = stretch[starts] * self.length
        limits = slice(1 + len(STATISTICS), 1 + 2 * len(STATISTICS))
        merged[:, limits] = rows[ends, limits]
        self.table = np.vstack((self.table, merged))

    def history(self) -> ControlHistory:
        """The stretches as arrays."""
        k = len(STATISTICS)
        row, statistics, limits, severity, alarm = np.split(
            self.table, (1, 1 + k, 1 + 2 * k, 2 + 2 * k), axis=1
        )
        return ControlHistory(
            row[:, 0].astype(np.int64), statistics, limits, severity[:, 0], alarm[:, 0].astype(np.bool_)
        )
