"""Models and monitors that can be drawn."""

from __future__ import annotations

from typing import Any, TypeAlias

Model: TypeAlias = Any
"""A fitted `AdaptivePCA`, `OnlineAdaptivePCA`, `StreamModel` or `StreamMonitor`."""


def fitted(model: Model) -> Any:
    """The model, or the model of a monitor; an error if it has learnt nothing."""
    if hasattr(model, "get_params"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
    return getattr(model, "model_", model)
