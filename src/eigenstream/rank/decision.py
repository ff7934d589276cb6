"""The one place where threshold and rank are decided, for offline and online models alike: `decide`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..regularizers import Regularizer
from .edges import effective_samples
from .evidence import Evidence
from .noise import PER_COMPONENT
from .rule import Judgement, Rule
from .standing import Standing, clear_of, standing_of

LARGEST_ALPHA = 1e3
"""Cap for `SquaredOutput`, whose threshold approaches the largest eigenvalue only as alpha grows forever."""


class Memory(NamedTuple):
    """Memory of the decisions before on the same stream."""

    samples: float = 0.0
    """Number of samples at that decision; 0: there has been none."""
    since: float = 0.0
    """Effective number of samples when the rank last changed, or was decided without patience."""
    doubt: float = 0.0
    """For how many samples, times standard deviations, the rule has asked without pause for more components
    (or fewer: negative, and times squares of these)."""
    asked: float = 0.0
    """The mean rank that it asked for meanwhile."""


class Decision(NamedTuple):
    """Decision about the components that are kept, with the memory for the next one on the same stream."""

    alpha: float
    threshold: float
    """Threshold between kept and dropped variances, per sample."""
    rank: int
    memory: Memory = Memory()
    standing: Standing = Standing()
    """Lines by which a glance tells whether the decision still stands."""


# Standard deviations. Streams are looked at thousands of times: at three, chance alone would change the rank
# of some that stand still. A component that was found is let go more slowly than one is taken in.
ENTER, LEAVE = 5.0, 8.0
"""Standard deviations of an eigenvalue by which the rule must want more components, or fewer, for the rank to
change at once."""

# Standard deviations. Where rows are alike a window is worth few of them, and a deviation is large: what the
# rule asks for, which allows for that already, would wait for tens of windows. At 0.5, of 40 streams of noise
# of 0.9, half-life 300, one has a component at times, and at 1.5 none; at 5, three to five factors in it are
# right in 90 % of the time instead of always (seeds from 830,000 on).
ENTER_ALIKE = 1.5
"""The same for more components where rows are alike."""

# Shares of the effective samples of a full window: a third of a half-life has passed, and almost three. With
# patience from the first on, three to five factors in noise of 0.99 were found in 41 % of the time.
YOUNG, FILLED = 0.15, 0.75
"""Before the first, the rank is decided as if nothing would ever be forgotten; from there on whenever the
number of samples has doubled, and at the second for the last time."""

# A ratio. Of the first 200 rows that are alike, the number of independent ones is anybody's guess.
YOUNG_ALIKE = 1.25
"""Growth of the number of samples from look to look beyond which a glance at rows alike is not enough."""

MOST_DEVIATIONS = 100.0
"""More than these are as good as any."""

# Components that come and go in noise of six kinds: 96 % of the time right with 6, 98 % with 4, and fewer
# false changes (seeds from 720,000 on). With 3, photographs and digits begin to flicker. To let go, squares
# of deviations count: what has vanished fades to well below its line, and what lies at its line does not. Of
# components of 3 times the edge, 98 to 100 % of the time is right, and 96 to 98 % if deviations themselves
# count and 3 windows are enough (seeds from 731,000 on); at 4, 6 and 8 digits and photographs flicker less.
PATIENCE = 4.0
"""Windows for which it must want more components, or fewer, by one standard deviation. By two, half as long
for more, and a quarter as long for fewer."""


def decide(
    kind: type[Regularizer],
    alpha: float | Rule,
    evidence: Evidence,
    before: Decision | None = None,
    *,
    glances: bool = False,
) -> Decision:
    """Alpha, threshold and rank: the one decision that offline and online models share.

    On a stream, eigenvalues fluctuate about the lines that a rule draws. The rank therefore changes only
    where lines are crossed by several standard deviations of an eigenvalue (``sqrt(2 / T)`` of it in T
    effective samples), or by fewer for longer: the deviations by which the rule asks for more components
    without pause have to add up to those of one deviation during four windows, and so have their squares for
    fewer components. While the window fills, the rank is what the rule says whenever the number of samples
    has doubled. There is no memory where alpha is a number, where the rule is a number or a share, or where
    nothing is forgotten: such a model becomes ever more certain, and says what an offline model of the same
    rows says. Nor is there one for a network, which does not learn what its threshold holds back.

    Parameters
    ----------
    kind
        The regularizer.
    alpha
        Its coefficient, or the rule that finds it.
    evidence
        What is known of the input.
    before
        What was decided at the last look at the same stream; None: offline.
    glances
        Whether glances may follow.

    Examples
    --------
    >>> from eigenstream import InputOutput
    >>> from eigenstream.rank import NoiseEdge
    >>> evidence = Evidence(np.array([6.0, 5.0, 0.1]), 17.0, capacity=3, n_inputs=63, n_samples=900)
    >>> decide(InputOutput, NoiseEdge(), evidence).rank
    2
    """
    lam = evidence.variances[: evidence.capacity]
    threshold, memory, standing = 0.0, Memory(), Standing()
    if isinstance(alpha, Rule):
        judgement = alpha.judge(evidence)
        rank = judgement.rank()
        if alpha.patient and before is not None and evidence.tells_below_threshold:
            rank, memory = _remembered(judgement, evidence, before)
        # The rank is what exceeds this threshold, whatever the regularizer: squared-output by itself would
        # always keep one mode.
        threshold = max(_between(evidence.variances, rank, judgement.lines), evidence.ground)
        if glances:
            kept = int(np.count_nonzero(lam > threshold))
            standing = standing_of(alpha, judgement, evidence, kept, threshold)
        alpha = automatic_alpha(kind, lam, evidence.total, threshold)
    elif evidence.accumulated is None:
        threshold = kind(alpha).threshold_from(lam, evidence.total)
    if evidence.accumulated is not None:
        tau, theta0 = evidence.accumulated
        threshold = max(alpha * tau + theta0, threshold)
    return Decision(alpha, threshold, int(np.count_nonzero(lam > threshold)), memory, standing)


def decide_at_a_glance(
    kind: type[Regularizer], rule: Rule, evidence: Evidence, below: float, before: Decision
) -> Decision | None:
    """Decide by a glance where it is clear that the rank stays; None where it is not clear.

    Components become more only where ``below`` comes near its line, which is seen at once. Lines also rise
    where noise becomes more uneven, or rows like those before: what is then to be let go is seen at the next
    look at everything.

    Parameters
    ----------
    kind, rule
        The regularizer, and what finds its coefficient.
    evidence
        Totals, and lower bounds of the leading eigenvalues, as many as there are components at least; the
        persistence of rows as of the last look at everything.
    below
        Upper bound of the largest eigenvalue that is not kept.
    before
        What was decided at the last look at the same stream.
    """
    rank = before.rank
    young = before.standing.persistence and evidence.n_samples > YOUNG_ALIKE * before.memory.samples
    if young or evidence.effective < PER_COMPONENT * rank:
        return None
    clear = clear_of(before.standing, rule, evidence, rank, below)
    if clear is None:
        return None
    since = _since(before.memory.since, evidence.effective, evidence.beta2)
    standing = before.standing._replace(glances=before.standing.glances + 1, room=clear.room, last=None)
    alpha = automatic_alpha(kind, evidence.variances[:rank], evidence.total, clear.threshold)
    return Decision(alpha, clear.threshold, rank, Memory(evidence.n_samples, since), standing)


def decide_unmoved(before: Decision, samples: float, beta2: float) -> Decision:
    """The decision of before once more, after this number of samples: nothing has moved (`is_still`)."""
    standing = before.standing._replace(glances=before.standing.glances + 1)
    since = _since(before.memory.since, effective_samples(samples, beta2), beta2)
    return before._replace(memory=before.memory._replace(samples=samples, since=since), standing=standing)


def _since(since: float, effective: float, beta2: float) -> float:
    """`Memory.since` after a look at which the rank stood: now, if it would have been decided anew."""
    since = min(since, effective)
    if beta2 == 1:
        return effective
    full = effective_samples(math.inf, beta2)
    return effective if effective < YOUNG * full or _is_due(since, effective, full) else since


def _remembered(judgement: Judgement, evidence: Evidence, before: Decision) -> tuple[int, Memory]:
    """The rank, given what was decided before, and what to remember."""
    # After a long pause little is left of what was known: fewer samples, and perhaps fewer directions.
    held, capacity = min(before.rank, len(evidence.variances)), evidence.capacity
    memory = before.memory._replace(since=min(before.memory.since, evidence.effective))
    asked = judgement.rank()
    wanted = min(asked, capacity)
    deviations = _deviations(judgement, evidence, held, wanted)
    doubt, mean = 0.0, float(wanted)
    if memory.samples and wanted != held:
        gained = (deviations if wanted > held else deviations * deviations) * (
            evidence.n_samples - memory.samples
        )
        doubt = gained if wanted > held else -gained
        if memory.doubt * doubt > 0:
            doubt += memory.doubt
            mean = memory.asked + (wanted - memory.asked) * gained / abs(doubt)
    at_once = not memory.samples or _is_clear(evidence, deviations, wanted > held, memory.since)
    if wanted == held or at_once:
        rank = wanted
    elif abs(doubt) >= PATIENCE * _window(evidence.beta2):
        rank = round(mean)
    else:
        return max(held, asked) if held == capacity < asked else held, Memory(
            evidence.n_samples, memory.since, doubt, mean
        )
    since = evidence.effective if at_once or rank != held else memory.since
    return asked if rank == capacity else rank, Memory(evidence.n_samples, since)


def _deviations(judgement: Judgement, evidence: Evidence, held: int, wanted: int) -> float:
    """Standard deviations by which lines are crossed that speak against the rank that is held."""
    crossed = float(judgement.ratios[: held + (wanted > held)].min(initial=math.inf))
    if wanted == held or not crossed:
        return 0.0 if wanted == held else MOST_DEVIATIONS
    deviation = math.sqrt(2 / evidence.n_independent(max(held, wanted)))
    return min(abs(math.log(crossed)) / deviation, MOST_DEVIATIONS)


def _is_clear(evidence: Evidence, deviations: float, more: bool, since: float) -> bool:
    """True if the rank has to change at once."""
    if evidence.beta2 == 1 and evidence.tells_below_threshold:
        return True
    full = effective_samples(math.inf, evidence.beta2)
    if evidence.effective < YOUNG * full:
        return True
    if _is_due(since, evidence.effective, full):
        return True
    enter = ENTER_ALIKE if evidence.alike else ENTER
    return deviations > (enter if more else LEAVE)


def _is_due(since: float, effective: float, full: float) -> bool:
    """True if the number of samples has doubled since the rank was decided, as long as the window fills."""
    return since < FILLED * full and effective >= min(2 * since, FILLED * full)


def _window(beta2: float) -> float:
    return 1 / (1 - beta2) if beta2 < 1 else math.inf


def _between(lam: NDArray[np.float64], rank: int, lines: NDArray[np.float64]) -> float:
    """A threshold that keeps this many eigenvalues, near the line of the first one dropped."""
    if not lam.size:
        return 0.0
    first_dropped = float(lam[rank]) if rank < len(lam) else 0.0
    wish = max(float(lines[rank]), first_dropped)
    if not rank or wish < lam[rank - 1]:
        return wish if rank < len(lam) else min(wish, 0.9 * float(lam[-1]))
    below = 0.9 * float(lam[rank - 1])
    return below if below >= first_dropped else float(np.nextafter(lam[rank - 1], 0))


def automatic_alpha(kind: type[Regularizer], lam: ArrayLike, total: float, threshold: float) -> float:
    """The alpha whose threshold comes as near to ``threshold`` as this regularizer can."""
    r0, r1, r2 = kind.increment
    output = float(np.maximum(np.asarray(lam, dtype=np.float64) - threshold, 0).sum()) if r2 else 0.0
    measure = r0 + r1 * total + r2 * output
    if r2:
        return min(threshold / measure, LARGEST_ALPHA) if measure > 0 else LARGEST_ALPHA
    return threshold / measure if measure > 0 else 0.0
