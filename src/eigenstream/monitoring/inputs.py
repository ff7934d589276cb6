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
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..learners.knowledge import Floats, Matrix, Vector
from ..learners.marks import Marked
from ..learners.stored import stored_array
from .events import CALM, Notice

KINDS = ("flat", "lively", "gone")

# Rows. Guards against one large step that passes for liveliness; few enough to see a burst early.
TILE = 8
"""Rows whose steps are summed up together."""

# Rows. A value that is there twice in sequence, or missing twice, is no failure of a sensor.
SHORTEST = 3
"""Rows in sequence that are the same, or missing, from which on an input can be flat or gone."""

# A factor. An input that holds its value longer from now on is unusual a few times, not for ever.
LONGER = 2.0
"""Most that an unusual run counts for what is usual, as a multiple of the longest usual one."""

# Tiles. The mean of logarithms is then known to a fifth of their spread.
FIRST = 25
"""Tiles before an input can be lively."""

# Tiles. What is usual is renewed on a grid of row counts, so that rows in between can be judged together.
GROUP = 32
"""Tiles after which they tell what is usual."""

# Few enough to stay in the processor's cache.
AT_ONCE = 512
"""Rows that are declared normal which are followed together."""

# Groups. Where a plant is lively by episodes, that of one tells little of the next.
FIRST_GROUPS = 4
"""Groups of tiles before the spread between them counts, too."""

# Tiles. Usual liveliness of the last 16,000 rows or so.
REMEMBERED = 2000.0
"""Tiles after which those before count half."""

# Logarithms: a third more than ever. Inputs of many plants are lively by bursts.
MORE = 0.3
"""Distance from the largest usual liveliness from which on an input is lively."""

# A logarithm, beyond those of all squares in float64 (709). Stands for none yet.
LARGEST = 1e3
"""Logarithm that no liveliness has."""

# A logarithm: a tenth. Guards against notices about inputs that are always equally lively.
LEAST_SPREAD = 0.1
"""Least spread of the logarithm of an input's liveliness."""

