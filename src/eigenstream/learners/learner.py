"""The protocol of a learner: the seam between the mathematics of learning and the following of a stream."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, Self, TypeGuard, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .arrays import beside, elsewhere, host
from .bounds import SpectrumMoments
from .knowledge import Floats, Knowledge, LagSums, Matrix, Vector
from .marks import Mark
from .sparse import SparseRows

Kind = TypeVar("Kind")


class Fading(NamedTuple):
    """Counts of the rows of a block at its end."""

    counts: Vector
    """Weight of each row times the discount from it to the end (b)."""
    total: float
    """Their sum."""
    decay: float
    """The discount over the whole block."""
    scales: Vector | None
    """Square roots of the counts; None where all are 1."""
    extra: float
    """Expected squared length that the rows lack, weighted and discounted."""


@dataclass(frozen=True)
class Steps:
    """Weight of each row of a batch, and the time that passes with it."""

    weight: Vector
    """Weight of each row; 0 only lets time pass (T)."""
    discount: Vector
    """Factor of everything before a row when it comes (T)."""
    extra: Vector
    """Expected squared length that a row lacks because entries were filled in (T)."""
    passed: Vector
    """Time since the row before: in rows, or in seconds where rows have time stamps (T)."""

    @classmethod
    def even(cls, rows: int, discount: float) -> Self:
        """Rows of weight 1 at an even pace, with nothing filled in."""
        return cls(np.ones(rows), np.full(rows, discount), np.zeros(rows), np.ones(rows))

    def part(self, rows: Any) -> Steps:
        """The steps of some of the rows, given by a slice or a mask."""
        return Steps(self.weight[rows], self.discount[rows], self.extra[rows], self.passed[rows])

    def followed_by(self, other: Steps) -> Steps:
        """These steps and others after them."""
        names = ("weight", "discount", "extra", "passed")
        return Steps(*(np.concatenate((getattr(self, name), getattr(other, name))) for name in names))

    @cached_property
    def fading(self) -> Fading:
        """Counts of the rows at the end of the block that they make up."""
        return _fading(self.weight.tobytes(), self.discount.tobytes(), self.extra.tobytes())

    @cached_property
    def stretches(self) -> list[slice]:
        """Parts of the block without a pause in them: within one, rows next to each other are neighbours."""
        if (self.discount == self.discount[0]).all():
            return [slice(None)]
        passed = -np.log(np.maximum(self.discount, np.finfo(np.float64).tiny))
        after_pause = 1 + np.flatnonzero(passed[1:] > PAUSE * np.median(passed))
        return [slice(*ends) for ends in pairwise([0, *after_pause.tolist(), len(passed)])]


# Blocks that differ in their steps: most streams have one kind, and a shorter one at each reading.
@lru_cache(maxsize=16)
def _fading(weight: bytes, discount: bytes, extra: bytes) -> Fading:
    """`Steps.fading`, the same from block to block of most streams."""
    weights, discounts = np.frombuffer(weight), np.frombuffer(discount)
    later = np.ones(len(weights))
    np.cumprod(discounts[:0:-1], out=later[-2::-1])
    counts = weights * later
    scales = None if (counts == 1).all() else np.sqrt(counts)
    decay = float(later[0] * discounts[0])
    return Fading(counts, float(counts.sum()), decay, scales, float(counts @ np.frombuffer(extra)))


# A ratio of times, the same in pictures and in what is remembered of times. Guards against steps of a stream
# that comes a little unevenly; a stop for a night or a day is far beyond.
PAUSE = 16
"""Number of usual steps in one from which on it is a pause: rows on both sides are no neighbours."""


class BlockTotals(NamedTuple):
    """Effect of a block of rows on totals; the rows themselves have been changed in place."""

    decay: float
    """Factor of everything before the block."""
    effective: float
    """Effective number of samples, block included."""
    shift: Vector
    """Move of the mean (n)."""
    extra: float
    """Expected squared length that the rows lack, weighted and discounted."""


def center_block(rows: Floats, steps: Steps, mean: Vector, count: Any, *, center: bool) -> BlockTotals:
    """Change rows in place, so that their scatter is what the block adds to the scatter matrix.

    With ``g_i`` the discount from row i to the end, D that of the whole block, ``c_i = s_i g_i``, w_b their
    sum and m_b the mean of the rows weighted by c, the scatter matrix gains (Chan, Golub and LeVeque 1983)

        sum_i c_i (x_i - m_b)(x_i - m_b)'  +  D w w_b / (D w + w_b) (m_b - m)(m_b - m)'

    The first rows are orthogonal to ``sqrt(c)``, so the second term can go into them: it is the scatter of
    ``sqrt(c_i) (x_i - m_b + q (m_b - m))`` with ``q^2 = D w / (D w + w_b)``, and no row is added.

    Parameters
    ----------
    rows
        Rows less a fixed origin (b, n), overwritten.
    steps
        What each row counts.
    mean, count
        Mean, relative to the same origin, and effective number of the samples before.
    center
        Whether to subtract means.

    Blocks of m streams at once are rows (m, b, n) with means (m, n) and counts (m, 1): the same bits.
    """
    counts, weight, decay, scales, extra = steps.fading
    total = decay * count + weight
    if center and weight > 0:
        sums = counts.astype(rows.dtype, copy=False) @ rows
        block_mean = sums.astype(np.float64, copy=False) / weight
        shift = block_mean - mean
        block_mean -= np.sqrt(decay * count / total) * shift
        shift *= weight / total
        rows -= block_mean.astype(rows.dtype, copy=False)[..., None, :]
    else:
        shift = np.zeros_like(mean)
    if scales is not None:
        rows *= scales.astype(rows.dtype, copy=False)[:, None]
    return BlockTotals(decay, total, shift, extra)


def center_blocks(
    rows: Floats, steps: Steps, mean: Vector, count: float, *, center: bool
) -> tuple[Matrix, list[float]]:
    """`center_block` of blocks in sequence, rows (m, b, n), all with these steps: same bits at less cost.

    Returns the mean (m, n) and the effective number of samples after each of them.
    """
    counts, weight, decay, scales, _ = steps.fading
    totals, roots = [], []
    for _ in rows:
        before, count = decay * count, decay * count + weight
        totals.append(count)
        roots.append([math.sqrt(before / count)])
    path = np.zeros((len(rows) + 1, rows.shape[-1]))  # means before the first block, and after each of them
    if center:
        path[0] = mean
        means = (counts @ rows) / weight
        for block_mean, mean, after, total in zip(means, path, path[1:], totals, strict=False):
            np.subtract(block_mean, mean, out=after)
            after *= weight / total
            after += mean
        shifts = means - path[:-1]
        shifts *= roots
        means -= shifts
        rows -= means[:, None, :]
    if scales is not None:
        rows *= scales[:, None]
    return path[1:], totals


class Seen(NamedTuple):
    """The mean and axes by which a learner projects rows: they stand still between blocks and looks."""

    mean: Vector
    """Subtracted from a row (n)."""
    directions: Floats
    """The first axes as rows, each times its length."""
    gain: Vector | None = None
    """Factor of each centered input (n), see `eigenstream.learners.scale`; None: ones."""
    lengths: Vector | None = None
    """Lengths of the directions, which are then projected on in their type; None: ones."""

    @property
    def axes(self) -> Floats:
        """The first axes, as rows."""
        return self.directions if self.lengths is None else self.directions / self.lengths[:, None]

    def project(self, rows: Floats) -> Floats:
        """Projections on the axes; row by row the same bits. A single row may come as a vector."""
        if self.lengths is None:
            if rows.dtype == np.float64 and self.gain is None:
                if rows.ndim == 1:  # at once, since each row of `learn_one` comes here
                    return self.directions.dot(rows - self.mean)  # type: ignore[no-any-return]
                return rowwise(rows - self.mean, self.directions)
            centered = rows - self.mean.astype(rows.dtype)
            if self.gain is not None:
                centered *= self.gain.astype(rows.dtype)
            return rowwise(centered, self.directions.astype(rows.dtype))
        seen = self.beside(rows)
        centered = rows - seen.mean
        if not isinstance(rows, SparseRows):
            centered = centered.astype(seen.directions.dtype, copy=False)
        if seen.gain is not None:
            centered *= seen.gain
        return (rowwise(centered, seen.directions) / self.lengths).astype(rows.dtype, copy=False)

    def beside(self, rows: Floats) -> Seen:
        """The same where these rows live."""
        if not elsewhere(self.directions, rows):
            return self
        gain = None if self.gain is None else beside(self.gain, rows)
        return Seen(beside(self.mean, rows), beside(self.directions, rows), gain, self.lengths)

    def on_host(self) -> Seen:
        """The same with NumPy's arrays."""
        gain = None if self.gain is None else host(self.gain)
        return Seen(host(self.mean), host(self.directions), gain, self.lengths)


