"""Models trained on different rows of one source, as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..engine.optimum import FLOOR, at_optimum, optimal_threshold
from ..engine.state import COUNT, TAU, THETA0, TIME, TRACE, State, new_state, read_spectrum
from ..tracking import Plan, Tracker
from .online_adaptive_pca import OnlineAdaptivePCA


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
        check_is_fitted(model)
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
            raise ValueError(f"models with different {word} cannot be merged, got {mine} and {theirs}")


def _joined(trackers: Sequence[Tracker]) -> Tracker:
    """A tracker at the sum of the times, with the joint spectrum, which it looks at once."""
    plan = trackers[0].plan
    joined = Tracker(replace(plan, init_samples=0))
    joined.plan = plan
    joined.time = sum(tracker.time for tracker in trackers)
    joined.set_alpha(float(np.mean([tracker.alpha for tracker in trackers])))
    state = _joint_state([tracker.network() for tracker in trackers], joined)
    if state.numbers[TRACE] > 0:
        joined.state = state
        joined.consolidate_at = plan.next_consolidation(joined.time)
    else:
        joined.rows = state.mean[None].astype(plan.dtype)
        joined.weights = np.array([[state.numbers[COUNT], 1.0]])
    joined.look()
    joined.history.clear()
    return joined


def _joint_state(states: Sequence[State], joined: Tracker) -> State:
    plan, rule = joined.plan, joined.rule
    numbers = np.sum([state.numbers for state in states], axis=0)
    counts = np.array([state.numbers[COUNT] for state in states])
    means = np.array([state.mean for state in states])
    mean = counts @ means / max(counts.sum(), np.finfo(np.float64).tiny)
    between = np.sqrt(counts)[:, None] * (means - mean) if plan.center else np.zeros((0, plan.n))
    lam, U = _joint_spectrum(states, between)
    numbers[TRACE] += float(np.sum(between**2))
    numbers[TAU] += rule.r1 * float(np.sum(between**2))
    regularizer = plan.kind(joined.alpha)
    theta = rule.alpha * numbers[TAU] + numbers[THETA0]
    if rule.r2:
        theta = optimal_threshold(lam[: plan.k], numbers[COUNT], numbers[TRACE], regularizer, rule)
        numbers[TAU], numbers[THETA0] = float(np.maximum(lam[: plan.k] - theta, 0).sum()), 0.0
    fill = FLOOR * max(theta, FLOOR * numbers[TRACE] / plan.n)
    N, S = at_optimum(U, lam, theta, plan.k, fill, plan.random(joined.time))
    state = new_state(N, S, numbers[THETA0], plan.dtype)
    state.mean[:] = mean
    state.numbers[[TAU, COUNT, TRACE]] = numbers[[TAU, COUNT, TRACE]]
    state.clock[TIME] = joined.time
    return state


def _joint_spectrum(
    states: Sequence[State], between: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eigenvalues and axes of the sum of the scatters, from one singular value decomposition."""
    rows = [between]
    for state in states:
        lam, U = read_spectrum(state)
        rows.append(np.sqrt(lam)[:, None] * U)
    _, s, Vt = np.linalg.svd(np.vstack(rows), full_matrices=False)
    known = s > s[0] * np.finfo(states[0].F.dtype).eps if s.size else s > 0
    return s[known] ** 2, Vt[known]
