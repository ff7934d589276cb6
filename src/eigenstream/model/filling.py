"""Rows with gaps, filled by what a reading says."""

from __future__ import annotations

import numpy as np

from ..array_types import Floats, Matrix
from ..learners.arrays import host
from ..learners.learner import Steps
from .imputation import Gaussian, gaussian
from .reading import Reading
from .time_filter import Dynamics


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


def filled_by(reading: Reading, rows: Floats, dynamics: Dynamics | None = None) -> tuple[Floats, Matrix]:
    """Rows with NaN filled in by this reading, and the variance of each filled entry.

    Rows without any value stay as they are; the others are a stretch of their own for what is known of time.
    Without ``dynamics``, each row is filled for itself.
    """
    from .open_block import OpenBlock, fill
    from .past import Past

    observed = ~np.isnan(rows).all(axis=1)
    filled, variances, known = rows.copy(), np.where(np.isnan(rows), np.nan, 0.0), expected_by(reading)
    if dynamics is None:
        filled[observed], variances[observed] = fill(rows[observed], known)
        return filled, variances
    number = int(observed.sum())
    outlook = dynamics.outlook._replace(mean=known.mean[: len(dynamics.outlook.mean)])
    past = Past.anew(dynamics._replace(outlook=outlook, elapsed=None), number)
    block = OpenBlock(known, number, rows.dtype, center=False, corrects=False, past=past, learns=False)
    block.take(rows[observed], Steps.even(number, 1.0))
    filled[observed], variances[observed] = block.rows, block.variances
    return filled, variances
