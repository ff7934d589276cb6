"""The stage of a job that a batch goes through: its rows are scored or judged, then learnt."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import numpy as np

from ..io.durations import is_duration
from ..io.sinks import Layout
from ..keyed import Bank
from ..model import StreamModel
from .watcher import AlarmEvent, NoticeEvent, Numbering

if TYPE_CHECKING:
    from ..estimators import OnlineAdaptivePCA
    from ..io.sinks.sink import Texts
    from ..io.sources import Batch, Floats
    from ..monitoring import Verdicts
    from .record import FleetStart, Request


Model = Union["StreamModel", "OnlineAdaptivePCA"]
"""A model that a job runs on. The first needs no scikit-learn, whose import takes longer than a small job."""


class Said(NamedTuple):
    """The output for the rows of a batch, besides their numbers."""

    numbers: Floats
    texts: Texts | None


class Stage(ABC):
    """Abstract: scores or judges rows in order, each before its model learns from it."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.events: list[AlarmEvent] = []
        """Alarms of the last batch that began to count or ended, in order."""
        self.notices: list[NoticeEvent] = []
        """Drifts and inputs out of order that began or ended."""
        self.verdicts: Verdicts | None = None
        """Verdicts on the last batch, of a model that watches."""
        self.numbering = Numbering()
        self.start: FleetStart | None = None
        """Of a bank: its counts when this source began."""

    @property
    def width(self) -> int | None:
        """Numbers per row; None before the first."""
        return int(self.model.n_features_in_) if self.has_learnt else None

    @property
    def samples(self) -> int:
        """Rows learnt from."""
        return self.model.n_samples_seen_ if self.has_learnt else 0

    @property
    def came(self) -> int:
        """Rows that came, as pictures count them."""
        return self.samples

    @property
    def needs_times(self) -> bool:
        """True if the half-life is a duration, so that every row needs its time."""
        model = self.model  # an estimator has parameters as attributes, everything else in a mapping
        return is_duration(model.parameters["half_life"] if hasattr(model, "parameters") else model.half_life)

    @property
    def has_learnt(self) -> bool:
        return has_learnt(self.model)

    @abstractmethod
    def layout(self, kept: Sequence[str], residuals: bool) -> Layout:
        """The columns of the output, once the first row has been learnt."""

    @abstractmethod
    def learn(self, batch: Batch, *, scored: bool, residuals: bool) -> Said | None:
        """Learn from rows that the source has checked; returns the output for them, if ``scored``."""

    def save(self, path: Path, position: dict[str, Any]) -> None:
        """Write the model and its position to a file."""
        self.model.save(path, position=position)

    def seconds_to_save(self) -> float:
        """Time that a save is expected to take, as far as it can be known before."""
        return 0.0

    @contextmanager
    def ended_by(self, asked: Callable[[], bool]) -> Iterator[None]:
        """Within this, a call that takes long ends with `CallInterrupted` once ``asked`` answers True."""
        yield

    def _times(self, batch: Batch) -> Any:
        return batch.times if self.needs_times else None

    @contextmanager
    def announcing(self, announce: Callable[..., object]) -> Iterator[None]:
        """Within this, ``announce`` is called for each change of the rank, after the user's own callback.

        With one model per key it is called with the change and the key.
        """
        own = self.model.on_rank_change

        def both(*said: Any) -> None:
            if own is not None:
                own(*said)
            announce(*reversed(said))

        self.model.on_rank_change = both
        try:
            yield
        finally:
            self.model.on_rank_change = own


class Scoring(Stage):
    """Scores each row."""

    def layout(self, kept: Sequence[str], residuals: bool) -> Layout:
        model = self.model
        return Layout(model.max_components_ + residuals, model.components_.dtype, kept, residuals)

    def learn(self, batch: Batch, *, scored: bool, residuals: bool) -> Said | None:
        times = self._times(batch)
        if not scored:
            self.model.partial_fit(batch.rows, timestamps=times)
            return None
        # There is no residual before the model starts, and so no score, rather than one of zero.
        starts = isinstance(self.model, StreamModel) and not self.model.has_started
        scores = self.model.learn_many(
            batch.rows, times, **({"residuals": True} if residuals or starts else {})
        )
        if starts:
            scores[np.isnan(scores[:, -1])] = np.nan
        return Said(scores[:, :-1] if starts and not residuals else scores, batch.texts)


class KeyedStage(Stage):
    """Abstract: a bank of models, each for the rows of one key."""

    start: FleetStart

    def __init__(self, bank: Any, request: Request, start: FleetStart | None) -> None:
        super().__init__(bank)
        self.request = request
        alarms = getattr(bank, "alarms", 0)
        new: FleetStart = {"calls": bank.calls, "keys": len(bank), "alarms": alarms, "alarmed": False}
        self.start = new if start is None else start

    @property
    def width(self) -> int | None:
        return int(self.model.width) if self.has_learnt else None

    @property
    def samples(self) -> int:
        return int(self.model.samples)

    @property
    def has_learnt(self) -> bool:
        return self.model.width is not None

    def counts(self) -> dict[str, int]:
        """Keys of the bank, those new in this source, and those known before that have no row in it."""
        keys, start = len(self.model), self.start
        vanished = keys - self.model.used_since(start["calls"])
        return {"keys": keys, "new_keys": keys - start["keys"], "vanished_keys": vanished}

    def save(self, path: Path, position: dict[str, Any]) -> None:
        self.model.save(position)

    def seconds_to_save(self) -> float:
        return float(self.model.seconds_to_save())

    @contextmanager
    def ended_by(self, asked: Callable[[], bool]) -> Iterator[None]:
        self.model.interrupted = asked
        try:
            yield
        finally:
            self.model.interrupted = None

    def _keys(self, batch: Batch) -> list[str]:
        """The key of each row; ValueError if one is empty."""
        keys = batch.keys
        assert keys is not None
        if "" in keys:
            raise ValueError(f"row {batch.numbers[keys.index('')]} has no key: fill in the column of keys")
        return keys


class KeyedScoring(KeyedStage):
    """Scores each row by the model of its key."""

    model: Bank

    def layout(self, kept: Sequence[str], residuals: bool) -> Layout:
        plan = self.model.plan
        assert plan is not None
        return Layout(plan.k, plan.dtype, kept)

    def learn(self, batch: Batch, *, scored: bool, residuals: bool) -> Said | None:
        scores = self.model.learn_many(self._keys(batch), batch.rows, self._times(batch), blank=scored)
        return Said(scores, batch.texts) if scored else None


def has_learnt(model: Model) -> bool:
    """True if a model has seen its first row."""
    return model.is_fitted if isinstance(model, StreamModel) else model.__sklearn_is_fitted__()
