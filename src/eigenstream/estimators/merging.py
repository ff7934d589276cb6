"""Models trained on different rows of one source, as one."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.base import clone

from ..model import StreamModel, joined
from .online_adaptive_pca import OnlineAdaptivePCA, require_online


def merge(models: Sequence[OnlineAdaptivePCA]) -> OnlineAdaptivePCA:
    """One model that knows what all of them know.

    Their spectra are stacked, with one row per model for how far its mean lies from the common one; a
    singular value decomposition gives the joint spectrum. With ``solver="exact"`` the result is the model of
    all rows to rounding; otherwise it lacks what each model had let go before. The order of the models
    matters to signs alone: axes point to where those of the first model point, so that models in the order
    of their rows give the signs of one model of all rows. A tree of merges agrees with a single one up to
    what the capacity cuts off.

    Standardized models are joined in raw units. Models that forget by the clock are first discounted to the
    last row of all. With lags, the result goes on after the rows of the last model (by the clock: of the one
    whose rows are the newest).

    Parameters
    ----------
    models
        Fitted models with the same width, capacity, regularizer, alpha, solver, half-life, centering,
        standardization and lags. They are left as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import OnlineAdaptivePCA, merge, streams
    >>> shards = [[], []]
    >>> for i, batch in enumerate(streams.paper_stream(4000, random_state=0)):
    ...     shards[i % 2].append(batch)
    >>> models = [OnlineAdaptivePCA().fit(np.vstack(rows)) for rows in shards]
    >>> merged = merge(models)
    >>> merged.n_components_, merged.n_samples_seen_
    (4, 4000)
    """
    if not models:
        raise ValueError("there is nothing to merge: give at least one model")
    for model in models:
        require_online(model)
    merged: OnlineAdaptivePCA = clone(models[0])
    merged.n_features_in_ = models[0].n_features_in_
    if hasattr(models[0], "feature_names_in_"):
        merged.feature_names_in_ = models[0].feature_names_in_
    one = StreamModel(**merged._parameters())
    one.tracker = joined([model._tracker for model in models])
    merged._hold(one)
    return merged
