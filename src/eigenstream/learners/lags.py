"""Likeness of rows to their predecessors: sums of products of rows that lie a few steps apart.

Rows of a plant resemble those before them, and say less than as many independent ones. The sums tell how
much less, for what is left of the rows after 0, 1, 2, ... components: `LagSums.persistence`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats, Matrix, Vector
from .stored import stored_array

# Rows. Between two of them an autocorrelation is taken to fall by a constant factor, as that of a first-order
# process does; powers of two need seven sums instead of a block's 64.
LAGS = (0, 1, 2, 4, 8, 16, 32)
"""Distances between the rows of a pair."""

DIRECTIONS = 32
"""Most axes along which sums are kept. What is left after these stands for what is left after more."""

# Blocks. A block's sums cost as much as the block itself where input is narrow; likeness changes slowly.
OFTEN, STRIDES = 8, (1, 2, 4, 8, 16)
"""The first so many blocks are all summed up; then every second of twice as many, and so on."""

PER_WINDOW = 3
"""Blocks that are summed up per window of a stream that forgets, at least."""

# A correlation. Those of white noise stay below it by chance, and it adds 2 % to a persistence.
NEGLIGIBLE = 0.1
"""An autocorrelation below this counts as none, and so do all at larger distances."""

# A share of the whole. Sums along axes and of whole rows are rounded apart.
# A share of the mean. Of an input that the components hold nearly all of, what is left is uncertain.
ENOUGH_LEFT = 0.3
"""An input counts where at least this much is left of it, compared with others."""

# Inputs. Sums for each of them cost as much as a profile of the inputs shows.
WIDEST = 1024
"""Input that is wider has no sums for each of its inputs."""

ROUNDING = 1e-9
"""What is left of the rows is nothing where it is below this share of them."""

TINY = float(np.finfo(np.float64).tiny)

# A ratio. That of 60 rows of white noise after five components stays below it.
BY_CHANCE = 1.25
"""Mean of the inputs' persistences over that of all together, up to which inputs do not differ."""

# A power, between 0 and 1. Inputs whose 1 - rho is spread evenly from 0.001 to 1 on a logarithmic scale: at 0
# thirty of thirty draws of 100 inputs show components that are not there, at 0.6 three; at 1 factors are lost.
BETWEEN = 0.6
"""Where the norm of the variances of sample covariances lies between the mean of all and of the diagonal."""

SLOWEST = 0.998
"""An input that is slower has no first-order autocorrelation that could be told from 1."""

SMALLEST, LARGEST = 1e-6, 0.9999
"""Autocorrelations beyond these count as these: rows that never change are not infinitely alike."""


