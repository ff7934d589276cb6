"""Reference that rows are judged by: a moment of the model.

Its *coordinates* of a row are projections on the axes, each in units of its own spread; where there are
directions beyond the axes, also the standardized row itself. `judging` makes the statistics of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..learners.arrays import host
from ..learners.knowledge import Floats, Matrix, Vector
from ..model.reading import Reading
from .likeness import Likeness
from .trail import TILE

STATISTICS = ("t2", "spe", "distance", "extreme", "average", "pair")
"""Statistics of each row that are watched."""
ALONE = STATISTICS[:4]
"""Those of a row alone, whatever came before it."""

# It bounds the weight of a direction to a million times the usual: guards against directions whose variance
# is rounding. On the Tennessee Eastman plant the distance detects .908 of fault rows with 1e-3, .919 with
# 1e-6 and without any.
RIDGE = 1e-6
"""Ridge of the distance, as a share of the mean variance of directions that are not kept."""

# Where inputs follow each other to the last digit, even directions that are not kept have nothing but
# rounding: on one such plant limits of the distance came out at half a billion. A relation that holds to a
# thousandth of an input's spread is as close as sensors tell.
LEAST_VARIANCE = 1e-6
"""The same, at least, as a share of the mean variance of all directions."""

# Rows. A correlation along an axis is known to 1 / 8.
FIRST_LIKENESS = 64.0
"""Rows that have to be seen before extremes, averages and pairs are judged."""

# The largest value of a row that is learnt (`learners.stored.LARGEST_VALUE`): sums of squares stay finite.
GREATEST = 1e70
"""Standardized values beyond this are taken for it."""

# A factor, which is reached at `ROWS_PER_DIRECTION` only where rows are forgotten.
LARGEST_INFLATION = 2.0
"""Most that the statistics of other rows are expected to exceed those of rows that were learnt."""

# Factors. Directions that are spread three times as far in rows not learnt still see faults best, and
# limits know of it. Beyond that they would hide all others: where five inputs followed another one closely,
# but each loosely in a fifth of the rows, the limit of the distance was a thousand times too high. With 4, an
# alarm of one of the evaluation's own plants was kept on for a third of its rows; with 2 or 10 none was.
TOLERATED_GROWTH, LARGEST_GROWTH = 10.0, 1e12
"""Growth of squares of rows that were not learnt up to which a direction keeps its weight, and the largest
that lowers it."""

# At two, new rows have twice the distance of rows that were learnt (`LARGEST_INFLATION`), which limits from
# rows that were not learnt know of. At four, 500 rows of the Tennessee Eastman plant with two lags have no
# distance at all: .762 of the rows of faults were seen instead of .965.
ROWS_PER_DIRECTION = 2.0
"""Rows per direction that have to be learnt before a statistic is judged."""


@dataclass(frozen=True)
class Reference:
    """A moment of a model, as far as rows are judged by it. Everything is in standardized units."""

    mean: Vector
    scale: Vector | None
    """Divisors of centered inputs; None: not divided."""
    axes: Matrix
    """Known axes as rows, kept ones first (r, n)."""
    variances: Vector
    """Variance along each of them (r)."""
    rank: int
    rest: float
    """Variance along every other direction."""
    count: float
    """Number of rows that all this was learnt from, discounted."""
    likeness: Likeness
    growth: Vector
    """Squares of rows that were not learnt, as a multiple of what the variances say: along each axis, and
    beyond all (r + 1)."""

    @classmethod
    def of(cls, reading: Reading, before: Reference | None = None, rank: int | None = None) -> Self:
        """The reference that a reading gives, after another one; with another rank, if one is given."""
        known = len(reading.variances) if reading.tells_below_threshold else reading.rank
        variances = np.asarray(reading.variances[:known], dtype=np.float64)
        others = reading.mean.size - known
        left = max(reading.total_variance - float(variances.sum()), 0.0)
        mean, axes = (
            np.asarray(host(array), dtype=np.float64) for array in (reading.mean, reading.axes[:known])
        )
        scale = None if reading.scale is None else np.asarray(host(reading.scale), dtype=np.float64)
        rest = left / others if others else 0.0
        kept = reading.rank if rank is None else min(rank, known)
        likeness, growth = Likeness.unknown(known, mean.size), np.ones(known + 1)
        found = cls(mean, scale, axes, variances, kept, rest, reading.count, likeness, growth)
        if before is None:
            return found
        found = replace(found, growth=_of_as_many(before.growth, known))
        return replace(found, likeness=before.likeness.turned(before, found))

    def judging_by(self, parts: Sequence[Likeness]) -> Self:
        """The same as stretches of rows that were not learnt tell: their squares, likeness and reach.

        Squares count by their geometric mean over stretches: one that is far off does not set the weights.
        """
        axes, tiny = len(self.variances), np.finfo(np.float64).tiny
        # Learners that find their axes one by one may know another number of them in each part.
        parts = [part._replace(sums=_of_as_many(part.sums, axes)) for part in parts]
        likeness = Likeness.together(parts)
        each = [np.log(np.maximum(part.sums[1] / max(part.counted, 1.0), tiny)) for part in parts]
        grown = np.exp(np.mean(each, axis=0)) / TOLERATED_GROWTH
        growth = np.clip(grown, 1.0, LARGEST_GROWTH)
        growth[-1] = growth[-1] if self.others else 1.0
        return replace(self, growth=growth, likeness=likeness._replace(sums=likeness.sums / growth))

    @property
    def others(self) -> int:
        """Number of directions that are not known one by one."""
        return len(self.mean) - len(self.variances)

    @property
    def width(self) -> int:
        """Number of coordinates of a row."""
        return len(self.variances) + (len(self.mean) if self.others else 0)

    @cached_property
    def moments(self) -> tuple[float, float]:
        """Sum of the variances that are not kept, and of their squares."""
        dropped = self.variances[self.rank :]
        first = float(dropped.sum()) + self.others * self.rest
        return first, float(np.square(dropped).sum()) + self.others * self.rest * self.rest

    @cached_property
    def weights(self) -> tuple[Vector, float]:
        """Weights of squared projections in the distance: along the axes, and elsewhere."""
        along, elsewhere = self._weights_by_variances
        return along / self.growth[:-1], elsewhere / float(self.growth[-1])

    @cached_property
    def _weights_by_variances(self) -> tuple[Vector, float]:
        dropped = max(len(self.mean) - self.rank, 1)
        total = float(self.variances.sum()) + self.others * self.rest
        least = max(LEAST_VARIANCE * total / len(self.mean), np.finfo(np.float64).tiny)
        ridge = max(RIDGE * self.moments[0] / dropped, least)
        damped = self.variances.copy()
        damped[self.rank :] += ridge
        return 1 / np.maximum(damped, least), 1 / (self.rest + ridge)

    @cached_property
    def _gain(self) -> Vector:
        assert self.scale is not None
        return 1 / self.scale

    @cached_property
    def _columns(self) -> Matrix:
        """The axes as columns in memory, which multiplies short tiles twice as fast, weighted (n, r)."""
        return np.ascontiguousarray(self.axes.T * np.sqrt(self.weights[0]))

    @cached_property
    def alike(self) -> tuple[Vector, Vector, Vector]:
        """Inverse share of averages, correlation with the predecessor, and inverse of what that leaves."""
        follows = self.likeness.follows
        return 1 / self.likeness.stays, follows, 1 / (1 - np.square(follows))

    @cached_property
    def reaches(self) -> Matrix:
        """Inverse of how far each input goes above its mean and, negative, below, in its spreads (2, n)."""
        return np.asarray([[1.0], [-1.0]] / self.likeness.reach)

    @cached_property
    def degrees(self) -> Vector:
        """Degrees of freedom of the statistics: the mean of each in units of a direction's (6)."""
        along, elsewhere = self._weights_by_variances
        distance = float(self.variances @ along) + self.others * self.rest * elsewhere
        first, second = self.moments
        return np.array(
            [self.rank, first**2 / second if second > 0 else 0.0, distance, 1.0, distance, 2 * distance]
        )

    @cached_property
    def expected(self) -> Vector:
        """The mean of each statistic of rows that were not learnt; infinite where it cannot be told (6)."""
        w, degrees = max(self.count, 1.0), self.degrees
        expected = degrees * (1 + 1 / w)
        expected[1] = self.moments[0] * (1 + 1 / w)
        own = np.array([0, 2, 4, 5])
        # A quadratic form in p directions learnt from w rows is w / (w - p) times as large for other rows.
        expected[own] *= w / np.maximum(w - degrees[[0, 2, 2, 2]], w / LARGEST_INFLATION)
        known = self.count >= ROWS_PER_DIRECTION * degrees[[0, 0, 2, 3, 2, 2]]
        if self.likeness.counted < FIRST_LIKENESS:
            known[3:] = False
        return np.where(known & (expected > 0), expected, np.inf)

    def coordinates(self, rows: Floats, places: NDArray[np.intp]) -> Matrix:
        """Coordinates of rows without gaps (T, r, and n more where there are directions beyond the axes).

        Parameters
        ----------
        rows
            The rows.
        places
            Number of each in the stream: products are of tiles that begin at fixed places.
        """
        at, length = _tiles_of(places)
        return np.asarray(self.tiles(self.standardized(rows), at, length)[at])

    def tiles(self, standardized: Matrix, at: Any, length: int) -> Matrix:
        """Whole tiles with the coordinates of rows without gaps at these positions, and zero elsewhere.

        Parameters
        ----------
        standardized
            The rows, standardized.
        at
            Their positions in the tiles: a slice, or one of each row.
        length
            Number of rows in the tiles.
        """
        r, n = len(self.variances), len(self.mean)
        found = np.empty((length, self.width))
        Y, Z = found[:, :r], found[:, r:] if self.others else np.empty((length, n))
        _clear_beside(at, Z)
        Z[at] = standardized
        _multiply(Z, self._columns, Y)
        return found

    def rows_at(self, coordinates: Matrix, places: NDArray[np.intp] | None = None) -> Matrix:
        """Rows with these coordinates, in units of the input; places as of `coordinates`."""
        r = len(self.variances)
        if self.others:
            Z = coordinates[:, r:]
        else:
            at, length = _tiles_of(np.arange(len(coordinates)) if places is None else places)
            projections, Z = np.empty((2, length, r))
            _clear_beside(at, projections)
            projections[at] = coordinates / np.sqrt(self.weights[0])
            _multiply(projections, self.axes, Z)
            Z = Z[at]
        return np.asarray(self.mean + (Z if self.scale is None else Z * self.scale))

    def precise(self, Z: Matrix) -> Matrix:
        """Standardized rows times the matrix M of the distance, ``z' M z``."""
        along, elsewhere = self.weights
        projections = Z @ self.axes.T
        found = (projections * along) @ self.axes
        if self.others:
            found += (Z - projections @ self.axes) * elsewhere
        return np.asarray(found)

    def precise_column(self, i: int) -> Vector:
        """Column of that matrix for one input (n)."""
        along, elsewhere = self.weights
        projections = self.axes[:, i]
        found = (projections * along) @ self.axes
        if self.others:
            beyond = projections @ self.axes * -elsewhere
            beyond[i] += elsewhere
            found += beyond
        return np.asarray(found)

    @cached_property
    def precision(self) -> Vector:
        """The diagonal of that matrix (n)."""
        along, elsewhere = self.weights
        shares = np.square(self.axes)
        return np.asarray(
            along @ shares + elsewhere * np.maximum(1 - shares.sum(axis=0), 0.0) * bool(self.others)
        )

    def turned(self, other: Reference) -> float:
        """Number of this reference's components that another one has turned away from: 0 to all of them."""
        overlap = self.axes[: self.rank] @ other.axes[: other.rank].T
        return max(self.rank - float(np.square(overlap).sum()), 0.0)

    @cached_property
    def spreads(self) -> Vector:
        """Standard deviation of each input, in its own unit (n)."""
        if self.scale is not None:
            return self.scale
        shares = np.square(self.axes)
        left = np.maximum(1 - shares.sum(axis=0), 0.0) * self.rest
        return np.asarray(np.sqrt(self.variances @ shares + left))

    def departures(self, standardized: Matrix) -> Matrix:
        """Distance of each input of standardized rows from its mean, in units of its spread."""
        return standardized if self.scale is not None else standardized * self._per_spread

    @cached_property
    def _per_spread(self) -> Vector:
        """Inverse of the spread of each input; 0 for one that never changed."""
        return np.divide(1.0, self.spreads, where=self.spreads > 0, out=np.zeros(len(self.mean)))

    def standardized(self, rows: Floats) -> Matrix:
        """Rows centered and divided by their scale."""
        Z: Matrix = np.subtract(rows, self.mean, dtype=np.float64)
        if self.scale is not None:
            Z *= self._gain
            if not (Z.max(initial=0.0) < GREATEST and Z.min(initial=0.0) > -GREATEST):
                np.clip(Z, -GREATEST, GREATEST, out=Z)
        return Z


