"""Results of watching rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..learners.marks import Marked
from ..model import RankChange
from .events import Alarm, Contributors
from .verdicts import Verdicts


@dataclass
class Counts(Marked):
    """Numbers of rows that came, by what became of them."""

    LEARNT = ("came", "unjudged", "alarmed", "alarms", "accepted")

    came: int = 0
    unjudged: int = 0
    """Rows before there was a limit to judge them by, or that could not be judged because of gaps."""
    alarmed: int = 0
    alarms: int = 0
    """Number of alarms that began to count."""
    accepted: int = 0
    """Number of times that a new normal was accepted."""


class Findings(NamedTuple):
    """Verdicts, alarms and rank changes from judging and learning rows."""

    verdicts: Verdicts
    alarms: list[Alarm]
    """Alarms that began to count, or ended."""
    rank_changes: list[RankChange]
    contributors: list[Contributors]
    """Inputs to blame for each row, if asked for; none where it does not alarm."""
