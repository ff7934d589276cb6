"""Parsers of lines of text: the common part of CSV and JSON lines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .batch import Hint, SourceError
from .lines import Piece

WIDEST_TEXT = 2**20
"""Most columns of a text: a line of commas alone is refused before an object is made of each."""
FEW = 32
"""Lines that are parsed one by one instead of halved again to find the one that needs care."""


class Complaint(NamedTuple):
    """Reason why a line cannot be parsed."""

    column: str
    what: str
    hints: tuple[Hint, ...] = ()


Parsed = tuple[NDArray[np.float64], list[tuple[int, Complaint]]]
"""Rows, and the numbers of bad lines with the reasons."""


class Parser(ABC):
    """Abstract: parses lines of numbers."""

    width: int
    full: int
    """Number of columns, chosen or not."""
    names: list[str] | None
    kept: Sequence[str] = ()
    """Names of the columns kept as text."""
    titled: bool = False
    """True if the first line holds names."""

    @abstractmethod
    def quick(self, piece: Piece) -> NDArray[np.float64] | None:
        """Parse all lines at once; None if one of them needs care."""

    @abstractmethod
    def row(self, line: bytes) -> list[float] | Complaint:
        """Parse one line with care."""

    @abstractmethod
    def texts(self, line: bytes) -> list[str]:
        """Return the cells of one line kept as text, empty where it has none."""

    @abstractmethod
    def column(self, number: int) -> str:
        """Return the name of a column for a message."""

    def note(self) -> str | None:
        """Return a remark for a person about how the lines are read, if there is one."""
        return None

    def parsed(self, piece: Piece) -> Parsed:
        """Parse lines; halve them until most can be parsed at once."""
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
    """Raise if a line has more columns than a text may have."""
    if columns > WIDEST_TEXT:
        raise SourceError(f"{source}, line {line}: more than {WIDEST_TEXT:,} columns, which text may have")


def shortened(text: str) -> str:
    """Return the text for a message, cut to 40 characters."""
    return repr(text.strip() if len(text) <= 40 else text[:80].strip()[:37] + "...")
