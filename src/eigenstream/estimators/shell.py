"""The part of a scikit-learn estimator that only needs a `Reading`: attributes, scores, reconstruction."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..regularizers import Regularizer, kind_of
from .reading import Floats, Reading

FLOAT_TYPES = (np.float64, np.float32)


class ReadingTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Abstract: a subclass learns, and provides ``_reading`` and ``max_components_``."""

    scores: Literal["shrunk", "projected"]
    max_components: int | None
    max_components_: int
    _reading: Reading

    @property
    def n_components_(self) -> int:
        """The rank: how many components are kept."""
        return len(self._reading.axes)

    @property
    def components_(self) -> Floats:
        """Principal axes of the kept components (n_components_ x n_features), orthonormal, largest first."""
        return self._reading.axes

    @property
    def explained_variance_(self) -> Floats:
        """Input variance along each component, divided by the (effective) number of samples."""
        return self._reading.variances

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
        return self._reading.encode(self._rows(X), width=self.max_components_, shrunk=self._shrunk())

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """From scores back to the input space: the projection on the kept subspace."""
        check_is_fitted(self)
        Z = check_array(X, dtype=FLOAT_TYPES, ensure_min_features=0)
        if Z.shape[1] != self.max_components_:
            raise ValueError(
                f"scores must have max_components_={self.max_components_} columns, got {Z.shape[1]}"
            )
        return self._reading.decode(Z, shrunk=self._shrunk())

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

    def _shrunk(self) -> bool:
        if self.scores not in ("shrunk", "projected"):
            raise ValueError(f"scores must be 'shrunk' or 'projected', got {self.scores!r}")
        return self.scores == "shrunk"

    def _capacity(self, n_features: int) -> int:
        """``max_components_`` for this width."""
        if self.max_components is None:
            return min(n_features, 32)
        if not isinstance(self.max_components, int | np.integer) or not (
            1 <= self.max_components <= n_features
        ):
            raise ValueError(
                f"max_components must be None or a whole number from 1 to n_features={n_features}, "
                f"got {self.max_components!r}"
            )
        return int(self.max_components)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def chosen_regularizer(
    regularizer: str | Regularizer, alpha: float | str
) -> tuple[type[Regularizer], Regularizer | None]:
    """The kind of regularizer, and the regularizer itself unless its alpha is to be found."""
    kind = kind_of(regularizer)
    if isinstance(regularizer, Regularizer):
        if alpha != "auto":
            raise ValueError(
                f"{regularizer!r} brings its own alpha, but alpha={alpha!r} was given too: "
                f"give a name such as {kind.name!r} with alpha, or leave alpha out"
            )
        return kind, regularizer
    if isinstance(alpha, str):
        if alpha != "auto":
            raise ValueError(f"alpha must be 'auto' or a number >= 0, got {alpha!r}")
        return kind, None
    return kind, kind(alpha)
