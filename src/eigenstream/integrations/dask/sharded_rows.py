"""Rows whose columns are spread over workers, as a value that a tracker can cut and let wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from distributed import Future


class Stretch(NamedTuple):
    """Rows of a chunk from ``start`` to ``stop``: one array per shard, in the memory of the workers."""

    pieces: Sequence[Future]
    start: int
    stop: int


class ShardedRows:
    """Rows in the memory of workers, with the operations that a tracker asks of rows.

    Parameters
    ----------
    dtype
        Their type.
    stretches
        Where they lie, in order.
    """

    device = "workers"
    """Where they live: not on the host."""

    def __init__(self, dtype: Any, stretches: Sequence[Stretch] = ()) -> None:
        self.dtype = np.dtype(dtype)
        self.stretches = tuple(stretches)

    def __len__(self) -> int:
        return sum(stretch.stop - stretch.start for stretch in self.stretches)

    def __getitem__(self, rows: slice) -> ShardedRows:
        first, last, _ = rows.indices(len(self))
        found = []
        for pieces, start, stop in self.stretches:
            part = range(start, stop)[max(first, 0) : max(last, 0)]
            if part:
                found.append(Stretch(pieces, part.start, part.stop))
            first, last = first - (stop - start), last - (stop - start)
        return ShardedRows(self.dtype, found)

    def __setitem__(self, place: slice, rows: ShardedRows) -> None:
        """Put rows at a place; what was there and behind it goes."""
        self.stretches = (*self[: place.start or 0].stretches, *rows.stretches)

    def copy(self) -> ShardedRows:
        return self[:]

    def of_shard(self, s: int) -> list[Future]:
        """The arrays of one shard that the rows lie in, in the order of `bounds`."""
        return [stretch.pieces[s] for stretch in self.stretches]

    @property
    def bounds(self) -> list[tuple[int, int]]:
        """First row and end of the rows in each of these arrays."""
        return [(stretch.start, stretch.stop) for stretch in self.stretches]
