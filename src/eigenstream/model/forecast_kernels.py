"""Forecasts of a block from the rows before it, compared with what came, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats, Matrix, Vector
from ..learners.compiled import kernel


@kernel
def moved(last: float, before: float, far: float) -> float:
    """Move of the mean of an input, by its last two deviations from it: what both have beyond ``far``.

    A single one may be gross; two on the same side, of an input that stays within ``far`` of its mean, are of
    a mean that has moved. It is forecast to stay there, not to come back.

    Examples
    --------
    >>> moved(9.0, 7.0, 4.0), moved(9.0, 0.0, 4.0), moved(-5.0, -9.0, 4.0)
    (3.0, 0.0, -1.0)
    """
    if last > far and before > far:
        return min(last, before) - far
    if last < -far and before < -far:
        return max(last, before) + far
    return 0.0


@kernel
def compare_ahead(
    sums: Floats,
    a: Vector,
    b: Vector,
    innovations: Vector,
    spread: Vector,
    far: Vector,
    gathered: Matrix,
    ages: NDArray[np.int64],
    deviations: Matrix,
    came: NDArray[np.bool_],
    weights: Vector,
    bins: NDArray[np.int64],
) -> None:
    """Add a block to the sums of `judgement.ForecastErrors`: entries that came, after two rows that came.

    Parameters
    ----------
    sums
        Number of forecasts f, ``f^2``, ``f x``, ``x^2`` with x the truth, variances that forecasts expect, by
        bin of the horizon (5, bins, n). Changed in place.
    a, b
        Coefficients of the last row and of the one before (n).
    innovations, spread, far
        Variance of each innovation and of each input, and of `moved` (n).
    gathered, ages
        Of `time_filter.forecast_variances`.
    deviations, came
        Of the block from the mean, the two rows before it first, and which of them came (2 + T, n).
    weights
        Of each row of the block (T).
    bins
        Bin of each horizon.
    """
    n, k = deviations.shape[1], 0
    before, last, known = (
        deviations[0].copy(),
        deviations[1].copy(),
        came[0] & came[1] & np.isfinite(innovations),
    )
    means = np.zeros(n)
    for i in range(n):
        means[i] = moved(last[i], before[i], far[i])
        last[i] -= means[i]
        before[i] -= means[i]
    for h in range(len(deviations) - 2):
        while k + 2 < len(ages) and ages[k + 1] <= h:
            k += 1
        share = min((h - ages[k]) / (ages[k + 1] - ages[k]), 1.0)
        row, present, weight, found = deviations[2 + h], came[2 + h], weights[h], sums[:, bins[h + 1]]
        for i in range(n):
            said = a[i] * last[i] + b[i] * before[i]
            before[i], last[i] = last[i], said
            said += means[i]
            if known[i] and present[i]:
                late = gathered[k, i] + share * (gathered[k + 1, i] - gathered[k, i])
                found[0, i] += weight
                found[1, i] += weight * said * said
                found[2, i] += weight * said * row[i]
                found[3, i] += weight * row[i] * row[i]
                found[4, i] += weight * min(innovations[i] * (1 + late), spread[i])
