"""Verdicts of a monitor on rows, and all that it finds in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..learners.knowledge import Matrix, Vector
from ..learners.marks import Marked
from ..model import RankChange
from .events import Alarm, Contributors, Notice
from .reference import STATISTICS

COLUMNS = (*STATISTICS, *(f"{name}_limit" for name in STATISTICS), "severity", "drift", "alarm", "since")
"""Columns of `Verdicts.matrix`, in order."""


class Verdict(NamedTuple):
    """A monitor's verdict on one row, judged by what was known before it."""

    row: int
    """Number of the row in the stream, from 0."""
    t2: float
    """Squared distance within the model; NaN where the row could not be judged."""
    spe: float
    """Squared distance from the model."""
    distance: float
    """Squared distance over all directions, each in units of its own spread."""
    extreme: float
    """Squared departure of the input that is farthest off, in units of its usual reach on that side."""
    average: float
    """Distance of the exponentially weighted average of the last rows."""
    pair: float
    """Distance of the row and its predecessor together."""
    t2_limit: float
    """Infinity where there is no basis for a limit."""
    spe_limit: float
    distance_limit: float
    extreme_limit: float
    average_limit: float
    pair_limit: float
    severity: float
    """Rarity of such a row, ``ln(p) / ln(rate)``: above 1 it exceeds a limit; 0 where there is none."""
    drift: float
    """Mean severity of the last hundreds of rows for the anchor, a model that stands still, as of the last
    eighth row: above 1 they have drifted; 0 where there is none."""
    alarm: bool
    """True if the severity exceeds 1, often enough to count."""
    since: int | None
    """The row at which the alarm began that is still on; None: there is none."""


class Verdicts(NamedTuple):
    """Verdicts on rows, one array per entry of `Verdict`; ``since`` is -1 where there is no alarm."""

    row: NDArray[np.int64]
    t2: Vector
    spe: Vector
    distance: Vector
    extreme: Vector
    average: Vector
    pair: Vector
    t2_limit: Vector
    spe_limit: Vector
    distance_limit: Vector
    extreme_limit: Vector
    average_limit: Vector
    pair_limit: Vector
    severity: Vector
    drift: Vector
    alarm: NDArray[np.bool_]
    since: NDArray[np.int64]

    @property
    def limited(self) -> NDArray[np.bool_]:
        """True for rows at which there was a limit to judge them by."""
        limits = [getattr(self, f"{name}_limit") for name in STATISTICS]
        return np.asarray(np.isfinite(limits).any(axis=0))

    def one(self, i: int) -> Verdict:
        """The verdict on one of the rows."""
        values = {name: getattr(self, name)[i].item() for name in self._fields}
        return Verdict(**{**values, "since": values["since"] if values["since"] >= 0 else None})

    def matrix(self) -> Matrix:
        """The same as numbers, with the columns `COLUMNS`."""
        return np.column_stack([getattr(self, name).astype(np.float64) for name in COLUMNS])

    @classmethod
    def of(
        cls,
        first: int,
        statistics: Matrix,
        limits: Matrix,
        severity: Vector,
        drift: Vector,
        alarm: NDArray[np.bool_],
        since: NDArray[np.int64],
    ) -> Verdicts:
        """Verdicts on rows that follow each other; statistics and limits have a column for each (T, 6)."""
        numbers = np.arange(first, first + len(statistics))
        columns: Any = (numbers, *statistics.T, *limits.T, severity, drift, alarm, since)
        return cls(*columns)

    @classmethod
    def joined(cls, parts: list[Verdicts]) -> Verdicts:
        """Verdicts that follow each other, as one."""
        if not parts:
            nothing, none = np.zeros(0), np.zeros((0, len(STATISTICS)))
            return cls.of(0, none, none, nothing, nothing, nothing.astype(bool), nothing.astype(np.int64))
        return parts[0] if len(parts) == 1 else cls(*map(np.concatenate, zip(*parts, strict=True)))


@dataclass
class Counts(Marked):
    """Numbers of rows that came, by what became of them."""

    LEARNT = ("came", "unjudged", "alarmed", "alarms", "accepted", "held", "elsewhere", "capped")

    came: int = 0
    unjudged: int = 0
    """Rows before there was a limit to judge them by, or that could not be judged because of gaps."""
    alarmed: int = 0
    alarms: int = 0
    """Number of alarms that began to count."""
    accepted: int = 0
    """Number of times that a new normal was accepted."""
    held: int = 0
    """Rows that were not learnt, as rows of a fault."""
    elsewhere: int = 0
    """Rows that were not learnt because they fit a normal of before."""
    capped: int = 0
    """Rows that exceeded a limit, and were learnt with less weight."""


class Findings(NamedTuple):
    """Verdicts, alarms and rank changes from judging and learning rows."""

    verdicts: Verdicts
    alarms: list[Alarm]
    """Alarms that began to count, or ended."""
    rank_changes: list[RankChange]
    contributors: list[Contributors]
    """Inputs to blame for each row, if asked for; none where it does not alarm."""
    notices: list[Notice]
    """Drifts and inputs out of order that began or ended."""
