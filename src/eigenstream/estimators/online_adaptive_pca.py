"""The network on a stream as a scikit-learn estimator."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from ..engine.state import to_weights
from ..recording import SpectrumHistory
from ..regularizers import Regularizer
from ..tracking import Plan, RankChange, Tracker
from . import planning
from .reading import Floats, Reading
from .shell import FLOAT_TYPES, ReadingTransformer, chosen_regularizer


class OnlineAdaptivePCA(ReadingTransformer):
    """Streaming PCA that finds its own number of components.

    Learns one sample at a time, in memory that does not grow, from the first sample on. Rank, axes and
    variances are re-evaluated on a grid of sample counts and stand still in between; how the stream is cut
    into calls does not matter. Parameters are read by the first call that learns; changing them later with
    ``set_params`` has no effect (but for ``missing``, ``scores`` and the callback) until the next `fit`.

    Parameters
    ----------
    regularizer
        ``"input-output"``, ``"squared-output"`` or ``"scale-dependent"``, or a regularizer object that
        brings its own alpha.
    alpha
        The regularization coefficient, or ``"auto"``: the threshold then follows the edge of the noise. That
        needs noise to look at: at least half of the inputs' directions have to be noise.
    max_components
        The capacity: how many components at most; ``min(n_features, 32)`` if None.
    half_life
        After how many samples a sample counts half; None never forgets.
    center
        Whether to subtract the running mean, which forgets with the same half-life.
    missing
        What to do with NaN: ``"raise"``, ``"skip"`` the row, or ``"impute"`` it from what is known.
    scores
        ``"shrunk"``: as the network transmits them; ``"projected"``: plain projections.
    init_samples
        How many rows are kept to start from in closed form; ``"auto"`` is 200 (fewer, but at least twice the
        capacity, where rows are very wide); 0 is the paper's random start.
    consolidation
        The factor by which the sample count grows between returns to the optimum; ``"auto"`` is 1.25; None
        never returns, as in the paper.
    spontaneous_activity
        Random activity that keeps silent modes alive, as a share of the input's root mean square; ``"auto"``
        is 0.01 with a half-life and 0 without; 0 is the paper's network.
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
    spectrum_ : ndarray
        Input variance along each component, largest first; where there are fewer than ``max_components_``,
        the mean of all other directions, which the network does not tell apart.
    spectrum_history_ : SpectrumHistory
        Spectrum, threshold and rank over time, at up to 256 moments.
    position_ : object
        What `save` was told about the place in the source, after `load`; None otherwise.
    alpha_, beta_ : float
        The coefficient now, and the discount a sample.
    feedforward_weights_, lateral_weights_, cumulative_activity_ : ndarray
        The network's own view: W_yx, W_yy and mu of the paper.

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
        regularizer: str | Regularizer = "input-output",
        alpha: float | Literal["auto"] = "auto",
        max_components: int | None = None,
        *,
        half_life: float | None = None,
        center: bool = True,
        missing: Literal["raise", "skip", "impute"] = "raise",
        scores: Literal["shrunk", "projected"] = "shrunk",
        init_samples: int | Literal["auto"] = "auto",
        consolidation: float | Literal["auto"] | None = "auto",
        spontaneous_activity: float | Literal["auto"] = "auto",
        random_state: Any = None,
        on_rank_change: Callable[[RankChange], object] | None = None,
    ) -> None:
        self.regularizer = regularizer
        self.alpha = alpha
        self.max_components = max_components
        self.half_life = half_life
        self.center = center
        self.missing = missing
        self.scores = scores
        self.init_samples = init_samples
        self.consolidation = consolidation
        self.spontaneous_activity = spontaneous_activity
        self.random_state = random_state
        self.on_rank_change = on_rank_change

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Forget everything and learn from these rows in one pass; ``y`` is ignored."""
        return self._learn(X, None, fresh=True)

    def partial_fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from these rows, in order; ``y`` is ignored.

        Parameters
        ----------
        X
            Any number of rows.
        y
            Ignored.
        sample_weight
            One weight a row. A row is one step of time whatever its weight; weight 0 only lets time pass.
        """
        return self._learn(X, sample_weight, fresh=not self.__sklearn_is_fitted__())

    def learn_one(self, x: ArrayLike) -> Floats:
        """Learn from one vector, fast; returns its score before learning from it."""
        row = np.asarray(x)
        if not self.__sklearn_is_fitted__():
            self.partial_fit(row[None])
            return np.zeros(self.max_components_, dtype=self._tracker.plan.dtype)
        tracker = self._tracker
        row = np.ascontiguousarray(row, dtype=tracker.plan.dtype)
        if row.shape != (tracker.plan.n,):
            raise ValueError(
                f"expected one vector of n_features={tracker.plan.n} numbers, got shape {row.shape}"
            )
        wide = row.astype(np.float64, copy=False)
        if not wide.dot(wide) < planning.LARGEST_POWER[tracker.plan.dtype]:  # huge, infinite or NaN
            score: Floats = self.transform(row[None])[0]
            self.partial_fit(row[None])
            return score
        score = tracker.score(row, shrunk=self._shrunk())
        changes = tracker.learn(row[None], _ONE)
        if changes or tracker.view.rank == tracker.plan.k:
            self._announce(changes)
        return score

    def learn_many(self, X: ArrayLike) -> Floats:
        """Learn from these rows, in order; returns each row's score before learning from it.

        As `learn_one` row by row, only faster: no score knows what came after its row. As in `transform`,
        rows that ``missing`` says to skip have NaN scores.
        """
        scores: list[Floats] = []
        self._learn(X, None, fresh=not self.__sklearn_is_fitted__(), scores=scores)
        return np.vstack(scores)

    position_: Any = None

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
        from .persistence import save

        check_is_fitted(self)
        save(self, path, position)

    @property
    def n_components_(self) -> int:
        """The rank now."""
        return self._fitted().view.rank

    @property
    def rank_history_(self) -> list[RankChange]:
        return list(self._fitted().history)

    @property
    def spectrum_(self) -> NDArray[np.float64]:
        return self._fitted().spectrum

    @property
    def spectrum_history_(self) -> SpectrumHistory:
        return self._fitted().recording.history()

    @property
    def n_samples_seen_(self) -> int:
        return self._fitted().time

    @property
    def alpha_(self) -> float:
        return self._fitted().alpha

    @property
    def beta_(self) -> float:
        return self._fitted().plan.beta

    @property
    def max_components_(self) -> int:  # type: ignore[override]
        return self._fitted().plan.k

    @property
    def feedforward_weights_(self) -> NDArray[np.float64]:
        return to_weights(self._fitted().network(), self._tracker.rule).W_yx

    @property
    def lateral_weights_(self) -> NDArray[np.float64]:
        return to_weights(self._fitted().network(), self._tracker.rule).W_yy

    @property
    def cumulative_activity_(self) -> NDArray[np.float64]:
        return to_weights(self._fitted().network(), self._tracker.rule).mu

    @property
    def _reading(self) -> Reading:  # type: ignore[override]
        tracker = self._fitted()
        view, dtype = tracker.view, tracker.plan.dtype
        return Reading(
            tracker.mean.astype(dtype),
            view.axes[: view.rank].astype(dtype, copy=False),
            view.variances[: view.rank].astype(dtype, copy=False),
            view.threshold,
            view.total,
            view.effective,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_tracker")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "raise"
        return tags

    def _fitted(self) -> Tracker:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(
                f"this {type(self).__name__} has not learnt anything yet: call fit or partial_fit"
            )
        return self._tracker

    def transform(self, X: ArrayLike) -> Floats:
        """Scores of each row: ``max_components_`` columns, those beyond the rank exactly zero.

        A row that ``missing`` says to skip has NaN scores.
        """
        check_is_fitted(self)
        rows = self._rows(X)
        scores = self._reading.encode(rows, width=self.max_components_, shrunk=self._shrunk())
        if self.missing != "raise":
            scores[np.isnan(rows).any(axis=1)] = np.nan
        return scores

    def _rows(self, X: ArrayLike) -> Floats:
        """Checked rows; with ``missing="impute"`` filled where enough is observed."""
        rows = self._checked(X, reset=False)
        if self.missing == "impute" and np.isnan(rows).any():
            filled = self._tracker.fill(rows)
            return np.where(filled.usable[:, None], filled.rows, rows)
        return rows

    def learn_checked(self, rows: Floats, *, scored: bool = False) -> Floats | None:
        """`learn_many` (if ``scored``) or `partial_fit` without scikit-learn's checks, which take their time.

        For those who read streams: rows must be C-contiguous, of the model's width and type and, unless
        ``missing`` says otherwise, finite. The first rows go through `partial_fit` or `learn_many`.
        """
        planning.refuse_huge(rows)
        scores: list[Floats] | None = [] if scored else None
        self._follow(rows, planning.row_weights(None, len(rows)), scores)
        return None if scores is None else np.vstack(scores)

    def _learn(
        self,
        X: ArrayLike,
        sample_weight: ArrayLike | None,
        fresh: bool,
        scores: list[Floats] | None = None,
    ) -> Self:
        """Check everything, then change: a refused call leaves the model as it was."""
        before = self.__dict__.copy()
        try:
            weights = planning.row_weights(sample_weight, _num_samples(X))
            rows = self._checked(X, reset=fresh)
            planning.refuse_huge(rows)
            self._shrunk()
            if fresh:
                self._tracker = Tracker(self._plan(rows))
                self._told_capacity = False
                self.position_ = None
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self._follow(rows.astype(self._tracker.plan.dtype, copy=False), weights, scores)
        return self

    def _follow(self, rows: Floats, weights: NDArray[np.float64], scores: list[Floats] | None) -> None:
        """Hand rows to the tracker, as many at a time as it has room for; on request, score them first."""
        tracker, changes, start = self._tracker, list[RankChange](), 0
        incomplete = self.missing != "raise" and bool(np.isnan(rows).any())
        while start < len(rows):
            part = slice(start, start + tracker.room())
            X, W, usable = rows[part], weights[part], slice(None)
            if incomplete:
                X, W, usable = self._filled(X, W)
            if scores is not None:
                scores.append(np.full((len(rows[part]), tracker.plan.k), np.nan, dtype=X.dtype))
                scores[-1][usable] = tracker.scores(X, shrunk=self._shrunk())
            changes += tracker.learn(X, W)
            start = part.stop
        self._announce(changes)

    def _filled(self, X: Floats, W: NDArray[np.float64]) -> tuple[Floats, NDArray[np.float64], Any]:
        """What of these rows can be learnt from, with its weights, and which rows these are."""
        if self.missing == "skip":
            whole = ~np.isnan(X).any(axis=1)
            return X[whole], W[whole], whole
        filled = self._tracker.fill(X)
        weights = np.column_stack((W[:, 0], filled.power_factor))
        return filled.rows[filled.usable], weights[filled.usable], filled.usable

    def _announce(self, changes: list[RankChange]) -> None:
        plan, rank = self._tracker.plan, self._tracker.view.rank
        if rank == plan.k < plan.n and not self._told_capacity:
            self._told_capacity = True
            warnings.warn(
                f"the rank has reached max_components={plan.k}; there may be more components than that",
                UserWarning,
                stacklevel=4,
            )
        if self.on_rank_change is not None:
            for change in changes:
                self.on_rank_change(change)

    def _checked(self, X: ArrayLike, *, reset: bool) -> Floats:
        """Rows as scikit-learn checks them, NaN allowed unless ``missing`` says otherwise."""
        if self.missing not in ("raise", "skip", "impute"):
            raise ValueError(f"missing must be 'raise', 'skip' or 'impute', got {self.missing!r}")
        finite: Any = True if self.missing == "raise" else "allow-nan"
        try:
            rows: Floats = validate_data(
                self, X, reset=reset, dtype=FLOAT_TYPES, ensure_all_finite=finite, order="C"
            )
        except ValueError as error:
            if "contains NaN" not in str(error):
                raise
            raise ValueError(
                "Input contains NaN: rows with missing values can be left out with missing='skip' or filled "
                "in with missing='impute'"
            ) from None
        return rows

    def _plan(self, rows: Floats) -> Plan:
        """The parameters in the tracker's words, with everything "auto" decided."""
        kind, regularizer = chosen_regularizer(self.regularizer, self.alpha)
        n = rows.shape[1]
        k = self._capacity(n)
        beta = planning.discount(self.half_life)
        return Plan(
            kind=kind,
            alpha=None if regularizer is None else float(regularizer.alpha),
            n=n,
            k=k,
            dtype=rows.dtype.type,
            beta=beta,
            center=bool(self.center),
            init_samples=planning.init_samples(self.init_samples, n, k),
            consolidation=planning.consolidation(self.consolidation),
            noise=planning.spontaneous_activity(self.spontaneous_activity, beta),
            seed=planning.seed(self.random_state),
        )


_ONE = np.ones((1, 2))


def require_online(model: object) -> None:
    """An error unless this is a fitted `OnlineAdaptivePCA`."""
    if not isinstance(model, OnlineAdaptivePCA):
        raise TypeError(f"expected a fitted OnlineAdaptivePCA, got {type(model).__name__}")
    check_is_fitted(model)
