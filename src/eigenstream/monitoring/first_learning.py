"""The first learning: every row that is declared normal is learnt, and limits come from rows left out.

Rows are cut into a few blocks, one after the other. Each is judged by a model of all the others, which have
not seen it: likeness of neighbouring rows, and drift from block to block, are in the limits. Each block is
learnt by a model of its own, once, and those of the others are joined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..learners.knowledge import Floats, Matrix
from ..model import Tracker
from ..model.blocks import Missing
from ..model.joining import joined
from ..model.plan import Plan
from .judging import Judged, judge
from .likeness import Likeness
from .limits import Limits
from .reference import STATISTICS, Reference
from .trail import Trail

# As in fivefold cross-validation: a block is judged by a model of four fifths of the rows, nearly the whole.
BLOCKS = 5
"""Blocks that are left out in turn."""

# 8 MiB of them: rows, averages and projections of a part are held at a time.
LARGEST_PART = 1 << 20
"""Numbers that are judged at a time."""


def calibrated(
    rows: Floats, plan: Plan, missing: Missing, reference: Reference, rate: float
) -> tuple[Limits, Matrix]:
    """Limits from blocks of rows that were left out, and the statistics of the rows (T, 5).

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
    values, statistics = [np.zeros((0, len(STATISTICS)))], [np.zeros((0, len(STATISTICS)))]
    found, first = (Limits(rate, declared=True) for _ in range(2))
    for left_out, others in _left_out(rows, plan, missing):
        judging = Reference.of(others.reading(), reference)
        for judged in judged_in_parts(judging, left_out):
            statistics.append(judged.statistics)
            values.append(found.values_of(judged.statistics, judging))
    together = np.concatenate(values)
    whole = np.full((len(together), 1), np.nan)
    first.count(np.hstack((together, whole)), 1.0, reference)
    whole[:, 0] = first.largest(together)[0]
    found.count(np.hstack((together, whole)), 1.0, reference)
    return found, np.concatenate(statistics)


def _left_out(rows: Floats, plan: Plan, missing: Missing) -> Iterator[tuple[Floats, Tracker]]:
    """Each block, and what is known of all others."""
    parts = np.array_split(rows, BLOCKS)
    apart = []
    for part in parts:
        tracker = Tracker(replace(plan, seconds=None, beta=1.0, lags=0))
        tracker.follow(part, None, "raise" if missing == "raise" else "skip")
        apart.append(tracker)
    for i, part in enumerate(parts):
        others = [tracker for j, tracker in enumerate(apart) if j != i and tracker.time]
        if others and len(part):
            yield part, joined(others)


def judged_in_parts(reference: Reference, rows: Floats) -> Iterator[Judged]:
    """Rows as a stretch of their own, judged a part at a time."""
    trail: Trail | None = None
    step = max(LARGEST_PART // len(reference.mean), 1)
    for start in range(0, len(rows), step):
        judged = judge(reference, rows[start : start + step], start, trail)
        trail = judged.trail
        yield judged


def with_likeness(reference: Reference, rows: Floats) -> tuple[Reference, Trail | None]:
    """The reference with the likeness of these rows to those before them, and their end."""
    likeness, trail = Likeness.unknown(len(reference.variances)), None
    for judged in judged_in_parts(reference, rows):
        likeness, trail = likeness.after(judged.squares), judged.trail
    return replace(reference, likeness=likeness), trail
