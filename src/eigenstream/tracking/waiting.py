"""Rows of an unfinished block: they have come, but are not learnt from yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.arrays import beside, elsewhere
from ..engine.knowledge import Floats, Vector
from ..engine.learner import Steps


class Waiting:
    """Room for one block of rows, the first ``number`` of which wait.

    Parameters
    ----------
    block
        Rows per block.
    n, dtype
        Width and type of the rows.
    """

    def __init__(self, block: int, n: int, dtype: Any) -> None:
        self.rows: Floats = np.zeros((block, n), dtype=dtype)
        self.steps = Steps.even(block, 1.0)
        self.number = 0

    def write(self, rows: Floats, steps: Steps) -> None:
        """Put rows behind those that wait; they wait once `number` says so."""
        fresh = slice(self.number, self.number + len(rows))
        if elsewhere(self.rows, rows):
            self.rows = beside(self.rows, rows)
        self.rows[fresh] = rows
        for name in ("weight", "discount", "extra"):
            getattr(self.steps, name)[fresh] = getattr(steps, name)

    def first(self, number: int) -> tuple[Floats, Steps]:
        """So many of the rows, and what they count."""
        return self.rows[:number], self.steps.part(slice(number))

    def pretend(self, number: int, mean: Vector) -> None:
        """So many rows that count nothing, to fill up a block that has begun elsewhere."""
        self.number = number
        self.rows[:] = mean
        self.steps.weight[:], self.steps.discount[:] = 0.0, 1.0
