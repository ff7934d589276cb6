"""The plane of two components: where inputs lie in it (loadings), and where rows do (scores)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..learners.arrays import host
from .axes import fitted, given_or_new, legend_inside, short
from .palette import BLUE, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .axes import Model

MOST_NAMES = 40
"""Most inputs that are named: those with the largest loadings; other names would hide them."""


def plot_loadings(model: Model, ax: Axes | None = None, *, components: tuple[int, int] = (0, 1)) -> Axes:
    """Inputs in the plane of two components: those that point the same way rise and fall together.

    Parameters
    ----------
    model
        A fitted model, or a monitor. If it keeps one component alone, its loadings are drawn as bars.
    ax
        Where to draw; a new figure if None.
    components
        Numbers of the components, from 0.

    Examples
    --------
    >>> from eigenstream import OnlineAdaptivePCA, plotting, streams
    >>> model = OnlineAdaptivePCA().fit(next(streams.paper_stream(500, random_state=0, batch_size=500)))
    >>> plotting.plot_loadings(model).get_xlabel()
    'loading on component 0 (26.3 % of the variance)'
    """
    model = fitted(model)
    weights = np.asarray(host(model.components_), dtype=np.float64)
    shares, names = np.asarray(model.explained_variance_ratio_), model.input_names_
    if not len(weights):
        raise ValueError("the model keeps no component: there is nothing to draw (model.advice_ says more)")
    if len(weights) == 1:
        return _draw_bars(given_or_new(ax, 8, 4), weights[0], names, _label("loading", 0, shares))
    x, y = _chosen(components, len(weights))
    axis = given_or_new(ax, 7, 6.5)
    length = np.hypot(weights[x], weights[y])
    named = np.argsort(-length, kind="stable")[:MOST_NAMES]
    rest = np.setdiff1d(np.arange(len(names)), named)
    axis.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    axis.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    axis.plot(weights[x, rest], weights[y, rest], ".", color="0.7")
    # Neighbours in height have their names on different sides: inputs that move together lie close.
    for place, i in enumerate(sorted(named.tolist(), key=lambda i: weights[y, i])):
        axis.plot([0, weights[x, i]], [0, weights[y, i]], color=BLUE, linewidth=0.8, alpha=0.5)
        axis.plot(weights[x, i], weights[y, i], "o", color=BLUE, markersize=4)
        right = weights[x, i] >= 0
        axis.annotate(
            short(names[i]),
            (weights[x, i], weights[y, i]),
            xytext=(4 if right else -4, 3 if place % 2 else -9),
            textcoords="offset points",
            ha="left" if right else "right",
            fontsize="small",
            parse_math=False,
        )
    reach = 1.15 * max(float(np.abs(weights[[x, y]]).max()), 1e-12)
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axis.set(xlabel=_label("loading", x, shares), ylabel=_label("loading", y, shares))
    return axis


def plot_scores(
    model: Model,
    scores: ArrayLike,
    ax: Axes | None = None,
    *,
    components: tuple[int, int] = (0, 1),
    limit: float | None = None,
) -> Axes:
    """Rows in the plane of two components, the first dark and the last light.

    Parameters
    ----------
    model
        A fitted model, or a monitor.
    scores
        Scores of rows, projections for a limit to be true (T, components kept or more).
    ax
        Where to draw; a new figure if None.
    components
        Numbers of the components, from 0. If one component alone is kept, its scores are drawn in order.
    limit
        A limit of T²: rows outside of the ellipse exceed it by these two components alone.
    """
    model = fitted(model)
    S, shares = np.asarray(scores, dtype=np.float64), np.asarray(model.explained_variance_ratio_)
    if not model.n_components_:
        raise ValueError("the model keeps no component: there is nothing to draw (model.advice_ says more)")
    if model.n_components_ == 1:
        axis = given_or_new(ax, 8, 4)
        axis.scatter(np.arange(len(S)), S[:, 0], c=np.arange(len(S)), s=6, cmap="viridis", rasterized=True)
        axis.set(xlabel="rows drawn", ylabel=_label("score", 0, shares))
        return axis
    x, y = _chosen(components, model.n_components_)
    axis = given_or_new(ax, 7, 6.5)
    drawn = axis.scatter(
        S[:, x], S[:, y], c=np.linspace(0, 1, len(S)), s=8, cmap="viridis", linewidths=0, rasterized=True
    )
    bar = axis.figure.colorbar(drawn, ax=axis, ticks=[0, 1], pad=0.02)
    bar.ax.set_yticklabels(["first row", "last row"])
    if limit is not None and np.isfinite(limit):
        turn = np.linspace(0, 2 * np.pi, 181)
        half = np.sqrt(limit * np.asarray(model.explained_variance_, dtype=np.float64)[[x, y]])
        axis.plot(
            half[0] * np.cos(turn), half[1] * np.sin(turn), color=RED, linestyle="--", label="limit of T²"
        )
        legend_inside(axis)
    axis.set(xlabel=_label("score", x, shares), ylabel=_label("score", y, shares))
    return axis


def _chosen(components: tuple[int, int], rank: int) -> tuple[int, int]:
    x, y = components
    if not (0 <= x < rank and 0 <= y < rank):
        raise ValueError(f"components must be two numbers from 0 to {rank - 1}, got {components}")
    return x, y


def _label(what: str, number: int, shares: NDArray[np.floating]) -> str:
    return f"{what} on component {number} ({100 * float(shares[number]):.1f} % of the variance)"


def _draw_bars(axis: Axes, weights: NDArray[np.float64], names: list[str], label: str) -> Axes:
    axis.bar(np.arange(len(weights)), weights, color=BLUE)
    if len(names) <= MOST_NAMES:
        axis.set_xticks(range(len(names)), labels=[*map(short, names)], parse_math=False, rotation=90)
    axis.set_ylabel(label)
    return axis
