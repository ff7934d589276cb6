"""Likeness of rows to their predecessors: sums of products of rows that lie a few steps apart.

Rows of a plant resemble those before them, and say less than as many independent ones. The sums tell how
much less, for what is left of the rows after 0, 1, 2, ... components: `LagSums.persistence`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats, Matrix, Vector
from .moves import Moves, moves_of
from .stored import stored_array

# Rows. Between two of them an autocorrelation is taken to fall by a constant factor, as that of a first-order
# process does; powers of two need seven sums instead of a block's 64.
LAGS = (0, 1, 2, 4, 8, 16, 32)
"""Distances between the rows of a pair."""

# Axes. Each costs a product per lag in every block; bounds the time and the memory of wide models.
DIRECTIONS = 16
"""Most axes along which sums are kept. What is left after these stands for what is left after more."""

# Blocks. A block's sums cost as much as the block itself where input is narrow: a few are enough to see that
# rows are not alike. Where they are, how much so decides the rank, and few blocks would not tell.
OFTEN, OFTEN_ALIKE, STRIDES = 4, 32, (1, 2, 4, 8, 16)
"""The first `OFTEN` blocks (`OFTEN_ALIKE` where rows are alike) are all summed up; then every second of twice
that number, and so on."""

# Blocks. Two tell whether rows are alike; how much so needs more of them, since it decides the rank.
PER_WINDOW, PER_WINDOW_ALIKE = 2, 16
"""Blocks that are summed up per window of a stream that forgets, at least."""

# A correlation rho. Rows are worth (1 - rho^2) / (1 + rho^2) of as many independent ones: 92 % here.
ALIKE = 0.2
"""Rows are alike where an autocorrelation from row to row exceeds this."""

# A correlation. Those of white noise stay below it by chance, and it adds 2 % to a persistence.
NEGLIGIBLE = 0.1
"""An autocorrelation below this counts as none, and so do all at larger distances."""

# A correlation of white noise strays by 1 / sqrt(pairs): beyond twice that, on top of `NEGLIGIBLE`, it does
# so less than once in twenty cases.
DEVIATIONS = 2.0
"""Standard deviations of white noise by which an autocorrelation has to exceed that for rows to be alike."""

# A share of the mean. Of an input that the components hold nearly all of, what is left is uncertain.
ENOUGH_LEFT = 0.3
"""An input counts where at least this much is left of it, compared with others."""

# Inputs. Sums for each of them cost as much as a profile of the inputs shows.
WIDEST = 1024
"""Input that is wider has no sums for each of its inputs."""

# A share of the whole. Sums along axes and of whole rows are rounded apart.
ROUNDING = 1e-9
"""Share of the rows' products below which the rest counts as nothing."""

TINY = float(np.finfo(np.float64).tiny)

# A ratio. That of 60 rows of white noise after five components stays below it.
BY_CHANCE = 1.25
"""Mean of the inputs' persistences over that of all together, up to which inputs do not differ."""

# A power, between 0 and 1. Of thirty draws of 100 inputs whose 1 - rho is spread evenly from 0.001 to 1 on a
# logarithmic scale, all show components that are not there at 0, one at 0.6; at 1 factors are lost.
BETWEEN = 0.6
"""Place of the norm of covariances' variances between the mean of all (0) and that of the diagonal (1)."""

# A power, between 0 and 1. A slow part and white noise in each input have a higher edge than first-order
# noise of the same persistence: with many rows for each input they differ little (power 0), with few the
# spectral density at zero decides (power 1). Of 400 fits to 500 rows of 30 such inputs, 0.95 and white, 9
# have components at 0, 4 at 0.25, 3 here and 1 at 0.5 (seeds from 880,000 on), where a stream of the
# electricity record loses two of its four components.
TAIL = 0.35
"""Place of the persistence between that of squared autocorrelations and that of the density at zero."""

