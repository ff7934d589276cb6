"""Rows with missing entries, filled in by what is already known of the stream.

A row is taken for ``x = mean + U' z + noise``, z with the known variances. Given the observed entries, the
expectation of z is a ridge regression, and its covariance is ``noise A^-1`` with ``A = U_o U_o' + ridge``.
Filled entries are expectations, so they vary too little. What is missing along the axes U is, with
``B = U_m U_m'`` over the missing entries, ``noise (B + B A^-1 B)``; the rest of it is spread over all others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .engine.scale import scale_of

Floats = NDArray[np.floating[Any]]


class Filled(NamedTuple):
    """Rows without gaps, and the variance that filled entries lack."""

    rows: Floats
    along: NDArray[np.float64]
    """Expected scatter that each row lacks along the known axes (T, p, p)."""
    extra: NDArray[np.float64]
    """Expected squared length that each row lacks in all other directions together (T)."""
    axes: NDArray[Any]
    """The known axes, as rows (p, n)."""


def complete(rows: Floats, extra: NDArray[np.float64] | None = None) -> Filled:
    """Rows that lack nothing along any axis."""
    T, n = rows.shape
    return Filled(rows, np.zeros((T, 0, 0)), np.zeros(T) if extra is None else extra, np.zeros((0, n)))


def fill(
    rows: Floats,
    mean: NDArray[Any],
    axes: NDArray[Any],
    variances: NDArray[Any],
    noise: float,
    gain: NDArray[Any] | None = None,
) -> Filled:
    """Fill NaN with ``mean + U' z``, z the expectation given the observed entries of the row.

    Parameters
    ----------
    rows
        Rows, NaN where missing. Not changed.
    mean, axes, variances
        What is known of the input: its mean, its principal axes as rows, and the variance along each.
    noise
        Variance in every other direction; the ridge is ``noise / variance``.
    gain
        What each centered input is multiplied by to be in the units of axes, variances, noise and of what
        rows lack (n), see `eigenstream.engine.scale`; None: those are the rows' own units.

    Examples
    --------
    >>> known = fill(np.array([[2.0, np.nan]]), np.zeros(2), np.array([[0.6, 0.8]]), np.array([9.0]), 0.1)
    >>> known.rows.round(2), known.along.round(3), known.extra.round(3)
    (array([[2.  , 2.59]]), array([[[0.174]]]), array([0.098]))
    """
    p = len(axes)
    filled, along, extra = rows.copy(), np.zeros((len(rows), p, p)), np.zeros(len(rows))
    missing = np.isnan(rows)
    scale = None if gain is None else scale_of(gain)
    ridge = np.diag(noise / variances) if p else np.zeros((0, 0))
    for t in np.flatnonzero(missing.any(axis=1)):
        gap = missing[t]
        seen, unseen = axes[:, ~gap], axes[:, gap]
        spread = np.linalg.pinv(seen @ seen.T + ridge, hermitian=True)
        observed = rows[t, ~gap] - mean[~gap]
        z = spread @ (seen @ (observed if gain is None else observed * gain[~gap]))
        deviation = z @ unseen
        filled[t, gap] = mean[gap] + (deviation if scale is None else deviation * scale[gap])
        B = unseen @ unseen.T
        along[t] = noise * (B + B @ spread @ B)
        lacking = noise * (np.count_nonzero(gap) + np.sum(spread * B))
        extra[t] = max(lacking - np.trace(along[t]), 0.0)
    return Filled(filled, along, extra, axes)


def fill_by_means(rows: Floats, *, standardize: bool = False) -> Filled:
    """Fill NaN with the mean of its column: for first rows, before anything else is known.

    A column without a single observed entry is filled with zeros. What rows lack is in units of each column's
    own standard deviation if ``standardize`` says so.
    """
    observed = ~np.isnan(rows)
    counts = np.maximum(observed.sum(axis=0), 1)
    means = np.where(observed, rows, 0).sum(axis=0, dtype=np.float64) / counts
    deviations = np.where(observed, rows - means, 0)
    variances = np.square(deviations, dtype=np.float64).sum(axis=0) / counts
    if standardize:
        variances = (variances > 0).astype(np.float64)
    filled = np.where(observed, rows, means).astype(rows.dtype)
    return complete(filled, (~observed) @ variances)
