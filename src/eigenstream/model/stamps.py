"""Time stamps of rows: checked before anything is learnt."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..io.durations import as_seconds, moment
from .plan import Plan


class TimesGoBack(ValueError):
    """A row is before the row before it.

    Parameters
    ----------
    row
        The row, counted in this call.
    after, before
        Its time, and that of the row before it, in seconds.
    key
        The key of both, where there are many.
    """

    def __init__(self, row: int, after: float, before: float, key: Any = None) -> None:
        of = "" if key is None else f", of the key {key!r},"
        super().__init__(
            f"timestamps must not go backwards, but row {row} of this call{of} is at {moment(after)}, the "
            f"row before it at {moment(before)}: sort the rows by time"
        )
        self.row, self.after, self.before, self.key = row, after, before, key

    def of(self, key: Any, rows: NDArray[np.intp]) -> TimesGoBack:
        """The same, of a key with these rows of the call."""
        return TimesGoBack(int(rows[self.row]), self.after, self.before, key)


def row_times(
    timestamps: Any, rows: int, plan: Plan, latest: float | None = None
) -> NDArray[np.float64] | None:
    """One time per row, in seconds; None where the half-life is in samples.

    Parameters
    ----------
    timestamps
        As the user gave them.
    rows
        How many rows they belong to.
    plan
        What the model is asked to do.
    latest
        The time of the row before these; None: there is none.
    """
    if plan.seconds is None:
        if timestamps is not None:
            raise ValueError(
                "timestamps were given, but the half-life is a number of samples or None: leave them out, or "
                "give a duration such as half_life='10min'"
            )
        return None
    if timestamps is None:
        raise ValueError(
            f"a half-life in time ({plan.seconds:g} s) needs the time of every row: give timestamps, or a "
            "half_life in samples"
        )
    times = as_seconds(timestamps)
    if times.shape != (rows,):
        raise ValueError(f"timestamps must be {rows} times, one per row, got shape {times.shape}")
    ordered = times if latest is None else np.append(latest, times)
    back = np.flatnonzero(np.diff(ordered) < 0)
    if len(back):
        before, after = ordered[back[0]], ordered[back[0] + 1]
        raise TimesGoBack(int(back[0]) + (latest is None), float(after), float(before))
    return times
