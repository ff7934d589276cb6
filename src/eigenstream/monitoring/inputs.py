"""Inputs that do not behave as usual, each for itself: flat, lively, or gone.

- *Flat*: an input repeats its value for longer than it ever did: a stuck sensor.
- *Lively*: its squared steps in each of two tiles of rows are far larger than usual: a burst of noise.
- *Gone*: it has no value for longer than it ever had none.

These are notices of their own, with the name of the input. In one index with the distances they would cost
detection of everything else. Tiles begin at fixed row counts: how rows are cut into calls does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..learners.knowledge import Floats, Matrix, Vector
from ..learners.marks import Marked
from ..learners.stored import stored_array
from .events import Notice

KINDS = ("flat", "lively", "gone")

TILE = 8
"""Rows whose steps are summed up together."""

# Rows. A value that is there twice in sequence, or missing twice, is no failure of a sensor.
SHORTEST = 3
"""Rows in sequence that are the same, or missing, from which on an input can be flat or gone."""

# A factor. The longest run of some thousand rows is not the longest there can be.
LONGER = 1.5
"""How much longer than the longest usual run a run has to be."""

# Tiles. The mean of logarithms is then known to a fifth of their spread.
FIRST = 25
"""Tiles before an input can be lively."""

# Tiles. Usual liveliness of the last 16,000 rows or so.
REMEMBERED = 2000.0
"""Tiles after which those before count half."""

# Logarithms: a third more than ever. Inputs of many plants are lively by bursts.
MORE = 0.3
"""Distance from the largest usual liveliness from which on an input is lively."""

LARGEST = 1e3
"""Logarithm that no liveliness has."""

LEAST_SPREAD = 0.1
"""Least spread of the logarithm of an input's liveliness."""

# Rows. A burst with pauses is one.
CALM = 16
"""Rows in order that end a notice."""


