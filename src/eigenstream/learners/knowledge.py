"""Knowledge of an input, in the one form that learners, merging and calibration share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from ..array_types import Floats as Floats
from ..array_types import Matrix as Matrix
from ..array_types import Vector as Vector
from .arrays import host
from .lags import LagSums as LagSums
from .scale import gain_of, scale_of

# Inputs.
WIDEST = 1024
"""Most inputs that a profile shows, of wider input half of them those with the largest variances. It bounds
the cost of a decision, which is that of a product of a profile."""


class Profile(NamedTuple):
    """Share of the leading directions in each input: sums of squares over samples.

    Of wide input it shows a sample: the inputs with the largest variances, and others at equal distances.
    Profiles of m streams are stacked: inputs (m, w) and held (m, p, w).
    """

    inputs: Vector
    """Sum of squares of each centered input that is shown (w)."""
    held: Matrix
    """Part of it in each of the leading directions, ``lam_j u_ij^2`` (p, w)."""
    weights: Vector
    """Number of inputs that each of them stands for (w)."""

    @classmethod
    def of(cls, inputs: Floats, factor: Floats, widest: int = WIDEST) -> Profile:
        """The profile of inputs with these sums of squares, and of directions ``sqrt(lam_j) u_j`` as rows."""
        sums: Vector = host(inputs).astype(np.float64, copy=False)
        n = len(sums)
        if n <= widest:
            return cls(sums, np.square(host(factor), dtype=np.float64), np.ones(n))
        half = widest // 2
        largest = np.sort(np.argpartition(sums, n - half)[n - half :])
        others = np.delete(np.arange(n), largest)
        others = others[np.linspace(0, len(others) - 1, widest - half).astype(np.int64)]
        shown = np.concatenate((largest, others))
        weights = np.repeat([1.0, (n - half) / len(others)], [half, len(others)])
        return cls(sums[shown], np.square(host(factor[:, shown]), dtype=np.float64), weights)


class Knowledge(NamedTuple):
    """The leading spectrum of a (discounted, centered) scatter matrix and its totals: sums over samples."""

    lam: Vector
    """Eigenvalues, largest first but for near ties; what rounding cannot tell from zero is left out (r)."""
    U: Matrix
    """Their axes as rows (r, n)."""
    effective: float
    """The number of samples, discounted and weighted."""
    trace: float
    """The sum of all eigenvalues, also of those that are not known."""
    mean: Vector
    """Mean of the input (n)."""
    inputs: Vector | None = None
    """Sum of squares of each centered input, the diagonal of the scatter matrix (n); None if not kept."""
    accumulated: tuple[float, float] | None = None
    """``(tau, theta0)`` of a network, whose threshold is ``alpha tau + theta0``; None: the closed form's."""
    scale: Vector | None = None
    """Divisor of each input (n): everything else but the mean is in these units. None: raw units."""
    profile: Profile | None = None
    """Share of the leading directions in each input; None if inputs are not kept."""
    tells_below_threshold: bool = True
    """True if eigenvalues below the threshold are the input's own; False: lower bounds, as of a network."""
    n_inputs: int | None = None
    """Number of inputs that vary, at least 1; None if the learner leaves it to others to count them."""
    lags: LagSums | None = None
    """Likeness of rows to their predecessors; None if that is not known."""

    def on_host(self) -> Knowledge:
        """The same with NumPy's arrays."""
        inputs = None if self.inputs is None else host(self.inputs)
        scale = None if self.scale is None else host(self.scale)
        return self._replace(U=host(self.U), mean=host(self.mean), inputs=inputs, scale=scale)

    def discounted(self, factor: float) -> Knowledge:
        """The same after more time, during which no sample came."""
        return self._replace(
            lam=factor * self.lam,
            effective=factor * self.effective,
            trace=factor * self.trace,
            inputs=None if self.inputs is None else factor * self.inputs,
            lags=None if self.lags is None else self.lags.discounted(factor),
        )

    def factor(self) -> Matrix:
        """F (r, n), with ``F'F`` the known part of the scatter matrix in raw units."""
        factor = np.sqrt(self.lam)[:, None] * self.U
        return factor if self.scale is None else factor * self.scale

    def raw_sums(self) -> Vector:
        """`input_sums` in raw units."""
        sums = self.input_sums()
        return sums if self.scale is None else sums * np.square(self.scale)

    def input_sums(self) -> Vector:
        """`inputs`, or the best guess: known directions exactly, the rest spread evenly over the others."""
        if self.inputs is not None:
            return self.inputs
        n, r = len(self.mean), len(self.lam)
        share = np.square(self.U)
        rest = max(self.trace - float(self.lam.sum()), 0.0) / max(n - r, 1)
        return np.asarray(self.lam @ share + rest * np.maximum(1 - share.sum(axis=0), 0.0))


