"""Figures that need no screen, their axes, and lines that break where a stream paused.

Matplotlib loads when a figure is made.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..io.durations import is_date
from ..io.files import shown
from ..learners.learner import PAUSE

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Times = Callable[[NDArray[Any]], NDArray[np.float64]]
"""Function from sample counts to times: seconds since 1970, or numbers that count from some start."""

Model: TypeAlias = Any
"""A fitted `AdaptivePCA`, `OnlineAdaptivePCA`, `StreamModel` or `StreamMonitor`."""

WIDE = 100.0
"""Ratio of the ends of a logarithmic axis from which on powers of ten are labels enough: three at least."""
LONGEST_NAME = 24
"""Letters of an input's name that are shown: names stand side by side below an axis."""
SEEN = 0.01
"""Least share of the axis that a pause takes: shorter ones could hardly be seen."""


def fitted(model: Model) -> Any:
    """The model, or the model of a monitor; an error if it has learnt nothing."""
    if hasattr(model, "get_params"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
    return getattr(model, "model_", model)


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


def mosaic(places: list[Any], width: float, height: float, **layout: Any) -> tuple[Figure, dict[str, Axes]]:
    """The same with panels that may span several places, by their names."""
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    axes = figure.subplot_mosaic(places, **layout)
    for axis in axes.values():
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


def logarithmic(axis: Axes) -> None:
    """Make the vertical axis logarithmic, with labels that do not overlap whatever range it shows."""
    from matplotlib.ticker import FuncFormatter

    def between(value: float, _: int | None) -> str:
        low, high = axis.get_ylim()
        wide = high > WIDE * low  # powers of ten are labels enough
        return "" if wide or f"{value:.0e}"[0] not in "25" else f"{value:g}"

    axis.set_yscale("log")
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(FuncFormatter(between))


def on_axis(counts: NDArray[np.int64], times: Times | None) -> NDArray[Any]:
    """Positions of samples on the horizontal axis: their counts, or their times."""
    if times is None:
        return counts
    return (times(counts) * 1e3).astype("datetime64[ms]") if _dated(times) else times(counts)


def axis_label(times: Times | None, counted: str = "rows") -> str:
    """Label of the horizontal axis; ``counted`` is what counts are of."""
    return counted if times is None else "time (UTC)" if _dated(times) else "time"


def _dated(times: Times) -> bool:
    """True if times are dates; false if they count from the start of a recording."""
    return is_date(float(times(np.array([1]))[0]))


def short(name: object) -> str:
    """A name as it is shown beside an axis, cut where it is too long."""
    text = shown(str(name))
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def _style(axis: Axes) -> None:
    axis.grid(color="0.9", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def pauses(counts: NDArray[np.int64], times: Times) -> NDArray[np.int64]:
    """The counts of the last samples before pauses, for a picture of samples with these counts.

    Examples
    --------
    >>> def nightly(counts):  # a sample per minute, 600 of them a day
    ...     days, minutes = np.divmod(counts - 1, 600)
    ...     return 86400.0 * days + 60.0 * minutes
    >>> pauses(np.array([1, 1000, 2000]), nightly)
    array([ 600, 1200, 1800])
    """
    moments = times(counts)
    spans = np.diff(moments)
    some = spans > 0
    if not some.any():
        return np.array([], dtype=np.int64)
    usual = np.median(spans[some] / np.diff(counts)[some])
    limit = max(PAUSE * usual, SEEN * (moments[-1] - moments[0]))
    first: NDArray[np.int64] = counts[:-1]
    last: NDArray[np.int64] = counts[1:]
    while True:  # halve the stretches that are long enough for a pause, until they are single steps
        long = times(last) - times(first) > limit
        first, last = first[long], last[long]
        if np.all(last - first <= 1):
            return first
        middle = (first + last) // 2
        halves = np.stack((first, middle, middle, last), axis=1).reshape(-1, 2)
        halves = halves[halves[:, 0] < halves[:, 1]]
        first, last = halves[:, 0], halves[:, 1]


class BrokenLine:
    """A line through samples with these counts, at their counts or at their times, broken at pauses."""

    def __init__(self, counts: NDArray[np.int64], times: Times | None) -> None:
        self.counts, self.times = counts, times
        self.before = np.array([], dtype=np.int64) if times is None else pauses(counts, times)

    def through(self, values: NDArray[Any], *, held: bool = False) -> tuple[NDArray[Any], NDArray[Any]]:
        """Positions of these values on the horizontal axis, and the values.

        At both sides of a pause a value is added: the one before it if values are ``held``, otherwise one on
        a straight line over counts. Between the sides is NaN, which breaks the line.
        """
        if not len(self.before):
            return on_axis(self.counts, self.times), values
        added = np.concatenate((self.before, self.before, self.before + 1))
        between = _held(self.counts, values, added) if held else _interpolated(self.counts, values, added)
        between[len(self.before) : 2 * len(self.before)] = np.nan
        counts = np.concatenate((self.counts, added))
        order = np.argsort(counts, kind="stable")
        return on_axis(counts[order], self.times), np.concatenate((values, between))[order]

    def stretches(self, first: int, end: int) -> list[tuple[Any, Any]]:
        """Begins and ends, on the horizontal axis, of the samples from the first on, without pauses."""
        inside = self.before[(first <= self.before) & (self.before < end)]
        begins = on_axis(np.concatenate(([first], inside + 1)), self.times)
        last, end_of_all = on_axis(inside, self.times), on_axis(np.array([end]), self.times)
        lasting = last - on_axis(
            inside - 1, self.times
        )  # a sample before a pause lasts as long as its predecessor
        return [*zip(begins, np.concatenate((last + lasting, end_of_all)), strict=True)]


def _held(counts: NDArray[np.int64], values: NDArray[Any], at: NDArray[np.int64]) -> NDArray[np.float64]:
    return values[np.searchsorted(counts, at, side="right") - 1].astype(np.float64)


def _interpolated(
    counts: NDArray[np.int64], values: NDArray[Any], at: NDArray[np.int64]
) -> NDArray[np.float64]:
    columns = values.reshape(len(values), -1).T
    return np.stack([np.interp(at, counts, column) for column in columns], 1).reshape(-1, *values.shape[1:])
