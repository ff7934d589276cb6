"""A model at one moment: mean, axes, spectrum and threshold, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats as Floats
from ..learners.arrays import beside, elsewhere, zeros
from ..learners.scale import standardized
from ..learners.sparse import SparseRows


@dataclass(frozen=True)
class Reading:
    """One moment of a model. Variances are per (effective) sample, largest first but for near ties.

    Parameters
    ----------
    mean
        What is subtracted from the input (n).
    axes
        Orthonormal principal axes as rows, those that are kept first (r x n, r >= rank); perhaps fewer than
        there are variances.
    variances
        Input variance along each axis (r).
    rank
        How many components are kept.
    threshold
        What every kept variance is shrunk by; all of them exceed it.
    alpha
        The regularization coefficient.
    total_variance
        Variance of the input in all directions together.
    count
        The effective number of samples.
    tells_below_threshold
        Whether variances of axes that are not kept are the input's own, or only a lower bound.
    scale
        What each centered input is divided by (n): axes, variances and threshold are in these units. None:
        nothing.
    """

    mean: Floats
    axes: Floats
    variances: Floats
    rank: int
    threshold: float
    alpha: float
    total_variance: float
    count: float
    tells_below_threshold: bool = True
    scale: Floats | None = None

    def astype(self, dtype: Any) -> Self:
        """The same reading with arrays of this type."""
        arrays = {
            name: getattr(self, name).astype(dtype, copy=False) for name in ("mean", "axes", "variances")
        }
        scale = None if self.scale is None else self.scale.astype(dtype, copy=False)
        return replace(self, **arrays, scale=scale)

    def beside(self, rows: Floats) -> Self:
        """The same reading where these rows live."""
        if not elsewhere(self.axes, rows):
            return self
        scale = None if self.scale is None else beside(self.scale, rows)
        return replace(self, mean=beside(self.mean, rows), axes=beside(self.axes, rows), scale=scale)

    @property
    def kept_axes(self) -> Floats:
        return self.axes[: self.rank]

    @property
    def kept_variances(self) -> Floats:
        return self.variances[: self.rank]

    @property
    def output_variances(self) -> Floats:
        return self.kept_variances - np.asarray(self.threshold, dtype=self.variances.dtype)

    @property
    def shares(self) -> Floats:
        """Each kept variance as a share of the total."""
        if self.total_variance > 0:
            return self.kept_variances / np.asarray(self.total_variance, dtype=self.variances.dtype)
        return np.zeros_like(self.kept_variances)

    @property
    def singular_values(self) -> Floats:
        """Singular values of the (discounted, centered) input matrix."""
        return np.sqrt(self.kept_variances * self.variances.dtype.type(self.count))

    @property
    def rest_variance(self) -> float:
        """Mean variance of the directions that are not kept."""
        return self._mean_beyond(self.rank)

    def spectrum(self, size: int) -> NDArray[np.float64]:
        """Variance along ``size`` directions; the mean of the rest where single ones are not known."""
        known = min(len(self.variances) if self.tells_below_threshold else self.rank, size)
        values = np.full(size, self._mean_beyond(known))
        values[:known] = self.variances[:known]
        return values

    def _mean_beyond(self, known: int) -> float:
        rest = self.mean.size - known
        left = self.total_variance - float(self.variances[:known].sum())
        return max(left, 0.0) / rest if rest else 0.0

    def encode(self, X: Floats, scores: str, width: int) -> Floats:
        """Scores in the first columns of ``width``, zeros beyond the rank."""
        encoded = zeros((len(X), width), X)
        encoded[:, : self.rank] = self.project(X) * self.factors(scores, X.dtype)
        return encoded

    def decode(self, Z: Floats, scores: str) -> Floats:
        """Back to the input; after `encode`, the projection on the kept subspace."""
        projections = Z[:, : self.rank] / self.factors(scores, Z.dtype)
        decoded = projections @ self.kept_axes.astype(Z.dtype)
        if self.scale is not None:
            decoded *= self.scale.astype(Z.dtype)
        return decoded + self.mean.astype(Z.dtype)

    def factors(self, scores: str, dtype: Any) -> Floats:
        """Factors that make scores of projections on the kept axes."""
        return SCORES[scores](self.kept_variances, self.threshold).astype(dtype)

    def squared_residuals(self, X: Floats) -> Floats:
        """Squared distance of each row from the kept subspace (through the mean)."""
        if isinstance(X, SparseRows):
            return np.concatenate([self.squared_residuals(part) for part in X.parts()])
        centered = standardized(X, self.mean, self.scale)
        outside = centered - self.project(X) @ self.kept_axes.astype(X.dtype)
        residuals: Floats = np.einsum("ij,ij->i", outside, outside)
        return residuals

    def project(self, X: Floats) -> Floats:
        """Projections of rows on the kept axes."""
        return standardized(X, self.mean, self.scale) @ self.kept_axes.T.astype(X.dtype)


def _gains(variances: Floats, threshold: float) -> Floats:
    return np.sqrt((variances - np.asarray(threshold, dtype=variances.dtype)) / variances)


SCORES: dict[str, Callable[[Floats, float], Floats]] = {
    "shrunk": _gains,
    "projected": lambda variances, threshold: np.ones_like(variances),
    "whitened": lambda variances, threshold: 1 / np.sqrt(variances),
}
"""Factors that make scores of projections on the kept axes, given variances and threshold.

``"shrunk"`` is what the paper's networks transmit, ``sqrt((lam - theta) / lam)``; ``"projected"`` leaves
projections as they are (a hard threshold); ``"whitened"`` gives every score variance 1 (an equalizer).
"""
