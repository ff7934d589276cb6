"""Lines of the last look at everything, by which a glance tells that the rank stays (`decide_at_a_glance`).

A line is in proportion to the noise that is left before its eigenvalue. By how much it exceeds that of even
noise, because inputs are uneven, because of neighbours or because rows are alike, changes slowly: a look at
everything finds it, and for some looks after it a few numbers are enough.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .evidence import Evidence
from .rule import Judgement, Rule

# A ratio. From look to look a line moves by a few per cent of itself, beyond what noise and samples explain.
CLEAR = 1.1
"""Factor by which eigenvalues have to stay on their side of a line for a glance to be enough."""

# A ratio. Noise that grows or fades by more may have become uneven, and lines with it.
SAME_NOISE = 1.25
"""Factor by which the noise may have changed since the last look at everything."""

# Looks. As many steps of the grid are two to eight windows; what moves meanwhile is seen. Where rows are
# alike, how much so is taken from the last look at everything, and is less certain.
GLANCES, GLANCES_ALIKE = 32, 4
"""Most glances in sequence, where rows are independent and where they are alike; then everything is looked at
again."""

# A ratio. Where all but rounding is kept, lines are those of rounding.
ABOVE_GROUND = 2.0
"""Factor by which the threshold has to exceed the ground."""


class Standing(NamedTuple):
    """Findings of the last look at everything, in units of the line of even noise."""

    lines: tuple[float, ...] = ()
    """Line of each kept component and of the first that is not, in units of the line of even noise of what is
    left before it. Empty: nothing is known that a glance could be compared with."""
    kept: tuple[float, ...] = ()
    """Variance of each kept component, in the same units."""
    noise: float = 0.0
    """Mean variance of what the components leave."""
    persistence: tuple[float, ...] = ()
    """Number of rows that say as much as one independent row, by what 0, 1, ... components leave of them;
    empty where rows were independent."""
    glances: int = 0
    """Number of glances since then."""

    @property
    def is_fresh(self) -> bool:
        """True if another glance may follow."""
        return bool(self.lines) and self.glances < (GLANCES_ALIKE if self.persistence else GLANCES)


def standing_of(
    rule: Rule, judgement: Judgement, evidence: Evidence, rank: int, threshold: float
) -> Standing:
    """The lines between what is kept and what is not, where the rule asks for just this rank."""
    asked = min(judgement.rank(), evidence.capacity)
    if rank != asked or not threshold > ABOVE_GROUND * evidence.ground:
        return Standing()
    noise, tau = evidence.noise_left(evidence.variances[:rank]), evidence.persistence
    even = rule.units(evidence, rank + 1)
    if even is None or not noise[-1] > 0:
        return Standing()
    units, kept = even * noise, evidence.variances[:rank]
    lines = np.append(kept / judgement.ratios[:rank], threshold) / units
    persistence = () if tau is None else tuple(tau[: rank + 1].tolist())
    return Standing(tuple(lines.tolist()), tuple((kept / units[:-1]).tolist()), float(noise[-1]), persistence)


def threshold_of(standing: Standing, rule: Rule, evidence: Evidence, rank: int, below: float) -> float | None:
    """The threshold, if these components are clearly above their lines, and all else clearly below its own.

    A component that has come closer to its line has to be clear of it by as much again: what has moved may
    have moved its line, too.

    Parameters
    ----------
    standing
        Findings of the last look at everything.
    rule
        The rule that drew the lines.
    evidence
        Lower bounds of the leading eigenvalues, and totals.
    rank
        Number of components that are kept.
    below
        Upper bound of the largest eigenvalue that is not.
    """
    if len(standing.lines) != rank + 1 or len(evidence.variances) < rank:
        return None
    kept: list[float] = evidence.variances[:rank].tolist()
    noise = _noise_left(evidence, kept)
    if not standing.noise < SAME_NOISE * noise[-1] < SAME_NOISE**2 * standing.noise:
        return None
    even = rule.units(evidence, rank + 1)
    if even is None:
        return None
    units = [even * mine for mine in noise] if isinstance(even, float) else (even * noise).tolist()
    threshold: float = standing.lines[-1] * units[-1]
    for mine, line, before, unit in zip(kept, standing.lines, standing.kept, units, strict=False):
        nearer = max(before * unit / mine, 1.0) if mine > 0 else math.inf
        if not mine > CLEAR * nearer * max(line * unit, threshold):
            return None
    # At full capacity it does not matter what else there is.
    clear = rank == evidence.capacity or CLEAR * below < threshold
    return threshold if clear and threshold > ABOVE_GROUND * evidence.ground else None


def _noise_left(evidence: Evidence, kept: list[float]) -> list[float]:
    """`Evidence.noise_left` of a few numbers, which arrays would take longer for."""
    n = evidence.n_inputs
    share = n / min(n, max(evidence.effective, 2.0))
    found, left = [evidence.total / n], evidence.total
    for i, mine in enumerate(kept, 1):
        left -= mine
        found.append(max(left, 0.0) / max(n - share * i, share))
    return found
