"""Trackers of different rows of one source, as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from ..engine.knowledge import joint
from ..engine.threads import threads_for
from ..outliers import Usual
from .plan import Plan
from .tracker import Tally, Tracker

WORDS = {
    "n": "number of features",
    "k": "max_components",
    "kind": "regularizer",
    "alpha": "alpha",
    "solver": "solver",
    "beta": "half_life",
    "center": "centering",
    "cap_outliers": "outliers",
    "dtype": "floating-point type",
}
"""What has to agree, and how a user calls it."""


def joined(trackers: Sequence[Tracker]) -> Tracker:
    """A tracker at the sum of the times, with what all of them know."""
    plan = trackers[0].plan
    for tracker in trackers[1:]:
        _refuse_difference(plan, tracker.plan)
    one = Tracker(plan)
    one.first = trackers[0].first.copy()
    one.varies = np.any([t.varies | (t.first != one.first) for t in trackers], axis=0)
    one.all_vary = bool(one.varies.all())
    one.has_gaps = any(tracker.has_gaps for tracker in trackers)
    for counted in fields(Tally):
        setattr(one.tally, counted.name, sum(getattr(tracker.tally, counted.name) for tracker in trackers))
    weight = sum(tracker.usual.weight for tracker in trackers)
    if weight:
        distance = sum(tracker.usual.distance * tracker.usual.weight for tracker in trackers) / weight
        one.usual = Usual(distance, weight)
    alpha = float(np.mean([tracker.alpha for tracker in trackers]))
    one.decision = one.decision._replace(alpha=alpha)
    one.learner.recalibrate(alpha)
    directions = plan.n if plan.solver == "exact" else (3 if plan.solver == "subspace" else 1) * plan.k
    with threads_for(plan.n):
        known = joint([tracker.known() for tracker in trackers], directions, float(np.finfo(plan.dtype).eps))
        one.restart(known, sum(tracker.time for tracker in trackers))
    return one


def _refuse_difference(one: Plan, other: Plan) -> None:
    for name, word in WORDS.items():
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine != theirs:
            raise ValueError(
                f"models with different {word} cannot be merged (here {name} is {mine} and {theirs}); "
                "train them with the same parameters"
            )
