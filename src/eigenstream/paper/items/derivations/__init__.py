"""What the paper claims in passing: derivations, closed forms, the proof, limits, and the discounted costs.

One module a theme. Each offers ``measure(n_samples, seed)``, a pure function that returns a table, and
``claims(table)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...reproduction.item import Claim, Table
from . import appendix, closed_forms, forgetting, large_t, learning, rewriting, universality

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "derivations"
TITLE = "Sections II to V and Appendix A: claims without a figure of their own"

THEMES: dict[str, Any] = {
    "rewriting": rewriting,
    "closed forms": closed_forms,
    "appendix": appendix,
    "universality": universality,
    "large T": large_t,
    "learning": learning,
    "forgetting": forgetting,
}


@dataclass(frozen=True)
class Settings:
    n_samples: int
    """Length of the streams on which limits are measured."""


FULL = Settings(n_samples=10_000)
QUICK = Settings(n_samples=2_000)


@dataclass(frozen=True)
class Case:
    theme: str
    n_samples: int
    seed: int


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    return [Case(theme, settings.n_samples, seed) for theme in THEMES]


def simulate(case: Case) -> Table:
    return {case.theme: THEMES[case.theme].measure(case.n_samples, case.seed)}


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    return [
        claim for table in tables for theme, found in table.items() for claim in THEMES[theme].claims(found)
    ]


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    """What large T leaves out, how the learning rate behaves, and which discounted cost is meant."""
    from ....plotting import panels

    found = {theme: values for table in tables for theme, values in table.items()}
    figure, axes = panels(1, 3, 14, 4.8)
    _draw_dropped(axes[0], found["large T"])
    _draw_rates(axes[1], found["forgetting"]["rates"])
    _draw_readings(axes[2], found["forgetting"])
    figure.suptitle("measured with the engine on the paper's stream (left, middle) and on six inputs (right)")
    return figure


def _draw_dropped(axis: Axes, found: Table) -> None:
    from ....plotting import COLOR_OF

    for width, (name, color) in zip((7, 4.5, 2), COLOR_OF.items(), strict=True):  # all but the same
        row = found[name]
        axis.plot(row["times"], row["dropped"], "-", color=color, lw=width, label=f"{name}: terms left out")
    row = found["squared-output"]
    label = "squared-output: its simplification"
    axis.plot(row["times"], row["simplified"], "--", color=COLOR_OF["squared-output"], lw=2, label=label)
    guide = [0.5 * row["dropped"][0] * row["times"][0] / T for T in row["times"]]
    axis.plot(row["times"], guide, ":", color="0.5", label="1/T")
    axis.set(xscale="log", yscale="log", xlabel="samples T", ylabel="terms left out / terms kept")
    axis.set_title("large-T limit of the online cost")
    axis.legend(loc="lower left", fontsize=8, frameon=False)


def _draw_rates(axis: Axes, found: Table) -> None:
    from ....plotting import COLOR_OF

    for name, color in COLOR_OF.items():
        row = found[name]
        axis.plot(
            row["times"], row["forgetting"], "-", color=color, lw=2, label=f"{name}, β = {forgetting.BETA}"
        )
        axis.plot(row["times"], row["never"], "--", color=color, lw=1.5, label=f"{name}, β = 1")
    axis.set(xscale="log", yscale="log", xlabel="samples T", ylabel="learning rate 1/μ (1/variance)")
    axis.set_title("learning rate")
    axis.legend(loc="lower left", fontsize=8, frameon=False)


def _draw_readings(axis: Axes, found: Table) -> None:
    from ....plotting import COLOR_OF

    styles = {"meant": ("o-", "as meant"), "scalar": ("s:", "scalar term"), "order": ("^--", "order of B")}
    for name, color in COLOR_OF.items():
        for reading, (style, _) in styles.items():
            if (name, reading) != ("squared-output", "scalar"):
                axis.plot(found["windows"], found["readings"][name][reading], style, color=color, ms=5)
    for style, label in styles.values():
        axis.plot([], [], style, color="0.3", label=label)
    axis.set(xscale="log", yscale="log", xlabel="window $1/(1-\\beta^2)$ (samples)")
    axis.set_ylabel("distance of the cost's minimizer\nfrom the network's output (relative)")
    axis.set_title("readings of the discounted cost")
    axis.legend(loc="lower left", fontsize=8, frameon=False)
