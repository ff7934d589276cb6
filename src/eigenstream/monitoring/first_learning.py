"""The first learning: every row that is declared normal is learnt, and limits come from rows left out.

Rows are cut into a few blocks, one after the other. Each is judged by a model of all the others, which have
not seen it: likeness of neighbouring rows, and drift from block to block, are in the limits. Each block is
learnt by a model of its own, once, and those of the others are joined.

Rows left out tell three things. Their squares along each axis say which directions can be trusted: relations
that hold in rows that were learnt and not in others would hide all else (`Reference.growth`; as covariances
are estimated by cross-validation, Bartz 2016, arXiv:1611.00798). Their likeness is that of averages and pairs
about a mean that they have no part in. And their statistics are those that limits come from. A monitor that
goes on learning corrects these by later rows; one that is frozen cannot, and gets a margin (`Limits.margin`):
the level of a block to come may differ more from these blocks than they do from each other.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from ..learners.knowledge import Floats, Matrix, Vector
from ..model.blocks import Missing
from ..model.plan import Plan
from .judging import SeenRows, distances, judge, rows_in_a_part, see_in_parts
from .left_out import left_out
from .likeness import Likeness
from .limits import DISTANCE, Limits
from .reference import STATISTICS, Reference
from .trail import Trail

# As in fivefold cross-validation: a block is judged by a model of four fifths of the rows, nearly the whole.
BLOCKS = 5
"""Blocks that are left out in turn."""

# A factor: sqrt((1 + 1/5) / (1 - 1/5)) as the mean of all and the spread between five are measured on these
# five, times 1.2, by which the 90 % quantile of Student's t with four degrees of freedom exceeds the normal
# one. In logarithms at most a factor of two: a single block that is far off has shown how far that is. On 52
# stretches, other rows than those of the pages but mostly of the same plants, limits from such blocks had a
# median rate of 0.017 instead of 0.05, asked 0.01.
FARTHER, MOST_FARTHER = 1.5, 0.7
"""Distance of the level of a block to come from the mean level, as a multiple of that of these blocks, and
the most that it is farther."""

# Rows. Of an average, a share of 0.8^256, less than rounding, is older.
LAST = 256
"""Last rows that the next one is judged by."""

# 12 MB of each of five blocks, at most, while limits are found: judging them again takes twice as long, a
# seventh of all the time with 10,000 rows of 256 inputs.
MOST_KEPT = 1 << 19
"""Numbers of the rows of a block whose squares are kept until it is judged."""


class FirstLearning(NamedTuple):
    """Everything that rows which are declared normal tell, beside the model."""

    reference: Reference
    """With the likeness of these rows to those before them."""
    trail: Trail | None
    """Their end."""
    limits: Limits
    statistics: Matrix
    """Of each row, by a model that has not seen it (T, 6)."""


def first_learning(
    rows: Floats, plan: Plan, missing: Missing, reference: Reference, rate: float
) -> FirstLearning:
    """The likeness of rows that are declared normal, and limits from blocks of them that were left out.

    Parameters
    ----------
    rows
        All rows that were learnt, beside their predecessors if the model has lags, gaps filled.
    plan
        The task.
    missing
        What to do with rows that have gaps.
    reference
        What has been learnt of all rows.
    rate
        The share of rows in control that alarm.
    """
    parts = np.array_split(rows, BLOCKS)
    # Of the same rank as the whole: T² and SPE of the blocks are those that the limits are for.
    apart = [
        (parts[part], Reference.of(others, None, reference.rank))
        for part, others in left_out(parts, plan, missing, reference.rank)
    ]
    blocks = [_Block.of(judging, block) for block, judging in apart]
    likenesses = [block.likeness for block in blocks]
    blocks = [
        block.judged_by(block.reference.judging_by(likenesses[:i] + likenesses[i + 1 :]))
        for i, block in enumerate(blocks)
    ]
    reference = reference.judging_by(likenesses)
    limits, statistics = _calibrated(blocks, reference, rate)
    trail = judge(reference, rows[-LAST:], 0, gross=limits.gross(reference)).trail
    return FirstLearning(reference, trail, limits, statistics)


class _Block(NamedTuple):
    """Rows that were left out, and the reference of all others that they are judged by."""

    rows: Floats
    reference: Reference
    distances: Matrix
    """Statistics of which only the distance is told (T, 6)."""
    likeness: Likeness
    """That of the rows to those before, by their squares."""
    seen: list[SeenRows]
    """The rows a part at a time, from the first on, as many as are kept."""

    @classmethod
    def of(cls, reference: Reference, rows: Floats) -> Self:
        """Look at rows that a reference does not know, a part at a time."""
        likeness, distances = Likeness.unknown(*reference.axes.shape), _nothing_told(len(rows))
        kept: list[SeenRows] = []
        start = 0
        for seen in see_in_parts(reference, rows, 0):
            likeness = likeness.after(seen.seen())
            distances[start : start + len(seen.usable), DISTANCE][seen.usable] = seen.distance
            if start * len(reference.mean) < MOST_KEPT:
                kept.append(seen._replace(averages=seen.averages[:0]))
            start += len(seen.usable)
        return cls(rows, reference, distances, likeness, kept)

    def judged_by(self, reference: Reference) -> Self:
        """The same rows by a reference that differs in its likeness, and in the weights that tells."""
        if (reference.growth == 1).all():  # the same weights
            return self._replace(reference=reference)
        return self._replace(reference=reference, distances=_distances(reference, self.rows), seen=[])

    def statistics(self, gross: float) -> Matrix:
        """The statistics of each row; what was seen is not computed again, if no row of it is gross."""
        found, start, trail = [np.zeros((0, len(STATISTICS)))], 0, None
        for seen in self.seen:
            if (seen.distance > gross).any():
                break
            found.append(seen.statistics(self.reference))
            start, trail = start + len(seen.usable), seen.trail
        rest = see_in_parts(self.reference, self.rows[start:], start, trail, gross=gross)
        return np.concatenate([*found, *(seen.statistics(self.reference) for seen in rest)])


def _calibrated(blocks: list[_Block], reference: Reference, rate: float) -> tuple[Limits, Matrix]:
    """Limits from blocks, for this reference, and the statistics of all rows."""
    rows = sum(len(block.rows) for block in blocks)
    found, distant = Limits(rate, declared=rows), Limits(rate, declared=rows)
    nothing = _nothing_told(0)
    # Distances alone tell which rows are gross, and averages depend on that.
    values = [distant.values_of(block.distances, block.reference) for block in blocks]
    distant.count(_with_whole(np.concatenate((nothing, *values))), 1.0, reference)
    statistics, values = [nothing], []
    for block in blocks:
        statistics.append(block.statistics(distant.gross(block.reference)))
        values.append(found.values_of(statistics[-1], block.reference))
    together = np.concatenate((nothing, *values))
    found.count(_with_whole(together), 1.0, reference)
    largest = found.largest(together)[0]
    found.count_whole(largest, reference)
    found.margin = _margin(found, largest, np.concatenate((nothing, *_as_predicted(values))))
    return found, np.concatenate(statistics)


def _margin(limits: Limits, largest: Vector, predicted: Matrix) -> float:
    """Distance by which the line must rise for rows of blocks as predicted to exceed it as often as these."""
    surprises, foreseen = limits.of_whole(largest), limits.of_whole(limits.largest(predicted)[0])
    surprises, foreseen = surprises[~np.isnan(surprises)], foreseen[~np.isnan(foreseen)]
    if not len(surprises):
        return 0.0
    share = max(float(np.mean(surprises > limits.line)), 1 / len(surprises))
    now, then = (float(np.quantile(each, 1 - share)) for each in (surprises, foreseen))
    return max(then - now, 0.0)


def _as_predicted(blocks: list[Matrix]) -> list[Matrix]:
    """Values of blocks whose levels lie as far apart as that of a block to come may lie from them."""
    levels = np.stack([_means(values) for values in blocks]) if blocks else np.zeros((0, 1))
    middle = _means(levels)
    shifts = np.clip((FARTHER - 1) * np.nan_to_num(levels - middle), -MOST_FARTHER, MOST_FARTHER)
    return [values + shift for values, shift in zip(blocks, shifts, strict=True)]


def _means(values: Matrix) -> Vector:
    """Means of columns; NaN where nothing is known."""
    number = np.count_nonzero(~np.isnan(values), axis=0)
    return np.asarray(np.where(number > 0, np.nansum(values, axis=0) / np.maximum(number, 1), np.nan))


def _with_whole(values: Matrix) -> Matrix:
    """Values of the statistics, and a column for the whole, which is not known yet."""
    return np.column_stack((values, np.full(len(values), np.nan)))


def _nothing_told(rows: int) -> Matrix:
    """Statistics of rows of which none is told."""
    return np.full((rows, len(STATISTICS)), np.nan)


def _distances(reference: Reference, rows: Floats) -> Matrix:
    """Statistics of rows of which only the distance is told."""
    known = np.flatnonzero(~np.isnan(rows).any(axis=1))
    found = _nothing_told(len(rows))
    step = rows_in_a_part(reference)
    for start in range(0, len(known), step):
        part = known[start : start + step]
        found[part, DISTANCE] = distances(reference, rows[part], part)
    return found
