"""Likeness of rows to those before them, along each axis of a reference.

Averages of rows and pairs of rows are judged by their own spread. Where rows resemble each other that is not
what it would be of independent rows: it is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from ..learners.knowledge import Matrix, Vector

if TYPE_CHECKING:
    from .reference import Reference

# A memory of nine rows. Averages of 3 to 20 rows differ little (.2 or .1: .928 and .926 on the Tennessee
# Eastman plant).
NEWEST = 0.2
"""Weight of the newest row in the average."""

# Rows. Keeps the likeness along an axis away from what a few rows have by chance.
DOUBT = 16.0
"""Prior weight on rows that are independent."""

# A correlation: 1,000 rows are worth one independent row. Guards a division by 1 - rho^2.
MOST_ALIKE = 0.999
"""Correlations with the predecessor beyond this count as this: rows that never change are no proof."""

Squares = tuple[Matrix, Matrix, Matrix]
"""Squares of averages, squares of rows, and products of rows with their predecessors, along each axis (T, r),
and beyond all axes in one more column where there are directions beyond them."""


class Likeness(NamedTuple):
    """Likeness of rows to those before them: sums of squares along each axis, and beyond all (3, r + 1)."""

    sums: Matrix
    """Of averages, of rows, and of products of rows with their predecessors."""
    counted: float = 0.0
    """Number of rows in them."""

    @classmethod
    def unknown(cls, axes: int) -> Self:
        return cls(np.zeros((3, axes + 1)))

    @classmethod
    def together(cls, parts: Sequence[Likeness]) -> Self:
        """That of all rows of some stretches, along the same axes."""
        return cls(np.sum([part.sums for part in parts], axis=0), sum(part.counted for part in parts))

    def discounted(self, factor: float) -> Likeness:
        return Likeness(self.sums * factor, self.counted * factor)

    def after(self, squares: Squares) -> Likeness:
        """With the squares of more rows, added one by one: calls do not matter."""
        number, width = squares[0].shape
        if not number:
            return self
        sums = self.sums.copy()
        if number == 1:
            for one, more in zip(sums, squares, strict=True):
                one[:width] += more[0]
            return Likeness(sums, self.counted + 1.0)
        for one, more in zip(sums, squares, strict=True):
            one[:width] = _added(one[:width], more)
        counted = _added(np.array([self.counted]), np.ones((number, 1)))[0]
        return Likeness(sums, float(counted))

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


def _added(start: Vector, rows: Matrix) -> Vector:
    """Sums of columns from a start on, in the order of the rows."""
    if rows.shape[1] == 1:  # NumPy adds a single column in pairs
        return np.asarray(np.add.accumulate(np.concatenate((start, rows[:, 0])))[-1:])
    first = rows[0] + start
    if len(rows) == 1:
        return np.asarray(first)
    kept, rows[0] = rows[0].copy(), first
    total = np.add.reduce(rows)
    rows[0] = kept
    return np.asarray(total)
