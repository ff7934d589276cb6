"""Without forgetting, the order of rows should not matter: variances and ranks, shuffled and in own order."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers.peer import Array
from benchmarks.sections.accuracy.methods import quietly
from benchmarks.sections.accuracy.passes import OWN, SHUFFLED, orders
from eigenstream import AdaptivePCA, OnlineAdaptivePCA

SOLVERS = ("auto", "subspace")


def order_effects(name: str, X: Array, seeds: int) -> list[dict[str, Any]]:
    """One entry per solver, all parameters at their defaults otherwise."""
    whole = quietly(AdaptivePCA(), X).n_components_
    return [{"data": name, "offline rank": whole, **order_effect(X, solver, seeds)} for solver in SOLVERS]


def order_effect(X: Array, solver: str, seeds: int) -> dict[str, Any]:
    """Ranks, and the largest relative difference of a kept variance from that in the rows' own order."""
    kinds = orders(len(X), seeds)
    own = fitted(X[kinds[OWN][0]], solver)
    shuffled = [fitted(X[order], solver) for order in kinds[SHUFFLED]]
    return {
        "solver": solver,
        "used": own._tracker.plan.solver,
        "capacity": own.max_components_,
        "own rank": own.n_components_,
        "shuffled ranks": [model.n_components_ for model in shuffled],
        "difference": max(difference(own, model) for model in shuffled),
    }


def fitted(X: Array, solver: str) -> OnlineAdaptivePCA:
    return quietly(OnlineAdaptivePCA(solver=solver, random_state=0), X)


def difference(one: OnlineAdaptivePCA, other: OnlineAdaptivePCA) -> float:
    """Largest relative difference of a variance, of those that both keep."""
    common = min(one.n_components_, other.n_components_)
    first, second = (-np.sort(-model.explained_variance_)[:common] for model in (one, other))
    return float(np.max(np.abs(first - second) / second)) if common else 0.0
