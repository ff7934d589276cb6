"""Rows judged as a job does it, with the traces of its alarms kept."""

from __future__ import annotations

import numpy as np

from eigenstream.io.sources import Batch
from eigenstream.jobs.traces import Traces
from eigenstream.monitoring import MonitoredModel


def judge(model: MonitoredModel, traces: Traces, X: np.ndarray, start: int, stop: int) -> None:
    """Let a monitor judge these rows, and traces hear of it."""
    traces.judged(model.judge_many(X[start:stop]))
    traces.learnt(model, Batch(X[start:stop], np.arange(start, stop), stop, 0, dict))