class Learner(Protocol):
    """Keeps what the closed form needs up to date. The rest of the package knows nothing else of it."""

    block: int
    """Rows that are learnt together; rows of an unfinished block wait with the tracker. 1: none wait."""

    @property
    def started(self) -> bool:
        """True if anything has been learnt."""

    def learn(self, rows: Floats, steps: Steps, lacking: Matrix | None = None) -> None:
        """Learn from rows, which are left as they are; at most one block, where rows come in blocks.

        A learner of `Batching` takes more, with the steps of one of them.

        ``lacking' lacking`` is added to the (standardized) scatter matrix: what filled entries vary too
        little by. None: nothing. A learner from rows alone may leave it out.
        """

    def known(self, *, axes: bool = True) -> Knowledge:
        """Knowledge of the input, axes in the order and direction of the last `align`.

        Without ``axes`` it has none that may be read, and is cheap enough for every look.
        """

    def align(self, rank: int, alpha: float) -> Vector:
        """Keep these first axes in their order and direction from now on; returns their eigenvalues.

        ``alpha`` is the regularization coefficient from now on.
        """

    def seen(self, rank: int) -> Seen:
        """The mean and the first axes as of the last block and look."""

    def restart(self, known: Knowledge, time: int, alpha: float) -> None:
        """Go on from this knowledge, as of this sample count."""

    def copy(self) -> Self:
        """The same learner in memory of its own."""

    def mark(self) -> Mark:
        """The present state, for `revert`: references only, see `eigenstream.learners.marks`."""

    def revert(self, mark: Mark) -> None:
        """Go back to the last mark, to the bit."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The stored form."""

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the stored form; a ValueError if it is damaged."""


@runtime_checkable
class Roomy(Protocol):
    """A learner that puts a block somewhere to learn it, where rows can wait in between: it spares memory."""

    @property
    def room(self) -> Matrix:
        """Memory for a block (block, n) that only `learn` touches, and may replace."""


@runtime_checkable
class Placing(Protocol):
    """A learner whose inputs may have their first value late."""

    def place(self, means: Vector) -> None:
        """Move the means of inputs that have been constant so far to these; NaN leaves an input (n).

        Their past counts as constant at the new mean. Without centering there are no means to move.
        """


@runtime_checkable
class Measuring(Protocol):
    """A learner that can cap outliers, because it knows the variance along any axis."""

    def variances(self, axes: Floats) -> Vector:
        """Input variance along axes, as of the last block."""


class Glance(NamedTuple):
    """Bounds of the leading eigenvalues, without the cost of finding them all."""

    known: Knowledge
    """Totals, lower bounds of the first eigenvalues in the order of the last look, and their axes, if any."""
    below: float
    """Upper bound of the largest eigenvalue behind those that are kept; a sum over samples."""


@runtime_checkable
class Glancing(Protocol):
    """A learner that can be glanced at."""

    count: float
    """Effective number of samples."""

    @property
    def lags(self) -> LagSums:
        """Likeness of rows to their predecessors."""

    def glance(self, rank: int) -> Glance | None:
        """Bounds around the eigenvalues of this many kept axes; None where looking is better."""

    def adopt(self, axes: Matrix, rank: int) -> None:
        """Go on with the axes of a glance, of which the first ``rank`` are kept."""

    def moments(self, rank: int) -> SpectrumMoments | None:
        """Numbers that stay where nothing changes, per sample; None where a glance costs no more."""

    def spectrum(self) -> Knowledge | None:
        """All eigenvalues, and totals, of narrow input; None elsewhere."""


@runtime_checkable
class KnowsLeading(Protocol):
    """A learner that knows the first axes at less cost than all of them."""

    def known_leading(self) -> Knowledge:
        """`Learner.known` with the first axes alone, as many as are kept aligned."""

    def decompose(self) -> None:
        """Find what `known_leading` says, in memory of its own that nobody else may read meanwhile."""

    def known_at_once(self) -> Knowledge:
        """`Learner.known` in less time where nobody has asked for the first axes before.

        Axes are in the same order; their signs and their last digits may be others.
        """


@runtime_checkable
class Batching(Protocol):
    """A learner that learns several whole blocks at a time, to the bits of one after the other."""

    @property
    def at_once(self) -> int:
        """Most blocks that `Learner.learn` takes now."""


@runtime_checkable
class Spread(Protocol):
    """A learner of rows that no place holds whole, not even the host.

    It counts the inputs that vary, see `Knowledge.n_inputs`, and knows less than a block of rows exactly.
    """

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of columns in each place."""


_PROVIDED: dict[tuple[type, object], bool] = {}
"""Answers of `provides`, by the type of a learner and the protocol."""


def provides(learner: object, protocol: Callable[..., Kind]) -> TypeGuard[Kind]:
    """`isinstance` of one of these protocols, which takes its time to tell; all of a type answer alike."""
    key = type(learner), protocol
    found = _PROVIDED.get(key)
    if found is None:
        found = _PROVIDED[key] = isinstance(learner, protocol)  # type: ignore[arg-type]
    return found


def rowwise(rows: Floats, axes: Floats) -> Floats:
    """``rows @ axes.T``, one product per row: the bits do not depend on how many rows come together.

    A single row may come as a vector.
    """
    if len(rows.shape) == 1:
        return axes.dot(rows)  # type: ignore[no-any-return]
    if isinstance(rows, SparseRows):
        return rows @ axes.T
    if len(rows) == 1:
        return axes.dot(rows[0])[None]  # type: ignore[no-any-return]
    return np.matmul(rows[:, None, :], axes.T)[:, 0]  # type: ignore[no-any-return]
