"""The exact learner: the whole scatter matrix, for narrow input.

    C (n, n)   sum of s g (x - m)(x - m)'     a block of rows R:   C <- D C + R'R

Online then equals offline to rounding. A sample costs n^2, a look at the spectrum n^3. C is in raw units.
Where inputs are standardized, all that is said of it is said of ``G C G``, with G the inverse of each input's
standard deviation so far on its diagonal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..offline import fixed_signs
from .axes import matched_overlap
from .bounds import SpectrumMoments, largest_beyond, moments_of, turned
from .knowledge import Floats, Knowledge, Matrix, Profile, Vector
from .lags import LagSums, block_sums, projections_on
from .learner import Glance, Seen, Steps, center_block, center_blocks
from .marks import Mark, Marked
from .scale import complete_count, gain_of, scale_of
from .stored import LARGEST_VALUE, stored_array
from .symmetric import (
    WIDE,
    add_products,
    leading_eigenpairs,
    leading_eigenpairs_in_place,
    lower,
    product,
    squared_norm,
    whole,
)
from .threads import one_thread

# A factor. Sums of 10^9 rows in float64 err by less; a damaged file errs by more.
ROUNDING = 1 + 1e-6
"""By this factor, at most, sums may miss an inequality that holds for exact sums."""

# The smallest normal number, 2e-308, times as many rows as anybody has.
VANISHED = 1e-300
"""Sum of squares that may have vanished because each of them is too small for float64."""


# A share. Following half as many axes as there are inputs costs as much as decomposing C.
MOST_GLANCED = 0.4
"""Axes that a glance may follow, over the number of inputs."""

# A share. With half of them, eigenvectors one by one take as long as all together, and longer where they tie.
MOST_LEADING = 0.25
"""Axes that are found without the eigenvectors behind them, over the number of inputs."""

# Axes. Making rows of columns a few at a time spares a second matrix of the size of C.
AT_ONCE = 32
"""Eigenvectors that are made axes at a time."""


# A length. Axes have length 1, but for rounding.
LONGER_THAN_AXES = 2.0
"""Numbers of this size are in no axis: products with it could overflow."""

# Numbers, of 8 bytes. A call of NumPy takes as long as the work on a thousand of them; more than these do not
# stay near the processor, and are memory that a model takes.
TOGETHER = 2**15
"""Numbers in the blocks that are learnt at a time."""


EPSILON = float(np.finfo(np.float64).eps)


class Decomposed(NamedTuple):
    """Eigenpairs of C, largest first; what rounding cannot tell from zero is left out."""

    lam: Vector
    axes: Matrix
    """The first k eigenvectors as rows, each with its largest entry positive."""
    V: Matrix | None = None
    """The others as columns, as they come; None where nobody has needed them."""


class Scatter(Marked):
    """Keeps ``C``, the discounted centered scatter matrix of the input, and its mean.

    Parameters
    ----------
    n
        Width of the input.
    k
        How many axes are kept aligned.
    block
        Rows per block.
    center
        Whether to subtract the mean.
    standardize
        Whether to divide each input by its standard deviation.
    """

    LEARNT = ("C", "origin", "offset", "count", "extra", "axes", "aligned", "lags", "_mean", "_gain")

    def __init__(self, n: int, k: int, block: int, *, center: bool = True, standardize: bool = False) -> None:
        self.n, self.k, self.block, self.center, self.standardize = n, k, block, center, standardize
        self.C: Matrix = np.zeros((n, n))
        """Its lower triangle, see `eigenstream.learners.symmetric`."""
        self._shared = False
        """True if a mark or a copy may hold C: then it is not changed in place."""
        self.origin: Vector = np.zeros(n)
        """The first row: means are kept relative to it, so that what is constant vanishes exactly."""
        self.offset: Vector = np.zeros(n)
        """Mean of the input less the origin."""
        self.count, self.extra = 0.0, 0.0
        self.axes: Matrix = np.zeros((0, n))
        """The aligned axes of the last look."""
        self.aligned = 0
        """Number of them that were kept."""
        self.lags = LagSums.none(n, k)
        """Likeness of rows to their predecessors."""
        self._spectra: list[Decomposed] = []
        """Decomposition of C, once somebody has asked; a list, because readers may be late: see `_moved`."""
        self._mean: Vector = self.offset
        self._gain: Vector | None = np.zeros(n) if standardize else None
        self.room: Matrix = np.zeros((block, n))
        """Memory for the block that is learnt. In between, rows that wait for theirs may stand there."""

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_spectra": []}

    def mark(self) -> Mark:
        self._shared = True
        return super().mark()

    def revert(self, mark: Mark) -> None:
        self._shared = True
        super().revert(mark)
        self._spectra = []

    @property
    def started(self) -> bool:
        return self.count > 0

    def learn(self, rows: Floats, steps: Steps, lacking: Matrix | None = None) -> None:
        if not self.started and self.center:
            self.origin = rows[0].astype(np.float64)
        if self._shared:
            self.C, self._shared = self.C.copy(), False
        if len(rows) > self.block:
            self._learn_several(rows, steps)
            return
        R = self.room[: len(rows)]
        np.subtract(rows, self.origin, out=R, dtype=np.float64)
        block = center_block(R, steps, self.offset, self.count, center=self.center)
        add_products(self.C, R, block.decay)
        self.extra = block.decay * self.extra + block.extra
        self.offset, self.count = self.offset + block.shift, block.effective
        self._moved()
        self.compare_neighbours(R, steps)
        if lacking is not None:
            if self._gain is not None:
                lacking = lacking * scale_of(self._gain)
            add_products(self.C, np.ascontiguousarray(lacking, dtype=np.float64), 1.0)
            self._moved()

    def _learn_several(self, rows: Floats, steps: Steps) -> None:
        """`learn` of several blocks of complete rows."""
        R = np.subtract(rows, self.origin, dtype=np.float64).reshape(-1, self.block, self.n)
        means, counts = center_blocks(R, steps, self.offset, self.count, center=self.center)
        decay, begun = steps.fading.decay, 0
        due = self.lags.until_due(decay)
        for i, (block, mean, count) in enumerate(zip(R, means, counts, strict=True)):
            add_products(self.C, block, decay)
            if self.extra:
                self.extra *= decay
            if i < due:
                continue
            self.lags = self.lags.passed(decay, i - begun)
            if self.standardize:
                self.offset, self.count = mean, count
                self._moved()
            self._compare_neighbours(block, steps)
            begun = i + 1
            due = begun + self.lags.until_due(decay)
        self.lags = self.lags.passed(decay, len(R) - begun)
        self.offset, self.count = means[-1].copy(), counts[-1]
        self._moved()

    @property
    def at_once(self) -> int:
        """Number of blocks that cost less together; one before there are axes, and where they are large."""
        return max(TOGETHER // self.room.size, 1) if len(self.axes) else 1

    def compare_neighbours(self, R: Matrix, steps: Steps) -> None:
        """Add products of rows with their predecessors, as of the axes of the last look."""
        decay = steps.fading.decay
        if self.lags.is_due(decay, whole=len(R) == self.block):
            self._compare_neighbours(R, steps)
        else:
            self.lags = self.lags.passed(decay)

    def _compare_neighbours(self, R: Matrix, steps: Steps) -> None:
        """`compare_neighbours` of a block that is due."""
        if self._gain is not None:
            R = R * self._gain
        axes = self._axes_for_neighbours()
        Y = projections_on(R, axes, self.lags.directions)
        before = self.lags if len(axes) == 0 or self.lags.knows_axes else self.lags.begun_anew()
        self.lags = before.after(
            steps.fading.decay, block_sums(None, Y, R, steps.fading.scales, before.alike, steps.stretches)
        )

    def _axes_for_neighbours(self) -> Matrix:
        """Axes of the last look; before it, those of the first rows if a block is enough to have all."""
        if len(self.axes):
            return self.axes
        return self._decomposed().axes if self.n <= self.block else self.axes

    def known(self, *, axes: bool = True) -> Knowledge:
        lam, first, V = self._decomposed()
        if not axes:
            return self._knowledge(lam, first)
        if V is None:
            V = self._behind(lam, first)
            self._spectra[:1] = [Decomposed(lam, first, V)]
        U = np.empty((len(lam), self.n))
        for start in range(len(first), len(U), AT_ONCE):
            rows = slice(start, min(start + AT_ONCE, len(U)))
            U[rows] = self._rows(V[:, start - len(first) : rows.stop - len(first)])
        known = self.known_leading()
        U[: len(first)] = known.U
        return known._replace(U=U)

    def known_leading(self) -> Knowledge:
        lam = self._decomposed().lam.copy()
        lam[: self.k], U = self._first_pairs()
        return self._knowledge(lam, U)

    def decompose(self) -> None:
        self._decomposed(alone=not self._shared)

    def known_at_once(self) -> Knowledge:
        if not self._finds_leading:
            return self.known()
        with one_thread():
            lam, V = np.linalg.eigh(self._standardized())
        lam, V = self._told_pairs(lam, V)
        U: Matrix = np.ascontiguousarray(V.T)
        U[:, self._constant] = 0.0
        first = slice(self.k)
        order, _ = matched_overlap(U[first] @ self.axes.T, lam[first], self.aligned, np.ones(len(U[first])))
        lam[first], U[first] = lam[order], U[order]
        return self._knowledge(lam, U)

    def align(self, rank: int, alpha: float) -> Vector:
        self.aligned = rank
        lam, axes = self._first_pairs()
        self.lags, self.axes = self.lags.turned(self.axes, axes), axes
        return lam[:rank]

    def adopt(self, axes: Matrix, rank: int) -> None:
        """Take over the first aligned axes, which a glance or a stack of learners has found."""
        axes = np.concatenate((axes, self.axes[len(axes) :]))
        self.lags, self.axes, self.aligned = self.lags.turned(self.axes, axes), axes, rank

    def glance(self, rank: int) -> Glance | None:
        """Bounds by a few products of C with the axes of the last look and the direction beyond them.

        None where axes have turned too far for it, or where decomposing C costs as much. Narrow input is
        decomposed: these bounds are exact.
        """
        if self.n < WIDE:
            return self._exact_glance(rank)
        number = min(rank + 1, len(self.axes))
        if not rank <= number or not 0 < number <= self.n * MOST_GLANCED:
            return None
        U, lam, below = self.axes[:number], np.zeros(number), math.inf
        if rank:
            leading = turned(self._times, U, rank)
            if leading is None:
                return None
            lam, U = leading
        if number > rank:
            below, beyond = largest_beyond(self._times, U)
            U = U if rank else U.copy()
            U[rank], lam[rank] = beyond, below
        return Glance(Knowledge(lam, U, self.count, self._trace(), self._mean), below)

    def spectrum(self) -> Knowledge | None:
        if self.n >= WIDE:
            return None
        if self._spectra:
            lam = self._spectra[0].lam
        else:
            lam = self._told(np.linalg.eigvalsh(self._standardized()).astype(np.float64, copy=False))
        return Knowledge(lam, self.axes[:0], self.count, self._trace(), self._mean)

    def _exact_glance(self, rank: int) -> Glance | None:
        """`glance` by all eigenvalues; None where there are fewer than before."""
        lam, U = self._first_pairs()
        if len(U) < len(self.axes):
            return None
        known = Knowledge(lam, U, self.count, self._trace(), self._mean)
        return Glance(known, float(self._decomposed().lam[rank:].max(initial=0.0)))

    def _trace(self) -> float:
        """Sum of all eigenvalues of (standardized) C."""
        sums = self.C.diagonal() if self._gain is None else self.C.diagonal() * np.square(self._gain)
        return float(sums.sum()) + self.extra

    def moments(self, rank: int) -> SpectrumMoments:
        """Numbers that stay where nothing changes, per sample."""
        C, U = self._standardized(), self.axes[:rank]
        trace = float(C.diagonal().sum()) + self.extra
        return moments_of(trace, squared_norm(C), U, product(C, U.T) if rank else U.T, self.count)

    def _times(self, axes: Matrix) -> Matrix:
        """Product of (standardized) C with axes as rows, or with one: columns."""
        if self._gain is None:
            return product(self.C, axes.T)
        return (product(self.C, (axes * self._gain).T).T * self._gain).T

    def follow(self, origin: Vector, offset: Vector, count: float, lags: LagSums) -> None:
        """Take over sums that a stack of learners has moved, as it has C."""
        self.origin, self.offset, self.count, self.lags = origin, offset, count, lags
        self._moved()

    def seen(self, rank: int) -> Seen:
        return Seen(self._mean, self.axes[:rank], self._gain)

    def place(self, means: Vector) -> None:
        if self.center:
            self.origin = np.where(np.isnan(means), self.origin, means)
            self._moved()

    def variances(self, axes: Floats) -> Vector:
        if self._gain is not None:
            axes = axes * self._gain
        return np.asarray(np.einsum("ij,ji->i", axes, product(self.C, axes.T)) / self.count)

    def restart(self, known: Knowledge, time: int, alpha: float) -> None:
        factor = known.factor()
        self.C = lower(factor.T @ factor)
        self.origin = known.mean.copy() if self.center else np.zeros(self.n)
        self.offset = np.zeros(self.n)
        self.count, self.extra = known.effective, max(known.trace - float(known.lam.sum()), 0.0)
        self.lags = LagSums.taken_over(known.lags, self.n, self.k)
        axes = known.U[: self.k].astype(np.float64)
        if not len(self.axes):  # the next look keeps their signs
            self.axes = axes
        self.lags = self.lags.turned(axes, self.axes)
        self._moved()

    def copy(self) -> Self:
        self._shared = True
        twin = object.__new__(type(self))  # what a new one would be given is taken over, but for its room
        twin.__dict__ |= self.__dict__ | {"room": np.empty_like(self.room)}
        return twin

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.lags.arrays() | {
            "C": whole(self.C),
            "origin": self.origin,
            "offset": self.offset,
            "axes": self.axes,
            "totals": np.array([self.count, self.extra, float(self.aligned)]),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        n, largest = self.n, LARGEST_VALUE[np.float64]
        self.C = stored_array(arrays, "C", (n, n))
        self.origin = stored_array(arrays, "origin", (n,), most=largest)
        self.offset = stored_array(arrays, "offset", (n,), most=largest)
        self.axes = stored_array(arrays, "axes", (None, n), most=LONGER_THAN_AXES)
        self.count, self.extra, aligned = map(float, stored_array(arrays, "totals", (3,), least=0.0))
        if not aligned <= len(self.axes) <= self.k or not _may_be_scatter(self.C):
            raise ValueError("the scatter matrix or its axes do not fit together")
        self.aligned = int(aligned)
        self.C, self.lags = lower(self.C), LagSums.restored(arrays, self.n, self.k)
        self._moved()

    def _moved(self) -> None:
        """Mean and gain follow the sums; the spectrum has to be computed anew.

        The list comes last: a thread that reads meanwhile puts what it finds into the one of before.
        """
        self._mean = self.origin + self.offset
        if self.standardize and self.count > 0:
            count = complete_count(self.count, self.extra, self.n)
            self._gain = gain_of(np.diag(self.C), count, np.abs(self.origin) + np.abs(self.offset))
        self._spectra = []

    def _decomposed(self, *, alone: bool = False) -> Decomposed:
        """Eigenvalues of (standardized) C, and the axes of the first of them at least; once per state.

        If ``alone``, nobody else reads C meanwhile.
        """
        kept = self._spectra
        if not kept:
            C, few = self._standardized(), self._finds_leading
            with one_thread():
                if few:
                    alone = alone or C is not self.C
                    lam, V = (leading_eigenpairs_in_place if alone else leading_eigenpairs)(C, self.k)
                else:
                    lam, V = np.linalg.eigh(C)
            lam, V = self._told_pairs(lam, V)
            axes = self._rows(V[:, : self.k])
            kept.append(Decomposed(lam, axes, None if few else V[:, self.k :]))
        return kept[0]

    def _told(self, lam: Vector) -> Vector:
        """Eigenvalues (smallest first) that rounding can tell from zero, largest first."""
        line = self.n * EPSILON * max(float(lam[-1]), 0.0)
        return lam[::-1][: int(np.count_nonzero(lam > line))]

    def _behind(self, lam: Vector, axes: Matrix) -> Matrix:
        """Eigenvectors behind the first ones as columns.

        The first are moved to the other end of the spectrum: all others are orthogonal to them, ties too.
        """
        C = self._standardized() - (axes.T * (lam[: len(axes)] + lam[:1])) @ axes
        with one_thread():
            V = np.linalg.eigh(C)[1]
        return V[:, ::-1][:, : len(lam) - len(axes)]

    @property
    def _finds_leading(self) -> bool:
        """True if the first axes take less time than all of them."""
        return self.n >= WIDE and self.k <= MOST_LEADING * self.n

    def _told_pairs(self, lam: Vector, V: Matrix) -> tuple[Vector, Matrix]:
        """`_told`, with eigenvectors as columns."""
        lam = self._told(lam)
        return lam, V[:, ::-1][:, : len(lam)]

    def _rows(self, V: Matrix) -> Matrix:
        """Axes as rows, of eigenvectors of C as columns."""
        axes: Matrix = fixed_signs(V.T).astype(np.float64, copy=False)
        axes[:, self._constant] = 0.0  # exactly: by rounding errors, a constant input would begin to vary
        return axes

    @property
    def _constant(self) -> NDArray[np.bool_]:
        """True for inputs that do not vary."""
        return np.asarray(np.diag(self.C) == 0 if self._gain is None else self._gain == 0)

    def _first_pairs(self) -> tuple[Vector, Matrix]:
        """The first k eigenpairs in the order and with the signs of those of the last look."""
        lam, U, _ = self._decomposed()
        lam = lam[: self.k]
        order, signs = matched_overlap(U @ self.axes.T, lam, self.aligned, np.ones(len(lam)))
        return lam[order], U[order] * signs[:, None]

    def _knowledge(self, lam: Vector, U: Matrix) -> Knowledge:
        inputs, trace, scale = np.diag(self.C), float(np.trace(self.C)), None
        share = np.full(self.n, self.extra / self.n)
        if self._gain is not None:
            inputs, scale = inputs * np.square(self._gain), scale_of(self._gain)
            trace, share = float(inputs.sum()), share * (self._gain > 0)
        inputs, trace = inputs + share, trace + self.extra
        profile = Profile.of(inputs, np.sqrt(lam[: self.k, None]) * U[: self.k])
        return Knowledge(lam, U, self.count, trace, self._mean, inputs, None, scale, profile, lags=self.lags)

    def _standardized(self) -> Matrix:
        """C, of standardized inputs where that is asked for."""
        return self.C if self._gain is None else self.C * self._gain * self._gain[:, None]


def _may_be_scatter(C: Matrix) -> bool:
    """True if a matrix is symmetric and no entry exceeds what its diagonal allows (Cauchy and Schwarz)."""
    if not np.array_equal(C, C.T) or not (np.diag(C) >= 0).all():
        return False
    deviations = np.sqrt(np.diag(C) + VANISHED)
    return bool((np.abs(C) <= ROUNDING * np.outer(deviations, deviations)).all())
