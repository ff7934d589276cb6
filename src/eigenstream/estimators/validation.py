"""Rows as an estimator may learn from them, and the times at which they came."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import validate_data

from ..reading import Floats
from ..tracking.parameters import squares_fit

FLOAT_TYPES = (np.float64, np.float32)


def shaped(model: Any, X: ArrayLike, *, reset: bool) -> Floats:
    """Rows of the right width and type, not yet known to be finite."""
    rows: Floats = validate_data(model, X, reset=reset, dtype=FLOAT_TYPES, ensure_all_finite=False, order="C")
    return rows


def checked(model: Any, X: ArrayLike) -> Floats:
    """Rows as scikit-learn checks them, NaN allowed unless ``missing`` says otherwise."""
    rows = shaped(model, X, reset=False)
    if not squares_fit(rows):
        refuse_infinite(rows, model.missing)
    return rows


def refuse_infinite(rows: Floats, missing: str) -> None:
    """An error for infinite values and, unless ``missing`` allows it, for NaN."""
    try:
        assert_all_finite(rows, allow_nan=missing != "raise", input_name="X")
    except ValueError as error:
        if "contains NaN" not in str(error):
            raise
        raise ValueError(
            "Input contains NaN: rows with missing values can be left out with missing='skip' or filled "
            "in with missing='impute'"
        ) from None


def times_of(X: Any, timestamps: Any) -> Any:
    """Time stamps as given; by default the index of a data frame, if that is of dates."""
    index = getattr(X, "index", None)
    if timestamps is None and getattr(getattr(index, "dtype", None), "kind", "") == "M":
        return index
    return timestamps
