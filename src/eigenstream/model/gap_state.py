"""Arguments of the kernels that fill gaps: arrays of a block of rows, and the knowledge before it."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats, Matrix, Vector
from ..learners.scale import scale_of
from .imputation import Gaussian

# A share. Such a direction has a variance, over all rows, of less than a tenth of the noise.
FAINT = 0.1
"""Share of the noise of all rows that a row must have beyond all axes to add one."""

# Inputs, and axes. An axis costs time in every row: of many inputs, only directions are added that noise does
# not explain, since its squared length is that of one input times their number, and a few of them.
FEW, NOVEL, BEYOND_NOISE = 128, 8, 4.0
"""Up to `FEW` inputs, a block may add all axes that there are; of more inputs at most `NOVEL` axes, each for
a row that is `BEYOND_NOISE` times as long as noise."""

# Standard deviations. Those of a Gaussian stay below it in all but one of 16,000 entries. Of 4 and 6, the
# former filled eight of the sensor sets of the evaluation better; the other eight had no say in it.
GROSS = 4.0
"""Innovations beyond this are in doubt: they pull no harder than one of this size."""

NOISE, COUNT, AXES, CORRECTS, CENTERS, NOVELTY, PENDING, PENDING_SHARE, PATTERN = range(9)
"""Places in `Belief.totals`: f, the effective number of rows, how many axes there are, whether rows correct
the belief, whether they move its mean, the squared length beyond all axes, over f, that adds one, how many
rows wait to move W, their share of all, and how many entries were in doubt when W was needed last."""

# Rows: memory. A block's, beyond which W moves whatever their share is.
MOST_PENDING = 64
"""Most rows that wait to move W."""


class Belief(NamedTuple):
    """Distribution of the next row, which rows correct in place."""

    mean: Vector
    """In the units of the rows (n)."""
    units: Vector
    """Unit of each input: deviations are divided by it (n)."""
    axes: Matrix
    """U, as rows, with room for more (r, n)."""
    columns: Matrix
    """The same, an input in each row: axes of a few inputs lie together in memory (n, r)."""
    inverse: Matrix
    """W (r, r)."""
    totals: Vector
    """Nine numbers: see `NOISE` and the others."""
    unseen: NDArray[np.bool_]
    """Inputs that have had no value yet, and whose mean is to move to their first one (n)."""
    pending: Matrix
    """Rows that wait to move W: the share of each in all, its factor, and its coordinates (rows, 2 + r)."""
    pattern: Matrix
    """Entries that were in doubt when W was needed last, and their doubts (2, n)."""

    @property
    def known_axes(self) -> Matrix:
        """The axes that there are."""
        return self.axes[: int(self.totals[AXES])]


class Course(NamedTuple):
    """Rows of a block as far as they have come, and what the next ones are forecast from."""

    last: Matrix
    """Deviations of the last two rows from the mean, the older one first (2, n)."""
    ages: NDArray[np.int64]
    """Rows since the last value of each input (n)."""
    came: NDArray[np.bool_]
    rows: Matrix
    """Gaps filled (b, n). It and the three that follow may have room for the last row alone (1, n)."""
    variances: Matrix
    """Variance of each filled entry around its expectation; anything where an entry came (b, n)."""
    bins: NDArray[np.int8]
    """Bin of the age of each gap, see `judgement.BINS`; -1 where an entry came (b, n)."""
    new: Matrix
    """Innovations (b, n); or only those of the last row (1, n)."""
    forecasts: Matrix
    """Each row as it was forecast from those before it, NaN where it was not (b, n); or the last (1, n)."""
    extra: Vector
    """Expected squared length that each innovation lacks off the axes (b)."""
    along: Matrix
    """Expected scatter that all innovations together lack along the axes (r, r)."""

    @classmethod
    def begun(
        cls,
        last: Matrix,
        ages: NDArray[np.int64],
        rows: int,
        axes: int,
        *,
        answers: bool = True,
        innovations: bool = False,
        forecasts: bool = False,
    ) -> Self:
        """Before the first row, with room for this many rows and axes; `follow` writes all of each row.

        Answers, innovations and forecasts of all rows are kept only where somebody reads them: to write that
        much memory takes as long as the filling itself.
        """
        n, each = len(ages), rows if answers else 1
        came, bins = np.empty((each, n), dtype=bool), np.empty((each, n), dtype=np.int8)
        filled, variances = np.empty((each, n)), np.empty((each, n))
        new, forecast = np.empty((rows if innovations else 1, n)), np.empty((rows if forecasts else 1, n))
        extra, along = np.zeros(rows), np.zeros((axes, axes))
        return cls(last, ages.copy(), came, filled, variances, bins, new, forecast, extra, along)


class OtherAnswer(NamedTuple):
    """Another answer to the gaps of the first w inputs of a block, and what comes of both."""

    rows: Matrix
    """Gaps filled by it (b, w)."""
    variances: Matrix
    """Variance of each filled entry around its expectation (b, w)."""
    bins: NDArray[np.int8]
    """Bin of the age of each gap (b, w)."""
    factors: Floats
    """Of `judgement.HiddenErrors.factors`: of the first answer, of this one, correlation (3, bins, w)."""
    mixed: Matrix
    """Gaps filled by both (b, w)."""
    mixed_variances: Matrix
    """Variance of each of these around the truth; anything where an entry came (b, w)."""
    most: Vector
    """Variance at the oldest age that is judged: in older gaps this answer weighs no less (w)."""


NONE = OtherAnswer(
    *(np.zeros((0, 0)),) * 2,
    np.zeros((0, 0), np.int8),
    np.zeros((3, 1, 0)),
    *(np.zeros((0, 0)),) * 2,
    np.zeros(0),
)
"""No other answer."""


class Outlook(NamedTuple):
    """Relation of a row to those before it, without the covariance of innovations, which is a `Belief`."""

    mean: Vector
    """Of the rows (n)."""
    deviations: Vector
    """Standard deviation of each innovation; infinite where nothing has varied yet (n)."""
    noise: Vector
    """Variance of the noise in each innovation, in the units of the rows (n)."""
    gathered: Matrix
    """Variance of a forecast from a predecessor that has been filled for so long (ages, n)."""
    carried: Matrix
    """Share of what is unexpected of a value by which its predecessor, filled for so long, is corrected, for
    the first ages; for those that are older, the last one (ages, n)."""
    ages: NDArray[np.int64]
    """These ages, the last of which stands for all that are older."""
    bins: NDArray[np.int64]
    """Bin of each age from 0 on."""
    far: Vector
    """Deviation beyond which two rows in a row say that an input has left its mean, see `moved` (n)."""


def belief_of(known: Gaussian, *, corrects: bool, center: bool) -> Belief:
    """The belief to begin with, by what is known.

    Parameters
    ----------
    known
        Distribution of a row.
    corrects
        Whether rows correct it.
    center
        Whether these move the mean, too.
    """
    r, n = known.axes.shape
    few = n <= FEW
    room = (n if few else min(r + NOVEL, n)) if corrects else r
    novelty = FAINT * known.effective if few else BEYOND_NOISE * n
    axes, inverse = np.zeros((room, n)), np.zeros((room, room))
    axes[:r] = known.axes
    np.fill_diagonal(inverse[:r, :r], 1 / (known.variances + known.noise))
    units = np.ones(n) if known.gain is None else scale_of(known.gain)
    totals = np.array([known.noise, known.effective, r, corrects, center, novelty, 0, 0, 0], dtype=np.float64)
    pending = np.zeros((MOST_PENDING if corrects else 0, 2 + room))
    unseen, pattern = np.zeros(n, dtype=bool), np.zeros((2, n))
    columns = np.ascontiguousarray(axes.T)
    return Belief(known.mean.copy(), units, axes, columns, inverse, totals, unseen, pending, pattern)
