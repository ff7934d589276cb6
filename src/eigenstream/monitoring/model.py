"""A monitor and its model without scikit-learn; jobs and the command line run on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..io import checkpoint
from ..model import StreamModel
from ..model.whole_calls import reverting, whole_call
from .events import Alarm, Contributors, Notice
from .history import ControlHistory
from .monitor import Monitor
from .settings import MonitorSettings
from .shared_limits import SharedLimits
from .stored_form import restored, stored
from .verdicts import Findings, Verdicts


def load(path: str | os.PathLike[str]) -> StreamModel:
    """The model in a file: a `MonitoredModel` if it has a monitor, a `StreamModel` otherwise."""
    arrays, document = checkpoint.read(path)
    kind = MonitoredModel if "monitor" in document else StreamModel
    return kind.from_stored(arrays, document, path)


class MonitoredModel(StreamModel):
    """A `StreamModel` that judges rows before it learns them, and does not learn those that alarm.

    Parameters
    ----------
    settings
        Settings of the monitor.
    **parameters
        As of `StreamModel`.

    Examples
    --------
    >>> from eigenstream import streams
    >>> model = MonitoredModel(MonitorSettings(false_alarm_rate=0.01))
    >>> for batch in streams.paper_stream(2000, random_state=0):
    ...     verdicts = model.judge_many(batch)
    >>> bool(verdicts.severity.max() < 1)
    True
    """

    def __init__(self, settings: MonitorSettings | None = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.settings = MonitorSettings() if settings is None else settings
        self.monitor: Monitor | None = None
        """None until the first row has come."""
        self.shared: SharedLimits | None = None
        """Evidence that monitors of like streams share, if there are some; not a part of the stored form."""
        self.on_alarm: Callable[[Alarm], object] | None = None
        self.on_notice: Callable[[Notice], object] | None = None

    @whole_call
    def judge_many(self, rows: NDArray[Any], timestamps: Any = None) -> Verdicts:
        """Judge rows in order, and learn those that do not alarm."""
        return self.follow(rows, timestamps).verdicts

    @whole_call
    def explain_many(self, rows: NDArray[Any], timestamps: Any = None) -> tuple[Verdicts, list[Contributors]]:
        """`judge_many`, and for each row that alarms the inputs to blame, with their shares."""
        found = self.follow(rows, timestamps, blame=True)
        return found.verdicts, found.contributors

    def _reverting(self) -> Callable[[], None]:
        return reverting(self, self.tracker if self.monitor is None else self.monitor)

    def learn_normal(self, rows: NDArray[Any], timestamps: Any) -> None:
        """Learn first rows, all of which are declared normal; inside a `whole_call`, as `follow`."""
        tracker, rows, times = self._checked(rows, timestamps)
        self.monitor = Monitor(tracker, self.settings, self.features)
        self.announce(self.monitor.learn_normal(rows, self.parameters["missing"], times))

    def follow(self, rows: NDArray[Any], timestamps: Any, *, blame: bool = False) -> Findings:
        """Check rows, judge them, learn those that do not alarm, and announce what has changed.

        It belongs inside a `whole_call` of the outermost method.
        """
        if timestamps is not None and self.monitor is not None and self.monitor.frozen:
            # It learns nothing, so it may judge rows from before those it has learnt: no time passes for it.
            latest = self.monitor.tracker.clock.latest
            timestamps = timestamps if latest is None else np.full(np.shape(timestamps), latest)
        tracker, rows, times = self._checked(rows, timestamps)
        if self.monitor is None:
            self.monitor = Monitor(tracker, self.settings, self.features, shared=self.shared)
        found = self.monitor.follow(rows, self.parameters["missing"], times, blame=blame)
        self.announce(found.rank_changes)
        if self.on_alarm is not None:
            for alarm in found.alarms:
                self.on_alarm(alarm)
        if self.on_notice is not None:
            for notice in found.notices:
                self.on_notice(notice)
        return found

    @whole_call
    def learn_many(
        self, rows: NDArray[Any], timestamps: Any = None, *, residuals: bool = False
    ) -> NDArray[Any]:
        """`judge_many`, as a matrix with the columns `COLUMNS`; SPE is the residual."""
        return self.follow(rows, timestamps).verdicts.matrix()

    @whole_call
    def partial_fit(self, rows: NDArray[Any], timestamps: Any = None) -> Self:
        """`judge_many` without an answer."""
        self.follow(rows, timestamps)
        return self

    @whole_call
    def freeze(self) -> None:
        """Judge rows from now on by what is known now, and learn nothing."""
        self._watching().freeze()

    @classmethod
    def over(cls, model: StreamModel, settings: MonitorSettings | None = None) -> Self:
        """A monitor that goes on from what a model has learnt; the model itself must not be used any more."""
        monitored = cls(settings, **model.parameters)
        monitored.tracker, monitored.features = model.tracker, model.features
        monitored.position_ = model.position_
        if model.tracker is not None:
            monitored.monitor = Monitor(model.tracker, monitored.settings, model.features)
            monitored.monitor.begin()
        return monitored

    @property
    def control_history_(self) -> ControlHistory:
        """The statistics and limits over the whole stream, in up to 512 stretches."""
        return self._watching().stretches.history()

    @property
    def alarms_(self) -> list[Alarm]:
        """The last alarms that counted, oldest first; at most 1,000."""
        return list(self._watching().watch.past)

    @property
    def notices_(self) -> list[Notice]:
        """The last drifts and inputs out of order, oldest first; at most 1,000."""
        return list(self._watching().notices)

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
