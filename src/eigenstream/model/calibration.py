"""Choosing alpha by a number of components or by a threshold, from rows or from their spectrum."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..array_types import Floats, Matrix, as_numbers
from ..learners.scale import gain_of
from ..offline import spectrum
from ..regularizers import Regularizer, kind_of
from .delays import embedded, last_rows


def calibrate_alpha(
    X_or_eigenvalues: ArrayLike,
    regularizer: str | Regularizer | type[Regularizer],
    *,
    n_components: int | None = None,
    threshold: float | None = None,
    center: bool = True,
) -> float:
    """The alpha that keeps a number of components, or that puts the threshold at a value.

    Parameters
    ----------
    X_or_eigenvalues
        Samples (T x n) or the whole input spectrum, largest first.
    regularizer
        A name, a class or an instance (whose own alpha is not used).
    n_components
        Number of components to keep; the threshold then stands midway between the last one kept and the
        first one dropped.
    threshold
        Where to put the threshold, in units of variance. Give this or ``n_components``.
    center
        True to subtract the mean of the samples first, as the estimators do.

    Examples
    --------
    >>> calibrate_alpha([6.0, 5.0, 4.0, 2.0, 0.5], "squared-output", threshold=2.0)
    0.2222222222222222
    >>> calibrate_alpha([6.0, 5.0, 4.0, 2.0, 0.5], "scale-dependent", n_components=3)
    3.0
    """
    if (n_components is None) == (threshold is None):
        raise ValueError(
            "give either n_components or threshold, and only one of them; "
            "for a choice from the data alone use n_components='auto' in an estimator"
        )
    kind = kind_of(regularizer)
    given = np.asarray(as_numbers(X_or_eigenvalues))
    if given.ndim == 2:
        lam, _ = spectrum(given - given.mean(axis=0) if center else given, 1)
    else:
        lam = given
    if threshold is None:
        assert n_components is not None
        kind.alpha_range(lam, n_components)  # refuses ties and other questions without an answer
        threshold = _midway(np.asarray(lam, dtype=np.float64), n_components)
    return kind.for_threshold(lam, threshold).alpha


def second_moment(
    batches: Iterable[Floats], *, center: bool = True, lags: int = 0, standardize: bool = False
) -> Matrix | None:
    """The second moment of a stream, whose eigenvalues `calibrate_alpha` takes; in one pass.

    Parameters
    ----------
    batches
        Rows, batch by batch. Rows with gaps (NaN) are left out.
    center
        True to subtract the mean.
    lags
        Number of predecessors that stand beside each row.
    standardize
        True to divide each input by its standard deviation.

    Returns
    -------
    The matrix; None if no row is without gaps.

    Examples
    --------
    >>> second_moment([np.array([[1.0, 2.0]]), np.array([[3.0, 2.0]])])
    array([[1., 0.],
           [0., 0.]])
    """
    moment, total, first, before, count = np.zeros((0, 0)), np.zeros(0), np.zeros(0), None, 0
    for batch in batches:
        raw = batch.astype(np.float64)
        rows, before = embedded(raw, lags, before), last_rows(raw, lags, before)
        rows = rows[~np.isnan(rows).any(axis=1)]
        if not len(rows):
            continue
        if not count:
            n = rows.shape[1]
            moment, total, first = np.zeros((n, n)), np.zeros(n), center * rows[0]
        rows = rows - first  # far from zero, squares would drown the variances
        moment += rows.T @ rows
        total += rows.sum(axis=0)
        count += len(rows)
    if not count:
        return None
    mean = center * total / count
    moment = moment / count - np.outer(mean, mean)
    if standardize:
        gain = gain_of(np.maximum(np.diag(moment), 0.0), 1.0, np.zeros(len(moment)))
        moment = gain * moment * gain[:, None]
    return moment


def _midway(lam: NDArray[np.float64], p: int) -> float:
    if p == 0:
        return float(2 * lam[0])
    return float((lam[p - 1] + (lam[p] if p < lam.size else 0.0)) / 2)
