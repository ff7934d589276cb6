"""A model as a file, and back: translation between an estimator and `eigenstream.model.StreamModel`."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

import numpy as np

from ..model import StreamModel
from ..monitoring import MonitoredModel
from ..monitoring import load as load_stored
from .online_adaptive_pca import OnlineAdaptivePCA
from .stream_monitor import StreamMonitor


def save(model: OnlineAdaptivePCA, path: str | os.PathLike[str], position: Any = None) -> None:
    """Write a fitted model and its position; `load` continues from it bit for bit."""
    stored = unfitted(model)
    stored.tracker = model._tracker
    stored.features = [str(name) for name in getattr(model, "feature_names_in_", ())]
    stored.save(path, position)


def save_monitor(monitor: StreamMonitor, path: str | os.PathLike[str], position: Any = None) -> None:
    """Write a fitted monitor, its model and its position; `load` continues from it bit for bit."""
    watching = monitor._fitted()
    stored = MonitoredModel(watching.settings, **_parameters(monitor.model_))
    stored.tracker, stored.monitor, stored.features = watching.tracker, watching, list(watching.names)
    stored.save(path, position)


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
        return MonitoredModel(model._settings(), **_parameters(model._begin(fresh=True)))
    return StreamModel(**_parameters(model))


def estimator_of(stored: StreamModel) -> OnlineAdaptivePCA | StreamMonitor:
    """The estimator of a fitted model, or of a monitor with its model."""
    model = _online(stored)
    if not isinstance(stored, MonitoredModel):
        return model
    monitor = StreamMonitor(OnlineAdaptivePCA(**stored.parameters), **asdict(stored.settings))
    assert stored.monitor is not None
    monitor.model_, monitor._monitor = model, stored.monitor
    return monitor


def _parameters(model: OnlineAdaptivePCA) -> dict[str, Any]:
    """What can be stored of its parameters."""
    parameters: dict[str, Any] = model.get_params(deep=False)
    del parameters["on_rank_change"]
    return parameters


def _online(stored: StreamModel) -> OnlineAdaptivePCA:
    assert stored.tracker is not None
    model = OnlineAdaptivePCA(**stored.parameters)
    model._tracker = stored.tracker
    model.n_features_in_ = stored.tracker.plan.width
    model.position_ = stored.position_
    if stored.features:
        model.feature_names_in_ = np.array(stored.features, dtype=object)
    return model
