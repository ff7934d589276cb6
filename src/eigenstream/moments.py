"""What the closed form needs to know of rows: their mean, scale and spectrum."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .engine.scale import scale_of_rows
from .offline import spectrum

Floats = NDArray[np.floating[Any]]


class Moments(NamedTuple):
    """First and second moments of rows. All but mean and scale are in units of the scale."""

    n_samples: int
    mean: Floats
    """What is subtracted from each input; zeros if they are not centered (n)."""
    scale: Floats | None
    """What each of them is then divided by; None: nothing."""
    n_inputs: int
    """How many inputs vary."""
    input_variances: NDArray[np.float64]
    lam: Floats
    """All eigenvalues of the second moment, largest first."""
    axes: Floats
    """The first of its axes, as rows."""


def moments(rows: Floats, k: int, *, center: bool, standardize: bool) -> Moments:
    """The moments of rows (T x n), with at most k axes."""
    T, n = rows.shape
    varies = rows.min(axis=0) != rows.max(axis=0)
    mean = np.zeros(n, dtype=rows.dtype)
    if center:
        # A constant column must vanish exactly: its mean, being a sum, would leave a rounding residue.
        mean = np.where(varies, rows.mean(axis=0, dtype=np.float64), rows[0]).astype(rows.dtype)
        rows = rows - mean
    scale = None
    if standardize:
        scale = scale_of_rows(rows).astype(rows.dtype)
        rows = rows / scale
    lam, axes = spectrum(rows, min(k, T))
    variances = np.mean(np.square(rows, dtype=np.float64), axis=0)
    return Moments(T, mean, scale, int(varies.sum()), variances, lam, axes)
