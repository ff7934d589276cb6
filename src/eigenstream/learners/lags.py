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
ROUNDING = 1e-9
"""What is left of the rows is nothing where it is below this share of them."""

SMALLEST, LARGEST = 1e-6, 0.9999
"""Autocorrelations beyond these count as these: rows that never change are not infinitely alike."""


class LagSums(NamedTuple):
    """Sums over pairs of rows within blocks, discounted as everything else.

    Pairs across the border of two blocks are left out, so that the bits do not depend on calls. Sums of m
    streams are stacked: sums (m, lags, 1 + k) and pairs (m, lags).
    """

    sums: Matrix
    """Products of rows `LAGS` apart: of whole rows, and along each of the first axes (lags, 1 + k)."""
    pairs: Vector
    """Number of pairs, weighted and discounted (lags)."""
    blocks: int = 0
    """Blocks that have come."""
    faded: float = 1.0
    """Discount since the last block that was summed up."""

    @classmethod
    def none(cls, k: int) -> Self:
        """Before the first row."""
        return cls(np.zeros((len(LAGS), 1 + min(k, DIRECTIONS))), np.zeros(len(LAGS)))

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
        return self._replace(sums=np.zeros_like(self.sums), pairs=np.zeros_like(self.pairs))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The stored form."""
        return {
            "lag_sums": self.sums,
            "lag_pairs": np.append(self.pairs, self.faded),
            "lag_blocks": np.array([self.blocks], dtype=np.int64),
        }

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]], k: int) -> Self:
        """The sums that `arrays` wrote; a ValueError where they cannot be."""
        sums = stored_array(arrays, "lag_sums", (len(LAGS), 1 + min(k, DIRECTIONS)))
        pairs = stored_array(arrays, "lag_pairs", (len(LAGS) + 1,), least=0.0)
        blocks = stored_array(arrays, "lag_blocks", (1,), np.int64, least=0)
        if not pairs[-1] <= 1:
            raise ValueError(f"sums over neighbours cannot have grown by {pairs[-1]} since the last block")
        return cls(sums, pairs[:-1].copy(), int(blocks[0]), float(pairs[-1]))

    def is_due(self, decay: float, *, whole: bool) -> bool:
        """True if the next block is to be summed up, over which everything fades by ``decay``.

        Of a block that is not ``whole`` the sums would be of different rows at different distances: it is
        left out, unless there is nothing else.
        """
        return self.blocks % stride_at(self.blocks, decay) == 0 if whole else not self.pairs.any()

    def passed(self, decay: float) -> Self:
        """After a block that is not summed up."""
        return self._replace(blocks=self.blocks + 1, faded=self.faded * decay)

    def after(self, decay: float, sums: Matrix, pairs: Vector) -> Self:
        """After a block with these sums and pairs, which stands for those that were not summed up."""
        faded, stride = self.faded * decay, stride_at(self.blocks, decay)
        return type(self)(
            faded * self.sums + stride * sums, faded * self.pairs + stride * pairs, self.blocks + 1
        )

    def discounted(self, factor: float) -> Self:
        """The same after more time, during which no row came."""
        return self._replace(faded=self.faded * factor)

    def joined(self, other: Self) -> Self:
        """The sums over the rows of both."""
        sums = self.faded * self.sums + other.faded * other.sums
        pairs = self.faded * self.pairs + other.faded * other.pairs
        return type(self)(sums, pairs, self.blocks + other.blocks)

    def persistence(self) -> Vector | None:
        """Number of rows like these that say as much as one independent row, after 0, 1, ... components.

        For independent inputs with the autocorrelation rho, the variance of a sample covariance is that of
        ``T / tau`` independent rows, with tau the sum of ``rho(l)^2`` over all distances l, before and after.
        None: all are 1, rows are not alike.
        """
        return persistence(self.sums, self.pairs)


def stride_at(blocks: int, decay: float) -> int:
    """Every how many blocks one is summed up, after so many, where everything fades so over each."""
    stride = STRIDES[min((blocks // OFTEN).bit_length(), len(STRIDES) - 1)]
    return stride if decay == 1 else min(stride, max(int(1 / ((1 - decay) * PER_WINDOW)), 1))


def block_sums(
    gram: Matrix, projections: Matrix, scales: Vector | None, stretches: Sequence[slice] = (slice(None),)
) -> tuple[Matrix, Vector]:
    """Sums and pairs of a block, as `LagSums.after` takes them.

    Parameters
    ----------
    gram
        Products of each row with each other (b, b), of m blocks (m, b, b).
    projections
        Rows on the first axes (b, k).
    scales
        Factor of each row in these (b); None: ones.
    stretches
        Rows without a pause between them.
    """
    b, k = projections.shape[-2:]
    weights = np.ones(b) if scales is None else scales
    sums, pairs = np.zeros((*gram.shape[:-2], len(LAGS), 1 + k)), np.zeros(len(LAGS))
    for stretch in stretches:
        G, Y, w = gram[..., stretch, stretch], projections[..., stretch, :], weights[stretch]
        one, other, starts = _pairs(len(w))
        number = len(starts)
        sums[..., :number, 0] += np.add.reduceat(G[..., one, other], starts, axis=-1)
        sums[..., :number, 1:] += np.add.reduceat(Y[..., one, :] * Y[..., other, :], starts, axis=-2)
        pairs[:number] += np.add.reduceat(w[one] * w[other], starts)
    return sums, pairs


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


def persistence(sums: Matrix, pairs: Vector) -> Vector | None:
    """`LagSums.persistence` of sums (..., lags, 1 + k) over pairs (..., lags)."""
    known = np.cumprod(pairs > 0, axis=-1).sum(axis=-1)
    most = int(known.max(initial=0)) if known.ndim else int(known)
    if most < 2:
        return None
    if (known != most).any():  # streams of different ages
        found = [persistence(*one) for one in zip(sums, pairs, strict=True)]
        return np.stack([np.ones(sums.shape[-1]) if tau is None else tau for tau in found])
    left = sums[..., :most, :].copy()
    np.subtract(left[..., :1], np.cumsum(left[..., 1:], axis=-1), out=left[..., 1:])
    mean = left / pairs[..., :most, None]
    power = mean[..., :1, :]
    some = power > ROUNDING * np.abs(power[..., :1])
    rho = np.where(some, np.abs(mean[..., 1:, :]) / np.where(some, power, 1.0), 0.0)
    rho = np.clip(rho, SMALLEST, LARGEST)
    return None if rho[..., 0, :].max() < NEGLIGIBLE else _squares(rho)


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
