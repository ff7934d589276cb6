"""The three regularizers of the paper: one rule that three numbers specialise.

All of them shrink the eigenvalues ``lam_1 >= lam_2 >= ...`` of the input second moment softly,
``d_i = max(lam_i - theta, 0)`` for ``i <= k``, and their threshold solves one equation,

    theta = alpha * (r0 + r1 * sum(lam) + r2 * sum(d)),

and a regularizer *is* the vector ``(r0, r1, r2)`` (`Regularizer.increment`): one-hot in the paper's three,
any mix of numbers >= 0 in a class of your own. Online, the same vector says what each sample adds to the
threshold, ``alpha * (r0 + r1 |x|^2 + r2 |y|^2)``.

Chen, Pehlevan and Chklovskii (2016), Section II and Appendix A, doi:10.48550/arXiv.1612.03480.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray


def _checked_increment(owner: str, increment: Any) -> tuple[float, float, float]:
    """Three finite numbers >= 0, not all zero: all that the closed forms and the networks need."""
    try:
        r0, r1, r2 = (float(r) for r in increment)
    except (TypeError, ValueError):
        raise TypeError(f"{owner}.increment must be three numbers (r0, r1, r2), got {increment!r}") from None
    if not all(0 <= r < math.inf for r in (r0, r1, r2)) or not (r0 or r1 or r2):
        raise ValueError(
            f"{owner}.increment must be finite numbers >= 0 that are not all zero, got {increment!r}: "
            "with a negative part the threshold equation has no unique solution, with none no threshold"
        )
    return r0, r1, r2


@dataclass(frozen=True)
class Regularizer:
    """Base class of the three regularizers; use one of them, or a class of your own with another increment.

    Parameters
    ----------
    alpha
        The regularization coefficient, finite and not negative. 0 is plain PCA.
    """

    alpha: float
    name: ClassVar[str]
    increment: ClassVar[tuple[float, float, float]]
    """``(r0, r1, r2)``: parts of a sample, the input's power and the output's power in the threshold."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "increment" in cls.__dict__:
            cls.increment = _checked_increment(cls.__name__, cls.increment)

    def __post_init__(self) -> None:
        if not (isinstance(self.alpha, int | float | np.number) and 0 <= self.alpha < math.inf):
            raise ValueError(f"alpha must be a finite number >= 0, got {self.alpha!r}")

    def threshold(self, eigenvalues: ArrayLike, max_components: int | None = None) -> float:
        """The threshold ``theta`` on this input spectrum.

        Parameters
        ----------
        eigenvalues
            The *whole* input spectrum, largest first.
        max_components
            The capacity k; all of them if None.
        """
        lam, k = _checked(eigenvalues, max_components)
        return self.threshold_from(lam[:k], float(lam.sum()))

    def threshold_from(
        self,
        leading: ArrayLike,
        total: float,
        max_components: int | None = None,
        *,
        n_samples: float = 1.0,
    ) -> float:
        """The threshold ``theta`` where only the leading eigenvalues and the sum of all are known.

        With p modes above it, ``theta_p = alpha (r0 n_samples + r1 total + r2 S_p) / (1 + alpha r2 p)``
        where ``S_p = lam_1 + ... + lam_p``. ``lam_p - theta_p`` changes sign at most once, so the largest p
        with ``lam_p >= theta_p`` is the solution. Modes that are not known are taken to lie below it.

        Parameters
        ----------
        leading
            The largest eigenvalues of the input, largest first; may be empty.
        total
            The sum of all eigenvalues, also of those not known: the trace.
        max_components
            The capacity k, at least 1; as many as there are leading eigenvalues if None or larger.
        n_samples
            1 for eigenvalues per sample (second moments). For eigenvalues that are sums over samples
            (scatter matrices), the number of samples, discounted and weighted as the sums are.

        Examples
        --------
        >>> InputOutput(0.1).threshold_from([6.0, 5.0, 4.0], total=23.0)
        2.3000000000000003
        >>> ScaleDependent(2.0).threshold_from([600.0, 500.0], total=2300.0, n_samples=100)
        200.0
        """
        lam = _checked_leading(leading, max_components)
        if not (0 <= total < math.inf and 0 <= n_samples < math.inf):
            raise ValueError(
                f"total and n_samples must be finite numbers >= 0, got total={total!r} and "
                f"n_samples={n_samples!r}"
            )
        r0, r1, r2 = self.increment
        # theta_p for p = 0, 1, ...: counting the modes above their own finds the largest such p.
        p = np.arange(lam.size + 1)
        S = np.concatenate(([0.0], np.cumsum(lam)))
        theta = self.alpha * (r0 * n_samples + r1 * total + r2 * S) / (1 + self.alpha * r2 * p)
        return float(theta[np.count_nonzero(lam >= theta[1:])])

    def shrink(self, eigenvalues: ArrayLike, max_components: int | None = None) -> NDArray[np.floating]:
        """The optimal output eigenvalues ``max(lam - theta, 0)``, zero beyond the capacity.

        Examples
        --------
        >>> SquaredOutput(2 / 9).shrink([6.0, 5.0, 4.0, 2.0, 0.1]).round(12)
        array([4., 3., 2., 0., 0.])
        """
        lam, k = _checked(eigenvalues, max_components)
        d = np.maximum(lam - self.threshold(lam, k), 0)
        d[k:] = 0
        # float32 in, float32 out; whole numbers become float64.
        given = np.asarray(eigenvalues).dtype
        return d.astype(given) if np.issubdtype(given, np.floating) else d

    @classmethod
    def alpha_range(
        cls, eigenvalues: ArrayLike, n_components: int, max_components: int | None = None
    ) -> tuple[float, float]:
        """Range of alpha that keeps exactly ``n_components`` modes: ``low <= alpha < high``.

        A generalization of the paper's Table 1 to any spectrum. The upper end may be infinite.

        Examples
        --------
        >>> ScaleDependent.alpha_range([6, 5, 4, 2, 0.1], n_components=3)
        (2.0, 4.0)
        """
        lam, k = _checked(eigenvalues, max_components)
        p = n_components
        if not 0 <= p <= k:
            raise ValueError(
                f"n_components={p} cannot be kept: the spectrum and the capacity allow 0 to {k}. "
                "Ask for fewer, or raise max_components."
            )
        if p == 0 and cls.never_silent():
            raise ValueError(
                f"{cls.name!r} has no alpha that keeps 0 components: its threshold is a share of the output, "
                "so the largest mode always passes. Use 'input-output' or 'scale-dependent' instead."
            )
        # The threshold may lie between these two: alpha at its ends is the answer.
        above = lam[p - 1] if p else math.inf
        below = lam[p] if p < k else 0.0
        if not below < above:
            raise ValueError(
                f"no alpha keeps exactly {p} components: eigenvalue {p} ({above:g}) does not exceed what "
                f"comes after it ({below:g}), so both pass or neither does. Ask for another number."
            )
        return cls._alpha_at(lam, below, k), cls._alpha_at(lam, above, k)

    @classmethod
    def never_silent(cls) -> bool:
        """True if the largest mode passes at any alpha: the threshold is a share of the output alone.

        Examples
        --------
        >>> [kind.name for kind in REGULARIZERS.values() if kind.never_silent()]
        ['squared-output']
        """
        r0, r1, _ = cls.increment
        return r0 == r1 == 0

    @classmethod
    def for_threshold(
        cls, eigenvalues: ArrayLike, threshold: float, max_components: int | None = None
    ) -> Self:
        """The regularizer whose threshold on this spectrum is ``threshold``.

        Examples
        --------
        >>> SquaredOutput.for_threshold([6, 5, 4, 2, 0.1], 2.0)
        SquaredOutput(alpha=0.2222222222222222)
        """
        lam, k = _checked(eigenvalues, max_components)
        if not 0 <= threshold < math.inf:
            raise ValueError(f"threshold must be a finite number >= 0, got {threshold!r}")
        alpha = cls._alpha_at(lam, threshold, k)
        if alpha == math.inf:
            raise ValueError(
                f"{cls.name!r} cannot put its threshold at {threshold:g}: it is a share of the spectrum, "
                f"whose largest eigenvalue is {lam[0]:g}. Ask for a threshold below that."
            )
        return cls(alpha)

    @classmethod
    def _alpha_at(cls, lam: NDArray[np.float64], theta: float, k: int) -> float:
        """Solve the threshold equation for alpha; infinite where nothing is left to measure theta with."""
        r0, r1, r2 = cls.increment
        measure = r0 + r1 * lam.sum() + r2 * np.maximum(lam[:k] - theta, 0).sum()
        if measure > 0:
            return float(theta / measure)
        return math.inf if theta > 0 else 0.0


