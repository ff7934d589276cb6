"""A tracker with more inputs than it began with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..learners.knowledge import Floats, Knowledge, Vector
from .events import RankChange
from .history import History
from .plan import Plan
from .tracker import Tracker


def widened(tracker: Tracker, plan: Plan, first: Floats) -> Tracker:
    """A tracker of more inputs that knows what this one knows.

    The new inputs come last. They count as constant so far, at the first value that each of them has: they
    bring no variance with them, and their mean starts at that value.

    Parameters
    ----------
    tracker
        What has been learnt so far; it is left as it is.
    plan
        What to do from now on, for all inputs, without lags; its capacity is no smaller than before.
    first
        The first value of each new input.
    """
    wide = Tracker(plan)
    inputs = tracker.blocks.inputs
    wide.blocks.inputs.set(
        np.concatenate((inputs.first, first)).astype(plan.dtype),
        np.concatenate((inputs.varies, np.zeros(len(first), dtype=bool))),
    )
    wide.blocks.unseen = np.isnan(wide.blocks.inputs.first)
    wide.blocks.has_gaps, wide.blocks.usual = tracker.blocks.has_gaps, tracker.blocks.usual
    wide.blocks.tally, wide.clock = replace(tracker.tally), tracker.clock
    wide.last_look.decision = tracker.decision
    wide.restart(_padded(tracker.known(), first.astype(np.float64), plan.center), tracker.time)
    wide.changes.extend(tracker.changes)
    if wide.decision.rank != tracker.decision.rank:
        wide.changes.append(RankChange(wide.time, tracker.decision.rank, wide.decision.rank))
    moments = [np.pad(moment, (0, plan.k - tracker.plan.k)) for moment in tracker.history.moments]
    wide.history = History(plan.k, tracker.history.stride, moments)
    return wide


def _padded(known: Knowledge, first: Vector, center: bool) -> Knowledge:
    """The same knowledge of more inputs; without centering the constant would be variance, so it is zero."""
    more = len(first)
    return known._replace(
        U=np.pad(known.U, ((0, 0), (0, more))),
        mean=np.concatenate((known.mean, first if center else np.zeros(more))),
        inputs=None if known.inputs is None else np.pad(known.inputs, (0, more)),
        scale=None if known.scale is None else np.pad(known.scale, (0, more), constant_values=1.0),
        lags=None,  # likeness to predecessors is told anew, of all inputs that there are now
    )
