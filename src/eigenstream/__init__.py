"""Streaming PCA that finds its own number of components.

The three self-calibrating networks of Chen, Pehlevan and Chklovskii (2016, arXiv:1612.03480), their
closed-form offline solutions, and what it takes to use them on real streams.

Every public name is resolved on first use, so importing the package costs next to nothing: Numba and
scikit-learn load when something that needs them is touched.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import metrics as metrics
    from . import offline as offline
    from . import plotting as plotting
    from . import rank as rules
    from . import regularizers as regularizers
    from . import streams as streams
    from . import theory as theory
    from .estimators import AdaptivePCA as AdaptivePCA
    from .estimators import OnlineAdaptivePCA as OnlineAdaptivePCA
    from .estimators import StreamMonitor as StreamMonitor
    from .estimators import compare_half_lives as compare_half_lives
    from .estimators import compare_to_offline as compare_to_offline
    from .estimators import load as load
    from .estimators import merge as merge
    from .io import sources as sources
    from .model.calibration import calibrate_alpha as calibrate_alpha
    from .model.network import Network as Network
    from .model.portable import export_json as export_json
    from .network import ConvergenceError as ConvergenceError
    from .network import EqualizingNetwork as EqualizingNetwork
    from .network import FastSimilarityMatching as FastSimilarityMatching
    from .network import HardThresholdNetwork as HardThresholdNetwork
    from .network import HebbianNetwork as HebbianNetwork
    from .network import MinMaxNetwork as MinMaxNetwork
    from .network import NonnegativeNetwork as NonnegativeNetwork
    from .network import SimilarityMatchingNetwork as SimilarityMatchingNetwork
    from .rank import FixedRank as FixedRank
    from .rank import NoiseEdge as NoiseEdge
    from .rank import ParallelAnalysis as ParallelAnalysis
    from .rank import VarianceShare as VarianceShare
    from .regularizers import InputOutput as InputOutput
    from .regularizers import ScaleDependent as ScaleDependent
    from .regularizers import SquaredOutput as SquaredOutput

_HOMES = {
    "estimators": (
        *("AdaptivePCA", "OnlineAdaptivePCA", "StreamMonitor"),
        *("compare_half_lives", "compare_to_offline", "load", "merge"),
    ),
    "model.calibration": ("calibrate_alpha",),
    "model.network": ("Network",),
    "model.portable": ("export_json",),
    "network": (
        *("ConvergenceError", "EqualizingNetwork", "FastSimilarityMatching", "HardThresholdNetwork"),
        *("HebbianNetwork", "MinMaxNetwork", "NonnegativeNetwork", "SimilarityMatchingNetwork"),
    ),
    "rank": ("FixedRank", "NoiseEdge", "ParallelAnalysis", "VarianceShare"),
    "regularizers": ("InputOutput", "ScaleDependent", "SquaredOutput"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
"""The module of each public name."""
_MODULES = {"rules": "rank", "sinks": "io.sinks", "sources": "io.sources"} | {
    name: name
    for name in (
        *("jobs", "keyed", "live"),
        *("metrics", "offline", "plotting", "regularizers", "streams", "theory"),
    )
}
"""Public modules and where they stand."""

__all__ = [
    "AdaptivePCA",
    "ConvergenceError",
    "EqualizingNetwork",
    "FastSimilarityMatching",
    "FixedRank",
    "HardThresholdNetwork",
    "HebbianNetwork",
    "InputOutput",
    "MinMaxNetwork",
    "Network",
    "NoiseEdge",
    "NonnegativeNetwork",
    "OnlineAdaptivePCA",
    "ParallelAnalysis",
    "ScaleDependent",
    "SimilarityMatchingNetwork",
    "SquaredOutput",
    "StreamMonitor",
    "VarianceShare",
    "calibrate_alpha",
    "compare_half_lives",
    "compare_to_offline",
    "export_json",
    "load",
    "merge",
    "metrics",
    "offline",
    "plotting",
    "regularizers",
    "rules",
    "sources",
    "streams",
    "theory",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{_MODULES[name]}")
    if name in _HOME_OF:
        found = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    elif name == "__version__":
        from importlib.metadata import version

        found = version(__name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
