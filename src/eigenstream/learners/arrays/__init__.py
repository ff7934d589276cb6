"""Arrays of other libraries, which may live elsewhere: on a GPU, say.

The code of this package is NumPy's. An array of another library comes in a wrapper that follows NumPy's
protocols (NEP 13 and NEP 18): ``rows @ axes.T`` of wrapped rows is then that library's own product, computed
where the rows live. Small arrays of the host go there by themselves; `host` copies results back.

Arrays of chunks, Dask's, are computed when they are asked for: what is made of them chunk by chunk, `of_rows`
leaves to their library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""One of NumPy's, or a wrapped one, which can do what is asked of it here."""


def is_foreign(X: Any) -> bool:
    """True for an array of a library that has a wrapper: PyTorch."""
    return _library(X) == "torch"


def wrap(X: Any) -> Array:
    """Wrap a tensor in NumPy's protocols."""
    from . import torch

    wrapped: Any = torch.wrap(X)
    return wrapped  # type: ignore[no-any-return]


def unwrap(array: Any) -> Array:
    """The array of the library that it belongs to, as a user gets it."""
    own: Array = getattr(array, "unwrapped", array)
    return own


def host(array: Any) -> Array:
    """The array as one of NumPy's; fetched, if it lives elsewhere."""
    fetched: Array = array if isinstance(array, np.ndarray) else array.get()
    return fetched


def fetched(X: Any) -> Any:
    """An array of another library as one of NumPy's; anything else as it is."""
    return host(wrap(X)) if is_foreign(X) else X


def as_came(result: Array, X: Any) -> Array:
    """A result of ``X`` as an array of the library of ``X``, where that lives."""
    return unwrap(beside(result, wrap(X))) if is_foreign(X) else result


def is_chunked(X: Any) -> bool:
    """True for an array of chunks, which may be anywhere: Dask."""
    return _library(X) == "dask"


def chunks(X: Any, columns: int | None = None) -> Any:
    """An array of chunks as a model may take it: a matrix of floating-point numbers with these columns."""
    from . import dask

    return dask.checked(X, columns)


def of_rows(X: Any, compute: Callable[[Any], Array], columns: int, width: int | None = None) -> Array:
    """Results of each row as an array of the library that rows came from.

    Parameters
    ----------
    X
        Rows of ``columns`` numbers.
    compute
        Makes an array of some rows: ``width`` numbers of each, a single one if None.
    """
    if not is_chunked(X):
        return as_came(compute(X), X)
    from . import dask

    return dask.mapped(chunks(X, columns), compute, width)  # type: ignore[no-any-return]


def elsewhere(array: Any, rows: Any) -> bool:
    """True if an array does not live where these rows do."""
    if type(array) is type(rows) is np.ndarray:
        return False
    return bool(_place(array) != _place(rows))


def beside(array: Array, rows: Any) -> Array:
    """The array where these rows live: itself, if it is there already."""
    if not elsewhere(array, rows):
        return array
    moved: Array = host(array) if _place(rows) is None else rows.beside(array)
    return moved


def launches(rows: Any) -> bool:
    """True if operations on these rows are launched on a device of its own, each at a price."""
    return getattr(rows, "launches", False)


def zeros(shape: tuple[int, ...], rows: Any, dtype: Any = None) -> Array:
    """Zeros where these rows live, of their type unless another is given."""
    dtype = dtype or rows.dtype
    if isinstance(rows, np.ndarray) or rows.device is None:
        return np.zeros(shape, dtype)
    return np.zeros_like(rows, shape=shape, dtype=dtype)


def _place(array: Any) -> Any:
    """The device that an array lives on; None: the host."""
    return None if isinstance(array, np.ndarray) else array.device


def _library(X: Any) -> str:
    return type(X).__module__.partition(".")[0]
