"""Choosing alpha: by a number of components, by a threshold, or by the edge of the noise.

White noise of variance v, T samples wide n, spreads its sample eigenvalues up to ``v (1 + sqrt(n/T))^2``
(Marchenko and Pastur 1967). Its variance is read off the median eigenvalue, which a few large components
cannot move (Gavish and Donoho 2014, doi:10.1109/TIT.2014.2323359). The automatic threshold stands well above
that edge, because real noise is rarely white.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .offline import spectrum
from .regularizers import Regularizer, kind_of


def above_edge(noise: Any, edge: float) -> Any:
    """Where the automatic threshold stands, given the noise level and its edge: ``noise * (2 edge + 1)``.

    Three times the level where data abound (the edge is then 1), since real noise is rarely white: spread
    evenly over [0, 0.2] it reaches twice its mean. Where data are few the edge itself already makes room, and
    three times would hide components at four times the edge.
    """
    return noise * (2 * edge + 1)


LARGEST_ALPHA = 1e3
"""Cap for `SquaredOutput`, whose threshold approaches the largest eigenvalue only as alpha grows forever."""


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
        How many components to keep; the threshold then stands midway between the last one kept and the
        first one dropped.
    threshold
        Where to put the threshold, in units of variance. Give this or ``n_components``.
    center
        Whether to subtract the mean of the samples first, as the estimators do.

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
            "for a choice from the data alone use alpha='auto' in an estimator"
        )
    kind = kind_of(regularizer)
    given = np.asarray(X_or_eigenvalues)
    if given.ndim == 2:
        lam, _ = spectrum(given - given.mean(axis=0) if center else given, 1)
    else:
        lam = given
    if threshold is None:
        assert n_components is not None
        kind.alpha_range(lam, n_components)  # refuses ties and other questions without an answer
        threshold = _midway(np.asarray(lam, dtype=np.float64), n_components)
    return kind.for_threshold(lam, threshold).alpha


def automatic_threshold(eigenvalues: ArrayLike, n_samples: float, n_features: int | None = None) -> float:
    """The threshold above the edge of the noise.

    Parameters
    ----------
    eigenvalues
        All sample eigenvalues, largest first; those beyond min(n_samples, n_features) may be left out.
    n_samples
        How many samples (less one if they were centered) they come from.
    n_features
        How many of the columns vary; the number of eigenvalues if None.

    Examples
    --------
    >>> white = np.linspace(1.2, 0.8, 50)
    >>> round(automatic_threshold(white, n_samples=5000), 2)
    3.43
    """
    lam = np.asarray(eigenvalues, dtype=np.float64)
    n = lam.size if n_features is None else n_features
    bulk = lam[: int(max(1, min(n, n_samples)))]
    T = max(n_samples, 1)
    if n <= T:
        noise = np.median(bulk) / marchenko_pastur_median(n / T)
    else:
        # Fewer samples than features: the T non-zero eigenvalues follow the law of the transposed matrix.
        noise = np.median(bulk) / (n / T * marchenko_pastur_median(T / n))
    edge = float((1 + np.sqrt(n / T)) ** 2)
    rounding = lam.size * np.finfo(_float_type(eigenvalues)).eps * lam[0]
    return float(max(above_edge(noise, edge), rounding))


GAP = 2.5
"""How far a later self-consistent rank has to stand out to be preferred to an earlier one."""


def online_threshold(lam: ArrayLike, total: float, n_features: int, n_samples: float, edge: float) -> float:
    """`automatic_threshold` where only the leading eigenvalues and their total are known.

    The mean of the rest plays the median's part, ``noise = (total - sum of the p kept) / (n - p)``. Several p
    can be consistent with themselves, in that exactly p eigenvalues exceed the threshold that p implies. The
    smallest is taken, so that nothing is kept without need, unless a larger one ends in a clear gap. Like the
    median, it has to leave at least half of the spectrum to the noise.

    Parameters
    ----------
    lam
        The leading eigenvalues, largest first.
    total
        The sum of all eigenvalues.
    n_features, n_samples
        How many there are, and from how many samples.
    edge
        Largest eigenvalue of white noise of variance 1, from `noise_edge`.

    Examples
    --------
    >>> round(online_threshold([6.0, 5.0, 0.1], total=17.0, n_features=63, n_samples=900, edge=1.5), 3)
    0.393
    """
    known = np.asarray(lam, dtype=np.float64)
    most = min(len(known), max(int(min(n_features, n_samples)) // 2, 0))
    p = np.arange(most + 1)
    kept = np.concatenate(([0.0], np.cumsum(known[:most])))
    noise = np.maximum(total - kept, 0.0) / np.maximum(n_features - p, 1)
    thresholds = above_edge(noise, edge)
    above = np.count_nonzero(known > thresholds[:, None], axis=1)
    largest = float(known[0]) if known.size else 0.0
    rounding = n_features * float(np.finfo(np.float64).eps) * largest
    consistent = np.flatnonzero(above == p)
    if not consistent.size:
        return max(float(thresholds[-1]), rounding)
    best = int(consistent[0])
    for later in consistent[1:]:
        after = known[later] if later < len(known) else edge * noise[later]
        if known[later - 1] > GAP * after:
            best = int(later)
    return max(float(thresholds[best]), rounding)


def noise_edge(n_features: int, n_samples: int, beta2: float = 1.0) -> float:
    """Largest eigenvalue of white noise of variance 1 after ``n_samples``, discounted by ``beta2`` a sample.

    Without forgetting ``(1 + sqrt(n/T))^2``. With a full window, the root ``e > 1`` of
    ``e - 1 - ln e = n (1 - beta^2)``. While the window fills, the first formula with the effective number of
    samples (Kish's, the squared sum of weights over the sum of their squares) as long as that is larger.

    Examples
    --------
    >>> round(noise_edge(64, 6400), 3), round(noise_edge(64, 10**6, 0.99**2), 3)
    (1.21, 3.537)
    """
    T = max(n_samples, 1)
    if beta2 == 1:
        return float((1 + np.sqrt(n_features / T)) ** 2)
    faded = beta2**T
    effective = (1 - faded) * (1 + beta2) / ((1 + faded) * (1 - beta2))
    return max(float((1 + np.sqrt(n_features / effective)) ** 2), _steady_edge(n_features, beta2))


@lru_cache(maxsize=1024)
def _steady_edge(n_features: int, beta2: float) -> float:
    from scipy.special import lambertw

    q = n_features * (1 - beta2)
    argument = -np.exp(-1 - q)
    if argument == 0:  # the window is far shorter than the input is wide: solve e = 1 + q + ln e instead
        e = 1 + q
        for _ in range(50):
            e = 1 + q + np.log(e)
        return float(e)
    return float(-lambertw(argument, -1).real)


def automatic_alpha(kind: type[Regularizer], lam: ArrayLike, total: float, threshold: float) -> float:
    """The alpha whose threshold comes as near to ``threshold`` as this regularizer can."""
    r0, r1, r2 = kind.increment
    output = float(np.maximum(np.asarray(lam, dtype=np.float64) - threshold, 0).sum())
    measure = r0 + r1 * total + r2 * output
    if r2:
        return min(threshold / measure, LARGEST_ALPHA) if measure > 0 else LARGEST_ALPHA
    return threshold / measure if measure > 0 else 0.0


@lru_cache(maxsize=1024)
def marchenko_pastur_median(ratio: float) -> float:
    """Median eigenvalue of white noise of variance 1, for ``ratio = n / T`` between 0 and 1.

    With ``x = 1 + ratio + 2 sqrt(ratio) cos(phi)`` the law's density is smooth in phi on [0, pi].

    Examples
    --------
    >>> round(marchenko_pastur_median(1.0), 3)
    0.653
    """
    phi = np.linspace(0, np.pi, 4097)
    x = 1 + ratio + 2 * np.sqrt(ratio) * np.cos(phi)
    # 1 + cos = 2 cos^2(phi/2): the quotient below is 0/0 at phi = pi when ratio = 1, with limit 2.
    density = np.divide(2 * np.sin(phi) ** 2, x, out=np.full_like(phi, 2.0), where=x > 1e-12)
    steps = (density[1:] + density[:-1]) / 2
    above = np.concatenate(([0.0], np.cumsum(steps)))
    return float(np.interp(above[-1] / 2, above, x))


def _midway(lam: NDArray[np.float64], p: int) -> float:
    if p == 0:
        return float(2 * lam[0])
    return float((lam[p - 1] + (lam[p] if p < lam.size else 0.0)) / 2)


def _float_type(array: ArrayLike) -> Any:
    dtype = np.asarray(array).dtype
    return dtype if dtype.kind == "f" else np.float64
