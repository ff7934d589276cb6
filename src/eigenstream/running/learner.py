"""All that a job asks of its model, in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from ..durations import is_duration
from ..tracking import StreamModel

if TYPE_CHECKING:
    from ..estimators import OnlineAdaptivePCA
    from ..sources import Batch, Floats
    from ..tracking import RankChange


Model = Union["StreamModel", "OnlineAdaptivePCA"]
"""What a job can run on. The first needs no scikit-learn, whose import takes longer than a small job."""


class Learner:
    """A model that learns rows in order and scores each before learning from it."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @property
    def width(self) -> int | None:
        """Numbers per row; None before the first."""
        return int(self.model.n_features_in_) if self._has_learnt() else None

    @property
    def samples(self) -> int:
        """Rows learnt from."""
        return self.model.n_samples_seen_ if self._has_learnt() else 0

    @property
    def rank(self) -> int:
        return self.model.n_components_ if self._has_learnt() else 0

    @property
    def scores_per_row(self) -> int:
        return self.model.max_components_

    @property
    def dtype(self) -> Any:
        """Type of the scores."""
        return self.model.components_.dtype

    @property
    def needs_times(self) -> bool:
        """Whether the half-life is a duration, so that every row needs its time."""
        return is_duration(
            self.model.parameters["half_life"]
            if isinstance(self.model, StreamModel)
            else self.model.half_life
        )

    def learn(self, batch: Batch, *, scored: bool, residuals: bool) -> Floats | None:
        """Learn from rows that the source has checked; returns the scores from before, if asked to."""
        times = batch.times if self.needs_times else None
        if not scored:
            self.model.partial_fit(batch.rows, timestamps=times)
            return None
        return self.model.learn_many(batch.rows, times, **({"residuals": True} if residuals else {}))

    def save(self, path: Path, position: dict[str, Any]) -> None:
        self.model.save(path, position=position)

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

    def _has_learnt(self) -> bool:
        return has_learnt(self.model)


def has_learnt(model: Model) -> bool:
    """Whether a model has seen its first row."""
    return model.is_fitted if isinstance(model, StreamModel) else model.__sklearn_is_fitted__()
