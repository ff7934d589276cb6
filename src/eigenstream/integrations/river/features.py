"""Features by name that come and go, and models whose inputs become more while they learn."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...array_types import as_numbers
from ...model import StreamModel, plan_for, widened
from ...model.stream_model import DEFAULTS
from ...rank import FixedRank, rule_of

if TYPE_CHECKING:
    import pandas

Features = Mapping[Hashable, Any]
Rows = NDArray[np.floating[Any]]


class FeaturePart(NamedTuple):
    """Rows during which no feature is seen for the first time, and those that were just before."""

    rows: Rows
    new: dict[Hashable, float]
    """The first value of each of them."""


class KnownFeatures:
    """The features seen so far, and which input of the model each of them is."""

    def __init__(self) -> None:
        self.places: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self.places)

    def parts(self, names: Sequence[Hashable], rows: Rows) -> Iterator[FeaturePart]:
        """Rows in parts that begin where features have their first value; these become inputs.

        Features that appear together are sorted: the order of a dictionary says nothing.
        """
        new = [i for i, name in enumerate(names) if name not in self.places]
        observed = ~np.isnan(rows[:, new])
        begins = np.where(observed.any(axis=0), observed.argmax(axis=0), len(rows))
        cuts = sorted({0, *begins.tolist(), len(rows)})
        for start, stop in pairwise(cuts):
            here = [i for i, begin in zip(new, begins, strict=True) if begin == start]
            here.sort(key=lambda i: (str(names[i]), i))
            first = {names[i]: float(rows[start, i]) for i in here}
            self.places |= {name: i for i, name in enumerate(first, len(self.places))}
            yield FeaturePart(self.of(names, rows[start:stop]), first)

    def of(self, names: Sequence[Hashable], rows: Rows) -> Rows:
        """The rows as the model knows them: NaN for a feature that is not there."""
        inputs = np.full((len(rows), len(self.places)), np.nan)
        known = [(i, self.places[name]) for i, name in enumerate(names) if name in self.places]
        inputs[:, [there for _, there in known]] = rows[:, [here for here, _ in known]]
        return inputs


def row_of(x: Features) -> Rows:
    """The values of one sample as a row; NaN for None."""
    values = [np.nan if value is None or value is np.ma.masked else value for value in x.values()]
    try:
        return np.asarray(as_numbers([values]), dtype=np.float64)
    except (TypeError, ValueError):
        name, value = next((name, value) for name, value in x.items() if not _is_number(value))
        raise ValueError(
            f"feature {name!r} is {value!r}, expected a number: choose numeric features, for instance with "
            "river.compose.SelectType"
        ) from None


def rows_of(X: pandas.DataFrame) -> Rows:
    """A mini-batch as rows; NaN for missing values."""
    try:
        as_numbers(X)
        table: Rows = X.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"a column of the mini-batch holds no numbers ({error}): choose numeric columns, for instance "
            "with river.compose.SelectType"
        ) from None
    return table


def _is_number(value: Any) -> bool:
    try:
        float(as_numbers([value])[0])
    except (TypeError, ValueError):
        return value is None
    return True


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
