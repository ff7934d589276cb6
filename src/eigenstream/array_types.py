"""Types of arrays that annotations share, and the one border at which values become numbers."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
"""float32 or float64, of any shape."""
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

# NumPy makes numbers of each of these without a word: days since 1970, real parts.
NO_NUMBERS = (date, timedelta, np.datetime64, np.timedelta64, complex, np.complexfloating)
"""Types of values that are refused although they can be converted to floats."""


def as_numbers(values: Any, name: str = "rows") -> Any:
    """Values as they came, but for what is masked, which is NaN; a ValueError for what are no real numbers.

    Lists become arrays. A column of text of a data frame is refused by its name; other texts and objects
    are left for a conversion to floats to refuse.

    Parameters
    ----------
    values
        Whatever a user gave: an array, lists, a data frame, a sparse matrix, an array of another library.
    name
        The name of it in the message.

    Examples
    --------
    >>> as_numbers(np.ma.array([[1.0, 2.0]], mask=[[False, True]]))
    array([[ 1., nan]])
    >>> as_numbers(np.array(["2026-01-31"], dtype="datetime64[D]"))
    Traceback (most recent call last):
    ValueError: rows must be real numbers, got datetime64[D]: leave times out, or give them as timestamps
    """
    if isinstance(values, list | tuple):
        masked = any(isinstance(value, np.ma.MaskedArray) for value in values)
        values = np.ma.array([np.ma.asarray(value) for value in values]) if masked else np.asarray(values)
    _refuse_others(values, name)
    _refuse_text(values)
    if isinstance(values, np.ma.MaskedArray):
        numbers: Any = values.astype(np.float32 if values.dtype == np.float32 else np.float64)
        return numbers.filled(np.nan)
    return values


def _refuse_others(values: Any, name: str) -> None:
    """A ValueError for times, time differences and complex numbers."""
    dtype = getattr(values, "dtype", None)
    kinds = list(getattr(values, "dtypes", ())) if dtype is None else [dtype]  # of a data frame: one each
    found = next((kind for kind in kinds if _is_other(kind)), None)
    if found is None and object in kinds:
        held = np.ravel(np.asarray(values, dtype=object))
        found = next((type(value).__name__ for value in held if isinstance(value, NO_NUMBERS)), None)
    if found is not None:
        message = f"{name} must be real numbers, got {found}: "
        if "complex" in str(found):
            raise ValueError(f"Complex data not supported: {message}give real and imaginary parts as columns")
        raise ValueError(f"{message}leave times out, or give them as timestamps")


def _refuse_text(values: Any) -> None:
    """A ValueError that names the first column of a data frame that holds text which is no number."""
    if not hasattr(values, "columns") or not hasattr(values, "dtypes"):
        return
    for column, kind in zip(values.columns, values.dtypes, strict=True):
        if getattr(kind, "kind", "") in tuple("biuf"):
            continue
        text = next((one for one in values[column] if isinstance(one, str) and not _is_number(one)), None)
        if text is not None:
            raise ValueError(
                f"could not convert string to float: column {column!r} holds text, such as {text!r:.40}: "
                "leave it out, or give it as numbers"
            )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_other(dtype: Any) -> bool:
    """True for types of times and of complex numbers: of NumPy, pandas, polars, or PyTorch."""
    if getattr(dtype, "kind", "") in tuple("mMc") or getattr(dtype, "is_complex", False):
        return True
    is_temporal = getattr(dtype, "is_temporal", None)  # of polars
    return is_temporal is not None and bool(is_temporal())