# Inputs. What is left of an input is a difference of sums, which reads 0.99 by chance where axes hold most of
# it. One such input hides factors: of 150 draws of white ones in 600 rows of noise of 0.9, 30 inputs, 84 %
# are right if all count in full, 99 % with one in 15 or in 10, and noise of mixed persistence stays as quiet.
# One in 10 finds too many factors in such noise more often, 3 % for 2 % (seeds from 820,000 on).
EXTREME = 15
"""One input in 15, the slowest, may be so by chance: these count as the slowest of the others."""

# A correlation: over the 64 rows of a block it falls to 0.88, and rows are worth one independent one in 500.
SLOWEST = 0.998
"""An input that is slower has no first-order autocorrelation that could be told from 1."""

# Correlations. The lower one guards a logarithm; the upper one makes 10,000 rows worth one independent row.
SMALLEST, LARGEST = 1e-6, 0.9999
"""Autocorrelations beyond these count as these: rows that never change are not infinitely alike."""


class BlockSums(NamedTuple):
    """Sums over the pairs of rows of a block, of m blocks with another axis in front."""

    sums: Matrix
    """Products of rows `LAGS` apart: of whole rows, and along each of the first axes (lags, 1 + k)."""
    pairs: Vector
    """Number of pairs, weighted, with those across pauses, see `block_sums` (lags)."""
    inputs: Matrix
    """Products of each input with itself, in the same row and in the next (2, n)."""
    moves: Moves | None = None
    """Sums over differences from row to row; None where no rows are alike."""


