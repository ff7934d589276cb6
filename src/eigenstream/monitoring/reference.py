"""Reference that rows are judged by: a moment of the model, a row's statistics, each input's part in them.

With ``z = (x - mean) / scale``, the axes ``u_j`` and variances ``v_j`` of the model, p of them kept, and
``w_j = 1 / (v_j + ridge)``:

    T²        sum over kept axes of (u_j'z)² / v_j         how far off within the model
    SPE       |z|² - sum over kept axes of (u_j'z)²        how far off the model
    distance  sum over all axes of w_j (u_j'z)²            how far off, each direction by its own spread
    average   the distance of the exponentially weighted average of rows, whose variance is ``s_j v_j``
    pair      the distance of the row and its predecessor together, with the correlation ``f_j`` between them

The distance sees faults first: relations between inputs that hold almost exactly have small variances, and
SPE, which adds up all directions alike, drowns them. The average sees small faults that last, the pair those
that come suddenly to rows that resemble each other. Both need the likeness of a row to those before it, which
is measured along each axis (`Likeness`): rows need not be independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..learners.arrays import host
from ..learners.knowledge import Floats, Matrix, Vector
from ..model.reading import Reading

STATISTICS = ("t2", "spe", "distance", "average", "pair")
"""Statistics of each row that are watched."""
ALONE = STATISTICS[:3]
"""Those of a row alone, whatever came before it."""

# It bounds the weight of a direction to a million times the usual: guards against directions whose variance
# is rounding. On the Tennessee Eastman plant the distance detects .908 of fault rows with 1e-3, .919 with
# 1e-6 and without any.
RIDGE = 1e-6
"""Ridge of the distance, as a share of the mean variance of directions that are not kept."""

# A memory of nine rows. Averages of 3 to 20 rows differ little (.2 or .1: .928 and .926 on the plant).
NEWEST = 0.2
"""Weight of the newest row in the average."""

# Rows. A correlation along an axis is known to 1 / 8.
FIRST_LIKENESS = 64.0
"""Rows that have to be compared with their predecessors before averages and pairs are judged."""

# Rows. Keeps the likeness along an axis away from what a few rows have by chance.
DOUBT = 16.0
"""Prior weight on rows that are independent."""

MOST_ALIKE = 0.999
"""Correlations with the predecessor beyond this count as this: rows that never change are no proof."""

# The largest value of a row that is learnt (`learners.stored.LARGEST_VALUE`): sums of squares stay finite.
GREATEST = 1e70
"""Standardized values beyond this are taken for it."""

# A factor. A gross row keeps the average of independent rows beyond its limit for four more rows, not longer.
GROSS = 30.0
"""Distance, as a multiple of the expected one, at which a row enters the average."""

# A factor, which is reached at `ROWS_PER_DIRECTION` only where rows are forgotten.
LARGEST_INFLATION = 2.0
"""Most that the statistics of other rows are expected to exceed those of rows that were learnt."""

# At four, new rows have 4/3 of the distance of rows that were learnt; below, that factor grows quickly.
ROWS_PER_DIRECTION = 4.0
"""Rows per direction that have to be learnt before a statistic is judged."""

# Tiles begin at fixed row counts: bits do not depend on how many rows come together.
TILE = 8
"""Rows per product of matrices."""

_AGES = np.arange(TILE)[:, None] - np.arange(TILE)
_KERNEL = np.where(_AGES >= 0, NEWEST * (1 - NEWEST) ** np.maximum(_AGES, 0), 0.0)
_FADING = (1 - NEWEST) ** np.arange(1, TILE + 1)[:, None]


class Likeness(NamedTuple):
    """Likeness of rows to those before them: sums of squares along each axis, and beyond all (3, r + 1)."""

    sums: Matrix
    """Of averages, of rows, and of products of rows with their predecessors."""
    counted: float = 0.0
    """Number of rows in them."""

    @classmethod
    def unknown(cls, axes: int) -> Self:
        return cls(np.zeros((3, axes + 1)))

    def discounted(self, factor: float) -> Likeness:
        return Likeness(self.sums * factor, self.counted * factor)

    def after(self, products: Sequence[Matrix]) -> Likeness:
        """With the products of more rows, three of (T, r + 1), added one by one: calls do not matter."""
        pairs = zip(self.sums, products, strict=True)
        sums = [np.add.reduce(np.concatenate((one[None], more))) for one, more in pairs]
        return Likeness(np.stack(sums), self.counted + len(products[0]))

    def turned(self, before: Reference, after: Reference) -> Likeness:
        """The same along other axes, if there is no correlation between those before."""
        scale = 1.0 if after.scale is None or before.scale is None else before.scale / after.scale
        share = np.square((before.axes * scale) @ after.axes.T)
        sums = self.sums[:, :-1] / before.weights[0]
        known, rest = sums @ share, self.sums[:, -1]
        left = np.maximum(sums.sum(axis=1) - known.sum(axis=1), 0.0) if after.others else 0.0
        return Likeness(np.column_stack((known * after.weights[0], rest + left)), self.counted)

    @property
    def stays(self) -> Vector:
        """Share of the variance along each axis that is left of averages (r + 1)."""
        averages, rows, _ = self._doubted
        return np.asarray(np.clip(averages / rows, 1e-3, 1.0))

    @property
    def follows(self) -> Vector:
        """Correlation of a row with its predecessor along each axis (r + 1)."""
        _, rows, products = self._doubted
        return np.asarray(np.clip(products / rows, -MOST_ALIKE, MOST_ALIKE))

    @property
    def _doubted(self) -> Matrix:
        """The sums with those of some independent rows."""
        each = self.sums[1] / max(self.counted, 1.0)
        each = np.where(each > 0, each, 1.0)
        return self.sums + DOUBT * np.array([[NEWEST / (2 - NEWEST)], [1.0], [0.0]]) * each


class Trail(NamedTuple):
    """The rows before the next one, as far as it is judged by them, in coordinates of a reference."""

    start: Vector
    """The average before the first of the open rows."""
    open: Matrix
    """Rows since, capped, fewer than a tile."""
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
        start, previous, average, *open_ = after.coordinates(rows, TILE * np.arange(len(rows)))
        return type(self)(start, np.reshape(open_, (-1, len(start))), previous, average)


class Judged(NamedTuple):
    """Rows judged by a reference."""

    statistics: Matrix
    """(T, 5); NaN in rows with gaps."""
    products: tuple[Matrix, Matrix, Matrix]
    """What `Likeness.after` takes, of rows without gaps."""
    usable: NDArray[np.bool_]
    """True for rows without gaps."""
    averages: Matrix
    """The average at each of these, in coordinates of the reference."""
    trail: Trail
    """The last of them."""


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

    @classmethod
    def of(cls, reading: Reading, before: Reference | None = None) -> Self:
        """The reference that a reading gives, after another one."""
        known = len(reading.variances) if reading.tells_below_threshold else reading.rank
        variances = np.asarray(reading.variances[:known], dtype=np.float64)
        others = reading.mean.size - known
        left = max(reading.total_variance - float(variances.sum()), 0.0)
        mean, axes = (
            np.asarray(host(array), dtype=np.float64) for array in (reading.mean, reading.axes[:known])
        )
        scale = None if reading.scale is None else np.asarray(host(reading.scale), dtype=np.float64)
        rest = left / others if others else 0.0
        likeness = Likeness.unknown(known)
        found = cls(mean, scale, axes, variances, reading.rank, rest, reading.count, likeness)
        return found if before is None else replace(found, likeness=before.likeness.turned(before, found))

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
        return first, float(np.square(dropped).sum()) + self.others * self.rest**2

    @cached_property
    def weights(self) -> tuple[Vector, float]:
        """Weights of squared projections in the distance: along the axes, and elsewhere."""
        dropped = max(len(self.mean) - self.rank, 1)
        largest = float(self.variances.max(initial=0.0))
        ridge = max(
            RIDGE * self.moments[0] / dropped, np.finfo(np.float64).eps * largest, np.finfo(np.float64).tiny
        )
        damped = self.variances.copy()
        damped[self.rank :] += ridge
        return 1 / np.maximum(damped, np.finfo(np.float64).tiny), 1 / (self.rest + ridge)

    @cached_property
    def _columns(self) -> Matrix:
        """The axes as columns in memory, which multiplies short tiles twice as fast, weighted (n, r)."""
        return np.ascontiguousarray(self.axes.T * np.sqrt(self.weights[0]))

    @cached_property
    def _alike(self) -> tuple[Vector, Vector, Vector]:
        """Inverse share of averages, correlation with the predecessor, and inverse of what that leaves."""
        follows = self.likeness.follows
        return 1 / self.likeness.stays, follows, 1 / (1 - np.square(follows))

    @cached_property
    def _parts(self) -> Matrix:
        """Weights of squared coordinates in T², SPE and the distance of averages (3, r)."""
        along, kept = self.weights[0], np.arange(len(self.variances)) < self.rank
        return np.stack((kept, ~kept / along, self._alike[0][:-1]))

    @cached_property
    def degrees(self) -> Vector:
        """Degrees of freedom of the statistics: the mean of each in units of a direction's (5)."""
        along, elsewhere = self.weights
        distance = float(self.variances @ along) + self.others * self.rest * elsewhere
        first, second = self.moments
        return np.array(
            [self.rank, first**2 / second if second > 0 else 0.0, distance, distance, 2 * distance]
        )

    @cached_property
    def expected(self) -> Vector:
        """The mean of each statistic of rows that were not learnt; infinite where it cannot be told (5)."""
        w, degrees = max(self.count, 1.0), self.degrees
        expected = degrees * (1 + 1 / w)
        expected[1] = self.moments[0] * (1 + 1 / w)
        own = np.array([0, 2, 3, 4])
        # A quadratic form in p directions learnt from w rows is w / (w - p) times as large for other rows.
        expected[own] *= w / np.maximum(w - degrees[[0, 2, 2, 2]], w / LARGEST_INFLATION)
        known = self.count >= ROWS_PER_DIRECTION * degrees[[0, 0, 2, 2, 2]]
        if self.likeness.counted < FIRST_LIKENESS:
            known[3:] = False
        return np.where(known & (expected > 0), expected, np.inf)

    def coordinates(self, rows: Floats, places: NDArray[np.intp]) -> Matrix:
        """Coordinates of rows without gaps: along the axes, each in units of its own spread.

        Where there are directions beyond the axes, also the standardized row itself (T, r or r + n).

        Parameters
        ----------
        rows
            The rows.
        places
            Number of each in the stream: products are of tiles that begin at fixed places.
        """
        Z = self.standardized(rows)
        if not len(Z):
            return np.zeros((0, self.width))
        first = int(places[0]) // TILE
        tiles, inside = int(places[-1]) // TILE - first + 1, places - first * TILE
        room = np.zeros((tiles * TILE, len(self.mean)))
        room[inside] = Z
        Y = np.matmul(room.reshape(tiles, TILE, -1), self._columns).reshape(tiles * TILE, -1)[inside]
        return np.hstack((Y, Z)) if self.others else np.asarray(Y)

    def rows_at(self, coordinates: Matrix) -> Matrix:
        """Rows with these coordinates, in units of the input."""
        r = len(self.variances)
        Z = coordinates[:, r:] if self.others else (coordinates / np.sqrt(self.weights[0])) @ self.axes
        return np.asarray(self.mean + (Z if self.scale is None else Z * self.scale))

    def _split(self, coordinates: Matrix) -> tuple[Matrix, Vector]:
        """Squares along the axes (T, r), and squared lengths beyond them (T)."""
        r = len(self.variances)
        squares = np.square(coordinates[:, :r])
        if not self.others:
            return squares, np.zeros(len(squares))
        lengths = np.einsum("ij,ij->i", coordinates[:, r:], coordinates[:, r:])
        known = np.einsum("ij,j->i", squares, 1 / self.weights[0])
        return squares, np.maximum(lengths - known, 0.0)

    def judge(self, rows: Floats, place: int, trail: Trail | None = None) -> Judged:
        """The statistics of rows in sequence.

        Parameters
        ----------
        rows
            The rows.
        place
            Number of rows before them in the stream.
        trail
            What came before; None: they are a stretch of their own.
        """
        usable: NDArray[np.bool_] = np.logical_not(np.isnan(rows).any(axis=1))
        statistics = np.full((len(rows), len(STATISTICS)), np.nan)
        with np.errstate(over="ignore", invalid="ignore"):  # infinitely far off is an answer
            C = self.coordinates(rows if usable.all() else rows[usable], place + np.flatnonzero(usable))
            if trail is None:
                trail = Trail.before_first(C[0] if len(C) else np.zeros(C.shape[1]))
            squares, beyond = self._split(C)
            known = np.einsum("ij->i", squares)
            distance = known + beyond * self.weights[1]
            averages, trail_after = self._averaged(C, distance, trail)
            level, level_beyond = self._split(averages)
            pair, products, crossed = self._pairs(C, known, beyond, trail)
            t2, spe, average = self._parts
            found = np.empty((len(C), len(STATISTICS)))
            np.einsum("ij,j->i", squares, t2, out=found[:, 0])
            found[:, 1] = np.einsum("ij,j->i", squares, spe) + beyond
            found[:, 2], found[:, 4] = distance, pair
            found[:, 3] = np.einsum("ij,j->i", level, average)
            found[:, 3] += level_beyond * (self.weights[1] * self._alike[0][-1])
            statistics[usable] = found
        sums = tuple(
            np.column_stack(parts)
            for parts in ((level, level_beyond), (squares, beyond), (products, crossed))
        )
        return Judged(statistics, sums, usable, averages, trail_after)  # type: ignore[arg-type]

    def _averaged(self, C: Matrix, distance: Vector, trail: Trail) -> tuple[Matrix, Trail]:
        """Averages at rows, and the trail after them. A gross row is drawn towards the mean before."""
        gross = distance > GROSS * self.expected[2]
        capped = C
        if gross.any():
            share = np.sqrt(GROSS * self.expected[2] / np.maximum(distance, np.finfo(np.float64).tiny))
            capped = np.where(gross[:, None], C * share[:, None], C)
        averages, start, open_ = _averaged(capped, trail)
        return averages, Trail(start, open_, C[-1].copy(), averages[-1].copy()) if len(C) else trail

    def _pairs(self, C: Matrix, known: Vector, beyond: Vector, trail: Trail) -> tuple[Vector, Matrix, Vector]:
        """The distance of each row with its predecessor, and the products of both."""
        r, (_, follows, news) = len(self.variances), self._alike
        before = np.concatenate((trail.previous[None], C[:-1]))[: len(C)]
        Y, Y_before = C[:, :r], before[:, :r]
        known_before = np.append(np.einsum("i->", np.square(trail.previous[:r])), known[:-1])[: len(C)]
        changed = np.square(Y - follows[:-1] * Y_before)
        pair = np.einsum("ij,j->i", changed, news[:-1]) + known_before
        products, crossed = Y * Y_before, np.zeros(len(C))
        if self.others:
            along = np.einsum("ij,j->i", products, 1 / self.weights[0])
            crossed = np.einsum("ij,ij->i", C[:, r:], before[:, r:]) - along
            _, beyond_before = self._split(before)
            f = follows[-1]
            gone_on = np.maximum(beyond - 2 * f * crossed + f * f * beyond_before, 0.0)
            pair += (gone_on * news[-1] + beyond_before) * self.weights[1]
        return pair, products, crossed

    def distances(self, rows: Floats, places: NDArray[np.intp]) -> Vector:
        """The distance of each row without gaps, by its place in the stream."""
        with np.errstate(over="ignore", invalid="ignore"):
            squares, beyond = self._split(self.coordinates(rows, places))
            return np.asarray(np.einsum("ij->i", squares) + beyond * self.weights[1])

    def average_distances(
        self, rows: Floats, places: NDArray[np.intp], trail: Trail | None
    ) -> tuple[Vector, Vector, Trail]:
        """Distances of rows without gaps in sequence, those of their averages, and the trail after them."""
        with np.errstate(over="ignore", invalid="ignore"):
            C = self.coordinates(rows, places)
            trail = trail or Trail.before_first(np.zeros(C.shape[1]))
            squares, beyond = self._split(C)
            distance = np.einsum("ij->i", squares) + beyond * self.weights[1]
            averages, after = self._averaged(C, distance, trail)
            level, beyond = self._split(averages)
            inverse = self._alike[0]
            average = np.einsum("ij,j->i", level, inverse[:-1]) + beyond * (self.weights[1] * inverse[-1])
        return distance, average, after

    def precise(self, Z: Matrix) -> Matrix:
        """Standardized rows times the matrix M of the distance, ``z' M z``."""
        along, elsewhere = self.weights
        projections = Z @ self.axes.T
        found = (projections * along) @ self.axes
        if self.others:
            found += (Z - projections @ self.axes) * elsewhere
        return np.asarray(found)

    @cached_property
    def precision(self) -> Vector:
        """The diagonal of that matrix (n)."""
        along, elsewhere = self.weights
        shares = np.square(self.axes)
        return np.asarray(
            along @ shares + elsewhere * np.maximum(1 - shares.sum(axis=0), 0.0) * bool(self.others)
        )

    def contributions(self, rows: Floats) -> dict[str, Matrix]:
        """Parts of each input in each statistic, for each row (T, n): never negative, and they add up to it.

        A statistic is ``|M z|²`` with a symmetric M; input i adds ``(M z)_i²`` (complete decomposition:
        Alcala and Qin 2009, doi:10.1016/j.automatica.2009.02.027). Rows are a stretch of their own.
        """
        judged = self.judge(rows, 0)
        found = {name: np.full(rows.shape, np.nan) for name in STATISTICS}
        usable = judged.usable
        if not usable.any():
            return found
        with np.errstate(over="ignore"):
            Z, E = self.standardized(rows[usable]), self.standardized(self.rows_at(judged.averages))
            before = np.concatenate((Z[:1], Z[:-1]))
            kept = slice(self.rank)
            projections = Z @ self.axes.T
            along, elsewhere = self.weights
            stays, follows = self.likeness.stays, self.likeness.follows
            news = 1 / (1 - np.square(follows))
            innovation = Z - before @ self.axes.T * follows[:-1] @ self.axes
            innovation -= (before - before @ self.axes.T @ self.axes) * follows[-1]
            t2 = (projections[:, kept] * np.sqrt(along[kept])) @ self.axes[kept]
            found["t2"][usable] = np.square(t2)
            found["spe"][usable] = np.square(Z - projections[:, kept] @ self.axes[kept])
            found["distance"][usable] = self._whitened(Z, along, elsewhere)
            found["average"][usable] = self._whitened(E, along / stays[:-1], elsewhere / stays[-1])
            found["pair"][usable] = self._whitened(
                innovation, along * news[:-1], elsewhere * news[-1]
            ) + self._whitened(before, along, elsewhere)
        return found

    def _whitened(self, Z: Matrix, along: Vector, elsewhere: float) -> Matrix:
        """Squares of ``M^(1/2) z``, M with these weights along the axes and elsewhere."""
        projections = Z @ self.axes.T
        whitened = (projections * np.sqrt(along)) @ self.axes
        if self.others:
            whitened += (Z - projections @ self.axes) * np.sqrt(elsewhere)
        return np.square(whitened)

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

    def standardized(self, rows: Floats) -> Matrix:
        """Rows centered and divided by their scale."""
        centered = np.asarray(rows - self.mean, dtype=np.float64)
        return centered if self.scale is None else np.clip(centered / self.scale, -GREATEST, GREATEST)


