"""The overview of a fleet that is watched, kept up to date by its job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..keyed.overview import Overview
from .watcher import AlarmEvent, Watcher, in_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..keyed.bank_file import Key


class FleetOverview(Watcher):
    """Hears of all keys of a job that watches; `overview` has them at a glance."""

    def __init__(self, overview: Overview) -> None:
        self.overview = overview

    def judged_keys(self, keys: Sequence[Key], severity: NDArray[np.float64]) -> None:
        self.overview.judged(keys, severity)

    def alarmed(self, event: AlarmEvent) -> None:
        if event.key is not None:
            self.overview.alarmed(event.key, event.state == "began", in_words(event.alarm.contributors))
