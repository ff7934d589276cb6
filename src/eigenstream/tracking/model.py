"""A streaming model without an estimator around it: parameters, a tracker, and both in one file.

`OnlineAdaptivePCA` and a job that follows a file share this form; only the former needs scikit-learn.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import checkpoint
from ..regularizers import REGULARIZERS, Regularizer
from . import parameters as meaning
from .stored_form import restored, stored
from .tracker import RankChange, Tracker

DEFAULTS: dict[str, Any] = {
    "regularizer": "input-output",
    "alpha": "auto",
    "max_components": None,
    "solver": "auto",
    "half_life": None,
    "center": True,
    "missing": "raise",
    "scores": "shrunk",
    "init_samples": "auto",
    "consolidation": "auto",
    "spontaneous_activity": "auto",
    "random_state": None,
}
"""The parameters of a model and their defaults."""


@dataclass
class StreamModel:
    """Parameters and, once a row has come, the tracker that follows them."""

    parameters: dict[str, Any] = field(default_factory=lambda: dict(DEFAULTS))
    tracker: Tracker | None = None
    features: list[str] = field(default_factory=list)
    """Names of the inputs, if they have names."""
    position: Any = None
    """What `save` was told about the position in the source."""

    def learn(
        self, rows: NDArray[Any], *, scored: bool = False
    ) -> tuple[NDArray[Any] | None, list[RankChange]]:
        """Learn from rows in order; returns their scores from before, if asked for, and changes of rank.

        Parameters
        ----------
        rows
            float32 or float64, finite unless ``missing`` allows NaN.
        scored
            Whether to score each row before it is learnt from.
        """
        if self.tracker is None:
            plan = meaning.plan_for(self.parameters, rows.shape[1], rows.dtype.type)
            tracker = Tracker(plan)
        else:
            tracker = self.tracker
        rows = np.ascontiguousarray(rows, dtype=tracker.plan.dtype)
        meaning.refuse_huge(rows)
        self.tracker = tracker
        how = self.parameters["scores"] if scored else None
        return tracker.follow(rows, None, self.parameters["missing"], how)

    def save(self, path: str | os.PathLike[str], position: Any = None) -> None:
        """Write the model to a file: it holds the old content or the new, never a part."""
        if self.tracker is None:
            raise ValueError("there is nothing to save: the model has not learnt anything yet")
        arrays, document = stored(self.tracker)
        checkpoint.write(
            path,
            arrays,
            {
                "parameters": _plain(self.parameters, self.tracker.plan.seed),
                "features": self.features,
                "tracker": document,
                "position": position,
            },
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> StreamModel:
        """The model that `save` wrote; it continues exactly where it was. Nothing in the file is executed.

        Raises
        ------
        ValueError
            If the file is not a model, damaged, or written by another version.
        """
        arrays, document = checkpoint.read(path)
        try:
            return cls._rebuilt(arrays, document)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
            raise ValueError(f"{os.fspath(path)!r} is a damaged eigenstream model: {error!r}") from None

    @classmethod
    def _rebuilt(cls, arrays: Mapping[str, NDArray[Any]], document: Mapping[str, Any]) -> StreamModel:
        parameters = dict(document["parameters"])
        if set(parameters) != set(DEFAULTS):
            raise ValueError(f"its parameters are {sorted(parameters)}, expected {sorted(DEFAULTS)}")
        if isinstance(parameters["regularizer"], dict):
            named = parameters["regularizer"]
            parameters["regularizer"] = REGULARIZERS[named["name"]](named["alpha"])
        meaning.check_words(parameters)
        tracker = restored(arrays, document["tracker"])
        features, n = document["features"], tracker.plan.n
        if features and (len(features) != n or not all(isinstance(name, str) for name in features)):
            raise ValueError(f"its {n} features have other names than {features!r}")
        return cls(parameters, tracker, list(features), document["position"])


def _plain(parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Parameters as values that JSON can hold."""
    plain = {name: v.item() if isinstance(v, np.generic) else v for name, v in parameters.items()}
    regularizer = plain["regularizer"]
    if isinstance(regularizer, Regularizer):
        plain["regularizer"] = {"name": regularizer.name, "alpha": float(regularizer.alpha)}
    if not isinstance(plain["random_state"], int | None):
        plain["random_state"] = seed
    return plain
