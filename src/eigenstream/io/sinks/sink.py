"""What a sink is: rows of scores go in, and everything after a place can be taken back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...array_types import Floats as Floats

Texts = NDArray[np.object_]
Place = dict[str, Any]


class SinkError(ValueError):
    """An output that cannot be written (on): says where and why."""


class Sink(ABC):
    """Rows of scores with their numbers in the source, in order."""

    identity: dict[str, Any] | None = None
    """Which file or folder this is (see `eigenstream.io.files.identity`); None for standard output."""

    @abstractmethod
    def write(self, numbers: NDArray[np.int64], scores: Floats, texts: Texts | None = None) -> None:
        """Append rows: their numbers, then what is kept of them as text, then their scores."""

    @abstractmethod
    def settle(self, *, final: bool = False) -> Place:
        """Make what was written durable; returns the place to come back to. ``final``: no more comes."""

    def excess(self) -> bool:
        """Whether the output holds something that the first `write` will remove."""
        return False

    def resembles(self) -> bool:
        """Whether what lies there begins as this output would: numbers of files are used again for others."""
        return True

    def committed(self) -> None:  # noqa: B027
        """The place last returned by `settle` has been written down: nothing before it is needed any more."""

    def close(self) -> None:  # noqa: B027
        """Let go of files."""


@dataclass(frozen=True)
class Layout:
    """What a row of an output holds besides its number.

    Parameters
    ----------
    width, dtype
        Numbers per row, and their type.
    kept
        Names of the columns of text that come before the numbers.
    residuals
        Whether the last of the numbers is the squared residual.
    names
        What the numbers are called, where they are not scores.
    whole
        Which of these are whole numbers.
    remarks
        Names of columns of text that the job itself adds to those that are kept.

    Examples
    --------
    >>> Layout(3, np.float64, ("time", "row"), residuals=True).columns
    ['row', 'time', 'kept_row', 'component_0', 'component_1', 'squared_residual']
    """

    width: int
    dtype: Any
    kept: Sequence[str] = ()
    residuals: bool = False
    names: Sequence[str] = ()
    whole: Sequence[str] = ()
    remarks: Sequence[str] = ()

    @property
    def numbers(self) -> list[str]:
        """Names of the columns of numbers."""
        if self.names:
            return list(self.names)
        components = [f"component_{i}" for i in range(self.width - self.residuals)]
        return components + ["squared_residual"] * self.residuals

    @property
    def texts(self) -> list[str]:
        """Names of the columns of text, each once."""
        names, taken = list[str](), {"row", *self.numbers, *self.remarks}
        for name in self.kept:
            while name in taken:
                name = f"kept_{name}"
            names.append(name)
            taken.add(name)
        return [*names, *self.remarks]

    @property
    def are_whole(self) -> list[bool]:
        """For each column of numbers, whether it is one of whole numbers."""
        return [name in self.whole for name in self.numbers]

    @property
    def columns(self) -> list[str]:
        """All names, in order."""
        return ["row", *self.texts, *self.numbers]
