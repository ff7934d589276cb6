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
    usable, places = np.ones(len(rows), dtype=bool), np.arange(place, place + len(rows))
    with np.errstate(over="ignore", invalid="ignore"):  # infinitely far off is an answer
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
        average = _Squares.of(reference, averages)
        pair, products = _pairs(reference, C, row, distance, trail)
        p, along = reference.rank, reference.weights[0]
        found = np.empty((len(C), len(STATISTICS)))
        found[:, 0] = np.einsum("ij->i", row.along[:, :p])
        found[:, 1] = np.einsum("ij,j->i", row.along[:, p:], 1 / along[p:])
        if row.beyond is not None:
            found[:, 1] += row.beyond
        found[:, 2], found[:, 4] = distance, pair
        found[:, 3] = average.weighted(reference, reference.alike[0])
    statistics = found
    if len(found) < len(usable):
        statistics = np.full((len(usable), len(STATISTICS)), np.nan)
        statistics[usable] = found
    squares = average.together(), row.together(), products
    return Judged(statistics, squares, usable, averages, None if nothing else after)


def _capped(C: Matrix, distance: Vector, most: float) -> Matrix:
    """Rows as they enter the average: a gross row is drawn towards the mean before."""
    gross = np.flatnonzero(distance > most)
    if not len(gross):
        return C
    capped = C.copy()
    capped[gross] *= np.sqrt(most / distance[gross])[:, None]
    return capped


def _pairs(
    reference: Reference, C: Matrix, row: _Squares, distance: Vector, trail: Trail
) -> tuple[Vector, Matrix]:
    """The distance of each row with its predecessor, and the products of both.

    ``(y - f y')² / (1 - f²) + y'²`` is a sum of both rows' squares and of their product.
    """
    r, (_, follows, news) = len(reference.variances), reference.alike
    if not len(C):
        return np.zeros(0), np.zeros((0, r + bool(reference.others)))
    before, n = trail.previous, len(C)
    products = np.empty((n, r))
    np.multiply(C[0, :r], before[:r], out=products[0])
    np.multiply(C[1:, :r], C[:-1, :r], out=products[1:])
    first = _Squares.of(reference, before[None])
    crossed = np.zeros(0)
    if reference.others:
        lengths = np.empty(n)
        lengths[0] = np.einsum("i,i->", C[0, r:], before[r:])
        np.einsum("ij,ij->i", C[1:, r:], C[:-1, r:], out=lengths[1:])
        crossed = lengths - np.einsum("ij,j->i", products, 1 / reference.weights[0])
        products = np.column_stack((products, crossed))
    gone = follows * follows * news
    together = _Squares(products[:, :r], crossed if reference.others else None)
    pair = row.weighted(reference, news) - 2 * together.weighted(reference, follows * news)
    pair[1:] += row.weighted(reference, gone)[:-1]
    pair[0] += first.weighted(reference, gone)[0]
    pair = np.where(np.isnan(pair), np.inf, np.maximum(pair, 0.0))  # infinite less infinite
    pair[1:] += distance[:-1]
    pair[0] += first.weighted(reference)[0]
    return pair, products


def distances(
    reference: Reference, rows: Floats, places: NDArray[np.intp], weights: Vector | None = None
) -> Vector:
    """The distance of each row without gaps, by its place in the stream; weights as of averages, if any."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _Squares.of(reference, reference.coordinates(rows, places)).weighted(reference, weights)
