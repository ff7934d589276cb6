"""Models whose inputs become more while they learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...model import StreamModel, plan_for, widened
from ...model.stream_model import DEFAULTS
from ...rank import FixedRank, rule_of


def for_width(parameters: Mapping[str, Any], width: int) -> dict[str, Any]:
    """Parameters of a model of this many inputs: neither number nor capacity exceed them, gaps are filled."""
    wanted, most = parameters["n_components"], parameters["max_components"]
    if isinstance(rule := rule_of(wanted), FixedRank):
        wanted = min(rule.number, width)
    fitting = {"n_components": wanted, "max_components": None if most is None else min(most, width)}
    return {**DEFAULTS, **parameters, **fitting, "missing": "impute"}


def let_in(model: StreamModel, parameters: Mapping[str, Any], width: int, first: Any) -> None:
    """Let new inputs into a model that has learnt, as if they had been constant so far.

    Parameters
    ----------
    model
        A model that has learnt from fewer inputs.
    parameters
        The parameters that the user gave.
    width
        The number of inputs from now on.
    first
        The first value of each new input.
    """
    tracker = model.fitted()
    model.parameters = for_width(parameters, width)
    plan = plan_for(model.parameters, width, np.float64)
    if plan.k < tracker.plan.k:  # a share without a capacity, where the exact learner hands over
        model.parameters["max_components"] = tracker.plan.k
        plan = plan_for(model.parameters, width, np.float64)
    model.tracker = widened(tracker, plan, first)
