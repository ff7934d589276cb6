"""Estimators of models that come from a file, and back."""

from __future__ import annotations

import os
from dataclasses import asdict

import numpy as np

from ..model import StreamModel
from ..monitoring import MonitoredModel
from ..monitoring import load as load_stored
from .online_adaptive_pca import OnlineAdaptivePCA
from .stream_monitor import StreamMonitor


def load(path: str | os.PathLike[str]) -> OnlineAdaptivePCA | StreamMonitor:
    """The model or monitor that ``save`` or the command line wrote; it continues exactly there.

    Nothing in the file is executed. Callbacks are not part of it: set them again.

    Raises
    ------
    ValueError
        If the file is not a model, damaged, or written by another version.
    """
    return estimator_of(load_stored(path))


def unfitted(model: OnlineAdaptivePCA | StreamMonitor) -> StreamModel:
    """A model, or a monitor with its model, that has the same parameters and has learnt nothing."""
    if isinstance(model, StreamMonitor):
        return MonitoredModel(model._settings(), **model._begin(fresh=True)._parameters())
    return StreamModel(**model._parameters())


def estimator_of(stored: StreamModel) -> OnlineAdaptivePCA | StreamMonitor:
    """The estimator of a fitted model, or of a monitor with its model."""
    model = OnlineAdaptivePCA(**stored.parameters)
    model.n_features_in_ = stored.n_features_in_
    if stored.features:
        model.feature_names_in_ = np.array(stored.features, dtype=object)
    model._hold(stored)
    if not isinstance(stored, MonitoredModel):
        return model
    monitor = StreamMonitor(OnlineAdaptivePCA(**stored.parameters), **asdict(stored.settings))
    monitor.model_, monitor._model, monitor._callers = model, stored, model._callers
    return monitor
