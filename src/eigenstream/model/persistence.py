"""Persistence of each input of a stream: how its next value follows from its last two.

    x_t = phi x_{t-1} + r_t          r_t = c r_{t-1} + e_t          x: deviations from the mean

that is ``x_t = (phi + c) x_{t-1} - phi c x_{t-2} + e_t``, with phi and c of each input by itself: by least
squares over values that have come, c drawn towards 0 where these are few. ``phi = 0`` is an input without
memory, ``phi = 1`` one whose last value is the best forecast, and with c it also keeps its direction.

Coefficients that fit the rows before may still forecast the next ones worse than the last value does: of an
input that stands still and jumps, a few jumps say all. So each block first tells how much of the changes that
were forecast has come true, and forecasts change by this share w of them only:

    x_t = x_{t-1} + w ((phi + c - 1) x_{t-1} - phi c x_{t-2})          w = 0: the last value
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats, Matrix, Vector

SUMS = 12
"""Sums per input: see `Persistence`."""

# Variances of a correlation by chance, which is one over the number of triples: two standard deviations.
CHANCE = 1.0
"""Variances taken off the square of c, since chance alone would give as much."""

# Triples of values. The correlation of neighbouring errors of fewer says more of chance than of the input.
PRIOR = 16.0
"""Weight of ``c = 0`` against what triples of values say."""

SLOWEST = 0.9999
"""Largest phi: a forecast goes back to the mean in ten thousand rows at least."""

STEADIEST = 0.99
"""Largest c: a forecast loses its direction in a hundred rows at least."""

# Changes of their usual size. Of 1, 4 and 16, this and 1 filled eight of the sensor sets of the evaluation
# alike, with other gaps (error .1675, .1687 without any share).
DOUBT = 4.0
"""Weight of what is expected of a share: of 1 against all inputs, and of all inputs against one."""

# Coefficients: phi and c. By chance alone, forecasts of changes have that many squares of an error among the
# rows that they were fitted to. Before a block has been forecast, the share of an input is one minus this.
COEFFICIENTS = 2.0
"""Number of coefficients of an input."""

# Variances of a share by chance. Without it, inputs whose last value is the best forecast were forecast to
# move by up to a sixth of what chance had fitted. Of 0, 1, 2 and 4, with gaps of the sensor sets drawn anew
# (seeds 1 and 3), 1 and 2 had the error .2014, 0 .2027, and 4, by an estimate of the variance from the
# forecasts alone, .2038 (geometric means of 128 cases).
BY_CHANCE = 1.0
"""Variances taken off the square of a share, since chance alone would give as much."""

LEAST = 8.0
"""Rows to correct phi for, at least."""


class Forecaster(NamedTuple):
    """Coefficients of each input (n)."""

    a: Vector
    b: Vector

    def after(self, last: Vector, before: Vector) -> Vector:
        """The next deviations from the mean, after the last two rows of them."""
        return np.asarray(self.a * last + self.b * before)

    def ahead(self, last: Vector, before: Vector, steps: int) -> Matrix:
        """The next rows of deviations, after the last two (steps, n)."""
        rows = np.zeros((steps, len(last)))
        for h in range(steps):
            last, before = self.after(last, before), last
            rows[h] = last
        return rows

    def responses(self, steps: int) -> Matrix:
        """Effect of one innovation on the rows that follow: psi_0 = 1, psi_1 = a, ... (steps, n)."""
        psi = np.zeros((steps, len(self.a)))
        psi[0] = 1.0
        for h in range(1, steps):
            psi[h] = self.a * psi[h - 1]
            if h > 1:
                psi[h] += self.b * psi[h - 2]
        return psi


class Persistence(NamedTuple):
    """Discounted sums of products of deviations that lie next to each other, where values have come."""

    sums: Matrix
    """Over pairs: their number, ``x_0 x_1``, ``x_1 x_1``; over triples: their number, ``x_0 x_1``,
    ``x_0 x_2``, ``x_1 x_1``, ``x_1 x_2``, ``x_2 x_2``, with x_0 the last of them; and ``f^2``, ``f d``,
    ``d^2``, with d the change ``x_0 - x_1`` and f its forecast by what was known before the block (12, n)."""

    @classmethod
    def none(cls, n: int) -> Self:
        """Before the first row."""
        return cls(np.zeros((SUMS, n)))

    def after(
        self,
        rows: Floats,
        present: NDArray[np.bool_],
        counts: Vector,
        decay: float,
        fitted: Forecaster | None = None,
    ) -> Self:
        """After a block.

        Parameters
        ----------
        rows
            Deviations from the mean, the two rows before the block first (2 + b, n).
        present
            Which of them have come; others are left out.
        counts, decay
            Weight of each row of the block at its end, and the discount over the block.
        fitted
            `fitted` before the block; None: nothing was known.
        """
        from .forecast_kernels import add_neighbours

        known = Forecaster(*np.tile([[1.0], [0.0]], rows.shape[1])) if fitted is None else fitted
        sums = decay * self.sums
        add_neighbours(sums, rows.astype(np.float64, copy=False), present, counts, *known)
        return type(self)(sums)

    def forecaster(self, rows: float) -> Forecaster:
        """Coefficients of each input, given the number of rows behind the sums: changes by their share."""
        fitted = self.fitted(rows)
        (a, b), w = fitted, self.shares(fitted)
        return Forecaster(1 - w + w * a, w * b)

    def shares(self, fitted: Forecaster) -> Vector:
        """Share of the changes forecast that comes true, for each input (n).

        By forecasts of blocks from the rows before them; at first, by how well coefficients fit the rows that
        they were fitted to. A share that chance would give as well is 0: the last value is forecast then. It
        has the variance ``e / f``, with e the mean square that forecasts leave of a change and f the sum of
        their squares, in these rows or in those, whichever says more.
        """
        number, said, true, changes = self.sums[3], *self.sums[9:]
        units = _ratio(number, changes)
        said, true, (within, fit) = units * said, units * true, units * self._within(fitted)
        variance = _ratio(_left(number, fit, within, np.ones_like(fit)), within, np.inf)
        start = np.maximum(1 - COEFFICIENTS * np.where(within > 0, variance, 0.0), 0.0)
        usual = np.clip((true.sum() + DOUBT * start.mean()) / (said.sum() + DOUBT), 0.0, 1.0)
        share = np.clip((true + DOUBT * usual) / (said + DOUBT), 0.0, 1.0)
        variance = np.minimum(variance, _ratio(_left(number, true, said, share), said, np.inf))
        chance = _ratio(BY_CHANCE * variance, np.square(share), np.inf)
        return np.asarray(share * np.maximum(1 - chance, 0.0))

    def _within(self, fitted: Forecaster) -> Matrix:
        """Sums of ``f^2`` and ``f d`` over the rows that coefficients were fitted to (2, n)."""
        (a, b), (t01, t02, t11, t12, t22) = fitted, self.sums[4:9]
        squares = np.square(a - 1) * t11 + 2 * (a - 1) * b * t12 + np.square(b) * t22
        return np.stack((squares, (a - 1) * (t01 - t11) + b * (t02 - t12)))

    def fitted(self, rows: float) -> Forecaster:
        """Coefficients that fit the rows so far best.

        Where the mean is taken from the same rows, phi comes out too small by ``(1 + 3 phi) / rows`` (Kendall
        1954, doi:10.1093/biomet/41.3-4.403): a random walk would be drawn back to a mean that it does not
        have.
        """
        _, p01, p11, number, t01, t02, t11, t12, t22 = self.sums[:9]
        phi = _ratio(p01, p11)
        phi = np.clip(phi + (1 + 3 * phi) / max(rows, LEAST), -SLOWEST, SLOWEST)
        errors = t11 - 2 * phi * t12 + np.square(phi) * t22
        products = t01 - phi * (t02 + t11) + np.square(phi) * t12
        c = np.clip(_ratio(products, errors), -STEADIEST, STEADIEST)
        chance = _ratio(np.full_like(c, CHANCE), number * np.square(c))
        c *= np.maximum(1 - chance, 0.0) * number / (number + PRIOR)
        return Forecaster(phi + c, -phi * c)

    def variances(self) -> Vector:
        """Variance of each input around its mean (n)."""
        return _ratio(self.sums[2], self.sums[0])


def _left(number: Vector, true: Vector, said: Vector, share: Vector) -> Vector:
    """Mean square of a change that is left by this share of its forecast, in that of a change."""
    left = number - 2 * share * true + np.square(share) * said
    return _ratio(np.clip(left, 0.0, number), number)


def _ratio(over: Vector, under: Vector, nothing: float = 0.0) -> Vector:
    """A ratio, ``nothing`` where there is nothing to divide by."""
    return np.divide(over, under, out=np.full_like(over, nothing), where=under > 0)
