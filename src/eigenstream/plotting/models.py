"""What can be drawn: models of every kind, fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from ..estimators import AdaptivePCA, OnlineAdaptivePCA, StreamMonitor
    from ..tracking import StreamModel

    Model: TypeAlias = AdaptivePCA | OnlineAdaptivePCA | StreamModel | StreamMonitor


def fitted(model: Model) -> Any:
    """The model, or the model of a monitor; an error if it has learnt nothing."""
    if hasattr(model, "get_params"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
    return getattr(model, "model_", model)
