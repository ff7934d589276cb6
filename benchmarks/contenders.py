"""Who runs: eigenstream's engine behind the interface of its peers, and the peers."""

from __future__ import annotations

import numpy as np

from benchmarks.peers import PEERS, Peer
from benchmarks.peers.incremental_pca import IncrementalPCAPeer
from benchmarks.peers.peer import Array
from eigenstream import InputOutput
from eigenstream.learners import network as engine
from eigenstream.learners.network.optimum import random_start
from eigenstream.learners.network.state import NetworkRule, read_spectrum


class Eigenstream(Peer):
    """The engine from the paper's random start; like its peers it takes centered input as it comes."""

    name = "eigenstream"
    flavour = "ours"

    def _start(self, head: Array) -> None:
        activity = float(np.mean(np.sum(np.square(head, dtype=np.float64), axis=1)))
        rng = np.random.default_rng(self.seed)
        self.state = random_start(self.n, self.k, activity, rng, self.dtype)
        self.rule = rule(self.n)

    def _consume(self, X: Array) -> None:
        engine.learn(self.state, self.rule, X)

    def _axes(self) -> Array:
        return read_spectrum(self.state).U


def rule(n: int) -> NetworkRule:
    """Keep what varies more than one and a half times the average input."""
    return NetworkRule.of(InputOutput(1.5 / n))


def rows_at_once(make: type[Peer], k: int) -> int:
    """How many rows a contender waits for before it learns; the rest are fed a block of ours at a time."""
    if issubclass(make, IncrementalPCAPeer):
        return max(make.least, make.per_component * k)
    return engine.BLOCK


CONTENDERS: list[type[Peer]] = [Eigenstream, *PEERS]
CALLING_BLAS = [make for make in CONTENDERS if make.flavour != "compiled"]
