"""A monitor for each of many keyed streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..array_types import as_numbers
from ..model.stream_model import plain, rebuilt_parameters
from ..model.whole_calls import reverting, whole_call
from ..monitoring import Alarm, Contributors, MonitoredModel, MonitorSettings, Notice, Verdicts
from ..monitoring.shared_limits import SharedLimits, next_renewal
from .bank import Bank
from .bank_file import Key, PathLike, damaged
from .keyed_models import KeyedModels, factorized, grouped
from .store import Entry, Store

Answer = TypeVar("Answer")
Judge = Callable[[Key, MonitoredModel, NDArray[np.intp]], Answer]


class MonitorBank(KeyedModels):
    """One monitor per key, which learns its rows as if they came alone; limits are shared at first.

    A new key is watched from its twentieth row on, by limits that rows of other keys have shown at the same
    age, as far as there were some; as its own rows come, they take over (`monitoring.shared_limits`). What
    other keys have shown takes part at fixed numbers of rows of all keys: verdicts depend on the order of
    rows in the stream, but not on how it is cut into calls, nor on what is in memory and what in the file.

    At most ``max_models`` monitors are held in memory; those that were idle for longest wait in the file, and
    come back when rows for them do.

    Parameters
    ----------
    path
        The file of the bank. If it exists, the bank goes on from what was last saved in it, with the settings
        and parameters saved there. None: no file.
    settings
        Settings of the monitors.
    features
        Names of the inputs, for the blame.
    share_limits
        False: limits come from the rows of the key alone, as if they were the only ones.
    max_models
        Most monitors held in memory between two calls; None: all of them.
    fresh
        Begin anew: what is in the file stays until the first `save`, which replaces it.
    **parameters
        Parameters of the models, as of `OnlineAdaptivePCA`.

    Attributes
    ----------
    on_rank_change, on_alarm, on_notice
        Called with the key and the `RankChange`, the `Alarm` or the `Notice`, after the rows of that key.
    position_
        The position in the source that the last `save` was given.
    alarms
        Alarms that began to count, of all keys.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bank, pumps = MonitorBank(), np.tile(["north", "south"], 1000)
    >>> rows = rng.standard_normal((2000, 5)) * [4.0, 3.0, 1.0, 1.0, 1.0]
    >>> rows[-1, 4] = 50.0
    >>> verdicts, contributors = bank.explain_many(pumps, rows)
    >>> bool(verdicts.alarm[-1]), contributors[-1][0][0], bank.model("south").alarms_[-1].began
    (True, 'x4', 999)
    """

    def __init__(
        self,
        path: PathLike | Store | None = None,
        *,
        settings: MonitorSettings | None = None,
        features: Sequence[str] | None = None,
        share_limits: bool = True,
        max_models: int | None = None,
        fresh: bool = False,
        **parameters: Any,
    ) -> None:
        new = MonitoredModel(settings, **parameters)  # refuses unknown names
        super().__init__(path, max_models, fresh)
        self.settings, self.parameters = new.settings, new.parameters
        self.features = None if features is None else list(features)
        self.shared = SharedLimits() if share_limits else None
        """Evidence that the rows of all keys have given; None: each key is judged by its own."""
        self.on_alarm: Callable[[Key, Alarm], object] | None = None
        self.on_notice: Callable[[Key, Notice], object] | None = None
        self.alarms: int = self.store.fact("alarms")
        self._width: int | None = self.store.fact("width")
        try:
            if len(self):
                self._take_over()
        except BaseException:
            self.store.close()
            raise
        self._monitors: dict[Key, MonitoredModel] = {}
        """Those in memory, the longest idle first."""

    @property
    def width(self) -> int | None:
        """Numbers per row; None before the first row."""
        return self._width

    def judge_many(
        self, keys: Sequence[Key] | NDArray[Any], rows: ArrayLike, timestamps: Any = None
    ) -> Verdicts:
        """Judge rows in order, each by the monitor of its key, and learn those that do not alarm.

        Row numbers in the verdicts are those of the key: its rows count from 0.

        Parameters
        ----------
        keys
            Whose rows they are: strings or whole numbers.
        rows
            One row per key; the rows of one key in the order in which they came.
        timestamps
            When each row came, if the half-life is a duration, as of `OnlineAdaptivePCA.partial_fit`.
        """
        return self.explain_many(keys, rows, timestamps)[0]

    def explain_many(
        self, keys: Sequence[Key] | NDArray[Any], rows: ArrayLike, timestamps: Any = None
    ) -> tuple[Verdicts, list[Contributors]]:
        """`judge_many`, and for each row that alarms the inputs to blame, with their shares."""
        X, times = np.asarray(as_numbers(rows)), None if timestamps is None else np.asarray(timestamps)
        parts = self.each(
            keys,
            X,
            lambda key, monitor, own: monitor.explain_many(X[own], None if times is None else times[own]),
        )
        order = np.argsort(np.concatenate([*(own for own, _ in parts), np.zeros(0, np.intp)]))
        columns: Iterable[Any] = Verdicts.joined([verdicts for _, (verdicts, _) in parts])
        blamed = [one for _, (_, contributors) in parts for one in contributors]
        return Verdicts(*(column[order] for column in columns)), [blamed[i] for i in order]

    @whole_call
    def each(
        self, keys: Sequence[Key] | NDArray[Any], rows: NDArray[Any], judge: Judge[Answer]
    ) -> list[tuple[NDArray[np.intp], Answer]]:
        """Let ``judge`` put the rows of each key to the monitor of the key; returns places and answers.

        Parameters
        ----------
        keys, rows
            As of `judge_many`.
        judge
            Called for each key with the key, its monitor and the places of its rows; again for the next ones
            where shared limits are renewed between them. The ``position_`` that it gives a monitor is saved
            with the monitor.
        """
        names, codes = factorized(keys)
        if rows.ndim != 2 or len(codes) != len(rows) or self.width not in (None, rows.shape[1]):
            width = "" if self.width is None else f" of {self.width} numbers"
            raise ValueError(
                f"expected a table of rows{width} and one key per row, got shape {rows.shape} and "
                f"{len(codes)} keys"
            )
        new = {key for key in names if key not in self}
        counts = {"samples": self.samples, "alarms": self.alarms, "_width": self.width}
        self._undo.append(lambda: vars(self).update(counts))
        if self.shared is not None:
            self._undo.append(partial(self.shared.revert, self.shared.mark()))
        begun, answers = set[Key](), []
        for part, renews in self._parts(len(rows)):
            for key, places in grouped(names, codes[part]).items():
                if not len(places):
                    continue
                self.store.go_on()
                monitor, own = self._monitor(key), places + part.start
                # Before each part: a mark is good until the next one.
                begins = key in new and key not in begun
                self._undo.append(partial(self._monitors.pop, key, None) if begins else _mark(monitor))
                begun.add(key)
                if monitor.monitor is not None:
                    monitor.monitor.share()
                alarms = _alarms(monitor)
                answers.append((own, judge(key, monitor, own)))
                self.alarms += _alarms(monitor) - alarms
            if renews and self.shared is not None:
                self.shared.renew()
        self.samples, self._width = self.samples + len(rows), rows.shape[1]
        self._learnt(names)
        self._evict()
        return answers

    def _parts(self, rows: int) -> Iterator[tuple[slice, bool]]:
        """Cut this number of rows where shared limits are renewed; True behind parts where they are."""
        start = 0
        while start < rows:
            due = next_renewal(self.samples + start) - self.samples if self.shared is not None else rows + 1
            stop = min(due, rows)
            yield slice(start, stop), stop == due
            start = stop

    def model(self, key: Key) -> MonitoredModel:
        """The monitor of this key as a monitor of its own; a copy. Its position is the bank's.

        What other keys have shown by now stays with it.
        """
        model = self._callers.read(lambda: self._copied(key))
        model.position_ = self.position_
        return model

    def position_of(self, key: Key) -> Any:
        """The ``position_`` that a ``judge`` of `each` gave the monitor of this key last."""
        return self._callers.read(lambda: self._positioned(key))

    def _positioned(self, key: Key) -> Any:
        held = self._monitors.get(key)
        model = self._restored(key) if held is None else held
        return None if model is None else model.position_

    def _copied(self, key: Key) -> MonitoredModel:
        held = key in self._monitors
        model = MonitoredModel.from_bytes(self._packed(key)[1]) if held else self._restored(key)
        if model is None:
            raise KeyError(f"there is no monitor with the key {key!r}")
        monitor = model.monitor
        if monitor is not None:
            monitor.shared = self.shared
            monitor.share()
            monitor.shared = None
        return model

    def _monitor(self, key: Key) -> MonitoredModel:
        """The monitor of this key itself: from memory, from the file, or a new one."""
        monitor = self._monitors.pop(key, None)
        if monitor is None:
            monitor = self._restored(key)
            if monitor is None:
                monitor = MonitoredModel(self.settings, **self.parameters)
                monitor.features = list(self.features or [])
            monitor.shared = self.shared
            if monitor.monitor is not None:
                monitor.monitor.shared = self.shared
            monitor.on_rank_change = lambda change: self._tell(self.on_rank_change, key, change)
            monitor.on_alarm = lambda alarm: self._tell(self.on_alarm, key, alarm)
            monitor.on_notice = lambda notice: self._tell(self.on_notice, key, notice)
        self._monitors[key] = monitor  # behind all that are idle for longer
        return monitor

    def _restored(self, key: Key) -> MonitoredModel | None:
        """The monitor of a key as the file has it; None if it has none."""
        found = self._state(key)
        model = None if found is None else MonitoredModel.from_bytes(*found)
        if model is not None and model.n_features_in_ != self.width:
            damaged(self.store.path, f"the monitor with the key {key!r} is of another width")
        return model

    def _evict(self) -> None:
        """Put the longest idle monitors into the file."""
        most = len(self._monitors) if self.max_models is None else self.max_models
        idle = list(islice(self._monitors, max(len(self._monitors) - most, 0)))
        if not idle:
            return
        held = {key: self._monitors[key] for key in idle}
        self._undo.append(lambda: self._monitors.update(held))
        self._put_away(idle)
        for key in idle:
            del self._monitors[key]

    def _facts(self) -> dict[str, Any]:
        return {
            "monitors": asdict(self.settings),
            "parameters": plain(self.parameters, 0),
            "features": self.features,
            "alarms": self.alarms,
            "shared": None if self.shared is None else self.shared.document(),
        }

    def _packed(self, key: Key) -> tuple[Entry, bytes]:
        model = self._monitors[key]
        assert model.monitor is not None
        # The rank of the last look, as of a `Bank`: a reading, which counts rows that wait, takes 1 ms.
        entry = Entry(key, model.monitor.counts.came, model.fitted().decision.rank)
        limits = model.monitor.limits
        prior = limits.prior
        if not model.monitor.frozen:
            limits.prior = None  # the bank has it, for all
        try:
            return entry, model.to_bytes(position=model.position_)
        finally:
            limits.prior = prior

    def _rank(self, key: Key) -> int:
        return self._monitors[key].fitted().decision.rank

    def _take_over(self) -> None:
        """Settings, parameters and names that were saved in the file."""
        settings = self.store.fact("monitors")
        if settings is None:
            raise ValueError(f"{self.store.path!r} holds models without monitors: open it as a Bank")
        self.settings = self._of_file(lambda: MonitorSettings(**settings))
        self.parameters = self._of_file(lambda: rebuilt_parameters(self.store.fact("parameters")))
        self.features = self.store.fact("features") or self.features
        shared = self.store.fact("shared")
        self.shared = None if shared is None else self._of_file(lambda: SharedLimits.from_document(shared))
        if self.features is not None and len(self.features) != self.width:
            damaged(self.store.path, f"it has {len(self.features)} names for {self.width} inputs")

    @staticmethod
    def _tell(listener: Callable[[Key, Any], object] | None, key: Key, event: object) -> None:
        if listener is not None:
            listener(key, event)


def _alarms(monitor: MonitoredModel) -> int:
    return 0 if monitor.monitor is None else monitor.monitor.counts.alarms


def _mark(monitor: MonitoredModel) -> Callable[[], None]:
    """Mark a monitor that has seen rows; returns the way back."""
    return reverting(monitor, monitor.monitor)


def open_bank(path: PathLike | Store) -> Bank | MonitorBank:
    """The bank in a file: of monitors, or of models."""
    store = path if isinstance(path, Store) else Store(path)
    return Bank(store) if store.fact("monitors") is None else MonitorBank(store)
