"""What is compared with what: errors of ours and IncrementalPCA's, case by case."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any, NamedTuple

from benchmarks.sections.accuracy.methods import BYTES, BYTES_SUBSPACE, DOUBLE, OURS, SAME, SUBSPACE

EXACT = 1e-12
"""Errors below this are rounding errors: they count as zero."""
TIMES = 10.0
"""How many times smaller than IncrementalPCA's our error should be in the median."""


class Comparison(NamedTuple):
    """Errors of the top axes of one case."""

    data: str
    order: str
    m: int
    top: int
    ours: float
    theirs: float

    @property
    def larger(self) -> bool:
        """Whether ours is larger by more than rounding."""
        return self.ours > max(self.theirs, EXACT)

    @property
    def times_smaller(self) -> float:
        """Infinite where ours is zero, zero where only theirs is."""
        if self.ours <= EXACT:
            return float("inf")
        return self.theirs / self.ours if self.theirs > EXACT else 0.0


def comparisons(cases: list[dict[str, Any]], ours: str, theirs: str) -> list[Comparison]:
    """All cases and numbers of axes; medians over the passes."""
    return [
        Comparison(
            case["data"], case["order"], case["m"], top, *(error(case, by, top) for by in (ours, theirs))
        )
        for case in cases
        for top in numbers_of_axes(case)
    ]


def numbers_of_axes(case: dict[str, Any]) -> list[int]:
    return [int(top) for top in case["methods"][OURS]["errors"]]


def error(case: dict[str, Any], method: str, top: int) -> float:
    return float(case["methods"][method]["errors"][str(top)]["median"])


def contests(cases: list[dict[str, Any]]) -> Iterator[tuple[str, str, list[Comparison], bool]]:
    """Ours, theirs, the cases, and whether there is a target. The solver is forced on narrow data only."""
    narrow = [case for case in cases if case["methods"][OURS]["solver"] != "subspace"]
    for ours, equal, these in ((OURS, BYTES, cases), (SUBSPACE, BYTES_SUBSPACE, narrow)):
        for theirs in (SAME, equal, DOUBLE) if these else ():
            yield ours, theirs, comparisons(these, ours, theirs), theirs != DOUBLE


def losses(found: list[Comparison]) -> list[Comparison]:
    """Where ours is larger, worst first."""
    return sorted((one for one in found if one.larger), key=lambda one: (one.times_smaller, -one.ours))


def median_times(found: list[Comparison]) -> float:
    return median(one.times_smaller for one in found)
