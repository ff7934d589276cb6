"""The inputs that an alarm is due to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..learners.knowledge import Floats, Matrix
from .events import Contributors
from .reference import Reference

# They fit on a line, and a fault of one sensor shows in few others.
BLAMED = 5
"""Number of inputs that an alarm names."""


def contributors(
    reference: Reference, row: Floats, statistic: str, names: Sequence[str], width: int
) -> Contributors:
    """The inputs that add most to a statistic of this row, with their shares of it.

    Parameters
    ----------
    reference
        Reference that the row was judged by.
    row
        The row, with its predecessors if the model has lags.
    statistic
        Its name.
    names
        Names of the inputs; empty: x0, x1, and so on.
    width
        Number of inputs, lags not counted.
    """
    shares = per_input(reference.contributions(row[None])[statistic], width)[0]
    if not np.isfinite(shares.sum()):  # of a row that is infinitely far off
        shares = np.nan_to_num(shares)
        shares = shares / shares.max()
    shares = shares / max(float(shares.sum()), np.finfo(np.float64).tiny)
    called = names or [f"x{i}" for i in range(width)]
    return tuple((called[i], float(shares[i])) for i in np.argsort(-shares, kind="stable")[:BLAMED])


def per_input(added: Matrix, width: int) -> Matrix:
    """Sum the columns that belong to one input and its predecessors."""
    return added if added.shape[1] == width else added.reshape(len(added), -1, width).sum(axis=1)
