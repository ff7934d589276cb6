"""The part of a scikit-learn estimator that only needs a `Reading`: scores and reconstruction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._set_output import ADAPTERS_MANAGER, _get_output_config
from sklearn.utils.validation import check_array, check_is_fitted

from ..array_types import as_numbers
from ..learners.arrays import fetched, host, is_chunked, is_foreign, of_rows
from ..model.attributes import ReadingAttributes
from ..model.delays import embedded, input_names
from ..model.filling import filled_by
from ..model.likelihood import Density, covariance, density, log_likelihood
from ..model.parameters import refuse_gaps
from ..model.reading import SCORES, Floats
from ..plotting.notebook import ShownAsCard
from .validation import FLOAT_TYPES, filled, finite, matrix, refuse_lags, shaped


class ReadingTransformer(
    ReadingAttributes, ShownAsCard, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Abstract: a subclass learns, and provides ``_reading`` and ``max_components_``."""

    scores: Literal["shrunk", "projected", "whitened"]
    max_components: int | None
    max_components_: int
    n_samples_seen_: int
    center: bool
    n_features_in_: int
    _lags: int

    def transform(self, X: ArrayLike) -> Floats:
        """Scores of each row: ``max_components_`` columns, those beyond the rank exactly zero.

        A row that ``missing`` says to skip has NaN scores. With lags, the rows are a stretch of their own: it
        counts as having stood still before its first row. Scores of a Dask array are one, too, and computed
        when they are asked for, as are `inverse_transform`, `score_samples` and `squared_residuals` of one.
        """
        check_is_fitted(self)
        return self._of_rows(X, self._encoded, self.max_components_)

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """From scores back to the input space: the projection on the kept subspace, as rows that came."""
        check_is_fitted(self)
        return of_rows(X, self._decoded, self.max_components_, self.n_features_in_)

    def squared_residuals(self, X: ArrayLike) -> Floats:
        """Squared distance of each row from what the components can express: its reconstruction error.

        In standardized units with ``standardize=True``, of row and predecessors together with ``lags``.
        """
        check_is_fitted(self)
        return self._of_rows(X, self._squared_residuals)

    def score_samples(self, X: ArrayLike) -> Floats:
        """Log-likelihood of each row under components and even noise, both Gaussian, as scikit-learn's PCA.

        With ``lags``, that of the row and its predecessors together.
        """
        check_is_fitted(self)
        return self._of_rows(X, self._log_likelihood)

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Mean log-likelihood of the rows; those that ``missing`` says to skip do not count."""
        return float(np.nanmean(fetched(self.score_samples(X))))

    def get_covariance(self) -> NDArray[np.float64]:
        """Covariance of the inputs by components and even noise, as scikit-learn's PCA.

        Its variances are divided by one sample less than ``explained_variance_``. In the units of the input
        also with ``standardize=True``; with ``lags``, of the columns of ``components_``.
        """
        check_is_fitted(self)
        return covariance(self._reading, self._density())

    def get_precision(self) -> NDArray[np.float64]:
        """Inverse of `get_covariance`."""
        return np.asarray(np.linalg.inv(self.get_covariance()), dtype=np.float64)

    def impute(self, X: ArrayLike, *, return_std: bool = False) -> Any:
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
        return_std
            True: also return the standard deviation of each filled value around the truth, an array of the
            shape of the rows; 0 where a value was there, NaN where a gap stays.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import AdaptivePCA
        >>> X = np.outer(np.arange(1000.0), [1.0, 2.0, -1.0])
        >>> AdaptivePCA().fit(X).impute([[300.0, np.nan, -300.0]]).round(-1)
        array([[ 300.,  600., -300.]])
        """
        check_is_fitted(self)
        found = self._of_rows(X, self._imputed, 2 * self.n_features_in_)
        return self._filled_and_std(found, X, return_std)

    def _filled_and_std(self, found: Floats, X: ArrayLike, return_std: bool) -> Any:
        """Rows of both kinds side by side, as the caller asked for them."""
        n = self.n_features_in_
        filled = self._as_input(found[:, :n], X)
        return (filled, self._as_input(found[:, n:], X)) if return_std else filled

    @property
    def input_names_(self) -> list[str]:
        """Names of the columns of ``components_``: with lags, also of predecessors."""
        check_is_fitted(self)
        default = [f"x{i}" for i in range(self.n_features_in_)]
        return input_names(getattr(self, "feature_names_in_", default), self._lags)

    @property
    def _n_features_out(self) -> int:
        return self.max_components_

    def _of_rows(self, X: Any, compute: Callable[[Any], Floats], width: int | None = None) -> Floats:
        if is_chunked(X):  # chunks do not know the rows before them
            refuse_lags(X, self._lags)
        return of_rows(X, compute, self.n_features_in_, width)

    def _encoded(self, X: ArrayLike) -> Floats:
        return self._reading.encode(self._rows(X), self._checked_scores(), self.max_components_)

    def _imputed(self, X: ArrayLike, times: NDArray[np.float64] | None = None) -> Floats:
        rows = host(shaped(self, filled(X), reset=False))
        refuse_gaps(rows, "impute")
        own = slice(self.n_features_in_)
        filled_rows, variances = self._expected(embedded(rows, self._lags) if self._lags else rows, times)
        return np.hstack((filled_rows[:, own], np.sqrt(variances[:, own]).astype(filled_rows.dtype)))

    def _expected(
        self, rows: Floats, times: NDArray[np.float64] | None = None
    ) -> tuple[Floats, NDArray[np.float64]]:
        """Rows with gaps filled, and the variance of what was filled; times do not matter here."""
        return filled_by(self._reading, rows)

    def _decoded(self, X: ArrayLike) -> Floats:
        X = as_numbers(X, "scores")
        Z = matrix(X) if is_foreign(X) else check_array(X, dtype=FLOAT_TYPES, ensure_min_features=0)
        if Z.shape[1] != self.max_components_:
            raise ValueError(
                f"scores must have max_components_={self.max_components_} columns, got {Z.shape[1]}"
            )
        return self._reading.beside(Z).decode(Z, self._checked_scores())[:, : self.n_features_in_]

    def _as_input(self, rows: Floats, X: Any) -> Any:
        """Rows in the container that `set_output` asks for, with the names of the inputs."""
        container = _get_output_config("transform", self)["dense"]
        if container == "default":
            return rows
        names = self.input_names_[: self.n_features_in_]
        return ADAPTERS_MANAGER.adapters[container].create_container(rows, X, columns=names)

    def _density(self) -> Density:
        return density(self._reading, self.n_samples_seen_, centered=bool(self.center))

    def _log_likelihood(self, X: ArrayLike) -> Floats:
        rows = self._rows(X)
        return log_likelihood(self._reading.beside(rows), rows, self._density())

    def _squared_residuals(self, X: ArrayLike) -> Floats:
        rows = self._rows(X)
        return self._reading.beside(rows).squared_residuals(rows)

    def _rows(self, X: ArrayLike) -> Floats:
        rows = finite(self, X, reset=False)
        refuse_lags(rows, self._lags)
        return embedded(rows, self._lags) if self._lags else rows

    def _checked_scores(self) -> str:
        if self.scores not in SCORES:
            raise ValueError(f"scores must be one of {', '.join(map(repr, SCORES))}, got {self.scores!r}")
        return self.scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = not getattr(self, "lags", 0)
        return tags
