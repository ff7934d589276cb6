"""The board of a fleet: all keys at a glance, and the models of those that somebody looks at."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from .board import Board, Desk, Pairs, Snapshot, first_rows

if TYPE_CHECKING:
    from ..keyed import Bank, MonitorBank
    from ..keyed.bank_file import Key
    from ..keyed.overview import KeysAtOnce, Overview
    from ..model.expectation import Trace


TracesOf = Callable[["Key", Any], "tuple[Trace, ...]"]
"""Function from a key and its monitor to the traces of the inputs to blame around its alarms."""
PlacesOf = Callable[["Key", Any], "tuple[Pairs, Mapping[int, int]]"]
"""Function from a key and its monitor to the times of its rows, and the source rows of its alarms."""


class FleetSnapshot(NamedTuple):
    """The content of the page of a fleet. Nobody writes to its arrays."""

    version: int
    glance: KeysAtOnce
    samples: int
    """Rows of all keys that have come."""
    rows_per_second: float
    lag: float
    """NaN if unknown."""
    chosen: dict[Key, Snapshot]
    """The models or monitors that somebody looks at, by key."""


class FleetBoard(Board):
    """Looks at a bank now and then; of the keys that are `wanted`, also at their models."""

    latest: Any  # a FleetSnapshot

    def __init__(self, desk: Desk | None = None) -> None:
        super().__init__(desk)
        self.wanted: frozenset[Key] = frozenset()
        """Keys whose charts somebody looks at; the courier sets them."""
        self._boards: dict[Key, Board] = {}

    def update_fleet(
        self,
        bank: Bank | MonitorBank,
        overview: Overview,
        rows_per_second: float,
        lag: float | None,
        traces: TracesOf | None = None,
        places: PlacesOf | None = None,
    ) -> None:
        """Note the bank after a batch; returns at once unless a look is due."""
        seen: Any = bank, overview, rows_per_second, math.nan if lag is None else lag, traces, places
        self._seen = seen
        self._touched = monotonic()
        if self._touched >= self._due:
            self.look()

    def want(self, keys: list[Key]) -> None:
        """Show the charts of these keys, of those that somebody has clicked."""
        self.wanted = frozenset(keys)
        self._due = -math.inf

    def _listed(self) -> dict[str | None, list[int]]:
        return {key: first_rows(snapshot) for key, snapshot in self.latest.chosen.items()}

    def _has_news(self) -> bool:
        seen: Any = self._seen
        bank, missing = seen[0], self.wanted - self.latest.chosen.keys()
        return bool(bank.samples != self.latest.samples or any(key in bank for key in missing))

    def look_if_quiet(self) -> None:
        if self._seen is not None and self.latest is not None and self.wanted - self.latest.chosen.keys():
            self._touched = min(self._touched, self._due)  # who has clicked does not want to wait
        super().look_if_quiet()

    def _snapshot(self, *seen: Any) -> Any:
        bank, overview, rows_per_second, lag, traces, places = seen
        glance = overview.glance()
        rows = dict(zip(glance.keys, glance.rows.tolist(), strict=True))
        self._boards = {key: board for key, board in self._boards.items() if key in self.wanted}
        chosen = {}
        for key in self.wanted:
            if key not in bank:
                continue
            board = self._boards.setdefault(key, Board())
            if board.latest is None or board.looked_at != rows.get(key):
                model = bank.model(key)
                times, source_rows = ((), {}) if places is None else places(key, model)
                around = () if traces is None else traces(key, model)
                board.update(model, math.nan, None, times, around, source_rows)
                board.look()
                board.looked_at = rows.get(key)
            if board.latest is not None:
                chosen[key] = board.latest
        version = 1 if self.latest is None else self.latest.version + 1
        return FleetSnapshot(version, glance, bank.samples, rows_per_second, lag, chosen)
