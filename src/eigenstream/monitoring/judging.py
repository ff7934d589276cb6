"""The statistics of rows, by a reference.

With ``z = (x - mean) / scale``, the axes ``u_j`` and variances ``v_j`` of the model, p of them kept, and
``w_j = 1 / (v_j + ridge)``:

    T²        sum over kept axes of (u_j'z)² / v_j         how far off within the model
    SPE       |z|² - sum over kept axes of (u_j'z)²        how far off the model
    distance  sum over all axes of w_j (u_j'z)²            how far off, each direction by its own spread
    extreme   largest of (z_i / r_i)² over inputs          how far off the input is that is farthest off, r_i
                                                           its usual reach on that side
    average   the distance of the exponentially weighted average of rows, whose variance is ``s_j v_j``
    pair      the distance of the row and its predecessor together, with the correlation ``f_j`` between them

The distance sees faults first: relations between inputs that hold almost exactly have small variances, and
SPE, which adds up all directions alike, drowns them. Where inputs have long or one-sided tails, large
distances are usual: the extreme sees an input that leaves its own range, as a chart of each would. The
average sees small faults that last, the pair those that come suddenly to rows that resemble each other. Both
need the likeness of a row to those before it, which is measured along each axis (`Likeness`): rows need not
be independent.

In coordinates ``y_j = sqrt(w_j) u_j'z`` each but the extreme is a sum of squares and products of y, its
average and its predecessor, and the likeness is the sums of the same numbers over rows: nothing is computed
twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..learners.knowledge import Floats, Matrix, Vector
from .likeness import Observations
from .reference import STATISTICS, Reference
from .trail import SPACING, TILE, Averages, Trail

# 512 kB of them: rows, projections, averages and squares of a part stay in the cache of a processor. Half as
# many take a tenth more time with 64 and 128 inputs; 4,096 rows of 64 inputs at once 2.0 us each, not .76.
# A part costs .1 ms besides: rows of 4,096 inputs are judged four tiles at a time.
LARGEST_PART, LEAST_PART = 1 << 16, 4 * TILE
"""Numbers that are judged at a time, and least number of rows."""


class Judged(NamedTuple):
    """Rows judged by a reference."""

    statistics: Matrix
    """(T, 6); NaN in rows with gaps."""
    seen: list[Observations]
    """Arguments of `Likeness.after` in sequence, of rows without gaps."""
    usable: NDArray[np.bool_]
    """True for rows without gaps."""
    asked: NDArray[np.intp]
    """Positions of the rows at whose places averages were asked for."""
    averages: Matrix
    """The average at each of these, in coordinates of the reference."""
    trail: Trail | None
    """After these rows; None if there has never been any."""

    @classmethod
    def joined(cls, parts: Sequence[Judged]) -> Judged:
        """Parts that follow each other, as one."""
        if len(parts) == 1:
            return parts[0]
        firsts = np.cumsum([0, *(len(part.usable) for part in parts[:-1])])
        return cls(
            np.concatenate([part.statistics for part in parts]),
            [seen for part in parts for seen in part.seen],
            np.concatenate([part.usable for part in parts]),
            np.concatenate([first + part.asked for first, part in zip(firsts, parts, strict=True)]),
            np.concatenate([part.averages for part in parts]),
            parts[-1].trail,
        )


class _Squares(NamedTuple):
    """Squared coordinates of rows: along the axes (T, r), and the squared length beyond them (T)."""

    along: Matrix
    beyond: Vector | None
    """None where there is nothing beyond."""

    @classmethod
    def of(
        cls, reference: Reference, along: Matrix, lengths: Vector | None, out: Matrix | None = None
    ) -> _Squares:
        """Of projections, and of the squared lengths of rows where there are directions beyond the axes."""
        along = np.square(along, out=out)
        if lengths is None:
            return cls(along, None)
        known = np.einsum("ij,j->i", along, 1 / reference.weights[0])
        return cls(along, np.maximum(lengths - known, 0.0))

    @classmethod
    def at(cls, reference: Reference, coordinates: Matrix) -> _Squares:
        """Of rows with these coordinates."""
        r = len(reference.variances)
        Z = coordinates[:, r:]
        return cls.of(
            reference, coordinates[:, :r], np.einsum("ij,ij->i", Z, Z) if reference.others else None
        )

    def together(self) -> Matrix:
        return self.along if self.beyond is None else np.column_stack((self.along, self.beyond))

    def weighted(self, reference: Reference, weights: Vector | None = None) -> Vector:
        """The distance, with these weights along the axes and beyond them (r + 1)."""
        if weights is None:
            found = np.einsum("ij->i", self.along)
        else:
            found = np.einsum("ij,j->i", self.along, weights[:-1])
        if self.beyond is not None:
            found = found + self.beyond * (reference.weights[1] * (1.0 if weights is None else weights[-1]))
        return np.asarray(found)


class SeenRows(NamedTuple):
    """Squares of rows in sequence: all that their statistics need, and the likeness of rows."""

    row: _Squares
    """Of the rows."""
    average: _Squares
    """Of their averages."""
    pair: _Squares
    """Products of each row with its predecessor."""
    first: _Squares
    """Of the row before the first (1, r)."""
    distance: Vector
    """The distance of each row."""
    departures: Matrix
    """Distance of each input from its mean, in units of its spread (T, n)."""
    usable: NDArray[np.bool_]
    """True for rows without gaps; all of the above is of these alone."""
    asked: NDArray[np.intp]
    averages: Matrix
    trail: Trail | None
    """As of `Judged`."""

    def judged(self, reference: Reference) -> Judged:
        """Judge the rows by a reference, as of `statistics`."""
        statistics = self.statistics(reference)
        return Judged(statistics, [self.seen()], self.usable, self.asked, self.averages, self.trail)

    def seen(self) -> Observations:
        """Argument of `Likeness.after`."""
        squares = self.average.together(), self.row.together(), self.pair.together()
        return Observations(*squares, self.departures)

    def statistics(self, reference: Reference) -> Matrix:
        """The statistics by a reference with the same axes and weights, whatever its likeness (T, 6).

        NaN in rows with gaps.
        """
        row, p, along = self.row, reference.rank, reference.weights[0]
        found = np.empty((len(self.distance), len(STATISTICS)))
        with np.errstate(over="ignore", invalid="ignore"):  # infinitely far off is an answer
            found[:, 0] = np.einsum("ij->i", row.along[:, :p])
            found[:, 1] = np.einsum("ij,j->i", row.along[:, p:], 1 / along[p:])
            if row.beyond is not None:
                found[:, 1] += row.beyond
            found[:, 2] = self.distance
            found[:, 3] = self._extremes(reference)
            found[:, 4] = self.average.weighted(reference, reference.alike[0])
            found[:, 5] = self._pairs(reference)
        if len(found) == len(self.usable):
            return found
        statistics = np.full((len(self.usable), len(STATISTICS)), np.nan)
        statistics[self.usable] = found
        return statistics

    def _extremes(self, reference: Reference) -> Vector:
        above, below = reference.reaches
        ratios = self.departures * above
        np.maximum(ratios, self.departures * below, out=ratios)
        return np.asarray(np.square(ratios.max(axis=1, initial=0.0)))

    def _pairs(self, reference: Reference) -> Vector:
        """The distance of each row with its predecessor.

        ``(y - f y')² / (1 - f²) + y'²`` is ``(y² + y'² - 2 f y y') / (1 - f²)``.
        """
        _, follows, news = reference.alike
        if not len(self.distance):
            return np.zeros(0)
        own = self.row.weighted(reference, news)
        pair = own - 2 * self.pair.weighted(reference, follows * news)
        pair[1:] += own[:-1]
        pair[0] += self.first.weighted(reference, news)[0]
        return np.where(np.isnan(pair), np.inf, np.maximum(pair, 0.0))  # infinite less infinite


def judge(
    reference: Reference,
    rows: Floats,
    place: int,
    trail: Trail | None = None,
    *,
    gross: float = math.inf,
    spacing: int = SPACING,
) -> Judged:
    """The statistics of rows in sequence.

    Parameters
    ----------
    reference
        What they are judged by.
    rows
        The rows.
    place
        Number of rows before them in the stream.
    trail
        What came before; None: they are a stretch of their own.
    gross
        Distance at which a row that is farther off enters the average (`Limits.gross`).
    spacing
        Distance of the places at which averages are asked for.
    """
    seen = see_in_parts(reference, rows, place, trail, gross=gross, spacing=spacing)
    return Judged.joined([one.judged(reference) for one in seen])


def see_in_parts(
    reference: Reference,
    rows: Floats,
    place: int,
    trail: Trail | None = None,
    *,
    gross: float = math.inf,
    spacing: int = SPACING,
) -> Iterator[SeenRows]:
    """The squares of rows in sequence, a part at a time, at least one; parameters as of `judge`."""
    step, start, first = rows_in_a_part(reference), 0, True
    while first or start < len(rows):
        end = start + step - (0 if trail is None else len(trail.open))  # whole tiles from here on
        end = end if len(rows) - end > step // 2 else len(rows)
        seen = _see(reference, rows[start:end], place + start, trail, gross, spacing)
        start, trail, first = end, seen.trail, False
        yield seen


def rows_in_a_part(reference: Reference) -> int:
    """Number of rows that are judged at a time."""
    return max(LARGEST_PART // len(reference.mean), LEAST_PART)


def _see(
    reference: Reference, rows: Floats, place: int, trail: Trail | None, gross: float, spacing: int
) -> SeenRows:
    """The squares of rows in sequence; parameters as of `judge`."""
    usable, known = np.ones(len(rows), dtype=bool), np.arange(len(rows))
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isnan(np.add.reduce(rows, axis=None)):
            usable = np.logical_not(np.isnan(rows).any(axis=1))
            rows, known = rows[usable], known[usable]
        number, waiting = len(rows), 0 if trail is None else len(trail.open)
        part, r = slice(waiting, waiting + number), len(reference.variances)
        Z = reference.standardized(rows)
        room = reference.tiles(Z, part, -(-part.stop // TILE) * TILE)
        C, asked = room[part], np.flatnonzero((place + known) % spacing == spacing - 1)
        before = trail or Trail.before_first(C[0].copy() if number else np.zeros(room.shape[1]))
        row, first = _Squares.at(reference, C), _Squares.at(reference, before.previous[None])
        products, distance = _products(reference, C, before.previous), row.weighted(reference)
        averages = Averages(C[:, :r], row.beyond, C)
        if number:
            last = C[-1].copy()
            _cap(C, distance, gross)
            averages, trail = before.after(room, number, r, asked, last)
        average = _Squares.of(reference, averages.along, averages.lengths, out=averages.along)
        departures = reference.departures(Z)
    return SeenRows(
        row, average, products, first, distance, departures, usable, known[asked], averages.whole, trail
    )


def _cap(C: Matrix, distance: Vector, most: float) -> None:
    """Make of rows what enters the average: a gross row is drawn towards the mean before."""
    gross = np.flatnonzero(distance > most)
    if len(gross):
        C[gross] *= np.sqrt(most / distance[gross])[:, None]


def _products(reference: Reference, C: Matrix, before: Vector) -> _Squares:
    """Products of each row with its predecessor, in place of squares."""
    r, n = len(reference.variances), len(C)
    products = np.empty((n, r))
    if n:
        np.multiply(C[0, :r], before[:r], out=products[0])
        np.multiply(C[1:, :r], C[:-1, :r], out=products[1:])
    if not reference.others:
        return _Squares(products, None)
    lengths = np.empty(n)
    if n:
        lengths[0] = np.einsum("i,i->", C[0, r:], before[r:])
        np.einsum("ij,ij->i", C[1:, r:], C[:-1, r:], out=lengths[1:])
    return _Squares(products, lengths - np.einsum("ij,j->i", products, 1 / reference.weights[0]))


def distances(
    reference: Reference, rows: Floats, places: NDArray[np.intp], weights: Vector | None = None
) -> Vector:
    """The distance of each row without gaps, by its place in the stream; weights as of averages, if any."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _Squares.at(reference, reference.coordinates(rows, places)).weighted(reference, weights)