class BlockSums(NamedTuple):
    """Sums over the pairs of rows of a block, of m blocks with another axis in front."""

    sums: Matrix
    """Products of rows `LAGS` apart: of whole rows, and along each of the first axes (lags, 1 + k)."""
    pairs: Vector
    """Number of pairs, weighted (lags)."""
    inputs: Matrix
    """Products of each input with itself, in the same row and in the next (2, n)."""


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
    blocks: int = 0
    """Blocks that have come."""
    faded: float = 1.0
    """Discount since the last block that was summed up."""

    @classmethod
    def none(cls, n: int, k: int) -> Self:
        """Before the first row of n inputs, with k axes."""
        sums, pairs = np.zeros((len(LAGS), 1 + min(k, DIRECTIONS))), np.zeros(len(LAGS))
        return cls(sums, pairs, np.zeros((2, n if n <= WIDEST else 0)))

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
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The stored form."""
        return {
            "lag_sums": self.sums,
            "lag_inputs": self.inputs,
            "lag_pairs": np.append(self.pairs, self.faded),
            "lag_blocks": np.array([self.blocks], dtype=np.int64),
        }

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]], n: int, k: int) -> Self:
        """The sums that `arrays` wrote; a ValueError where they cannot be."""
        inputs = stored_array(arrays, "lag_inputs", (2, n if n <= WIDEST else 0))
        sums = stored_array(arrays, "lag_sums", (len(LAGS), 1 + min(k, DIRECTIONS)))
        pairs = stored_array(arrays, "lag_pairs", (len(LAGS) + 1,), least=0.0)
        blocks = stored_array(arrays, "lag_blocks", (1,), np.int64, least=0)
        if not pairs[-1] <= 1:
            raise ValueError(f"sums over neighbours cannot have grown by {pairs[-1]} since the last block")
        return cls(sums, pairs[:-1].copy(), inputs, int(blocks[0]), float(pairs[-1]))

    def is_due(self, decay: float, *, whole: bool) -> bool:
        """True if the next block is to be summed up, over which everything fades by ``decay``.

        Of a block that is not ``whole`` the sums would be of different rows at different distances: it is
        left out, unless there is nothing else.
        """
        return self.blocks % stride_at(self.blocks, decay) == 0 if whole else not self.pairs.any()

    def passed(self, decay: float) -> Self:
        """After a block that is not summed up."""
        return self._replace(blocks=self.blocks + 1, faded=self.faded * decay)

    def after(self, decay: float, block: BlockSums) -> Self:
        """After a block with these sums, which stands for those that were not summed up."""
        faded, stride = self.faded * decay, stride_at(self.blocks, decay)
        before = self.sums, self.pairs, self.inputs
        sums, pairs, inputs = (faded * mine + stride * new for mine, new in zip(before, block, strict=True))
        return type(self)(sums, pairs, inputs, self.blocks + 1)

    def discounted(self, factor: float) -> Self:
        """The same after more time, during which no row came."""
        return self._replace(faded=self.faded * factor)

    def joined(self, other: Self) -> Self:
        """The sums over the rows of both."""
        sums = self.faded * self.sums + other.faded * other.sums
        pairs = self.faded * self.pairs + other.faded * other.pairs
        inputs = self.faded * self.inputs + other.faded * other.inputs
        return type(self)(sums, pairs, inputs, self.blocks + other.blocks)

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


def stride_at(blocks: int, decay: float) -> int:
    """Every how many blocks one is summed up, after so many, where everything fades so over each."""
    stride = STRIDES[min((blocks // OFTEN).bit_length(), len(STRIDES) - 1)]
    return stride if decay == 1 else min(stride, max(int(1 / ((1 - decay) * PER_WINDOW)), 1))


def block_sums(
    gram: Matrix,
    projections: Matrix,
    rows: Floats | None,
    scales: Vector | None,
    stretches: Sequence[slice] = (slice(None),),
) -> BlockSums:
    """Sums of a block.

    Parameters
    ----------
    gram
        Products of each row with each other (b, b), of m blocks (m, b, b).
    projections
        Rows on the first axes (b, k).
    rows
        The rows (b, n); None: nothing is said of single inputs.
    scales
        Factor of each row in these (b); None: ones.
    stretches
        Rows without a pause between them.
    """
    b, k = projections.shape[-2:]
    weights = np.ones(b) if scales is None else scales
    sums, pairs = np.zeros((*gram.shape[:-2], len(LAGS), 1 + k)), np.zeros(len(LAGS))
    width = 0 if rows is None or rows.shape[-1] > WIDEST else rows.shape[-1]
    inputs = np.zeros((*gram.shape[:-2], 2, width))
    for stretch in stretches:
        G, Y, w = gram[..., stretch, stretch], projections[..., stretch, :], weights[stretch]
        one, other, starts = _pairs(len(w))
        number = len(starts)
        sums[..., :number, 0] += np.add.reduceat(G[..., one, other], starts, axis=-1)
        sums[..., :number, 1:] += np.add.reduceat(Y[..., one, :] * Y[..., other, :], starts, axis=-2)
        pairs[:number] += np.add.reduceat(w[one] * w[other], starts)
        if rows is not None and width:
            R = rows[..., stretch, :]
            inputs[..., 0, :] += np.einsum("...ti,...ti->...i", R, R)
            inputs[..., 1, :] += np.einsum("...ti,...ti->...i", R[..., 1:, :], R[..., :-1, :])
    return BlockSums(sums, pairs, inputs)


@lru_cache(maxsize=64)
def _pairs(rows: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Both rows of every pair that lies `LAGS` apart, and where the pairs of each lag begin."""
    counts = [rows - lag for lag in LAGS if lag < rows]
    one = np.concatenate([np.arange(count) for count in counts])
    other = one + np.repeat(LAGS[: len(counts)], counts)
    return one, other, np.cumsum([0, *counts[:-1]])


