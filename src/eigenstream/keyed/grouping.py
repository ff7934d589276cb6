"""Group rows by their keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bank_file import Key


def factorized(keys: Sequence[Key] | NDArray[Any]) -> tuple[list[Key], NDArray[Any]]:
    """The distinct keys in order of appearance, and the index of each row's key among them."""
    each = keys.tolist() if isinstance(keys, np.ndarray) else list(keys)
    index = {key: i for i, key in enumerate(dict.fromkeys(each))}
    for key in index:
        if type(key) not in (str, int) or (type(key) is int and not -(2**63) <= key < 2**63):
            raise TypeError(f"keys must be strings or whole numbers of 64 bits, got {key!r}")
        if type(key) is str and not key.isascii() and key.encode(errors="replace").decode() != key:
            raise ValueError(f"keys must be text that UTF-8 can write, got {key!r}")
    # Sorting 16-bit numbers takes a tenth of the time.
    dtype = np.uint16 if len(index) <= 2**16 else np.int64
    return list(index), np.fromiter(map(index.__getitem__, each), dtype=dtype, count=len(each))


def grouped(names: list[Key], codes: NDArray[Any]) -> dict[Key, NDArray[np.intp]]:
    """The rows of each key, in order, given the result of `factorized`.

    Examples
    --------
    >>> grouped(*factorized(["b", "a", "b"]))
    {'b': array([0, 2]), 'a': array([1])}
    """
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))
    return dict(zip(names, np.split(np.argsort(codes, kind="stable"), ends[:-1]), strict=True))
