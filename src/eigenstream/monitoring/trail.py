"""The rows before the next one: exponentially weighted averages that do not depend on how rows are cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from ..learners.knowledge import Matrix, Vector
from .likeness import NEWEST

if TYPE_CHECKING:
    from .reference import Reference

# Tiles begin at fixed row counts: bits do not depend on how many rows come together. A row that comes alone
# costs as much as a whole tile: with 256 inputs one of many takes 6.8 us in tiles of 8, 3.2 in tiles of 32
# and 2.3 in one product of all rows, one alone 54 and 103 us.
TILE = 32
"""Rows per product of matrices."""

_AGES = np.arange(TILE)[:, None] - np.arange(TILE)
_KERNEL = np.where(_AGES >= 0, NEWEST * (1 - NEWEST) ** np.maximum(_AGES, 0), 0.0)
_FADING = (1 - NEWEST) ** np.arange(1, TILE + 1)[:, None]
_FADED = float(_FADING[-1, 0])


class Trail(NamedTuple):
    """The rows before the next one, as far as it is judged by them, in coordinates of a reference."""

    start: Vector
    """The average before the first of the open rows."""
    open: Matrix
    """Rows since, capped, fewer than `TILE`."""
    previous: Vector
    """The last row."""
    average: Vector
    """The average at the last row."""

    @classmethod
    def before_first(cls, previous: Vector) -> Self:
        """As if all rows before had been usual; the last one is given."""
        nothing = np.zeros(len(previous))
        return cls(nothing, np.zeros((0, len(previous))), previous, nothing)

    def turned(self, before: Reference, after: Reference) -> Self:
        """The same in coordinates of another reference."""
        rows = before.rows_at(np.vstack((self.start, self.previous, self.average, self.open)))
        start, previous, average, *open_ = after.coordinates(rows, np.arange(len(rows)))
        return type(self)(start, np.reshape(open_, (-1, len(start))), previous, average)

    def after(self, rows: Matrix, capped: Matrix) -> tuple[Matrix, Trail]:
        """Averages at rows that follow, and the trail after them.

        Within a tile ``a_i = sum of newest (1 - newest)^(i - j) x_j + (1 - newest)^(i + 1) start``.

        Parameters
        ----------
        rows
            The rows.
        capped
            The same as they enter the average.
        """
        number, waiting = len(rows), len(self.open)
        if not number:
            return rows, self
        tiles, whole = -(-(waiting + number) // TILE), (waiting + number) // TILE
        room = np.zeros((tiles * TILE, rows.shape[1]))
        room[:waiting], room[waiting : waiting + number] = self.open, capped
        averages = np.matmul(_KERNEL, room.reshape(tiles, TILE, -1))
        starts = np.empty((tiles + 1, rows.shape[1]))
        starts[0] = self.start
        for before, after, added in zip(starts[:whole], starts[1:], averages[:, -1], strict=False):
            np.multiply(before, _FADED, out=after)
            np.add(added, after, out=after)
        averages += _FADING * starts[:tiles, None]
        found = averages.reshape(tiles * TILE, -1)[waiting : waiting + number]
        open_ = room[whole * TILE : waiting + number].copy()
        return found, Trail(starts[whole].copy(), open_, rows[-1].copy(), found[-1].copy())