Places = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Rows, and an input in each."""
_NOWHERE: Places = np.zeros(0, np.intp), np.zeros(0, np.intp)


class Inputs(Marked):
    """Usual behaviour of each input, and the notices about what is out of order.

    Parameters
    ----------
    width
        Number of inputs.
    rate
        The share of rows in control that may be out of order, by the liveliness of any input.
    """

    LEARNT = (
        *("last", "runs", "longest", "rising", "steps", "before", "spoilt", "usual", "groups", "open", "on"),
        "rows",
    )

    def __init__(self, width: int, rate: float) -> None:
        self.width, self.rate = width, rate
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
        """The longest of these runs that were usual, as of the last group of tiles."""
        self.rising: NDArray[np.int64] = np.zeros((2, width), dtype=np.int64)
        """The longest of those in the open group."""
        self.steps: Vector = np.zeros(width)
        """Sum of squared steps in the open tile."""
        self.before: Vector = np.full(width, np.nan)
        """The same of the tile before."""
        self.spoilt = False
        """True if a row of the open tile belongs to a fault."""
        self.usual: Matrix = _nothing(width)
        """Number of usual tiles, sums of the logarithms of their liveliness and of squares of these, and the
        largest of them."""
        self.groups: Matrix = np.zeros((3, width))
        """Number of groups of tiles, and sums of the largest of each and of squares of these."""
        self.open: Matrix = _nothing(width)
        """The same of the open group."""
        self.on: dict[tuple[int, int], tuple[int, int]] = {}
        """First and last row of each notice that is on, by kind and input."""

    def learn_normal(self, rows: Floats) -> None:
        """Learn rows that are declared normal, whatever was lively in them."""
        for start in range(0, len(rows), AT_ONCE):
            part = rows[start : start + AT_ONCE]
            self.follow(part, np.zeros(len(part), dtype=bool), (), normal=True)
        for i in range(2):
            self._settle(i)
        self.on = {}

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
        steps = np.empty(X.shape)
        np.subtract(X[0], self.last, out=steps[0])
        np.subtract(X[1:], X[:-1], out=steps[1:])
        last, missing = X[-1], None
        if not np.vdot(steps, steps) < np.inf:  # NaN, or nearly infinite
            missing = np.isnan(X)
            steps, last = self._steps_past_gaps(X, missing)
        same = steps == 0 if missing is None else (steps == 0) & ~missing
        if not (self.runs[0].any() or same.any()):
            same = None
        squares = np.square(steps, out=steps)
        if missing is not None:
            squares = np.nan_to_num(squares)
            missing = missing if missing.any() else None
        early = len(rows) if normal else min(max(FIRST * TILE - first, 0), len(rows))
        found = []
        for i, (kind, goes_on) in enumerate((("flat", same), ("gone", missing))):
            if goes_on is not None or self.runs[i].any() or self.rising[i].any():
                flags = self._longer(i, goes_on, np.arange(len(rows)) < early, faulty, learn=learn)
            else:
                flags = _NOWHERE
            found += self._noticed(kind, *flags, names, first + len(rows))
        lively = self._lively(squares, faulty, learn=learn)
        found += self._noticed("lively", *lively, names, first + len(rows))
        self.last, self.rows = last.copy(), first + len(rows)
        return found

    def _steps_past_gaps(self, X: Matrix, missing: NDArray[np.bool_]) -> tuple[Matrix, Vector]:
        """Steps of rows, where an input that is missing stays where it was, and the last value of each."""
        known = np.concatenate((self.last[None], X))
        if missing.any():
            at = np.where(np.isnan(known), 0, np.arange(len(known))[:, None])
            known = np.take_along_axis(known, np.maximum.accumulate(at, axis=0), axis=0)
        return np.diff(known, axis=0), known[-1]

    def _longer(
        self,
        i: int,
        same: NDArray[np.bool_] | None,
        early: NDArray[np.bool_],
        faulty: NDArray[np.bool_],
        *,
        learn: bool,
    ) -> Places:
        """Rows and inputs at which a run is too long: of the same values, or of missing ones.

        Parameters
        ----------
        i
            0 for runs of the same values, 1 for missing ones.
        same
            True where a value goes on such a run; None: nowhere.
        early
            True for rows that are declared normal.
        faulty, learn
            As of `follow`.
        """
        going = self.runs[i] > 0
        if same is not None:
            going |= same.any(axis=0)
        some, number = np.flatnonzero(going), len(early)
        here = np.zeros((number, len(some)), dtype=bool) if same is None else same[:, some]
        runs, long = _runs(here, self.runs[i, some]), np.zeros((number, len(some)), dtype=bool)
        for part, ends in self._groups_of(number):
            longest = self.longest[i, some]
            if (runs[part] > longest).any():
                least = self._factors(self.rows + np.arange(part.start, part.stop)) * longest
                long[part] = runs[part] > np.maximum(least, SHORTEST)
                if learn:
                    self._rise(i, some, _usual(runs[part], longest, early[part], faulty[part]))
            if ends:
                self._settle(i)
        if len(some):
            self.runs = self.runs.copy()
            self.runs[i, some] = runs[-1]
        long &= ~early[:, None]
        long &= runs < self.rows + np.arange(number)[:, None]  # not what has never been otherwise
        at, which = np.nonzero(long)
        return self.rows + at, some[which]

    def _groups_of(self, number: int) -> list[tuple[slice, bool]]:
        """The next rows by groups of tiles, and True where one ends, as the first tiles of a stream do."""
        last, group = self.rows + number, GROUP * TILE
        ends = {last, *range(self.rows - self.rows % group + group, last + 1, group)}
        if self.rows < FIRST * TILE < last:
            ends.add(FIRST * TILE)
        bounds = [self.rows, *sorted(ends)]
        return [
            (slice(start - self.rows, end - self.rows), end % group == 0 or end == FIRST * TILE)
            for start, end in pairwise(bounds)
        ]

    def _rise(self, i: int, some: NDArray[np.intp], usual: NDArray[np.int64]) -> None:
        """Count usual runs of some inputs in the open group."""
        usual = np.where(usual > self.longest[i, some], usual, 0)  # the others say nothing new
        self.rising = self.rising.copy()
        self.rising[i, some] = np.maximum(self.rising[i, some], usual)

    def _settle(self, i: int) -> None:
        """End a group: its usual runs join those of before."""
        if self.rising[i].any():
            self.longest, self.rising = self.longest.copy(), self.rising.copy()
            np.maximum(self.longest[i], self.rising[i], out=self.longest[i])
            self.rising[i] = 0

    def _factors(self, rows: NDArray[np.int64]) -> Matrix:
        """Least length of an unusual run at each of these rows, as a multiple of the longest so far.

        If lengths have a geometric tail, the longest of N runs is exceeded by another one c times over with
        probability ``N^-c``. Inputs share the rate; there are as many runs as rows, or fewer.

        On the evaluation's sets a frozen monitor names stuck sensors in .82 of their rows, and an input in
        .05 of calm rows; with a constant 1.25 in .80 and .045.
        """
        runs = np.maximum(rows + 1, 2)[:, None]
        return np.asarray(np.maximum(math.log(self.width / self.rate) / np.log(runs), 1.0))

    def _lively(self, squares: Matrix, faulty: NDArray[np.bool_], *, learn: bool) -> Places:
        """Rows that end a tile in which an input has been too lively, and these inputs."""
        number, first = (self.rows + len(squares)) // TILE, self.rows // TILE
        if number == first:  # the tile goes on
            self.steps = _one_by_one(self.steps, squares)
            self.spoilt = self.spoilt or bool(faulty.any())
            return _NOWHERE
        ended, spoilt = self._ended(squares, faulty)
        lively = np.minimum(np.concatenate((self.before[None], ended[:-1])), ended)  # a step is no burst
        self.before = ended[-1].copy()
        usual = None if spoilt is None and np.minimum.reduce(lively, axis=None) > 0 else lively > 0
        if usual is not None and spoilt is not None:
            usual &= ~spoilt[:, None]
        liveliness = np.log(np.maximum(lively, np.finfo(np.float64).tiny, out=lively), out=lively)
        found = [_NOWHERE]
        for start in range(first - first % GROUP, number, GROUP):
            group = slice(max(start - first, 0), min(start + GROUP, number) - first)
            counted = liveliness[group]
            if (counted > self.usual[3] + MORE).any():  # otherwise none is beyond what is too lively
                most = self._most_lively()
                at, which = (counted > most).nonzero()
                found.append(((first + group.start + at + 1) * TILE - 1, which))
                counted = np.minimum(counted, most)
            if learn:
                self._count(counted, None if usual is None else usual[group], ends=start + GROUP <= number)
        rows, inputs = zip(*found, strict=True)
        return np.concatenate(rows), np.concatenate(inputs)

    def _most_lively(self) -> Vector:
        """Logarithm of the liveliness beyond which each input is too lively; infinite if not known."""
        number, most = self.usual[0], self.usual[3]
        limit = np.maximum(_far_off(self.usual[:3], self.far), most + MORE)
        known = self.groups[0] >= FIRST_GROUPS
        limit = np.where(known, np.maximum(limit, _far_off(self.groups, self.far)), limit)
        return np.where(number >= FIRST, limit, np.inf)

    def _count(self, liveliness: Matrix, usual: NDArray[np.bool_] | None, *, ends: bool) -> None:
        """Count usual tiles of a group, all if None; at its end they join those of before."""
        added, largest = np.empty((1 + len(liveliness), 2, self.width)), liveliness
        added[0], added[1:, 0], number = self.open[1:3], liveliness, np.asarray(float(len(liveliness)))
        if usual is not None:
            added[1:, 0] = np.where(usual, liveliness, 0.0)
            largest = np.where(usual, liveliness, -LARGEST)
            number = np.add.reduce(usual, axis=0)
        np.square(added[1:, 0], out=added[1:, 1])
        counted = np.empty((4, self.width))
        counted[0] = self.open[0] + number
        np.add.reduce(added, out=counted[1:3])  # one by one: how rows are cut does not matter
        np.maximum(self.open[3], np.maximum.reduce(largest), out=counted[3])
        self.open = counted
        if ends:
            told, usual_so_far, groups = counted[0] > 0, np.empty((4, self.width)), self.groups.copy()
            np.add(self.usual[:3], counted[:3], out=usual_so_far[:3])
            many = usual_so_far[0] > REMEMBERED
            if many.any():
                usual_so_far[:3, many] /= 2
            np.maximum(self.usual[3], counted[3], out=usual_so_far[3])
            largest = np.where(told, counted[3], 0.0)
            groups[0] += told
            groups[1] += largest
            groups[2] += largest * largest
            self.usual, self.groups = usual_so_far, groups
            self.open = _nothing(self.width)

    def _ended(self, squares: Matrix, faulty: NDArray[np.bool_]) -> tuple[Matrix, NDArray[np.bool_] | None]:
        """Sums of squared steps of the tiles that end in these rows, and which have rows of a fault, if any.

        Rows behind them begin the open tile.
        """
        start = -self.rows % TILE
        stop = start + (len(squares) - start) // TILE * TILE
        ended = _sums_of_tiles(squares[start:stop])
        if start:
            ended = np.concatenate((_one_by_one(self.steps, squares[:start])[None], ended))
        spoilt = None
        if self.spoilt or faulty.any():
            spoilt = np.logical_or.reduce(faulty[start:stop].reshape(-1, TILE), axis=1)
            if start:
                spoilt = np.append(self.spoilt or faulty[:start].any(), spoilt)
        self.steps = _one_by_one(np.zeros(self.width), squares[stop:])
        self.spoilt = bool(faulty[stop:].any())
        return ended, spoilt

    def _noticed(
        self, kind: str, rows: NDArray[np.intp], inputs: NDArray[np.intp], names: Sequence[str], end: int
    ) -> list[Notice]:
        """Notices of one kind that began or ended, from rows and inputs that are out of order.

        A notice ends after `CALM` rows in order: one that is told on and off with each pause helps nobody.
        """
        if not self.on and not len(inputs):
            return []
        number, found = KINDS.index(kind), []
        affected = {*inputs.tolist(), *(i for k, i in self.on if k == number)}
        names = names or [f"x{i}" for i in range(self.width)]
        on = dict(self.on)
        for i in sorted(affected):
            mine = rows[inputs == i]
            breaks = np.flatnonzero(np.diff(mine) > 1 + CALM)
            together = np.split(mine, breaks + 1) if len(mine) else []
            for start, last in ((int(part[0]), int(part[-1])) for part in together):
                began, before = on.get((number, i), (-1, -1))
                if began >= 0 and start > before + 1 + CALM:
                    found.append(Notice(kind, began, before + 1, names[i]))
                    began = -1
                if began < 0:
                    found.append(Notice(kind, start, None, names[i]))
                on[number, i] = (start if began < 0 else began, last)
            began, before = on[number, i]
            if end > before + 1 + CALM:
                found.append(Notice(kind, began, before + 1, names[i]))
                del on[number, i]
        self.on = on
        return found

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]], width: int, rate: float) -> Self:
        """Restore the stored form; a ValueError if it is damaged."""
        found = cls(width, rate)
        found.last = stored_array(arrays, "last", (width,), gaps=True)
        found.runs = stored_array(arrays, "runs", (2, width), np.int64, least=0)
        found.longest = stored_array(arrays, "longest", (2, width), np.int64, least=0)
        found.rising = stored_array(arrays, "rising", (2, width), np.int64, least=0)
        found.steps, found.before = stored_array(arrays, "steps", (2, width), gaps=True)
        found.usual, found.open = stored_array(arrays, "usual", (2, 4, width))
        found.groups = stored_array(arrays, "groups", (3, width))
        rows, spoilt = stored_array(arrays, "rows", (2,), np.int64, least=0).tolist()
        found.rows, found.spoilt = rows, bool(spoilt)
        for kind, i, began, last in stored_array(arrays, "on", (None, 4), np.int64, least=0).tolist():
            if kind >= len(KINDS) or i >= width:
                raise ValueError(
                    f"a notice of kind {kind} for input {i}: there are {len(KINDS)} kinds and {width} inputs"
                )
            found.on[kind, i] = began, last
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The stored form."""
        on = [[*key, *value] for key, value in sorted(self.on.items())]
        return {
            "last": self.last,
            "runs": self.runs,
            "longest": self.longest,
            "rising": self.rising,
            "steps": np.stack((self.steps, self.before)),
            "usual": np.stack((self.usual, self.open)),
            "groups": self.groups,
            "on": np.array(on, dtype=np.int64).reshape(-1, 4),
            "rows": np.array([self.rows, self.spoilt], dtype=np.int64),
        }


