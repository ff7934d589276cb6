"""Decisions about many streams at once, to the bits of `eigenstream.rank.decision.decide`.

Everything here has a namesake there, which says what it does; a test ties each pair.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..regularizers import Regularizer
from . import Evidence, Judgement, Rule, effective_samples
from .decision import (
    ENTER,
    ENTER_ALIKE,
    FILLED,
    LARGEST_ALPHA,
    LEAVE,
    MOST_DEVIATIONS,
    PATIENCE,
    YOUNG,
    _window,
)


class Memories(NamedTuple):
    """`Memory` of many streams."""

    samples: NDArray[np.float64]
    since: NDArray[np.float64]
    doubt: NDArray[np.float64]
    asked: NDArray[np.float64]


class Decisions(NamedTuple):
    """`Decision` about many streams."""

    alpha: NDArray[np.float64]
    threshold: NDArray[np.float64]
    rank: NDArray[np.int64]
    memory: Memories


def decide_together(
    kind: type[Regularizer], rule: Rule, evidence: Evidence, before: Decisions
) -> tuple[Decisions, Judgement]:
    """`decide` for many streams at once, to the same bits; also what they rest on.

    Parameters
    ----------
    kind, rule
        The regularizer, and what finds its coefficient.
    evidence
        About streams with as many samples and as many inputs that vary, whose learners tell what lies below
        the threshold.
    before
        What was decided at the last look at each.
    """
    variances, capacity = evidence.variances, evidence.capacity
    judgement = rule.judge_together(evidence)
    if rule.patient:
        rank, memory = _remembered_together(judgement, evidence, before)
    else:
        rank, memory = judgement.ranks(), Memories(*np.zeros((4, len(variances))))
    threshold = np.maximum(_between_together(variances, rank, judgement.lines), evidence.grounds[:, 0])
    lam = np.ascontiguousarray(variances[:, :capacity])
    r0, r1, r2 = kind.increment
    output = np.maximum(lam - threshold[:, None], 0).sum(axis=1)
    measure = r0 + r1 * np.asarray(evidence.total) + r2 * output
    alpha = np.divide(
        threshold, measure, out=np.full(len(lam), LARGEST_ALPHA if r2 else 0.0), where=measure > 0
    )
    if r2:
        alpha = np.minimum(alpha, LARGEST_ALPHA)
    rank = np.count_nonzero(lam > threshold[:, None], axis=1)
    return Decisions(alpha, threshold, rank, memory), judgement


def _remembered_together(
    judgement: Judgement, evidence: Evidence, before: Decisions
) -> tuple[NDArray[np.int64], Memories]:
    """`_remembered` for many streams."""
    held, capacity = np.minimum(before.rank, evidence.variances.shape[1]), evidence.capacity
    memory = before.memory._replace(since=np.minimum(before.memory.since, evidence.effective))
    asked = judgement.ranks()
    wanted = np.minimum(asked, capacity)
    started, more = memory.samples > 0, wanted > held
    deviations = _deviations_together(judgement, evidence, held, wanted)
    weight = np.where(more, deviations, deviations * deviations)
    gained = weight * (evidence.n_samples - memory.samples)
    differs = started & (wanted != held)
    against = np.where(differs, np.where(more, gained, -gained), 0.0)
    lasts = differs & (memory.doubt * against > 0)
    doubt = against + np.where(lasts, memory.doubt, 0.0)
    share = np.divide((wanted - memory.asked) * gained, np.abs(doubt), where=lasts, out=np.zeros(len(held)))
    mean = np.where(lasts, memory.asked + share, wanted)
    at_once = ~started | _is_clear_together(evidence, deviations, more, memory.since)
    agreed = at_once | (wanted == held)
    changes = agreed | (np.abs(doubt) >= PATIENCE * _window(evidence.beta2))
    rank = np.where(agreed, wanted, np.where(changes, np.rint(mean), held)).astype(np.int64)
    since = np.where(at_once | (rank != held), evidence.effective, memory.since)
    full = np.where(changes, rank == capacity, (held == capacity) & (capacity < asked))
    samples = np.full(len(held), float(evidence.n_samples))
    doubt, mean = np.where(changes, 0.0, doubt), np.where(changes, 0.0, mean)
    return np.where(full, asked, rank), Memories(samples, since, doubt, mean)


def _deviations_together(
    judgement: Judgement, evidence: Evidence, held: NDArray[np.int64], wanted: NDArray[np.int64]
) -> NDArray[np.float64]:
    """`_deviations` for many streams."""
    streams, r = np.arange(len(held)), judgement.ratios.shape[1]
    last = np.minimum(held + (wanted > held), r) - 1
    lowest = np.minimum.accumulate(judgement.ratios, axis=1)[streams, np.maximum(last, 0)]
    worth = evidence.worth(r + 1)[streams, np.maximum(held, wanted)]
    samples = np.maximum(evidence.effective * worth, 1.0)
    found = [
        MOST_DEVIATIONS if not ratio else min(abs(math.log(ratio)) / math.sqrt(2 / number), MOST_DEVIATIONS)
        for ratio, number in zip(lowest.tolist(), samples.tolist(), strict=True)
        # not NumPy's logarithm, whose last bit may differ
    ]
    return np.where(wanted == held, 0.0, found)


def _is_clear_together(
    evidence: Evidence, deviations: NDArray[np.float64], more: NDArray[np.bool_], since: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """`_is_clear` for many streams."""
    if evidence.beta2 == 1:
        return np.ones(len(since), dtype=bool)
    full = effective_samples(math.inf, evidence.beta2)
    if evidence.effective < YOUNG * full:
        return np.ones(len(since), dtype=bool)
    due = (since < FILLED * full) & (evidence.effective >= np.minimum(2 * since, FILLED * full))
    enter = np.where(evidence.alike, ENTER_ALIKE, ENTER)
    return np.asarray(due | (deviations > np.where(more, enter, LEAVE)))


def _between_together(
    lam: NDArray[np.float64], rank: NDArray[np.int64], lines: NDArray[np.float64]
) -> NDArray[np.float64]:
    """`_between` for many streams."""
    streams, r = np.arange(len(lam)), lam.shape[1]
    last_kept = lam[streams, np.maximum(rank - 1, 0)]
    first_dropped = np.where(rank < r, lam[streams, np.minimum(rank, r - 1)], 0.0)
    wish = np.maximum(lines[streams, rank], first_dropped)
    below = 0.9 * last_kept
    tight = np.where(below >= first_dropped, below, np.nextafter(last_kept, 0))
    loose = np.where(rank < r, wish, np.minimum(wish, 0.9 * lam[:, -1]))
    return np.where((rank == 0) | (wish < last_kept), loose, tight)
