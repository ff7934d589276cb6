"""Advice where a model ends at rank 0 or at its capacity, or where inputs have very different units.

And what other rules find, where that is clearly different.
"""

from __future__ import annotations

import numpy as np

from . import Evidence, FixedRank, NoiseEdge, ParallelAnalysis, Rule, other_ranks
from .moving import rank_of_moves
from .noise import GAP_ALONE

# Samples per input. The edge of white noise lies at (1 + sqrt(1/4))^2 = 2.25 times its mean there.
FEW_SAMPLES = 4
"""Below this many samples per input the edge of the noise is far from its mean, and hides weak components."""

# Rows. As many as are looked at first; the largest variance of fewer is many times the others by chance.
FEWEST = 16
"""Rows below which nothing is said of the spectrum but that they are too few."""

# Rows. Guards against a sentence about rows that are nearly independent; not measured.
ALIKE = 2
"""Rows that say as much as one independent row, from which on that is told."""

# Independent rows. Random walks are worth 1.0 to 4.3 at any length (8 and 30 inputs, 500 to 20,000 rows;
# seeds from 850,000 on); 2,000 rows of 0.99 are worth 15 or more.
WALKS = 5
"""Rows that are worth less than this may be random walks, and more of them be worth no more."""

# Rows. Any first rows that are alike are worth one or two: only of so many does that say something.
SLOW = 200
"""Rows for one independent row from which on they move like random walks. Those of 0.99 need 100."""

# A ratio of variances: of standard deviations it is 32. Guards against advice about inputs in one unit.
UNLIKE = 1e3
"""Ratio of the largest to the median variance of inputs above which they may well have different units."""

# A share of the variance.
UNSETTLED = 0.05
"""Excess over all of the variance from which variances are not those of the stream yet. A random start reads
1.05 times it after 100 rows of the paper's stream, and less from 1,000 on; few rows read several times it."""

# A share. Noise of equal variances with `FEW_SAMPLES` rows for each input has no direction below a quarter of
# its mean. Of 20 draws each of 2 factors in 3 inputs to 12 in 20, 200 rows, most are named, and of 60 draws
# of uneven noise none is.
RELATED = 0.1
"""Directions that vary by less than this share of the least variance of an input follow from the others."""

# A ratio. Guards against a note where rules differ by a few of many components; not measured.
CLEARLY = 2
"""Ratio of two ranks that differ clearly."""


def advice(evidence: Evidence, rank: int, alpha: float | Rule, of_differences: int | None = None) -> str:
    """Describe the spectrum and say what to try, where the rank is 0 or as large as it can be.

    Where rows are so alike that further components cannot be told, that is said at any rank, too. Where some
    inputs vary far more than others, perhaps because of their units, that is said at any rank.
    Empty where there is nothing to say.

    Parameters
    ----------
    evidence
        What the rank was decided on.
    rank
        How many components are kept.
    alpha
        The coefficient or the rule.
    of_differences
        How many components the differences from row to row have; None: as the evidence says, if it does.

    Examples
    --------
    >>> lam = np.linspace(1.3, 0.7, 20)
    >>> evidence = Evidence(lam, lam.sum(), capacity=8, n_inputs=20, n_samples=60)
    >>> print(advice(evidence, 0, NoiseEdge()))  # doctest: +ELLIPSIS
    no component stands out: the largest variance, 1.3, is 1.32 times the mean of the others. ...
    """
    if not evidence.variances.size or not evidence.variances[0] > 0:
        return "nothing varies: all inputs are constant so far" if rank == 0 else ""
    units = [*_units(evidence), *_related(evidence, rank, alpha)]
    undecided: list[str] = []
    if isinstance(alpha, Rule) and cannot_be_told(evidence, rank, alpha):
        if of_differences is None:
            of_differences = rank_of_moves(evidence, alpha)
        undecided = _undecided(evidence, rank, of_differences)
    if rank == 0:
        told = undecided or _too_few(evidence) or [_flat(evidence), *_few(evidence, alpha)]
        return " ".join([*told, *units, _others(evidence, alpha)])
    if rank >= evidence.capacity < evidence.n_inputs and not isinstance(alpha, FixedRank):
        return " ".join([_full(evidence), *units, _others(evidence, alpha)])
    if isinstance(alpha, NoiseEdge) and rank >= evidence.n_inputs // 2 > 1:
        return " ".join([_floorless(rank), *units, _others(evidence, alpha)])
    return " ".join([*undecided, *units])


