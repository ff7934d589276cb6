"""A monitor of a stream as a scikit-learn estimator."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.utils.validation import check_is_fitted

from ..array_types import as_numbers
from ..model.history import ControlHistory
from ..model.reading import Floats
from ..model.whole_calls import whole_call
from ..monitoring import (
    STATISTICS,
    Alarm,
    Drift,
    Monitor,
    MonitoredModel,
    MonitorSettings,
    Notice,
    Verdict,
    Verdicts,
)
from ..monitoring.events import Contributors
from ..monitoring.settings import confirmation
from ..plotting.notebook import ShownAsCard
from .holding import HoldsModel
from .online_adaptive_pca import OnlineAdaptivePCA
from .validation import checked, filled, shaped, times_of


class StreamMonitor(HoldsModel, ShownAsCard, OutlierMixin, BaseEstimator):
    """Tells when a stream leaves its usual pattern, and which inputs are to blame.

    Each row is judged by what was known before it: T² (how far off within the model), SPE (how far off the
    model), the distance (how far off, each direction by its own spread), the extreme (the input that is
    farthest off, by its own usual reach), and the distances of the average of the last rows and of the row
    with its predecessor. Limits come from rows that the model had not seen when it judged them, so that rows
    in control alarm at the stated rate even where they resemble each other, are heavy-tailed or slowly
    drifting. There is no alarm before there is a basis for one. How the stream is cut into calls does not
    change a bit.

    `fit` takes all rows for normal, and learns every one of them. In `partial_fit`, `learn_many` and
    `learn_one` that holds for the first rows; later a row that exceeds a limit is learnt with less weight,
    and while most rows exceed nothing is, until they are back or accepted as the new normal.

    Parameters
    ----------
    model
        The `OnlineAdaptivePCA` that learns the usual pattern; by default one with ``standardize=True``. Its
        parameters say what is forgotten, and what happens to missing values. It is not changed: ``model_``
        is the monitor's own. If it has learnt something already, `partial_fit` goes on from that.
    false_alarm_rate
        The share of rows in control that alarm, at most 0.1.
    learn_from_alarms
        True to learn rows that exceed a limit like any other. A model that learns a fault forgets to alarm
        at it.
    accept_after
        After how many rows an alarm that is still on is taken for the new normal: the model starts anew from
        the last 256 rows, so that no monitor alarms for ever. Faults that come again and again count
        together, less a quarter of the rows between.
    confirm
        Rows in sequence that have to exceed a limit for an alarm to count, such as 3; or ``"3/5"``, the same
        as ``(3, 5)``: three of five rows.
    end_after
        Rows in sequence below all limits that end an alarm; None: about twice as many as exceeded, at most
        32, so that chance keeps an alarm on for two rows only.
    on_alarm
        Called with an `Alarm` when it begins to count, again after 16 rows that exceeded if another input
        than was named first explains most of it, and when it ends (`Alarm.state`), after the call
    on_notice
        The same with a `Notice`: a drift, or an input that is flat, lively, gone or off.

    Attributes
    ----------
    model_ : OnlineAdaptivePCA
        The model now.
    alarms_ : list of Alarm
        The last 1,000 alarms that counted: when they began and ended, their peak, the inputs to blame.
    notices_ : list of Notice
        The last 1,000 drifts, and inputs that were flat (stuck), lively (noise), gone (no values) or off (one
        more that failed in an alarm).
    control_history_ : ControlHistory
        Statistics, limits and alarms over the whole stream, in up to 512 stretches.
    limits_ : dict
        The limits now, by name; infinity where there is no basis for one.
    drift_ : Drift
        How far the model has moved from its anchor, the first normal: ``level``, the largest shift of an
        input's mean in its standard deviations; ``spread``, the largest factor of a standard deviation;
        ``directions``, the number of components it has turned away from; ``limits``, the factor by which the
        limit of distances has risen.
    n_rows_seen_ : int
        Rows that came; ``model_.n_samples_seen_`` were learnt.
    offset_ : float
        `decision_function` is `score_samples` less this; always -1.

    Examples
    --------
    >>> from eigenstream import StreamMonitor, streams
    >>> monitor = StreamMonitor()
    >>> for batch in streams.paper_stream(3000, random_state=0):
    ...     verdicts = monitor.learn_many(batch)
    >>> stuck = batch[-1].copy()
    >>> stuck[2] += 12
    >>> verdict = monitor.learn_one(stuck)
    >>> verdict.alarm, monitor.alarms_[-1].contributors[0][0]
    (True, 'x2')
    """

    def __init__(
        self,
        model: OnlineAdaptivePCA | None = None,
        *,
        false_alarm_rate: float = 1e-3,
        learn_from_alarms: bool = False,
        accept_after: int = 1000,
        confirm: int | str | tuple[int, int] = 1,
        end_after: int | None = None,
        on_alarm: Callable[[Alarm], object] | None = None,
        on_notice: Callable[[Notice], object] | None = None,
    ) -> None:
        self.model = model
        self.false_alarm_rate = false_alarm_rate
        self.learn_from_alarms = learn_from_alarms
        self.accept_after = accept_after
        self.confirm = confirm
        self.end_after = end_after
        self.on_alarm = on_alarm
        self.on_notice = on_notice

    _model: MonitoredModel
    offset_ = -1.0

    @whole_call
    def fit(self, X: ArrayLike, y: object = None, *, timestamps: Any = None) -> Self:
        """Forget everything and learn these rows, all of which are taken for normal; ``y`` is ignored.

        Limits come from blocks of them, each judged by what was learnt from the others.

        Parameters
        ----------
        X, y, timestamps
            As of `OnlineAdaptivePCA.fit`.
        """
        model, rows, times = self._prepared(X, timestamps, fresh=True)
        model.learn_normal(rows, times)
        return self

    @whole_call
    def partial_fit(self, X: ArrayLike, y: object = None, *, timestamps: Any = None) -> Self:
        """Judge these rows in order and learn them, those that exceed less; parameters as of `fit`."""
        self._follow(X, timestamps)
        return self

    @whole_call
    def learn_many(self, X: ArrayLike, timestamps: Any = None) -> Verdicts:
        """`partial_fit`, which returns what it says of each row: arrays with the names of `Verdict`."""
        return self._follow(X, timestamps)

    @whole_call
    def learn_one(self, x: ArrayLike, timestamp: Any = None) -> Verdict:
        """Judge one vector, and learn it."""
        stamps = None if timestamp is None else [timestamp]
        if self._is_plain_row(x):  # as scikit-learn would hand it on; the model checks its values
            self.model_._in_step()
            self._model.on_alarm, self._model.on_notice = self.on_alarm, self.on_notice
            return self._model.follow(np.ascontiguousarray(x)[None], stamps).verdicts.one(0)
        return self._follow(np.asarray(as_numbers(x, "x"))[None], stamps).one(0)

    def _is_plain_row(self, x: ArrayLike) -> bool:
        """True for a vector of the type and width of what was learnt, if rows have no times."""
        model: MonitoredModel | None = vars(self).get("_model")
        if model is None or model.monitor is None or model.needs_timestamps or type(x) is not np.ndarray:
            return False
        plan = model.monitor.tracker.plan
        return bool(x.dtype == plan.dtype and x.shape == (plan.width,))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep`` also those of the model, the default one too (``model__...``)."""
        parameters: dict[str, Any] = super().get_params(deep)
        if deep and self.model is None:
            inner = default_model().get_params()
            parameters |= {f"model__{name}": value for name, value in inner.items()}
        return parameters

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name; ``model__half_life`` is that of the model, the default one too."""
        inside = any(name.startswith("model__") for name in parameters)
        if inside and parameters.get("model", self.model) is None:
            parameters["model"] = default_model()
        return super().set_params(**parameters)  # type: ignore[no-any-return]

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """-1 for rows that exceed a limit, 1 for others, each row for itself; nothing is learnt.

        What came before a row says more: `judge` takes rows for a stretch, `learn_many` for the next ones.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    def decision_function(self, X: ArrayLike) -> Floats:
        """1 less the severity of each row: negative where it exceeds a limit."""
        return np.asarray(self.score_samples(X) - self.offset_)

    def score_samples(self, X: ArrayLike) -> Floats:
        """The severity of each row, judged for itself, with a minus: low is unusual."""
        rows = self._checked(X)
        verdicts = self._callers.read(lambda: self._fitted().judge(rows, self.model_.missing, alone=True))
        if not self._fitted().limits.told.any():
            warnings.warn(
                f"after {self.n_rows_seen_:,} rows there is no basis for limits yet, so every row counts as "
                "usual: fit more rows",
                stacklevel=2,
            )
        return -verdicts.severity

    def judge(self, X: ArrayLike) -> Verdicts:
        """Verdicts on rows as a stretch of their own, by everything learnt so far; nothing is learnt."""
        rows = self._checked(X)
        return self._callers.read(lambda: self._fitted().judge(rows, self.model_.missing))

    def contributions(self, X: ArrayLike) -> dict[str, NDArray[np.float64]]:
        """Part of each input in each statistic of each row of a stretch: never negative, adding up to it."""
        rows = self._checked(X)
        return self._callers.read(lambda: self._fitted().contributions(rows, self.model_.missing))

    def blame(self, X: ArrayLike) -> Contributors:
        """Inputs to blame for rows that share a fault, with their shares, largest first: see `Alarm`.

        The input whose best value takes away most of the rows' distance from the usual mean comes first. One
        row names the inputs for that row, all rows of a fault those for the fault.

        Examples
        --------
        >>> from eigenstream import StreamMonitor, streams
        >>> rows = next(streams.paper_stream(batch_size=1000, random_state=0))
        >>> monitor = StreamMonitor().fit(rows)
        >>> fault = rows[:10].copy()
        >>> fault[:, 2] += 12
        >>> monitor.blame(fault)[0][0]
        'x2'
        """
        rows = self._checked(X)
        return self._callers.read(lambda: self._fitted().blame(rows, self.model_.missing))

    @whole_call
    def freeze(self) -> Self:
        """Judge rows by what is known now from now on, and learn nothing: the classical two phases."""
        self._fitted().freeze()
        return self

    def save(self, path: str | os.PathLike[str], position: Any = None) -> None:
        """Write monitor and model to a file that `eigenstream.load` continues from exactly.

        Parameters
        ----------
        path, position
            As of `OnlineAdaptivePCA.save`.
        """
        self._fitted()
        self.model_._in_step().save(path, position)

    @property
    def control_history_(self) -> ControlHistory:
        """Statistics and limits over the whole stream, in up to 512 stretches."""
        return self._fitted().stretches.history()

    @property
    def alarms_(self) -> list[Alarm]:
        return list(self._fitted().watch.past)

    @property
    def notices_(self) -> list[Notice]:
        return list(self._fitted().notices)

    @property
    def limits_(self) -> dict[str, float]:
        limits = self._callers.read(self._fitted().limits_now)
        return dict(zip(STATISTICS, map(float, limits), strict=True))

    @property
    def drift_(self) -> Drift:
        monitor = self._fitted()
        return self._callers.read(lambda: monitor.drift)

    @property
    def n_rows_seen_(self) -> int:
        return self._fitted().counts.came

    @property
    def n_features_in_(self) -> int:
        self._fitted()
        return int(self.model_.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        self._fitted()
        return np.asarray(self.model_.feature_names_in_)

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = getattr(self.model, "missing", "raise") != "raise"
        return tags

    def _fitted(self) -> Monitor:
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        return self._monitor

    @property
    def _monitor(self) -> Monitor:
        assert self._model.monitor is not None
        return self._model.monitor

    def _checked(self, X: ArrayLike) -> Floats:
        check_is_fitted(self)
        return checked(self.model_, filled(X))

    def _settings(self) -> MonitorSettings:
        return MonitorSettings(
            self.false_alarm_rate,
            bool(self.learn_from_alarms),
            self.accept_after,
            confirmation(self.confirm),
            self.end_after,
        )

    def _begin(self, *, fresh: bool) -> OnlineAdaptivePCA:
        """The model to go on with: a new one, or a copy of the one that was given."""
        if self.model is None:
            return default_model()
        if not isinstance(self.model, OnlineAdaptivePCA):
            raise TypeError(
                f"model must be an OnlineAdaptivePCA or None, got {self.model!r}: other parameters are given "
                "by name, such as accept_after=100"
            )
        fitted = self.model.__sklearn_is_fitted__()
        return copy.deepcopy(self.model) if fitted and not fresh else clone(self.model)

    def _follow(self, X: ArrayLike, timestamps: Any) -> Verdicts:
        """Check rows as scikit-learn does, judge and learn them; within a `whole_call`."""
        model, rows, times = self._prepared(X, timestamps, fresh=False)
        return model.follow(rows, times).verdicts

    def _prepared(self, X: ArrayLike, timestamps: Any, *, fresh: bool) -> tuple[MonitoredModel, Floats, Any]:
        """The model to go on with, and rows as it takes them."""
        X = filled(X)
        if fresh or not self.__sklearn_is_fitted__():
            settings, given = self._settings(), self._begin(fresh=fresh)
            begun = given.__sklearn_is_fitted__()
            rows = shaped(given, X, reset=not begun)
            model = MonitoredModel(settings, **given._parameters())
            model.tracker, model.position_ = given._tracked() if begun else None, given.position_
            given._callers = self._callers
            given._hold(model)
            self.model_, self._model = given, model
        else:
            rows, model = shaped(self.model_, X, reset=False), self._model
        self.model_._in_step()
        model.on_alarm, model.on_notice = self.on_alarm, self.on_notice
        return model, rows, times_of(X, timestamps) if model.needs_timestamps else timestamps


def default_model() -> OnlineAdaptivePCA:
    """The model of a monitor that was given none."""
    return OnlineAdaptivePCA(standardize=True)
