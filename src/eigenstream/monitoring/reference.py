"""Reference that rows are judged by: a moment of the model, a row's statistics, each input's part in them.

With ``z = (x - mean) / scale``, the axes ``u_j`` and variances ``v_j`` of the model, p of them kept:

    T²        sum over kept axes of (u_j'z)² / v_j            how far off within the model
    SPE       |z|² - sum over kept axes of (u_j'z)²           how far off the model
    distance  sum over all axes of (u_j'z)² / (v_j + ridge)   how far off, each direction by its own spread

The distance sees faults first: relations between inputs that hold almost exactly have small variances, and
SPE, which adds up all directions alike, drowns them. The ridge, a thousandth of the mean variance of what is
not kept, makes up for variances that are too small to be measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from ..learners.arrays import host
from ..learners.knowledge import Floats, Matrix, Vector
from ..model.reading import Reading
from .events import Contributors

STATISTICS = ("t2", "spe", "distance")
"""Statistics of each row that are watched."""

# It bounds the weight of a direction to a thousand times the usual. Guards against directions whose
# variance is rounding, or has not been seen yet: a row would alarm for a change in the last digit.
RIDGE = 1e-3
"""Ridge of the distance, as a share of the mean variance of directions that are not kept."""

# 1 MiB of them: they are multiplied while they are still in the cache.
CACHED = 1 << 17
"""Numbers that are standardized at a time."""

# The largest value of a row that is learnt (`learners.stored.LARGEST_VALUE`): sums of squares stay finite.
GREATEST = 1e70
"""Standardized values beyond this are taken for it."""

# Tiles begin at fixed row counts: bits do not depend on how many rows come together.
TILE = 8
"""Rows per product of matrices."""

# They fit on a line, and a fault of one sensor shows in few others.
BLAMED = 5
"""Number of inputs that an alarm names."""


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
    effective: float
    """Effective number of rows that all this was learnt from."""

    @classmethod
    def of(cls, reading: Reading) -> Self:
        """The reference that a reading gives."""
        known = len(reading.variances) if reading.tells_below_threshold else reading.rank
        variances = np.asarray(reading.variances[:known], dtype=np.float64)
        others = reading.mean.size - known
        left = max(reading.total_variance - float(variances.sum()), 0.0)
        mean, axes = (
            np.asarray(host(array), dtype=np.float64) for array in (reading.mean, reading.axes[:known])
        )
        scale = None if reading.scale is None else np.asarray(host(reading.scale), dtype=np.float64)
        return cls(
            mean, scale, axes, variances, reading.rank, left / others if others else 0.0, reading.count
        )

    @property
    def others(self) -> int:
        """Number of directions that are not known one by one."""
        return len(self.mean) - len(self.variances)

    @cached_property
    def moments(self) -> tuple[float, float]:
        """Sum of the variances that are not kept, and of their squares."""
        dropped = self.variances[self.rank :]
        first = float(dropped.sum()) + self.others * self.rest
        return first, float(np.square(dropped).sum()) + self.others * self.rest**2

    @cached_property
    def _weights(self) -> tuple[Vector, float]:
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
        """The axes as columns in memory, too, which multiplies short tiles twice as fast (n, r)."""
        return np.ascontiguousarray(self.axes.T)

    @cached_property
    def _sums(self) -> Matrix:
        """Squared projections times this: T², what is kept and dropped of the length, distance (r, 4)."""
        along, _ = self._weights
        kept = np.arange(len(self.variances)) < self.rank
        return np.stack((along * kept, kept, ~kept, along), axis=1)

    @cached_property
    def degrees(self) -> float:
        """The mean of the distance."""
        along, elsewhere = self._weights
        return float(self.variances @ along) + self.others * self.rest * elsewhere

    def judge(self, rows: Floats, place: int) -> Matrix:
        """The statistics of each row (T, 3).

        Parameters
        ----------
        rows
            Rows without gaps.
        place
            Number of rows before them in the stream.
        """
        statistics = np.empty((len(rows), len(STATISTICS)))
        longest = max(CACHED // len(self.mean) // TILE, 1) * TILE
        room = np.zeros((min(longest, len(rows) + 2 * TILE), len(self.mean)))
        start = 0
        with np.errstate(over="ignore"):  # infinitely far off is an answer
            while start < len(rows):
                ahead = (place + start) % TILE
                part = slice(start, start + min(longest, len(room)) - ahead)
                self._judge(rows[part], room, ahead, statistics[part])
                start = part.stop
        return statistics

    def _judge(self, rows: Floats, room: Matrix, ahead: int, statistics: Matrix) -> None:
        """Write the statistics of rows that stand in tiles, after some empty places of the first."""
        tiles = -(-(ahead + len(rows)) // TILE)
        inside = slice(ahead, ahead + len(rows))
        Z = room[inside]
        np.subtract(rows, self.mean, out=Z)
        if self.scale is not None:
            np.clip(np.divide(Z, self.scale, out=Z), -GREATEST, GREATEST, out=Z)
        squares = np.matmul(room[: tiles * TILE].reshape(tiles, TILE, -1), self._columns)
        np.square(squares, out=squares)
        t2, kept, dropped, distance = np.matmul(squares, self._sums).reshape(tiles * TILE, -1)[inside].T
        statistics[:] = np.stack((t2, dropped, distance), axis=1)
        if self.others:
            beyond = np.maximum(np.einsum("ij,ij->i", Z, Z) - kept - dropped, 0.0)
            statistics[:, 1] += beyond
            statistics[:, 2] += beyond * self._weights[1]

    def contributions(self, rows: Floats) -> dict[str, Matrix]:
        """Parts of each input in each statistic, for each row (T, n): never negative, and they add up to it.

        A statistic is ``|M z|²`` with a symmetric M; input i adds ``(M z)_i²`` (complete decomposition:
        Alcala and Qin 2009, doi:10.1016/j.automatica.2009.02.027).
        """
        with np.errstate(over="ignore"):
            Z = self._standardized(rows)
            projections = Z @ self.axes.T
            kept = slice(self.rank)
            modelled = projections[:, kept] @ self.axes[kept]
            along, elsewhere = self._weights
            whitened = (projections * np.sqrt(along)) @ self.axes
            if self.others:
                whitened += (Z - projections @ self.axes) * np.sqrt(elsewhere)
            t2 = (projections[:, kept] * np.sqrt(along[kept])) @ self.axes[kept]
            return {"t2": np.square(t2), "spe": np.square(Z - modelled), "distance": np.square(whitened)}

    def turned(self, other: Reference) -> float:
        """Number of this reference's components that another one has turned away from: 0 to all of them."""
        overlap = self.axes[: self.rank] @ other.axes[: other.rank].T
        return max(self.rank - float(np.square(overlap).sum()), 0.0)

    def _standardized(self, rows: Floats) -> Matrix:
        centered = rows - self.mean
        return centered if self.scale is None else np.clip(centered / self.scale, -GREATEST, GREATEST)


def contributors(
    reference: Reference, row: Floats, statistic: str, names: Sequence[str], width: int
) -> Contributors:
    """The inputs that add most to a statistic of this row, with their shares of it.

    Parameters
    ----------
    reference
        Reference that the row was judged by.
    row
        The row, with its predecessors if the model has lags.
    statistic
        Its name.
    names
        Names of the inputs; empty: x0, x1, and so on.
    width
        Number of inputs, lags not counted.
    """
    shares = per_input(reference.contributions(row[None])[statistic], width)[0]
    if not np.isfinite(shares.sum()):  # of a row that is infinitely far off
        shares = np.nan_to_num(shares)
        shares = shares / shares.max()
    shares = shares / max(float(shares.sum()), np.finfo(np.float64).tiny)
    called = names or [f"x{i}" for i in range(width)]
    return tuple((called[i], float(shares[i])) for i in np.argsort(-shares, kind="stable")[:BLAMED])


def per_input(added: Matrix, width: int) -> Matrix:
    """Sum the columns that belong to one input and its predecessors."""
    return added if added.shape[1] == width else added.reshape(len(added), -1, width).sum(axis=1)
