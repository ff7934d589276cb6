"""Usual behaviour of rows: likeness to those before them, and reach of each input.

Averages of rows and pairs of rows are judged by their own spread along each axis of a reference. Where rows
resemble each other that is not what it would be of independent rows: it is measured. So is the *reach* of
each input, how far it usually goes above its mean and below: rain only goes up, and an input that seldom
leaves its mean goes farther when it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

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

# With 8, large excursions count most, yet no single row sets the reach alone as the largest of all would, and
# nothing has to be sorted or remembered. On the sensor sets of the evaluation 8 sees nearly as much as
# quantiles of 1 in 1,000, 4 less, 2 least.
POWER = 8
"""Power of which the reach is the mean."""

# The mean of that power of positive normal variables, half of 7 * 5 * 3 * 1.
NORMAL_POWER = 52.5
"""That of normal inputs, in units of their spread, on either side."""

# That of a departure of 10^15 spreads. Files take numbers below 10^150 (`learners.stored.LARGEST`).
LARGEST_POWER = 1e120
"""Powers beyond this count as this: sums stay finite."""


class Observations(NamedTuple):
    """Numbers of rows that tell what is usual."""

    averages: Matrix
    """Squares of averages along each axis (T, r), and beyond all axes in one more column where there are
    directions beyond them."""
    rows: Matrix
    """Squares of rows, as those."""
    pairs: Matrix
    """Products of rows with their predecessors, as those."""
    departures: Matrix
    """Distance of each input from its mean, in units of its spread (T, n)."""

    def at(self, chosen: NDArray[np.bool_]) -> Observations:
        """Of some of the rows."""
        return Observations(*(each[chosen] for each in self))


class Likeness(NamedTuple):
    """Likeness of rows to those before them, and reach of inputs: sums over rows."""

    sums: Matrix
    """Squares of averages, of rows, and products of rows with their predecessors, along each axis and beyond
    all (3, r + 1)."""
    powers: Matrix
    """Powers of departures of each input above its mean, and below (2, n)."""
    counted: float = 0.0
    """Number of rows in them."""

    @classmethod
    def unknown(cls, axes: int, inputs: int) -> Self:
        return cls(np.zeros((3, axes + 1)), np.zeros((2, inputs)))

    @classmethod
    def together(cls, parts: Sequence[Likeness]) -> Self:
        """That of all rows of some stretches, along the same axes."""
        sums = np.sum([part.sums for part in parts], axis=0)
        powers = np.sum([part.powers for part in parts], axis=0)
        return cls(sums, powers, sum(part.counted for part in parts))

    def discounted(self, factor: float) -> Likeness:
        return Likeness(self.sums * factor, self.powers * factor, self.counted * factor)

    def after(self, seen: Observations) -> Likeness:
        """With more rows, added one by one: calls do not matter."""
        number, width = seen.rows.shape
        if not number:
            return self
        sums, powers = self.sums.copy(), self.powers.copy()
        for one, more in zip(sums, seen[:3], strict=True):
            one[:width] = _added(one[:width], more)
        for one, more in zip(powers, _powers(seen.departures), strict=True):
            one[:] = np.minimum(_added(one, more), LARGEST_POWER)
        counted = _added(np.array([self.counted]), np.ones((number, 1)))[0]
        return Likeness(sums, powers, float(counted))

    def turned(self, before: Reference, after: Reference) -> Likeness:
        """The same along other axes, if there is no correlation between those before."""
        scale = 1.0 if after.scale is None or before.scale is None else before.scale / after.scale
        share = np.square((before.axes * scale) @ after.axes.T)
        sums = self.sums[:, :-1] / before.weights[0]
        known, rest = sums @ share, self.sums[:, -1]
        left = np.maximum(sums.sum(axis=1) - known.sum(axis=1), 0.0) if after.others else 0.0
        units = np.divide(
            before.spreads, after.spreads, where=after.spreads > 0, out=np.ones_like(after.spreads)
        )
        with np.errstate(over="ignore"):
            units = np.minimum(units, LARGEST_POWER ** (1 / POWER)) ** POWER
            powers = np.minimum(self.powers * units, LARGEST_POWER)
        return Likeness(np.column_stack((known * after.weights[0], rest + left)), powers, self.counted)

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
    def reach(self) -> Matrix:
        """Way that each input usually goes above its mean, and below, in units of its spread (2, n)."""
        means = (self.powers + DOUBT * NORMAL_POWER) / (self.counted + DOUBT)
        return np.asarray(means ** (1 / POWER))

    @property
    def _doubted(self) -> Matrix:
        """The sums with those of some independent rows."""
        each = self.sums[1] / max(self.counted, 1.0)
        each = np.where(each > 0, each, 1.0)
        return self.sums + DOUBT * np.array([[NEWEST / (2 - NEWEST)], [1.0], [0.0]]) * each


def _added(start: Vector, rows: Matrix) -> Vector:
    """Sums of columns from a start on, in the order of the rows."""
    first = rows[0] + start
    if len(rows) == 1:
        return np.asarray(first)
    if rows.shape[1] == 1:  # NumPy adds a single column in pairs
        return np.asarray(np.add.accumulate(np.concatenate((start, rows[:, 0])))[-1:])
    kept, rows[0] = rows[0].copy(), first
    total = np.add.reduce(rows)
    rows[0] = kept
    return np.asarray(total)


def _powers(departures: Matrix) -> tuple[Matrix, Matrix]:
    """Powers of departures above the mean, and below."""
    with np.errstate(over="ignore"):
        powers = np.square(departures)
        for _ in range(POWER.bit_length() - 2):
            np.square(powers, out=powers)
    if not powers.max(initial=0.0) < LARGEST_POWER:
        np.minimum(powers, LARGEST_POWER, out=powers)
    above = powers * (departures > 0)
    powers -= above
    return above, powers