class LagSums(NamedTuple):
    """Sums over pairs of rows within blocks, discounted as everything else.

    Pairs across the border of two blocks are left out, so that the bits do not depend on calls. Sums of m
    streams are stacked: sums (m, lags, 1 + k) and pairs (m, lags).
    """

    sums: Matrix
    """Products of rows `LAGS` apart: of whole rows, and along each of the first axes (lags, 1 + k)."""
    pairs: Vector
    """Number of pairs, weighted and discounted (lags)."""
    inputs: Matrix
    """Products of each input with itself, in the same row and in the next; empty if input is wide (2, n)."""
    moves: Moves
    """Sums over differences from row to row, in the axes of the last look."""
    blocks: int = 0
    """Blocks that have come."""
    faded: float = 1.0
    """Discount since the last block that was summed up."""
    alike: bool = False
    """True if rows are like those before, see `are_alike`."""

    @classmethod
    def none(cls, n: int, k: int) -> Self:
        """Before the first row of n inputs, with k axes."""
        sums, pairs = np.zeros((len(LAGS), 1 + min(k, DIRECTIONS))), np.zeros(len(LAGS))
        shown = n if n <= WIDEST else 0
        return cls(sums, pairs, np.zeros((2, shown)), Moves.none(shown, min(k, DIRECTIONS)))

    def without_room(self) -> Self:
        """The same without memory for moves, as long as there are none."""
        return self if self.moves.known else self._replace(moves=Moves.none(0, self.directions))

    @classmethod
    def taken_over(cls, other: LagSums | None, n: int, k: int) -> Self:
        """Those of another learner of n inputs, which may have had more or fewer axes; none if None."""
        mine = cls.none(n, k)
        if other is None:
            return mine
        width = min(mine.sums.shape[-1], other.sums.shape[-1])
        mine.sums[:, :width] = other.sums[:, :width]
        return cls(mine.sums, *other[1:])._replace(moves=other.moves.along_axes(mine.directions))

    @property
    def directions(self) -> int:
        """Number of axes along which sums are kept."""
        return int(self.sums.shape[-1]) - 1

    @property
    def knows_axes(self) -> bool:
        """True if there are sums along axes."""
        return bool(self.sums[0, 1:].any())

    def begun_anew(self) -> Self:
        """Without sums: those of whole rows alone say too little once there are axes."""
        return self._replace(
            sums=np.zeros_like(self.sums),
            pairs=np.zeros_like(self.pairs),
            inputs=np.zeros_like(self.inputs),
            moves=Moves.none(self.inputs.shape[-1], self.directions),
        )

    def turned(self, before: Matrix, after: Matrix) -> Self:
        """The same with moves along axes (k, n) that take the place of those before; without any, none."""
        if not self.moves.known:
            return self
        if not len(before):
            return self._replace(moves=Moves.none(self.inputs.shape[-1], self.directions))
        # By least squares: a glance leaves axes that are not orthogonal to those further down.
        before, after = before[: self.directions], after[: self.directions]
        products = before @ before.T + ROUNDING * np.eye(len(before))
        return self.turned_by(np.asarray(np.linalg.solve(products, before @ after.T).T, dtype=np.float64))

    def turned_by(self, overlap: Matrix) -> Self:
        """The same with moves along axes that have these inner products with those before."""
        return self._replace(moves=self.moves.turned(overlap))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The stored form."""
        return {
            "lag_sums": self.sums,
            "lag_inputs": self.inputs,
            "lag_pairs": np.append(self.pairs, self.faded),
            "lag_blocks": np.array([self.blocks], dtype=np.int64),
        } | self.moves.arrays()

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]], n: int, k: int) -> Self:
        """Restore the stored form; a ValueError if it is damaged."""
        inputs = stored_array(arrays, "lag_inputs", (2, n if n <= WIDEST else 0))
        sums = stored_array(arrays, "lag_sums", (len(LAGS), 1 + min(k, DIRECTIONS)))
        pairs = stored_array(arrays, "lag_pairs", (len(LAGS) + 1,), least=0.0)
        blocks = stored_array(arrays, "lag_blocks", (1,), np.int64, least=0)
        if not pairs[-1] <= 1:
            raise ValueError(f"sums over neighbours cannot have grown by {pairs[-1]} since the last block")
        number, moves = pairs[:-1].copy(), Moves.restored(arrays, inputs.shape[-1], sums.shape[-1] - 1)
        alike = bool(are_alike(sums, number))
        return cls(sums, number, inputs, moves, int(blocks[0]), float(pairs[-1]), alike)

    def is_due(self, decay: float, *, whole: bool) -> bool:
        """True if the next block is to be summed up, over which everything fades by ``decay``.

        Of a block that is not ``whole`` the sums would be of different rows at different distances: it is
        left out, unless there is nothing else.
        """
        return self.blocks % self.stride(decay) == 0 if whole else not self.pairs.any()

    def until_due(self, decay: float) -> int:
        """Number of whole blocks before the next one that is to be summed up, see `is_due`."""
        blocks, stride = self.blocks, self.stride(decay)
        due = -(-blocks // stride) * stride
        if stride_at(due, decay, self.alike) != stride:  # strides grow as blocks come
            due = next(at for at in count(blocks) if at % stride_at(at, decay, self.alike) == 0)
        return due - blocks

    def stride(self, decay: float) -> int:
        """Every how many blocks one is summed up, where everything fades by ``decay`` over each."""
        return stride_at(self.blocks, decay, self.alike)

    def passed(self, decay: float, number: int = 1) -> Self:
        """After blocks that are not summed up."""
        sums, pairs, inputs, moves, blocks, faded, alike = self
        for _ in range(number):  # one by one, as they may come
            faded *= decay
        return type(self)(sums, pairs, inputs, moves, blocks + number, faded, alike)

    def after(self, decay: float, block: BlockSums) -> Self:
        """After a block with these sums, which stands for those that were not summed up."""
        faded, stride, moves = self.faded * decay, self.stride(decay), self.moves
        sums, pairs, inputs, _ = block
        if stride != 1:  # a factor of 1 changes no bit
            sums, pairs, inputs = stride * sums, stride * pairs, stride * inputs
        if faded == 1:
            sums, pairs, inputs = self.sums + sums, self.pairs + pairs, self.inputs + inputs
        else:
            sums, pairs = faded * self.sums + sums, faded * self.pairs + pairs
            inputs = faded * self.inputs + inputs
        if block.moves is not None:
            moves = moves.after(faded, stride, block.moves)
        elif moves.known:
            moves = moves.faded(faded)
        return type(self)(sums, pairs, inputs, moves, self.blocks + 1, alike=bool(are_alike(sums, pairs)))

    def discounted(self, factor: float) -> Self:
        """The same after more time, during which no row came."""
        return self._replace(faded=self.faded * factor)

    def joined(self, other: Self) -> Self:
        """The sums over the rows of both; one with fewer axes has nothing along the others."""
        width = max(self.sums.shape[-1], other.sums.shape[-1])
        one, two = (np.pad(each.sums, ((0, 0), (0, width - each.sums.shape[-1]))) for each in (self, other))
        sums = self.faded * one + other.faded * two
        pairs = self.faded * self.pairs + other.faded * other.pairs
        inputs = self.faded * self.inputs + other.faded * other.inputs
        blocks, alike = self.blocks + other.blocks, bool(are_alike(sums, pairs))
        first, second = (each.moves.along_axes(width - 1) for each in (self, other))
        moves = first.after(self.faded, other.faded, second)
        return type(self)(sums, pairs, inputs, moves, blocks, alike=alike)

    def persistence(self, held: Matrix | None = None) -> Vector | None:
        """Number of rows like these that say as much as one independent row, after 0, 1, ... components.

        For independent inputs with the autocorrelation rho, the variance of a sample covariance is that of
        ``T / tau`` independent rows, with tau the sum of ``rho(l)^2`` over all distances l, before and after.
        None: all are 1, rows are not alike.

        Parameters
        ----------
        held
            Part of each input in each of the first directions, in any unit (p, n); None: not known.
        """
        return persistence(self.sums, self.pairs, self.inputs, held)


def stride_at(blocks: int, decay: float, alike: bool) -> int:
    """Stride between the blocks that are summed up, after this number of blocks."""
    often, per_window = (OFTEN_ALIKE, PER_WINDOW_ALIKE) if alike else (OFTEN, PER_WINDOW)
    stride = STRIDES[min((blocks // often).bit_length(), len(STRIDES) - 1)]
    return stride if decay == 1 else min(stride, max(int(1 / ((1 - decay) * per_window)), 1))


def are_alike(sums: Matrix, pairs: Vector) -> NDArray[np.bool_]:
    """True where rows, or what the first axes leave of them, are like those before.

    Of sums (..., lags, 1 + k) over pairs (..., lags).
    """
    if sums.ndim == 2:
        return np.asarray(_is_alike(sums[:2].tolist(), pairs[:2].tolist()))
    left = _left(sums[..., :2, :])
    same, next_ = left[..., 0, :] * pairs[..., 1:2], left[..., 1, :] * pairs[..., :1]
    some = left[..., 0, :] > ROUNDING * left[..., 0, :1]  # axes of narrow input leave nothing but rounding
    return np.asarray((some & (np.abs(next_) > ALIKE * same)).any(axis=-1))


def _is_alike(sums: list[list[float]], pairs: list[float]) -> bool:
    """`are_alike` of one stream: so few numbers take longer as arrays."""
    (same, next_), least = (row[0] for row in sums), ROUNDING * sums[0][0]
    for i in range(len(sums[0])):
        if i:
            same, next_ = same - sums[0][i], next_ - sums[1][i]
        if same > least and abs(next_ * pairs[0]) > ALIKE * (same * pairs[1]):
            return True
    return False


def block_sums(
    gram: Matrix | None,
    projections: Matrix,
    rows: Floats | None,
    scales: Vector | None,
    alike: bool | NDArray[np.bool_],
    stretches: Sequence[slice] = (slice(None),),
    *,
    moves: bool = True,
) -> BlockSums:
    """Sums of a block.

    Rows on both sides of a pause are independent. What counts are squares of correlations, in the mean over
    all pairs: where only a share s of them has no pause between, sums are those of ``sqrt(s)`` times their
    correlation. 300 visits of 8 rows of 0.95 are worth 445 independent rows, and read 380; taken for rows
    without pauses at the distances within a visit they read 104.

    Parameters
    ----------
    gram
        Products of each row with each other (b, b), of m blocks (m, b, b); None: they follow from the rows.
    projections
        Rows on the first axes (b, k).
    rows
        The rows (b, n); None: nothing is said of single inputs.
    scales
        Factor of each row in these (b); None: ones.
    alike
        True if rows before were alike. Where neither they are nor these, only rows next to each other are
        compared, and those further apart count as independent.
    stretches
        Rows without a pause between them.
    moves
        Whether to sum up differences from row to row, too.
    """
    stack, (b, k) = projections.shape[:-2], projections.shape[-2:]
    weights, pairs = _weights_and_pairs(b, None if scales is None else scales.tobytes())
    sums = np.zeros((*stack, len(LAGS), 1 + k))
    inputs = np.zeros((*stack, 2, 0 if rows is None or rows.shape[-1] > WIDEST else rows.shape[-1]))

    n, whole = inputs.shape[-1], len(stretches) == 1
    some = rows if n else None

    def compare(lags: range, several: tuple[Floats, ...]) -> None:
        """Compare columns of several arrays, those of the inputs first, at some of the distances."""
        for i in lags:
            lag, within = LAGS[i], 0.0
            for stretch in stretches:
                w = weights[stretch]
                if lag >= len(w):
                    continue
                if not whole:
                    within += float(w[lag:] @ w[: len(w) - lag])
                found = [_products(each if whole else each[..., stretch, :], lag) for each in several]
                products = found[0] if len(found) == 1 else np.concatenate(found, axis=-1)
                sums[..., i, 1:] += products[..., n:]
                if gram is not None:
                    sums[..., i, 0] += np.trace(gram[..., stretch, stretch], lag, -2, -1)
                elif n:
                    sums[..., i, 0] += products[..., :n].sum(axis=-1)
                if n and i < 2:
                    inputs[..., i, :] += products[..., :n]
            if within:
                factor = math.sqrt(pairs[i] / within)
                sums[..., i, :] *= factor
                inputs[..., i : i + 1, :] *= factor  # none beyond the first two lags

    compare(range(2), (projections,) if some is None else (some, projections))
    alike = alike | are_alike(sums, pairs)
    found = None
    if alike.any():
        # Side by side, rows and projections take half the time of two products at each distance.
        beside = projections if some is None else np.concatenate((some, projections), axis=-1)
        compare(range(2, len(LAGS)), (beside,))
        sums[~alike, 2:] = 0.0
        if moves and rows is not None and inputs.size:
            found = moves_of(projections, rows, scales, stretches)
            for part in found:
                part[~alike] = 0.0
    return BlockSums(sums, np.broadcast_to(pairs, (*stack, len(LAGS))) if stack else pairs, inputs, found)


@lru_cache(maxsize=16)
def _weights_and_pairs(b: int, scales: bytes | None) -> tuple[Vector, Vector]:
    """Factor of each of b rows, and number of pairs at each lag, weighted: the same from block to block."""
    weights = np.ones(b) if scales is None else np.frombuffer(scales)
    return weights, np.array([float(weights[lag:] @ weights[: b - lag]) if lag < b else 0.0 for lag in LAGS])


def _products(rows: Floats, lag: int) -> Floats:
    """Sums over rows of the products of each column with itself, ``lag`` rows before."""
    number = rows.shape[-2] - lag
    products = rows[..., lag:, :] * rows[..., :number, :]
    return np.asarray(_ones(number, products.dtype) @ products)  # 0.6 times the time of `einsum`


@lru_cache(maxsize=64)
def _ones(number: int, dtype: np.dtype[Any]) -> Vector:
    return np.ones(number, dtype)


def projections_on(rows: Floats, axes: Floats, number: int) -> Matrix:
    """Projections of rows (..., b, n) on at most this many axes (..., k, n), zeros beyond what there are."""
    used = axes[..., :number, :]
    if used.shape[-2] == number:
        return np.asarray(rows @ used.swapaxes(-1, -2))
    Y = np.zeros((*rows.shape[:-1], number))
    Y[..., : used.shape[-2]] = rows @ used.swapaxes(-1, -2)
    return Y


def persistence(sums: Matrix, pairs: Vector, inputs: Matrix, held: Matrix | None) -> Vector | None:
    """`LagSums.persistence` of sums (..., lags, 1 + k) over pairs (..., lags), of inputs (..., 2, n)."""
    if sums.ndim == 2 and _is_lively(sums[:2].tolist(), pairs[:2].tolist(), inputs):
        return None
    known = np.cumprod(pairs > 0, axis=-1).sum(axis=-1)
    most = int(known.max(initial=0)) if known.ndim else int(known)
    if most < 2:
        return None
    if (known != most).any():  # streams of different ages
        each = zip(sums, pairs, inputs, [None] * len(sums) if held is None else held, strict=True)
        found = [persistence(*one) for one in each]
        return np.stack([np.ones(sums.shape[-1]) if tau is None else tau for tau in found])
    lively = _are_lively(sums, pairs, inputs)
    if lively.all():
        return None
    near, own = sums[..., :2, :] / pairs[..., :2, None], inputs / pairs[..., :2, None]
    rho = _correlations(_left(sums[..., :most, :] / pairs[..., :most, None]))
    squares = _sums(np.square(rho), rho)
    tail = np.maximum(_first_order_by_density(_sums(rho, rho)) / squares, 1.0) ** TAIL
    if held is not None and inputs.shape[-1]:
        differences = _differences_left(near[..., 1:], own, held)
        factor = np.repeat(differences[..., -1:], rho.shape[-1], axis=-1)
        factor[..., : differences.shape[-1]] = differences[..., : rho.shape[-1]]
        tail = np.maximum(tail, factor)
    return np.where(lively[..., None], 1.0, squares * tail)


def _are_lively(sums: Matrix, pairs: Vector, inputs: Matrix) -> NDArray[np.bool_]:
    """True where rows are not alike, whatever components are taken out, and no input is like itself."""
    left = _left(sums[..., :2, :])
    chance = np.minimum(NEGLIGIBLE + DEVIATIONS / np.sqrt(pairs[..., 1]), 1.0)
    line = (chance * (pairs[..., 1] / pairs[..., 0]))[..., None]
    none = left[..., 0, :] <= ROUNDING * left[..., 0, :1]  # nothing but rounding is left
    lively = (none | (np.abs(left[..., 1, :]) <= line * left[..., 0, :])).all(axis=-1)
    if inputs.shape[-1]:
        squares = np.einsum("...i,...i->...", inputs, inputs)
        lively &= squares[..., 1] <= np.square(line[..., 0]) * squares[..., 0]
    return np.asarray(lively)


def _is_lively(sums: list[list[float]], pairs: list[float], inputs: Matrix) -> bool:
    """`_are_lively` of one stream, also where there are no pairs: so few numbers take longer as arrays."""
    if not (pairs[0] > 0 and pairs[1] > 0):
        return True
    line = min(NEGLIGIBLE + DEVIATIONS / math.sqrt(pairs[1]), 1.0) * (pairs[1] / pairs[0])
    (same, next_), least = (row[0] for row in sums), ROUNDING * sums[0][0]
    for i in range(len(sums[0])):
        if i:
            same, next_ = same - sums[0][i], next_ - sums[1][i]
        if same > least and abs(next_) > line * same:
            return False
    now, later = inputs
    return not len(now) or bool(later.dot(later) <= line * line * now.dot(now))


def _left(products: Matrix) -> Matrix:
    """Rest of the products of whole rows after 0, 1, ... directions (..., lags, 1 + k)."""
    return np.asarray(np.subtract.accumulate(products, axis=-1))


def _correlations(products: Matrix) -> Matrix:
    """Autocorrelations at the lags beyond the first, where there is anything (..., lags - 1, p)."""
    power = products[..., :1, :]
    some = power > ROUNDING * np.abs(power[..., :1])
    rho = np.where(some, np.abs(products[..., 1:, :]) / np.where(some, power, 1.0), 0.0)
    return np.clip(rho, SMALLEST, LARGEST)


def _differences_left(along: Matrix, inputs: Matrix, held: Matrix) -> Vector:
    """`_differences` of what 0, 1, ... directions leave of each input (..., p).

    Parameters
    ----------
    along
        Mean products along each of the first axes, in the same row and in the next (..., 2, k).
    inputs
        The same of each input (..., 2, n).
    held
        Part of each input in each of the first directions, in any unit (..., p, n).
    """
    number = min(along.shape[-1], held.shape[-2])
    held = held[..., :number, :]
    shares = held / np.maximum(held.sum(axis=-1, keepdims=True), TINY)
    taken = np.zeros((*inputs.shape[:-1], number + 1, inputs.shape[-1]))
    np.cumsum(along[..., :number, None] * shares[..., None, :, :], axis=-2, out=taken[..., 1:, :])
    left = inputs[..., None, :] - taken
    return _differences(left[..., 0, :, :], left[..., 1, :, :])


def _differences(powers: Matrix, products: Matrix) -> Vector:
    """Factor by which inputs with different autocorrelations have a larger persistence than pooled ones.

    The variances of sample covariances of independent inputs are a matrix, ``sum_l rho_i(l) rho_j(l) / T``.
    What is pooled is its mean; the noise's largest eigenvalue follows its norm, which lies between that and
    the mean of its diagonal. This is a power of their ratio, by the first autocorrelation of each input.
    """
    used = powers > ENOUGH_LEFT * np.maximum(powers.mean(axis=-1, keepdims=True), TINY)
    used &= np.abs(products) < SLOWEST * powers
    weights = np.where(used, powers, 0.0)
    rho = np.where(used, products, 0.0) / np.where(used, powers, 1.0)
    pooled = (weights * rho).sum(axis=-1) / np.maximum(weights.sum(axis=-1), TINY)
    squares, taus = np.square(weights), _first_order(rho)
    place = -1 - taus.shape[-1] // EXTREME
    taus = np.minimum(taus, np.partition(taus, place, axis=-1)[..., place, None])
    each = (squares * taus).sum(axis=-1) / np.maximum(squares.sum(axis=-1), TINY)
    return np.asarray(np.maximum(each / _first_order(pooled) / BY_CHANCE, 1.0) ** BETWEEN)


def _first_order(rho: Floats) -> Vector:
    """Persistence of a first-order autoregression with this correlation from row to row."""
    return np.asarray((1 + np.square(rho)) / (1 - np.square(rho)))


def _first_order_by_density(density: Vector) -> Vector:
    """Persistence of a first-order autoregression with this spectral density at zero, of variance 1."""
    return np.asarray((density + 1 / density) / 2)


def _sums(values: Floats, rho: Floats) -> Vector:
    """One and twice the sum of values at all distances that are known at the first `LAGS` (..., lags, p).

    Between two distances, and beyond the last, they fall by a constant factor from row to row. They are the
    autocorrelations ``rho`` or their squares, and count as long as those are not negligible.
    """
    lasts = rho[..., 0, :] >= NEGLIGIBLE
    value: Floats = np.ones(lasts.shape)
    fall, total = value, value
    for i, lag in enumerate(LAGS[1 : 1 + rho.shape[-2]]):
        steps, before, value = lag - LAGS[i], value, values[..., i, :]
        fall = (value / before) ** (1 / steps)
        flat = np.abs(fall - 1) < 1e-9
        added = np.where(flat, steps, fall * (1 - fall**steps) / np.where(flat, 1.0, 1 - fall))
        total = total + np.where(lasts, 2 * before * added, 0.0)
        lasts = lasts & (rho[..., i, :] >= NEGLIGIBLE)
    # No slower than from the first row on: a ratio of two large correlations is uncertain.
    fall = np.minimum(fall, value ** (1 / LAGS[rho.shape[-2]]))
    return np.where(lasts, total + 2 * value * fall / (1 - fall), total)
