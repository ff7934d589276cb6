"""Counts of a filling: gaps, places of those that were left, and numbers that may mean a gap."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Rows. As many places as a line has room for.
SHOWN = 3
"""First rows of each column whose gaps were left that are remembered."""

# Rows. A number that is there less often may be a value as well.
OFTEN = 10
"""Least number of rows of a column that hold the same number, if it may stand for a missing value."""


class StandIn(NamedTuple):
    """A number that may stand for a missing value."""

    value: float
    times: int
    """Number of times that it is there, in all columns where it is the smallest or the largest number."""
    column: int
    """The column in which it is most often."""


@dataclass
class Extreme:
    """The smallest number of each column, the number of times that it is there, and the range of the others.

    A number that stands for a missing value, such as -200, is farther from all others of a column than these
    are from each other, and comes again and again.
    """

    least: NDArray[np.float64]
    times: NDArray[np.int64]
    second: NDArray[np.float64]
    """The smallest of the others."""
    most: NDArray[np.float64]

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> Extreme:
        """Of these rows, whose gaps are infinite."""
        least = rows.min(axis=0, initial=np.inf)
        same = rows == least
        second = np.where(same, np.inf, rows).min(axis=0, initial=np.inf)
        most = np.where(np.isinf(rows), -np.inf, rows).max(axis=0, initial=-np.inf)
        return cls(least, np.count_nonzero(same & np.isfinite(least), axis=0), second, most)

    def __add__(self, other: Extreme) -> Extreme:
        """Of the rows of both."""
        least = np.minimum(self.least, other.least)
        times = self.times * (self.least == least) + other.times * (other.least == least)
        seconds = [
            np.where(one.least == least, one.second, np.minimum(one.least, one.second))
            for one in (self, other)
        ]
        return Extreme(least, times, np.minimum(*seconds), np.maximum(self.most, other.most))

    def suspicious(self) -> NDArray[np.bool_]:
        """True for columns whose smallest number may stand for a missing value; 0 may well be a value."""
        with np.errstate(invalid="ignore"):
            apart = self.second - self.least > self.most - self.second
        varied = np.isfinite(self.second) & (self.most > self.second)
        return np.asarray(apart & varied & (self.times >= OFTEN) & (self.least != 0))


@dataclass
class StandIns:
    """Numbers that may stand for missing values, among the rows that were seen."""

    extremes: list[Extreme] = field(default_factory=list)
    """The smallest numbers, and the smallest of all with their signs changed."""

    def see(self, rows: NDArray[np.float64], gaps: NDArray[np.bool_]) -> None:
        """Take in rows, with True for each value that is missing."""
        new = [Extreme.of(np.where(gaps, np.inf, one)) for one in (rows, -rows)]
        self.extremes = [a + b for a, b in zip(self.extremes, new, strict=True)] if self.extremes else new

    @property
    def likeliest(self) -> StandIn | None:
        """The number that most likely stands for a missing value; None if there is none."""
        found = Counter[float]()
        where: dict[float, tuple[int, int]] = {}
        for sign, extreme in zip((1, -1), self.extremes, strict=False):
            values = set((sign * extreme.least[extreme.suspicious()]).tolist())
            for i in np.flatnonzero(np.isin(sign * extreme.least, list(values))).tolist():
                value, times = sign * float(extreme.least[i]), int(extreme.times[i])
                found[value] += times
                where[value] = max(where.get(value, (0, 0)), (times, i))
        if not found:
            return None
        value, times = found.most_common(1)[0]
        return StandIn(value, times, where[value][1])


@dataclass
class FillOutcome:
    """Outcome of filling."""

    rows: int = 0
    gaps: int = 0
    """Missing values in all of them."""
    skipped: int = 0
    """Rows that could not be read, and are copied as they are."""
    empty: int = 0
    """Lines at the end of delimiters alone, which are no rows and are copied as they are."""
    left_of: Counter[int] = field(default_factory=Counter)
    """Gaps of each column that were left as they are, because nothing was known of them."""
    first_left: dict[int, list[int]] = field(default_factory=dict)
    """The first rows of each of these columns, as the source counts them."""
    names: list[str] = field(default_factory=list)
    """Names of the columns."""
    valued: set[int] = field(default_factory=set)
    """Columns that have a value in any row."""
    numbers: StandIns = field(default_factory=StandIns)
    """Numbers that may stand for missing values."""

    @property
    def left(self) -> int:
        """Number of gaps that were left as they are."""
        return self.left_of.total()

    @property
    def filled(self) -> int:
        return self.gaps - self.left

    @property
    def valueless(self) -> list[str]:
        """Names of columns whose gaps were left because they have no value at all."""
        return [self.names[i] for i in sorted(self.left_of) if i not in self.valued]

    @property
    def places_left(self) -> list[tuple[str, int]]:
        """Column and row of the first gaps that were left, of columns that have values."""
        places = [(row, i) for i, rows in self.first_left.items() if i in self.valued for row in rows]
        return [(self.names[i], row) for row, i in sorted(places)[:SHOWN]]

    @property
    def stand_in(self) -> StandIn | None:
        """The number that most likely stands for a missing value; None if there is none."""
        return self.numbers.likeliest

    def see(self, rows: NDArray[Any]) -> None:
        """Take in rows as they were read."""
        X = np.asarray(rows, dtype=np.float64)
        gaps = np.isnan(X)
        self.gaps += int(np.count_nonzero(gaps))
        self.valued.update(np.flatnonzero(~gaps.all(axis=0)).tolist())
        self.numbers.see(X, gaps)

    def leave(self, row: int, columns: list[int]) -> None:
        """Note gaps of this row that were left."""
        self.left_of.update(columns)
        for i in columns:
            places = self.first_left.setdefault(i, [])
            if len(places) < SHOWN:
                places.append(row)

    def drop(self, row: int, known: set[int], width: int) -> None:
        """Take out a row that is an empty line at the end; gaps of ``known`` columns were filled."""
        for i in set(range(width)) - known:
            self.left_of[i] -= 1
            if row in (places := self.first_left.get(i, [])):
                places.remove(row)
        self.left_of = +self.left_of
        self.gaps, self.rows, self.empty = self.gaps - width, self.rows - 1, self.empty + 1
