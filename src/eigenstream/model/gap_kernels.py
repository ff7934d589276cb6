"""Rows with gaps, one after the other, compiled: expectation and correction.

A row is taken for ``x = mean + units (U' z + noise)``, with U orthonormal axes, the noise of variance f in
every direction. W is the inverse covariance of rows along U, noise included. Entries m are in doubt: a share
``d_i`` of what is unexpected of them is error, 1 for a gap. With ``D = diag(d)``, ``K = I - f W`` and y the
deviations of all entries, each times ``1 - d_i``, along the axes,

    M = (D^-1 - U_m' K U_m)^-1          E x_m = D^-1 M U_m' K y          cov x_m = f M

which takes one linear system of as many unknowns as there are doubts. Where there are fewer axes than doubts,
the same is said by ``N = (I - K B)^-1``, ``B = U_m D U_m'``, of as many unknowns as there are axes:

    E x_m = U_m' N K y                  var x_i = f d_i (1 + d_i u_i' N K u_i)

What is filled in varies too little, along the axes by ``f U_m M U_m' = f B N``. A row that has come moves the
mean, and W by a correction of rank one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats, Matrix, Vector
from ..learners.compiled import kernel
from .forecast_kernels import moved
from .gap_state import (
    AXES,
    CENTERS,
    CORRECTS,
    COUNT,
    GROSS,
    NOISE,
    NOVELTY,
    PATTERN,
    PENDING,
    PENDING_SHARE,
    Belief,
    Course,
    OtherAnswer,
    Outlook,
)

# A share of the noise: rounding must not make a system singular whose axes are as good as without noise.
LEAST = 1e-12
"""Smallest eigenvalue that a system is taken to have."""

# A share of the variance. Without a bound, which was the only other one tried on the sensor sets of the
# evaluation, a few gross rows would say how far all others are off.
BURST = 0.5
"""Most by which the variance of filled entries is raised where others of their row are gross."""

# A share: an error with a thousandth of the variance of the noise moves no filled value that anybody could
# tell, but is one more unknown.
FAINT_DOUBT = 1e-3
"""Doubts below this are none."""

# A factor: thirty half-lives. Dividing by less would overflow after some rows.
LONGEST_PAUSE = 1e-9
"""A discount per row below which it does not matter any more how much was forgotten."""


# A share of all rows, in the unit of weights. W of so few rows less differs by less than chance makes it
# differ from the truth; meanwhile rows with the same gaps share their algebra.
LATE = 1 / 32
"""Share of the rows that W may be without."""


@kernel
def invert(A: Matrix) -> None:
    """Replace a matrix by its inverse: Gauss and Jordan, with the largest pivot of each column."""
    n = len(A)
    swaps = np.empty(n, np.int64)
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[p, k]):
                p = i
        swaps[k] = p
        top = A[k]
        if p != k:
            for j in range(n):
                top[j], A[p, j] = A[p, j], top[j]
        pivot = top[k] if abs(top[k]) > LEAST else LEAST
        top[k] = 1.0
        for j in range(n):
            top[j] /= pivot
        for i in range(n):
            if i != k:
                row = A[i]
                c = row[k]
                row[k] = 0.0
                for j in range(n):
                    row[j] -= c * top[j]
    for k in range(n - 1, -1, -1):
        p = swaps[k]
        if p != k:
            for i in range(n):
                A[i, k], A[i, p] = A[i, p], A[i, k]


@kernel
def root(A: Matrix) -> Matrix:
    """Rows R of which a positive semidefinite matrix is ``R' R``, no more of them than its rank.

    Cholesky's decomposition with the largest pivot first.
    """
    n, rest, number = len(A), A.copy(), 0
    found, least = np.zeros((n, n)), n * np.finfo(np.float64).eps * np.diag(A).max()
    while number < n:
        p = np.argmax(np.diag(rest))
        pivot = rest[p, p]
        if not pivot > least:
            break
        row = found[number]
        for j in range(n):
            row[j] = rest[p, j] / math.sqrt(pivot)
        for i in range(n):
            c, other = row[i], rest[i]
            for j in range(n):
                other[j] -= c * row[j]
        number += 1
    return found[:number]


@kernel
def product(A: Matrix, B: Matrix, C: Matrix, factor: float) -> Matrix:
    """``C + factor A B`` in the place of C, as far as C has columns and A or B have entries."""
    columns = C.shape[1]
    for i in range(len(C)):
        row = C[i]
        for j in range(min(A.shape[1], len(B))):
            c, other = factor * A[i, j], B[j]
            for l in range(columns):
                row[l] += c * other[l]
    return C


@kernel
def dot(x: Vector, y: Vector) -> float:
    """The product of two vectors: four sums that do not wait for each other."""
    s, t, u, v, quarter = 0.0, 0.0, 0.0, 0.0, len(y) // 4
    for i in range(quarter):
        s += x[i] * y[i]
        t += x[i + quarter] * y[i + quarter]
        u += x[i + 2 * quarter] * y[i + 2 * quarter]
        v += x[i + 3 * quarter] * y[i + 3 * quarter]
    for i in range(4 * quarter, len(y)):
        s += x[i] * y[i]
    return s + t + u + v


@kernel
def dots(A: Matrix, x: Vector, found: Vector) -> None:
    """The products of rows of A, as many as ``found`` has entries, with a vector.

    Four rows at a time: sums that do not wait for each other.
    """
    for j in range(0, len(found) - 3, 4):
        a, b, c, d = A[j], A[j + 1], A[j + 2], A[j + 3]
        s, t, u, v = 0.0, 0.0, 0.0, 0.0
        for i in range(len(x)):
            s += a[i] * x[i]
            t += b[i] * x[i]
            u += c[i] * x[i]
            v += d[i] * x[i]
        found[j], found[j + 1], found[j + 2], found[j + 3] = s, t, u, v
    for j in range(len(found) // 4 * 4, len(found)):
        found[j] = dot(A[j], x)


@kernel
def solved(
    belief: Belief, at: NDArray[np.int64], doubts: Vector, lacks: bool
) -> tuple[Matrix, Matrix, Matrix, Vector, Matrix]:
    """Algebra of a pattern of entries in doubt: the same for all rows that share it, until W moves.

    Returns the axes of the entries (r, m); two factors of the matrix by which trusted deviations y along the
    axes become expected deviations of the entries from the mean, which are ``outer' (inner y)`` (q, r) and
    (q, m); the variances of these (m), and the scatter that they lack along the axes (r, r), all in
    `Belief.units`.

    Parameters
    ----------
    belief
        The distribution.
    at, doubts
        Indices of the entries in doubt, and d (m).
    lacks
        Whether the scatter is asked for; else it is left out.
    """
    f, r, m = belief.totals[NOISE], int(belief.totals[AXES]), len(at)
    W, columns = belief.inverse, belief.columns
    U, lacking, variances = np.empty((r, m)), np.zeros((r, r) if lacks else (0, 0)), np.empty(m)
    for a in range(m):
        axes = columns[at[a]]
        for j in range(r):
            U[j, a] = axes[j]
    if m > r:
        B, weighted = np.empty((r, r)), np.empty(m)
        for j in range(r):
            for a in range(m):
                weighted[a] = doubts[a] * U[j, a]
            dots(U, weighted, B[j, : j + 1])
            for l in range(j):
                B[l, j] = B[j, l]
        N = product(W, B, -B, f)
        for j in range(r):
            N[j, j] += 1 + LEAST
        invert(N)
        S = product(N, W, N.copy(), -f)
        reach = product(S, U, np.zeros((r, m)), 1.0)
        variances[:] = 0.0
        for j in range(r):
            for a in range(m):
                variances[a] += reach[j, a] * U[j, a]
        for a in range(m):
            variances[a] = f * doubts[a] * (1 + doubts[a] * variances[a])
        if lacks:
            product(B, N, lacking, f)
        return U, S, U, variances, lacking
    KU, M = product(U.T.copy(), W, U.T.copy(), -f), np.empty((m, m))
    for a in range(m):
        for b in range(m):
            total = 0.0
            for j in range(r):
                total += KU[a, j] * U[j, b]
            M[a, b] = -total
        M[a, a] += 1 / doubts[a]
    invert(M)
    outer = np.empty((m, m))
    for a in range(m):
        variances[a] = f * M[a, a]
        for b in range(m):
            outer[b, a] = M[a, b] / doubts[a]
    if lacks:
        product(U, product(M, U.T.copy(), np.zeros((m, r)), f), lacking, 1.0)
    return U, KU, outer, variances, lacking


@kernel
def along_axes(belief: Belief, deviation: Vector) -> Vector:
    """Coordinates of a deviation."""
    y = np.empty(int(belief.totals[AXES]))
    dots(belief.axes, deviation, y)
    return y


@kernel
def correct(belief: Belief, deviation: Vector, y: Vector, weight: float, discount: float) -> None:
    """Count a row without gaps, of which this is the deviation, and y along the axes.

    The mean moves at once, W before it is needed next, see `renewed`.

    The covariance C of rows becomes ``(1 - s) C + q x x'`` with s the share of the row in all, and q the same
    or, where the mean moves, ``s (1 - s)``.
    """
    f, units, mean = belief.totals[NOISE], belief.units, belief.mean
    before = max(discount, LONGEST_PAUSE) * belief.totals[COUNT]
    belief.totals[COUNT] = before + weight
    if not weight > 0 or not before > 0:
        return
    share = weight / (before + weight)
    q = share
    if belief.totals[CENTERS] > 0:
        q *= 1 - share
        for i in range(len(deviation)):
            mean[i] += share * units[i] * deviation[i]
    square = dot(deviation, deviation) - dot(y, y)
    if square > f * belief.totals[NOVELTY] and len(y) < len(belief.inverse) and f > 0:
        move(belief)
        y = with_new_axis(belief, deviation, y, math.sqrt(square))
        belief.totals[PATTERN] = 0
    number = int(belief.totals[PENDING])
    pending = belief.pending[number]
    pending[0], pending[1] = share, q
    for j in range(len(y)):
        pending[2 + j] = y[j]
    belief.totals[PENDING] = number + 1
    belief.totals[PENDING_SHARE] += share
    if number + 1 == len(belief.pending):
        move(belief)
        belief.totals[PATTERN] = 0


@kernel
def move(belief: Belief) -> None:
    """Move W by the rows that wait for it, each a correction of rank one."""
    W, r = belief.inverse, int(belief.totals[AXES])
    reach = np.empty(r)
    for p in range(int(belief.totals[PENDING])):
        share, q, y = belief.pending[p, 0], belief.pending[p, 1], belief.pending[p, 2:]
        along = 0.0
        for j in range(r):
            total, row = 0.0, W[j]
            for l in range(r):
                total += row[l] * y[l]
            reach[j] = total
            along += total * y[j]
        kept = 1 / (1 - share)
        c = kept * q / (1 - share + q * along)
        for j in range(r):
            row, d = W[j], c * reach[j]
            for l in range(r):
                row[l] = kept * row[l] - d * reach[l]
    belief.totals[PENDING], belief.totals[PENDING_SHARE] = 0.0, 0.0


@kernel
def with_new_axis(belief: Belief, deviation: Vector, y: Vector, length: float) -> Vector:
    """The coordinates of a deviation after its direction beyond the axes has become one of them."""
    r = len(y)
    axis, columns, grown = belief.axes[r], belief.columns, np.empty(r + 1)
    for i in range(len(deviation)):
        axis[i] = deviation[i] / length
    for j in range(r):
        c, other = y[j] / length, belief.axes[j]
        for i in range(len(deviation)):
            axis[i] -= c * other[i]
        grown[j] = y[j]
    for i in range(len(deviation)):
        columns[i, r] = axis[i]
    grown[r] = length
    belief.inverse[r, r] = 1 / belief.totals[NOISE]
    belief.totals[AXES] = r + 1
    return grown


@kernel
def mix(
    other: OtherAnswer, t: int, at: NDArray[np.int64], values: Vector, variances: Vector, found: Matrix
) -> float:
    """Mix answers to the gaps of a row with the other ones; returns the share of their variance that is left.

    With the variances A and B as judged, and C of their product, the other one has the weight
    ``(A - C) / (A + B - 2 C)``.

    Parameters
    ----------
    other
        The other answers, and where both together are written.
    t, at
        Row of the block, and indices of its gaps (m).
    values, variances
        Answers to these, and variances that they expect (m).
    found
        Room for this many numbers (6, m); the first row becomes what is mixed.
    """
    m, last, total = len(at), other.factors.shape[1] - 1, 0.0
    second, expected, judged, alike, mixed = found[1], found[2], found[3], found[4], found[0]
    for a in range(m):  # first fetch: numbers that lie far apart come together sooner
        i = at[a]
        b = other.bins[t, i]
        second[a], found[5, a] = other.rows[t, i], other.factors[0, b, i] * variances[a]
        expected[a], alike[a] = other.factors[1, b, i] * other.variances[t, i], other.factors[2, b, i]
        # Weights of gaps that are older than those judged stay as they were.
        judged[a] = other.factors[1, b, i] * other.most[i] if b == last else np.inf
    for a in range(m):
        A, B = found[5, a], expected[a]
        bound = min(B, judged[a])
        C = alike[a] * math.sqrt(A * bound)
        under = A + bound - 2 * C
        w = min(max((A - C) / under if under > 0 else 1.0, 0.0), 1.0)
        C = alike[a] * math.sqrt(A * B)
        mixed[a] = values[a] + w * (second[a] - values[a])
        expected[a] = w * w * B + (1 - w) ** 2 * A + 2 * w * (1 - w) * C
        total += expected[a] / variances[a] if variances[a] > 0 else 0.0
    for a in range(m):
        other.mixed[t, at[a]], other.mixed_variances[t, at[a]] = mixed[a], expected[a]
    return total / m if m else 1.0


@kernel
def follow(
    belief: Belief,
    outlook: Outlook,
    course: Course,
    other: OtherAnswer,
    over: Floats,
    rows: Matrix,
    steps: Matrix,
    first: int,
) -> None:
    """Fill gaps row by row: by the forecast from the rows before, and by what else is new in the row.

    With coefficients of 0, nothing is forecast, and a gap is filled by the other entries of the row alone.

    Parameters
    ----------
    belief
        The distribution of innovations.
    outlook
        What else is known of time.
    course
        The block, from row ``first`` on.
    other
        Another answer to the gaps of the first inputs, or of none. Both are mixed, and what is mixed corrects
        the belief.
    over
        Coefficients of the last row and of the one before, and the deviation of innovations in usual ones,
        for each row, or one for all of them (T or 1, 3, n).
    rows
        Rows as they come, NaN in gaps (T, n).
    steps
        Weight and discount of each, and the usual steps since the row before, a whole number (T, 3).
    first
        Number of rows of the block before these.
    """
    if not len(rows):
        return
    n, lacks = rows.shape[1], len(course.along) > 0
    last, before, ages, mean = course.last[1], course.last[0], course.ages, outlook.mean
    usual, units, deviations, limits = belief.mean, belief.units, outlook.deviations, outlook.far
    carried, most, per_unit, per_scale = outlook.carried, GROSS * deviations, 1 / units, 1 / over[0, 2]
    at, index, missing = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    back, gone, doubts, gross = (
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n),
        np.zeros(n, np.bool_),
    )
    trusted, late, said, odd = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, np.bool_)
    answers, spreads, mixed = np.zeros(n), np.zeros(n), np.zeros((6, n))
    U, inner, outer, spread, lack = solved(belief, at[:0], doubts[:0], lacks)
    solution, width = False, other.rows.shape[1]
    unseen = bool(belief.unseen.any())
    for t in range(first, first + len(rows)):
        row, weight, discount = rows[t - first], steps[t - first, 0], steps[t - first, 1]
        passed = int(steps[t - first, 2])
        phi, drift, scale = over[min(t - first, len(over) - 1)]
        new, forecast = course.new[t % len(course.new)], course.forecasts[t % len(course.forecasts)]
        kept = t % len(course.rows)
        filled, came = course.rows[kept], course.came[kept]
        variances_of, bins_of = course.variances[kept], course.bins[kept]
        came[:], bins_of[:] = True, -1
        if weight == 0 and not np.isnan(row).any():  # nothing happened: it stands for rows of merged streams
            for i in range(n):
                filled[i], new[i], forecast[i], came[i] = last[i] + mean[i], 0.0, np.nan, False
            for i in range(width):
                other.mixed[t, i] = row[i]
            continue
        m, gaps, late_values, burst, number, beyond = 0, 0, 0, 0.0, 0, 0
        if unseen:
            unseen = begin(belief, outlook, course, row)
        if len(over) > 1:
            for i in range(n):
                per_scale[i] = 1 / scale[i]
        for i in range(n):
            forecast[i] = phi[i] * last[i] + drift[i] * before[i]
            beyond += abs(last[i]) > limits[i]
        if beyond:
            for i in range(n):
                if abs(last[i]) > limits[i]:
                    forecast[i] += (1 - phi[i] - drift[i]) * moved(last[i], before[i], limits[i])
        for i in range(n):
            before[i] = last[i]
            last[i] = row[i] - mean[i]
            new[i] = (last[i] - forecast[i]) * per_scale[i]
            trusted[i] = (new[i] - usual[i]) * per_unit[i]
            filled[i] = row[i]
        for i in range(n):  # a gap is NaN, and not at most anything
            odd[i] = (ages[i] != 0) | (not abs(new[i]) <= most[i])
        for i in range(n):
            if odd[i]:
                index[number] = i
                number += 1
        for a in range(number):
            i = index[a]
            late[i], gross[i], doubt = 0.0, False, 1.0
            if ages[i] > 0:
                late[i] = gathered(outlook, ages[i] + passed - 1, i) - gathered(outlook, passed - 1, i)
                late[i] /= scale[i] ** 2
            if np.isnan(row[i]):
                gaps += 1
            else:
                if ages[i] + passed > 1:
                    back[late_values], gone[late_values] = i, min(ages[i] + passed, len(carried)) - 1
                    late_values += 1
                variance, ages[i] = late[i], 0
                if abs(new[i]) > most[i]:
                    gross[i], far = True, new[i] / GROSS
                    variance = max(far * far - deviations[i] ** 2, variance)
                    burst += (far / deviations[i]) ** 2 - 1
                under = outlook.noise[i] + variance
                doubt = min(variance / under, 1.0) if under < np.inf else 1.0
            if doubt > FAINT_DOUBT:
                at[m], doubts[m] = i, doubt
                trusted[i] = (1 - doubt) * trusted[i] if doubt < 1 else 0.0
                m += 1
        faded(course.along, discount)
        y = along_axes(belief, trusted)
        for a in range(late_values):  # after a gap: with a predecessor that is wrong, it would seem to move
            i = back[a]
            before[i] += carried[gone[a], i] * (last[i] - forecast[i])
        for i in range(width):
            other.mixed[t, i] = row[i]
        if m:
            if renewed(belief, at[:m], doubts[:m]):
                solution = False
            if not solution:
                U, inner, outer, spread, lack = solved(belief, at[:m], doubts[:m], lacks)
                solution = True
            variances, weights, shifts = spread.copy(), np.empty(len(inner)), np.zeros(m)
            dots(inner, y, weights)
            said[:m] = 0.0
            for j in range(len(weights)):
                for a in range(m):
                    said[a] += weights[j] * outer[j, a]
            if unseen:  # nothing is known of them, nor lacks
                for a in range(m):
                    variances[a] *= not belief.unseen[at[a]]
            shared, spare = 0, 1 + min(burst / (n - gaps), BURST) if burst > 0 else 1.0
            for a in range(m):
                i = at[a]
                value = usual[i] + units[i] * said[a]
                if np.isnan(row[i]):
                    variance = spare * scale[i] ** 2 * (units[i] ** 2 * variances[a] + late[i])
                    new[i], last[i], variances_of[i] = value, forecast[i] + scale[i] * value, variance
                    ages[i] = min(ages[i] + passed, outlook.ages[-1])
                    came[i], bins_of[i] = False, outlook.bins[ages[i]]
                    filled[i] = last[i] + mean[i]
                    if i < width:
                        missing[shared], answers[shared], spreads[shared] = i, filled[i], variance
                        shared += 1
                elif gross[i]:  # learnt from as far as it is believed, or a change would never be
                    new[i] = min(max(new[i], -most[i]), most[i])
                else:
                    new[i] += doubts[a] * (value - new[i])
                said[a] = new[i]
            share = 1.0  # what is known better by another answer lacks less
            if shared:
                share = min(mix(other, t, missing[:shared], answers, spreads, mixed[:, :shared]), 1.0)
                b = 0
                for a in range(m):
                    if b < shared and at[a] == missing[b]:
                        said[a] = (mixed[0, b] - mean[at[a]] - forecast[at[a]]) * per_scale[at[a]]
                        b += 1
            for a in range(m):
                i = at[a]
                deviation = (said[a] - usual[i]) * per_unit[i]
                shifts[a] = deviation - trusted[i]
                trusted[i] = deviation
            for j in range(len(y)):
                y[j] += dot(U[j], shifts)
            course.extra[t] = share * note(course.along, lack, variances, share * weight)
        for i in range(n):
            forecast[i] += mean[i]
        if belief.totals[CORRECTS] > 0:
            correct(belief, trusted, y, weight, discount)


@kernel
def begin(belief: Belief, outlook: Outlook, course: Course, row: Vector) -> bool:
    """Move the means of inputs to their first value where a row has it; True if some have none yet."""
    left = False
    for i in range(len(row)):
        if belief.unseen[i]:
            if np.isnan(row[i]):
                left = True
            else:
                belief.unseen[i], outlook.mean[i] = False, row[i] - belief.mean[i]
                course.last[0, i], course.last[1, i], course.ages[i] = 0.0, 0.0, 0
    return left


@kernel
def renewed(belief: Belief, at: NDArray[np.int64], doubts: Vector) -> bool:
    """True if the algebra of the row before does not serve these entries in doubt; W then moves first.

    It serves as long as the entries and their doubts are the same, and W is late by little.
    """
    m, pattern = len(at), belief.pattern
    alike = belief.totals[PATTERN] == m and belief.totals[PENDING_SHARE] <= LATE
    for a in range(m):
        if not alike:
            break
        alike = pattern[0, a] == at[a] and pattern[1, a] == doubts[a]
    if alike:
        return False
    move(belief)
    belief.totals[PATTERN] = m
    for a in range(m):
        pattern[0, a], pattern[1, a] = at[a], doubts[a]
    return True


@kernel
def gathered(outlook: Outlook, age: int, i: int) -> float:
    """Variance of a forecast of an input from a predecessor that has been filled for so long."""
    ages, found = outlook.ages, outlook.gathered
    if age < len(ages) and ages[age] == age:  # the first ages are there one by one
        return found[age, i]  # type: ignore[no-any-return]
    k = np.searchsorted(ages, age, side="right") - 1
    if k + 1 == len(ages) or age == ages[k]:
        return found[k, i]  # type: ignore[no-any-return]
    share = (age - ages[k]) / (ages[k + 1] - ages[k])
    return found[k, i] + share * (found[k + 1, i] - found[k, i])  # type: ignore[no-any-return]


@kernel
def faded(along: Matrix, discount: float) -> None:
    """Let time pass."""
    if discount < 1:
        for j in range(len(along)):
            row = along[j]
            for l in range(len(row)):
                row[l] *= discount


@kernel
def note(along: Matrix, lack: Matrix, variances: Vector, weight: float) -> float:
    """Add what a row lacks along the axes; returns the squared length that it lacks off them."""
    off = float(variances.sum())
    for j in range(len(lack)):
        row, more = along[j], lack[j]
        off -= more[j]
        for l in range(len(more)):
            row[l] += weight * more[l]
    return max(off, 0.0)
