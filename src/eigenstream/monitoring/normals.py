"""Normals beside the one that is followed: an anchor that stands still, and those of before.

The model that watches follows its stream. So a drift is learnt before it is seen, and so is, in time, a
fault. The *anchor* is the first normal as it was: what only it sees is drift. When a lasting alarm is
accepted, the normal before is not forgotten but becomes a *mode*: a row that fits one of them is none of an
alarm, so that a process which returns from a fault, a pause or another product is not an alarm again.
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..learners.knowledge import Floats, Matrix, Vector
from .judging import distances
from .limits import AVERAGE, DISTANCE, Limits
from .reference import Reference
from .trail import TILE

# Rows. The first normal of a stream that nobody declared normal rests on as many.
ANCHORED = 1000
"""Rows that have to be counted before the model is taken for an anchor."""

# Normals. Each is asked about every row that exceeds, and stored with the monitor: bounds time and file.
MODES = 3
"""Normals of before that are remembered."""


class Normal(NamedTuple):
    """A normal that stands still: what rows are judged by, and how rare they are."""

    reference: Reference
    limits: Limits

    @classmethod
    def of(cls, reference: Reference, limits: Limits) -> Normal:
        """Keep the present normal, by its own rows; later rows do not change it."""
        limits = copy.copy(limits)
        limits.memory = copy.copy(limits.memory)
        if limits.prior is not None:
            limits.rest_on(None)
        return cls(reference, limits)

    @property
    def judges_averages(self) -> bool:
        """True if it has a limit for averages: without one, it would never tell a drift."""
        return bool(self.limits.told[AVERAGE] and np.isfinite(self.reference.expected[AVERAGE]))

    def surprises(self, rows: Floats, places: NDArray[np.intp]) -> Vector:
        """Surprises of rows without gaps, each for itself, by their distance."""
        return self._surprises(DISTANCE, distances(self.reference, rows, places))

    def surprises_of_averages(self, averages: Matrix, places: NDArray[np.intp]) -> Vector:
        """Surprises of averages of rows, in units of the input, by their distance."""
        inverse = self.reference.alike[0]
        return self._surprises(AVERAGE, distances(self.reference, averages, places, inverse))

    def _surprises(self, which: int, found: Vector) -> Vector:
        return self.limits.surprise_of(which, found, self.reference)

    def resembles(self, other: Normal) -> bool:
        """True if the mean of each is nothing unusual for the other."""
        pairs = (self, other), (other, self)
        return all(
            float(distances(one.reference, two.reference.mean[None], np.zeros(1, np.intp))[0])
            <= one.reference.degrees[DISTANCE]
            for one, two in pairs
        )


def with_mode(modes: tuple[Normal, ...], normal: Normal) -> tuple[Normal, ...]:
    """Modes and one more, instead of those that it resembles; the latest are remembered."""
    return (*(mode for mode in modes if not mode.resembles(normal)), normal)[-MODES:]


def by_modes(
    modes: tuple[Normal, ...], rows: Floats, surprises: Vector, least: float
) -> tuple[Vector, NDArray[np.bool_]]:
    """Surprises of rows, if they are above the least by the mode that they fit best, and which fit one."""
    elsewhere = np.zeros(len(rows), dtype=bool)
    if not modes:
        return surprises, elsewhere
    with np.errstate(invalid="ignore"):
        odd = np.flatnonzero(surprises > least)
    for mode in modes if len(odd) else ():
        # Each in the first place of a tile: bits do not depend on which of them come together.
        theirs = mode.surprises(rows[odd], TILE * np.arange(len(odd)))
        better = odd[theirs < surprises[odd]]
        surprises[better] = theirs[theirs < surprises[odd]]
        elsewhere[better] = True
    return surprises, elsewhere
