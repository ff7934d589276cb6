"""Rivals that adapt their rank, by the setting of their rank rule."""

from __future__ import annotations

from collections.abc import Callable

from evaluation.rivals.federated import FederatedPCA
from evaluation.rivals.frahst import FRAHST
from evaluation.rivals.frequent_directions import RankAdaptiveFrequentDirections
from evaluation.rivals.rival import RankTracker
from evaluation.rivals.spirit import SPIRIT
from evaluation.rivals.tolerance_svd import ToleranceSVD

PUBLISHED, SAME_MEMORY = "as published", "our half-life"
SHARES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
Make = Callable[[], RankTracker]


def contenders(n: int, beta: float) -> dict[str, dict[str, Make]]:
    """Each rival as published, with our half-life, and by the setting of its rank rule."""
    with_share = {
        "SPIRIT": lambda low: SPIRIT(n, beta, low, low + 0.03),
        "FRAHST": lambda low: FRAHST(n, beta, low, low + 0.02),
    }
    found: dict[str, dict[str, Make]] = {
        "SPIRIT": {PUBLISHED: lambda: SPIRIT(n), SAME_MEMORY: lambda: SPIRIT(n, beta)},
        "FRAHST": {PUBLISHED: lambda: FRAHST(n), SAME_MEMORY: lambda: FRAHST(n, beta)},
        "Federated PCA": {PUBLISHED: lambda: FederatedPCA(n), SAME_MEMORY: lambda: FederatedPCA(n, beta)},
        "incremental SVD": {PUBLISHED: lambda: ToleranceSVD(n)},
        "ARAMS": {PUBLISHED: lambda: RankAdaptiveFrequentDirections(n)},
    }
    for share in SHARES:
        for name, make in with_share.items():
            found[name][f"share {share:g}"] = lambda make=make, share=share: make(share)
        found["ARAMS"][f"error {share:g}"] = lambda e=share: RankAdaptiveFrequentDirections(n, e)
    for upper in (0.03, 0.06, 0.15, 0.2, 0.3):
        found["Federated PCA"][f"upper {upper:g}"] = lambda u=upper: FederatedPCA(n, beta, u / 10, u)
    for tolerance in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        found["incremental SVD"][f"tolerance {tolerance:g}"] = lambda t=tolerance: ToleranceSVD(n, beta, t)
    return found


def published(n: int, beta: float) -> dict[str, Make]:
    """Each rival as published, and with our half-life where it forgets."""
    return {
        f"{name}, {setting}": make
        for name, settings in contenders(n, beta).items()
        for setting, make in settings.items()
        if setting in (PUBLISHED, SAME_MEMORY)
    }
