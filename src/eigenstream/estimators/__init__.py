"""scikit-learn shells: they store parameters, validate, translate and delegate."""

from .adaptive_pca import AdaptivePCA
from .comparison import Comparison, compare_to_offline
from .half_lives import HalfLife, HalfLives, compare_half_lives
from .merging import merge
from .online_adaptive_pca import OnlineAdaptivePCA
from .persistence import load
from .stream_monitor import StreamMonitor

__all__ = [
    "AdaptivePCA",
    "Comparison",
    "HalfLife",
    "HalfLives",
    "OnlineAdaptivePCA",
    "StreamMonitor",
    "compare_half_lives",
    "compare_to_offline",
    "load",
    "merge",
]
