"""Rows of an unfinished block, gaps filled: each by all rows before it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats, Matrix, Vector
from ..learners.learner import Steps
from .imputation import Belief, Filled, Gaussian, added
from .judgement import bins_of, mixture
from .time_filter import Past, Said


class Answers(NamedTuple):
    """Two answers to the gaps of one row."""

    t: int
    gaps: NDArray[np.intp]
    level: Vector
    """Expectations by the level (m)."""
    variances: Vector
    """Variances that the level expects (m)."""
    said: Said
    """What time says."""


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
    ) -> None:
        n = len(known.mean)
        self.belief, self.center, self.corrects, self.past = Belief(known), center, corrects, past
        self.number = 0
        """Number of rows that have been filled."""
        self.rows: Floats = np.zeros((block, n), dtype=dtype)
        self.variances: Matrix = np.zeros((block, n))
        """Variance of each filled entry around the truth, as far as is known; zero where an entry came."""
        self.extra: Vector = np.zeros(block)
        self.along: Matrix = np.zeros((0, 0))
        self.answers: list[Answers] = []
        """Both answers to each row with gaps that time has had a say in."""

    def take(self, rows: Floats, steps: Steps) -> Floats:
        """The next rows of the block, filled."""
        first = self.number
        for t, row in enumerate(rows, first):
            weight, discount = float(steps.weight[t - first]), float(steps.discount[t - first])
            filled, along, share = row, None, 1.0
            if np.isnan(row).any():
                expected = self.belief.expect(row)
                filled, along, self.extra[t] = expected.row, expected.along, expected.extra
                self.variances[t, expected.doubtful] = expected.variances
            if self.past is not None:
                share = self._mix(self.past, row, filled, weight, discount)
            self.rows[t] = filled
            self.along *= discount
            if along is not None:  # what is known better by time lacks less
                self.extra[t] *= share
                self.along = added(self.along, weight * share * along)
            if self.corrects:
                self.belief.correct(filled, weight, discount, center=self.center)
            self.number = t + 1
        return self.rows[first : self.number]

    def _mix(self, past: Past, row: Floats, filled: Floats, weight: float, discount: float) -> float:
        """Let time have its say in the gaps of a row that the level has filled.

        Returns the share of the variance that gaps still have then, at most 1.
        """
        t, n = self.number, len(past.ages)
        said = past.take(row[:n].astype(np.float64), weight, discount, corrects=self.corrects)
        gaps = said.gaps
        if not len(gaps):
            return 1.0
        level, variances = filled[gaps].astype(np.float64), self.variances[t, gaps]
        self.answers.append(Answers(t, gaps, level, variances, said))
        mixed = mixture(past.dynamics.factors[:, bins_of(said.ages), gaps], variances, said.variances)
        filled[gaps] = level + mixed.weights * (said.row[gaps] - level)
        self.variances[t, gaps] = mixed.variances
        units = np.divide(1.0, variances, out=np.zeros_like(variances), where=variances > 0)
        return min(float(np.mean(mixed.variances * units)), 1.0)

    def judged(self, truth: Floats) -> tuple[NDArray[np.intp], Floats]:
        """Bins of entries that were gaps here, and answers to them, as `TimeFilter.judge` takes them.

        Parameters
        ----------
        truth
            The rows as they came: NaN where nobody knows (b, n).
        """
        bins, answers = np.full(truth.shape, -1), np.zeros((4, *truth.shape))
        for t, gaps, level, variances, said in self.answers:
            known = np.isfinite(truth[t, gaps])
            at = gaps[known]
            bins[t, at] = bins_of(said.ages[known])
            answers[0, t, at], answers[1, t, at] = level[known] - truth[t, at], said.row[at] - truth[t, at]
            answers[2, t, at], answers[3, t, at] = variances[known], said.variances[known]
        return bins, answers

    def filled(self) -> Filled:
        """All rows so far."""
        return Filled(
            self.rows[: self.number].copy(),
            self.extra[: self.number].copy(),
            self.along.copy(),
            self.belief.axes[: len(self.along)],
        )