def projections_on(rows: Floats, axes: Floats, number: int) -> Matrix:
    """Projections of rows (..., b, n) on at most this many axes (..., k, n), zeros beyond what there are."""
    used = axes[..., :number, :]
    Y = np.zeros((*rows.shape[:-1], number))
    Y[..., : used.shape[-2]] = rows @ used.swapaxes(-1, -2)
    return Y


def persistence(sums: Matrix, pairs: Vector, inputs: Matrix, held: Matrix | None) -> Vector | None:
    """`LagSums.persistence` of sums (..., lags, 1 + k) over pairs (..., lags), of inputs (..., 2, n)."""
    known = np.cumprod(pairs > 0, axis=-1).sum(axis=-1)
    most = int(known.max(initial=0)) if known.ndim else int(known)
    if most < 2:
        return None
    if (known != most).any():  # streams of different ages
        each = zip(sums, pairs, inputs, [None] * len(sums) if held is None else held, strict=True)
        found = [persistence(*one) for one in each]
        return np.stack([np.ones(sums.shape[-1]) if tau is None else tau for tau in found])
    mean = sums[..., :most, :] / pairs[..., :most, None]
    left = mean.copy()
    np.subtract(left[..., :1], np.cumsum(mean[..., 1:], axis=-1), out=left[..., 1:])
    power = left[..., :1, :]
    some = power > ROUNDING * np.abs(power[..., :1])
    rho = np.where(some, np.abs(left[..., 1:, :]) / np.where(some, power, 1.0), 0.0)
    rho = np.clip(rho, SMALLEST, LARGEST)
    if held is None or not inputs.shape[-1]:
        return None if rho[..., 0, :].max() < NEGLIGIBLE else _squares(rho)
    mean_of_inputs = inputs / pairs[..., :2, None]
    lively = rho[..., 0, :].max(axis=-1) < NEGLIGIBLE
    lively &= _differences(mean_of_inputs[..., 0, :], mean_of_inputs[..., 1, :]) <= 1
    if lively.all():
        return None
    differences = _differences_left(mean[..., :2, 1:], mean_of_inputs, held)
    factor = np.repeat(differences[..., -1:], rho.shape[-1], axis=-1)
    factor[..., : differences.shape[-1]] = differences[..., : rho.shape[-1]]
    return np.where(lively[..., None], 1.0, _squares(rho) * factor)


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
    squares = np.square(weights)
    each = (squares * _first_order(rho)).sum(axis=-1) / np.maximum(squares.sum(axis=-1), TINY)
    return np.maximum(each / _first_order(pooled) / BY_CHANCE, 1.0) ** BETWEEN


def _first_order(rho: Floats) -> Vector:
    """Persistence of a first-order autoregression with this correlation from row to row."""
    return np.asarray((1 + np.square(rho)) / (1 - np.square(rho)))


def _squares(rho: Floats) -> Vector:
    """One and twice the sum of squares of autocorrelations that are known at the first `LAGS` (..., lags, p).

    Between two distances, and beyond the last, squares fall by a constant factor from row to row.
    """
    lasts = rho[..., 0, :] >= NEGLIGIBLE
    square, tau = np.ones(lasts.shape), np.ones(lasts.shape)
    fall = square
    for i, lag in enumerate(LAGS[1 : 1 + rho.shape[-2]]):
        steps, before, square = lag - LAGS[i], square, np.square(rho[..., i, :])
        fall = (square / before) ** (1 / steps)
        flat = np.abs(fall - 1) < 1e-9
        added = np.where(flat, steps, fall * (1 - fall**steps) / np.where(flat, 1.0, 1 - fall))
        tau = tau + np.where(lasts, 2 * before * added, 0.0)
        lasts = lasts & (rho[..., i, :] >= NEGLIGIBLE)
    # No slower than from the first row on: a ratio of two large correlations is uncertain.
    fall = np.minimum(fall, square ** (1 / LAGS[rho.shape[-2]]))
    return np.where(lasts, tau + 2 * square * fall / (1 - fall), tau)