class ScaleDependent(Regularizer):
    """R_TY: a fixed threshold, ``theta = alpha``, in the units of the input variance."""

    name = "scale-dependent"
    increment = (1.0, 0.0, 0.0)


class InputOutput(Regularizer):
    """R_XY: the threshold is a share of the input, ``theta = alpha * sum(lam)``; the units cancel."""

    name = "input-output"
    increment = (0.0, 1.0, 0.0)


class SquaredOutput(Regularizer):
    """R_YY: a share of the output, ``theta = alpha * sum(d)``; any alpha keeps at least one component."""

    name = "squared-output"
    increment = (0.0, 0.0, 1.0)


REGULARIZERS: dict[str, type[Regularizer]] = {
    kind.name: kind for kind in (ScaleDependent, InputOutput, SquaredOutput)
}


def kind_of(regularizer: str | Regularizer | type[Regularizer]) -> type[Regularizer]:
    """The class meant by a name, an instance or the class itself.

    Examples
    --------
    >>> kind_of("input-output").__name__
    'InputOutput'
    """
    if isinstance(regularizer, Regularizer):
        return type(regularizer)
    if isinstance(regularizer, type) and issubclass(regularizer, Regularizer):
        return regularizer
    if isinstance(regularizer, str) and regularizer in REGULARIZERS:
        return REGULARIZERS[regularizer]
    raise ValueError(
        f"regularizer must be one of {sorted(REGULARIZERS)} or a regularizer object, got {regularizer!r}"
    )


