"""Test by a glance that a decision still stands: see `decide_at_a_glance`.

A line is in proportion to the noise that is left before its eigenvalue. By how much it exceeds that of even
noise, because inputs are uneven, because of neighbours or because rows are alike, changes slowly: a look at
everything finds it, and for some looks after it a few numbers are enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .evidence import Evidence
from .rule import Judgement, Rule

# A ratio. From look to look a line moves by a few per cent of itself, beyond what noise and samples explain.
CLEAR = 1.1
"""Factor by which eigenvalues have to stay on their side of a line for a glance to be enough."""

# Looks. 16 steps of the grid are one to four windows. Components that are let go because of lines that
# have risen are doubted for as long, unless they are far below.
GLANCES = 16
"""Most glances in sequence; then everything is looked at again."""

# A ratio. Where all but rounding is kept, lines are those of rounding.
ABOVE_GROUND = 2.0
"""Factor by which the threshold has to exceed the ground."""


class Standing(NamedTuple):
    """Lines of the last look at everything."""

    lines: tuple[float, ...] = ()
    """Line of each kept component and of the first that is not, in units of the line of even noise of what is
    left before it. Empty: nothing is known that a glance could be compared with."""
    alike: bool = False
    """True if rows were like those before: then a glance has to count independent ones."""
    glances: int = 0
    """Number of glances since then."""


def standing_of(
    rule: Rule, judgement: Judgement, evidence: Evidence, rank: int, threshold: float
) -> Standing:
    """The lines between what is kept and what is not, where the rule asks for just this rank."""
    asked = min(judgement.rank(), evidence.capacity)
    if rank != asked or not threshold > ABOVE_GROUND * evidence.ground:
        return Standing()
    units = _units(rule, evidence, rank)
    if units is None or not units[-1] > 0:
        return Standing()
    lines = np.append(evidence.variances[:rank] / judgement.ratios[:rank], threshold)
    return Standing(tuple((lines / units).tolist()), evidence.persistence is not None)


def threshold_of(standing: Standing, rule: Rule, evidence: Evidence, rank: int, below: float) -> float | None:
    """The threshold, if these components are clearly above their lines, and all else clearly below its own.

    Parameters
    ----------
    standing
        Lines of the last look.
    rule
        The rule that drew them.
    evidence
        Lower bounds of the leading eigenvalues, and totals.
    rank
        Number of components that are kept.
    below
        Upper bound of the largest eigenvalue that is not.
    """
    if len(standing.lines) != rank + 1 or len(evidence.variances) < rank:
        return None
    units = _units(rule, evidence, rank)
    if units is None:
        return None
    lines, kept = standing.lines * units, evidence.variances[:rank]
    threshold = float(lines[-1])
    clear = bool((kept > CLEAR * np.maximum(lines[:-1], threshold)).all())
    # At full capacity it does not matter what else there is.
    clear &= rank == evidence.capacity or CLEAR * below < threshold
    return threshold if clear and threshold > ABOVE_GROUND * evidence.ground else None


def _units(rule: Rule, evidence: Evidence, rank: int) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    """Line of even noise of what is left after 0, 1, ... of the components that are kept (rank + 1)."""
    units = rule.units(evidence, rank + 1)
    return None if units is None else units * evidence.noise_left(evidence.variances[:rank])
