"""The inputs of a stream that have varied so far: constant ones are not noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..learners.arrays import beside, host
from ..learners.knowledge import Floats
from ..learners.marks import Marked
from ..learners.sparse import SparseRows


class Varying(Marked):
    """The first value of each input, and which inputs have had another one since.

    Parameters
    ----------
    n, dtype
        Width and type of the rows.
    """

    LEARNT = ("first", "varies", "all_vary")

    def __init__(self, n: int, dtype: Any) -> None:
        self.first: Floats = np.full(n, np.nan, dtype=dtype)
        """NaN where an input has had no value yet."""
        self.varies: NDArray[np.bool_] = np.zeros(n, dtype=bool)
        self.all_vary = not n

    @property
    def number(self) -> int:
        """Number of inputs that vary; at least 1."""
        return max(int(self.varies.sum()), 1)

    @property
    def all_seen(self) -> bool:
        """True if every input has had a value."""
        return not np.isnan(self.first).any()

    def see(self, rows: Floats) -> None:
        """Take note of rows, which may have gaps."""
        if isinstance(rows, SparseRows):
            if not self.all_seen:
                self.first = np.where(np.isnan(self.first), rows[:1].get()[0], self.first)
            self.set(self.first, self.varies | rows.differ_from(self.first))
            return
        self.first, self.varies = beside(self.first, rows), beside(self.varies, rows)
        self._see(rows[:2])
        if not self.all_vary and len(rows) > 2:  # two rows are enough, most of the time
            self._see(rows[2:])

    def _see(self, rows: Floats) -> None:
        """Take note of rows that live where the first values do."""
        unseen = np.flatnonzero(np.isnan(self.first))
        observed = ~np.isnan(rows)
        came = unseen[observed[:, unseen].any(axis=0)]
        if len(came):
            self.first = self.first.copy()  # another array: a mark may hold the one before
            self.first[came] = rows[np.argmax(observed[:, came], axis=0), came]
        self.set(self.first, self.varies | ((rows != self.first) & observed).any(axis=0))

    def on_host(self) -> Varying:
        """The same with NumPy's arrays."""
        other = Varying(len(self.first), self.first.dtype)
        other.set(host(self.first), host(self.varies))
        return other

    def set(self, first: Floats, varies: NDArray[np.bool_]) -> None:
        """Go on from these."""
        self.first, self.varies, self.all_vary = first, varies, bool(varies.all())
