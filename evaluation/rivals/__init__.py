"""Rivals written from their papers, with the papers' defaults. No code was copied.

Those that adapt their rank are `rival.RankTracker`. Those of fixed rank are `benchmarks.peers.Peer`, like the
peers that the benchmarks know already.
"""

from evaluation.rivals.block_svd import BlockSVD
from evaluation.rivals.federated import FederatedPCA
from evaluation.rivals.frahst import FRAHST
from evaluation.rivals.frequent_directions import FrequentDirections, RankAdaptiveFrequentDirections
from evaluation.rivals.grouse import GROUSE
from evaluation.rivals.rival import RankTracker
from evaluation.rivals.spirit import SPIRIT
from evaluation.rivals.tolerance_svd import ToleranceSVD

__all__ = [
    "FRAHST",
    "GROUSE",
    "SPIRIT",
    "BlockSVD",
    "FederatedPCA",
    "FrequentDirections",
    "RankAdaptiveFrequentDirections",
    "RankTracker",
    "ToleranceSVD",
]
