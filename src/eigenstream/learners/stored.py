"""Arrays of a model file, checked before anything relies on them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST: dict[Any, float] = {np.float64: 1e150, np.float32: 1e38}
"""No sum of squares of a stream that can be learnt comes near; squares of sums stay finite in float64."""

LARGEST_VALUE: dict[Any, float] = {np.float64: 1e70, np.float32: 1e12}
"""No value of a row that can be learnt, and no mean of rows, comes near: the sum of 10^9 squares of it stays
below `LARGEST`."""

# Samples. Floats count exactly up to here.
LATEST = 2**52
"""A number of samples that no stream reaches."""


def stored_array(
    arrays: Mapping[str, NDArray[Any]],
    name: str,
    shape: tuple[int | None, ...],
    dtype: Any = np.float64,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    gaps: bool = False,
) -> NDArray[Any]:
    """A copy of one array of a file, or a ValueError that says what is wrong with it.

    Parameters
    ----------
    arrays
        The arrays of the file by name.
    name
        Which of them.
    shape, dtype
        What it has to look like; None stands for any length.
    least, most
        Bounds for its numbers.
    gaps
        Whether some of its numbers may be NaN.
    """
    array = arrays[name]
    fits = len(array.shape) == len(shape) and all(
        expected is None or expected == found for expected, found in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype != dtype:
        raise ValueError(
            f"array {name!r} has shape {array.shape} and type {array.dtype}, expected {shape} and "
            f"{np.dtype(dtype)}"
        )
    limit = min(most, LARGEST.get(dtype, math.inf))
    within = (array >= least) & (np.abs(array) < limit)
    if gaps:
        within |= np.isnan(array)
    if not within.all():
        raise ValueError(f"array {name!r} holds numbers outside the range that learning can produce")
    return np.array(array)
