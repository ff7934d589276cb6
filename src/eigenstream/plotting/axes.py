"""Figures that need no screen, and the axes that pictures are drawn on. Matplotlib loads when one is made."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..io.files import shown

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Times = Callable[[NDArray[Any]], NDArray[np.float64]]
"""Function from sample counts to times, in seconds since 1970."""

LONGEST_NAME = 24
"""Letters of an input's name that are shown: names stand side by side below an axis."""


def require_matplotlib() -> None:
    """Raise an error that names the extra if there is no matplotlib."""
    if find_spec("matplotlib") is None:
        raise ImportError("a picture needs matplotlib: pip install 'eigenstream[plot]'")


def panels(rows: int, columns: int, width: float, height: float, **layout: Any) -> tuple[Figure, list[Axes]]:
    """A figure of this size in inches and its panels in reading order, with a light grid."""
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, **layout).flat)
    for axis in axes:
        _style(axis)
    return figure, axes


def given_or_new(ax: Axes | None, width: float = 7, height: float = 4) -> Axes:
    """The axis that was given, as it is; otherwise that of a new figure, which a notebook shows."""
    require_matplotlib()
    if ax is not None:
        return ax
    from matplotlib import pyplot

    _, axis = pyplot.subplots(figsize=(width, height), layout="constrained")
    _style(axis)
    return axis


def legend_inside(axis: Axes, handles: list[Artist] | None = None) -> None:
    """Put a legend where there is most room; lines shine through where there is none."""
    given: dict[str, Any] = {} if handles is None else {"handles": handles}
    axis.legend(**given, framealpha=0.8, edgecolor="none")


def legend_below(figure: Figure, handles: list[Artist]) -> None:
    """Put one legend for all panels below them."""
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)


def on_axis(counts: NDArray[np.int64], times: Times | None) -> NDArray[Any]:
    """Positions of samples on the horizontal axis: their counts, or their times."""
    return counts if times is None else (times(counts) * 1e3).astype("datetime64[ms]")


def short(name: object) -> str:
    """A name as it is shown beside an axis, cut where it is too long."""
    text = shown(str(name))
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def _style(axis: Axes) -> None:
    axis.grid(color="0.9", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
