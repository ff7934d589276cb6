"""Rows with gaps, filled by what a reading says."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats, Matrix, Vector
from ..learners.arrays import host
from ..learners.learner import Steps
from .imputation import Gaussian, gaussian
from .reading import Reading
from .time_filter import Dynamics


def stretches(mask: NDArray[np.bool_]) -> list[slice]:
    """Stretches over which a mask is the same."""
    ends = [0, *(1 + np.flatnonzero(np.diff(mask))).tolist(), len(mask)]
    return [slice(*both) for both in pairwise(ends) if both[0] < both[1]]


def expected_by(reading: Reading) -> Gaussian:
    """Distribution of a row by this reading."""
    told = len(reading.variances) if reading.tells_below_threshold else reading.rank
    scale = None if reading.scale is None else host(reading.scale)
    return gaussian(
        host(reading.mean),
        host(reading.axes[:told]),
        reading.variances[:told],
        reading.rank,
        reading.total_variance,
        reading.count,
        scale,
    )


def filled_by(
    reading: Reading, rows: Floats, dynamics: Dynamics | None = None, times: Vector | None = None
) -> tuple[Floats, Matrix]:
    """Rows with NaN filled in by this reading, and the variance of each filled entry.

    Without ``dynamics``, each row is filled for itself, and rows without any value stay as they are. With
    them rows are a stretch of their own: those without any value are filled by the rows before them. Rows
    are a usual step apart, or come at these ``times``, in seconds, if inputs were followed by times, too.
    """
    from .open_block import OpenBlock, fill
    from .past import Past

    observed: NDArray[np.bool_] = np.asarray(~np.isnan(rows).all(axis=1))
    filled, variances, known = rows.copy(), np.where(np.isnan(rows), np.nan, 0.0), expected_by(reading)
    if dynamics is None:
        filled[observed], variances[observed] = fill(rows[observed], known)
        return filled, variances
    number, own = int(observed.sum()), slice(len(dynamics.outlook.mean))
    outlook = dynamics.outlook._replace(mean=known.mean[own])
    dynamics = dynamics._replace(outlook=outlook, usual=None if times is None else dynamics.usual)
    past, at = Past.anew(dynamics, number), np.arange(len(rows), dtype=float) if times is None else times
    block = OpenBlock(known, number, rows.dtype, center=False, corrects=False, past=past, learns=False)
    last = at[:1] - (dynamics.usual or 1.0)
    for part in stretches(observed):
        if observed[part.start]:
            passed = np.diff(at[part], prepend=last)
            block.take(rows[part], replace(Steps.even(len(passed), 1.0), passed=passed))
            last = at[part][-1:]
        elif block.number:
            ahead = past.forecast(dynamics.in_steps(at[part] - last))
            filled[part, own], variances[part, own] = ahead.rows, np.square(ahead.std)
    filled[observed], variances[observed] = block.answers, block.variances
    return filled, variances
