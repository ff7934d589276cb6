"""What comes of watching rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..model import RankChange
from .events import Alarm, Contributors
from .verdicts import Verdicts


@dataclass
class Counts:
    """What became of the rows that came."""

    came: int = 0
    unjudged: int = 0
    """Rows before there was a limit to judge them by, or that could not be judged because of gaps."""
    alarmed: int = 0
    alarms: int = 0
    """How many alarms began to count."""
    accepted: int = 0
    """How often a new normal was accepted."""


class Findings(NamedTuple):
    """What came of judging and learning rows."""

    verdicts: Verdicts
    alarms: list[Alarm]
    """Alarms that began to count, or ended."""
    rank_changes: list[RankChange]
    contributors: list[Contributors]
    """For each row the inputs to blame, if asked for; nothing where it does not alarm."""
