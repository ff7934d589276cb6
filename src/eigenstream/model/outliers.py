"""Gross outliers, capped: no single row pulls harder than ten usual ones.

A row far off is scaled towards the mean by ``sqrt(min(1, c usual / SPE, c p / T2))``, where SPE is its
squared distance from the subspace of the p kept components, T2 its squared length within that subspace in
units of the variances there, and ``usual`` the running mean of the capped SPE since there are axes (before,
the median), or a thousandth of a usual row's squared length if that is more. Gaussian rows are never that far
off. A stream whose scale changes for good is followed all the same, since ``usual`` and the variances
grow with what is let through.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..array_types import Floats as Floats
from ..learners.learner import Seen

# A ratio. The squared distance of a Gaussian row is a sum over many directions, and next to never ten times
# its mean: such rows are left as they are.
LIMIT = 10.0
"""c: most pull of a row, in units of the usual one."""

LEAST = 1e-3
"""Rows are taken to be off by at least this share of their squared length: without noise, whatever is new
would be an outlier."""

GAUSSIAN = 1.4826
"""The standard deviation of Gaussian numbers over their median absolute deviation."""


class Usual(NamedTuple):
    """The running mean of what rows are off by."""

    distance: float = 0.0
    """Mean of the capped SPE."""
    weight: float = 0.0
    """Effective number of rows it is taken over."""


class Capped(NamedTuple):
    """Rows none of which pulls too hard."""

    rows: Floats
    number: int
    """Number of rows that were scaled down."""
    usual: Usual


def cap(
    rows: Floats,
    mean: Floats,
    axes: Floats,
    variances: Floats,
    usual: Usual,
    decay: float,
    gain: Floats | None = None,
) -> Capped:
    """Scale rows down that lie too far off what is known.

    Parameters
    ----------
    rows
        Rows without gaps. Not changed.
    mean, axes, variances
        What is known of the input: its mean, its kept axes as rows, and the variance along each.
    usual
        What rows were off by so far.
    decay
        The discount over these rows.
    gain
        What each centered input is multiplied by before distances are measured (n); None: nothing.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1000.0]])
    >>> capped = cap(rows, np.zeros(2), np.zeros((0, 2)), np.zeros(0), Usual(1.0, 100.0), 1.0)
    >>> capped.rows.round(2), capped.number
    (array([[1.  , 0.  ],
           [0.  , 1.  ],
           [0.  , 3.16]]), 1)
    """
    centered = rows - mean.astype(rows.dtype)
    measured = centered if gain is None else centered * gain.astype(rows.dtype)
    inside = measured @ axes.T.astype(rows.dtype)
    power = np.einsum("ij,ij->i", measured, measured, dtype=np.float64)
    spe = np.maximum(power - np.einsum("ij,ij->i", inside, inside, dtype=np.float64), 0.0)
    distance = usual.distance if usual.weight > 0 else float(np.median(spe))
    distance = max(distance, LEAST * float(np.median(power)))
    share = np.ones(len(rows))
    np.divide(LIMIT * distance, spe, out=share, where=spe > LIMIT * distance)
    if len(axes):
        t2 = np.sum(np.square(inside, dtype=np.float64) / variances, axis=1)
        within = np.ones(len(rows))
        np.divide(LIMIT * len(axes), t2, out=within, where=t2 > LIMIT * len(axes))
        share = np.minimum(share, within)
    far = share < 1
    before = decay * usual.weight
    weight = before + len(rows)
    # Nothing is subtracted: rounding must not bring the mean of squares below zero.
    after = Usual((before * distance + float(np.sum(share * spe))) / weight, weight)
    if not far.any():
        return Capped(rows, 0, after)
    capped = rows.copy()
    capped[far] = (mean + np.sqrt(share[far])[:, None] * centered[far]).astype(rows.dtype)
    return Capped(capped, int(np.count_nonzero(far)), after)


def first_seen(rows: Floats, *, standardize: bool) -> Seen:
    """Medians of the first rows, some of which may be outliers.

    Parameters
    ----------
    rows
        Rows without gaps.
    standardize
        Whether to measure each input in units of its own spread.
    """
    n = rows.shape[1]
    mean, gain = np.median(rows, axis=0).astype(np.float64), None
    if standardize:
        deviation = GAUSSIAN * np.median(np.abs(rows - mean), axis=0).astype(np.float64)
        gain = np.divide(1.0, deviation, out=np.zeros(n), where=deviation > 0)
    return Seen(mean, np.zeros((0, n)), gain)