def second_opinion(evidence: Evidence, rank: int, alpha: float | Rule) -> str:
    """Name the ranks of other rules, where one that looks for components finds a clearly different one.

    Empty where there is none. A share of the variance counts noise as well: it finds another rank in almost
    every stream, which alone is no news.

    Examples
    --------
    >>> lam = 1 / np.arange(1.0, 31)
    >>> evidence = Evidence(lam, lam.sum(), capacity=20, n_inputs=30, n_samples=900)
    >>> print(second_opinion(evidence, 2, NoiseEdge()))  # doctest: +ELLIPSIS
    Other rules would keep: parallel analysis (n_components='parallel'): 5; 95 % of the variance ...
    """
    ranks = other_ranks(evidence)
    found = [ranks[str(rule)] for rule in (NoiseEdge(), ParallelAnalysis())]
    differ = any(max(rank, other) >= CLEARLY * max(min(rank, other), 1) for other in found)
    return _others(evidence, alpha, ranks) if differ else ""


def _units(evidence: Evidence) -> list[str]:
    """True if inputs vary so differently that the largest may hide the others."""
    if evidence.input_variances is None:
        return []
    varying = np.sort(evidence.input_variances[evidence.input_variances > 0])[::-1]
    ratio = float(varying[0]) / float(np.median(varying))
    if ratio < UNLIKE:
        return []
    sums = np.cumsum(varying)
    few = int(np.searchsorted(sums, 0.9 * sums[-1])) + 1
    make = "makes" if few == 1 else "make"
    return [
        f"{few} of {evidence.n_inputs} inputs {make} up 90 % of the variance, and the largest is {ratio:.2g} "
        "times the median. If that is because of their units, standardize=True puts all inputs on the same "
        "scale; if a few rows far off the others make it, outliers='cap' bounds their weight."
    ]


def _related(evidence: Evidence, rank: int, alpha: float | Rule) -> list[str]:
    """A sentence on inputs that follow from each other, where more is real than the rule may keep."""
    lam, inputs, n = evidence.variances, evidence.input_variances, evidence.n_inputs
    if (
        not isinstance(alpha, NoiseEdge)
        or inputs is None
        or len(lam) != n
        or _rows(evidence) < FEW_SAMPLES * n
    ):
        return []
    real = int(np.count_nonzero(lam >= RELATED * inputs[inputs > 0].min()))
    if real == rank or not n // 2 < real < n or lam[real - 1] < GAP_ALONE * lam[real]:
        return []
    relations = "a relation" if n - real == 1 else f"{n - real} relations"
    return [
        f"The inputs nearly obey {relations}, such as a balance of masses: only {real} of {n} directions "
        "vary much. All of these may be components, but this rule keeps at most half of the directions: "
        f"n_components={real} keeps these."
    ]


def _too_few(evidence: Evidence) -> list[str]:
    """A sentence on rows that are so few that nothing can be said of them."""
    rows = round(_rows(evidence))
    if rows >= FEWEST or evidence.beta2 < 1:
        return []
    some = "1 row is" if rows == 1 else f"{rows} rows are"
    return [f"{some} too few to tell whether a component stands out."]


def _flat(evidence: Evidence) -> str:
    largest = float(evidence.variances[0])
    rest = (evidence.total - largest) / max(evidence.n_inputs - 1, 1)
    ratio = f"{largest / rest:.3g} times the mean of the others" if rest > 0 else "all there is"
    return f"no component stands out: the largest variance, {largest:.3g}, is {ratio}."


def worth(evidence: Evidence, rank: int) -> str:
    """Say how many independent rows the rows are worth, by what the components leave; empty if nearly all.

    Examples
    --------
    >>> alike = np.array([400.0])
    >>> slow = Evidence(np.ones(4), 4.0, capacity=4, n_inputs=4, n_samples=5000, persistence=alike)
    >>> worth(slow, 0)
    '5,000 rows, each like the one before: worth about 10 independent ones'
    """
    independent = evidence.n_independent(rank)
    if ALIKE * independent > evidence.effective:
        return ""
    amount = "1 independent one" if round(independent) == 1 else f"{independent:,.0f} independent ones"
    which = "" if evidence.beta2 == 1 else " remembered"
    return f"{_rows(evidence):,.0f} rows{which}, each like the one before: worth about {amount}"


def cannot_be_told(evidence: Evidence, rank: int, alpha: float | Rule) -> bool:
    """True if rows are so alike that they are too few to tell whether there are more components than these.

    Beyond the first there may be more where a rule that took rows for samples would find them.
    """
    if not isinstance(alpha, Rule) or rank >= evidence.capacity:
        return False
    if not worth(evidence, rank) or evidence.n_independent(rank) >= _needed(evidence):
        return False
    by_rows = evidence._replace(persistence=None)
    return rank == 0 or alpha.judge(evidence).rank() <= rank < alpha.judge(by_rows).rank()


