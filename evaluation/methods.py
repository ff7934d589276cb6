"""Everybody at a fixed number of components, behind the interface of the benchmarks' peers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from benchmarks.peers.candid_covariance_free import CompiledCCIPCA
from benchmarks.peers.incremental_pca import IncrementalPCABy100
from benchmarks.peers.oja import CompiledOja
from benchmarks.peers.peer import Array
from benchmarks.peers.similarity_matching import CompiledFSM
from benchmarks.sections.accuracy.data import BESIDE, FOLDER
from benchmarks.sections.accuracy.methods import BATCH, incremental_bytes, known_axes, model_bytes

from eigenstream import OnlineAdaptivePCA
from evaluation import rivals, sensors
from evaluation.question import OURS
from evaluation.rivals.rival import Ranks, RankTracker

CHUNK = 100
"""Rows that a learner is handed at a time."""
PROCESS_IMPROVE = "AdaptivePCA (process-improve)"
WIDEST, LONGEST = 64, 2_000
"""AdaptivePCA decomposes an n x n matrix for every row and takes milliseconds: more would take minutes."""


class Learner(Protocol):
    """What every method answers to."""

    def learn(self, X: Array, /) -> object:
        """Consume rows in order."""

    def components(self, m: int, /) -> Array:
        """The top m directions (m x n), orthonormal, largest first."""


class Ours:
    """Our estimator with at most k components; everything else at its default unless said otherwise."""

    def __init__(self, n: int, k: int | None, **options: Any) -> None:
        self.model = OnlineAdaptivePCA(max_components=k, random_state=0, **options)

    def learn(self, X: Array) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that the capacity is reached
            self.model.partial_fit(X)

    def components(self, m: int) -> Array:
        return known_axes(self.model)[:m]


class Fixed:
    """A rival that adapts its rank, held at k."""

    def __init__(self, tracker: RankTracker) -> None:
        self.tracker = tracker

    def learn(self, X: Array) -> None:
        self.tracker.learn(X)

    def components(self, m: int) -> Array:
        return self.tracker.components()[:m]


class ProcessImprove:
    """process-improve's AdaptivePCA: started on the first chunk, then row by row, with its defaults."""

    def __init__(self, n: int, k: int, **options: Any) -> None:
        from process_improve.multivariate import AdaptivePCA

        self.model, self.started = AdaptivePCA(n_components=k, **options), False

    def learn(self, X: Array) -> None:
        if self.started:
            self.model.partial_fit(X)
        else:
            self.model.fit(X)
            self.started = True

    def components(self, m: int) -> Array:
        """Its axes are those of standardized inputs; in the units of the rows they are stretched."""
        stretched = self.model.sx_[:, None] * self.model.loadings_.to_numpy()
        return np.linalg.qr(stretched)[0].T[:m]


OPTIONAL = {"process-improve": "process_improve", "mlxtend": "mlxtend", "pillow": "PIL"}
"""Packages that methods or data need, and the modules that they bring."""
Make = Callable[[int, int], Learner]
METHODS: dict[str, Make] = {
    OURS: Ours,
    "IncrementalPCA": IncrementalPCABy100,
    "block SVD": rivals.BlockSVD,
    "Frequent Directions": rivals.FrequentDirections,
    "CCIPCA": CompiledCCIPCA,
    "FSM": CompiledFSM,
    "Oja": CompiledOja,
    "SPIRIT": lambda n, k: Fixed(rivals.SPIRIT(n, 1.0, least=k, most=k)),
    "FRAHST": lambda n, k: Fixed(rivals.FRAHST(n, 1.0, least=k, most=k)),
    "Federated PCA": lambda n, k: Fixed(rivals.FederatedPCA(n, 1.0, least=k, most=k)),
}
"""Fixed rank, no forgetting."""
CENTERING = {OURS, "IncrementalPCA", "block SVD", PROCESS_IMPROVE}
"""Who subtracts a running mean. Others are handed rows without the mean of all rows, which favours them."""


def methods_for(n: int, T: int) -> dict[str, Make]:
    """All methods that so many rows of this width can be given to on this machine."""
    return METHODS | ({} if why_not_process_improve(n, T) else {PROCESS_IMPROVE: ProcessImprove})


def why_not_process_improve(n: int = 1, T: int = 1) -> str:
    """The reason to leave it out; empty if there is none."""
    if find_spec("process_improve") is None:
        return "process-improve is not installed (pip install process-improve)"
    return f"more than {WIDEST} inputs or {LONGEST:,} rows" if n > WIDEST or T > LONGEST else ""


def present() -> str:
    """What results depend on that may be there or not: cases carry it, so that none is recalled wrongly."""
    found = [f"{name} {version(name)}" for name in OPTIONAL if find_spec(OPTIONAL[name]) is not None]
    files = (sensors.wheel(), Path(os.environ.get(FOLDER, BESIDE)) / "tennessee_eastman.npz")
    return ", ".join([*found, *(path.name for path in files if path is not None and path.exists())])


def learnt(learner: Learner, X: Array) -> Learner:
    """The learner after these rows, chunk by chunk."""
    for start in range(0, len(X), CHUNK):
        learner.learn(X[start : start + CHUNK])
    return learner


def bytes_of(learner: Any, n: int, k: int) -> int:
    """State and buffer."""
    if isinstance(learner, Ours):
        return model_bytes(learner.model)
    if isinstance(learner, IncrementalPCABy100):
        return incremental_bytes(n, k, max(BATCH, k))
    held = vars(learner.tracker if isinstance(learner, Fixed) else learner)
    return sum(value.nbytes for value in held.values() if isinstance(value, np.ndarray))


def ranks_of(model: OnlineAdaptivePCA) -> Ranks:
    """The rank after each row, from what the model remembers of its changes."""
    ranks = np.zeros(model.n_samples_seen_, np.int64)
    for change in model.rank_history_:
        ranks[change.sample - 1 :] = change.after
    return ranks
