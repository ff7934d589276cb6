"""A tracker's model as the weights of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .tracker import Tracker

if TYPE_CHECKING:
    from ..learners.network.state import Weights


def network_weights(tracker: Tracker) -> Weights:
    """W_yx, W_yy and mu: the network's own, or those of a network at the optimum of what is known."""
    from ..learners.network.learner import NetworkLearner
    from ..learners.network.state import to_weights

    learner = tracker.learner
    if not isinstance(learner, NetworkLearner):
        alpha = tracker.reading().alpha
        learner = NetworkLearner(tracker.plan.network(), alpha)
        learner.restart(tracker.known().on_host(), tracker.time, alpha)
    return to_weights(learner.network(), learner.rule)
