"""Dask arrays as a model may take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def checked(X: Any, n_features: int | None = None) -> da.Array:
    """The rows of a Dask array of known chunks, as floating-point numbers."""
    if not isinstance(X, da.Array):
        raise TypeError(
            f"expected a dask.array.Array, got {type(X).__module__}.{type(X).__name__}: make one with "
            "dask.array.from_array, or of a data frame with to_dask_array(lengths=True)"
        )
    if X.ndim != 2:
        raise ValueError(f"expected a 2D array of rows, got {X.ndim} dimensions: use reshape or X[None]")
    if np.isnan(X.shape).any():
        raise ValueError("the array has chunks of unknown size: call its compute_chunk_sizes() first")
    if not all(X.shape):
        raise ValueError(f"expected at least one row and one feature, got shape {X.shape}")
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(f"X has {X.shape[1]} features, but the model has learnt from {n_features}")
    return X if X.dtype in FLOATS else X.astype(np.float64)


def mapped(X: da.Array, compute: Callable[[Any], Any], width: int | None) -> da.Array:
    """Results of rows, computed chunk by chunk on demand: ``width`` numbers of each, or one."""
    whole = X if X.numblocks[1] == 1 else X.rechunk({0: "auto", 1: -1})  # fewer rows in a chunk if wide
    if width is None:
        return whole.map_blocks(compute, dtype=X.dtype, drop_axis=1, meta=np.empty(0, X.dtype))
    shapes = (whole.chunks[0], (width,))
    return whole.map_blocks(compute, dtype=X.dtype, chunks=shapes, meta=np.empty((0, 0), X.dtype))


def padded(scores: da.Array, width: int) -> da.Array:
    """Scores with columns of zeros up to ``width``."""
    rows, rank = scores.shape
    zeros = da.zeros((rows, width - rank), dtype=scores.dtype, chunks=(scores.chunks[0], -1))
    return da.concatenate([scores, zeros], axis=1).rechunk({1: -1})
