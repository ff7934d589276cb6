"""Sums over a block that say how inputs follow from their past, and what errors that leaves, compiled."""

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
def add_neighbours(
    sums: Matrix, rows: Matrix, came: NDArray[np.bool_], counts: Vector, a: Vector, b: Vector
) -> None:
    """Add a block to `persistence.Persistence.sums`.

    Parameters
    ----------
    sums
        Changed in place (12, n).
    rows, came
        Deviations from the mean, the two rows before the block first, and which of them came (2 + T, n).
    counts
        Weight of each row of the block (T).
    a, b
        Coefficients of the last row and of the one before by which changes are forecast (n).
    """
    n = rows.shape[1]
    pairs, p01, p11, triples, t01, t02, t11, t12, t22 = sums[:9]
    ff, fd, dd = sums[9:]
    for t in range(len(counts)):
        x0, x1, x2, weight = rows[t + 2], rows[t + 1], rows[t], counts[t]
        c0, c1, c2 = came[t + 2], came[t + 1], came[t]
        for i in range(n):
            pair = weight if c0[i] & c1[i] else 0.0
            triple = pair if c2[i] else 0.0
            x, y, z = x0[i] if c0[i] else 0.0, x1[i] if c1[i] else 0.0, x2[i] if c2[i] else 0.0
            change, said = x - y, (a[i] - 1) * y + b[i] * z
            pairs[i] += pair
            p01[i] += pair * x * y
            p11[i] += pair * y * y
            triples[i] += triple
            t01[i] += triple * x * y
            t02[i] += triple * x * z
            t11[i] += triple * y * y
            t12[i] += triple * y * z
            t22[i] += triple * z * z
            ff[i] += triple * said * said
            fd[i] += triple * said * change
            dd[i] += triple * change * change


@kernel
def grown(
    a: Vector, b: Vector, ages: NDArray[np.int64], longest: int, found: Matrix, carried: Matrix
) -> None:
    """Variance of a forecast, and share by which its predecessor is corrected, by the age of a gap.

    Parameters
    ----------
    a, b
        Coefficients of each input (n).
    ages, longest
        Ages, the first ``longest + 1`` of which are 0, 1, 2, ...
    found
        `time_filter.Growth.gathered` (ages, n). Written.
    carried
        `time_filter.Growth.carried` (longest + 1, n). Written.
    """
    n = len(a)
    last, psi, squares, both = np.zeros(n), np.ones(n), np.zeros(n), np.zeros(n)
    found[0] = 0.0
    carried[0] = 0.0
    for h in range(1, longest + 1):
        for i in range(n):
            new = a[i] * psi[i] + b[i] * last[i]
            last[i], psi[i] = psi[i], new
            both[i] += last[i] * new
            squares[i] += new * new
            found[h, i] = squares[i]
            carried[h, i] = both[i] / (1 + squares[i])
    for i in range(n):
        half, whole = found[longest // 2, i], found[longest, i]
        growth = min(max(whole / half - 1 if half > 0 else 0.0, 0.0), 1.0)
        for k in range(longest + 1, len(ages)):
            growth *= growth
            found[k, i] = found[k - 1, i] * (1 + growth)


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
