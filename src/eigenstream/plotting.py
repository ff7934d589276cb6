"""Pictures: colours that the colour-blind can tell apart, and figures that need no screen.

Needs the extra ``plot`` (matplotlib).
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from .colors import BLACK as BLACK
from .colors import BLUE as BLUE
from .colors import GREEN as GREEN
from .colors import ORANGE as ORANGE
from .colors import PURPLE as PURPLE
from .colors import RED as RED
from .colors import SKY as SKY
from .colors import YELLOW as YELLOW
from .recording import SpectrumHistory

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


def draw_history(history: SpectrumHistory, title: str) -> Figure:
    """The spectrum over time with its threshold, and the rank below."""
    figure, (spectrum, rank) = panels(2, 1, 9, 6)
    kept = np.where(history.variances > history.threshold[:, None], history.variances, np.nan)
    dropped = np.where(history.variances > 0, history.variances, np.nan)
    spectrum.plot(history.sample, dropped, color="0.75", linewidth=0.8)
    spectrum.plot(history.sample, kept, color=BLUE, linewidth=1.8)
    spectrum.plot(history.sample, history.threshold, color=RED, linewidth=1.5, linestyle="--")
    spectrum.set(yscale="log", ylabel="variance of the input", title=title)
    handles = [
        Line2D([], [], color=BLUE, linewidth=1.8, label="kept"),
        Line2D([], [], color="0.75", label="below the threshold"),
        Line2D([], [], color=RED, linestyle="--", label="threshold"),
    ]
    spectrum.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    rank.step(history.sample, history.rank, where="post", color=BLUE, linewidth=1.8)
    rank.set(xlabel="samples", ylabel="rank", ylim=(-0.3, max(history.rank.max(initial=1) + 1, 2)))
    rank.yaxis.set_major_locator(MaxNLocator(integer=True))
    rank.sharex(spectrum)
    return figure
