"""Numbers among the rows of a job that may stand for missing values, such as -999."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .fill_outcome import StandIn, StandIns
from .watcher import Watcher

if TYPE_CHECKING:
    from ..io.sources import Batch
    from .stage import Model

MOST_ROWS, MOST_NUMBERS = 10_000, 2**22
"""Rows and numbers that are looked at: a number that stands for a gap comes early, and a stream without end
is not slowed down."""


class StandInWatcher(Watcher):
    """Looks at the first rows of a job for a number that may stand for a missing value."""

    def __init__(self) -> None:
        self._numbers = StandIns()
        self.rows = 0
        """Rows that were looked at."""
        self.ended = False
        """True if there were more."""

    def learnt(self, model: Model, batch: Batch) -> None:
        self.ended = self.ended or self.rows >= MOST_ROWS or self.rows * batch.rows.shape[1] >= MOST_NUMBERS
        if not self.ended:
            X = np.asarray(batch.rows[: MOST_ROWS - self.rows], dtype=np.float64)
            self._numbers.see(X, np.isnan(X))
            self.rows += len(X)

    @property
    def found(self) -> StandIn | None:
        """The number that most likely stands for a missing value; None if there is none."""
        return self._numbers.likeliest