def _needed(evidence: Evidence) -> int:
    """Independent samples that show all but weak components; a window of W samples has the weight of 2 W."""
    return (1 + (evidence.beta2 < 1)) * FEW_SAMPLES * evidence.n_inputs


def _rows(evidence: Evidence) -> float:
    """Number of rows that are remembered, with those that the mean has taken."""
    return evidence.effective + (evidence.spent if evidence.beta2 == 1 else 0)


def _undecided(evidence: Evidence, rank: int, of_differences: int | None) -> list[str]:
    """Sentences that say why further components cannot be told, and what would help."""
    n, independent, alike = evidence.n_inputs, evidence.n_independent(rank), worth(evidence, rank)
    factor = _needed(evidence) / independent
    more = f"more than {_components(rank)}" if rank else "components"
    question = f"Whether there {'is' if rank == 1 else 'are'} {more}"
    if independent < min(WALKS, _rows(evidence) / SLOW):
        answer = "cannot be told: rows move like random walks, of which no number of rows is enough"
    elif evidence.beta2 < 1:
        answer = f"cannot be told yet: a half-life {factor:.2g} times as long would do"
    else:
        missing = _rows(evidence) * (factor - 1)
        answer = f"cannot be told yet: about {missing:,.0f} more rows like these would do"
    return [
        f"{alike[0].upper()}{alike[1:]}, for {n} input{'s' if n > 1 else ''}.",
        f"{question} {answer}.",
        "Differences from row to row may tell more than the rows themselves"
        + ("" if of_differences is None else f" (they have {_components(of_differences)})")
        + "; if the order of rows means nothing, shuffle them.",
    ]


def _few(evidence: Evidence, alpha: float | Rule) -> list[str]:
    """Sentences about what more samples would show, where there are few for the number of inputs."""
    n, T, alike = evidence.n_inputs, _rows(evidence), worth(evidence, 0)
    if alike:
        return [f"{alike[0].upper()}{alike[1:]}."]
    if evidence.n_independent(0) >= _needed(evidence) or not isinstance(alpha, Rule):
        return []
    if evidence.beta2 < 1:
        return [f"The half-life is short for {n} inputs: a longer one sees weaker components."]
    amount = "There is only 1 sample" if round(T) == 1 else f"There are only {T:.0f} samples"
    return [f"{amount} for {n} input{'s' if n > 1 else ''}: more samples show weaker components."]


def _components(number: int) -> str:
    return "1 component" if number == 1 else f"{number or 'no'} components"


def _full(evidence: Evidence) -> str:
    lam, k = evidence.variances, evidence.capacity
    share = float(lam[:k].sum()) / evidence.total
    reached = f"the rank has reached max_components={k}"
    if share > 1 + UNSETTLED:
        return (
            f"{reached}, but the variances of these {k} add up to {share:.3g} times what the inputs have: "
            "the network still follows its start, and not yet the stream. More rows settle it; so does a "
            "start from the first rows (Network(init_samples=...))."
        )
    shape = "falls off smoothly, without a gap" if _is_smooth(lam[: k + 1]) else "has a gap within them"
    return (
        f"{reached}; there may be more components than that. These {k} make up {min(share, 1):.0%} of the "
        f"variance, and the spectrum {shape}: raise max_components to see where it ends."
    )


def _floorless(rank: int) -> str:
    return (
        f"the spectrum falls all the way, without a floor of noise: the {rank} components kept are half of "
        "the inputs' directions, which is as many as this rule keeps."
    )


def _is_smooth(lam: np.ndarray) -> bool:
    """True if each of these but the first few is more than half of the one before it."""
    later = lam[min(3, max(len(lam) - 2, 0)) :]
    return bool(np.all(later[1:] > 0.5 * later[:-1]))


def _others(evidence: Evidence, alpha: float | Rule, ranks: dict[str, int] | None = None) -> str:
    """Ranks by the rules that answer another question."""
    own = str(alpha) if isinstance(alpha, Rule) else None
    known = len(evidence.variances)
    found = {
        text: f"more than {known}" if count >= known < evidence.n_inputs else str(count)
        for text, count in (ranks or other_ranks(evidence)).items()
        if text != own
    }
    words = {
        "edge": "above the noise (n_components='auto'): {}",
        "parallel": "parallel analysis (n_components='parallel'): {}",
        "95%": "95 % of the variance (n_components=0.95): {}",
    }
    listed = "; ".join(words[text].format(count) for text, count in found.items())
    return f"Other rules would keep: {listed}."
