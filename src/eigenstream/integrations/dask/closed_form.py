"""The closed form of rows that stay with the workers, and scores of such rows, lazily."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np

from ...engine.scale import gain_of, scale_of
from ...moments import Moments
from ...offline import fixed_signs, leading
from .arrays import checked

LARGEST_SIDE = 8192
"""Rows or features, whichever are fewer: a matrix of that size is decomposed in one place."""


def checked_rows(model: Any, X: Any, *, reset: bool) -> da.Array:
    """Rows as an estimator may take them; ``reset``: they say how many features there are."""
    if model.lags:
        raise ValueError(
            f"lags={model.lags} was given, but chunks of a Dask array do not know the rows before them: give "
            "lags=0, or put predecessors beside the rows yourself"
        )
    rows = checked(X, None if reset else model.n_features_in_)
    if reset:
        model.n_features_in_ = rows.shape[1]
        vars(model).pop("feature_names_in_", None)
    return rows


def moments(X: da.Array, k: int, *, center: bool, standardize: bool) -> Moments:
    """`eigenstream.moments.moments` of a Dask array, in two passes over it.

    One n x n matrix (T x T if there are fewer rows) is summed over chunks and decomposed on the driver.
    """
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
    varies = least != most
    mean = np.zeros(n, dtype=X.dtype)
    if center:
        # Constant columns vanish exactly, as in memory.
        mean = np.where(varies, sums / T, first).astype(X.dtype)
    rows = (X - mean).astype(np.float64)
    scale = None
    if standardize:
        squares = (rows**2).sum(axis=0).compute()
        scale = scale_of(gain_of(squares, T, np.zeros(n))).astype(X.dtype)
        rows = rows / scale
    gram = rows.T @ rows if T >= n else rows @ rows.T
    M, variances = dask.compute(gram / T, (rows**2).mean(axis=0))
    lam, V = leading(M, min(k, T))
    U = V.T if T >= n else np.linalg.qr((rows.T @ (V / np.sqrt(T))).compute())[0].T
    return Moments(
        T, mean, scale, int(varies.sum()), variances, lam.astype(X.dtype), fixed_signs(U).astype(X.dtype)
    )


def transformed(model: Any, X: Any) -> da.Array:
    """Scores of rows by a fitted model, chunk by chunk, when they are asked for."""
    rows = _whole(checked_rows(model, X, reset=False))
    width = (model.max_components_,)
    return rows.map_blocks(
        model.transform, dtype=rows.dtype, chunks=(rows.chunks[0], width), meta=np.empty((0, 0), rows.dtype)
    )


def sample_scores(model: Any, X: Any) -> da.Array:
    """``score_samples`` of rows by a fitted model, chunk by chunk, when they are asked for."""
    rows = _whole(checked_rows(model, X, reset=False))
    return rows.map_blocks(model.score_samples, dtype=rows.dtype, drop_axis=1, meta=np.empty(0, rows.dtype))


def _whole(X: da.Array) -> da.Array:
    """Chunks of whole rows: fewer of them where rows are wide."""
    return X if X.numblocks[1] == 1 else X.rechunk({0: "auto", 1: -1})