def _checked(eigenvalues: ArrayLike, max_components: int | None) -> tuple[NDArray[np.float64], int]:
    """The spectrum as float64 and the capacity, after the checks every question shares."""
    given = np.asarray(eigenvalues)
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "fiu":
        raise ValueError(
            f"eigenvalues must be a non-empty vector of real numbers, "
            f"got shape {given.shape} and dtype {given.dtype}"
        )
    lam = _checked_values(given)
    if max_components is not None and not 1 <= max_components <= lam.size:
        raise ValueError(f"max_components must be between 1 and {lam.size}, got {max_components}")
    return lam, lam.size if max_components is None else int(max_components)


def _checked_leading(leading: ArrayLike, max_components: int | None) -> NDArray[np.float64]:
    """The known part of a spectrum, up to the capacity."""
    given = np.asarray(leading)
    if given.ndim != 1 or given.dtype.kind not in "fiu":
        raise ValueError(
            f"leading must be a vector of real numbers, got shape {given.shape} and dtype {given.dtype}"
        )
    if max_components is not None and max_components < 1:
        raise ValueError(f"max_components must be at least 1, got {max_components}")
    return _checked_values(given)[:max_components]


def _checked_values(given: NDArray[Any]) -> NDArray[np.float64]:
    """Eigenvalues of a second moment as float64: finite, sorted and, but for rounding, not negative."""
    lam = given.astype(np.float64)
    if not np.isfinite(lam).all():
        raise ValueError("eigenvalues must be finite; found NaN or infinity")
    if np.any(np.diff(lam) > 0):
        raise ValueError("eigenvalues must be sorted, largest first: pass np.sort(eigenvalues)[::-1]")
    # Rounding in an eigensolver leaves -1e-17 where 0 is meant, in float32 more; larger is a mistake.
    if lam.size and lam[-1] < -1e-6 * max(lam[0], 0):
        raise ValueError(f"eigenvalues of a second moment cannot be negative, got {lam[-1]:g}")
    return np.maximum(lam, 0)
