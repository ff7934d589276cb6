"""Lines of text as rows of numbers: what CSV and JSON lines have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .batch import Hint, SourceError
from .lines import Piece

WIDEST_TEXT = 2**20
"""Columns a text may have."""
FEW = 32
"""Lines that are no longer halved to find the one that needs care."""


class Complaint(NamedTuple):
    """What is wrong with a line."""

    column: str
    what: str
    hints: tuple[Hint, ...] = ()


Parsed = tuple[NDArray[np.float64], list[tuple[int, Complaint]]]
"""Rows, and what is wrong with some of them."""


class Parser(ABC):
    """From lines to numbers."""

    width: int
    full: int
    """Columns there are, chosen or not."""
    names: list[str] | None
    kept: Sequence[str] = ()
    """What the columns are called that are handed out as text."""
    titled: bool = False
    """Whether the first line is not data."""

    @abstractmethod
    def quick(self, piece: Piece) -> NDArray[np.float64] | None:
        """All lines at once; None if one of them needs a closer look."""

    @abstractmethod
    def row(self, line: bytes) -> list[float] | Complaint:
        """One line with care."""

    @abstractmethod
    def texts(self, line: bytes) -> list[str]:
        """The cells of one line that are kept as text; empty where there are none."""

    @abstractmethod
    def column(self, number: int) -> str:
        """What to call a column in a message."""

    def note(self) -> str | None:
        """What somebody may want to know about how the lines are read."""
        return None

    def parsed(self, piece: Piece) -> Parsed:
        """Rows, and what is wrong with some of them; halves the lines until most can be read at once."""
        quick = self.quick(piece)
        if quick is not None:
            return quick, []
        if len(piece) > FEW:
            middle = len(piece) // 2
            rows, bad = self.parsed(piece.part(0, middle))
            more, worse = self.parsed(piece.part(middle, len(piece)))
            return np.concatenate((rows, more)), bad + [(i + middle, what) for i, what in worse]
        return self._one_by_one(piece)

    def _one_by_one(self, piece: Piece) -> Parsed:
        rows, bad = np.zeros((len(piece), self.width)), []
        for i, line in enumerate(piece.lines()):
            found = self.row(line)
            if isinstance(found, Complaint):
                bad.append((i, found))
            else:
                rows[i] = found
        return rows, bad


def refuse_wide(columns: int, source: str, line: int) -> None:
    """An error if a line has more columns than a text may have, before anything is made of them."""
    if columns > WIDEST_TEXT:
        raise SourceError(f"{source}, line {line}: more than {WIDEST_TEXT:,} columns, which text may have")


def shortened(text: str) -> str:
    """For a message."""
    return repr(text.strip() if len(text) <= 40 else text[:80].strip()[:37] + "...")
