"""The rows before the next one: exponentially weighted averages that do not depend on how rows are cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..learners.knowledge import Matrix, Vector
from .likeness import NEWEST

if TYPE_CHECKING:
    from .reference import Reference

# Tiles begin at fixed row counts: bits do not depend on how many rows come together. A row that comes alone
# costs as much as a whole tile: with 256 inputs one of many takes 6.8 us in tiles of 8, 3.2 in tiles of 32
# and 2.3 in one product of all rows, one alone 54 and 103 us.
TILE = 32
"""Rows per product of matrices."""

# Rows: as many as an average remembers, more or less.
SPACING = 8
"""Rows between averages of which all coordinates are kept: the anchor looks at these."""

_AGES = np.arange(TILE)[:, None] - np.arange(TILE)
_KERNEL = np.where(_AGES >= 0, NEWEST * (1 - NEWEST) ** np.maximum(_AGES, 0), 0.0)
_FADED = (1 - NEWEST) ** TILE
_AS_FIRST = (1 - NEWEST) / NEWEST


class Averages(NamedTuple):
    """Averages at rows in sequence, in coordinates of a reference."""

    along: Matrix
    """Along its axes (T, r)."""
    lengths: Vector | None
    """Squared lengths of the averages of standardized rows (T); None where nothing is beyond the axes."""
    whole: Matrix
    """All coordinates at the rows that were asked for."""


class Trail(NamedTuple):
    """The rows before the next one, as far as it is judged by them, in coordinates of a reference."""

    start: Vector
    """The average before the first of the open rows."""
    open: Matrix
    """Rows since, capped, fewer than `TILE`."""
    previous: Vector
    """The last row."""

    @classmethod
    def before_first(cls, previous: Vector) -> Self:
        """As if all rows before had been usual; the last one is given."""
        return cls(np.zeros(len(previous)), np.zeros((0, len(previous))), previous)

    def turned(self, before: Reference, after: Reference) -> Self:
        """The same in coordinates of another reference."""
        rows = before.rows_at(np.vstack((self.start, self.previous, self.open)))
        start, previous, *open_ = after.coordinates(rows, np.arange(len(rows)))
        return type(self)(start, np.reshape(open_, (-1, len(start))), previous)

    def after(
        self, room: Matrix, number: int, axes: int, asked: NDArray[np.intp], previous: Vector
    ) -> tuple[Averages, Trail]:
        """Averages at rows that follow, and the trail after them.

        Within a tile ``a_i = sum of newest (1 - newest)^(i - j) x_j + (1 - newest)^(i + 1) start``: the start
        counts as a part of the first row.

        Parameters
        ----------
        room
            The rows as they enter the average, in whole tiles: behind as many as are open, and zero behind
            them. It is overwritten.
        number
            Number of these rows, at least one.
        axes
            Number of coordinates that are projections on axes; the others are the row itself.
        asked
            Positions of the rows at which all coordinates of the average are asked for.
        previous
            The last of the rows as it came.
        """
        width, waiting = room.shape[1], len(self.open)
        tiles, whole = len(room) // TILE, (waiting + number) // TILE
        room[:waiting] = self.open
        open_, each = room[whole * TILE : waiting + number].copy(), room.reshape(tiles, TILE, width)
        starts = np.empty((tiles + 1, width))
        starts[0] = self.start
        for before, after, added in zip(
            starts, starts[1:], np.matmul(_KERNEL[-1:], each)[:, 0], strict=False
        ):
            np.multiply(before, _FADED, out=after)
            after += added
        each[:, 0] += _AS_FIRST * starts[:tiles]
        along, lengths = np.matmul(_KERNEL, each[:, :, :axes]), None
        along = along.reshape(tiles * TILE, axes)[waiting : waiting + number]
        if axes == width:
            averages = Averages(along, None, along[asked])
        else:
            lengths = _lengths_of_averages(each[:, :, axes:]).ravel()[waiting : waiting + number]
            averages = Averages(along, lengths, _averages_at(each, waiting + asked))
        return averages, Trail(starts[whole].copy(), open_, previous)


def _lengths_of_averages(tiles: Matrix) -> Matrix:
    """Squared length of the average at each row of each tile; by products, which takes less time if wide."""
    products = np.matmul(tiles, tiles.transpose(0, 2, 1))
    return np.asarray(np.einsum("tij,ij->ti", np.matmul(_KERNEL, products), _KERNEL))


def _averages_at(tiles: Matrix, places: NDArray[np.intp]) -> Matrix:
    """Averages at rows of tiles, all that are equally far from a tile's grid together: where rows have no
    gaps, all of them."""
    tile, within = np.divmod(places, TILE)
    found = np.empty((len(places), tiles.shape[-1]))
    for first in np.unique(within % SPACING).tolist():
        mine = within % SPACING == first
        found[mine] = np.matmul(_KERNEL[first::SPACING], tiles)[tile[mine], within[mine] // SPACING]
    return found
