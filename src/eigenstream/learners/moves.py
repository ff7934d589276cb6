"""Moves of a stream: differences of rows from the row before, along the axes of its components.

Rows that hardly move say little of how inputs belong together; their differences may say much, because those
of slow inputs are nearly independent. Sums of products of moves along the first axes are enough to tell
whether components move together, too: see `eigenstream.rank.moving`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats, Matrix, Vector
from .stored import stored_array

# A share of the largest sum of squares, which axes are turned in: rounding of sums over many blocks.
ROUNDING = 1e-9
"""Sums of squares that may be below zero by rounding."""


class Moves(NamedTuple):
    """Sums over moves within blocks whose rows are alike, discounted as everything else.

    Those of m streams, or of m blocks, have another axis in front. Of wide input nothing is kept, and as long
    as no rows have been alike there may be no memory for any: they are those of 0 inputs then.
    """

    along: Matrix
    """Products of moves along the first axes: with each other, and with the moves before (2, k, k)."""
    shared: Matrix
    """Products of moves along the first axes with those of each input (k, n)."""
    inputs: Vector
    """Squares of the moves of each input (n)."""
    totals: Vector
    """Number of moves, weighted; sum of their squared weights; and products of whole moves with the moves
    before (3)."""

    @classmethod
    def none(cls, n: int, k: int) -> Self:
        """Before the first row of n inputs, with k axes."""
        k = k if n else 0
        return cls(np.zeros((2, k, k)), np.zeros((k, n)), np.zeros(n), np.zeros(3))

    @property
    def known(self) -> Any:
        """True if there are any; an array of m streams."""
        return self.totals[..., 0] > 0

    @property
    def number(self) -> float:
        """Number of moves that say as much as these, of which each counts as much as any other (Kish)."""
        weights, squares, _ = self.totals.tolist()
        return float(weights * weights / squares)

    def after(self, faded: Any, weight: Any, block: Moves) -> Self:
        """After a block with these sums, which has this weight, while those before have faded."""
        mine: Moves = self
        if not self.inputs.size:
            mine, faded = block, 0.0
        if not block.inputs.size:
            block, weight = mine, 0.0
        f, w = np.asarray(faded), np.asarray(weight)
        fades, weighs = (np.stack((x, x * x, x), axis=-1) for x in (f, w))
        return type(self)(
            f[..., None, None, None] * mine.along + w[..., None, None, None] * block.along,
            f[..., None, None] * mine.shared + w[..., None, None] * block.shared,
            f[..., None] * mine.inputs + w[..., None] * block.inputs,
            fades * mine.totals + weighs * block.totals,
        )

    def faded(self, factor: Any) -> Self:
        """The same after everything has faded by this factor, or those of m streams by a factor each."""
        f = np.asarray(factor)[..., None]
        fades = np.concatenate((f, f * f, f), axis=-1)
        return type(self)(
            f[..., None, None] * self.along, f[..., None] * self.shared, f * self.inputs, fades * self.totals
        )

    def turned(self, overlap: Matrix) -> Self:
        """The same along other axes, of which each is the sum of those before with these weights (k', k)."""
        Q = np.zeros_like(self.along[0])
        Q[: len(overlap), : overlap.shape[1]] = overlap
        return self._replace(along=Q @ self.along @ Q.T, shared=Q @ self.shared)

    def along_axes(self, k: int) -> Self:
        """The same along the first k axes, with nothing along those that were not known."""
        found, known = type(self).none(len(self.inputs), k), min(k, self.along.shape[-1])
        found.along[:, :known, :known] = self.along[:, :known, :known]
        found.shared[:known] = self.shared[:known]
        return found._replace(inputs=self.inputs, totals=self.totals)

    def each(self, i: int) -> Self:
        """Those of one of m streams."""
        return type(self)(*(part[i] for part in self))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The stored form."""
        return {f"moves_{name}": part for name, part in self._asdict().items()}

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]], n: int, k: int) -> Self:
        """Restore the stored form; a ValueError if it is damaged."""
        expected = cls.none(n if arrays["moves_inputs"].size else 0, k).arrays()
        found = cls(*(stored_array(arrays, name, part.shape) for name, part in expected.items()))
        if not found.inputs.size and found.totals.any():
            raise ValueError("there are moves of no inputs")
        squares = np.concatenate((found.inputs, np.diag(found.along[0]), found.totals[:2]))
        # Along an axis without moves, rounding leaves a little of others, on either side of zero.
        if not (squares >= -ROUNDING * squares.max(initial=0.0)).all() or (found.totals[0] > 0) != (
            found.totals[1] > 0
        ):
            raise ValueError("sums of squares of moves cannot be negative")
        return found


def moves_of(projections: Matrix, rows: Floats, scales: Vector | None, stretches: Sequence[slice]) -> Moves:
    """Sums over the moves of a block, or of a stack of blocks; parameters are those of `block_sums`.

    Moves over a pause are left out. The products with the moves before, of which there are fewer, are
    brought to the same number.
    """
    stack, (b, k), n = projections.shape[:-2], projections.shape[-2:], rows.shape[-1]
    along, shared = np.zeros((*stack, 2, k, k)), np.zeros((*stack, k, n))
    inputs, totals = np.zeros((*stack, n)), np.zeros((*stack, 3))
    weights, before = np.ones(b) if scales is None else scales, 0.0
    for stretch in stretches:
        w = weights[stretch, None]
        if len(w) < 2 or not w.min() > 0:  # rows that do not count have no differences
            continue
        squares, growth = np.square(w[1:, 0]), None if scales is None else w[1:] / w[:-1]
        before += float(squares[1:].sum())
        Y, M = _moves(projections[..., stretch, :], growth), _moves(rows[..., stretch, :], growth)
        later = Y[..., 1:, :].swapaxes(-1, -2) @ Y[..., :-1, :]
        along[..., 0, :, :] += Y.swapaxes(-1, -2) @ Y
        along[..., 1, :, :] += (later + later.swapaxes(-1, -2)) / 2
        shared += Y.swapaxes(-1, -2) @ M
        inputs += np.einsum("...ti,...ti->...i", M, M)
        totals[..., 0] += squares.sum()
        totals[..., 1] += np.square(squares).sum()
        totals[..., 2] += np.einsum("...ti,...ti->...", M[..., 1:, :], M[..., :-1, :])
    if before:
        share = totals[..., 0] / before
        along[..., 1, :, :] *= share[..., None, None]
        totals[..., 2] *= share
    return Moves(along, shared, inputs, totals)


def _moves(rows: Floats, growth: Matrix | None) -> Floats:
    """Differences of rows from the row before, which is made as heavy (b - 1, 1); None: it is already."""
    before = rows[..., :-1, :]
    return np.asarray(rows[..., 1:, :] - (before if growth is None else before * growth))
