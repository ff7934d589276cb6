"""An estimator as the model that each key or partition starts from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...estimators.online_adaptive_pca import OnlineAdaptivePCA
from ...estimators.persistence import unfitted
from ...estimators.stream_monitor import StreamMonitor
from ...model import StreamModel, plan_for
from ...model.parameters import check_words, seed


def template_of(model: OnlineAdaptivePCA | StreamMonitor, names: Sequence[str]) -> StreamModel:
    """A model that has learnt nothing, for these inputs; refuses parameters that do not fit them."""
    if not isinstance(model, OnlineAdaptivePCA | StreamMonitor):
        raise TypeError(f"expected an OnlineAdaptivePCA or a StreamMonitor, got {model!r}")
    template = unfitted(model)
    given = template.parameters["random_state"]
    template.parameters["random_state"] = 0 if given is None else seed(given)
    template.features = list(names)
    check_words(template.parameters)
    plan_for(template.parameters, len(names), np.float64)
    return template
