"""Number of common factors as economists estimate it, each from the eigenvalues of the covariance of T rows.

    Bai and Ng (2002), Econometrica 70, doi:10.1111/1468-0262.00273: information criteria
    Onatski (2010), Review of Economics and Statistics 92, doi:10.1162/REST_a_00043: edge distribution
    Ahn and Horenstein (2013), Econometrica 81, doi:10.3982/ECTA8968: ratios of eigenvalues and of growth

All look at no more than `MOST` factors. Onatski and Wang (2021, Econometrica 89, doi:10.3982/ECTA16703) show
that levels of slow series deceive them, and advise to compare with differences of neighbouring rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from benchmarks.peers.peer import Array

MOST = 8
"""Factors at most, as in Bai and Ng's and Ahn and Horenstein's experiments."""
Count = Callable[[Array, int, int], int]


def bai_ng(mu: Array, n: int, T: int, penalty: int, *, logarithm: bool = True) -> int:
    """Count that minimizes an information criterion: IC_p1 to IC_p3, or without ``logarithm`` PC_p1 to PC_p3.

    The error of the variance that k factors leave, plus k times a penalty.
    """
    most = min(MOST, len(mu) - 1)
    left = np.maximum(mu.sum() - np.concatenate(([0.0], np.cumsum(mu[:most]))), 1e-300)
    harmonic, smaller = (n + T) / (n * T), min(n, T)
    each = (harmonic * -np.log(harmonic), harmonic * np.log(smaller), np.log(smaller) / smaller)[penalty - 1]
    k = np.arange(most + 1)
    return int(np.argmin(np.log(left) + k * each if logarithm else left + k * left[most] * each))


def onatski(mu: Array, n: int, T: int) -> int:
    """Count of eigenvalues before the last drop larger than what the edge of noise lets expect.

    Five eigenvalues after the factors lie on a line in their place to the power 2/3; twice its slope is what
    a drop must exceed. The count gives the place, and four turns the count.
    """
    most = min(MOST, len(mu) - 6)
    if most < 1:
        return 0
    count = most
    for _ in range(4):
        places = np.arange(count, count + 5) ** (2 / 3)
        drop = 2 * abs(np.polyfit(places, mu[count : count + 5], 1)[0])
        large = np.flatnonzero(mu[:most] - mu[1 : most + 1] >= drop)
        count = int(large[-1]) + 1 if len(large) else 0
    return count


def eigenvalue_ratio(mu: Array, n: int, T: int) -> int:
    """Count before the largest ratio of two neighbouring eigenvalues; an invented one before the first."""
    m, most = min(n, T), min(MOST, len(mu) - 1)
    with_mock = np.concatenate(([mu.sum() / np.log(m)], mu[: most + 1]))
    return int(np.argmax(with_mock[:-1] / np.maximum(with_mock[1:], 1e-300)))


def growth_ratio(mu: Array, n: int, T: int) -> int:
    """Count before the largest ratio of the growth of what is left; an invented one before the first."""
    m, most = min(n, T), min(MOST, len(mu) - 2)
    left = np.maximum(mu.sum() - np.cumsum(mu[: most + 1]), 1e-300)
    growth = np.log1p(np.concatenate(([1 / np.log(m)], mu[: most + 1] / left)))
    return int(np.argmax(growth[:-1] / growth[1:]))


COUNTS: dict[str, Count] = {
    **{f"Bai-Ng IC_p{i}": partial(bai_ng, penalty=i) for i in (1, 2, 3)},
    **{f"Bai-Ng PC_p{i}": partial(bai_ng, penalty=i, logarithm=False) for i in (1, 2, 3)},
    "Onatski": onatski,
    "Ahn-Horenstein ER": eigenvalue_ratio,
    "Ahn-Horenstein GR": growth_ratio,
}


def counts(X: Array) -> dict[str, int]:
    """Number of factors by each estimator, in the rows and in their differences."""
    found = {}
    for what, rows in (("levels", X), ("differences", np.diff(X, axis=0))):
        mu = np.maximum(np.linalg.eigvalsh(np.cov(rows.T))[::-1], 0.0)
        for name, count in COUNTS.items():
            found[f"{name}, {what}"] = count(mu, rows.shape[1], len(rows))
    return found