class Drift(NamedTuple):
    """How far a model has moved."""

    level: float
    """The largest shift of an input's mean, in standard deviations of that input."""
    spread: float
    """The largest factor by which the standard deviation of an input has grown or shrunk; 1: none has."""
    directions: float
    """Number of components that it has turned away from."""

    @classmethod
    def between(cls, before: Reference, now: Reference) -> Self:
        """From one reference to another."""
        tiny = np.finfo(np.float64).tiny
        varies = (before.spreads > 0) & (now.spreads > 0)
        shift = np.abs(now.mean - before.mean)[varies] / before.spreads[varies]
        ratio = np.abs(np.log(np.maximum(now.spreads[varies], tiny) / before.spreads[varies]))
        level, spread = (float(each.max(initial=0.0)) for each in (shift, ratio))
        return cls(level, float(np.exp(min(spread, 700.0))), before.turned(now))


def _averaged(rows: Matrix, trail: Trail) -> tuple[Matrix, Vector, Matrix]:
    """Exponentially weighted averages at rows that follow a trail; where the open tile starts, and its rows.

    Within a tile ``a_i = sum of newest (1 - newest)^(i - j) x_j + (1 - newest)^(i + 1) start``.
    """
    X, start = np.concatenate((trail.open, rows)), trail.start
    if not len(X):
        return X, start, X
    tiles = -(-len(X) // TILE)
    room = np.zeros((tiles * TILE, X.shape[1]))
    room[: len(X)] = X
    averages = np.matmul(_KERNEL, room.reshape(tiles, TILE, -1))
    whole = len(X) // TILE
    for i, tile in enumerate(averages):
        tile += _FADING * start
        start = tile[-1] if i < whole else start
    found = averages.reshape(tiles * TILE, -1)[len(trail.open) : len(X)]
    return found, np.array(start), X[whole * TILE :].copy()


def per_input(added: Matrix, width: int) -> Matrix:
    """Sum the columns that belong to one input and its predecessors."""
    return added if added.shape[1] == width else added.reshape(len(added), -1, width).sum(axis=1)
