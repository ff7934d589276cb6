"""Rules that answer other questions than the default: all correlation, a share of the variance, a number."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .edges import edges_of_noise, independence_edges
from .evidence import Evidence
from .rule import TINY, Judgement, Rule


@dataclass(frozen=True)
class ParallelAnalysis(Rule):
    """Keep what exceeds the largest eigenvalue of independent inputs with the same variances.

    This is parallel analysis (Horn 1965, doi:10.1007/BF02289447) without shuffles: the largest eigenvalue of
    independent inputs tends to the edge of the generalized Marchenko-Pastur law, which follows from the
    variances in closed form (`independence_edge`). It asks for any correlation, not for components that stand
    out, and finds more of them than `NoiseEdge` in standardized measurements. Two things to know: strong
    components raise the variances and can hide weak ones, and heavy-tailed inputs have a higher edge than the
    law says.

    Examples
    --------
    >>> lam = np.r_[3.0, 1.4, np.full(18, 0.8)]
    >>> evidence = Evidence(lam, 20.0, 10, n_inputs=20, n_samples=400, input_variances=np.full(20, 0.94))
    >>> ParallelAnalysis().judge(evidence).rank()
    1
    """

    name: ClassVar[str] = "parallel"

    def judge(self, evidence: Evidence) -> Judgement:
        n, lam = evidence.n_inputs, evidence.variances
        v = evidence.input_variances
        if v is None:
            v = np.full(n, evidence.total / n)
        samples = evidence.independent(len(lam) + 1)
        edge, spread, _ = edges_of_noise(n, samples, 0.5)
        counts, places = np.unique(samples, return_inverse=True)  # after many components all are the same
        uneven = independence_edges(np.broadcast_to(v, (len(counts), len(v))), np.ones(len(v)), counts)
        uneven = uneven[places]
        lines = np.maximum(uneven * (1 + spread / edge), max(evidence.ground, TINY))
        return Judgement(lam / lines[:-1], lines)


@dataclass(frozen=True)
class VarianceShare(Rule):
    """Keep as few components as make up more than this share of the variance: ``n_components=0.95``.

    The rank is that of scikit-learn's ``PCA(n_components=0.95)``, at once, without waiting for a change to
    last. Noise counts as variance too: white noise in 100 inputs takes 95 components. Choose it to compress.

    Parameters
    ----------
    share
        Above 0 and below 1.

    Examples
    --------
    >>> lam = np.array([6.0, 3.0, 0.8, 0.2])
    >>> VarianceShare(0.89).judge(Evidence(lam, 10.0, capacity=4, n_inputs=4, n_samples=100)).rank()
    2
    """

    share: float = 0.95
    name: ClassVar[str] = "share"
    patient: ClassVar[bool] = False

    def __post_init__(self) -> None:
        number = isinstance(self.share, int | float | np.number) and not isinstance(self.share, bool)
        if not number or not 0 < self.share < 1:
            raise ValueError(f"share must be a number between 0 and 1, such as 0.95, got {self.share!r}")

    def judge(self, evidence: Evidence) -> Judgement:
        lam = evidence.variances
        kept_before = np.concatenate(([0.0], np.cumsum(lam)[:-1]))[: len(lam)]
        # At equality one more is kept, as scikit-learn does.
        wanted = kept_before <= self.share * max(evidence.total, TINY)
        return _first_ones(evidence, wanted)

    def __str__(self) -> str:
        # By decimal digits, so that reading the text gives the same number.
        return f"{Decimal(repr(float(self.share))).scaleb(2).normalize():f}%"


@dataclass(frozen=True)
class FixedRank(Rule):
    """Keep exactly this number of components: ``n_components=5``.

    There are fewer only while the data have fewer directions: before as many rows have come, or where inputs
    depend on each other exactly. The threshold lies at the largest variance that is dropped.

    Parameters
    ----------
    number
        At least 1.

    Examples
    --------
    >>> lam = np.array([6.0, 3.0, 0.8, 0.2])
    >>> FixedRank(3).judge(Evidence(lam, 10.0, capacity=3, n_inputs=4, n_samples=100)).rank()
    3
    """

    number: int
    name: ClassVar[str] = "number"
    patient: ClassVar[bool] = False

    def __post_init__(self) -> None:
        whole = isinstance(self.number, int | np.integer) and not isinstance(self.number, bool)
        if not whole or self.number < 1:
            raise ValueError(f"number must be a whole number, at least 1, got {self.number!r}")

    def judge(self, evidence: Evidence) -> Judgement:
        return _first_ones(evidence, np.arange(len(evidence.variances)) < self.number)

    def __str__(self) -> str:
        return str(int(self.number))


def _first_ones(evidence: Evidence, wanted: NDArray[np.bool_]) -> Judgement:
    """Keep the wanted eigenvalues as far as they are more than rounding; the threshold is the next one."""
    lam, ground = evidence.variances, evidence.ground
    ratios = np.where(wanted & (lam > ground), np.inf, 0.0)
    return Judgement(ratios, np.append(np.maximum(lam, ground), ground))
