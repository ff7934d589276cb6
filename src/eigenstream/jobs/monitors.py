"""One monitor per key: a column of the source says whose a row is, and each key is judged by its own rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..io.durations import is_duration
from ..io.sinks import Layout
from ..keyed import Bank, Entry, Store
from ..keyed.grouping import factorized, grouped
from ..keyed.shelf import Shelf
from ..keyed.store import Key
from ..monitoring import COLUMNS, MonitoredModel
from .judge import Judge, layout, model_for
from .keyed import keys_of
from .learner import Learner, Said

if TYPE_CHECKING:
    from ..io.sources import Batch
    from ..model import RankChange
    from .record import Request


class Monitors:
    """Judges by key, the longest idle first: as many as may be in memory, the others in the file of a bank.

    Parameters
    ----------
    path
        The file. If it exists, they go on from what was last saved in it. None: nowhere.
    fresh
        Begin anew: what is in the file stays until the first `save`, which replaces it.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, fresh: bool = False) -> None:
        self.store = Store(path if path is not None else ":memory:", fresh=fresh)
        self.max_models: int | None = None
        """How many are held in memory between two batches; None: all of them."""
        self.on_rank_change: Callable[[Key, RankChange], object] | None = None
        self.position_: Any = self.store.fact("position")
        self.samples: int = self.store.fact("samples") or 0
        """Rows that have come, of all keys."""
        self.alarms: int = self.store.fact("alarms") or 0
        """How many alarms began to count, of all keys."""
        self.width: int | None = self.store.fact("width")
        self._judges: dict[Key, Judge] = {}
        self._shelf = Shelf(self.store, self._packed)

    def __len__(self) -> int:
        return len(self._shelf)

    def model(self, key: Key) -> MonitoredModel:
        """What was last saved of the monitor with this key. Its position is that of all of them."""
        model, _ = self._stored(key)
        model.position_ = self.position_
        return model

    def judge(self, key: Key, request: Request, names: list[str] | None) -> Judge:
        """The judge of this key: from memory, from the file, or a new one."""
        judge = self._judges.pop(key, None)
        if judge is None:
            known = key in self._shelf
            model, numbering = self._stored(key) if known else (model_for(request), [])
            assert isinstance(model, MonitoredModel)
            judge = Judge(model, request.parameters, names, numbering)
        self._judges[key] = judge  # behind all that are idle for longer
        return judge

    def judged(self, keys: Sequence[Key], rows: int, alarms: int) -> None:
        """So many rows of these keys have been judged: those that were idle for longest may leave memory."""
        self.samples, self.alarms = self.samples + rows, self.alarms + alarms
        self._shelf.learnt(keys)
        if self.max_models is not None:
            idle = list(islice(self._judges, max(len(self._judges) - self.max_models, 0)))
            self._shelf.put_away(idle)
            for key in idle:
                del self._judges[key]

    def save(self, position: Any) -> None:
        """Write everything to the file, and a position in the source with it: all or nothing."""
        self.position_ = position
        facts = {"monitors": True, "position": position, "width": self.width}
        self._shelf.save(facts | {"samples": self.samples, "alarms": self.alarms})

    def close(self) -> None:
        """Let go of the file; what was not saved is gone."""
        self.store.close()

    def _packed(self, key: Key) -> tuple[Entry, bytes]:
        judge = self._judges[key]
        entry = Entry(key, judge.came, judge.model.n_components_)
        return entry, judge.model.to_bytes(position=judge.numbering.breaks)

    def _stored(self, key: Key) -> tuple[MonitoredModel, list[list[int]]]:
        state = self.store.state(key)
        if state is None:
            raise KeyError(f"there is no monitor with the key {key!r}")
        model = MonitoredModel.from_bytes(state, str(key))
        return model, model.position_


class KeyedJudge(Learner):
    """Judges each row by the monitor of its key, before that learns it."""

    def __init__(self, monitors: Monitors, request: Request, names: list[str] | None) -> None:
        super().__init__(monitors)
        self.monitors, self.request, self.names = monitors, request, names

    @property
    def width(self) -> int | None:
        return self.monitors.width

    @property
    def samples(self) -> int:
        return self.monitors.samples

    @property
    def has_learnt(self) -> bool:
        return self.monitors.width is not None

    @property
    def needs_times(self) -> bool:
        return is_duration(self.request.parameters.get("half_life"))

    def layout(self, kept: Sequence[str], residuals: bool) -> Layout:
        return layout(kept)

    def learn(self, batch: Batch, *, scored: bool, residuals: bool) -> Said | None:
        assert batch.texts is not None
        own, events = grouped(*factorized(keys_of(batch, self.request))), []
        numbers = np.zeros((len(batch.rows), len(COLUMNS)))
        texts = np.empty((len(batch.rows), batch.texts.shape[1] + 1), dtype=object)
        for key, rows in own.items():
            judge = self.monitors.judge(key, self.request, self.names)
            with judge.announcing(lambda change, key=key: self._rank_changed(key, change)):  # type: ignore[misc]
                said = judge.learn(_part(batch, rows), scored=scored, residuals=False)
            if said is not None:
                numbers[rows], texts[rows] = said
            events += [event._replace(key=key) for event in judge.events]
        self.events = sorted(events, key=lambda event: event.row)
        self.monitors.width = batch.rows.shape[1]
        self.monitors.judged(list(own), len(batch.rows), sum(event.state == "began" for event in events))
        return Said(numbers, texts) if scored else None

    def save(self, path: Path, position: dict[str, Any]) -> None:
        self.monitors.save(position)

    @contextmanager
    def announcing(self, announce: Callable[[RankChange], object]) -> Iterator[None]:
        yield

    def _rank_changed(self, key: Key, change: RankChange) -> None:
        if self.monitors.on_rank_change is not None:
            self.monitors.on_rank_change(key, change)


def _part(batch: Batch, rows: Any) -> Batch:
    """Some rows of a batch."""
    return replace(
        batch,
        rows=batch.rows[rows],
        numbers=batch.numbers[rows],
        texts=None if batch.texts is None else batch.texts[rows],
        times=None if batch.times is None else batch.times[rows],
    )


def opened(path: str | os.PathLike[str]) -> Bank | Monitors:
    """What the file of a bank holds: models, or monitors."""
    store = Store(path)
    watches = store.fact("monitors")
    store.close()
    return Monitors(path) if watches else Bank(path)
