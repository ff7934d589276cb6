"""The filter in time on its way through the rows of a block."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..array_types import Matrix, Vector
from ..learners.learner import Steps
from .gap_kernels import follow
from .gap_state import NONE, Course, belief_of
from .imputation import Filled
from .time_filter import NEVER, Dynamics, Forecast

# Usual steps: a row at the same moment has a deviation of a thousandth of that of the next row.
SOON = 1e-6
"""Least horizon of a forecast as far as its error is concerned."""


class Past:
    """The filter on its way through rows.

    Parameters
    ----------
    dynamics
        What was known of time before these rows.
    last
        The two rows before them, the older one first (2, n).
    ages
        Rows since the last value of each input (n).
    held
        This value; NaN where there is none (n).
    rows
        Most rows to come.
    corrects
        Whether rows say something about those after them, as of `OpenBlock`.
    learns
        Whether innovations, and what they lack, are asked for: not where nobody learns from them.
    forecasts
        Whether the forecast of each row is asked for.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        last: Matrix,
        ages: NDArray[np.int64],
        held: Vector,
        rows: int,
        *,
        corrects: bool,
        learns: bool,
        forecasts: bool = False,
    ) -> None:
        outlook = dynamics.outlook._replace(mean=dynamics.outlook.mean.copy())  # first values move it
        self.dynamics, self.width, self.number = dynamics._replace(outlook=outlook), len(ages), 0
        self.held = held
        self.belief = belief_of(dynamics.known, corrects=corrects, center=False)
        before, room = last - dynamics.outlook.mean, learns * len(self.belief.axes)
        self.course = Course.begun(before, ages, rows, room, innovations=learns, forecasts=forecasts)

    @classmethod
    def anew(cls, dynamics: Dynamics, rows: int) -> Self:
        """A stretch of rows that nothing is known of yet."""
        mean = dynamics.outlook.mean
        before, ages, held = np.tile(mean, (2, 1)), np.full(len(mean), NEVER), np.full(len(mean), np.nan)
        return cls(dynamics, before, ages, held, rows, corrects=False, learns=False)

    def take(self, rows: Matrix, steps: Steps) -> None:
        """Take the next rows, NaN in gaps (T, n)."""
        passed = self.dynamics.in_steps(steps.passed)
        counts = np.column_stack((steps.weight, steps.discount, np.clip(np.rint(passed), 1, NEVER)))
        over = self.dynamics.over(passed)
        follow(self.belief, self.dynamics.outlook, self.course, NONE, over, rows, counts, self.number)
        self.number += len(rows)

    def forecast(self, horizons: Vector) -> Forecast:
        """Rows at these horizons after those that have been taken, in usual steps, each at least 0 (m)."""
        dynamics = self.dynamics
        # A forecast from a gap is one over more rows, as far as errors are concerned.
        ages = np.minimum(self.course.ages + np.maximum(horizons, SOON)[:, None], NEVER)
        kept, variances = dynamics.errors_ahead(ages)
        rows = kept * dynamics.ahead_of(self.course.last, horizons)
        return Forecast(rows + dynamics.outlook.mean, np.sqrt(variances))

    @property
    def last(self) -> Matrix:
        """The last two rows, the older one first, gaps filled."""
        return self.course.last + self.dynamics.outlook.mean

    def innovations(self) -> Filled:
        """Innovations of the rows so far."""
        t, axes = self.number, self.belief.known_axes
        course, r = self.course, len(axes)
        return Filled(course.new[:t], course.extra[:t], course.along[:r, :r], axes)
