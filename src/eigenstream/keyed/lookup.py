"""Models of a bank for those who only read: fetched as rows for them come, and never changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model import StreamModel
from .bank import Bank
from .bank_file import Key
from .keyed_models import factorized, grouped
from .monitors import MonitorBank

MOST = 1024
"""Models held in memory: at 32 inputs some 60 MB. One that comes back costs 0.4 ms."""


class ModelLookup:
    """The models of a bank by key; of a bank of monitors, the monitors. They are copies.

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((600, 4)) * [3.0, 1.0, 1.0, 1.0]
    >>> bank = Bank()
    >>> scores = bank.learn_many(["a", "b", "c"] * 200, rows)
    >>> for key, model, own in ModelLookup(bank).each(["b", "new", "b"]):
    ...     print(key, own, None if model is None else model.n_samples_seen_)
    b [0 2] 200
    new [1] None
    """

    def __init__(self, bank: Bank | MonitorBank, most: int = MOST) -> None:
        self.bank, self.most = bank, most
        self._held: dict[Key, StreamModel] = {}
        """The longest idle first."""

    def get(self, key: Key) -> StreamModel | None:
        """The model of this key; None if the bank has none."""
        model = self._held.pop(key, None)
        if model is None:
            if key not in self.bank:
                return None
            model = self.bank.model(key)
        self._held[key] = model
        while len(self._held) > self.most:
            del self._held[next(iter(self._held))]
        return model

    def each(
        self, keys: Sequence[Key] | NDArray[Any]
    ) -> Iterator[tuple[Key, StreamModel | None, NDArray[np.intp]]]:
        """Each key of some rows, its model, and the places of its rows in order."""
        for key, own in grouped(*factorized(keys)).items():
            yield key, self.get(key), own
