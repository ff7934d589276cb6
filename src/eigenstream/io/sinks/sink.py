"""Interface of sinks: rows of scores are written, and rows after a place can be removed again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...array_types import Floats as Floats

Texts = NDArray[np.object_]
Place = dict[str, Any]


class SinkError(ValueError):
    """Error of writing: says where and why."""


class Sink(ABC):
    """Abstract: an output of rows of scores with their numbers in the source, in order."""

    identity: dict[str, Any] | None = None
    """Identity of the file or folder (`eigenstream.io.files.identity`); None for standard output."""

    @abstractmethod
    def write(self, numbers: NDArray[np.int64], scores: Floats, texts: Texts | None = None) -> None:
        """Append rows: their numbers, the columns kept as text, and their scores."""

    @abstractmethod
    def settle(self, *, final: bool = False) -> Place:
        """Make what was written durable and return its end; ``final``: no more rows come."""

    def excess(self) -> bool:
        """Return True if the output holds something that the first `write` will remove."""
        return False

    def resembles(self) -> bool:
        """Return True if the file begins as this output would. Check content: inodes are reused."""
        return True

    def committed(self) -> None:  # noqa: B027
        """Note that the last place of `settle` has been saved: temporary files before it can go."""

    def close(self) -> None:  # noqa: B027
        """Close all files."""


@dataclass(frozen=True)
class Layout:
    """Columns of an output besides the number of the row.

    Parameters
    ----------
    width, dtype
        Numbers per row, and their type.
    kept
        Names of the columns of text that come before the numbers.
    residuals
        True if the last of the numbers is the squared residual.
    unit
        What has a number, which is the stem of its name.
    names
        Names of the numbers, where they are neither scores nor outputs of neurons.
    whole
        Names of those that are whole numbers.
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
    unit: Literal["component", "neuron"] = "component"
    names: Sequence[str] = ()
    whole: Sequence[str] = ()
    remarks: Sequence[str] = ()

    @property
    def numbers(self) -> list[str]:
        """Names of the columns of numbers."""
        if self.names:
            return list(self.names)
        units = [f"{self.unit}_{i}" for i in range(self.width - self.residuals)]
        return units + ["squared_residual"] * self.residuals

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
        """True for each column of numbers that is whole."""
        return [name in self.whole for name in self.numbers]

    @property
    def columns(self) -> list[str]:
        """All names of columns, in order."""
        return ["row", *self.texts, *self.numbers]
