"""Rows of an unfinished block, gaps filled: each by all rows before it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats, Matrix, Vector
from ..learners.learner import Steps
from .gap_kernels import follow
from .gap_state import NONE, Course, OtherAnswer, Outlook, belief_of
from .imputation import Filled, Gaussian
from .past import Past


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
    past
        What time says; None: gaps are filled by the level alone.
    learns
        Whether what filled rows lack is asked for: not where nobody learns from them.
    """

    def __init__(
        self,
        known: Gaussian,
        block: int,
        dtype: Any,
        *,
        center: bool,
        corrects: bool,
        past: Past | None = None,
        learns: bool = True,
    ) -> None:
        n = len(known.mean)
        self.dtype, self.past = dtype, past
        self.number = 0
        """Number of rows that have been filled."""
        self.belief = belief_of(known, corrects=corrects, center=center)
        self.outlook = Outlook(
            np.zeros(n),
            np.full(n, np.inf),
            np.ones(n),
            np.zeros((2, n)),
            np.zeros((1, n)),
            np.arange(2),
            np.zeros(2, np.int64),
            np.full(n, np.inf),
        )
        # Where all gaps have two answers, nobody asks for those of level alone but who judges both.
        alone = past is None or past.width < n or not learns
        self.level = Course.begun(
            np.zeros((2, n)),
            np.zeros(n, np.int64),
            block,
            learns * len(self.belief.axes),
            answers=alone,
        )
        """Gaps filled by the other inputs of their row."""
        self.came: Matrix = np.empty((block, n))
        """The rows as they came."""
        self.other = NONE
        """Gaps filled by the rows before."""
        if past is not None:
            said, shape = past.course, past.course.rows.shape
            mixed = np.empty(shape), np.empty(shape)
            self.other = OtherAnswer(
                said.rows, said.variances, said.bins, past.dynamics.factors, *mixed, past.dynamics.judged
            )

    def expect_first_values_of(self, unseen: NDArray[np.bool_]) -> None:
        """Let the means of inputs that have had no value yet (n) move to their first ones."""
        self.belief.unseen[:] = unseen
        if self.past is not None:
            self.past.belief.unseen[:] = unseen[: self.past.width]

    def take(self, rows: Floats, steps: Steps) -> None:
        """Fill the next rows of the block."""
        rows64: Matrix = np.ascontiguousarray(rows, dtype=np.float64)
        counts = np.column_stack((steps.weight, steps.discount, np.ones(len(rows))))
        alone = np.zeros((1, 3, rows.shape[1]))
        alone[:, 2] = 1.0
        if self.past is not None:
            self.past.take(np.ascontiguousarray(rows64[:, : self.past.width]), steps)
        follow(self.belief, self.outlook, self.level, self.other, alone, rows64, counts, self.number)
        self.came[self.number : self.number + len(rows)] = rows64
        self.number += len(rows)

    def _again(self, mixture: Matrix) -> Matrix:
        """The answer to gaps after the second mixture."""
        assert self.past is not None
        n, past = self.number, self.past
        last = last_values(self.came[:n, : past.width], past.held)
        mixed = past.dynamics.second.mixed(past.course.bins[:n], mixture, past.course.rows[:n], last)
        return mixed.astype(np.float64, copy=False)

    def _told(self, level: Matrix, mixed: Matrix) -> Matrix:
        """Mix both answers where there are two, in the rows so far."""
        _, w = mixed.shape
        if w == self.came.shape[1]:
            return mixed[: self.number]
        return np.hstack((mixed[: self.number], level[: self.number, w:])) if w else level[: self.number]

    @property
    def rows(self) -> Floats:
        """The rows so far, filled."""
        mixed, n = self.other.mixed, self.number
        if mixed.shape[1] == self.came.shape[1]:  # entries that came stand there as they came
            return mixed[:n].astype(self.dtype)
        return self._with(self._told(self.level.rows, mixed))

    @property
    def answers(self) -> Floats:
        """The rows so far, filled as well as it can be: what is learnt from leaves the second mixture out.

        Entries learnt from are to be right on average of all rows, not lately.
        """
        mixed = self.other.mixed
        if self.past is not None:
            mixed = self._again(mixed[: self.number])
        return self._with(self._told(self.level.rows, mixed))

    def _with(self, told: Matrix) -> Floats:
        came = self.came[: self.number]
        return np.where(np.isnan(came), told, came).astype(self.dtype)

    @property
    def variances(self) -> Matrix:
        """Variance of each of their entries around the truth; zero where an entry came."""
        told = self._told(self.level.variances, self.other.mixed_variances)
        return np.where(np.isnan(self.came[: self.number]), told, 0.0)

    def judged(self, truth: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Bins of entries that were gaps here, and answers to them, as `TimeFilter.judge` takes them.

        Parameters
        ----------
        truth
            The rows as they came: NaN where nobody knows (b, n).
        """
        assert self.past is not None
        level, time, own = self.level, self.past.course, slice(truth.shape[1])
        bins = np.where(np.isnan(truth), -1, time.bins.astype(np.int64))
        errors = level.rows[:, own] - truth, time.rows - truth
        last = last_values(self.came[:, own], self.past.held) - truth
        answers = np.stack((*errors, level.variances[:, own], time.variances, self.other.mixed - truth, last))
        return bins, np.where(bins < 0, 0.0, answers)

    def filled(self) -> Filled:
        """All rows so far."""
        axes, extra = self.belief.known_axes, self.level.extra[: self.number].copy()
        return Filled(self.rows, extra, self.level.along[: len(axes), : len(axes)].copy(), axes)


def last_values(rows: Matrix, before: Vector) -> Matrix:
    """The last value of each input up to each row, NaN where there is none; ``before`` them, these (n)."""
    came = ~np.isnan(rows)
    at = np.maximum.accumulate(np.where(came, np.arange(len(rows))[:, None], -1), axis=0)
    found = np.take_along_axis(rows, np.maximum(at, 0), axis=0)
    return np.where(at >= 0, found, before)


def fill(rows: Floats, known: Gaussian) -> tuple[Floats, Matrix]:
    """Fill NaN with what is expected there, each row for itself; also the variance of each filled entry.

    Examples
    --------
    >>> known = Gaussian(
    ...     np.zeros(2), np.array([[0.6, 0.8]]), np.array([9.0]), 0.1, 100.0
    ... )
    >>> fill(np.array([[2.0, np.nan]]), known)[0].round(2)
    array([[2.  , 2.59]])
    """
    block = OpenBlock(known, len(rows), rows.dtype, center=False, corrects=False, learns=False)
    block.take(rows, Steps.even(len(rows), 1.0))
    return block.answers, block.variances
