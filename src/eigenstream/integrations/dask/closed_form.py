"""The moments of rows that stay with the workers, for the closed form: two passes, three if standardized."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np

from ...model.moments import levels, spectrum_of, stretches_of, sums_of_squares
from ...offline import fixed_signs, leading

LARGEST_SIDE = 8192
"""Rows or features, whichever are fewer: a matrix of that size is decomposed in one place."""


@levels.register(da.Array)
def _(X: da.Array) -> tuple[Any, Any, Any]:
    T, n = X.shape
    if min(T, n) > LARGEST_SIDE:
        raise ValueError(
            f"got {T:,} rows and {n:,} features, but the closed form needs one of them to be at most "
            f"{LARGEST_SIDE:,}: use eigenstream.integrations.dask.FeatureShardedPCA or fit_partitions"
        )
    least, most, sums, first = dask.compute(
        X.min(axis=0), X.max(axis=0), X.sum(axis=0, dtype=np.float64), X[0]
    )
    if not np.isfinite(sums).all():
        raise ValueError("Input contains NaN or infinity: fill them in first, for instance with da.where")
    return first, sums / T, least != most


@sums_of_squares.register(da.Array)
def _(X: da.Array) -> Any:
    return (X.astype(np.float64) ** 2).sum(axis=0).compute()


@spectrum_of.register(da.Array)
def _(X: da.Array, k: int) -> tuple[Any, Any, Any]:
    """One n x n matrix (T x T if there are fewer rows) is summed over chunks and decomposed on the driver."""
    T, n = X.shape
    rows = X.astype(np.float64)
    gram = rows.T @ rows if T >= n else rows @ rows.T
    M, variances = dask.compute(gram / T, (rows**2).mean(axis=0))
    lam, V = leading(M, k)
    U = V.T if T >= n else np.linalg.qr((rows.T @ (V / np.sqrt(T))).compute())[0].T
    return lam.astype(X.dtype), fixed_signs(U).astype(X.dtype), variances


@stretches_of.register(da.Array)
def _(X: da.Array, starts: Any, length: int) -> Any:
    return np.stack(dask.compute(*(X[start : start + length] for start in starts.tolist())))
