"""The one place for Numba and its flags: the paper's networks and the filling of gaps need it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any, TypeVar, cast

try:
    from numba import njit
    from numba.core import caching
except ImportError:
    njit = None  # type: ignore[assignment]

from . import compiling

_Function = TypeVar("_Function", bound=Callable[..., Any])
_FunctionCache: Any = object if njit is None else caching.FunctionCache


def need_numba() -> None:
    """Raise an ImportError that says what to install, if Numba is not there."""
    if njit is None:
        raise ImportError(
            "filling gaps, forecasts and the paper's networks need Numba: "
            "pip install 'eigenstream[network]' or 'eigenstream[gaps]'",
            name="numba",
        )


def kernel(function: _Function) -> _Function:
    """Compile a loop over arrays: cached on disk where that is possible, without the GIL.

    ``reassoc`` and ``contract`` let sums become vector sums with fused multiply-adds, without which no dot
    product is vector code. NaN and infinity keep their meaning.
    """
    if njit is None:
        return cast(_Function, _refused(function))
    flags: dict[str, Any] = {"fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy"}
    # A kernel that calls another holds a copy of it. A process that compiles both would run the original, one
    # that loads them from the cache the copy, which may round otherwise: with all inlined, nothing is called.
    flags["forceinline"] = True
    compiled = njit(nogil=True, **flags)(function)
    if hasattr(compiled, "_cache"):  # without compilation, it is the function itself
        try:
            compiled._cache = _Cache(function)
        except Exception as error:  # nowhere to write: a read-only home and package
            _warn_once(error)
    return cast(_Function, compiled)


def _refused(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that nobody can compile: importing it does no harm, calling it raises an ImportError."""

    @wraps(function)
    def refuse(*arguments: Any) -> None:
        need_numba()

    return refuse


class _Cache(_FunctionCache):  # type: ignore[misc]
    """Numba's cache on disk. Whatever is wrong with it, the kernel is compiled instead."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = None
        try:
            found = super().load_overload(sig, target_context)
        except (
            Exception
        ) as error:  # a damaged file may raise anything, even EOFError, which looks like Ctrl-D
            _warn_once(error)
            with suppress(Exception):
                self.flush()
        if found is None:
            compiling.announce()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:
            _warn_once(error)


_warned = False


def _warn_once(error: Exception) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"kernels are compiled without a cache, which takes seconds at every start ({error!r}): set "
            "NUMBA_CACHE_DIR to a folder that can be written to",
            RuntimeWarning,
            stacklevel=2,
        )
