"""scikit-learn shells: they store parameters, validate, translate and delegate."""

from .adaptive_pca import AdaptivePCA

__all__ = ["AdaptivePCA"]
