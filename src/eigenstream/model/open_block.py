"""Rows of an unfinished block, gaps filled: each by all rows before it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array_types import Floats, Matrix, Vector
from ..learners.learner import Steps
from .imputation import Belief, Filled, Gaussian


class OpenBlock:
    """Fills the rows of one block in their order, as far as they have come.

    What it holds follows from what was known before the block and from the rows as they came: it can be
    forgotten and computed anew at any time, to the same bits.

    Parameters
    ----------
    known
        What was known at the end of the last block and look.
    block, dtype
        How many rows a block has, and their type.
    center
        Whether the mean of the input is followed.
    corrects
        Whether rows of the block say something about those after them. Not where outliers are capped, since a
        block is capped as a whole.
    """

    def __init__(self, known: Gaussian, block: int, dtype: Any, *, center: bool, corrects: bool) -> None:
        self.belief, self.center, self.corrects = Belief(known), center, corrects
        self.number = 0
        """Number of rows that have been filled."""
        self.rows: Floats = np.zeros((block, len(known.mean)), dtype=dtype)
        self.extra: Vector = np.zeros(block)
        self.along: Matrix = np.zeros((0, 0))

    def take(self, rows: Floats, steps: Steps) -> Floats:
        """The next rows of the block, filled."""
        first = self.number
        for t, row in enumerate(rows):
            weight, discount = float(steps.weight[t]), float(steps.discount[t])
            self.along *= discount
            if np.isnan(row).any():
                row, along, self.extra[first + t] = self.belief.fill_and_tell(row)
                new = len(along) - len(self.along)
                self.along = np.pad(self.along, (0, new)) + weight * along
            self.rows[first + t] = row
            if self.corrects:
                self.belief.correct(row, weight, discount, center=self.center)
        self.number = first + len(rows)
        return self.rows[first : self.number]

    def filled(self) -> Filled:
        """All rows so far."""
        return Filled(
            self.rows[: self.number].copy(),
            self.extra[: self.number].copy(),
            self.along.copy(),
            self.belief.axes[: len(self.along)],
        )
