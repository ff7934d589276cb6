"""The arrays of many exact trackers, one entry per tracker."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..learners.knowledge import Floats
from ..learners.lags import LagSums, are_alike
from ..learners.moves import Moves
from ..model.plan import Plan


@dataclass
class Stacks:
    """Arrays that trackers touch with every block of rows, named as in `Tracker` and `Scatter`."""

    waiting: Floats
    C: NDArray[np.float64]
    origin: NDArray[np.float64]
    offset: NDArray[np.float64]
    count: NDArray[np.float64]
    lag_sums: NDArray[np.float64]
    """This and what follows: the parts of `LagSums`."""
    lag_pairs: NDArray[np.float64]
    lag_inputs: NDArray[np.float64]
    lag_blocks: NDArray[np.int64]
    lag_faded: NDArray[np.float64]
    moves_along: NDArray[np.float64]
    """This and what follows: the parts of `Moves`."""
    moves_shared: NDArray[np.float64]
    moves_inputs: NDArray[np.float64]
    moves_totals: NDArray[np.float64]
    time: NDArray[np.int64]
    look_at: NDArray[np.int64]
    all_vary: NDArray[np.bool_]
    axes_before: NDArray[np.float64]
    """The aligned axes of the last look, of which there are ``n_axes``."""
    n_axes: NDArray[np.int64]
    rank: NDArray[np.int64]
    """Scores rest on this and what follows: as of the last block and look."""
    mean: Floats
    axes: Floats
    factors: Floats

    @classmethod
    def of(cls, plan: Plan, slots: int) -> Self:
        """Zeros for the trackers of these slots, all with this plan."""
        n, k, b, dtype = plan.n, plan.k, plan.block, plan.dtype
        lags = LagSums.none(n, k)
        return cls(
            waiting=np.zeros((slots, b, n), dtype),
            C=np.zeros((slots, n, n)),
            origin=np.zeros((slots, n)),
            offset=np.zeros((slots, n)),
            count=np.zeros(slots),
            lag_sums=np.zeros((slots, *lags.sums.shape)),
            lag_pairs=np.zeros((slots, *lags.pairs.shape)),
            lag_inputs=np.zeros((slots, *lags.inputs.shape)),
            lag_blocks=np.zeros(slots, np.int64),
            lag_faded=np.ones(slots),
            **{name: np.zeros((slots, *part.shape)) for name, part in lags.moves.arrays().items()},
            time=np.zeros(slots, np.int64),
            look_at=np.zeros(slots, np.int64),
            all_vary=np.zeros(slots, np.bool_),
            axes_before=np.zeros((slots, k, n)),
            n_axes=np.zeros(slots, np.int64),
            rank=np.zeros(slots, np.int64),
            mean=np.zeros((slots, n), dtype),
            axes=np.zeros((slots, k, n), dtype),
            factors=np.zeros((slots, k), dtype),
        )

    def lags(self, slot: int) -> LagSums:
        """Likeness of rows to their predecessors in one tracker."""
        sums, pairs = self.lag_sums[slot].copy(), self.lag_pairs[slot].copy()
        inputs = self.lag_inputs[slot].copy()
        blocks, faded = int(self.lag_blocks[slot]), float(self.lag_faded[slot])
        moves = Moves(*(part.copy() for part in self.moves(slot)))
        return LagSums(sums, pairs, inputs, moves, blocks, faded, bool(are_alike(sums, pairs)))

    def moves(self, slots: Any) -> Moves:
        """Differences from row to row in these trackers."""
        parts = self.moves_along, self.moves_shared, self.moves_inputs, self.moves_totals
        return Moves(*(part[slots] for part in parts))

    def take_moves(self, slots: Any, moves: Moves) -> None:
        """Take over differences from row to row."""
        for name, part in moves.arrays().items():
            getattr(self, name)[slots] = part

    def take_lags(self, slot: int, lags: LagSums) -> None:
        """Take over likeness of rows to their predecessors."""
        self.lag_sums[slot], self.lag_pairs[slot] = lags.sums, lags.pairs
        self.lag_inputs[slot] = lags.inputs
        self.lag_blocks[slot], self.lag_faded[slot] = lags.blocks, lags.faded
        self.take_moves(slot, lags.moves)

    def entries(self, slots: NDArray[np.intp]) -> list[NDArray[Any]]:
        """Copies of the entries of some trackers."""
        return [getattr(self, stack.name)[slots] for stack in fields(self)]

    def put_back(self, slots: NDArray[np.intp], entries: list[NDArray[Any]]) -> None:
        """Put back what `entries` gave."""
        for stack, before in zip(fields(self), entries, strict=True):
            getattr(self, stack.name)[slots] = before

    def take_over(self, fewer: Stacks) -> None:
        """Copy the entries of fewer trackers."""
        for stack in fields(self):
            before = getattr(fewer, stack.name)
            getattr(self, stack.name)[: len(before)] = before
