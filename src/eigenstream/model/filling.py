"""Rows with gaps, filled by what a reading says."""

from __future__ import annotations

import numpy as np

from ..array_types import Floats
from ..learners.arrays import host
from .imputation import Gaussian, fill, gaussian
from .reading import Reading


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


def filled_by(reading: Reading, rows: Floats) -> Floats:
    """Rows with NaN filled in by this reading; those without any value stay as they are."""
    observed = ~np.isnan(rows).all(axis=1)
    filled = rows.copy()
    filled[observed] = fill(rows[observed], expected_by(reading))
    return filled
