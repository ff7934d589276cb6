"""Gaps in the rows before the first block has been learnt.

The first eight rows are filled by the mean and the last value of the input. From then on a model of the first
8, 16 and 32 rows fills those up to twice that number, as later blocks are filled by all that was known before
them: by the other inputs of the row and by time, both judged on the second half of the rows by a model of the
first half.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats, Matrix, Vector
from ..learners.learner import Steps
from .imputation import fill_by_means, gaussian_of
from .judgement import hide
from .open_block import OpenBlock, last_values
from .past import Past
from .plan import Plan
from .time_filter import FIRST_ROWS, TimeFilter, learn_filled

# A share. A model of half of the rows is worse than the one that is judged by it.
UNCERTAIN = 0.25
"""Weight of an error of a model of so few rows."""


def fill_first(plan: Plan, rows: Floats, steps: Steps, start: int) -> tuple[Floats, Matrix]:
    """Rows from ``start`` on, gaps filled, each by all rows before it; and variances of filled entries.

    Parameters
    ----------
    plan
        The task.
    rows, steps
        All rows so far, fewer than a block.
    start
        Number of rows that are filled already.
    """
    if not np.isnan(rows[start:]).any():
        return rows[start:], np.zeros(rows[start:].shape)
    filled, variances = [], []
    for begin, end in pairwise(_beginnings(len(rows))):
        if end <= start:
            continue
        block = block_after(plan, rows[:begin], steps.part(slice(begin)), begin) if begin else None
        if block is None:
            answers, doubts = fill_by_values_so_far(rows[:end])
            answers, doubts = answers[begin:], doubts[begin:]
        else:
            block.take(rows[begin:end], steps.part(slice(begin, end)))
            answers, doubts = block.answers, block.variances
        late = slice(max(start - begin, 0), None)
        filled.append(answers[late])
        variances.append(doubts[late])
    return np.vstack(filled), np.vstack(variances)


def _beginnings(rows: int) -> Iterator[int]:
    """Numbers of rows from which on others are filled by a model of all before them, and the end."""
    yield 0
    begin = FIRST_ROWS
    while begin < rows:
        yield begin
        begin *= 2
    yield rows


def block_after(
    plan: Plan, rows: Floats, steps: Steps, most: int, *, judged: bool = True
) -> OpenBlock | None:
    """An open block of ``most`` rows after these, by a model of them alone; None where they say nothing."""
    own, learner, time = slice(plan.width), plan.learner(0.0), TimeFilter(plan)
    learn_filled(learner, fill_by_means(rows, standardize=plan.standardize), steps)
    known = learner.known()
    if not known.effective > 0 or not known.trace > 0:
        return None
    time.begin(rows[:, own].astype(np.float64), steps, known.mean[own])
    if judged:
        time.judge(*first_judged(plan, rows, steps))
    corrects = not (judged and plan.cap_outliers)
    before = time.dynamics(known.mean[own]), time.last, time.ages, time.held
    past = Past(*before, most, corrects=corrects, learns=False)
    block = OpenBlock(
        gaussian_of(known), most, plan.dtype, center=plan.center, corrects=corrects, past=past, learns=False
    )
    if judged and plan.center:
        block.expect_first_values_of(np.asarray(np.isnan(rows).all(axis=0)))
    return block


def first_judged(plan: Plan, rows: Floats, steps: Steps) -> tuple[NDArray[np.intp], Floats, Vector]:
    """Answers to entries of the second half of first rows as if they were missing, by the first half.

    As `TimeFilter.judge` takes them, with weights of the rows.
    """
    half, own = len(rows) // 2, slice(plan.width)
    late = steps.part(slice(half, None))
    block = block_after(plan, rows[:half], steps.part(slice(half)), len(rows) - half, judged=False)
    if block is None:
        return np.full((0, plan.width), -1), np.zeros((6, 0, plan.width)), np.zeros(0)
    gappy = rows[half:].copy()
    gappy[:, own] = hide(gappy[:, own], 0)
    block.take(gappy, late)
    return *block.judged(rows[half:, own]), late.weight * UNCERTAIN


def fill_by_values_so_far(rows: Floats) -> tuple[Floats, Matrix]:
    """Fill NaN between the mean and the last value of its column, zero where there is no value yet.

    The weight of the last value is the one that would have told the values so far best, all columns together,
    each in units of its own errors. Also the variance of filled entries; NaN where a column has had fewer
    than two values.

    Examples
    --------
    >>> rows = np.array([[1.0, 5.0], [2.0, 4.0], [3.0, 3.0], [4.0, np.nan]])
    >>> fill_by_values_so_far(rows)[0][-1].round(2)
    array([4.  , 3.22])
    """
    observed = ~np.isnan(rows)
    values = np.where(observed, rows, 0.0).astype(np.float64)
    counts = np.cumsum(observed, axis=0)
    means = np.cumsum(values, axis=0) / np.maximum(counts, 1)
    last = np.nan_to_num(last_values(rows.astype(np.float64), np.full(rows.shape[1], np.nan)))
    again = observed[1:] & (counts[:-1] > 0)
    by_mean, by_last = (np.where(again, values[1:] - said[:-1], 0.0) for said in (means, last))
    products = by_mean * by_mean, by_last * by_last, by_mean * by_last, again
    MM, LL, ML, number = (
        np.cumsum(np.vstack((np.zeros((1, rows.shape[1])), part)), axis=0) for part in products
    )
    some = MM + LL > np.finfo(np.float64).tiny  # one over less is infinite
    units = np.divide(1.0, MM + LL, out=np.zeros_like(MM), where=some)
    gained = ((MM - ML) * units).sum(axis=1, keepdims=True)
    moved = ((MM + LL - 2 * ML) * units).sum(axis=1, keepdims=True)
    weight = np.clip((gained + 0.5) / (moved + 1), 0.0, 1.0)  # before there is any evidence, both alike
    errors = (1 - weight) ** 2 * MM + weight**2 * LL + 2 * weight * (1 - weight) * ML
    share = (errors * units).sum(axis=1, keepdims=True) / np.maximum(some.sum(axis=1, keepdims=True), 1)
    variances = np.where(number > 0, share * (MM + LL) / np.maximum(number, 1), np.nan)
    filled = np.where(observed, rows, means + weight * (last - means)).astype(rows.dtype)
    return filled, np.where(observed, 0.0, variances)
