"""Orthonormal rows: drawn at random, or completed, with signs that do not depend on the QR algorithm."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def random_orthonormal(n: int, k: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """k orthonormal rows in n dimensions, uniform over rotations.

    Examples
    --------
    >>> U = random_orthonormal(5, 2, np.random.default_rng(0))
    >>> (U @ U.T).round(12) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    return orthonormal_rows(rng.standard_normal((n, k)))


def orthogonal_complement(U: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Orthonormal rows from these, with their components along the rows of U removed.

    Examples
    --------
    >>> orthogonal_complement(np.eye(1, 3), np.array([[5.0, 2.0, 0.0]])) + 0.0
    array([[0., 1., 0.]])
    """
    for _ in range(2):  # twice is enough (Kahan and Parlett)
        rows = rows - (rows @ U.T) @ U
    return orthonormal_rows(rows.T)


def orthonormal_rows(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """The columns (n, k), orthonormalized from left to right, as rows (k, n); each keeps its sense.

    QR alone leaves the signs to the algorithm, so rows drawn through it would not be uniform.
    """
    Q, R = np.linalg.qr(columns)
    return np.ascontiguousarray((Q * np.sign(np.diag(R))).T)
