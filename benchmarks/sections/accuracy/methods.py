"""Who learns: eigenstream's estimator, scikit-learn's IncrementalPCA, FSM and CCIPCA."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from sklearn.decomposition import IncrementalPCA
from sklearn.utils import gen_batches

from benchmarks.peers import PEERS
from benchmarks.peers.peer import Array, Peer
from eigenstream import AdaptivePCA, OnlineAdaptivePCA

OURS, SUBSPACE, NETWORK = "ours", "ours, subspace", "ours, network"
SAME, DOUBLE = "IncrementalPCA, m", "IncrementalPCA, 2m"
BYTES, BYTES_SUBSPACE = "IncrementalPCA, bytes of ours", "IncrementalPCA, bytes of ours, subspace"
FSM, CCIPCA = "FSM", "CCIPCA"
Model = TypeVar("Model", AdaptivePCA, OnlineAdaptivePCA)
BATCH = 100
NUMBER = 8
"""Bytes of a number."""


@dataclass(frozen=True)
class Method:
    """A way to learn rows in one pass, and to read axes off the learner."""

    learn: Callable[[Array, int, int], Any]
    """From rows, number of components k and seed to a learner."""
    axes: Callable[[Any], Array]
    """All directions that the learner knows, largest first."""
    centered: bool = False
    """Whether it is handed rows without their mean, because it does not subtract one itself."""
    doubled: bool = False
    """Whether it is given 2m components instead of m."""
    further: bool = False
    """Whether there is no target for it: one shuffle is enough."""
    bytes_of: str | None = None
    """The method whose bytes it may use, if that decides about its components."""


def ours(solver: str) -> Method:
    """The estimator with nothing but its number of components given, and a solver."""

    def learn(X: Array, k: int, seed: int) -> OnlineAdaptivePCA:
        return quietly(OnlineAdaptivePCA(max_components=k, solver=solver, random_state=seed), X)

    return Method(learn, known_axes, doubled=solver == "network", further=solver == "network")


def quietly(model: Model, X: Array) -> Model:
    """The fitted model: a capacity below the rank of the data is the point of these comparisons."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*max_components", UserWarning)
        model.fit(X)
    return model


def known_axes(model: OnlineAdaptivePCA) -> Array:
    """Those below the threshold too, which ``components_`` leaves out, by variance: at least the capacity.

    The model itself keeps the order of axes with almost equal variances, so that they do not change places.
    """
    reading = model._tracker.reading(leading=True)
    first = reading.variances[: len(reading.axes)]
    return np.asarray(reading.axes[np.argsort(-first, kind="stable")])


def model_bytes(model: OnlineAdaptivePCA) -> int:
    """State and buffer: the arrays of the learner, its workspace, and the room for waiting rows."""
    tracker = model._tracker
    held = [*tracker.learner.arrays().values(), *vars(tracker.learner).values(), tracker.blocks.waiting.rows]
    owners = {id(owner(array)): owner(array) for array in held if isinstance(array, np.ndarray)}
    return sum(array.nbytes for array in owners.values())


def owner(array: Array) -> Array:
    """The array whose memory this one shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def incremental_bytes(n: int, k: int, batch: int) -> int:
    """Components, mean, variances, singular values and one batch."""
    return NUMBER * (k * n + 2 * n + k + batch * n)


def components_for(size: int, n: int, T: int) -> int:
    """The most components with which IncrementalPCA stays within this size, by batches of as many rows.

    Shorter batches leave more room for components, and it does not take fewer rows than these. 0 if one
    component is too many.
    """
    return max((k for k in range(1, min(n, T) + 1) if incremental_bytes(n, k, k) <= size), default=0)


def incremental(X: Array, k: int, seed: int, least: int = BATCH) -> IncrementalPCA:
    """By batches cut as its own ``fit`` does: a remainder of less than k rows joins the batch before."""
    model = IncrementalPCA(n_components=k, batch_size=max(least, k))
    for batch in gen_batches(len(X), model.batch_size, min_batch_size=k):
        model.partial_fit(X[batch])
    return model


def by_incremental(least: int = BATCH, **options: Any) -> Method:
    return Method(partial(incremental, least=least), lambda model: model.components_, **options)


def compiled(name: str) -> Method:
    """A peer as one Numba loop."""
    make = next(peer for peer in PEERS if (peer.name, peer.flavour) == (name, "compiled"))

    def learn(X: Array, k: int, seed: int) -> Peer:
        learner = make(X.shape[1], k, np.float64, seed)
        # By batches, since its first call copies what it is handed.
        for batch in gen_batches(len(X), BATCH):
            learner.learn(X[batch])
        return learner

    return Method(
        learn, lambda learner: learner.components(learner.k), centered=True, doubled=True, further=True
    )


METHODS = {
    OURS: ours("auto"),
    SUBSPACE: ours("subspace"),
    SAME: by_incremental(),
    DOUBLE: by_incremental(doubled=True),
    BYTES: by_incremental(least=1, bytes_of=OURS),
    BYTES_SUBSPACE: by_incremental(least=1, bytes_of=SUBSPACE),
    NETWORK: ours("network"),
    FSM: compiled(FSM),
    CCIPCA: compiled(CCIPCA),
}
"""In this order: whose bytes are compared with must have learnt before."""
