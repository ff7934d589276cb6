"""The closed form as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..learners.knowledge import Profile
from ..model.delays import embedded
from ..model.moments import Moments, moments
from ..model.parameters import capacity_and_solver, checked_lags, chosen_alpha
from ..model.reading import Reading
from ..rank import Evidence, FixedRank, Rule, other_ranks
from ..rank.advice import advice, cannot_be_told
from ..rank.decision import decide
from ..regularizers import Regularizer
from .shell import ReadingTransformer
from .validation import refuse_lags, without_gaps


class AdaptivePCA(ReadingTransformer):
    """PCA that finds its own number of components: the offline optimum of the three networks.

    Parameters
    ----------
    n_components
        The number of components, or how to find it. ``"auto"`` finds what stands out of the noise
        (`eigenstream.rules.NoiseEdge`), which it estimates from what the kept components leave. An integer:
        exactly that number; fewer only if the data have fewer directions. A number between 0 and 1: as few as
        make up more than this share of the variance, counted as scikit-learn's PCA counts them. Or a rule,
        such as ``rules.ParallelAnalysis()``.
    regularizer
        ``"input-output"``, ``"squared-output"`` or ``"scale-dependent"``, or a regularizer object that
        brings its own alpha: how threshold and alpha depend on each other.
    alpha
        The paper's regularization coefficient, from which threshold and number of components follow. None:
        it follows from ``n_components``. Give one of the two.
    max_components
        The capacity, which is also the number of columns that `transform` returns: how many components at
        most. If None, ``n_components`` if that is an integer, ``n_features`` for a share of the variance of
        up to 256 features, and ``min(n_features, 32)`` otherwise.
    center
        True to subtract the mean.
    standardize
        True to divide each input by its standard deviation (with ``center=False``: root mean square), as a
        `StandardScaler` does. Components, variances and the threshold are then in standardized units.
    lags
        Number of predecessors beside each row (delay embedding): components then have ``n_features
        (lags + 1)`` columns, the row itself first, then the row before it, and so on; see ``input_names_``.
        Before the first row, the input counts as having stood still.
    scores
        ``"shrunk"``: scores as the network transmits them, each axis times ``sqrt((lam - theta) / lam)``;
        ``"projected"``: plain projections as in PCA (`offline.solve_hard`); ``"whitened"``: projections with
        variance 1 (`offline.solve_equalizing`).

    Attributes
    ----------
    n_components_ : int
        The rank found.
    max_components_ : int
        The capacity, which is also the number of columns `transform` returns.
    components_ : ndarray (``n_components_`` x ``n_features (lags + 1)``)
        Orthonormal principal axes, largest variance first, the largest entry of each positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray (``n_components_``)
        Input variance along each axis (divided by the number of samples), as a share of the whole, and the
        matching singular values.
    spectrum_ : ndarray (``max_components_``)
        Input variance along the first directions, kept or not, largest first.
    output_variance_ : ndarray (``n_components_``)
        ``explained_variance_ - threshold_``, the variance of the shrunk scores.
    threshold_ : float
        Line between kept and dropped variances.
    noise_variance_ : float
        Mean variance of the directions that are not kept.
    alpha_ : float
        The coefficient used.
    advice_ : str
        Advice where the rank is 0 or as large as it can be, or where inputs should be standardized;
        empty otherwise.
    other_ranks_ : dict
        Rank that each rule of `eigenstream.rules` would find, by its text.
    input_names_ : list of str
        Names of the columns of ``components_``.
    scale_ : ndarray or None
        Divisor of each centered input (1 if it does not vary); None unless ``standardize``.
    n_samples_effective_ : float
        Number of independent samples that the rows are worth, by what the components leave of them: rows that
        are like the one before say less than independent ones.
    mean_, n_samples_seen_, n_features_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import AdaptivePCA, streams
    >>> X = np.vstack(list(streams.paper_stream(2000, random_state=0)))
    >>> model = AdaptivePCA().fit(X)
    >>> model.n_components_
    4
    >>> model.transform(X).shape
    (2000, 32)
    """

    def __init__(
        self,
        n_components: int | float | Rule | Literal["auto"] = "auto",
        *,
        regularizer: str | Regularizer = "input-output",
        alpha: float | None = None,
        max_components: int | None = None,
        center: bool = True,
        standardize: bool = False,
        lags: int = 0,
        scores: Literal["shrunk", "projected", "whitened"] = "shrunk",
    ) -> None:
        self.n_components = n_components
        self.regularizer = regularizer
        self.alpha = alpha
        self.max_components = max_components
        self.center = center
        self.standardize = standardize
        self.lags = lags
        self.scores = scores

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Solve the offline problem on these rows; ``y`` is ignored.

        Rows of a Dask array stay with its workers: they need not fit into memory.
        """
        kind, alpha = chosen_alpha(self.regularizer, self.n_components, self.alpha)
        self._checked_scores()
        lags = checked_lags(self.lags)
        data: Any = without_gaps(self, X)
        refuse_lags(data, lags)
        self._lags = lags
        data = embedded(data, lags) if lags else data
        k, _ = capacity_and_solver(alpha, self.max_components, data.shape[1], "auto")
        found = moments(data, k, center=self.center, standardize=self.standardize)
        lam, axes, T = found.lam, found.axes, found.n_samples
        evidence = self._evidence_in(found)
        decision = decide(kind, alpha, evidence)
        rank, threshold = decision.rank, decision.threshold
        self._evidence = evidence
        of_differences = None
        if not rank and isinstance(data, np.ndarray) and cannot_be_told(evidence, rank, alpha):
            steps = moments(np.diff(data, axis=0), k, center=self.center, standardize=self.standardize)
            of_differences = decide(kind, alpha, self._evidence_in(steps)).rank
        self.advice_ = advice(evidence, rank, alpha, of_differences)
        self.n_samples_effective_ = evidence.n_independent(rank)
        if rank == len(axes) < lam.size and lam[rank] > threshold and not isinstance(alpha, FixedRank):
            message = f"more than max_components={k} components exceed the threshold; {self.advice_}"
            warnings.warn(message, UserWarning, stacklevel=2)
        self.max_components_ = k
        self.alpha_ = decision.alpha
        self.n_samples_seen_ = T
        self._reading = Reading(
            found.mean,
            axes,
            lam[: len(axes)],
            rank,
            threshold,
            self.alpha_,
            evidence.total,
            T,
            scale=found.scale,
        )
        return self

    def _evidence_in(self, found: Moments) -> Evidence:
        """Evidence in moments of rows."""
        lam, axes = found.lam, found.axes
        return Evidence(
            lam.astype(np.float64),
            found.total,
            len(axes),
            max(found.n_inputs, 1),
            found.n_samples - bool(self.center),
            input_variances=found.input_variances,
            rounding=float(np.finfo(lam.dtype).eps),
            profile=Profile.of(found.input_variances, np.sqrt(lam[: len(axes), None]) * axes),
            persistence=found.persistence,
            standardized=found.scale is not None,
            moves=found.moves,
            spent=int(self.center),
        )

    @property
    def other_ranks_(self) -> dict[str, int]:
        """Rank that each rule of `eigenstream.rules` would find, by its text."""
        check_is_fitted(self)
        return other_ranks(self._evidence)