def _usual(
    runs: NDArray[np.int64],
    longest: NDArray[np.int64],
    early: NDArray[np.bool_],
    faulty: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Longest run of each input that counts as usual: one that is too long counts as a little."""
    usual = np.minimum(runs, np.where(early[:, None], runs, (LONGER * longest).astype(np.int64)))
    usual = np.maximum(usual, np.minimum(runs, SHORTEST))
    return np.asarray(np.where((faulty & ~early)[:, None], 0, usual).max(axis=0))


def _far_off(sums: Matrix, far: float) -> Vector:
    """Mean plus ``far`` spreads of values, by their number, their sum and that of their squares."""
    number = np.maximum(sums[0], 1)
    mean = sums[1] / number
    return np.asarray(mean + far * np.sqrt(np.maximum(sums[2] / number - mean * mean, LEAST_SPREAD**2)))


def _nothing(width: int) -> Matrix:
    found = np.zeros((4, width))
    found[3] = -LARGEST
    return found


def _one_by_one(start: Vector, rows: Matrix) -> Vector:
    """A sum from a start on, in the order of the rows."""
    for row in rows:
        start = start + row
    return start


def _sums_of_tiles(rows: Matrix) -> Matrix:
    """Sum of the rows of each whole tile."""
    sums = rows[::TILE].copy()
    for i in range(1, TILE):  # one by one: how rows are cut does not matter
        sums += rows[i::TILE]
    return sums


def _runs(same: NDArray[np.bool_], before: NDArray[np.int64]) -> NDArray[np.int64]:
    """Length of the run of rows that are the same, up to each row (T, n)."""
    rows = np.arange(1, len(same) + 1)[:, None]
    broken = np.maximum.accumulate(np.where(same, 0, rows), axis=0)
    return np.where(broken > 0, rows - broken, before + rows)
