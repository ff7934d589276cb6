"""The part of a scikit-learn estimator that only needs a `Reading`: attributes, scores, reconstruction."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..reading import SCORES, Floats, Reading
from ..tracking.parameters import capacity

FLOAT_TYPES = (np.float64, np.float32)


class ReadingTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Abstract: a subclass learns, and provides ``_reading`` and ``max_components_``."""

    scores: Literal["shrunk", "projected", "whitened"]
    max_components: int | None
    max_components_: int
    _reading: Reading

    @property
    def n_components_(self) -> int:
        """The rank: how many components are kept."""
        return self._reading.rank

    @property
    def components_(self) -> Floats:
        """Principal axes of the kept components (n_components_ x n_features), orthonormal, largest first."""
        return self._reading.kept_axes

    @property
    def explained_variance_(self) -> Floats:
        """Input variance along each component, divided by the (effective) number of samples."""
        return self._reading.kept_variances

    @property
    def explained_variance_ratio_(self) -> Floats:
        """Each of them as a share of the input's whole variance."""
        return self._reading.shares

    @property
    def singular_values_(self) -> Floats:
        """Singular values of the (discounted, centered) input that belong to the components."""
        return self._reading.singular_values

    @property
    def output_variance_(self) -> Floats:
        """Variance of the shrunk scores, ``explained_variance_ - threshold_``."""
        return self._reading.output_variances

    @property
    def noise_variance_(self) -> float:
        """Mean variance of the directions that are not kept."""
        return self._reading.rest_variance

    @property
    def threshold_(self) -> float:
        """What separates kept from dropped variances, and what each is shrunk by."""
        return self._reading.threshold

    @property
    def mean_(self) -> Floats:
        """What is subtracted from the input."""
        return self._reading.mean

    def transform(self, X: ArrayLike) -> Floats:
        """Scores of each row: ``max_components_`` columns, those beyond the rank exactly zero."""
        check_is_fitted(self)
        return self._reading.encode(self._rows(X), self._checked_scores(), self.max_components_)

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """From scores back to the input space: the projection on the kept subspace."""
        check_is_fitted(self)
        Z = check_array(X, dtype=FLOAT_TYPES, ensure_min_features=0)
        if Z.shape[1] != self.max_components_:
            raise ValueError(
                f"scores must have max_components_={self.max_components_} columns, got {Z.shape[1]}"
            )
        return self._reading.decode(Z, self._checked_scores())

    def score_samples(self, X: ArrayLike) -> Floats:
        """Squared reconstruction error of each row: large where the model does not know the input."""
        check_is_fitted(self)
        return self._reading.squared_residuals(self._rows(X))

    @property
    def _n_features_out(self) -> int:
        return self.max_components_

    def _rows(self, X: ArrayLike) -> Floats:
        rows: Floats = validate_data(self, X, reset=False, dtype=FLOAT_TYPES)
        return rows

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
