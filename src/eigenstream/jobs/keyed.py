"""A bank of models as the model of a job: one column of the source says whose a row is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..io.durations import is_duration
from ..io.sinks import Layout
from ..keyed import Bank
from .learner import Learner, Said

if TYPE_CHECKING:
    from ..io.sources import Batch
    from ..model import RankChange
    from .record import Request


class KeyedLearner(Learner):
    """Many models that learn each its own rows. The bank itself tells of changes of rank, with their keys."""

    def __init__(self, bank: Bank, request: Request) -> None:
        super().__init__(bank)
        self.bank, self.request = bank, request

    @property
    def width(self) -> int | None:
        return self.bank.plan.width if self.bank.plan is not None else None

    @property
    def samples(self) -> int:
        return self.bank.samples

    @property
    def has_learnt(self) -> bool:
        return self.bank.plan is not None

    def layout(self, kept: Sequence[str], residuals: bool) -> Layout:
        return Layout(int(self._plan.k), self._plan.dtype, kept)

    @property
    def needs_times(self) -> bool:
        return is_duration(self.bank.parameters["half_life"])

    def learn(self, batch: Batch, *, scored: bool, residuals: bool) -> Said | None:
        scores = self.bank.learn_many(keys_of(batch, self.request), batch.rows, self._times(batch))
        return Said(scores, batch.texts) if scored else None

    def save(self, path: Path, position: dict[str, Any]) -> None:
        self.bank.save(position)

    @contextmanager
    def announcing(self, announce: Callable[[RankChange], object]) -> Iterator[None]:
        yield

    @property
    def _plan(self) -> Any:
        assert self.bank.plan is not None
        return self.bank.plan


def keys_of(batch: Batch, request: Request) -> list[str]:
    """Key of each row; ValueError if one is empty."""
    keys = batch.keys
    assert keys is not None
    if "" in keys:
        raise ValueError(f"row {batch.numbers[keys.index('')]} has no key: fill in the column of keys")
    return keys
