"""Section III of the paper as code: three regularizers on two sets of degenerate eigenvalues.

The input spectrum is n1 signal eigenvalues a and n2 noise eigenvalues b < a. The goal: transmit all signal
and no noise. The formulas stand here as printed; `eigenstream.regularizers` answers the same questions for
any spectrum, and the tests tie the two.
"""

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..regularizers import InputOutput, Regularizer, ScaleDependent, SquaredOutput, kind_of

# Signal and noise levels of the appendix: 0.01, 0.02, ..., 1.00.
GRID = 100


def two_level_spectrum(a: float, b: float, n1: int, n2: int) -> NDArray[np.float64]:
    """The spectrum (a, ..., a, b, ..., b), n1 signal and n2 noise eigenvalues.

    Examples
    --------
    >>> two_level_spectrum(1.0, 0.2, 2, 3)
    array([1. , 1. , 0.2, 0.2, 0.2])
    """
    if not (0 <= b <= a < math.inf) or n1 < 1 or n2 < 0:
        raise ValueError(f"expected a >= b >= 0, n1 >= 1 and n2 >= 0, got a={a}, b={b}, n1={n1}, n2={n2}")
    return np.repeat([float(a), float(b)], [n1, n2])


class AlphaRow(NamedTuple):
    """One row of Table 1: ``low <= alpha < high`` keeps the signal alone."""

    regularizer: type[Regularizer]
    low: float
    high: float
    output_top_eigenvalue: Callable[[float], float]
    """The second column: the top output eigenvalue as a function of alpha within the range."""


def alpha_table(a: float, b: float, n1: int, n2: int) -> tuple[AlphaRow, AlphaRow, AlphaRow]:
    """Table 1 for one case: the range of alpha that keeps the n1 signal modes, and the top output eigenvalue.

    The paper prints both ends as closed; at the upper end of the first two the signal is already silent, so
    the interval is half-open here ("transmitted" means a positive output eigenvalue).

    Examples
    --------
    >>> for row in alpha_table(a=1.0, b=0.25, n1=3, n2=4):
    ...     print(row.regularizer.name, row.low, row.high, row.output_top_eigenvalue(row.low))
    scale-dependent 0.25 1.0 0.75
    input-output 0.0625 0.25 0.75
    squared-output 0.1111111111111111 inf 0.75
    """
    two_level_spectrum(a, b, n1, n2)
    if a <= b:
        raise ValueError(f"signal and noise cannot be told apart unless a > b, got a={a}, b={b}")
    total = n1 * a + n2 * b
    return (
        AlphaRow(ScaleDependent, b, a, lambda alpha: a - alpha),
        AlphaRow(InputOutput, b / total, a / total, lambda alpha: a - alpha * total),
        AlphaRow(SquaredOutput, b / ((a - b) * n1), math.inf, lambda alpha: a / (1 + alpha * n1)),
    )


class TransmissionCurve(NamedTuple):
    """Numbers of (a, b) pairs that let noise and signal pass, step by step as alpha grows from 0."""

    alpha: NDArray[np.float64]
    noise_counts: NDArray[np.int64]
    signal_counts: NDArray[np.int64]
    n_pairs: int

    @property
    def noise_fraction(self) -> NDArray[np.float64]:
        return self.noise_counts / self.n_pairs

    @property
    def signal_fraction(self) -> NDArray[np.float64]:
        return self.signal_counts / self.n_pairs

    def nearest_to_ideal(self) -> tuple[float, float]:
        """The curve's point nearest to (0, 1): no noise, all signal."""
        distance = self.noise_counts**2 + (self.n_pairs - self.signal_counts) ** 2
        best = int(np.argmin(distance))
        return float(self.noise_fraction[best]), float(self.signal_fraction[best])


