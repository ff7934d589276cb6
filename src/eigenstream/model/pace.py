"""Memory of a stream with time stamps: the even pace that amounts to the same."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..learners.learner import Steps


class EvenPace(NamedTuple):
    """Even pace that amounts to the discounts between rows so far: a function of their times alone.

    Rows at an even pace with the discount ``b`` have, after T of them, the sum ``W = (1 - b^T) / (1 - b)``
    and the sum of squares ``V = (1 - b^2T) / (1 - b^2)``. Rows at uneven times are taken for the even ones
    that have the same W and the same effective number ``K = W^2 / V`` (Kish). That is

        1 - b = 2 (K - W) / (W (K - 1)),    b^T = 1 - W (1 - b)

    as long as ``K < 2 W - 1``. Otherwise the window is full: T is infinite, and ``1 - b = 2 / (K + 1)``.
    """

    total: float = 0.0
    """W"""
    squares: float = 0.0
    """V"""

    def after(self, steps: Steps) -> EvenPace:
        """The pace after more rows; those of weight 0 only let time pass."""
        later = np.append(np.cumprod(steps.discount[::-1])[::-1], 1.0)
        counts, decay = later[1:] * (steps.weight > 0), float(later[0])
        return EvenPace(
            decay * self.total + float(counts.sum()), decay**2 * self.squares + float(counts @ counts)
        )

    def joined(self, other: EvenPace) -> EvenPace:
        """The pace of two streams' rows together."""
        return EvenPace(self.total + other.total, self.squares + other.squares)

    def discounted(self, factor: float) -> EvenPace:
        """The pace after more time without rows."""
        return EvenPace(factor * self.total, factor**2 * self.squares)

    @property
    def beta2(self) -> float:
        """b, the discount per row."""
        return 1 - self._even()[0]

    @property
    def samples(self) -> float:
        """T, the number of rows at an even pace."""
        loss, left = self._even()
        if loss == 0:
            return self.total
        return math.log(left) / math.log1p(-loss) if left > 0 and loss < 1 else math.inf

    @property
    def window(self) -> float:
        """Number of rows that are remembered once the window is full."""
        loss = self._even()[0]
        return 1 / loss if loss > 0 else math.inf

    def _even(self) -> tuple[float, float]:
        """``1 - b`` and ``b^T``"""
        if not self.total > 1:
            return 0.0, 1.0
        W, K = self.total, self.total**2 / self.squares
        if K >= 2 * W - 1:
            return 2 / (K + 1), 0.0
        loss = min(max(2 * (K - W) / (W * (K - 1)), 0.0), 1.0)
        return loss, 1 - W * loss


class StreamClock(NamedTuple):
    """Times of the last rows of a stream with time stamps, in seconds."""

    latest: float | None = None
    """The last row that came."""
    learnt: float | None = None
    """The last row that was learnt from, or waits to be."""
    pace: EvenPace = EvenPace()
    """As of the last block."""

    def passed(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Seconds since the row before, for rows at these times."""
        return np.diff(times, prepend=times[0] if self.learnt is None else self.learnt)
