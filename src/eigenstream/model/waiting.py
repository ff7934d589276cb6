"""Rows of an unfinished block: they have come, but are not learnt from yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..learners.arrays import beside, elsewhere, host
from ..learners.knowledge import Floats, Vector
from ..learners.learner import Steps
from ..learners.marks import Mark, Marked
from ..learners.sparse import SparseRows, without_zeros


class Waiting(Marked):
    """Room for one block of rows, the first ``number`` of which wait.

    Parameters
    ----------
    block
        Rows per block.
    n, dtype
        Width and type of the rows.
    """

    LEARNT = ("rows", "steps", "number", "sparse")

    def __init__(self, block: int, n: int, dtype: Any) -> None:
        self.rows: Floats = np.zeros((block, n), dtype=dtype)
        self._marked = False
        """True if a mark may hold the rows that wait."""
        self.steps = Steps.even(block, 1.0)
        self.number = 0
        self.sparse = False
        """Whether some of the rows came as sparse ones."""

    def mark(self) -> Mark:
        self._marked = self.number > 0
        return super().mark()

    def write(self, rows: Floats, steps: Steps) -> None:
        """Put rows behind those that wait; they wait once `number` says so."""
        fresh = slice(self.number, self.number + len(rows))
        if elsewhere(self.rows, rows):
            self.rows = beside(self.rows, rows)
        if isinstance(rows, SparseRows):
            self.sparse, rows = True, host(rows)
        self.rows[fresh] = rows
        for name in ("weight", "discount", "extra"):
            getattr(self.steps, name)[fresh] = getattr(steps, name)

    def first(self, number: int) -> tuple[Floats, Steps]:
        """So many of the rows, and what they count."""
        return self.rows[:number], self.steps.part(slice(number))

    def block(self) -> tuple[Floats, Steps]:
        """All rows, the last of which have just been written: sparse, if some came so."""
        rows, steps = self.first(len(self.rows))
        if self.sparse:
            rows, self.sparse = without_zeros(rows), False  # type: ignore[assignment]
        return rows, steps

    def clear(self) -> None:
        """Let none wait: their block has been learnt."""
        if self._marked:  # the next rows are written elsewhere
            self.rows, self.steps = np.zeros_like(self.rows), Steps.even(len(self.rows), 1.0)
            self._marked = False
        self.number = 0

    def pretend(self, number: int, mean: Vector) -> None:
        """So many rows that count nothing, to fill up a block that has begun elsewhere."""
        self.clear()
        self.number = number
        self.rows[:] = mean
        self.steps.weight[:], self.steps.discount[:] = 0.0, 1.0
