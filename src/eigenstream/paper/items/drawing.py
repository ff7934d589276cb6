"""Look of the paper's figures: fit to print, lettered, readable in grey and with colour deficiencies.

The three regularizers differ in lightness, line style and marker, not in hue alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, NamedTuple

from ...plotting.palette import DARK as DARK
from ...plotting.palette import GOLD, NAVY, ROSE
from ...plotting.palette import LIGHT as LIGHT
from ...plotting.palette import MIDDLE as MIDDLE
from .experiment import DOUBLED, RESTORED

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:
    Axes = Figure = Any  # annotations only: matplotlib loads when something is drawn

WIDTH = 7.2
"""Inches: the width of a page with two columns."""


class Look(NamedTuple):
    color: str
    line: Any
    marker: str


LOOKS = {
    "scale-dependent": Look(ROSE, (0, (5, 1.5)), "s"),
    "input-output": Look(NAVY, "-", "o"),
    "squared-output": Look(GOLD, (0, (6, 1.5, 1.5, 1.5)), "^"),
}
"""One look per regularizer in every figure: dashed red squares, solid dark blue dots, dash-dotted yellow."""


def figure_of(rows: int, columns: int, height: float, **layout: Any) -> tuple[Figure, list[Axes]]:
    """A figure of the page's width and its panels in reading order."""
    from ...plotting import panels

    return panels(rows, columns, WIDTH, height, **layout)


def lettered(axes: Sequence[Axes], titles: Sequence[str] = ()) -> None:
    """(a), (b), ... before the titles, at the left."""
    for axis, letter, title in zip(
        axes, ascii_lowercase, [*titles, *[""] * (len(axes) - len(titles))], strict=False
    ):
        axis.set_title(rf"$\bf{{({letter})}}$ {title}".rstrip(), loc="left")


def curve(axis: Axes, name: str, x: Any, y: Any, **style: Any) -> None:
    """A line in the regularizer's look, labelled with its name unless told otherwise.

    Broken lines lie above solid ones, so that lines which coincide are all seen.
    """
    look = LOOKS[name]
    line = style.pop("linestyle", look.line)
    usual = {"color": look.color, "lw": 1.8, "label": name, "zorder": 2.0 if line == "-" else 2.1}
    axis.plot(x, y, linestyle=line, **{**usual, **style})


def mark_changes(axis: Axes) -> None:
    """Dotted lines where the variance changes, with what it is multiplied by from there on."""
    for change, label in ((DOUBLED, r"$\times 2$"), (RESTORED, r"$\times 1$")):
        axis.axvline(change, color="0.3", lw=0.8, ls=":", zorder=1)
        axis.text(change + 80, 0.98, label, fontsize=7, va="top", transform=axis.get_xaxis_transform())
