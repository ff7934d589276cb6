"""A streaming model: parameters, a tracker, both in one file. Checks, whole calls and announcements are here.

Estimators, jobs and integrations hold one. It takes rows as arrays, and does not need scikit-learn.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from operator import index
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..array_types import as_numbers
from ..io import checkpoint
from ..io.durations import as_seconds, is_duration, seconds
from ..learners.arrays import host, launches
from ..learners.sparse import SparseRows
from ..rank import FixedRank, Rule, rule_of
from ..regularizers import REGULARIZERS, Regularizer
from . import parameters as meaning
from .attributes import TrackedAttributes
from .delays import input_names
from .events import RankChange
from .network import Network
from .stamps import row_times
from .stored_form import restored, stored
from .time_filter import FIRST_ROWS, Forecast
from .tracker import FILLED, Tracker
from .weights import Settling, network_response
from .whole_calls import Callers, reverting, whole_call

DEFAULTS: dict[str, Any] = {
    "n_components": "auto",
    "regularizer": "input-output",
    "alpha": None,
    "max_components": None,
    "solver": "auto",
    "half_life": None,
    "center": True,
    "standardize": False,
    "lags": 0,
    "outliers": "keep",
    "missing": "raise",
    "scores": "shrunk",
    "random_state": None,
}
"""The parameters of a model and their defaults."""


MANY_SKIPPED = 32
"""Rows that have to be skipped before somebody is warned that most are: the first few say nothing."""

CALLS = 7
"""Calls from a warning up to the user's: `_warn`, `announce`, `learn`, three of an estimator, the user's."""


class StreamModel(TrackedAttributes):
    """A streaming model with the attributes of `OnlineAdaptivePCA`, for rows that need no checking.

    Parameters
    ----------
    **parameters
        As of `OnlineAdaptivePCA`; `DEFAULTS` for those that are not given.

    Examples
    --------
    >>> from eigenstream import streams
    >>> model = StreamModel(half_life=500)
    >>> for batch in streams.paper_stream(2000, random_state=0):
    ...     scores = model.learn_many(batch)
    >>> model.n_components_
    4
    """

    def __init__(self, **parameters: Any) -> None:
        unknown = set(parameters) - set(DEFAULTS)
        if unknown:
            raise TypeError(f"unknown parameters {sorted(unknown)}, expected some of {sorted(DEFAULTS)}")
        self.parameters = DEFAULTS | parameters
        self.tracker: Tracker | None = None
        """None until the first row has come."""
        self.features: list[str] = []
        """Names of the inputs, if they have names."""
        self.position_: Any = None
        """Position in the source that `save` was given, after `load`."""
        self.on_rank_change: Callable[[RankChange], object] | None = None
        self.warned: set[str] | None = None
        """Warnings given so far; None gives none."""
        self._callers = Callers()

    def mark(self) -> Callable[[], None]:
        """Remember the present state, cheaply; `revert` goes back to it."""
        return self._reverting()

    def revert(self, mark: Callable[[], None]) -> None:
        """Go back to the bits of a mark."""
        mark()

    def _reverting(self) -> Callable[[], None]:
        return reverting(self, self.tracker)

    @property
    def is_fitted(self) -> bool:
        return self.tracker is not None

    @property
    def n_features_in_(self) -> int:
        return self.fitted().plan.width

    @property
    def input_names_(self) -> list[str]:
        """Names of the numbers that are learnt from together: with lags, also of predecessors."""
        plan = self.fitted().plan
        return input_names(self.features or [f"x{i}" for i in range(plan.width)], plan.lags)

    @property
    def needs_timestamps(self) -> bool:
        """True if the half-life is a duration, so that every row needs its time."""
        return is_duration(self.parameters["half_life"])

    @property
    def missing(self) -> str:
        """Treatment of rows that have NaN; may be set."""
        return str(self.parameters["missing"])

    @missing.setter
    def missing(self, value: str) -> None:
        meaning.check_words({**self.parameters, "missing": value})
        self.parameters["missing"] = value

    @property
    def has_started(self) -> bool:
        """True once there is something to score rows by."""
        return self.is_fitted and self.fitted().last_look.started

    @whole_call
    def learn_many(
        self, rows: NDArray[Any], timestamps: Any = None, *, residuals: bool = False
    ) -> NDArray[Any]:
        """Learn from rows in order; returns each row's score before learning from it.

        With ``residuals``, a last column holds its squared residual by what was known then.
        """
        scores = self.learn(rows, None, timestamps, self.parameters["scores"], residuals=residuals)
        assert scores is not None
        return scores

    @whole_call
    def learn_with_innovations(
        self, rows: NDArray[Any], timestamps: Any = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Learn from rows in order; returns scores, and each row less its forecast by the rows before it.

        As `OnlineAdaptivePCA.learn_many`; needs ``missing="impute"``.
        """
        found = self.learn(rows, None, timestamps, self.parameters["scores"], innovations=True)
        assert found is not None
        return found[:, : -self.n_features_in_], found[:, -self.n_features_in_ :]

    @whole_call
    def partial_fit(self, rows: NDArray[Any], timestamps: Any = None) -> Self:
        """Learn from rows in order; ``timestamps`` as of `OnlineAdaptivePCA.partial_fit`."""
        self.learn(rows, None, timestamps)
        return self

    def transform(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Scores of each row, as `OnlineAdaptivePCA.transform`."""
        tracker, rows = self.fitted(), as_numbers(rows)
        if not tracker.plan.anywhere:
            rows = host(rows)
        missing, scores = self.parameters["missing"], self.parameters["scores"]
        return self._callers.read(lambda: tracker.encode(rows, missing, scores))

    def respond(self, rows: NDArray[Any], settling: Settling = "fixed-point", **options: Any) -> NDArray[Any]:
        """Outputs y of the network to each row, as `OnlineAdaptivePCA.respond`."""
        tracker = self.fitted()
        rows, missing = self._typed(host(as_numbers(rows)), tracker), self.parameters["missing"]
        return self._callers.read(lambda: network_response(tracker, rows, missing, settling, **options))

    @whole_call
    def learn_and_impute(
        self, rows: NDArray[Any], timestamps: Any = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Learn from rows in order; returns each row, gaps filled before learning from it, and deviations.

        As `OnlineAdaptivePCA.learn_and_impute`; needs ``missing="impute"``.
        """
        found = self.learn(rows, None, timestamps, FILLED)
        assert found is not None
        return found[:, : self.n_features_in_], found[:, self.n_features_in_ :]

    @whole_call
    def pause(self, rows: int) -> None:
        """Let rows pass that did not come: as rows without any value, if gaps are filled by time."""
        if self.tracker is not None:
            self.tracker.blocks.pause(rows)

    def forecast(self, steps: Any = 1, timestamps: Any = None) -> Forecast:
        """The next rows, as `OnlineAdaptivePCA.forecast`."""
        tracker = self.fitted()
        self._need_past(tracker, "forecasts")
        plan, times = tracker.plan, None
        if timestamps is not None:
            times = as_seconds(timestamps)
            times = row_times(times, len(times), plan, tracker.clock.latest)
        steps = self._number_of_steps(tracker, steps)
        found = self._callers.read(lambda: tracker.forecast(steps, times))
        if found is None:
            raise ValueError(
                f"{tracker.time} rows say too little about time: forecasts begin with row {FIRST_ROWS}, "
                "if missing='impute' and something has varied"
            )
        return found

    def _number_of_steps(self, tracker: Tracker, steps: Any) -> int:
        """A number of usual steps; a duration is as many as it has, and one at least."""
        if is_duration(steps):
            if tracker.plan.seconds is None:
                raise ValueError(
                    f"a forecast over {steps!r} needs rows with time stamps, and a half-life in time such as "
                    "half_life='10min': give a number of steps"
                )
            usual = self._callers.read(tracker.usual_step)
            return max(round(seconds(steps) / usual), 1) if usual else 1
        number = index(steps)
        if number < 1:
            raise ValueError(f"steps must be at least 1, got {number}")
        return number

    def _need_past(self, tracker: Tracker, what: str) -> None:
        """An error where nobody follows the past of each input."""
        if self.missing != "impute" or tracker.learner.block == 1:
            raise ValueError(
                f"{what} need missing='impute' and the exact or the subspace solver, which follow the "
                f"past of each input; got missing={self.missing!r} and the {tracker.plan.solver} solver"
            )

    def squared_residuals(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Squared distance of each row from what the components can express; NaN where values are missing."""
        tracker = self.fitted()
        rows = self._typed(as_numbers(rows), tracker)
        rows = self._callers.read(lambda: tracker.completed(rows, self.missing))
        return self._reading.beside(rows).squared_residuals(rows)

    def learn(
        self,
        rows: NDArray[Any],
        weights: NDArray[np.float64] | None = None,
        timestamps: Any = None,
        how: str | None = None,
        *,
        residuals: bool = False,
        innovations: bool = False,
    ) -> NDArray[Any] | None:
        """Check rows, learn from them in order, and announce what has changed.

        It belongs inside a `whole_call` of the outermost method; parameters as of `Tracker.follow`.
        """
        tracker, rows, times = self._checked(rows, timestamps)
        if innovations:
            self._need_past(tracker, "innovations")
        answers, changes = tracker.follow(
            rows,
            weights,
            self.parameters["missing"],
            how,
            times,
            residuals=residuals,
            innovations=innovations,
        )
        self.announce(changes)
        return answers

    def _checked(
        self, rows: NDArray[Any], timestamps: Any
    ) -> tuple[Tracker, NDArray[Any], NDArray[np.float64] | None]:
        """The tracker, which the first rows bring about, and rows and times as it takes them."""
        meaning.check_words(self.parameters)
        rows = as_numbers(rows)
        tracker, came = self.tracker or self._new_tracker(rows), rows
        with np.errstate(over="ignore"):
            rows = self._typed(rows, tracker)
        if not meaning.squares_fit(rows):
            # As they came: what a narrow model cannot hold is too large, not infinite.
            meaning.refuse_gaps(came if came.dtype.kind == "f" else rows, self.missing)
            meaning.refuse_huge(rows)
        if self.tracker is None:
            meaning.refuse_tiny(rows, tracker.plan.solver)
        times = row_times(timestamps, len(rows), tracker.plan, tracker.clock.latest)
        self.tracker = tracker
        return tracker, rows, times

    def _new_tracker(self, rows: NDArray[Any]) -> Tracker:
        parameters = self.parameters
        if not isinstance(rows, np.ndarray) and parameters["solver"] == "auto":
            parameters = parameters | {"solver": "subspace"}  # the one that learns rows where they live
        width, dtype = rows.shape[1], rows.dtype.type
        return Tracker(meaning.plan_for(parameters, width, dtype, launches=launches(rows)))

    def placed(self, rows: NDArray[Any], tracker: Tracker | None = None) -> NDArray[Any]:
        """Rows as they are if the model can learn from them so; others are fetched, or refused if sparse."""
        plan = (tracker or self.fitted()).plan
        if isinstance(rows, np.ndarray) or (plan.anywhere and self.missing == "raise"):
            return rows
        if isinstance(rows, SparseRows):
            raise ValueError(
                "sparse rows are learnt by solver='subspace' (or 'auto') with missing='raise', "
                "outliers='keep' and no lags: use these, or fill the rows with X.toarray()"
            )
        return np.asarray(host(rows))

    def _typed(self, rows: NDArray[Any], tracker: Tracker) -> NDArray[Any]:
        """Rows of the model's type, on the host unless it learns them where they live."""
        rows = self.placed(rows, tracker)
        if isinstance(rows, np.ndarray):
            return np.ascontiguousarray(rows, dtype=tracker.plan.dtype)
        return rows.astype(tracker.plan.dtype, copy=False)

    def announce(self, changes: list[RankChange]) -> None:
        """Call back for each change of rank, and warn once of what a user should know."""
        if self.warned is not None:
            self._warn(self.fitted(), self.warned)
        if self.on_rank_change is not None:
            for change in changes:
                self.on_rank_change(change)

    def _warn(self, tracker: Tracker, warned: set[str]) -> None:
        plan, tally = tracker.plan, tracker.tally
        reached = tracker.decision.rank == plan.k < plan.n and not isinstance(plan.alpha, FixedRank)
        if reached and "capacity" not in warned:
            advice = tracker.advice()  # by everything learnt so far, so there may be none any more
            if advice:
                warned.add("capacity")
                warnings.warn(advice, UserWarning, stacklevel=CALLS)
        if tally.skipped >= MANY_SKIPPED and tally.skipped > tally.learnt and "skipping" not in warned:
            warned.add("skipping")
            message = (
                f"{tally.skipped:,} of {tally.skipped + tally.learnt:,} rows so far were skipped because of "
                "missing values: missing='impute' would learn from them too"
            )
            warnings.warn(message, UserWarning, stacklevel=CALLS)

    def fitted(self) -> Tracker:
        """The tracker; AttributeError before the first row, RuntimeError while another thread learns."""
        if self.tracker is None:
            raise AttributeError("this model has not learnt anything yet")
        if self._callers.inside:
            self._callers.refuse_reader()
        return self.tracker

    def _tracked(self) -> Tracker:
        return self.fitted()

    def share(self, callers: Callers) -> None:
        """Let the calls of a front end that holds this model, and those of the model, exclude each other."""
        self._callers = callers

    def save(self, path: str | os.PathLike[str], position: Any = None) -> None:
        """Write the model to a file: it holds the old content or the new, never a part."""
        arrays, document = self.content(position)
        self._rebuilt(arrays, document)  # raises, rather than replace a file by one that could not be read
        checkpoint.write(path, arrays, document)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The model that `save` wrote; it continues exactly where it was. Nothing in the file is executed.

        Raises
        ------
        ValueError
            If the file is not a model, damaged, or written by another version.
        """
        return cls.from_stored(*checkpoint.read(path), os.fspath(path))

    def to_bytes(self, position: Any = None) -> bytes:
        """The content of the file that `save` would write."""
        return checkpoint.packed(*self.content(position))

    @classmethod
    def from_bytes(cls, content: bytes, name: str = "model") -> Self:
        """The model of `to_bytes`, as `load`; messages call it by its name."""
        return cls.from_stored(*checkpoint.unpacked(content, name), name)

    def content(self, position: Any = None) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and document from which `from_stored` makes the same model."""
        arrays, document = self._callers.read(self._stored)
        return arrays, document | {"position": position}

    def _stored(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Stored content without the position."""
        tracker = self.fitted()
        arrays, document = stored(tracker)
        parameters = plain(self.parameters, tracker.plan.seed)
        return arrays, {"parameters": parameters, "features": self.features, "tracker": document}

    @classmethod
    def from_stored(
        cls, arrays: Mapping[str, NDArray[Any]], document: Mapping[str, Any], name: str | os.PathLike[str]
    ) -> Self:
        """The model that a file, or bytes, of this name held."""
        try:
            return cls._rebuilt(arrays, document)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
            raise ValueError(f"{os.fspath(name)!r} is a damaged eigenstream model: {error!r}") from None

    @classmethod
    def _rebuilt(cls, arrays: Mapping[str, NDArray[Any]], document: Mapping[str, Any]) -> Self:
        parameters = rebuilt_parameters(document["parameters"])
        tracker = restored(arrays, document["tracker"])
        features, n = document["features"], tracker.plan.width
        if features and (len(features) != n or not all(isinstance(name, str) for name in features)):
            raise ValueError(f"its {n} features have other names than {features!r}")
        model = cls(**parameters)
        model.tracker, model.features, model.position_ = tracker, list(features), document["position"]
        return model


def rebuilt_parameters(written: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of which `plain` made values for JSON."""
    parameters = dict(written)
    if set(parameters) != set(DEFAULTS):
        raise ValueError(f"its parameters are {sorted(parameters)}, expected {sorted(DEFAULTS)}")
    regularizer, n_components, solver = (parameters[name] for name in RICH)
    if isinstance(regularizer, dict):
        parameters["regularizer"] = REGULARIZERS[regularizer["name"]](regularizer["alpha"])
    if isinstance(n_components, str) and n_components != "auto":
        parameters["n_components"] = rule_of(n_components)
    if isinstance(solver, dict):
        parameters["solver"] = Network(**solver)
    meaning.check_words(parameters)
    return parameters


RICH = ("regularizer", "n_components", "solver")
"""Parameters that may be objects."""


def plain(parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Parameters as values that JSON can hold."""
    values = {name: _plain_number(value) for name, value in parameters.items()}
    regularizer, n_components, solver = (values[name] for name in RICH)
    if isinstance(regularizer, Regularizer):
        values["regularizer"] = {"name": regularizer.name, "alpha": float(regularizer.alpha)}
    if isinstance(n_components, Rule):
        values["n_components"] = str(n_components)
    if isinstance(solver, Network):
        values["solver"] = {name: _plain_number(value) for name, value in asdict(solver).items()}
    if not isinstance(values["random_state"], int | None):
        values["random_state"] = seed
    return values


def _plain_number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
