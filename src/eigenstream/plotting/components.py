"""The components of a model, as a table of weights or as images."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..learners.arrays import host
from .axes import fitted, given_or_new, short
from .palette import BLUE, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .axes import Model

MOST_NAMES = 40
"""Most inputs that are named; more are numbered, since their names would overlap."""
IN_ONE_ROW = 5
"""Most images in one row; more of them stand in a square."""
GAP = 0.16
"""Space between images, as a share of their longer side."""
LARGEST_IMAGE = 3.5
"""Inches of the longer side of an image, where there is room for more."""


def plot_components(
    model: Model, ax: Axes | None = None, *, shape: tuple[int, int] | None = None, count: int | None = None
) -> Axes:
    """Draw the components: the weight of each input in each. Blue is positive, red negative, white zero.

    Parameters
    ----------
    model
        A fitted model, or a monitor.
    ax
        Where to draw; a new figure if None.
    shape
        Rows and columns of an image, if the inputs are its pixels: components are then shown as images, side
        by side in reading order, each with its own scale.
    count
        Number of components to show, the leading ones; all that are kept if None.

    Examples
    --------
    >>> from eigenstream import AdaptivePCA, plotting
    >>> from sklearn.datasets import load_digits
    >>> model = AdaptivePCA().fit(load_digits().data)
    >>> axis = plotting.plot_components(model, shape=(8, 8), count=6)
    """
    model = fitted(model)
    weights = np.asarray(host(model.components_), dtype=np.float64)[:count]
    if not len(weights):
        raise ValueError("the model keeps no component: there is nothing to draw (model.advice_ says more)")
    if shape is None:
        names = model.input_names_
        return _draw_table(given_or_new(ax, 8, _height(len(weights), names)), weights, names)
    if len(shape) != 2 or math.prod(shape) != weights.shape[1]:
        raise ValueError(
            f"shape={shape} must be the rows and columns of an image of {weights.shape[1]} pixels: a "
            "component has one weight per pixel"
        )
    return _draw_images(ax, weights, shape)


def _turned(names: list[str]) -> bool:
    """True if names stand upright, since they would overlap side by side."""
    return len(names) > 8 or any(len(name) > 6 for name in names)


def _height(count: int, names: list[str]) -> float:
    """Height, in inches, for ``count`` components and the names of the inputs below them."""
    letters = max(len(short(name)) for name in names) if len(names) <= MOST_NAMES and _turned(names) else 3
    return max(1.3, 0.35 * count) + 0.3 + 0.085 * letters


def _draw_table(axis: Axes, weights: NDArray[np.float64], names: list[str]) -> Axes:
    largest = float(np.abs(weights).max())
    image = axis.imshow(
        weights, cmap=_blue_white_red(), vmin=-largest, vmax=largest, aspect="auto", interpolation="nearest"
    )
    axis.set_yticks(range(len(weights)), labels=[str(i) for i in range(len(weights))])
    axis.set_ylabel("component")
    if len(names) <= MOST_NAMES:
        angle = 90 if _turned(names) else 0
        axis.set_xticks(range(len(names)), labels=[*map(short, names)], parse_math=False, rotation=angle)
    else:
        axis.set_xlabel("input")
    axis.grid(visible=False)
    axis.figure.colorbar(image, ax=axis, label="weight", pad=0.02)
    return axis


def _draw_images(ax: Axes | None, weights: NDArray[np.float64], shape: tuple[int, int]) -> Axes:
    count, (height, width) = len(weights), shape
    columns = count if count <= IN_ONE_ROW else math.ceil(math.sqrt(count))
    gap = GAP * max(shape)
    right, bottom = columns * (width + gap), math.ceil(count / columns) * (height + gap)
    limits: dict[str, Any] = {"xlim": (-gap / 4, right - gap * 3 / 4), "ylim": (bottom + gap / 4, 0)}
    inches = min(7 / max(right, bottom), LARGEST_IMAGE / max(shape))
    axis = given_or_new(ax, inches * (right - gap / 2), inches * (bottom + gap / 4))
    for i, component in enumerate(weights):
        top, left = (i // columns) * (height + gap) + gap, (i % columns) * (width + gap)
        largest, extent = float(np.abs(component).max()), (left, left + width, top + height, top)
        image, color = component.reshape(shape), _blue_white_red()
        axis.imshow(image, cmap=color, vmin=-largest, vmax=largest, extent=extent, interpolation="nearest")
        axis.plot(*zip(*_corners(*extent), strict=True), color="0.8", linewidth=0.8)
        axis.text(left, top - gap / 8, str(i), fontsize="small", color="0.4")
    axis.set(**limits, aspect="equal")
    axis.set_axis_off()
    return axis


def _corners(left: float, right: float, bottom: float, top: float) -> list[tuple[float, float]]:
    """Corners of an image in drawing order, the first one twice."""
    return [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]


def _blue_white_red() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("weights", [RED, "white", BLUE])
