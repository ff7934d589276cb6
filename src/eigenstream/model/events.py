"""Changes of rank, and counts of the rows by what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..learners.marks import Marked


class RankChange(NamedTuple):
    """The rank went from ``before`` to ``after`` at sample number ``sample``."""

    sample: int
    before: int
    after: int


@dataclass
class Tally(Marked):
    """Counts of the rows that came, by what became of them."""

    LEARNT = ("learnt", "imputed", "skipped", "capped")
    learnt: int = 0
    imputed: int = 0
    """Rows learnt with some entries filled in; part of ``learnt``."""
    skipped: int = 0
    """Rows left out because entries were missing; with lags, also those of their predecessors."""
    capped: int = 0
    """Rows learnt with a smaller pull because they were far off; part of ``learnt``."""
