"""Alternatives that do the same work, timed one after the other, again and again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter


def interleaved(
    alternatives: Mapping[str, Callable[[], object]], repeats: int
) -> dict[str, dict[str, float]]:
    """Best and median seconds of each alternative, after one round that does not count."""
    taken: dict[str, list[float]] = {name: [] for name in alternatives}
    for _ in range(repeats + 1):
        for name, work in alternatives.items():
            start = perf_counter()
            work()
            taken[name].append(perf_counter() - start)
    return {name: {"best": min(times[1:]), "median": median(times[1:])} for name, times in taken.items()}
