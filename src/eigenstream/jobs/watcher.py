"""The listener of a job, and the outcome of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..io.sources import Batch
    from ..keyed.store import Key
    from ..model import RankChange
    from ..monitoring import Verdicts
    from .alarms import AlarmEvent
    from .stage import Model


class Watcher:
    """Listens to a job; a subclass overrides the methods for the events it wants to hear of."""

    def learnt(self, model: Model, batch: Batch) -> None:
        """A batch has been learnt from."""

    def rank_changed(self, change: RankChange, key: Key | None = None) -> None:
        """The rank has changed; with one model per key, of the model with this key."""

    def judged(self, verdicts: Verdicts) -> None:
        """Rows of a batch have been judged, by a job that watches."""

    def alarmed(self, event: AlarmEvent) -> None:
        """An alarm began to count, or ended."""

    def saved(self, samples: int) -> None:
        """The model has been saved, with this number of samples."""

    def skipped(self, reason: str) -> None:
        """A row was left out."""


class Outcome(NamedTuple):
    """The end of a job."""

    rows: int
    """Rows read by this job."""
    seconds: float
    signal: int | None
    """The signal that stopped it; None if it reached the end."""
    learnt: int
    """Rows learnt from: fewer than were read where values are missing and ``missing`` says to skip."""
