"""The statistics of rows, by a reference.

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

In coordinates ``y_j = sqrt(w_j) u_j'z`` each of them is a sum of squares and products of y, its average and
its predecessor, and the likeness is the sums of the same numbers over rows: nothing is computed twice.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..learners.knowledge import Floats, Matrix, Vector
from .likeness import Squares
from .reference import STATISTICS, Reference
from .trail import Trail


class Judged(NamedTuple):
    """Rows judged by a reference."""

    statistics: Matrix
    """(T, 5); NaN in rows with gaps."""
    squares: Squares
    """Argument of `Likeness.after`, of rows without gaps."""
    usable: NDArray[np.bool_]
    """True for rows without gaps."""
    averages: Matrix
    """The average at each of these, in coordinates of the reference."""
    trail: Trail | None
    """The last of them; None if there has never been any."""


class _Squares(NamedTuple):
    """Squared coordinates of rows: along the axes (T, r), and the squared length beyond them (T)."""

    along: Matrix
    beyond: Vector | None
    """None where there is nothing beyond."""

    @classmethod
    def of(cls, reference: Reference, coordinates: Matrix) -> _Squares:
        r = len(reference.variances)
        along = np.square(coordinates[:, :r])
        if not reference.others:
            return cls(along, None)
        lengths = np.einsum("ij,ij->i", coordinates[:, r:], coordinates[:, r:])
        known = np.einsum("ij,j->i", along, 1 / reference.weights[0])
        return cls(along, np.maximum(lengths - known, 0.0))

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
    averages: Matrix
    """The averages, in coordinates of the reference."""
    trail: Trail | None
    """After these rows; None if there has never been any."""
    usable: NDArray[np.bool_]
    """True for rows without gaps; all of the above is of these alone."""

    def squares(self) -> Squares:
        """Argument of `Likeness.after`."""
        return self.average.together(), self.row.together(), self.pair.together()

    def statistics(self, reference: Reference) -> Matrix:
        """The statistics by a reference with the same axes and weights, whatever its likeness (T, 5).

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
            found[:, 3] = self.average.weighted(reference, reference.alike[0])
            found[:, 4] = self._pairs(reference)
        if len(found) == len(self.usable):
            return found
        statistics = np.full((len(self.usable), len(STATISTICS)), np.nan)
        statistics[self.usable] = found
        return statistics

    def _pairs(self, reference: Reference) -> Vector:
        """The distance of each row with its predecessor.

        ``(y - f y')² / (1 - f²) + y'²`` is a sum of both rows' squares and of their product.
        """
        _, follows, news = reference.alike
        if not len(self.distance):
            return np.zeros(0)
        gone = follows * follows * news
        pair = self.row.weighted(reference, news) - 2 * self.pair.weighted(reference, follows * news)
        pair[1:] += self.row.weighted(reference, gone)[:-1]
        pair[0] += self.first.weighted(reference, gone)[0]
        pair = np.where(np.isnan(pair), np.inf, np.maximum(pair, 0.0))  # infinite less infinite
        pair[1:] += self.distance[:-1]
        pair[0] += self.first.weighted(reference)[0]
        return pair


def judge(
    reference: Reference, rows: Floats, place: int, trail: Trail | None = None, *, gross: float = math.inf
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
    """
    seen = see(reference, rows, place, trail, gross=gross)
    return Judged(seen.statistics(reference), seen.squares(), seen.usable, seen.averages, seen.trail)


def see(
    reference: Reference, rows: Floats, place: int, trail: Trail | None = None, *, gross: float = math.inf
) -> SeenRows:
    """The squares of rows in sequence; parameters as of `judge`."""
    usable, places = np.ones(len(rows), dtype=bool), np.arange(place, place + len(rows))
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isnan(np.add.reduce(rows, axis=None)):
            usable = np.logical_not(np.isnan(rows).any(axis=1))
            rows, places = rows[usable], places[usable]
        C = reference.coordinates(rows, places)
        nothing = trail is None and not len(C)  # the first row of all is still to come
        if trail is None:
            trail = Trail.before_first(C[0] if len(C) else np.zeros(C.shape[1]))
        row = _Squares.of(reference, C)
        distance = row.weighted(reference)
        averages, after = trail.after(C, _capped(C, distance, gross))
        average, products = _Squares.of(reference, averages), _products(reference, C, trail.previous)
        first = _Squares.of(reference, trail.previous[None])
    return SeenRows(row, average, products, first, distance, averages, None if nothing else after, usable)


def _capped(C: Matrix, distance: Vector, most: float) -> Matrix:
    """Rows as they enter the average: a gross row is drawn towards the mean before."""
    far = distance > most
    if not far.any():
        return C
    gross = np.flatnonzero(far)
    capped = C.copy()
    capped[gross] *= np.sqrt(most / distance[gross])[:, None]
    return capped


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
        return _Squares.of(reference, reference.coordinates(rows, places)).weighted(reference, weights)
