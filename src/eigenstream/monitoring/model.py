"""A monitor and its model without scikit-learn: what jobs and the command line run on."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import checkpoint
from ..tracking import StreamModel
from .events import Alarm
from .monitor import Monitor, Settings
from .reference import STATISTICS
from .stored_form import restored, stored
from .verdicts import Verdicts

COLUMNS = (*STATISTICS, *(f"{name}_limit" for name in STATISTICS), "index", "alarm", "since")
"""What is said of each row, in the order of the columns of `MonitoredModel.learn_many`."""


def is_monitored(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds a monitor, not only a model."""
    return "monitor" in checkpoint.read(path)[1]


class MonitoredModel(StreamModel):
    """A `StreamModel` that judges rows before it learns them, and does not learn those that alarm.

    Parameters
    ----------
    settings
        What the monitor is asked to do.
    **parameters
        As of `StreamModel`.

    Examples
    --------
    >>> from eigenstream import streams
    >>> model = MonitoredModel(Settings(false_alarm_rate=0.01))
    >>> for batch in streams.paper_stream(2000, random_state=0):
    ...     verdicts = model.judge_many(batch)
    >>> bool(verdicts.index.max() < 1)
    True
    """

    def __init__(self, settings: Settings | None = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.settings = Settings() if settings is None else settings
        self.monitor: Monitor | None = None
        """None until the first row has come."""
        self.on_alarm: Callable[[Alarm], object] | None = None

    def judge_many(self, rows: NDArray[Any], timestamps: Any = None) -> Verdicts:
        """Judge rows in order, and learn those that do not alarm."""
        tracker, rows, times = self._checked(rows, timestamps)
        if self.monitor is None:
            self.monitor = Monitor(tracker, self.settings, self.features)
        verdicts, alarms, changes = self.monitor.follow(rows, self.parameters["missing"], times)
        self._announce(changes)
        if self.on_alarm is not None:
            for alarm in alarms:
                self.on_alarm(alarm)
        return verdicts

    def learn_many(
        self, rows: NDArray[Any], timestamps: Any = None, *, residuals: bool = False
    ) -> NDArray[Any]:
        """`judge_many`, as a matrix with the columns `COLUMNS`; SPE is the residual."""
        verdicts = self.judge_many(rows, timestamps)
        return np.column_stack([getattr(verdicts, name).astype(np.float64) for name in COLUMNS])

    def partial_fit(self, rows: NDArray[Any], timestamps: Any = None) -> Self:
        """`judge_many` without an answer."""
        self.judge_many(rows, timestamps)
        return self

    def freeze(self) -> None:
        """From now on judge rows by what is known now, and learn nothing."""
        self._watching().freeze()

    @property
    def alarms_(self) -> list[Alarm]:
        """The last alarms that counted, oldest first; at most 1,000."""
        return list(self._watching().watch.past)

    def _watching(self) -> Monitor:
        if self.monitor is None:
            raise AttributeError("this monitor has not seen anything yet")
        return self.monitor

    def _stored(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, document = super()._stored()
        more, document["monitor"] = stored(self._watching())
        return arrays | more, document

    @classmethod
    def _rebuilt(cls, arrays: Mapping[str, NDArray[Any]], document: Mapping[str, Any]) -> Self:
        if "monitor" not in document:
            raise ValueError("it is a model without a monitor")
        model = super()._rebuilt(arrays, document)
        assert model.tracker is not None
        model.monitor = restored(arrays, document["monitor"], model.tracker, model.features)
        model.settings = model.monitor.settings
        return model