def _of_as_many(numbers: Matrix, axes: int) -> Matrix:
    """Numbers of axes in order, and beyond all, for another number of axes; those too many are left out."""
    known = numbers.shape[-1] - 1
    at = np.append(np.minimum(np.arange(axes), known - 1), known)
    return np.asarray(numbers[..., at])


def _tiles_of(places: NDArray[np.intp]) -> tuple[Any, int]:
    """Positions of rows at these places in whole tiles of rows, and the number of rows in these tiles."""
    if not len(places):
        return slice(0), 0
    first, last = int(places[0]), int(places[-1])
    start, number = first % TILE, len(places)
    length = (last // TILE - first // TILE + 1) * TILE
    together = last - first + 1 == number
    return slice(start, start + number) if together else places - (first - start), length


def _clear_beside(at: Any, tiles: Matrix) -> None:
    """Set all rows of tiles to zero but those at these positions, which are still to be set."""
    if isinstance(at, slice):
        tiles[: at.start] = tiles[at.stop :] = 0.0
    else:
        tiles[:] = 0.0


def _multiply(rows: Matrix, matrix: Matrix, out: Matrix) -> None:
    """Product of each tile of rows with a matrix: bits depend on the place of a row only."""
    if len(rows):
        tiles = len(rows) // TILE, TILE, -1
        np.matmul(rows.reshape(tiles), matrix, out=out.reshape(tiles))
