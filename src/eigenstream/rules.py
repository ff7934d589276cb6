"""Rules that say how many components there are, as values for ``alpha``.

A rule looks at the spectrum from the largest eigenvalue down. It draws a line for each eigenvalue and keeps
components as long as they stand above their lines. Offline and online models hand it the same `Evidence`. It
uses the leading eigenvalues, their sum and the variances of the inputs: all that a stream can afford.

- `NoiseEdge`: what stands out of the noise, even if the noise is uneven? The default: for factors, regimes
  and changes.
- `ParallelAnalysis`: what exceeds independent inputs with the same variances? To model all correlation
  between inputs, as the monitoring of plants does.
- `VarianceShare`: what makes up this share of the variance? To compress.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .engine.arrays import host
from .engine.knowledge import Knowledge

Vector = NDArray[np.float64]
TINY = float(np.finfo(np.float64).tiny)


class Evidence(NamedTuple):
    """What a decision about threshold and rank rests on. Variances are per (effective) sample.

    Evidence about m streams with as many inputs that vary and as many samples has variances (m, r), totals
    (m) and variances of inputs (m, n).
    """

    variances: Vector
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
    """The discount per sample; of samples at uneven times, that of an even pace which remembers as much."""
    input_variances: Vector | None = None
    """Variance of each input."""
    accumulated: tuple[float, float] | None = None
    """A network's own ``(tau, theta0)``, per sample: its threshold is ``alpha tau + theta0``."""
    floor: float = 0.0
    """An automatic threshold does not go below this level."""
    rounding: float = float(np.finfo(np.float64).eps)
    """Relative rounding error of the data."""
    tells_below_threshold: bool = True
    """Whether eigenvalues that are not kept are the input's own; a network has only lower bounds of them."""
    remembered: float | None = None
    """How many samples at that pace count as much as all there were: few after a long pause. None: all."""

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
            host(known.inputs) / count if known.inputs is not None else None,
            own,  # type: ignore[arg-type]
            **more,
        )

    @property
    def effective(self) -> float:
        """The effective number of samples."""
        return effective_samples(self.span, self.beta2)

    @property
    def span(self) -> float:
        """How many samples at the pace of ``beta2`` the evidence amounts to."""
        return self.n_samples if self.remembered is None else self.remembered

    @property
    def ground(self) -> float:
        """Variances up to this level are rounding errors, or what a network's start has put there."""
        largest = float(self.variances[0]) if self.variances.size else 0.0
        return max(self.n_inputs * self.rounding * largest, self.floor)

    @property
    def grounds(self) -> Vector:
        """The same for each stream, as a column."""
        return np.maximum(self.n_inputs * self.rounding * self.variances[..., :1], self.floor)


class Judgement(NamedTuple):
    """What a rule says of each known eigenvalue, largest first."""

    ratios: Vector
    """By what factor it stands above its line. Components are kept up to the first one that does not."""
    lines: Vector
    """Where the threshold stands if this is the first one that is dropped; one more for dropping none."""

    def rank(self, slack: float = 1.0) -> int:
        """How many stand above their lines by more than this factor before one does not."""
        below = self.ratios <= slack
        return int(below.argmax()) if below.any() else len(below)

    def ranks(self, slack: float = 1.0) -> NDArray[np.int64]:
        """The same for each of many streams."""
        below = self.ratios <= slack
        return np.asarray(np.where(below.any(axis=-1), below.argmax(axis=-1), below.shape[-1]))


@dataclass(frozen=True)
class Rule:
    """What all rules share; use one of them."""

    name: ClassVar[str]

    def judge(self, evidence: Evidence) -> Judgement:
        """How far each known eigenvalue stands above its line."""
        raise NotImplementedError

    def judge_together(self, evidence: Evidence) -> Judgement:
        """The same for evidence about many streams."""
        inputs = evidence.input_variances
        assert inputs is not None
        found = [
            self.judge(evidence._replace(variances=lam, total=float(total), input_variances=v))
            for lam, total, v in zip(evidence.variances, np.asarray(evidence.total), inputs, strict=True)
        ]
        return Judgement(np.array([one.ratios for one in found]), np.array([one.lines for one in found]))

    def __str__(self) -> str:
        """As the command line and a model file spell it; `rule_of` reads it."""
        return ":".join([self.name, *(repr(float(getattr(self, field.name))) for field in fields(self))])


