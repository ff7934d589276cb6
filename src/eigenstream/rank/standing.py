"""Lines of the last look at everything, by which a glance tells that the rank stays (`decide_at_a_glance`).

A line is in proportion to the noise that is left before its eigenvalue. By how much it exceeds that of even
noise, because inputs are uneven, because of neighbours or because rows are alike, changes slowly: a look at
everything finds it, and for some looks after it a few numbers are enough.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..learners.bounds import SpectrumMoments
from ..learners.symmetric import WIDE
from .evidence import Evidence, Vector
from .noise import NEIGHBOURS
from .rule import Judgement, Rule

# A ratio. From look to look a line moves by a few per cent of itself, beyond what noise and samples explain.
CLEAR = 1.1
"""Factor by which eigenvalues have to stay on their side of a line for a glance to be enough."""
LOG_CLEAR = math.log(CLEAR)

# A ratio. Noise that grows or fades by more may have become uneven, and lines with it.
SAME_NOISE = 1.25
"""Factor by which the noise may have changed since the last look at everything."""

# Looks. As many steps of the grid are two to eight windows; what moves meanwhile is seen. Where rows are
# alike, how much so is taken from the last look at everything, and is less certain.
GLANCES, GLANCES_ALIKE = 32, 4
"""Most glances in sequence, where rows are independent and where they are alike; then everything is looked at
again."""

# Ratios. An eigenvalue of 500 samples strays by 6 %, and the mean of 60 of noise by less than 1 %. Components
# have to be clear of their lines by both, and by `CLEAR` after that.
STILL, STILL_NOISE = 1.1, 1.05
"""Factors by which kept variances and the noise may have moved since the last glance where nothing has
changed."""
CALM = CLEAR * STILL * STILL_NOISE
"""Factor by which components exceed their lines where the next look need not be a glance."""

# A squared sine: half a per cent of the variance of a component is beyond its axis. With a half-life of 500
# and 256 inputs, axes of components of 50 times the noise move by half of that from look to look, by chance.
STRAYED = 0.005
"""A kept axis may be this far from an eigenvector."""

# A share. A correlation of 0.2 between two axes, of 0.05 with each of 15 others; by chance it is 0.04 with a
# half-life of 500.
MIXED = 0.04
"""Scores along kept axes may tell this share of the variance of those along another."""

# A share. What has come may have grown while others have faded.
OF_ROOM = 0.5
"""Share of the squares that a component at its line would add, by which squares may grow."""

# A logarithm. Beyond a factor of e^10 nothing comes near.
LARGEST_MARGIN = 10.0
"""Margins larger than this count as this: they have to be numbers."""

# A ratio. Where all but rounding is kept, lines are those of rounding.
ABOVE_GROUND = 2.0
"""Factor by which the threshold has to exceed the ground."""


class Last(NamedTuple):
    """Moments of the last glance: variances, per sample."""

    samples: float
    """Effective number of samples."""
    rest: float
    """Sum of the variances beyond the kept ones."""
    spread: float
    """Sum of their squares over the square of their sum."""
    kept: tuple[float, ...]
    """The kept ones."""


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
    room: float = 0.0
    """Growth of the squares of all that is not kept, in units of its squared mean, by which nothing can have
    come near its line since the last glance. 0: the next look has to be a glance at least."""
    spectrum: tuple[float, ...] = ()
    """Variances that decide, of narrow input; empty elsewhere."""
    unit: float = 0.0
    """Line of even noise of variance 1 before the first component."""
    margin: float = 0.0
    """Logarithm of the factor by which the nearest variance is clear of its line, on either side."""
    last: Last | None = None
    """Moments of the last glance, where there is room."""

    @property
    def is_fresh(self) -> bool:
        """True if another glance may follow: of narrow input, some variance may move and be clear."""
        clear = not self.spectrum or self.margin > LOG_CLEAR
        return bool(self.lines) and clear and self.glances < (GLANCES_ALIKE if self.persistence else GLANCES)


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
    spectrum, unit, margin = evidence.variances, float(units[0] / noise[0]), 0.0
    deciding = 0
    if len(spectrum) < WIDE:
        # Components are in the upper half of a spectrum, and are compared with what follows.
        deciding = evidence.n_inputs // 2 + NEIGHBOURS
        margin = _margin(judgement.ratios, rank, evidence.capacity)
    return Standing(
        tuple(lines.tolist()),
        tuple((kept / units[:-1]).tolist()),
        float(noise[-1]),
        persistence,
        spectrum=tuple(spectrum[:deciding].tolist()),
        unit=unit,
        margin=margin,
    )


def _margin(ratios: Vector, rank: int, capacity: int) -> float:
    """`Standing.margin`, of ratios of variances to their lines; at full capacity others do not matter."""
    nearest = float(ratios[:rank].min(initial=math.inf))
    if rank < capacity and rank < len(ratios) and ratios[rank] > 0:
        nearest = min(nearest, 1 / float(ratios[rank]))
    return min(math.log(nearest), LARGEST_MARGIN) if nearest > 1 else 0.0


def may_have_crossed(standing: Standing, rule: Rule, evidence: Evidence) -> bool:
    """True if some variance may be on the other side of its line, by how far all of them have moved since.

    A line is in proportion to the variances behind it: both have moved by no more than the one that has moved
    most. So has the ratio of two neighbours, by which a gap counts. False where variances are not known.
    """
    before = standing.spectrum
    if not before:
        return False
    if len(evidence.variances) < len(before):
        return True
    moved = 2 * float(np.abs(np.log(evidence.variances[: len(before)] / before)).max()) + LOG_CLEAR
    if not moved < standing.margin:
        return True
    unit = rule.units(evidence, 1)
    if unit is None:
        return True
    samples = math.log(float(np.asarray(unit).flat[0]) / standing.unit)
    return not moved + abs(samples) < standing.margin


class Clear(NamedTuple):
    """A threshold that is clearly between what is kept and what is not."""

    threshold: float
    room: float
    """See `Standing.room`."""


def clear_of(standing: Standing, rule: Rule, evidence: Evidence, rank: int, below: float) -> Clear | None:
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
    margin = math.inf
    for mine, line, before, unit in zip(kept, standing.lines, standing.kept, units, strict=False):
        nearer = max(before * unit / mine, 1.0) if mine > 0 else math.inf
        margin = min(margin, mine / (nearer * max(line * unit, threshold)))
    # At full capacity it does not matter what else there is.
    clear = rank == evidence.capacity or CLEAR * below < threshold
    if not (clear and margin > CLEAR and threshold > ABOVE_GROUND * evidence.ground):
        return None
    room = 0.0
    if margin > CALM and not standing.persistence:
        line, largest = threshold / CLEAR / noise[-1], below / noise[-1]
        added = (line - largest) * (line + largest)
        room = OF_ROOM * added if rank < evidence.capacity else float(evidence.n_inputs**2)
    return Clear(threshold, room)


def is_still(standing: Standing, now: SpectrumMoments, samples: float, n_inputs: int) -> bool:
    """True if nothing has moved since the last glance, so that another one would find the same.

    Parameters
    ----------
    standing
        Findings of the last look at everything and of the last glance.
    now
        The present moments, per sample.
    samples
        The present effective number of samples.
    n_inputs
        Number of inputs that vary.
    """
    last = standing.last
    if last is None or len(last.kept) != len(now.kept) or now.strayed > STRAYED or now.mixed > MIXED:
        return False
    if not last.rest < STILL_NOISE * now.rest < STILL_NOISE**2 * last.rest:
        return False
    for before, mine in zip(last.kept, now.kept, strict=True):
        if not before < STILL * mine < STILL**2 * before:
            return False
    number = n_inputs - len(now.kept)
    # In units of the squared mean. Beyond those of equal variances, they become less as samples become more.
    beyond, before = (number * number * spread - number for spread in (now.spread, last.spread))
    return beyond < before * min(last.samples / samples, 1.0) + standing.room


def _noise_left(evidence: Evidence, kept: list[float]) -> list[float]:
    """`Evidence.noise_left` of a few numbers, which arrays would take longer for."""
    n = evidence.n_inputs
    share = n / min(n, max(evidence.effective, 2.0))
    found, left = [evidence.total / n], evidence.total
    for i, mine in enumerate(kept, 1):
        left -= mine
        found.append(max(left, 0.0) / max(n - share * i, share))
    return found
