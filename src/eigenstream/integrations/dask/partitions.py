"""A model per partition of the rows, merged in a tree."""

from __future__ import annotations

from typing import Any

import dask
from sklearn.base import clone

from ...estimators import OnlineAdaptivePCA, merge
from ...learners.arrays.dask import checked
from .trees import few


def fit_partitions(model: OnlineAdaptivePCA, X: Any) -> OnlineAdaptivePCA:
    """A model like this one, fitted to each chunk of rows where it is; all of them merged into one.

    What is sent are models (``3 max_components`` directions), not rows. With ``solver="exact"`` the result is
    that of all rows but for rounding; otherwise it lacks what each part had let go, like one pass over them.

    Parameters
    ----------
    model
        Its parameters are used; it is left as it is. It must not forget: partitions are learnt side by side.
    X
        A Dask array. Each chunk of rows has to fit into the memory of a worker, in its whole width.

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> from eigenstream import OnlineAdaptivePCA, streams
    >>> X = da.from_array(np.vstack(list(streams.paper_stream(2000, random_state=0))), chunks=(500, 64))
    >>> model = fit_partitions(OnlineAdaptivePCA(), X)
    >>> model.n_components_, model.n_samples_seen_
    (4, 2000)
    """
    rows = checked(X)
    for name, neutral in (("half_life", None), ("lags", 0)):
        if getattr(model, name) != neutral:
            raise ValueError(
                f"{name}={getattr(model, name)!r} needs rows in order, but partitions are learnt side by "
                f"side: give {name}={neutral!r}, or learn chunk by chunk with partial_fit"
            )
    fitted = dask.delayed(_fitted, pure=False)
    parts = [fitted(clone(model), part) for part in rows.rechunk({1: -1}).to_delayed()[:, 0]]
    merged: OnlineAdaptivePCA = dask.delayed(merge)(few(parts, dask.delayed(merge))).compute()
    return merged


def _fitted(model: OnlineAdaptivePCA, rows: Any) -> OnlineAdaptivePCA:
    return model.fit(rows)
