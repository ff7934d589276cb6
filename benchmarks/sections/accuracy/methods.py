"""Who learns: eigenstream's estimator in three settings, scikit-learn's IncrementalPCA, FSM and CCIPCA."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import IncrementalPCA
from sklearn.utils import gen_batches

from benchmarks.peers import PEERS
from benchmarks.peers.peer import Array, Peer
from eigenstream import OnlineAdaptivePCA

OURS, OURS_NARROW, OURS_AUTO = "ours", "ours, capacity m", "ours, alpha auto"
INCREMENTAL, FSM, CCIPCA = "IncrementalPCA", "FSM", "CCIPCA"
BATCH = 100


@dataclass(frozen=True)
class Method:
    """A way to learn rows in one pass, and to read axes off the learner."""

    learn: Callable[[Array, int, int], Any]
    """From rows, capacity k and seed to a learner."""
    axes: Callable[[Any], Array]
    """All directions that the learner knows, largest first."""
    centered: bool = False
    """Whether it is handed rows without their mean, because it does not subtract one itself."""
    narrow: bool = False
    """Whether its capacity is m instead of 2m."""

    def capacity(self, m: int, n: int) -> int:
        return m if self.narrow else min(2 * m, n - 1)


def ours(X: Array, k: int, seed: int) -> OnlineAdaptivePCA:
    return _fitted(X, OnlineAdaptivePCA(alpha=0.1 / X.shape[1], max_components=k, random_state=seed))


def ours_auto(X: Array, k: int, seed: int) -> OnlineAdaptivePCA:
    return _fitted(X, OnlineAdaptivePCA(alpha="auto", max_components=k, random_state=seed))


def _fitted(X: Array, model: OnlineAdaptivePCA) -> OnlineAdaptivePCA:
    with warnings.catch_warnings():
        # A capacity below what the threshold lets through is the point of the comparison.
        warnings.filterwarnings("ignore", "the rank has reached max_components", UserWarning)
        return model.fit(X)


def known_axes(model: OnlineAdaptivePCA) -> Array:
    """Those below the threshold too, which ``components_`` leaves out."""
    return model._tracker.view.axes


def incremental(X: Array, k: int, seed: int) -> IncrementalPCA:
    """By batches cut as its own ``fit`` does: a remainder of less than k rows joins the batch before."""
    model = IncrementalPCA(n_components=k)
    for batch in gen_batches(len(X), max(BATCH, k), min_batch_size=k):
        model.partial_fit(X[batch])
    return model


def compiled(name: str) -> Method:
    """A peer as one Numba loop."""
    make = next(peer for peer in PEERS if (peer.name, peer.flavour) == (name, "compiled"))

    def learn(X: Array, k: int, seed: int) -> Peer:
        learner = make(X.shape[1], k, np.float64, seed)
        # By batches, since its first call copies what it is handed.
        for batch in gen_batches(len(X), BATCH):
            learner.learn(X[batch])
        return learner

    return Method(learn, lambda learner: learner.components(learner.k), centered=True)


METHODS = {
    OURS: Method(ours, known_axes),
    INCREMENTAL: Method(incremental, lambda model: model.components_),
    FSM: compiled(FSM),
    CCIPCA: compiled(CCIPCA),
    OURS_NARROW: Method(ours, known_axes, narrow=True),
    OURS_AUTO: Method(ours_auto, known_axes),
}
