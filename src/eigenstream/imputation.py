"""Rows with missing entries, filled in by what is already known of the stream."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Filled(NamedTuple):
    """Rows without gaps."""

    rows: NDArray[np.floating[Any]]
    power_factor: NDArray[np.float64]
    """What each row's squared length has to be multiplied by: a filled entry has no noise of its own."""
    usable: NDArray[np.bool_]
    """False where too little was observed to say anything."""


def fill(
    X: NDArray[np.floating[Any]],
    mean: NDArray[np.float64],
    axes: NDArray[np.float64],
    variances: NDArray[np.float64],
    noise: float,
) -> Filled:
    """Fill NaN with ``mean + U' z``, z the ridge least squares on the observed entries.

    A row needs at least one observed entry, and twice as many as there are axes.

    Parameters
    ----------
    X
        Rows, NaN where missing. Not changed.
    mean, axes, variances
        What is known of the input: its mean, its principal axes as rows, and the variance along each.
    noise
        Variance in every other direction; the ridge is ``noise / variance``.

    Examples
    --------
    >>> known = fill(np.array([[2.0, np.nan]]), np.zeros(2), np.array([[0.6, 0.8]]), np.array([9.0]), 0.0)
    >>> known.rows.round(2), known.usable  # too little: one entry observed, two needed
    (array([[2.  , 2.67]]), array([False]))
    """
    rows, factors = X.copy(), np.ones(len(X))
    missing = np.isnan(X)
    observed = X.shape[1] - np.count_nonzero(missing, axis=1)
    ridge = np.diag(noise / variances) if len(axes) else np.zeros((0, 0))
    for t in np.flatnonzero(missing.any(axis=1)):
        seen = ~missing[t]
        known = X[t, seen] - mean[seen]
        U = axes[:, seen]
        z = np.linalg.lstsq(U @ U.T + ridge, U @ known, rcond=None)[0]
        rows[t, missing[t]] = mean[missing[t]] + z @ axes[:, missing[t]]
        whole = float(np.sum((rows[t] - mean) ** 2))
        if whole > 0 and observed[t]:
            factors[t] = X.shape[1] / observed[t] * float(known @ known) / whole
    return Filled(rows, factors, (observed >= 1) & (observed >= 2 * len(axes)))
