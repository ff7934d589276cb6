"""What a job tells those who want to know: what happens while it runs, and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..io.sources import Batch
    from ..model import RankChange
    from ..monitoring import Verdicts
    from .alarms import AlarmEvent
    from .learner import Model


class Watcher:
    """Is told what happens; a subclass overrides what it wants to know."""

    def learnt(self, model: Model, batch: Batch) -> None:
        """A batch has been learnt from."""

    def rank_changed(self, change: RankChange) -> None:
        """The rank has changed."""

    def judged(self, verdicts: Verdicts) -> None:
        """Rows of a batch have been judged, by a job that watches."""

    def alarmed(self, event: AlarmEvent) -> None:
        """An alarm began to count, or ended."""

    def saved(self, samples: int) -> None:
        """The model has been saved after so many samples."""

    def skipped(self, reason: str) -> None:
        """A row was left out."""


class Outcome(NamedTuple):
    """How a job ended."""

    rows: int
    """Rows read by this job."""
    seconds: float
    signal: int | None
    """What stopped it, if it did not come to the end."""
    learnt: int
    """Rows learnt from: fewer than were read where values are missing and ``missing`` says to skip."""
