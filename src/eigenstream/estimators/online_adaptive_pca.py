"""A tracker on a stream as a scikit-learn estimator."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, Literal, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples, check_is_fitted

from ..array_types import as_numbers
from ..learners.arrays import as_came, is_chunked, is_foreign
from ..model import RankChange, StreamModel, Tracker, network_weights
from ..model.attributes import TrackedAttributes
from ..model.network import Network
from ..model.parameters import LARGEST_POWER, row_weights
from ..model.reading import Floats
from ..model.stamps import row_times
from ..model.stream_model import DEFAULTS
from ..model.time_filter import Forecast
from ..model.tracker import FILLED
from ..model.weights import Settling
from ..model.whole_calls import whole_call
from ..rank import Rule
from ..regularizers import Regularizer
from .holding import HoldsModel
from .shell import ReadingTransformer
from .validation import checked, shaped, times_of


class Iteration(TypedDict, total=False):
    """Options of the paper's dynamics, as of `HebbianNetwork`."""

    eta: float
    tol: float
    max_iter: int


class OnlineAdaptivePCA(TrackedAttributes, HoldsModel, ReadingTransformer):  # type: ignore[override]
    """Streaming PCA that finds its own number of components.

    Learns one sample at a time, in memory that does not grow, from the first sample on. Attributes include
    every row learnt; changes of rank and the history are noted on a grid of sample counts. How the stream is
    cut into calls does not change a bit of the model. Parameters are read by the first call that learns;
    changing them later with ``set_params`` has no effect (but for ``missing``, ``scores`` and the callback)
    until the next `fit`.

    Parameters
    ----------
    n_components
        The number of components, or how to find it. ``"auto"`` finds what stands out of the noise
        (`eigenstream.rules.NoiseEdge`), which needs noise to look at: at least half of the inputs' directions
        have to be noise. An integer: exactly that number; fewer only while the data have fewer directions. A
        number between 0 and 1: as few as make up more than this share of the variance, counted as
        scikit-learn's PCA counts them. Or a rule, such as ``rules.ParallelAnalysis()``. With a half-life,
        ``"auto"`` and ``rules.ParallelAnalysis()`` change the rank only when the change is clear or lasts; a
        number or a share holds at once.
    regularizer
        ``"input-output"``, ``"squared-output"`` or ``"scale-dependent"``, or a regularizer object that
        brings its own alpha: how threshold and alpha depend on each other.
    alpha
        The paper's regularization coefficient, from which threshold and number of components follow. None:
        it follows from ``n_components``. Give one of the two.
    max_components
        The capacity, which is also the number of columns that `transform` returns: how many components at
        most. If None, ``n_components`` if that is an integer, ``n_features`` for a share of the variance with
        the exact solver, and ``min(n_features, 32)`` otherwise.
    solver
        How the answer is kept up to date. ``"exact"`` keeps the whole scatter matrix: the closed form to
        rounding, for narrow input. ``"subspace"`` keeps the leading directions, for any width. ``"network"``
        is the paper's network with a closed-form start, consolidation and spontaneous activity; an
        `eigenstream.Network` has its settings. ``"paper"`` is the network alone, which learns locally: it
        needs an ``alpha``, since a rule would move it by the whole spectrum; take ``center=False`` with it.
        ``"auto"`` takes the faster of the first two.
    half_life
        After how many samples a sample counts half; None never forgets. A duration, such as ``"10min"``,
        ``"1h30min"`` or a `timedelta`, forgets by the clock: every row then needs its time (``timestamps``).
        Of a half-life of a few samples nothing can be learnt: it leaves too few for any component.
    center
        True to subtract the running mean, which forgets with the same half-life.
    standardize
        True to divide each input by its running standard deviation (with ``center=False``: root mean
        square), which forgets with the same half-life: as if a `StandardScaler` stood before. Components,
        variances and the threshold are then in standardized units, and the units of the inputs do not matter.
        Not for the network.
    lags
        Number of predecessors each row is learnt with (delay embedding): components then have ``n_features
        (lags + 1)`` columns, the row itself first, then the row before it, and so on; see ``input_names_``.
        Before its first row the stream counts as having stood still. With ``missing="skip"`` a row with a gap
        makes the ``lags`` rows after it incomplete too: they are skipped and counted as such.
    outliers
        ``"keep"`` learns from every row as it is. ``"cap"``: a row that is far off what is known pulls no
        harder than ten usual ones, so that a single gross outlier does no harm; not for the network. It is
        not the default, because it makes heavy-tailed inputs look lighter than they are.
    missing
        Treatment of NaN: ``"raise"``, ``"skip"`` the row, or ``"impute"`` it: fill it with its expectation
        by all rows before, and learn from the row (`learn_and_impute` returns it). One warning is given if
        most rows so far were skipped.
    scores
        ``"shrunk"``: as the paper's networks transmit them; ``"projected"``: plain projections, as
        `HardThresholdNetwork` transmits them; ``"whitened"``: projections with variance 1, as
        `EqualizingNetwork` does.
    random_state
        Seed of the random directions and of spontaneous activity.
    on_rank_change
        Called with a `RankChange(sample, before, after)` for each change, after the call that learnt it.

    Attributes
    ----------
    n_components_ : int
        The rank now.
    rank_history_ : list of RankChange
        When the rank changed, from what to what (the last 1,000 changes).
    n_samples_seen_ : int
        Rows learnt from.
    n_samples_effective_ : float
        Number of independent samples that the rows remembered are worth, as of `AdaptivePCA`.
    components_, explained_variance_, explained_variance_ratio_, singular_values_ : ndarray
        As of `AdaptivePCA`, of everything learnt so far.
    noise_variance_, threshold_ : float
        As of `AdaptivePCA`, of everything learnt so far.
    mean_, scale_ : ndarray
        Mean that is subtracted from each input, and its divisor after that: None unless ``standardize``.
    input_names_ : list of str
        Names of the columns of ``components_``: with lags ``"temp"``, ..., ``"temp(t-1)"``, ...
    spectrum_ : ndarray
        Input variance along the first ``max_components_`` directions, kept or not, largest first but for near
        ties. The network does not tell apart directions that it does not keep: it shows their mean there.
    spectrum_history_ : SpectrumHistory
        Spectrum, threshold and rank over time, at up to 256 moments.
    position_ : object
        Position in the source that `save` was given, after `load`; None otherwise.
    alpha_, beta_ : float
        The coefficient now, and the discount a sample (with a half-life in time, as measured so far).
    feedforward_weights_, lateral_weights_, cumulative_activity_ : ndarray
        The network's own view: W_yx, W_yy and mu of the paper. With another solver, those of a network at the
        optimum of what is known. The rows of W_yx span the components, but are a rotation of them.
    other_ranks_ : dict
        Rank that each rule of `eigenstream.rules` would find, by its text.
    advice_ : str
        Advice where the rank is 0 or as large as it can be; empty otherwise.
    tally_ : Tally
        Numbers of rows that were learnt, learnt with entries filled in, and skipped.

    Examples
    --------
    >>> from eigenstream import OnlineAdaptivePCA, streams
    >>> model = OnlineAdaptivePCA(random_state=0)
    >>> for batch in streams.paper_stream(2000, random_state=0):
    ...     model = model.partial_fit(batch)
    >>> model.n_components_
    4
    """

    def __init__(
        self,
        n_components: int | float | Rule | Literal["auto"] = "auto",
        *,
        regularizer: str | Regularizer = "input-output",
        alpha: float | None = None,
        max_components: int | None = None,
        solver: Literal["auto", "exact", "subspace", "network", "paper"] | Network = "auto",
        half_life: float | str | timedelta | None = None,
        center: bool = True,
        standardize: bool = False,
        lags: int = 0,
        outliers: Literal["keep", "cap"] = "keep",
        missing: Literal["raise", "skip", "impute"] = "raise",
        scores: Literal["shrunk", "projected", "whitened"] = "shrunk",
        random_state: Any = None,
        on_rank_change: Callable[[RankChange], object] | None = None,
    ) -> None:
        self.n_components = n_components
        self.regularizer = regularizer
        self.alpha = alpha
        self.max_components = max_components
        self.solver = solver
        self.half_life = half_life
        self.center = center
        self.standardize = standardize
        self.lags = lags
        self.outliers = outliers
        self.missing = missing
        self.scores = scores
        self.random_state = random_state
        self.on_rank_change = on_rank_change

    @whole_call
    def fit(self, X: ArrayLike, y: object = None, *, timestamps: Any = None) -> Self:
        """Forget everything and learn from these rows in one pass; ``y`` is ignored.

        Parameters
        ----------
        X, y, timestamps
            As of `partial_fit`.
        """
        self._learn(X, None, timestamps, fresh=True)
        return self

    @whole_call
    def partial_fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        timestamps: Any = None,
    ) -> Self:
        """Learn from these rows, in order; ``y`` is ignored.

        Parameters
        ----------
        X
            Any number of rows: an array, a data frame, or a PyTorch tensor. From a tensor the subspace
            learner learns on the tensor's device (``solver="auto"`` is ``"subspace"`` then); for ``lags``,
            capped outliers, gaps and the other solvers rows are fetched to the host. What methods return is a
            tensor there, and so are ``components_``, ``mean_`` and ``scale_`` of such a learner.
        y
            Ignored.
        sample_weight
            One weight per row. A row is one step of time whatever its weight; weight 0 only lets time pass.
        timestamps
            When each row came, if the half-life is a duration: numbers of seconds, ``datetime64``,
            `datetime`, a series or an index of pandas; never backwards. By default the index of a data frame,
            if that is of dates.
        """
        self._learn(X, sample_weight, timestamps, fresh=not self.__sklearn_is_fitted__())
        return self

    def learn_one(self, x: ArrayLike, timestamp: Any = None) -> Floats:
        """Learn from one vector, fast; returns its score by the model of the last block, see `learn_many`."""
        model: StreamModel | None = self.__dict__.get("_model")
        if type(x) is not np.ndarray or x.dtype.kind not in "fiub":
            x = as_numbers(x, "x")
        if model is None or (type(x) is not np.ndarray and is_foreign(x)):
            return self._learn_checked_one(x, timestamp)
        tracker = model.fitted()
        plan = tracker.plan
        row = np.ascontiguousarray(x, dtype=plan.dtype)
        if row.shape != (plan.width,):
            raise ValueError(f"expected one vector of n_features={plan.width} numbers, got shape {row.shape}")
        wide = row if plan.dtype is np.float64 else row.astype(np.float64)
        if not wide.dot(wide) < LARGEST_POWER[plan.dtype]:  # huge, infinite or NaN
            return self._learn_checked_one(row, timestamp)
        if not plan.plain or timestamp is not None:
            return self._learn_timed_one(row, timestamp)
        # What `whole_call` does, in less time: most rows only join those that wait for their block.
        call, callers, mark = object(), self._callers, None
        try:
            callers.enter(call)
            mark = tracker.mark_for_one()
            score, changes = tracker.follow_one(row, self._checked_scores())
            if changes or tracker.last_look.decision.rank == plan.k:
                self._in_step().announce(changes)
            callers.inside.pop(call, None)
            return score
        except BaseException:
            callers.leave_undone(call, None if mark is None else partial(tracker.revert, mark))
            raise

    @whole_call
    def _learn_checked_one(self, x: Any, timestamp: Any) -> Floats:
        """`learn_one` of a row that has to be checked, or that another library holds."""
        rows = x[None] if is_foreign(x) else np.asarray(x)[None]
        stamps = None if timestamp is None else [timestamp]
        scores = self._learn(rows, None, stamps, fresh=not self.__sklearn_is_fitted__(), how=self.scores)
        return scores[0]  # type: ignore[no-any-return]

    @whole_call
    def _learn_timed_one(self, row: Floats, timestamp: Any) -> Floats:
        """`learn_one` of a row that comes with a time or with its predecessors."""
        stamps = None if timestamp is None else [timestamp]
        scores = self._in_step().learn(row[None], None, stamps, self.scores)
        assert scores is not None
        return scores[0]  # type: ignore[no-any-return]

    @whole_call
    def learn_many(self, X: ArrayLike, timestamps: Any = None, *, return_innovations: bool = False) -> Any:
        """Learn from these rows, in order; returns each row's score before learning from it.

        No score knows its own row or what came after it: scores are those of the model as it stood at the
        end of the last block of rows (64 of them, 256 on a GPU, fewer with a short half-life). Scores are
        the same bits whether rows come one by one or all at once. Rows that ``missing`` says to skip have NaN
        scores.

        Parameters
        ----------
        X, timestamps
            As of `partial_fit`.
        return_innovations
            True: also return each row less its forecast by the rows before it, an array of the shape of the
            rows, in their units. It needs ``missing="impute"``; NaN in gaps, in the first block, and of an
            input's first value. Where rows follow each other as they did, it has a mean of 0 and no memory.

        Examples
        --------
        >>> from eigenstream import OnlineAdaptivePCA
        >>> walk = np.cumsum(np.random.default_rng(0).standard_normal((2000, 3)), axis=0)
        >>> model = OnlineAdaptivePCA(missing="impute")
        >>> scores, new = model.learn_many(walk, return_innovations=True)
        >>> walk.std(axis=0).round(), np.nanstd(new, axis=0).round(1)
        (array([26., 13., 16.]), array([1., 1., 1.]))
        """
        fresh = not self.__sklearn_is_fitted__()
        found = self._learn(X, None, timestamps, fresh=fresh, how=self.scores, innovations=return_innovations)
        if not return_innovations:
            return found
        n = self.n_features_in_
        return found[:, :-n], found[:, -n:]

    @whole_call
    def learn_and_impute(self, X: ArrayLike, timestamps: Any = None, *, return_std: bool = False) -> Any:
        """Learn from these rows, in order; returns each row with its gaps filled before learning from it.

        Needs ``missing="impute"``. Every missing value is replaced by its expectation given the other values
        of the row and the past of its input, by the model of all rows before it; NaN stays where the input
        has had no value yet. Rows without any value are filled by the past of the inputs; nothing is learnt
        from them, but time passes. The results are the same bits whether rows come one by one or all at once.
        To fill rows without learning from them: `impute`.

        A network (``solver="network"``) fills each row by the other values of the row alone. Rows without any
        value come back as they came.

        Parameters
        ----------
        X, timestamps
            As of `partial_fit`.
        return_std
            True: also return the standard deviation of each filled value around the truth, an array of the
            shape of the rows; 0 where a value was there, NaN where nothing is known yet.

        Examples
        --------
        >>> from eigenstream import OnlineAdaptivePCA, streams
        >>> X = np.vstack(list(streams.changing_rank(random_state=0)))
        >>> gappy = X.copy()
        >>> gappy[1::3, 0] = np.nan
        >>> filled = OnlineAdaptivePCA(missing="impute", half_life=200).learn_and_impute(gappy)
        >>> bool(np.isfinite(filled).all())
        True
        """
        if self.missing != "impute":
            raise ValueError(f"learn_and_impute needs missing='impute', got missing={self.missing!r}")
        found = self._learn(X, None, timestamps, fresh=not self.__sklearn_is_fitted__(), how=FILLED)
        return self._filled_and_std(found, X, return_std)

    def impute(self, X: ArrayLike, timestamps: Any = None, *, return_std: bool = False) -> Any:
        """The rows with NaN filled in by everything learnt; nothing is learnt from them.

        Every missing value is replaced by its expectation given the other values of its row, with lags also
        those of its predecessors. Every direction that the model knows takes part, not the kept ones alone. A
        model that has learnt rows in their order with ``missing="impute"`` also knows how inputs follow their
        own past: the rows are then a stretch of their own, in their order, and those without any value are
        filled by the ones before them. Without such a past rows without any value stay as they are, and so do
        inputs that have never had a value.

        Parameters
        ----------
        X
            Rows.
        timestamps
            When each row came, as of `partial_fit`, if the half-life is a duration: over s usual steps, an
            input keeps the s-th power of what it keeps over one. Without them rows are a usual step apart.
        return_std
            True: also return the standard deviation of each filled value around the truth, an array of the
            shape of the rows; 0 where a value was there, NaN where a gap stays.

        Examples
        --------
        >>> from eigenstream import OnlineAdaptivePCA
        >>> walk = np.cumsum(np.random.default_rng(0).standard_normal((2000, 2)), axis=0)
        >>> model = OnlineAdaptivePCA(missing="impute", half_life="1h").fit(walk, timestamps=np.arange(2000))
        >>> gap = np.array([[1.0, 2.0], [1.0, np.nan]])
        >>> soon, late = (model.impute(gap, [0, s], return_std=True)[1][1, 1] for s in (1, 9))
        >>> bool(2.5 * soon < late < 3.5 * soon)
        True
        """
        check_is_fitted(self)
        model = self._in_step()
        given = times_of(X, timestamps) if model.needs_timestamps else timestamps
        if is_chunked(X) and timestamps is not None:
            raise ValueError("rows in chunks are imputed a usual step apart: leave timestamps out")
        if given is None or is_chunked(X):
            return super().impute(X, return_std=return_std)
        times = row_times(given, _num_samples(X), self._tracker.plan)
        found = self._of_rows(X, partial(self._imputed, times=times), 2 * self.n_features_in_)
        return self._filled_and_std(found, X, return_std)

    def forecast(self, steps: Any = 1, timestamps: Any = None) -> Forecast:
        """The next rows of the stream, and their standard deviations: ``rows`` and ``std`` (steps x inputs).

        Needs ``missing="impute"`` from the first row on, and eight rows. Each input follows
        its own past, back to its mean. After rows without any value, these are the rows that follow them. NaN
        of an input without any value yet.

        Parameters
        ----------
        steps
            Number of rows, a step apart; for rows with time stamps the usual one. There it may be a duration
            such as ``"1h"``: as many rows as come in that time, and one at least.
        timestamps
            Times of the rows to forecast, instead of a number of steps, if the half-life is a duration; as of
            `partial_fit`, none before the last row.

        Examples
        --------
        >>> from eigenstream import OnlineAdaptivePCA
        >>> walk = np.cumsum(np.random.default_rng(0).standard_normal((1500, 3)), axis=0)
        >>> ahead = OnlineAdaptivePCA(missing="impute").fit(walk).forecast(9)
        >>> ahead.rows.shape, ahead.std.mean(axis=1)[[0, 3, 8]].round()
        ((9, 3), array([1., 2., 3.]))
        >>> timed = OnlineAdaptivePCA(missing="impute", half_life="1h").fit(walk, timestamps=np.arange(1500))
        >>> timed.forecast("1min").rows.shape, timed.forecast(timestamps=[1500.5, 1510]).rows.shape
        ((60, 3), (2, 3))
        """
        check_is_fitted(self)
        return self._in_step().forecast(steps, timestamps)

    def _expected(
        self, rows: Floats, times: NDArray[np.float64] | None = None
    ) -> tuple[Floats, NDArray[np.float64]]:
        return self._callers.read(lambda: self._tracker.imputed(rows, times))

    def _encoded(self, X: ArrayLike) -> Floats:
        rows, scores = checked(self, X), self._checked_scores()
        return self._callers.read(lambda: self._tracker.encode(rows, self.missing, scores))

    def respond(
        self, X: ArrayLike, settling: Settling = "fixed-point", **options: Unpack[Iteration]
    ) -> Floats:
        """The network's own outputs y to each row: ``max_components_`` columns, one per neuron.

        Not what `transform` returns, which is read off the network's sums by an eigendecomposition: a neuron
        answers to a mixture of components, and modes below the threshold are not exactly zero. Nothing is
        learnt; y is the answer of the weights as they are now. With another solver than the network, those of
        a network at the optimum of what is known (``feedforward_weights_``, ``lateral_weights_``).

        Parameters
        ----------
        X
            Rows; the mean is subtracted from them as from rows that are learnt.
        settling
            ``"fixed-point"``: where the paper's dynamics end, by solving ``(I + W_yy) y = W_yx x``.
            ``"jacobi"``: the paper's dynamics, all neurons at once; ``"gauss-seidel"``: one after the other.
        **options
            Of the dynamics: ``eta``, ``tol`` and ``max_iter``, as of `HebbianNetwork`.

        Raises
        ------
        ConvergenceError
            If the dynamics do not settle: use a smaller ``eta``, or another ``settling``.

        Examples
        --------
        >>> from eigenstream import OnlineAdaptivePCA, streams
        >>> X = np.vstack(list(streams.paper_stream(2000, random_state=0)))
        >>> model = OnlineAdaptivePCA(alpha=2 / 23, solver="paper", center=False, max_components=10).fit(X)
        >>> Y, settled = model.respond(X[:5]), model.respond(X[:5], "jacobi", tol=1e-9)
        >>> bool(np.allclose(Y, settled, atol=1e-6))
        True
        """
        check_is_fitted(self)
        rows = checked(self, X)
        model = self._in_step()
        return as_came(model.respond(rows, settling, **options), X)

    def save(self, path: str | os.PathLike[str], position: Any = None) -> None:
        """Write the model to a file that `eigenstream.load` continues from exactly.

        Parameters
        ----------
        path
            The file; it holds the old content or the new, never a part.
        position
            Where in its source the model stands: anything JSON can hold, kept with the model in one atomic
            write and handed back as ``position_``.
        """
        check_is_fitted(self)
        self._in_step().save(path, position)

    @property
    def feedforward_weights_(self) -> NDArray[np.float64]:
        return network_weights(self._tracked()).W_yx

    @property
    def lateral_weights_(self) -> NDArray[np.float64]:
        return network_weights(self._tracked()).W_yy

    @property
    def cumulative_activity_(self) -> NDArray[np.float64]:
        return network_weights(self._tracked()).mu

    @property
    def position_(self) -> Any:
        """The position that `save` was told, after `load`; None otherwise."""
        return self._model.position_ if self.__sklearn_is_fitted__() else None

    def _learn(
        self,
        X: ArrayLike,
        weights: ArrayLike | None,
        timestamps: Any,
        *,
        fresh: bool,
        how: str | None = None,
        innovations: bool = False,
    ) -> Floats:
        """Check rows as scikit-learn does, and learn from them; within a `whole_call`."""
        counts = row_weights(weights, _num_samples(X))
        rows = shaped(self, X, reset=fresh)
        if fresh:
            self._hold(StreamModel(**self._parameters()))
        model = self._in_step()
        times = times_of(X, timestamps) if model.needs_timestamps else timestamps
        answers = model.learn(rows, counts, times, how, innovations=innovations)
        if answers is None:
            return np.zeros((0, model.max_components_ + innovations * model.n_features_in_))
        return as_came(answers, X)

    def _parameters(self) -> dict[str, Any]:
        """Parameters that the model has, too."""
        return {name: getattr(self, name) for name in DEFAULTS}

    def _hold(self, model: StreamModel) -> None:
        """Learn with this model from now on."""
        model.features = [str(name) for name in getattr(self, "feature_names_in_", ())]
        model.warned = set()
        model.share(self._callers)
        self._model = model

    def _in_step(self) -> StreamModel:
        """The model, with the parameters that may change while it learns."""
        model = self._model
        model.parameters = {**model.parameters, "missing": self.missing, "scores": self.scores}
        model.on_rank_change = self.on_rank_change
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "raise"
        tags.input_tags.sparse &= (
            self.solver in ("auto", "subspace") and self.missing == "raise" and self.outliers == "keep"
        )
        return tags

    def _tracked(self) -> Tracker:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(
                f"this {type(self).__name__} has not learnt anything yet: call fit or partial_fit"
            )
        return self._model.fitted()

    @property
    def _lags(self) -> int:  # type: ignore[override]
        return self._tracker.plan.lags

    def _rows(self, X: ArrayLike) -> Floats:
        """Checked rows, embedded; with ``missing="impute"`` filled where anything is observed."""
        rows = checked(self, X)
        return self._callers.read(lambda: self._tracker.completed(rows, self.missing))


def require_online(model: object) -> None:
    """An error unless this is a fitted `OnlineAdaptivePCA`."""
    if not isinstance(model, OnlineAdaptivePCA):
        raise TypeError(f"expected a fitted OnlineAdaptivePCA, got {type(model).__name__}")
    check_is_fitted(model)
