"""Estimators that hold a model: their calls are whole because those of the model are."""

from __future__ import annotations

from collections.abc import Callable

from ..model import StreamModel, Tracker
from ..model.whole_calls import Callers, reverting


class HoldsModel:
    """Abstract: an estimator with a `StreamModel`, or a `MonitoredModel`, once it has learnt."""

    _model: StreamModel

    @property
    def _callers(self) -> Callers:
        """Whoever learns with this estimator at this moment."""
        found: Callers | None = self.__dict__.get("_callers")
        return found or self.__dict__.setdefault("_callers", Callers())

    @_callers.setter
    def _callers(self, callers: Callers) -> None:
        self.__dict__["_callers"] = callers

    def _reverting(self) -> Callable[[], None]:
        return reverting(self, vars(self).get("_model"))

    @property
    def _tracker(self) -> Tracker:
        return self._model.fitted()