def transmission_curve(
    regularizer: str | Regularizer | type[Regularizer], *, strict: bool = False, n1: int = 10, n2: int = 10
) -> TransmissionCurve:
    """Fig. 1: the share of (a, b) pairs whose noise, and whose signal, is transmitted.

    Each pair lets its signal pass while ``alpha < a / m`` and its noise while ``alpha < b / m``, with ``m``
    the threshold's measure where the mode falls silent: 1, ``n1 a + n2 b``, the output that is
    left, or a mix of them. Counted exactly: levels are integers, critical alphas are fractions.

    Parameters
    ----------
    regularizer
        A name, a class or an instance (whose alpha is not used).
    strict
        True leaves out pairs with a = b. With them (the 5,050 pairs of the paper's appendix) no
        method can tell signal from noise in 100 cases; without, 4,950 pairs remain.
    n1, n2
        Number of signal and noise modes; the shares do not depend on them.

    Examples
    --------
    >>> transmission_curve("scale-dependent").nearest_to_ideal()
    (0.2524752475247525, 0.7475247524752475)
    >>> transmission_curve("input-output", strict=True).nearest_to_ideal()
    (0.0, 1.0)
    """
    # In fractions: many pairs share a critical alpha, and rounding would put some of them on either side.
    kind = kind_of(regularizer)
    pairs = [(a, b) for a in range(1, GRID + 1) for b in range(1, a + (not strict))]
    critical = [_critical_alphas(kind, a, b, n1, n2) for a, b in pairs]
    signal, noise = (Counter(alphas) for alphas in zip(*critical, strict=True))
    # Fractions are compared only where their nearest floats agree: that is ten times as fast.
    steps = sorted({Fraction(0), *signal, *noise} - {math.inf}, key=lambda alpha: (float(alpha), alpha))
    silent_noise, silent_signal = (np.cumsum([found[alpha] for alpha in steps]) for found in (noise, signal))
    return TransmissionCurve(
        np.array([float(alpha) for alpha in steps]),
        len(pairs) - silent_noise,
        len(pairs) - silent_signal,
        len(pairs),
    )


def _critical_alphas(
    kind: type[Regularizer], a: int, b: int, n1: int, n2: int
) -> tuple[Fraction | float, Fraction | float]:
    """Alphas at which signal and noise of levels a and b (in hundredths) fall silent, exactly.

    A mode of some level falls silent where the threshold reaches that level; what is measured then is one
    sample, the whole input, and what the signal is above the level.
    """
    parts = [Fraction(r) for r in kind.increment]
    # In whole numbers, of which one fraction is made in the end: there are thousands of pairs.
    scale = math.lcm(*(part.denominator for part in parts))
    r0, r1, r2 = (int(part * scale) for part in parts)
    measured = [r0 * GRID + r1 * (n1 * a + n2 * b) + r2 * n1 * (a - level) for level in (a, b)]
    signal, noise = (
        Fraction(level * scale, m) if m else math.inf for level, m in zip((a, b), measured, strict=True)
    )
    return signal, noise


class PhaseBoundary(NamedTuple):
    """Range ``low <= alpha < high`` that transmits all signal and no noise, by noise-to-signal ratio."""

    regularizer: type[Regularizer]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def phase_diagram(ratios: ArrayLike, *, n1: int = 10, n2: int = 10) -> tuple[PhaseBoundary, PhaseBoundary]:
    """Fig. 2: ranges of alpha in which the two self-calibrating regularizers reach the goal, by ``r = b/a``.

    The scale-dependent one has no such diagram: its range depends on a itself, not on the ratio.

    Examples
    --------
    >>> input_output, squared_output = phase_diagram([0.5])
    >>> [round(float(bound[0]), 4) for bound in (input_output.high, squared_output.low, squared_output.high)]
    [0.0667, 0.1, inf]
    """
    r = np.asarray(ratios, dtype=np.float64)
    if r.ndim != 1 or not np.all((r >= 0) & (r <= 1)):
        raise ValueError("ratios must be a vector of noise-to-signal ratios b/a between 0 and 1")
    if n1 < 1 or n2 < 1:
        raise ValueError(f"n1 and n2 must be at least 1, got n1={n1}, n2={n2}")
    total = n1 + n2 * r
    never = np.full(r.shape, math.inf)
    separation = (1 - r) * n1
    # At r = 1 nothing tells signal from noise: no alpha does, and the range begins at infinity.
    low = np.divide(r, separation, out=never.copy(), where=separation > 0)
    return PhaseBoundary(InputOutput, r / total, 1 / total), PhaseBoundary(SquaredOutput, low, never)
