"""Rows as an estimator may learn from them, and the times at which they came."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils.validation import _check_feature_names, _check_n_features, validate_data

from ..array_types import as_numbers
from ..learners.arrays import chunks, fetched, is_chunked, is_foreign, wrap
from ..learners.sparse import without_zeros
from ..model.parameters import refuse_gaps
from ..model.reading import Floats

FLOAT_TYPES = (np.float64, np.float32)


def shaped(model: Any, X: ArrayLike, *, reset: bool) -> Floats:
    """Rows of the right width and type, not yet known to be finite; wrapped, if of another library."""
    X = as_numbers(X, "X")
    if is_foreign(X):
        return _shaped_elsewhere(model, X, reset=reset)
    if _is_plain(X) and _fits(model, X.shape[1], reset=reset):
        return X
    rows: Any = validate_data(
        model, X, reset=reset, dtype=FLOAT_TYPES, ensure_all_finite=False, order="C", accept_sparse="csr"
    )
    return _rows_of(rows)


def _is_plain(X: Any) -> TypeGuard[Floats]:
    """True if these are rows as scikit-learn would make them: it takes longer to tell than a few to learn."""
    return (
        type(X) is np.ndarray
        and X.dtype in FLOAT_TYPES
        and X.ndim == 2
        and X.size > 0
        and X.flags.c_contiguous
    )


def _fits(model: Any, width: int, *, reset: bool) -> bool:
    """True if a model takes rows of this width without names; a model that begins anew is told of them."""
    if reset:
        vars(model).pop("feature_names_in_", None)
        model.n_features_in_ = width
    return not hasattr(model, "feature_names_in_") and width == getattr(model, "n_features_in_", None)


def finite(model: Any, X: ArrayLike, *, reset: bool) -> Floats:
    """Rows as scikit-learn checks them, sparse if they came so; a Dask array as it came."""
    X = as_numbers(X, "X")
    if is_chunked(X):
        _check_feature_names(model, X, reset=reset)
        _check_n_features(model, X, reset=reset)
        rows: Floats = chunks(X)
        return rows
    return _rows_of(validate_data(model, fetched(X), reset=reset, dtype=FLOAT_TYPES, accept_sparse="csr"))


def without_gaps(model: Any, X: ArrayLike) -> Floats:
    """Rows for a model to begin with that cannot learn from rows with gaps."""
    try:
        return finite(model, X, reset=True)
    except ValueError as error:
        if "contains NaN" not in str(error):
            raise
        raise ValueError(
            f"Input X contains NaN: {type(model).__name__} does not learn from rows with gaps: use "
            "OnlineAdaptivePCA(missing='impute'), or missing='skip'"
        ) from None


def _rows_of(X: Any) -> Floats:
    rows: Any = without_zeros(X) if issparse(X) else X
    return rows  # type: ignore[no-any-return]


def refuse_lags(rows: Any, lags: int) -> None:
    """An error for lags of rows that cannot have them: sparse ones, and those of a Dask array."""
    if lags and not isinstance(rows, np.ndarray):
        raise ValueError(
            f"got lags={lags} and rows that are sparse or a Dask array, which are taken without lags: give "
            "lags=0, or put predecessors beside the rows yourself"
        )


def filled(X: Any) -> Any:
    """Rows for what takes neither sparse ones nor those of another library, which are fetched."""
    if issparse(X):
        raise TypeError("expected filled rows, got a sparse matrix: use X.toarray()")
    return fetched(X)


def checked(model: Any, X: ArrayLike) -> Floats:
    """Rows as scikit-learn checks them, NaN allowed unless ``missing`` says otherwise."""
    rows: Floats = model._model.placed(shaped(model, X, reset=False))
    refuse_gaps(rows, model.missing)
    return rows


def _shaped_elsewhere(model: Any, X: Any, *, reset: bool) -> Floats:
    """`shaped` for an array of another library, which is left where it lives."""
    rows = matrix(X)
    _check_feature_names(model, X, reset=reset)
    _check_n_features(model, X, reset=reset)
    return rows


def matrix(X: Any) -> Floats:
    """A matrix of another library, wrapped."""
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(
            f"expected a matrix with at least one row (sample) and one column, got shape {tuple(X.shape)}"
        )
    wrapped: Floats = wrap(X)
    return wrapped


def times_of(X: Any, timestamps: Any) -> Any:
    """Time stamps as given; by default the index of a data frame, if that is of dates."""
    index = getattr(X, "index", None)
    if timestamps is None and getattr(getattr(index, "dtype", None), "kind", "") == "M":
        return index
    return timestamps
