"""Word of a kernel that is about to be compiled, for whoever waits; apart, so that Numba is not loaded."""

from __future__ import annotations

from collections.abc import Callable

_listeners: list[Callable[[], object]] = []


def call_once(listener: Callable[[], object]) -> None:
    """Have this called before the first kernel from now on that is not in the cache, and never again."""
    _listeners[:] = [listener]


def announce() -> None:
    """Tell that a kernel is about to be compiled, which takes seconds."""
    while _listeners:
        _listeners.pop()()
