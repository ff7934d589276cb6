"""The overview of a fleet, kept up to date by its job: severities where it watches, ranks where it learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..keyed import Bank, MonitorBank
from ..keyed.overview import Overview
from .watcher import AlarmEvent, Watcher, in_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..io.sources import Batch
    from ..keyed.bank_file import Key
    from ..model import RankChange
    from ..monitoring import Alarm


class FleetOverview(Watcher):
    """Hears of all keys of a job; `overview` has them at a glance."""

    def __init__(self, overview: Overview) -> None:
        self.overview = overview
        self._ranks: dict[Key, int] = {}

    @classmethod
    def over(cls, bank: MonitorBank | Bank) -> FleetOverview:
        """An overview of the keys that a bank knows, and of those to come."""
        keys = sorted(bank.keys(), key=str)
        found = cls(Overview(keys, "severity" if isinstance(bank, MonitorBank) else "rank"))
        found._ranks = {key: bank.store.models[key].rank for key in keys if key in bank.store.models}
        return found

    def learnt(self, model: Any, batch: Batch) -> None:
        if self.overview.of == "rank" and batch.keys is not None:
            ranks = [self._ranks.get(key, 0) for key in batch.keys]
            self.overview.take_in(batch.keys, np.array(ranks))

    def rank_changed(self, change: RankChange, key: Key | None = None) -> None:
        if self.overview.of == "rank" and key is not None:
            self._ranks[key] = change.after
            self.overview.changed(key, _in_words(change))

    def judged_keys(
        self, keys: Sequence[Key], severity: NDArray[np.float64], on: Mapping[Key, Alarm]
    ) -> None:
        self.overview.take_in(keys, severity)
        for key, alarm in on.items():
            self.overview.goes_on(key, alarm.began, in_words(alarm.contributors))

    def alarmed(self, event: AlarmEvent) -> None:
        if event.key is not None and event.state != "lasts":
            self.overview.alarmed(event.key, event.state == "began", in_words(event.alarm.contributors))


def remembered(bank: MonitorBank | Bank) -> Overview:
    """An overview of a bank from what its models remember of their whole streams."""
    watched = isinstance(bank, MonitorBank)
    keys = sorted(bank.keys(), key=str)
    overview = Overview(keys, "severity" if watched else "rank")
    for key in keys:
        model: Any = bank.model(key)
        past = model.control_history_.severity if watched else model.spectrum_history_.rank
        overview.take_in([key] * len(past), past)
        for alarm in model.alarms_ if watched else ():
            overview.alarmed(key, True, in_words(alarm.contributors))
            if alarm.ended is not None:
                overview.alarmed(key, False, in_words(alarm.contributors))
        for change in () if watched else model.rank_history_:
            overview.changed(key, _in_words(change))
    return overview


def _in_words(change: RankChange) -> str:
    return f"{change.before} \N{RIGHTWARDS ARROW} {change.after} at row {change.sample:,}"
