"""A model per partition of the rows, merged in a tree: no worker has to hold more than a few of the parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import dask
from sklearn.base import clone

from ...estimators import OnlineAdaptivePCA, merge
from ...learners.arrays.dask import checked

T = TypeVar("T")

BRANCHES = 8
"""Number of parts that are put together at a time."""


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


def few(parts: Sequence[T], together: Callable[[Sequence[T]], T]) -> Sequence[T]:
    """At most `BRANCHES` parts: as long as there are more, neighbours are put together.

    Examples
    --------
    >>> few(list("abcdefghij"), "+".join)
    ['a+b+c+d+e+f+g+h', 'i+j']
    """
    while len(parts) > BRANCHES:
        parts = [together(parts[i : i + BRANCHES]) for i in range(0, len(parts), BRANCHES)]
    return parts


def _fitted(model: OnlineAdaptivePCA, rows: Any) -> OnlineAdaptivePCA:
    return model.fit(rows)
