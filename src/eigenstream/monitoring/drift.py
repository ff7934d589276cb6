"""Distance between two states of a model."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from .reference import Reference


class Drift(NamedTuple):
    """Distance that a monitor has moved from its anchor, in four numbers."""

    level: float
    """The largest shift of an input's mean, in standard deviations of that input."""
    spread: float
    """The largest factor by which the standard deviation of an input has grown or shrunk; 1: none has."""
    directions: float
    """Number of components that it has turned away from."""
    limits: float
    """The factor by which the limit of distances has risen: faults that exceeded it once may not any more."""

    @classmethod
    def between(cls, before: Reference, now: Reference, limits: float) -> Self:
        """From one reference to another, with the factor by which limits have risen."""
        tiny = np.finfo(np.float64).tiny
        varies = (before.spreads > 0) & (now.spreads > 0)
        shift = np.abs(now.mean - before.mean)[varies] / before.spreads[varies]
        ratio = np.abs(np.log(np.maximum(now.spreads[varies], tiny) / before.spreads[varies]))
        level, spread = (float(each.max(initial=0.0)) for each in (shift, ratio))
        return cls(level, float(np.exp(min(spread, 700.0))), before.turned(now), limits)
