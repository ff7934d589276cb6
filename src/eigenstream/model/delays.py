"""Each row together with its predecessors: the delay embedding of a stream."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..array_types import Floats as Floats


def embedded(rows: Floats, lags: int, before: Floats | None = None) -> Floats:
    """Each row, then the row before it, and so on: ``n (lags + 1)`` columns.

    Parameters
    ----------
    rows
        Rows in their order (T x n).
    lags
        How many predecessors to put beside each row.
    before
        The last ``lags`` rows before these. None: the stream has stood still at its first row.

    Examples
    --------
    >>> embedded(np.array([[1, 10], [2, 20], [3, 30]]), 1)
    array([[ 1, 10,  1, 10],
           [ 2, 20,  1, 10],
           [ 3, 30,  2, 20]])
    """
    if not lags or not len(rows):
        return np.tile(rows, lags + 1)
    stretch = np.vstack((np.repeat(rows[:1], lags, axis=0) if before is None else before, rows))
    return np.hstack([stretch[lags - j : lags - j + len(rows)] for j in range(lags + 1)])


def last_rows(rows: Floats, lags: int, before: Floats | None = None) -> Floats:
    """The last ``lags`` rows of the stream after these, which must be at least one."""
    if before is None:
        before = np.repeat(rows[:1], lags, axis=0)
    return np.vstack((before, rows))[-lags:] if lags else rows[:0].copy()


def input_names(names: Sequence[str], lags: int) -> list[str]:
    """Names of the columns of `embedded`.

    Examples
    --------
    >>> input_names(["temp", "flow"], 1)
    ['temp', 'flow', 'temp(t-1)', 'flow(t-1)']
    """
    return [name if not lag else f"{name}(t-{lag})" for lag in range(lags + 1) for name in names]
