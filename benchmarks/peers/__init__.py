"""The streaming PCA algorithms that eigenstream is measured against, written from their equations.

Each algorithm comes twice: *installable*, in NumPy, as people call it today; and *compiled*, the same
recursion as one Numba loop with as few passes over the k x n matrix as it permits. IncrementalPCA is
scikit-learn's own. Inputs are taken to be centered.
"""

from benchmarks.peers.candid_covariance_free import CompiledCCIPCA, PlainCCIPCA
from benchmarks.peers.incremental_pca import IncrementalPCABy5k, IncrementalPCABy100, IncrementalPCAByOne
from benchmarks.peers.oja import CompiledOja, PlainOja
from benchmarks.peers.peer import Peer
from benchmarks.peers.similarity_matching import CompiledFSM, PlainFSM

PEERS: list[type[Peer]] = [
    PlainFSM,
    CompiledFSM,
    PlainCCIPCA,
    CompiledCCIPCA,
    PlainOja,
    CompiledOja,
    IncrementalPCAByOne,
    IncrementalPCABy100,
    IncrementalPCABy5k,
]

__all__ = ["PEERS", "Peer"]
