"""Settling and adapting to one sample whose features are summed up: k numbers wide.

`stream` and `block` differ in how they gather ``h = N x``; from there on they share these kernels.
"""

from __future__ import annotations

import numpy as np

from ...array_types import Matrix as Matrix
from ...array_types import Vector as Vector
from ..compiled import kernel
from .state import COUNT, EXTRA, TAU, THETA0, TRACE, WEIGHT, Floats, NetworkRule

Sample = tuple[float, float, float, int]
"""Squared length of the input, its weight, amplitude of spontaneous activity, and the time."""

# An output. Its square, 1e-280, is still normal (above 2e-308), also times a small weight.
VANISHING = 1e-140
"""Outputs below this count as zero, since their squares would be denormal: a hundred times slower to add."""


@kernel
def factorize(S: Matrix, theta: float, A: Matrix) -> None:
    """Eliminate the lower triangle of ``S + theta I`` into the upper triangle of A, four pivots at a time.

    Whole rows keep every inner loop contiguous, unlike Cholesky's short dot products. The diagonal holds the
    reciprocal pivots; below it are leftovers. No pivot can be smaller than theta; where rounding beside a
    huge mode says otherwise, it is not believed.
    """
    k = len(S)
    largest = 0.0
    for i in range(k):
        source, target = S[i], A[i]
        for j in range(k):
            target[j] = source[j]
        target[i] += theta
        largest = max(largest, target[i])
    least = max(theta, 1e-15 * largest)
    whole = k // 4 * 4
    for p in range(0, whole, 4):
        _eliminate(A, p, p + 4, least)
        A0, A1, A2, A3 = A[p], A[p + 1], A[p + 2], A[p + 3]
        f0, f1, f2, f3 = A0[p], A1[p + 1], A2[p + 2], A3[p + 3]
        for i in range(p + 4, k):
            c0, c1, c2, c3 = A0[i] * f0, A1[i] * f1, A2[i] * f2, A3[i] * f3
            start = i // 8 * 8  # nothing left of the diagonal is ever read; multiples of 8 keep loads aligned
            row, B0, B1, B2, B3 = A[i, start:], A0[start:], A1[start:], A2[start:], A3[start:]
            for j in range(k - start):
                row[j] -= (c0 * B0[j] + c1 * B1[j]) + (c2 * B2[j] + c3 * B3[j])
    _eliminate(A, whole, k, least)


@kernel
def _eliminate(A: Matrix, start: int, stop: int, least: float) -> None:
    """Eliminate among the rows from ``start`` to ``stop``, and invert their pivots."""
    for p in range(start, stop):
        pivot_row = A[p, start:]
        pivot = max(pivot_row[p - start], least)
        inverse = 1 / pivot if pivot > 0 else 0.0
        for i in range(p + 1, stop):
            c, row = pivot_row[i - start] * inverse, A[i, start:]
            for j in range(len(row)):
                row[j] -= c * pivot_row[j]
        pivot_row[p - start] = inverse


@kernel
def substitute(A: Matrix, h: Vector, y: Vector) -> None:
    """Solve with the factors of `factorize`; h is used up."""
    k = len(h)
    for i in range(k):
        c, row, rest = h[i] * A[i, i], A[i, i + 1 :], h[i + 1 :]
        for j in range(len(rest)):
            rest[j] -= c * row[j]
    for i in range(k - 1, -1, -1):
        total, row, rest = h[i], A[i, i + 1 :], y[i + 1 :]
        for j in range(len(rest)):
            total -= row[j] * rest[j]
        value = total * A[i, i]
        y[i] = value if abs(value) > VANISHING else 0.0


@kernel
def settle(
    S: Matrix, totals: Vector, rule: NetworkRule, A: Matrix, h: Vector, y: Vector, sample: Sample
) -> None:
    """Respond to one sample and adapt everything but N.

    Solves ``(S + theta I) y = h`` with the factors A. What the network learns from is y plus spontaneous
    activity, which is left in h for N to take in; the threshold and the caller see the clean y.
    """
    power, weight, amplitude, time = sample
    k = len(h)
    substitute(A, h, y)
    activity = 0.0
    for i in range(k):
        activity += y[i] * y[i]
        h[i] = y[i]
    if amplitude > 0:
        perturb(h, amplitude, rule.seed, time)
    beta2 = rule.beta2
    for i in range(k):
        c = weight * h[i]
        for j in range(k):
            S[i, j] = beta2 * S[i, j] + c * h[j]
    totals[TAU] = beta2 * totals[TAU] + weight * (rule.r0 + rule.r1 * power + rule.r2 * activity)
    totals[TRACE] = beta2 * totals[TRACE] + weight * power
    totals[THETA0] *= beta2


@kernel
def perturb(y: Vector, amplitude: float, seed: int, time: int) -> None:
    """Add +-amplitude to each output, by a hash of seed, time and row: no generator, nothing to save."""
    bits = np.uint64(0)
    for i in range(len(y)):
        if i % 64 == 0:
            bits = _hash(np.uint64(seed), np.uint64(time), np.uint64(i // 64))
        y[i] += amplitude if bits & np.uint64(1) else -amplitude
        bits >>= np.uint64(1)


@kernel
def _hash(seed: np.uint64, time: np.uint64, word: np.uint64) -> np.uint64:
    """64 random bits of a counter (splitmix64; Steele, Lea and Flood 2014, doi:10.1145/2714064.2660195)."""
    z = seed * np.uint64(0xD1342543DE82EF95) + time * np.uint64(0x9E3779B97F4A7C15)
    z += word * np.uint64(0xA0761D6478BD642F)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def center(
    X: Floats,
    t: int,
    weights: Matrix,
    mean: Vector,
    totals: Vector,
    rule: NetworkRule,
    out: Floats,
    slot: int,
) -> float:
    """Write what the network learns from row t into a row of ``out``; returns its (weighted) power.

    Exact discounted centering: with ``w <- beta^2 w + s`` and ``delta = x - m``, the mean moves by
    ``s delta / w`` and the network sees ``sqrt(1 - s/w) delta``, whose sums are the centered scatter.
    """
    n, weight = X.shape[1], weights[t, WEIGHT]
    totals[COUNT] = rule.beta2 * totals[COUNT] + weight
    power = 0.0
    if rule.center:
        share = weight / totals[COUNT] if totals[COUNT] > 0 else 0.0
        scale = np.sqrt(max(1 - share, 0.0))
        for j in range(n):
            delta = X[t, j] - mean[j]
            mean[j] += share * delta
            value = scale * delta
            out[slot, j] = value
            power += value * value
    else:
        for j in range(n):
            value = float(X[t, j])
            out[slot, j] = value
            power += value * value
    return float(power + weights[t, EXTRA])
