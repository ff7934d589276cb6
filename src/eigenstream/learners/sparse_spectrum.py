"""The closed form of sparse rows: their leading spectrum, without a matrix of the input's size."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, svds

from ..offline import fixed_signs
from .sparse import Floats, Matrix, SparseRows

# `eigh` of a matrix of this side needs 32 MiB; Lanczos iteration is for what is larger.
SMALL = 2048
"""Most rows or columns of which all eigenvalues are computed, from a matrix of that size."""


def leading_spectrum(R: SparseRows, count: int) -> tuple[Floats, Floats]:
    """Eigenvalues of the second moment, and its first ``count`` principal axes as rows.

    All eigenvalues of small matrices, as `eigenstream.offline.spectrum`; of others a few more than there are
    axes (by Lanczos iteration), which is what the streaming models know, too.
    """
    T, n = R.shape
    if min(T, n) > SMALL:
        lam, U = _largest(R, min(3 * count + 24, min(T, n) - 1))
    elif T >= n:
        lam, V = np.linalg.eigh(R.scatter())
        lam, U = lam[::-1], V[:, ::-1].T
    else:
        lam, V = np.linalg.eigh(R.gram())
        lam = lam[::-1]
        U = np.linalg.qr((V[:, ::-1][:, :count].T @ R).T)[0].T
    axes = fixed_signs(U[:count])
    return (np.maximum(lam, 0.0) / T).astype(R.dtype), axes.astype(R.dtype)


def _largest(R: SparseRows, number: int) -> tuple[Matrix, Matrix]:
    """The largest eigenvalues of ``R'R`` and their axes."""
    products = LinearOperator(
        R.shape,
        matvec=lambda v: R @ v.reshape(-1),
        rmatvec=lambda v: v.reshape(-1) @ R,
        dtype=np.float64,
    )
    start = np.random.default_rng(0).standard_normal(min(R.shape))
    _, s, U = svds(products, k=number, v0=start)
    return np.square(s[::-1]), U[::-1]
