"""The one place for Numba's flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

_Function = TypeVar("_Function", bound=Callable[..., Any])


def kernel(function: _Function) -> _Function:
    """Compile a loop over arrays: cached on disk, without the GIL.

    ``reassoc`` and ``contract`` let sums become vector sums with fused multiply-adds, without which no dot
    product is vector code. NaN and infinity keep their meaning.
    """
    flags: dict[str, Any] = {"fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy"}
    return cast(_Function, njit(cache=True, nogil=True, **flags)(function))
