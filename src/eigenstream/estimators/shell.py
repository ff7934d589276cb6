"""The part of a scikit-learn estimator that only needs a `Reading`: scores and reconstruction."""

from __future__ import annotations

from typing import Any, Literal

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..delays import embedded, input_names
from ..reading import SCORES, Floats
from ..tracking.attributes import ReadingAttributes
from ..tracking.parameters import capacity
from .elsewhere import integration_of
from .validation import FLOAT_TYPES


class ReadingTransformer(ReadingAttributes, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Abstract: a subclass learns, and provides ``_reading`` and ``max_components_``."""

    scores: Literal["shrunk", "projected", "whitened"]
    max_components: int | None
    max_components_: int
    n_features_in_: int
    _lags: int

    def transform(self, X: ArrayLike) -> Floats:
        """Scores of each row: ``max_components_`` columns, those beyond the rank exactly zero.

        Of a Dask array the scores are one, too, and nothing is computed yet.
        """
        check_is_fitted(self)
        if (elsewhere := integration_of(X)) is not None:
            return elsewhere.transformed(self, X)  # type: ignore[no-any-return]
        return self._reading.encode(self._rows(X), self._checked_scores(), self.max_components_)

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """From scores back to the input space: the projection on the kept subspace, as rows that came."""
        check_is_fitted(self)
        Z = check_array(X, dtype=FLOAT_TYPES, ensure_min_features=0)
        if Z.shape[1] != self.max_components_:
            raise ValueError(
                f"scores must have max_components_={self.max_components_} columns, got {Z.shape[1]}"
            )
        return self._reading.decode(Z, self._checked_scores())[:, : self.n_features_in_]

    def score_samples(self, X: ArrayLike) -> Floats:
        """Squared reconstruction error of each row: large where the model does not know the input.

        In standardized units with ``standardize=True``, of row and predecessors together with ``lags``.
        """
        check_is_fitted(self)
        if (elsewhere := integration_of(X)) is not None:
            return elsewhere.sample_scores(self, X)  # type: ignore[no-any-return]
        return self._reading.squared_residuals(self._rows(X))

    @property
    def input_names_(self) -> list[str]:
        """What the columns of ``components_`` stand for: with lags, also predecessors."""
        check_is_fitted(self)
        default = [f"x{i}" for i in range(self.n_features_in_)]
        return input_names(getattr(self, "feature_names_in_", default), self._lags)

    @property
    def _n_features_out(self) -> int:
        return self.max_components_

    def _rows(self, X: ArrayLike) -> Floats:
        rows: Floats = validate_data(self, X, reset=False, dtype=FLOAT_TYPES)
        return embedded(rows, self._lags) if self._lags else rows

    def _checked_scores(self) -> str:
        if self.scores not in SCORES:
            raise ValueError(f"scores must be one of {', '.join(map(repr, SCORES))}, got {self.scores!r}")
        return self.scores

    def _capacity(self, n_features: int) -> int:
        """``max_components_`` for this width."""
        return capacity(self.max_components, n_features)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
