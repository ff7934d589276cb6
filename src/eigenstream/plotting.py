"""Pictures: colours that the colour-blind can tell apart, and figures that need no screen.

Needs the extra ``plot`` (matplotlib). The colours are those of Okabe and Ito (2008).
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)

COLOR_OF = {"scale-dependent": RED, "input-output": BLUE, "squared-output": GREEN}
"""The same colour for the same regularizer in every picture."""


def panels(rows: int, columns: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """A figure of this size in inches and its panels in reading order, with a light grid."""
    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axis in axes:
        axis.grid(color="0.9", linewidth=0.8)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes
