"""What a source hands out: batches of rows, and the place where each of them ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Place = dict[str, Any]
"""Where reading goes on, in a reader's own terms; JSON can hold it."""

CELLS = 2**22
"""Numbers that are held at a time, unless asked otherwise."""


class SourceError(ValueError):
    """A source that cannot be read (on): says where and why."""


class BadValue(NamedTuple):
    """Why a row cannot be used."""

    row: int
    """Which row of its chunk."""
    where: str
    """Line, column and the like."""
    what: str


class Chunk(NamedTuple):
    """Rows as a reader found them."""

    rows: Floats
    numbers: NDArray[np.int64]
    """The place of each in the source: rows of data counted from 0."""
    bad: list[BadValue]
    """Rows that could not be understood; their numbers mean nothing."""


@dataclass(frozen=True)
class Batch:
    """Rows that end on a point of the grid (or at the end of the source)."""

    rows: Floats
    numbers: NDArray[np.int64]
    """Which rows of the source these are, counted from 0; rows that were left out are missing."""
    count: int
    """Rows handed out so far, these included."""
    skipped: int
    """Rows left out so far."""
    locate: Callable[[], Place]

    @cached_property
    def position(self) -> dict[str, Any]:
        """Where the source goes on after this batch, for `sources.open`; JSON can hold it."""
        return {"rows": self.count, "skipped": self.skipped, **self.locate()}


class Reader(ABC):
    """One kind of source: rows in order, from a place on."""

    kind: str
    name: str
    """For messages: a file name, or "standard input"."""
    width: int
    full: int
    """How many columns there are, chosen or not: reading a row takes memory for all of them."""
    names: list[str] | None = None
    """Of the columns chosen."""
    live = False
    """Whether rows come as they happen."""
    unit = "rows"
    """What `behind` counts in."""
    total: int | None = None
    """How many rows there are, where that is known."""

    @abstractmethod
    def take(self, count: int) -> Chunk | None:
        """At most so many rows from here on; None at the end."""

    @abstractmethod
    def pass_over(self, count: int) -> None:
        """Leave out so many rows without looking at them."""

    @abstractmethod
    def place(self) -> Callable[[], Place]:
        """The place reached, to be worked out if anyone asks."""

    @abstractmethod
    def go_to(self, place: Place) -> None:
        """Continue from a place; a `SourceError` if what lies before it is not what it was."""

    @abstractmethod
    def where(self, chunk: Chunk, row: int, column: int) -> str:
        """The place of one value, for a message."""

    def progress(self) -> float | None:
        """The share that has been read, where it can be told."""
        return None

    def behind(self) -> int | None:
        """How much waits to be read, where it can be told."""
        return None

    def close(self) -> None:  # noqa: B027
        """Let go of files."""
