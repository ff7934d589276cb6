"""Sums in a tree: no worker has to hold more than a few of the parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

BRANCHES = 8
"""Number of parts that are put together at a time."""


def few(parts: Sequence[T], together: Callable[[Sequence[T]], T]) -> Sequence[T]:
    """At most `BRANCHES` parts: as long as there are more, neighbours are put together.

    Examples
    --------
    >>> few(list("abcdefghij"), "+".join)
    ['a+b+c+d+e+f+g+h', 'i+j']
    """
    while len(parts) > BRANCHES:
        parts = [together(parts[i : i + BRANCHES]) for i in range(0, len(parts), BRANCHES)]
    return parts
