"""Models of all blocks of rows but one, for each of a few blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import NamedTuple, Self

import numpy as np

from ..learners.knowledge import Floats, Matrix, Vector
from ..learners.scale import gain_of, scale_of
from ..learners.symmetric import add_products
from ..learners.threads import one_thread
from ..model import Tracker
from ..model.blocks import Missing
from ..model.joining import joined
from ..model.plan import Plan
from ..model.reading import Reading

# 128 kB of them: they stay in the processor's cache.
AT_ONCE = 1 << 14
"""Numbers that are summed up at a time."""


class RowSums(NamedTuple):
    """Number and mean of rows, and the sums of products of their deviations: of these the lower triangle."""

    number: int
    mean: Vector
    products: Matrix

    @classmethod
    def of(cls, rows: Floats, *, center: bool) -> Self:
        """Of rows without gaps."""
        mean: Vector = np.zeros(rows.shape[1])
        if center and len(rows):
            mean = np.asarray(np.mean(rows, axis=0, dtype=np.float64))
        products = np.zeros((len(mean), len(mean)))
        step = max(AT_ONCE // len(mean), 1)
        for start in range(0, len(rows), step):
            R = np.subtract(rows[start : start + step], mean, dtype=np.float64)
            add_products(products, R, 1.0)
        return cls(len(rows), mean, products)

    def plus(self, other: RowSums) -> RowSums:
        """Of the rows of both."""
        number, way = self.number + other.number, other.mean - self.mean
        moved = np.outer(way, way) * (self.number * other.number / number)
        return RowSums(
            number, self.mean + way * (other.number / number), self.products + other.products + moved
        )

    def reading(self, rank: int, *, standardize: bool) -> Reading:
        """The reading of a model of these rows, of this rank."""
        C, n, scale = self.products / self.number, len(self.mean), None
        if standardize:
            gain = gain_of(np.diag(C), 1.0, np.abs(self.mean))
            C, scale = C * gain * gain[:, None], scale_of(gain)
        with one_thread():
            variances, V = np.linalg.eigh(C)
        known = int(np.count_nonzero(variances > n * np.finfo(np.float64).eps * max(variances[-1], 0.0)))
        axes, total = V.T[::-1][:known], float(np.trace(C))
        return Reading(
            self.mean, axes, variances[::-1][:known], rank, 0.0, 0.0, total, self.number, True, scale
        )


def left_out(
    parts: Sequence[Floats], plan: Plan, missing: Missing, rank: int
) -> Iterator[tuple[int, Reading]]:
    """The number of each block, and the reading of a model of this rank that knows all others."""
    if plan.solver == "exact" and not plan.cap_outliers:
        yield from _by_sums(parts, plan, rank)
        return
    apart = []
    for part in parts:
        tracker = Tracker(replace(plan, seconds=None, beta=1.0, lags=0))
        tracker.follow(part, None, "raise" if missing == "raise" else "skip")
        apart.append(tracker)
    known = [tracker.known() for tracker in apart]
    for i, part in enumerate(parts):
        others = [j for j, tracker in enumerate(apart) if j != i and tracker.time]
        if others and len(part):
            yield i, joined([apart[j] for j in others], [known[j] for j in others]).reading()


def _by_sums(parts: Sequence[Floats], plan: Plan, rank: int) -> Iterator[tuple[int, Reading]]:
    """The same where a model is its sums: nobody has to look on the way."""
    whole = [part[~np.isnan(part).any(axis=1)] if np.isnan(np.sum(part)) else part for part in parts]
    sums = [RowSums.of(part, center=plan.center) for part in whole]
    for i, part in enumerate(parts):
        others = [one for j, one in enumerate(sums) if j != i and one.number]
        if others and len(part):
            yield i, reduce(RowSums.plus, others).reading(rank, standardize=plan.standardize)
