"""The anchor: the first normal, which stands still beside the model that follows its stream."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..learners.knowledge import Vector
from .judging import Judged
from .normals import Normal
from .reference import Reference
from .trail import SPACING

# A share of a tile: eight tiles, 64 rows.
NEWEST_TILE = 1 / 8
"""Weight of the newest tile of `SPACING` rows in the mean surprise of the last rows for the anchor."""

# A share of a tile: 32 tiles, 256 rows. A slow stream leaves the range of its first rows for a while and
# comes back. On rows that no page shows, calm ones exceeded in the median 0.03 of the time by each average of
# nine rows, and never by means of 64 rows and more. On the evaluation's own rows that took 256 (128: 0.07).
NEWEST_TILE_OF_DRIFT = 1 / 32
"""Weight of the newest tile in the mean severity for the anchor that tells a drift."""

# In units of the line. A few tiles that are far off do not make a drift: two in three have to exceed.
MOST_FOR_DRIFT = 1.5
"""Largest severity for the anchor that counts for a drift."""


class Anchor(NamedTuple):
    """A normal that stands still, and what it has seen so far."""

    normal: Normal
    seen: float = math.nan
    """The severity of the average at the last end of a tile; NaN: it has said nothing yet."""
    usual: float = 1.0
    """Mean surprise of the averages of the last tiles; that of usual rows at first."""
    drifted: float = 0.0
    """Mean severity of the averages of many more tiles; above 1 there is a drift."""

    def after(
        self, found: Judged, reference: Reference, came: int
    ) -> tuple[Anchor, tuple[Vector, Vector, Vector]]:
        """The anchor after rows, and at each: severity of the average, mean surprise before, and drift.

        All as of the last end of a tile: a drift is slow, a look at every eighth row is enough. NaN where the
        anchor says nothing.

        Parameters
        ----------
        found
            The rows, judged.
        reference
            Reference that they were judged by.
        came
            Number of rows before them.
        """
        number, ends = len(found.usable), found.asked
        if (came + number) // SPACING == came // SPACING:  # no end of a tile
            drifted = math.nan if math.isnan(self.seen) else self.drifted
            now = np.full(number, self.seen), np.full(number, self.usual), np.full(number, drifted)
            return self, now
        tiles = (came + ends) // SPACING
        averages = reference.rows_at(found.averages, tiles)
        surprises = self.normal.surprises_of_averages(averages, tiles)
        severities = surprises / self.normal.limits.line
        known, counted = np.append(self.seen, severities), ~np.isnan(severities)
        usual = _means_over_tiles(self.usual, surprises, counted, NEWEST_TILE)
        capped = np.minimum(severities, MOST_FOR_DRIFT)
        means = _means_over_tiles(self.drifted, capped, counted, NEWEST_TILE_OF_DRIFT)
        last = np.zeros(number, dtype=np.intp)  # the last of them at each row
        last[ends] = 1
        last = np.add.accumulate(last, out=last)
        drift = np.where(np.isnan(known), np.nan, means)
        answers = known[last], np.array(usual)[last], drift[last]
        return Anchor(self.normal, float(known[-1]), usual[-1], means[-1]), answers


def _means_over_tiles(start: float, values: Vector, counted: NDArray[np.bool_], newest: float) -> list[float]:
    """Exponentially weighted means before and after each of these values, one per tile, where it counts."""
    means = [start]
    for value, counts in zip(values.tolist(), counted.tolist(), strict=True):
        start = start + newest * (value - start) if counts else start
        means.append(start)
    return means
