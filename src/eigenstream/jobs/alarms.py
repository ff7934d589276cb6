"""Alarms in terms of the rows of a source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..keyed.store import Key
    from ..monitoring import Alarm, Contributors

MOST_BREAKS = 256
"""How many places are remembered where row numbers jump, beyond those that are needed."""


@dataclass
class Numbering:
    """Which row of the source each row of a monitor is: the latter counts what came, the former has gaps.

    Examples
    --------
    >>> numbering = Numbering()
    >>> numbering.note(0, np.array([5, 6, 9, 10]))
    >>> [numbering.number(row) for row in range(4)]
    [5, 6, 9, 10]
    """

    breaks: list[list[int]] = field(default_factory=list)
    """Pairs of a row of the monitor and its number, where numbers do not just go on."""

    def note(self, first: int, numbers: NDArray[np.int64]) -> None:
        """Rows of the monitor from this one on have these numbers."""
        rows = np.arange(first, first + len(numbers))
        before = self.number(first) if self.breaks else -1
        jumps = np.flatnonzero(np.diff(numbers - rows, prepend=before - first))
        self.breaks += [[int(rows[i]), int(numbers[i])] for i in jumps]

    def forget(self, before: int) -> None:
        """Rows before this one will not be asked for: only the last places are still remembered of them."""
        needed = sum(row > before for row, _ in self.breaks) + 1
        self.breaks = self.breaks[-max(needed, MOST_BREAKS) :]

    def number(self, row: int) -> int:
        """The number of a row of the monitor."""
        at, number = next((pair for pair in reversed(self.breaks) if pair[0] <= row), self.breaks[0])
        return row - at + number


class AlarmEvent(NamedTuple):
    """An alarm that began to count, or ended. Row numbers are those of the source."""

    state: Literal["began", "ended", "accepted"]
    row: int
    """The row at which it began to count, or the last before it had ended."""
    time: float | None
    """When that row was taken, in seconds since 1970, if known."""
    length: int
    """How many rows it has lasted, from the first that exceeded a limit to the last."""
    alarm: Alarm
    """Began, last and so on, also in numbers of the source; of an earlier one, if it began there."""
    key: Key | None = None
    """Whose rows these are, with one monitor per key."""


def in_words(contributors: Contributors) -> str:
    """Inputs to blame, as a text.

    Examples
    --------
    >>> in_words((("valve", 0.613), ("flow", 0.12), ("level", 0.001)))
    'valve 61 %, flow 12 %'
    """
    return ", ".join(
        f"{name} {share:.0%}".replace("%", " %") for name, share in contributors if share >= 0.005
    )
