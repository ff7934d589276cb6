"""The monitor as an anomaly detector of river."""

from __future__ import annotations

from typing import Any

import numpy as np
from river import base

from ...model.parameters import refuse_huge
from ...monitoring import MonitoredModel, MonitorSettings
from .features import Features, KnownFeatures, for_width, let_in, row_of


class AnomalyMonitor(base.AnomalyDetector):
    """A monitor for river: how far a sample leaves the usual pattern, by limits that keep their word.

    The score is the severity of a sample, ``ln(p) / ln(false_alarm_rate)``, where p says how rare it is by
    T², SPE, distance, extreme, average and pair: above 1 is an alarm, which comes at ``false_alarm_rate`` on
    an undisturbed stream. It is 0 before there is a basis for limits, about a hundred samples. A sample that
    alarms is learnt with less weight, and while most of them alarm nothing is, unless they go on for so long
    that they are the new normal.

    Features may come and go, as of `StreamingPCA`. After a new one there has to be a new basis for limits.

    Parameters
    ----------
    false_alarm_rate
        Share of usual samples that alarm.
    learn_from_alarms
        True to learn samples that alarm like all others.
    n_components, max_components, half_life, seed
        As of `StreamingPCA`.

    Examples
    --------
    >>> import random
    >>> rng, monitor = random.Random(0), AnomalyMonitor()
    >>> for _ in range(1000):
    ...     load = rng.gauss(0, 3)
    ...     flow = {"in": load + rng.gauss(0, 0.1), "out": load + rng.gauss(0, 0.1)}
    ...     monitor.learn_one({**flow, "x": rng.gauss(0, 1)})
    >>> usual, strange = {"in": 2.0, "out": 2.1, "x": 0.3}, {"in": 2.0, "out": -2.0, "x": 0.3}
    >>> monitor.score_one(usual) < 1 < monitor.score_one(strange)
    True
    """

    def __init__(
        self,
        false_alarm_rate: float = 1e-3,
        learn_from_alarms: bool = False,
        n_components: int | float | str = "parallel",
        max_components: int | None = None,
        half_life: float | None = None,
        seed: int | None = None,
    ) -> None:
        self.false_alarm_rate = false_alarm_rate
        self.learn_from_alarms = learn_from_alarms
        self.n_components = n_components
        self.max_components = max_components
        self.half_life = half_life
        self.seed = seed
        self.model: MonitoredModel | None = None
        """The model; None before the first sample."""
        self.inputs = KnownFeatures()

    def learn_one(self, x: Features) -> None:
        """Judge one sample, and learn it, with less weight if it alarms."""
        row = row_of(x)
        refuse_huge(row)  # now, since a refused call leaves the model as it was
        for rows, new in self.inputs.parts(list(x), row):
            if new:
                self._join(np.array(list(new.values())))
            if self.model is not None:
                self.model.judge_many(rows)

    def score_one(self, x: Features) -> float:
        """Severity of the sample: above 1 it alarms."""
        if self.model is None or self.model.monitor is None:
            return 0.0
        severity = self.model.monitor.severity_of(self.inputs.of(list(x), row_of(x)), "impute")
        return float(severity[0])

    def _join(self, first: Any) -> None:
        """Let features into the model that had been constant so far."""
        parameters = {
            "n_components": self.n_components,
            "max_components": self.max_components,
            "half_life": self.half_life,
            "random_state": self.seed,
        }
        width, model = len(self.inputs), self.model
        if model is None or model.monitor is None:
            settings = MonitorSettings(self.false_alarm_rate, self.learn_from_alarms)
            self.model = MonitoredModel(settings, **for_width(parameters, width))
            return
        let_in(model, parameters, width, first)
        model.monitor.go_on_with(model.fitted())