class Inputs(Marked):
    """What is usual of each input, and what is out of order.

    Parameters
    ----------
    width
        Number of inputs.
    rate
        The share of rows in control that may be out of order, by the liveliness of any input.
    """

    LEARNT = ("last", "runs", "longest", "steps", "before", "spoilt", "usual", "on", "rows")

    def __init__(self, width: int, rate: float) -> None:
        self.width = width
        # Inputs share the rate; the tail of a normal distribution falls like exp(-z² / 2).
        self.far = math.sqrt(2 * math.log(2 * width / rate))
        """Distance from usual liveliness, in spreads, from which on an input is lively."""
        self.rows = 0
        """Rows that came."""
        self.last: Vector = np.full(width, np.nan)
        """The last value of each input."""
        self.runs: NDArray[np.int64] = np.zeros((2, width), dtype=np.int64)
        """Rows since which it is the same, and since which it is missing."""
        self.longest: NDArray[np.int64] = np.zeros((2, width), dtype=np.int64)
        """The longest of these runs so far that were usual."""
        self.steps: Vector = np.zeros(width)
        """Sum of squared steps in the open tile."""
        self.before: Vector = np.full(width, np.nan)
        """The same of the tile before."""
        self.spoilt = False
        """True if a row of the open tile belongs to a fault."""
        self.usual: Matrix = np.zeros((4, width))
        """Number of usual tiles, sums of the logarithms of their liveliness and of squares of these, and the
        largest of them."""
        self.usual[3] = -LARGEST
        self.on: dict[tuple[int, int], tuple[int, int]] = {}
        """Where each notice that is on began, and its last row, by kind and input."""

    def follow(
        self,
        rows: Floats,
        faulty: NDArray[np.bool_],
        names: Sequence[str],
        *,
        learn: bool = True,
        normal: bool = False,
    ) -> list[Notice]:
        """Follow rows; returns notices that began or ended.

        Parameters
        ----------
        rows
            The rows as they come, NaN where a value is missing.
        faulty
            True for rows that say nothing about what is usual.
        names
            Names of the inputs; empty: x0, x1, and so on.
        learn
            Whether what is usual is learnt.
        normal
            Whether all rows are declared normal; the first of a stream are.
        """
        if not len(rows):
            return []
        first, X = self.rows, np.asarray(rows, dtype=np.float64)
        missing = np.isnan(X)
        known = np.concatenate((self.last[None], X))
        if missing.any():  # an input that is missing stays where it was
            at = np.where(np.isnan(known), 0, np.arange(len(known))[:, None])
            known = np.take_along_axis(known, np.maximum.accumulate(at, axis=0), axis=0)
        steps = np.diff(known, axis=0)
        still = (steps == 0) & ~missing
        flags = {}
        for i, (kind, same) in enumerate((("flat", still), ("gone", missing))):
            runs = _runs(same, self.runs[i])
            most = np.maximum(LONGER * self.longest[i], SHORTEST)
            came = first + np.arange(len(rows))[:, None]
            early = normal | (came < FIRST * TILE)
            flags[kind] = (runs > most) & ~early & (runs < came)  # not what has never been otherwise
            if learn:
                usual = np.where(flags[kind] | (faulty[:, None] & ~early), 0, runs)
                self.longest = self.longest.copy()
                self.longest[i] = np.maximum(self.longest[i], usual.max(axis=0))
            self.runs = self.runs.copy()
            self.runs[i] = runs[-1]
        flags["lively"] = self._lively(np.nan_to_num(np.square(steps)), faulty, learn=learn)
        self.last, self.rows = known[-1].copy(), first + len(rows)
        called = names or [f"x{i}" for i in range(self.width)]
        return [notice for kind in KINDS for notice in self._noticed(kind, flags[kind], first, called)]

    def _lively(self, squares: Matrix, faulty: NDArray[np.bool_], *, learn: bool) -> NDArray[np.bool_]:
        """True for rows at whose end of a tile an input has been too lively."""
        flags = np.zeros(squares.shape, dtype=bool)
        ends = np.flatnonzero((self.rows + np.arange(len(squares)) + 1) % TILE == 0)
        start = 0
        for end in ends.tolist():
            tile, spoilt = self._tile(squares[start : end + 1], faulty[start : end + 1])
            lively = np.minimum(self.before, tile)  # of both: a single step is no burst
            liveliness = np.log(np.maximum(lively, np.finfo(np.float64).tiny))
            number, total, square, most = self.usual
            mean = total / np.maximum(number, 1)
            spread = np.sqrt(np.maximum(square / np.maximum(number, 1) - mean * mean, LEAST_SPREAD**2))
            with np.errstate(invalid="ignore"):
                odd = liveliness > np.maximum(mean + self.far * spread, most + MORE)
                flags[end] = (number >= FIRST) & odd
            if learn and not spoilt:
                varies = ~flags[end] & (lively > 0)
                seen = np.where(varies, liveliness, 0.0)
                usual = self.usual[:3] + np.stack((varies, seen, seen * seen))
                usual = np.where(usual[0] > REMEMBERED, usual / 2, usual)
                self.usual = np.vstack((usual, np.where(varies, np.maximum(most, liveliness), most)))
            self.before, self.steps, self.spoilt, start = tile, np.zeros(self.width), False, end + 1
        self.steps, self.spoilt = self._tile(squares[start:], faulty[start:])
        return flags

    def _tile(self, squares: Matrix, faulty: NDArray[np.bool_]) -> tuple[Vector, bool]:
        """The open tile with these rows: added one by one, so that calls do not matter."""
        together = np.zeros((len(squares) + 1, self.width + 1))  # a column more: one alone is added otherwise
        together[0, :-1], together[1:, :-1] = self.steps, squares
        return np.add.reduce(together)[:-1], self.spoilt or bool(faulty.any())

    def _noticed(self, kind: str, flags: NDArray[np.bool_], first: int, names: Sequence[str]) -> list[Notice]:
        """Notices of one kind that began or ended."""
        number, end, found = KINDS.index(kind), first + len(flags), []
        on = dict(self.on)
        for i in sorted({*np.flatnonzero(flags.any(axis=0)).tolist(), *(i for k, i in on if k == number)}):
            calm = CALM if kind == "lively" else 0  # tiles end every few rows
            for row in [*(first + np.flatnonzero(flags[:, i])).tolist(), None]:
                began, last = on.get((number, i), (-1, -1))
                if began >= 0 and (end if row is None else row) > last + 1 + calm:
                    found.append(Notice(kind, began, last + 1 + calm, names[i]))
                    del on[number, i]
                    began = -1
                if row is not None:
                    if began < 0:
                        found.append(Notice(kind, row, None, names[i]))
                    on[number, i] = (row if began < 0 else began, row)
        self.on = on
        return found

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]], width: int, rate: float) -> Self:
        """What `arrays` wrote; a ValueError where it cannot be."""
        found = cls(width, rate)
        found.last = stored_array(arrays, "last", (width,), gaps=True)
        found.runs = stored_array(arrays, "runs", (2, width), np.int64, least=0)
        found.longest = stored_array(arrays, "longest", (2, width), np.int64, least=0)
        found.steps, found.before = stored_array(arrays, "steps", (2, width), gaps=True)
        found.usual = stored_array(arrays, "usual", (4, width))
        rows, spoilt = stored_array(arrays, "rows", (2,), np.int64, least=0).tolist()
        found.rows, found.spoilt = rows, bool(spoilt)
        for kind, i, began, last in stored_array(arrays, "on", (None, 4), np.int64, least=0).tolist():
            if kind >= len(KINDS) or i >= width:
                raise ValueError(f"a notice of kind {kind} for input {i} cannot be")
            found.on[kind, i] = began, last
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The stored form."""
        on = [[*key, *value] for key, value in self.on.items()]
        return {
            "last": self.last,
            "runs": self.runs,
            "longest": self.longest,
            "steps": np.stack((self.steps, self.before)),
            "usual": self.usual,
            "on": np.array(on, dtype=np.int64).reshape(-1, 4),
            "rows": np.array([self.rows, self.spoilt], dtype=np.int64),
        }


def _runs(same: NDArray[np.bool_], before: NDArray[np.int64]) -> NDArray[np.int64]:
    """Length of the run of rows that are the same, up to each row (T, n)."""
    rows = np.arange(1, len(same) + 1)[:, None]
    broken = np.maximum.accumulate(np.where(same, 0, rows), axis=0)
    return np.where(broken > 0, rows - broken, before + rows)
