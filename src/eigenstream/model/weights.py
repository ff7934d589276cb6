"""A tracker's model as a network: its weights, and what it answers to rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from ..learners.knowledge import Floats
from ..learners.scale import standardized
from ..network.network import Settling as Settling
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


def network_response(
    tracker: Tracker, rows: Floats, missing: str, settling: Settling, **options: Any
) -> Floats:
    """Settled outputs y of the network to rows, less the mean; nothing is learnt.

    Parameters
    ----------
    settling
        ``"fixed-point"`` solves ``(I + W_yy) y = W_yx x``; the others iterate as `HebbianNetwork` does.
    **options
        Of the iteration: ``eta``, ``tol``, ``max_iter``.

    Raises
    ------
    ConvergenceError
        If the iteration does not settle.
    """
    from ..network import HebbianNetwork

    if settling not in get_args(Settling):
        raise ValueError(f"settling must be one of {', '.join(get_args(Settling))}, got {settling!r}")
    if settling == "fixed-point" and options:
        raise ValueError(f"settling='fixed-point' does not iterate: it takes no {', '.join(options)}")
    reading, weights = tracker.reading(), network_weights(tracker)
    inputs = standardized(tracker.completed(rows, missing).astype(np.float64), reading.mean, reading.scale)
    answers = np.full((len(rows), tracker.plan.k), np.nan)
    usable = np.isfinite(inputs).all(axis=1)
    if settling == "fixed-point":
        loop = np.eye(len(weights.W_yy)) + weights.W_yy
        answers[usable] = inputs[usable] @ np.linalg.solve(loop, weights.W_yx).T
    else:
        regularizer = tracker.plan.kind(reading.alpha)
        network = HebbianNetwork.with_weights(*weights, regularizer, settling=settling, **options)
        answers[usable] = [network.respond(x) for x in inputs[usable]] if usable.any() else 0.0
    return answers.astype(rows.dtype)
