"""What a model says at one moment: mean, axes, spectrum and threshold, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Reading:
    """One moment of a model. Variances are per (effective) sample, largest first.

    Parameters
    ----------
    mean
        What is subtracted from the input (n).
    axes
        Orthonormal principal axes of the kept modes as rows (p x n).
    variances
        Input variance along each kept axis (p).
    threshold
        What every variance is shrunk by; all kept variances exceed it.
    total_variance
        The trace of the input second moment.
    count
        The effective number of samples.
    """

    mean: Floats
    axes: Floats
    variances: Floats
    threshold: float
    total_variance: float
    count: float

    @property
    def output_variances(self) -> Floats:
        return self.variances - np.asarray(self.threshold, dtype=self.variances.dtype)

    @property
    def gains(self) -> Floats:
        """``sqrt((lam - theta) / lam)``: how much of each axis the network transmits."""
        return np.sqrt(self.output_variances / self.variances)

    @property
    def shares(self) -> Floats:
        """Each kept variance as a share of the total."""
        if self.total_variance > 0:
            return self.variances / np.asarray(self.total_variance, dtype=self.variances.dtype)
        return np.zeros_like(self.variances)

    @property
    def singular_values(self) -> Floats:
        """Of the (discounted, centered) input matrix."""
        return np.sqrt(self.variances * self.variances.dtype.type(self.count))

    @property
    def rest_variance(self) -> float:
        """Mean variance of the directions that are not kept."""
        rest = self.mean.size - len(self.variances)
        return max(self.total_variance - float(self.variances.sum()), 0.0) / rest if rest else 0.0

    def encode(self, X: Floats, *, width: int, shrunk: bool) -> Floats:
        """Scores in the first p of ``width`` columns, zeros beyond."""
        p = len(self.axes)
        Z = np.zeros((len(X), width), dtype=X.dtype)
        Z[:, :p] = self._project(X)
        if shrunk:
            Z[:, :p] *= self.gains.astype(X.dtype)
        return Z

    def decode(self, Z: Floats, *, shrunk: bool) -> Floats:
        """Back to the input; after `encode`, the projection on the kept subspace."""
        scores = Z[:, : len(self.axes)]
        if shrunk:
            scores = scores / self.gains.astype(Z.dtype)
        return scores @ self.axes.astype(Z.dtype) + self.mean.astype(Z.dtype)

    def squared_residuals(self, X: Floats) -> Floats:
        """Squared distance of each row from the kept subspace (through the mean)."""
        outside = (X - self.mean.astype(X.dtype)) - self._project(X) @ self.axes.astype(X.dtype)
        residuals: Floats = np.einsum("ij,ij->i", outside, outside)
        return residuals

    def _project(self, X: Floats) -> Floats:
        return (X - self.mean.astype(X.dtype)) @ self.axes.T.astype(X.dtype)
