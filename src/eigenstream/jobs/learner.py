"""All that a job asks of its model, in one place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from ..io.durations import is_duration
from ..io.sinks import Layout
from ..model import StreamModel
from .alarms import AlarmEvent, Numbering

if TYPE_CHECKING:
    from ..estimators import OnlineAdaptivePCA
    from ..io.sinks.sink import Texts
    from ..io.sources import Batch, Floats
    from ..model import RankChange
    from ..monitoring import Verdicts


Model = Union["StreamModel", "OnlineAdaptivePCA"]
"""What a job can run on. The first needs no scikit-learn, whose import takes longer than a small job."""


class Said(NamedTuple):
    """What is written of each row of a batch, besides its number."""

    numbers: Floats
    texts: Texts | None


class Learner(ABC):
    """Abstract: a model that learns rows in order, and says something of each before learning from it."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.events: list[AlarmEvent] = []
        """Alarms of the last batch that began to count or ended, in order."""
        self.verdicts: Verdicts | None = None
        """Verdicts on the last batch, of a model that watches."""
        self.numbering = Numbering()

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
        """Whether the half-life is a duration, so that every row needs its time."""
        return is_duration(
            self.model.parameters["half_life"]
            if isinstance(self.model, StreamModel)
            else self.model.half_life
        )

    @property
    def has_learnt(self) -> bool:
        return has_learnt(self.model)

    @abstractmethod
    def layout(self, kept: Sequence[str], residuals: bool) -> Layout:
        """What a row of the output holds, once the first row has been learnt."""

    @abstractmethod
    def learn(self, batch: Batch, *, scored: bool, residuals: bool) -> Said | None:
        """Learn from rows that the source has checked; returns what to write of them, if asked to."""

    def save(self, path: Path, position: dict[str, Any]) -> None:
        self.model.save(path, position=position)

    def _times(self, batch: Batch) -> Any:
        return batch.times if self.needs_times else None

    @contextmanager
    def announcing(self, announce: Callable[[RankChange], object]) -> Iterator[None]:
        """Within this, ``announce`` is called for each change of the rank, after the user's own callback."""
        own = self.model.on_rank_change

        def both(change: RankChange) -> None:
            if own is not None:
                own(change)
            announce(change)

        self.model.on_rank_change = both
        try:
            yield
        finally:
            self.model.on_rank_change = own


class Scorer(Learner):
    """Scores each row."""

    def layout(self, kept: Sequence[str], residuals: bool) -> Layout:
        model = self.model
        return Layout(model.max_components_ + residuals, model.components_.dtype, kept, residuals)

    def learn(self, batch: Batch, *, scored: bool, residuals: bool) -> Said | None:
        times = self._times(batch)
        if not scored:
            self.model.partial_fit(batch.rows, timestamps=times)
            return None
        scores = self.model.learn_many(batch.rows, times, **({"residuals": True} if residuals else {}))
        return Said(scores, batch.texts)


def has_learnt(model: Model) -> bool:
    """Whether a model has seen its first row."""
    return model.is_fitted if isinstance(model, StreamModel) else model.__sklearn_is_fitted__()
