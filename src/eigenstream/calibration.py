"""Choosing alpha: by a number of components, by a threshold, or by the edge of the noise.

White noise of variance v, T samples wide n, spreads its sample eigenvalues up to ``v (1 + sqrt(n/T))^2``
(Marchenko and Pastur 1967). Its variance is read off what the kept components leave. The automatic threshold
stands well above that edge, because real noise is rarely white. `decide` is the one place where threshold and
rank are decided, for offline and online models alike.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .engine.knowledge import Knowledge
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


class Evidence(NamedTuple):
    """What a decision about threshold and rank rests on. Variances are per (effective) sample."""

    variances: NDArray[np.float64]
    """The leading eigenvalues of the input second moment, largest first."""
    total: float
    """The sum of all of them."""
    capacity: int
    """How many components may be kept."""
    n_inputs: int
    """How many inputs vary."""
    n_samples: float
    """How many samples there were, less one if they were centered."""
    beta2: float = 1.0
    """The discount per sample."""
    input_variances: NDArray[np.float64] | None = None
    """Variance of each input."""
    accumulated: tuple[float, float] | None = None
    """A network's own ``(tau, theta0)``, per sample: its threshold is ``alpha tau + theta0``."""
    floor: float = 0.0
    """An automatic threshold does not go below this level."""
    rounding: float = float(np.finfo(np.float64).eps)
    """Relative rounding error of the data."""

    @classmethod
    def of(
        cls, known: Knowledge, capacity: int, n_inputs: int, n_samples: float, beta2: float, **more: Any
    ) -> Self:
        """The evidence in what a learner knows, which must have learnt something."""
        count = known.effective
        own = None if known.accumulated is None else tuple(part / count for part in known.accumulated)
        return cls(
            -np.sort(-known.lam) / count,
            known.trace / count,
            capacity,
            n_inputs,
            n_samples,
            beta2,
            known.input_sums() / count if known.inputs is not None else None,
            own,  # type: ignore[arg-type]
            **more,
        )


class Decision(NamedTuple):
    """Which components are kept."""

    alpha: float
    threshold: float
    """What separates kept from dropped variances, per sample."""
    rank: int


def decide(
    kind: type[Regularizer], alpha: float | None, evidence: Evidence, before: Decision | None = None
) -> Decision:
    """Alpha, threshold and rank: the one decision that offline and online models share.

    Parameters
    ----------
    kind
        The regularizer.
    alpha
        Its coefficient; None finds it from the data, above the edge of the noise.
    evidence
        What is known of the input.
    before
        What was decided at the last look at the same stream; None: nothing yet, or offline.

    Examples
    --------
    >>> from eigenstream import InputOutput
    >>> evidence = Evidence(np.array([6.0, 5.0, 0.1]), 17.0, capacity=3, n_inputs=63, n_samples=900)
    >>> decide(InputOutput, None, evidence).rank
    2
    """
    lam = evidence.variances[: evidence.capacity]
    floor = 0.0
    if alpha is None:
        edge = noise_edge(evidence.n_inputs, evidence.n_samples, evidence.beta2)
        floor = max(online_threshold(evidence, edge), evidence.floor)
        alpha = automatic_alpha(kind, lam, evidence.total, floor)
    if evidence.accumulated is not None:
        tau, theta0 = evidence.accumulated
        threshold = alpha * tau + theta0
    else:
        threshold = kind(alpha).threshold_from(lam, evidence.total)
    # Squared-output always keeps one mode by itself, so the automatic threshold is a floor as well.
    threshold = max(threshold, floor)
    return Decision(alpha, threshold, int(np.count_nonzero(lam > threshold)))


GAP = 2.5
"""How far a later self-consistent rank has to stand out to be preferred to an earlier one."""


def online_threshold(evidence: Evidence, edge: float) -> float:
    """The threshold above the edge of the noise.

    The noise is the mean of what is not kept, ``noise = (total - sum of the p kept) / (n - p)``. Several p
    can be consistent with themselves, in that exactly p eigenvalues exceed the threshold that p implies. The
    smallest is taken, so that nothing is kept without need, unless a larger one ends in a clear gap. At least
    half of the spectrum is left to the noise.

    Parameters
    ----------
    evidence
        What is known of the input.
    edge
        Largest eigenvalue of white noise of variance 1, from `noise_edge`.

    Examples
    --------
    >>> evidence = Evidence(np.array([6.0, 5.0, 0.1]), 17.0, capacity=3, n_inputs=63, n_samples=900)
    >>> round(online_threshold(evidence, edge=1.5), 3)
    0.393
    """
    known, n = evidence.variances, evidence.n_inputs
    most = min(len(known), max(int(min(n, evidence.n_samples)) // 2, 0))
    p = np.arange(most + 1)
    kept = np.concatenate(([0.0], np.cumsum(known[:most])))
    noise = np.maximum(evidence.total - kept, 0.0) / np.maximum(n - p, 1)
    thresholds = above_edge(noise, edge)
    above = np.count_nonzero(known > thresholds[:, None], axis=1)
    largest = float(known[0]) if known.size else 0.0
    rounding = n * evidence.rounding * largest
    consistent = np.flatnonzero(above == p)
    if not consistent.size:
        return max(float(thresholds[-1]), rounding)
    best = int(consistent[0])
    for later in consistent[1:]:
        after = known[later] if later < len(known) else edge * noise[later]
        if known[later - 1] > GAP * after:
            best = int(later)
    return max(float(thresholds[best]), rounding)


def noise_edge(n_features: int, n_samples: float, beta2: float = 1.0) -> float:
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
    """The root ``e > 1`` of ``e - 1 - ln e = q``, by Newton's method from above."""
    q = n_features * (1 - beta2)
    e = 1 + q + math.sqrt(2 * q) + math.log1p(q)
    for _ in range(50):
        step = (e - 1 - math.log(e) - q) / (1 - 1 / e)
        e -= step
        if abs(step) <= 1e-15 * e:
            break
    return e


def automatic_alpha(kind: type[Regularizer], lam: ArrayLike, total: float, threshold: float) -> float:
    """The alpha whose threshold comes as near to ``threshold`` as this regularizer can."""
    r0, r1, r2 = kind.increment
    output = float(np.maximum(np.asarray(lam, dtype=np.float64) - threshold, 0).sum())
    measure = r0 + r1 * total + r2 * output
    if r2:
        return min(threshold / measure, LARGEST_ALPHA) if measure > 0 else LARGEST_ALPHA
    return threshold / measure if measure > 0 else 0.0


def _midway(lam: NDArray[np.float64], p: int) -> float:
    if p == 0:
        return float(2 * lam[0])
    return float((lam[p - 1] + (lam[p] if p < lam.size else 0.0)) / 2)
