"""Rows of an unfinished block: they have come, but are not learnt from yet."""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from ..learners.arrays import beside, elsewhere, host
from ..learners.knowledge import Floats, Vector
from ..learners.learner import Steps
from ..learners.marks import Mark, Marked
from ..learners.sparse import SparseRows, without_zeros

COLUMNS = ("weight", "discount", "extra", "passed")
"""The arrays of `Steps`."""


class _Aside:
    """Copy of the rows that waited at a mark, made before their memory is used for something else."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.rows: Floats | None = None


class Waiting(Marked):
    """Room for one block of rows, the first ``number`` of which wait.

    Parameters
    ----------
    block
        Rows per block.
    n, dtype
        Width and type of the rows.
    room
        Memory for them, of their type; None: own memory.
    """

    LEARNT = ("rows", "steps", "number", "sparse")

    def __init__(self, block: int, n: int, dtype: Any, room: Floats | None = None) -> None:
        self.rows: Floats = np.zeros((block, n), dtype=dtype) if room is None else room
        self._aside: ref[_Aside] | None = None
        """The rows of the last mark, as long as somebody holds it."""
        self.steps = Steps.even(block, 1.0)
        self.number = 0
        self.sparse = False
        """True if some of the rows came as sparse ones."""

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_aside": None}

    def mark(self) -> Mark:
        aside = None if self._aside is None else self._aside()
        if aside is not None and aside.rows is None and aside.number != self.number:
            aside.rows = self.rows[: aside.number].copy()  # somebody may go back to the mark before, too
        if aside is None or aside.rows is not None:
            aside = _Aside(self.number)
            self._aside = ref(aside)
        return aside, super().mark()

    def revert(self, mark: Mark) -> None:
        aside, others = mark
        super().revert(others)
        if aside.rows is not None:
            self.rows[: aside.number] = aside.rows

    def set_aside(self) -> None:
        """Keep the rows of the last mark: their block is about to be learnt, in the same memory."""
        aside = None if self._aside is None else self._aside()
        if aside is not None and aside.rows is None:
            aside.rows = self.rows[: aside.number].copy()
            self.steps = Steps(*(getattr(self.steps, name).copy() for name in COLUMNS))

    def write(self, rows: Floats, steps: Steps) -> None:
        """Put rows behind those that wait; they wait once `number` says so."""
        fresh = slice(self.number, self.number + len(rows))
        if elsewhere(self.rows, rows):
            self.rows = beside(self.rows, rows)
        if isinstance(rows, SparseRows):
            self.sparse, rows = True, host(rows)
        self.rows[fresh] = rows
        for name in COLUMNS:
            getattr(self.steps, name)[fresh] = getattr(steps, name)

    def first(self, number: int) -> tuple[Floats, Steps]:
        """The first rows, and their steps."""
        return self.rows[:number], self.steps.part(slice(number))

    def block(self) -> tuple[Floats, Steps]:
        """All rows, the last of which have just been written: sparse, if some came so."""
        rows, steps = self.first(len(self.rows))
        if self.sparse:
            rows, self.sparse = without_zeros(rows), False  # type: ignore[assignment]
        return rows, steps

    def clear(self) -> None:
        """Let none wait: their block has been learnt."""
        self.number = 0

    def pretend(self, number: int, mean: Vector) -> None:
        """Let rows wait that count nothing, to fill up a block that has begun elsewhere."""
        self.set_aside()
        self.number = number
        self.rows[:] = mean
        self.steps.weight[:], self.steps.discount[:], self.steps.passed[:] = 0.0, 1.0, 1.0
