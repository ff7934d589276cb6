"""The base of the two sets of charts: one axis of samples or times, and its frame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, Range1d
from bokeh.models.annotations.geometry import Span
from bokeh.plotting import figure as Figure
from numpy.typing import ArrayLike, NDArray

from . import figures
from .snapshot import Snapshot


class ChartSet(ABC):
    """Abstract: figures, and the data that a snapshot puts into them.

    Data do not go through the figures' own sources: they travel in one message, which page.js puts into all
    of them at once, so that each chart is painted once.

    Parameters
    ----------
    timed
        As in `Page`.
    """

    sources: dict[str, ColumnDataSource]
    """Data of the figures, by name."""
    over_samples: tuple[Figure, ...]
    """The figures that share the axis of samples."""
    figures: tuple[Figure, ...]
    """All of them."""

    def __init__(self, timed: bool) -> None:
        self.snapshot: Snapshot | None = None
        """The one shown."""
        self.timed = timed
        self.samples = Range1d(start=0, end=1)
        self.ranges: dict[str, Any] = {"samples": self.samples}
        """Ranges that `frame` sets, by name."""
        self.here = Span(dimension="height", line_dash="dotted", line_color="#8795a6")
        """The line that follows the pointer in all figures over samples."""

    @abstractmethod
    def show(self, snapshot: Snapshot) -> dict[str, dict[str, Any]]:
        """The columns that a browser puts into its sources to show this; those left out stay as they are."""

    def scale(self, log: bool) -> None:  # noqa: B027
        """Show variances on a logarithmic scale, or on a linear one."""

    def whole(self) -> None:  # noqa: B027
        """Show everything on axes other than that of samples."""

    def frame(self, stretch: str) -> dict[str, tuple[float, float]]:
        """Ranges that show the whole stream, or its recent part; none where the user has chosen one."""
        if self.snapshot is None or stretch == "own":
            return {}
        end = max(self.snapshot.now.sample, 1)
        start = min(self.snapshot.recent, int(0.9 * end)) if stretch == "recent" else 0
        left, right = self.along([start, end])
        return {"samples": (float(left - 0.01 * (right - left)), float(right + 0.01 * (right - left)))}

    def along(self, samples: ArrayLike) -> NDArray[np.float64]:
        """Places of samples on the axis: their counts, or their times in milliseconds."""
        counts = np.asarray(samples, dtype=np.float64)
        known = np.zeros((0, 2)) if self.snapshot is None else self.snapshot.times
        if not self.timed or not len(known):
            return counts
        return np.asarray(1e3 * np.interp(counts, known[:, 0], known[:, 1]))

    def at_rows(self, rows: ArrayLike) -> NDArray[np.float64]:
        """Places of rows, which are numbered from 0: row 0 was taken when the first sample was."""
        return self.along(np.asarray(rows, dtype=np.float64) + self.timed)

    def show_times(self) -> None:
        """Have axes show times, if there are any."""
        if self.timed:
            for figure in self.over_samples:
                figures.show_times(figure)


def source(*columns: str) -> ColumnDataSource:
    """A source with these columns and one row: a chart cannot choose its range by nothing at all."""
    return ColumnDataSource({name: [1.0] for name in columns})


def numbers(*columns: NDArray[Any]) -> list[NDArray[np.float64]]:
    """Columns in the only type that a browser takes sample counts in as they are."""
    return [np.asarray(column, dtype=np.float64) for column in columns]
