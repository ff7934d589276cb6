"""Distances of an online answer from the offline one: by spectra and subspaces, never by raw axes.

Axes have arbitrary signs and, within ties, arbitrary directions; eigenvalues and projectors do not.
Subspaces are given as matrices whose *rows* span them (k x n), as in ``components_`` and ``filter``.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import subspace_angles


def eigenvalue_error(outputs: ArrayLike, optimal: ArrayLike) -> float:
    """Sum of squared differences between output eigenvalues and their offline optimum.

    Parameters
    ----------
    outputs
        The network's outputs (T x k), whose second moment ``Y'Y / T`` is taken, or its eigenvalues.
    optimal
        The offline output eigenvalues, largest first. The shorter of the two is filled up with zeros.

    Examples
    --------
    >>> eigenvalue_error([3.5, 3.0, 2.5], [4.0, 3.0, 2.0, 0.0])
    0.5
    """
    found = np.asarray(outputs, dtype=np.float64)
    if found.ndim == 2:  # by singular values, since Y'Y would lose half of the digits of small ones
        found = np.linalg.svd(found, compute_uv=False) ** 2 / len(found)
    best = np.asarray(optimal, dtype=np.float64)
    if found.ndim != 1 or best.ndim != 1:
        raise ValueError(
            f"expected outputs (T x k) or eigenvalues, and optimal eigenvalues; "
            f"got shapes {np.shape(outputs)} and {best.shape}"
        )
    length = max(found.size, best.size)
    difference = np.zeros(length)
    difference[: found.size] = np.sort(found)[::-1]
    difference[: best.size] -= best
    return float(difference @ difference)


def subspace_error(
    filter: ArrayLike,
    components: ArrayLike,
    n_components: int | None = None,
    *,
    normalize: Literal["relative"] | None = None,
) -> float:
    """Squared Frobenius distance of two projectors, ``|| F_m F_m' - U_m U_m' ||_F^2``.

    Parameters
    ----------
    filter
        The learnt filter F (k x n); its top m right singular vectors span the learnt subspace.
    components
        Orthonormal principal axes (at least m rows), largest first.
    n_components
        m, the size of the subspaces compared; all rows of ``components`` if None.
    normalize
        ``"relative"`` divides by 2m, the distance of orthogonal subspaces.

    Examples
    --------
    >>> subspace_error([[2.0, 0, 0], [0, 3.0, 0]], [[1.0, 0, 0], [0, 0, 1.0]])
    2.0
    """
    if normalize not in (None, "relative"):
        raise ValueError(f"normalize must be None or 'relative', got {normalize!r}")
    F, U = _top_subspaces(filter, components, n_components)
    # What of U sticks out of F: accurate where 2m - 2 |F'U|^2 would cancel.
    outside = U - (U @ F.T) @ F
    error = 2 * float(np.sum(outside**2))
    return error / (2 * len(U)) if normalize else error


def largest_angle(filter: ArrayLike, components: ArrayLike, n_components: int | None = None) -> float:
    """Largest principal angle between the two subspaces of `subspace_error`, in radians.

    Examples
    --------
    >>> round(largest_angle([[1.0, 1.0]], [[1.0, 0.0]]), 6)
    0.785398
    """
    F, U = _top_subspaces(filter, components, n_components)
    return float(np.max(subspace_angles(F.T, U.T)))


def _top_subspaces(
    filter: ArrayLike, components: ArrayLike, n_components: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    F, U = np.asarray(filter, dtype=np.float64), np.asarray(components, dtype=np.float64)
    if F.ndim != 2 or U.ndim != 2 or F.shape[1] != U.shape[1]:
        raise ValueError(
            f"filter and components must be matrices with as many columns as there are inputs, "
            f"got shapes {F.shape} and {U.shape}"
        )
    m = len(U) if n_components is None else n_components
    if not 1 <= m <= min(len(F), len(U)):
        raise ValueError(f"n_components={m} must be between 1 and {min(len(F), len(U))}, the rows given")
    return np.linalg.svd(F, full_matrices=False)[2][:m], U[:m]
