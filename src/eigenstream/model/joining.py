"""Trackers of different rows of one source, as one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from ..learners.axes import matched
from ..learners.knowledge import Knowledge, joint
from ..learners.threads import threads_for
from .events import Tally
from .outliers import Usual
from .pace import EvenPace, StreamClock
from .plan import Plan
from .tracker import Tracker
from .varying import Varying

WORDS = {
    "lags": "lags",
    "n": "number of features",
    "k": "max_components",
    "kind": "regularizer",
    "alpha": "n_components or alpha",
    "solver": "solver",
    "beta": "half_life",
    "seconds": "half_life",
    "center": "centering",
    "standardize": "standardize",
    "cap_outliers": "outliers",
    "dtype": "floating-point type",
}
"""Entries of a plan that have to agree, and the words for them in messages."""


def joined(trackers: Sequence[Tracker], known: Sequence[Knowledge] | None = None) -> Tracker:
    """A tracker at the sum of the times, with what all of them know.

    Callers that join the same trackers several times hand in ``known``, so that each is decomposed once.

    Axes point to where those of the first tracker point, as they do for a tracker that has learnt all rows,
    the first tracker's first.
    With time stamps, what the others know is first discounted to the last row of all.
    """
    plan = trackers[0].plan
    for tracker in trackers[1:]:
        _refuse_difference(plan, tracker.plan)
    one = Tracker(plan)
    inputs = [tracker.blocks.inputs.on_host() for tracker in trackers]
    first = inputs[0].first.copy()
    for each in inputs[1:]:
        first = np.where(np.isnan(first), each.first, first)
    differs = [each.varies | ((each.first != first) & ~np.isnan(each.first)) for each in inputs]
    one.blocks.inputs.set(first, np.any(differs, axis=0))
    one.blocks.unseen = np.isnan(first)
    one.blocks.has_gaps = any(tracker.blocks.has_gaps for tracker in trackers)
    for counted in fields(Tally):
        setattr(one.tally, counted.name, sum(getattr(tracker.tally, counted.name) for tracker in trackers))
    usual = [tracker.blocks.usual for tracker in trackers]
    weight = sum(each.weight for each in usual)
    if weight:
        one.blocks.usual = Usual(sum(each.distance * each.weight for each in usual) / weight, weight)
    alpha = float(np.mean([tracker.decision.alpha for tracker in trackers]))
    one.last_look.decision = one.decision._replace(alpha=alpha)
    if plan.lags:
        one.recent = max(reversed(trackers), key=_last_heard).recent
    _join_time(one, trackers)
    with threads_for(plan.n):
        parts = _with_means(_known_together(one, trackers, known), inputs)
        together = joint(parts, *_directions(plan))
        _, signs = matched(together.U, together.lam, parts[0].U, 0)
        together = together._replace(U=together.U * signs[:, None])
        one.restart(together, sum(tracker.time for tracker in trackers))
    return one


def _join_time(one: Tracker, trackers: Sequence[Tracker]) -> None:
    """Let one follow the past of inputs as far as the others do, from the last row of all."""
    followed = [
        tracker for tracker in trackers if tracker.blocks.time is not None and tracker.blocks.time.started
    ]
    if not followed:
        return
    last = max(reversed(followed), key=_last_heard)
    time = one.blocks.begin_time()
    filters = [tracker.blocks.time for tracker in followed if tracker.blocks.time is not None]
    known = joint([each.learner.known().on_host() for each in filters], *_directions(one.plan))
    time.joined(filters, known)
    past = last.blocks.past_now()
    assert past is not None
    time.follow(past)


def _with_means(parts: Sequence[Knowledge], inputs: Sequence[Varying]) -> list[Knowledge]:
    """The same, where inputs that a part has had no value of have the mean that they have in the others."""
    seen = np.array([~np.isnan(each.first) for each in inputs])
    if seen.all() or not seen.size:
        return list(parts)
    counts = np.array([part.effective for part in parts])[:, None] * seen
    means = np.sum([count * part.mean for count, part in zip(counts, parts, strict=True)], axis=0)
    means /= np.maximum(counts.sum(axis=0), np.finfo(np.float64).tiny)
    return [
        part._replace(mean=np.where(each, part.mean, means)) for each, part in zip(seen, parts, strict=True)
    ]


def _directions(plan: Plan) -> tuple[int, float]:
    """Most directions that are kept, and the share of the largest that is rounding."""
    kept = plan.n if plan.solver == "exact" else (3 if plan.solver == "subspace" else 1) * plan.k
    return kept, float(np.finfo(plan.dtype).eps)


def _known_together(
    one: Tracker, trackers: Sequence[Tracker], known: Sequence[Knowledge] | None
) -> list[Knowledge]:
    """Knowledge of each of them at the time of the last row of all; sets the clock by it."""
    known = [tracker.known() for tracker in trackers] if known is None else known
    if one.plan.seconds is None:
        return [each.on_host() for each in known]
    latest = max(map(_last_heard, trackers))
    together, pace = [], EvenPace()
    for tracker, each in zip(trackers, known, strict=True):
        learnt = tracker.clock.learnt
        factor = 1.0 if learnt is None else float(np.exp2((learnt - latest) / one.plan.seconds))
        together.append(each.on_host().discounted(factor))
        pace = pace.joined(tracker.pace.discounted(factor))
    one.clock = StreamClock(latest, latest, pace)
    return together


def _last_heard(tracker: Tracker) -> float:
    """Time of its last row, as far as rows have times."""
    return -math.inf if tracker.clock.latest is None else tracker.clock.latest


def _refuse_difference(one: Plan, other: Plan) -> None:
    for name, word in WORDS.items():
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine != theirs:
            raise ValueError(
                f"models with different {word} cannot be merged (here {name} is {mine} and {theirs}); "
                "train them with the same parameters"
            )
