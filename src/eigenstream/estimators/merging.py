"""Models trained on different rows of one source, as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.base import clone

from ..engine.optimum import Knowledge, start_from
from ..engine.state import TIME
from ..tracking import Plan, Tracker
from .online_adaptive_pca import OnlineAdaptivePCA, require_online


def merge(models: Sequence[OnlineAdaptivePCA]) -> OnlineAdaptivePCA:
    """One model that knows what all of them know.

    Their spectra are stacked, with one row a model for how far its mean lies from the common one; a singular
    value decomposition gives the joint spectrum, and the network is put at its optimum for it. The order of
    the models does not matter; a tree of merges agrees with a single one up to what the capacity cuts off.

    Parameters
    ----------
    models
        Fitted models with the same width, capacity, regularizer, alpha, half-life and centering. They are
        left as they are.

    Examples
    --------
    >>> from eigenstream import OnlineAdaptivePCA, merge, streams
    >>> shards = [[], []]
    >>> for i, batch in enumerate(streams.paper_stream(4000, random_state=0)):
    ...     shards[i % 2].append(batch)
    >>> models = [OnlineAdaptivePCA(random_state=0).fit(np.vstack(rows)) for rows in shards]
    >>> merged = merge(models)
    >>> merged.n_components_, merged.n_samples_seen_
    (4, 4000)
    """
    if not models:
        raise ValueError("there is nothing to merge: give at least one model")
    for model in models:
        require_online(model)
    trackers = [model._tracker for model in models]
    for tracker in trackers[1:]:
        _refuse_difference(trackers[0].plan, tracker.plan)
    merged: OnlineAdaptivePCA = clone(models[0])
    merged._tracker = _joined(trackers)
    merged._told_capacity = False
    merged.n_features_in_ = models[0].n_features_in_
    if hasattr(models[0], "feature_names_in_"):
        merged.feature_names_in_ = models[0].feature_names_in_
    return merged


def _refuse_difference(one: Plan, other: Plan) -> None:
    words = {
        "n": "number of features",
        "k": "max_components",
        "kind": "regularizer",
        "alpha": "alpha",
        "beta": "half_life",
        "center": "centering",
        "dtype": "floating-point type",
    }
    for name, word in words.items():
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine != theirs:
            raise ValueError(
                f"models with different {word} cannot be merged (here {name} is {mine} and {theirs}); "
                "train them with the same parameters"
            )


def _joined(trackers: Sequence[Tracker]) -> Tracker:
    """A tracker at the sum of the times, with the joint knowledge, which it looks at once."""
    plan = trackers[0].plan
    joined = Tracker(plan)
    joined.time = sum(tracker.time for tracker in trackers)
    joined.first = trackers[0].first
    joined.varies = np.any([t.varies | (t.first != joined.first) for t in trackers], axis=0)
    joined.all_vary = bool(joined.varies.all())
    joined.set_alpha(float(np.mean([tracker.alpha for tracker in trackers])))
    known = _joint_knowledge([tracker.known() for tracker in trackers], plan)
    if known.trace > 0:
        rng = plan.random(joined.time)
        joined.state = start_from(known, plan.k, plan.kind(joined.alpha), joined.rule, rng, plan.dtype)
        joined.state.clock[TIME] = joined.time
        joined.consolidate_at = plan.next_consolidation(joined.time)
    else:
        joined.rows = known.mean[None].astype(plan.dtype)
        joined.weights = np.array([[known.effective, 1.0]])
    joined.look()
    joined.history.clear()
    return joined


def _joint_knowledge(parts: Sequence[Knowledge], plan: Plan) -> Knowledge:
    """The scatters add, and so does what lies between the means."""
    counts, means = np.array([part.effective for part in parts]), np.array([part.mean for part in parts])
    mean = counts @ means / max(counts.sum(), np.finfo(np.float64).tiny)
    between = np.sqrt(counts)[:, None] * (means - mean)
    rows = [between, *(np.sqrt(part.lam)[:, None] * part.U for part in parts)]
    _, s, U = np.linalg.svd(np.vstack(rows), full_matrices=False)
    known = s > s[0] * float(np.finfo(plan.dtype).eps)
    trace = sum(part.trace for part in parts) + float(np.sum(between**2))
    return Knowledge(s[known][: plan.k] ** 2, U[known][: plan.k], float(counts.sum()), trace, mean)
