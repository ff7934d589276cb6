"""A bank of models as the model of a job: one column of the source says whose a row is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..bank import Bank
from ..durations import is_duration
from .learner import Learner, Model

if TYPE_CHECKING:
    from ..sources import Batch, Floats
    from ..tracking import RankChange
    from .record import Request


class KeyedLearner(Learner):
    """Many models that learn each its own rows. The bank itself tells of changes of rank, with their keys."""

    def __init__(self, bank: Bank, column: int) -> None:
        self.bank, self.column = bank, column

    @property
    def width(self) -> int | None:
        return self.bank.plan.width if self.bank.plan is not None else None

    @property
    def samples(self) -> int:
        return self.bank.samples

    @property
    def scores_per_row(self) -> int:
        return int(self._plan.k)

    @property
    def dtype(self) -> Any:
        return self._plan.dtype

    @property
    def needs_times(self) -> bool:
        return is_duration(self.bank.parameters["half_life"])

    def learn(self, batch: Batch, *, scored: bool, residuals: bool) -> Floats | None:
        assert batch.texts is not None
        keys = batch.texts[:, self.column].tolist()
        if "" in keys:
            raise ValueError(f"row {batch.numbers[keys.index('')]} has no key: fill in the column of keys")
        return self.bank.learn_many(keys, batch.rows, batch.times if self.needs_times else None)

    def save(self, path: Path, position: dict[str, Any]) -> None:
        self.bank.save(position)

    @contextmanager
    def announcing(self, announce: Callable[[RankChange], object]) -> Iterator[None]:
        yield

    @property
    def _plan(self) -> Any:
        assert self.bank.plan is not None
        return self.bank.plan


def learner_of(model: Model | Bank, request: Request) -> Learner:
    """What a job asks of a model, or of a bank of them."""
    if isinstance(model, Bank):
        # What is kept of a row as text begins with its time, if it has one.
        return KeyedLearner(
            model, int(request.time_column is not None and request.time_column != request.key)
        )
    return Learner(model)
