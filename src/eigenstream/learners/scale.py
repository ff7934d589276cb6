"""The scale of each input, for learners that standardize: its standard deviation so far.

Learners keep its inverse, the gain, which is 0 for inputs that do not vary: what such an input does when it
begins to vary counts nothing until its scale is known.
"""

from __future__ import annotations

import numpy as np

from ..array_types import Floats as Floats
from ..array_types import Vector as Vector

# A share of the level of the input: some 45 units of rounding of float64, which sums over a block can gather.
CONSTANT = 1e-14
"""An input that varies by less than this share of its level is constant but for rounding errors."""


def gain_of(sums: Vector, count: float, level: Vector) -> Vector:
    """1 over the standard deviation of each input; 0 where an input does not vary.

    Parameters
    ----------
    sums
        Sum of squares of each centered input (n).
    count
        What to divide them by.
    level
        Size of the numbers that sums were made from (n): they have rounding errors in proportion to it.
    """
    deviation = np.sqrt(sums / count)
    return np.divide(1.0, deviation, out=np.zeros_like(sums), where=deviation > CONSTANT * level)


def scale_of(gain: Vector) -> Vector:
    """The standard deviation of each input, 1 where it does not vary, as scikit-learn has it."""
    return np.divide(1.0, gain, out=np.full_like(gain, 1.0), where=gain > 0)


def complete_count(count: float, extra: float, n: int) -> float:
    """The number of samples that sums of squares stand for, where filled entries lack ``extra``.

    ``extra`` is in standardized units, spread evenly over n inputs. A standardized input has the variance 1
    with its share of it: ``sums / scale^2 + extra / n = count``.
    """
    return count - min(extra / n, 0.9 * count)


def standardized(rows: Floats, mean: Floats, scale: Floats | None) -> Floats:
    """``(rows - mean) / scale``, in the type of the rows."""
    centered: Floats = rows - mean.astype(rows.dtype, copy=False)
    if scale is not None:
        centered /= scale.astype(rows.dtype, copy=False)
    return centered


def scale_of_rows(centered: Floats, weights: Vector | None = None) -> Vector:
    """Root mean square of each column, 1 where it is zero.

    Parameters
    ----------
    centered
        Rows less their mean (T x n).
    weights
        One per row; ones if None.
    """
    squares = np.square(centered, dtype=np.float64)
    sums = squares.sum(axis=0) if weights is None else weights @ squares
    count = len(centered) if weights is None else float(weights.sum())
    return scale_of(gain_of(sums, count, np.zeros(centered.shape[1])))
