"""The first learning: every row that is declared normal is learnt, and limits come from rows left out.

Rows are cut into a few blocks, one after the other. Each is judged by a model of all the others, which have
not seen it: likeness of neighbouring rows, and drift from block to block, are in the limits. Each block is
learnt by a model of its own, once, and those of the others are joined.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..learners.knowledge import Floats, Matrix
from ..model import Tracker
from ..model.blocks import Missing
from ..model.joining import joined
from ..model.plan import Plan
from .judging import Judged, distances, judge
from .likeness import Likeness
from .limits import DISTANCE, Limits
from .reference import STATISTICS, Reference
from .trail import Trail

# As in fivefold cross-validation: a block is judged by a model of four fifths of the rows, nearly the whole.
BLOCKS = 5
"""Blocks that are left out in turn."""

# 8 MiB of them: rows, averages and projections of a part are held at a time.
LARGEST_PART = 1 << 20
"""Numbers that are judged at a time."""


class FirstLearning(NamedTuple):
    """Everything that rows which are declared normal tell, beside the model."""

    reference: Reference
    """With the likeness of these rows to those before them."""
    trail: Trail | None
    """Their end."""
    limits: Limits
    statistics: Matrix
    """Of each row, by a model that has not seen it (T, 5)."""


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
    likenesses, trail = _likenesses(reference, parts)
    blocks = []
    for part, others in _left_out(parts, plan, missing):
        before = replace(reference, likeness=Likeness.together(likenesses[:part] + likenesses[part + 1 :]))
        # Of the same rank as the whole: T² and SPE of the blocks are those that the limits are for.
        blocks.append((parts[part], Reference.of(others.reading(), before, reference.rank)))
    likeness = Likeness.together(likenesses)
    limits, statistics = _calibrated(blocks, replace(reference, likeness=likeness), rate)
    return FirstLearning(replace(reference, likeness=likeness), trail, limits, statistics)


def _calibrated(
    blocks: list[tuple[Floats, Reference]], reference: Reference, rate: float
) -> tuple[Limits, Matrix]:
    """Limits from blocks, each with the reference that it is judged by, and the statistics of the rows."""
    found, first, distant = (Limits(rate, declared=True) for _ in range(3))
    nothing = np.zeros((0, len(STATISTICS)))
    # Distances alone tell which rows are gross, and averages depend on that.
    far = [_distances(judging, left_out) for left_out, judging in blocks]
    values = [distant.values_of(one, judging) for one, (_, judging) in zip(far, blocks, strict=True)]
    distant.count(_with_whole(np.concatenate((nothing, *values))), 1.0, reference)
    statistics, values = [nothing], [nothing]
    for left_out, judging in blocks:
        for judged in judged_in_parts(judging, left_out, distant.gross(judging)):
            statistics.append(judged.statistics)
            values.append(found.values_of(judged.statistics, judging))
    together = _with_whole(np.concatenate(values))
    first.count(together, 1.0, reference)
    together[:, -1] = first.largest(together[:, :-1])[0]
    found.count(together, 1.0, reference)
    return found, np.concatenate(statistics)


def _with_whole(values: Matrix) -> Matrix:
    """Values of the statistics, and a column for the whole, which is not known yet."""
    return np.column_stack((values, np.full(len(values), np.nan)))


def _distances(reference: Reference, rows: Floats) -> Matrix:
    """Statistics of rows of which only the distance is told."""
    known = np.flatnonzero(~np.isnan(rows).any(axis=1))
    found = np.full((len(rows), len(STATISTICS)), np.nan)
    step = max(LARGEST_PART // len(reference.mean), 1)
    for start in range(0, len(known), step):
        part = known[start : start + step]
        found[part, DISTANCE] = distances(reference, rows[part], part)
    return found


def _left_out(parts: list[Floats], plan: Plan, missing: Missing) -> Iterator[tuple[int, Tracker]]:
    """The number of each block, and what is known of all others."""
    apart = []
    for part in parts:
        tracker = Tracker(replace(plan, seconds=None, beta=1.0, lags=0))
        tracker.follow(part, None, "raise" if missing == "raise" else "skip")
        apart.append(tracker)
    for i, part in enumerate(parts):
        others = [tracker for j, tracker in enumerate(apart) if j != i and tracker.time]
        if others and len(part):
            yield i, joined(others)


def judged_in_parts(
    reference: Reference, rows: Floats, gross: float = math.inf, trail: Trail | None = None
) -> Iterator[Judged]:
    """Rows in sequence, judged a part at a time; parameters as of `judge`."""
    step = max(LARGEST_PART // len(reference.mean), 1)
    for start in range(0, len(rows), step):
        judged = judge(reference, rows[start : start + step], start, trail, gross=gross)
        trail = judged.trail
        yield judged


def _likenesses(reference: Reference, parts: list[Floats]) -> tuple[list[Likeness], Trail | None]:
    """The likeness of the rows of each block to those before them, and the end of the last."""
    found, trail = [], None
    for part in parts:
        likeness = Likeness.unknown(len(reference.variances))
        for judged in judged_in_parts(reference, part, trail=trail):
            likeness, trail = likeness.after(judged.squares), judged.trail
        found.append(likeness)
    return found, trail
