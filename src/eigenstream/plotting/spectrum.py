"""The spectrum of a model: now, over time, and the rank that follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..model.history import ROUNDING, SpectrumHistory, above_rounding
from .axes import (
    BrokenLine,
    Times,
    axis_label,
    fitted,
    given_or_new,
    legend_below,
    legend_inside,
    logarithmic,
    on_axis,
    panels,
)
from .palette import BLUE, RED

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .axes import Model

GREY = "0.6"
VARIANCE = "variance of the input"


def plot_spectrum(model: Model, ax: Axes | None = None) -> Axes:
    """The spectrum now: the variance along each direction, kept or not, and the threshold between them.

    Parameters
    ----------
    model
        A fitted model, or a monitor.
    ax
        Where to draw; a new figure if None.

    Examples
    --------
    >>> from eigenstream import OnlineAdaptivePCA, plotting, streams
    >>> model = OnlineAdaptivePCA().fit(next(streams.paper_stream(500, random_state=0, batch_size=500)))
    >>> plotting.plot_spectrum(model).get_ylabel()
    'variance of the input'
    """
    model = fitted(model)
    axis = given_or_new(ax)
    spectrum, rank, threshold = above_rounding(model.spectrum_), model.n_components_, model.threshold_
    number = np.arange(len(spectrum))
    axis.plot(number[:rank], spectrum[:rank], "o", color=BLUE, label="kept")
    axis.plot(number[rank:], spectrum[rank:], "o", color=GREY, fillstyle="none", label="not kept")
    if threshold > 0:
        axis.axhline(threshold, color=RED, linewidth=1.5, linestyle="--", label="threshold")
    logarithmic(axis)
    axis.set(xlabel="component", ylabel=VARIANCE, xlim=(-0.7, len(spectrum) - 0.3))
    _whole_numbers(axis.xaxis)
    legend_inside(axis)
    return axis


def plot_tracks(
    model: Model | SpectrumHistory, ax: Axes | None = None, *, times: Times | None = None
) -> Axes:
    """The spectrum over time: the variance along each kept component, the threshold, and the rest in grey.

    The grey line is the mean of the variances that are not kept, or the largest of them where the model does
    not remember enough of the past for their mean.

    Parameters
    ----------
    model
        A model that has followed a stream, its monitor, or its ``spectrum_history_``.
    ax
        Where to draw; a new figure if None.
    times
        A function from sample counts to seconds since 1970: the axis then shows times.
    """
    axis = given_or_new(ax)
    legend_inside(axis, _draw_tracks(axis, model, times))
    return axis


def plot_rank_history(
    model: Model | SpectrumHistory, ax: Axes | None = None, *, times: Times | None = None
) -> Axes:
    """The rank over time, to the last sample of a model; parameters as of `plot_tracks`."""
    ranks = _ranks(model)
    axis = given_or_new(ax, height=2.5)
    _draw_rank(axis, *ranks, times)
    return axis


def draw_history(model: Model | SpectrumHistory, title: str, times: Times | None = None) -> Figure:
    """A figure of the spectrum over time with the rank below it; parameters as of `plot_tracks`."""
    figure, (tracks, rank) = panels(2, 1, 10, 6, height_ratios=(3, 1), sharex=True)
    handles = _draw_tracks(tracks, model, times)
    _draw_rank(rank, *_ranks(model), times)
    worth = "" if isinstance(model, SpectrumHistory) else _worth(fitted(model))
    tracks.set_title(title + worth, parse_math=False)  # a name with $ in it is no formula
    tracks.label_outer()
    legend_below(figure, handles)
    return figure


def _worth(learnt: Any) -> str:
    """Line of a title that says how many independent rows the rows are worth."""
    return f"\nworth about {learnt.n_samples_effective_:,.0f} independent rows"


def _history(model: Model | SpectrumHistory) -> SpectrumHistory:
    if isinstance(model, SpectrumHistory):
        return model
    learnt = fitted(model)
    if not hasattr(learnt, "spectrum_history_"):
        raise TypeError(
            f"{type(learnt).__name__} has no history: it learns all rows at once. Use OnlineAdaptivePCA, or "
            "plot_spectrum"
        )
    history: SpectrumHistory = learnt.spectrum_history_
    return history


def _draw_tracks(axis: Axes, model: Model | SpectrumHistory, times: Times | None) -> list[Artist]:
    """Draw the lines; returns what a legend shows of them."""
    from matplotlib.lines import Line2D

    history = _history(model)
    variances = above_rounding(history.variances)
    kept = np.where(np.arange(variances.shape[1]) < history.rank[:, None], variances, np.nan)
    line, threshold = BrokenLine(history.sample, times), above_rounding(history.threshold)
    rest = np.where(history.rest > ROUNDING * history.variances.max(initial=0), history.rest, np.nan)
    axis.plot(*line.through(rest), color=GREY, linewidth=1.5)
    axis.plot(*line.through(kept), color=BLUE, linewidth=1.8)
    axis.plot(*line.through(threshold), color=RED, linewidth=1.5, linestyle="--")
    logarithmic(axis)
    axis.set(ylabel=VARIANCE)
    _mark_changes(axis, history.sample, history.rank, times)
    return [
        Line2D([], [], color=BLUE, label="kept"),
        Line2D([], [], color=GREY, label="the rest, mean"),
        Line2D([], [], color=RED, linestyle="--", label="threshold"),
    ]


def _ranks(model: Model | SpectrumHistory) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sample counts and ranks: at each look at the spectrum, and of a model now."""
    history = _history(model)
    if isinstance(model, SpectrumHistory):
        return history.sample, history.rank
    learnt = fitted(model)
    return np.append(history.sample, learnt.n_samples_seen_), np.append(history.rank, learnt.n_components_)


def _draw_rank(axis: Axes, counts: NDArray[np.int64], rank: NDArray[np.int64], times: Times | None) -> None:
    place, shown = BrokenLine(counts, times).through(rank, held=True)
    axis.fill_between(place, shown, step="post", color=BLUE, alpha=0.15, linewidth=0)
    axis.step(place, shown, where="post", color=BLUE, linewidth=1.8)
    axis.set(ylabel="rank", ylim=(0, max(rank.max(initial=1) + 1, 2)))
    _whole_numbers(axis.yaxis)
    _mark_changes(axis, counts, rank, times)


def _mark_changes(
    axis: Axes, counts: NDArray[np.int64], rank: NDArray[np.int64], times: Times | None
) -> None:
    """Name the horizontal axis, and mark where the rank changes on it."""
    axis.set_xlabel(axis_label(times, "samples"))
    for change in on_axis(counts, times)[1:][np.diff(rank) != 0]:
        axis.axvline(change, color="0.5", linewidth=0.8, linestyle=":", zorder=0)


def _whole_numbers(axis: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))