def nothing_known(n: int) -> Knowledge:
    """Knowledge of an input of width n before the first sample."""
    return Knowledge(np.zeros(0), np.zeros((0, n)), 0.0, 0.0, np.zeros(n), np.zeros(n))


def joint(parts: Sequence[Knowledge], directions: int, rounding: float) -> Knowledge:
    """Join what several models know of different rows of one source.

    Scatter matrices add, and so does what lies between the means:
    ``C = sum_i (C_i + w_i (m_i - m)(m_i - m)')``. Each C_i enters as the rows ``diag(sqrt(lam)) U``. Where
    inputs are standardized, all this is added up in raw units and then divided by the scale of the whole.

    Parameters
    ----------
    parts
        What each of them knows.
    directions
        How many directions to keep.
    rounding
        Directions whose singular value is below this share of the largest are left out.
    """
    counts, means = np.array([part.effective for part in parts]), np.array([part.mean for part in parts])
    total = float(counts.sum())
    mean = counts @ means / max(total, np.finfo(np.float64).tiny)
    between = np.sqrt(counts)[:, None] * (means - mean)
    rows = np.vstack([between, *(part.factor() for part in parts)])
    inputs = sum(part.input_sums() for part in parts) + np.sum(between**2, axis=0)
    trace = sum(part.trace for part in parts) + float(np.sum(between**2))
    gain, scale = None, None
    if parts[0].scale is not None:
        raw = sum(part.raw_sums() for part in parts) + np.sum(between**2, axis=0)
        gain = gain_of(raw, max(total, np.finfo(np.float64).tiny), np.abs(mean))
        rows, inputs, scale = rows * gain, raw * np.square(gain), scale_of(gain)
        trace = float(inputs.sum())
    lam, U = _principal_axes(rows, rounding)
    if gain is not None:
        U[:, gain == 0] = 0.0  # exactly: rounding errors would count as an input
    lam, U = lam[:directions], U[:directions]
    return Knowledge(
        lam,
        U,
        total,
        trace,
        mean,
        inputs,
        None,
        scale,
        lags=_joined_lags(parts, U),
    )


def _principal_axes(rows: Matrix, rounding: float) -> tuple[Vector, Matrix]:
    """Eigenpairs of the scatter matrix of rows, largest first, but those that rounding cannot tell from zero.

    More rows than inputs are factors of scatter matrices, which are no more exact than their sum is. Fewer
    rows are decomposed themselves, because that keeps the small ones exact.
    """
    if len(rows) > rows.shape[1]:
        lam, V = np.linalg.eigh(rows.T @ rows)
        known = lam[::-1] > rows.shape[1] * np.finfo(np.float64).eps * lam[-1]
        return lam[::-1][known], V.T[::-1][known]
    _, s, U = np.linalg.svd(rows, full_matrices=False)
    known = s > s[0] * rounding
    return s[known] ** 2, U[known]


def _joined_lags(parts: Sequence[Knowledge], U: Matrix) -> LagSums | None:
    """Likeness to predecessors in all parts, whose axes are taken for the same ones in the same order.

    Moves are brought to the joint axes U, by the axes that each part has now.
    """
    known = [part.lags.turned(part.U, U) for part in parts if part.lags is not None]
    return reduce(LagSums.joined, known) if len(known) == len(parts) else None
