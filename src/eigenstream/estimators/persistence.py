"""A model as a file, and back: translation between an estimator and `eigenstream.tracking.StreamModel`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..tracking import StreamModel
from .online_adaptive_pca import OnlineAdaptivePCA


def save(model: OnlineAdaptivePCA, path: str | os.PathLike[str], position: Any = None) -> None:
    """Write a fitted model and its position; `load` continues from it bit for bit."""
    parameters = model.get_params(deep=False)
    del parameters["on_rank_change"]
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    stored = StreamModel(**parameters)
    stored.tracker, stored.features = model._tracker, names
    stored.save(path, position)


def load(path: str | os.PathLike[str]) -> OnlineAdaptivePCA:
    """The model that `OnlineAdaptivePCA.save` or `eigenstream run --save` wrote; it continues exactly there.

    Nothing in the file is executed. A ``on_rank_change`` callback is not part of it: set it again.

    Raises
    ------
    ValueError
        If the file is not a model, damaged, or written by another version.
    """
    stored = StreamModel.load(path)
    assert stored.tracker is not None
    model = OnlineAdaptivePCA(**stored.parameters)
    model._tracker = stored.tracker
    model.n_features_in_ = stored.tracker.plan.width
    model.position_ = stored.position_
    if stored.features:
        model.feature_names_in_ = np.array(stored.features, dtype=object)
    return model
