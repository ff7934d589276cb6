"""The closed form as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from .. import offline
from ..calibration import automatic_alpha, automatic_threshold
from ..regularizers import Regularizer
from .reading import Floats, Reading
from .shell import FLOAT_TYPES, ReadingTransformer, chosen_regularizer


class AdaptivePCA(ReadingTransformer):
    """PCA that finds its own number of components: the offline optimum of the three networks.

    Parameters
    ----------
    regularizer
        ``"input-output"``, ``"squared-output"`` or ``"scale-dependent"``, or a regularizer object that
        brings its own alpha.
    alpha
        The regularization coefficient, or ``"auto"``: the threshold then stands above the edge of the noise,
        which is estimated from the bulk of the spectrum.
    max_components
        The capacity: how many components at most; ``min(n_features, 32)`` if None.
    center
        Whether to subtract the mean.
    scores
        ``"shrunk"``: scores as the network transmits them, each axis times ``sqrt((lam - theta) / lam)``;
        ``"projected"``: plain projections as in PCA.

    Attributes
    ----------
    n_components_ : int
        The rank found.
    max_components_ : int
        The capacity, which is also the number of columns `transform` returns.
    components_ : ndarray (n_components_ x n_features)
        Orthonormal principal axes, largest variance first, the largest entry of each positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray (n_components_)
        Input variance along each axis (divided by the number of samples), as a share of the whole, and the
        matching singular values.
    output_variance_ : ndarray (n_components_)
        ``explained_variance_ - threshold_``, the variance of the shrunk scores.
    threshold_ : float
        What separates kept from dropped variances.
    noise_variance_ : float
        Mean variance of the directions that are not kept.
    alpha_ : float
        The coefficient used.
    mean_, n_samples_seen_, n_features_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import AdaptivePCA, streams
    >>> X = np.vstack(list(streams.paper_stream(2000, random_state=0)))
    >>> model = AdaptivePCA().fit(X)
    >>> model.n_components_
    4
    >>> model.transform(X).shape
    (2000, 32)
    """

    def __init__(
        self,
        regularizer: str | Regularizer = "input-output",
        alpha: float | Literal["auto"] = "auto",
        max_components: int | None = None,
        *,
        center: bool = True,
        scores: Literal["shrunk", "projected"] = "shrunk",
    ) -> None:
        self.regularizer = regularizer
        self.alpha = alpha
        self.max_components = max_components
        self.center = center
        self.scores = scores

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Solve the offline problem on these rows; ``y`` is ignored."""
        kind, regularizer = chosen_regularizer(self.regularizer, self.alpha)
        self._shrunk()
        data: Floats = validate_data(self, X, dtype=FLOAT_TYPES)
        T, n = data.shape
        k = self._capacity(n)

        varies = data.min(axis=0) != data.max(axis=0)
        mean = np.zeros(n, dtype=data.dtype)
        if self.center:
            # A constant column must vanish exactly: its mean, being a sum, would leave a rounding residue.
            mean = np.where(varies, data.mean(axis=0, dtype=np.float64), data[0]).astype(data.dtype)
            data = data - mean
        lam, axes = offline.spectrum(data, min(k, T))

        floor = 0.0
        if regularizer is None:
            floor = automatic_threshold(lam, T - bool(self.center), max(int(varies.sum()), 1))
            regularizer = kind(automatic_alpha(kind, lam[: len(axes)], float(lam.sum()), floor))
        # R_YY cannot be silent by itself, so what was asked for counts as well.
        threshold = max(regularizer.threshold(lam, len(axes)), floor)
        kept = int(np.count_nonzero(lam[: len(axes)] > threshold))
        if kept == len(axes) < lam.size and lam[kept] > threshold:
            warnings.warn(
                f"more than max_components={k} components exceed the threshold; raise it to keep them",
                UserWarning,
                stacklevel=2,
            )
        self.max_components_ = k
        self.alpha_ = regularizer.alpha
        self.n_samples_seen_ = T
        total = float(lam.sum(dtype=np.float64))
        self._reading = Reading(mean, axes[:kept], lam[:kept], threshold, total, T)
        return self