NEIGHBOURS = 8
"""How many eigenvalues further down a component is compared with the spectrum; fewer if it is narrow."""

STANDING_OUT = 2.0
"""How far above the edge that follows from there."""

UNEVEN, VERY_UNEVEN = 1.2, 9.3
"""By how many times its mean noise may exceed the edge of white noise: where a component stands out from
its neighbours, and where it does not. Noise spread evenly from 0 to twice its mean exceeds it by 0.8 to 1."""

GAP = 2.5
"""A drop between two neighbours by this factor separates components from noise, wherever it is."""


@dataclass(frozen=True)
class NoiseEdge(Rule):
    """Keep what stands out of the noise, whose variances may be uneven. The default, ``alpha="auto"``.

    A component has to pass two lines. Both follow from the p components before it, itself left out.

    1. Above noise: ``noise (edge + 1.2)``, where noise is the mean of the eigenvalues behind it and ``edge``
       the largest eigenvalue of white noise of variance 1 in as many inputs and samples (`noise_edge`).
    2. Above its neighbours: twice the edge that follows from the eigenvalue eight places further down (an
       eighth of the spectrum if that is less) by the shape of the Marchenko-Pastur law. To this line a smooth
       spectrum, such as that of photographs, is noise of some colour, but only up to ``noise (edge + 9.3)``.

    Where more components than that are equally large, the gap behind the last of them decides. At most half
    of the directions are kept, and one for four samples: a spectrum that falls by a factor from each
    eigenvalue to the next has no floor of noise, and ends there. A single input that varies is one component:
    there is nothing else that could be noise. A network does not know the eigenvalues that it does not keep:
    it has the first line only, at ``noise (2 edge + 1)``, and the noise includes the eigenvalue itself.

    Examples
    --------
    >>> lam = np.r_[6.0, 5.0, np.linspace(0.15, 0.05, 61)]
    >>> judgement = NoiseEdge().judge(Evidence(lam, lam.sum(), capacity=8, n_inputs=63, n_samples=900))
    >>> judgement.rank()
    2
    """

    name: ClassVar[str] = "edge"

    def judge(self, evidence: Evidence) -> Judgement:
        lam, n, samples = evidence.variances, evidence.n_inputs, evidence.effective
        r = lam.shape[-1]
        if not r:
            return Judgement(lam, np.zeros((*lam.shape[:-1], 1)))
        above_noise, above_neighbours, above_rest = self._lines(evidence)
        ground = np.maximum(evidence.grounds, TINY)
        lines = np.maximum(np.maximum(above_noise, above_neighbours), ground)
        ratios = lam / lines
        most = min(r, int(min(n // 2, samples // 4)) if n > 1 else 1)
        if r > 1 and most:
            last = slice(min(most, r - 1))
            after = np.maximum(np.maximum(GAP * lam[..., 1:], above_rest[..., :-1]), ground)[..., last]
            gaps = np.maximum.accumulate((lam[..., last] / after)[..., ::-1], axis=-1)[..., ::-1]
            ratios[..., last] = np.maximum(ratios[..., last], gaps)
        ratios[..., most:] = 0.0
        return Judgement(ratios, np.concatenate((lines, np.maximum(above_rest[..., -1:], ground)), axis=-1))

    judge_together = judge  # it takes a stack as it is

    def _lines(self, evidence: Evidence) -> tuple[Vector, Vector, Vector]:
        """Where each eigenvalue stands above the noise, above its neighbours, and above all behind it."""
        lam, n = evidence.variances, evidence.n_inputs
        neighbours = min(max(n // 8, 3), NEIGHBOURS)
        edge, spread, shape = _edge(n, evidence.span, evidence.beta2, (neighbours + 0.5) / n)
        r = lam.shape[-1]
        behind = np.asarray(evidence.total)[..., None] - np.cumsum(lam, axis=-1)
        place, above_neighbours = np.arange(1, r + 1), np.zeros(lam.shape)
        # Fewer samples than inputs have fewer eigenvalues, each of which holds more of the noise.
        share = n / min(n, max(evidence.effective, 2.0))
        noise = np.maximum(behind, 0.0) / np.maximum(n - share * place, share)
        if not evidence.tells_below_threshold:
            with_itself = np.maximum(behind + lam, 0.0) / np.maximum(n - place + 1, 1)
            return (2 * edge + 1) * with_itself, above_neighbours, (2 * edge + 1) * noise
        above_neighbours[..., : max(r - neighbours, 0)] = STANDING_OUT * shape * lam[..., neighbours:]
        np.minimum(above_neighbours, (edge + spread + VERY_UNEVEN) * noise, out=above_neighbours)
        above_noise = (edge + spread + UNEVEN) * noise
        return above_noise, above_neighbours, above_noise


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
        edge, spread, _ = _edge(n, evidence.span, evidence.beta2, 0.5)
        line = max(independence_edge(v, _samples_of(n, edge)) * (1 + spread / edge), evidence.ground)
        return Judgement(lam / max(line, TINY), np.full(len(lam) + 1, line))


@dataclass(frozen=True)
class VarianceShare(Rule):
    """Keep as few components as make up this share of the variance, as ``PCA(n_components=0.95)`` does.

    Noise counts as variance too: white noise in 100 inputs takes 95 components. Choose it to compress.

    Parameters
    ----------
    share
        Above 0 and below 1.

    Examples
    --------
    >>> lam = np.array([6.0, 3.0, 0.8, 0.2])
    >>> VarianceShare(0.9).judge(Evidence(lam, 10.0, capacity=4, n_inputs=4, n_samples=100)).rank()
    2
    """

    share: float = 0.95
    name: ClassVar[str] = "share"

    def __post_init__(self) -> None:
        number = isinstance(self.share, int | float | np.number) and not isinstance(self.share, bool)
        if not number or not 0 < self.share < 1:
            raise ValueError(f"share must be a number between 0 and 1, such as 0.95, got {self.share!r}")

    def judge(self, evidence: Evidence) -> Judgement:
        lam = evidence.variances
        kept_before = np.concatenate(([0.0], np.cumsum(lam)[:-1]))[: len(lam)]
        missing = 1 - kept_before / max(evidence.total, TINY)
        # A share is a sum, which fluctuates less than one eigenvalue does: hence the power.
        ratios = np.where(lam > evidence.ground, (missing / (1 - self.share) * (1 - 1e-12)) ** 4, 0.0)
        return Judgement(ratios, np.append(np.maximum(lam, evidence.ground), evidence.ground))


DEFAULT = NoiseEdge()
RULES: dict[str, type[Rule]] = {rule.name: rule for rule in (NoiseEdge, ParallelAnalysis, VarianceShare)}
"""All rules by name."""


def rule_of(text: str) -> Rule:
    """The rule that a text names: ``edge``, ``parallel`` or ``share:0.95``; ``auto`` is ``edge``.

    Examples
    --------
    >>> rule_of("share:0.9")
    VarianceShare(share=0.9)
    """
    name, *numbers = text.split(":")
    try:
        return RULES["edge" if name == "auto" else name](*map(float, numbers))
    except (KeyError, TypeError, ValueError) as error:
        why = f" ({error})" if isinstance(error, ValueError) else ""
        raise ValueError(f"{text!r} is no rule{why}: expected edge, parallel or share:0.95") from None


def other_ranks(evidence: Evidence) -> dict[str, int]:
    """How many components each rule would find by itself, without a memory, by its text.

    Examples
    --------
    >>> lam = np.r_[6.0, 5.0, np.linspace(0.15, 0.05, 61)]
    >>> other_ranks(Evidence(lam, lam.sum(), capacity=8, n_inputs=63, n_samples=900))
    {'edge': 2, 'parallel': 2, 'share:0.95': 49}
    """
    return {
        str(rule): rule.judge(evidence).rank() for rule in (NoiseEdge(), ParallelAnalysis(), VarianceShare())
    }


def independence_edge(variances: Vector, n_samples: float) -> float:
    """Largest eigenvalue of the second moment of independent inputs with these variances, for many of both.

    The right edge of the generalized Marchenko-Pastur law (Silverstein and Choi 1995): with w the variances
    over the largest of them, ``edge = max s (1 + sum(w / (s - w)) / T)``, where s > 1 solves
    ``sum (w / (s - w))^2 = T``.

    Parameters
    ----------
    variances
        Variance of each input; zeros do not count.
    n_samples
        The number of samples T.

    Examples
    --------
    >>> round(independence_edge(np.ones(64), 6400), 6)
    1.21
    """
    largest = float(np.max(variances, initial=0.0))
    if largest == 0:
        return 0.0
    w = variances / largest
    # Newton's method on 1 / |w / (s - w)|, which is concave and nearly linear: it does not overshoot.
    target = 1 / math.sqrt(n_samples)
    s = 1 + target
    for _ in range(30):
        q = w / (s - w)
        squares = float(q @ q)
        value = 1 / math.sqrt(squares)
        step = (target - value) / (value**3 * float((q * q) @ (1 / (s - w))))
        s += step
        if abs(step) <= 1e-10 * s:
            break
    return largest * s * (1 + float(np.sum(w / (s - w))) / n_samples)


def noise_edge(n_features: int, n_samples: float, beta2: float = 1.0) -> float:
    """Largest eigenvalue of white noise of variance 1 after ``n_samples``, discounted by ``beta2`` a sample.

    Without forgetting ``(1 + sqrt(n/T))^2`` (Marchenko and Pastur 1967). With a full window, the root
    ``e > 1`` of ``e - 1 - ln e = n (1 - beta^2)``. While the window fills, the first formula with the
    effective number of samples as long as that is larger.

    Examples
    --------
    >>> round(noise_edge(64, 6400), 3), round(noise_edge(64, 10**6, 0.99**2), 3)
    (1.21, 3.537)
    """
    filling = float((1 + np.sqrt(n_features / effective_samples(n_samples, beta2))) ** 2)
    return filling if beta2 == 1 else max(filling, _steady_edge(n_features, beta2))


def effective_samples(n_samples: float, beta2: float = 1.0) -> float:
    """Kish's effective number of samples: the squared sum of their weights over the sum of the squares."""
    T = max(n_samples, 1.0)
    if beta2 == 1:
        return float(T)
    faded = beta2**T
    return float((1 - faded) * (1 + beta2) / ((1 + faded) * (1 - beta2)))


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


def _samples_of(n: int, edge: float) -> float:
    """The number of samples without forgetting that has this edge."""
    return n / max((math.sqrt(edge) - 1) ** 2, TINY)


@lru_cache(maxsize=1024)
def _edge(n: int, n_samples: float, beta2: float, share: float) -> tuple[float, float, float]:
    """Edge of white noise, how far the largest eigenvalue strays beyond it, and the shape of the law below.

    The second is two standard deviations of Tracy and Widom's law (Johnstone 2001), and room for what that
    law does not know of very few samples. The third is the edge over the eigenvalue that has ``share`` of all
    above it, by the square root with which the density of Marchenko and Pastur's law vanishes at its edge.
    """
    edge = noise_edge(n, n_samples, beta2)
    T = max(_samples_of(n, edge), 1.0)
    scale = (math.sqrt(T) + math.sqrt(n)) / T * (1 / math.sqrt(T) + 1 / math.sqrt(n)) ** (1 / 3)
    fall = (1.5 * math.pi * edge * share * (n / T) ** 0.75) ** (2 / 3)
    return edge, 2 * scale + 512 / T**2, edge / max(edge - fall, 0.2 * edge)
