"""Claims without a figure: derivations, closed forms, the proof, limits, and the discounted costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...reproduction.item import Claim, Table
from ..drawing import DARK, LOOKS, MIDDLE, Axes, Figure, curve, figure_of, lettered
from ..texts import texts_of
from . import appendix, costs, forgetting, online, universality

NAME = "derivations"
TITLE, CAPTION, ALT, claim = texts_of(NAME)

THEMES: dict[str, tuple[Callable[[int, int], Table], Callable[[Table], list[Claim]]]] = {
    "rewriting": (costs.measure_rewriting, costs.rewriting_claims),
    "closed forms": (costs.measure_closed_forms, costs.closed_form_claims),
    "appendix": (appendix.measure, appendix.claims),
    "universality": (universality.measure, universality.claims),
    "large T": (online.measure_large_t, online.large_t_claims),
    "learning": (online.measure_learning, online.learning_claims),
    "forgetting": (forgetting.measure, forgetting.claims),
}
"""For each theme, a pure function of the number of samples and the seed, and the claims about its table."""


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
    return {case.theme: THEMES[case.theme][0](case.n_samples, case.seed)}


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    return [claim for table in tables for theme, found in table.items() for claim in THEMES[theme][1](found)]


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    """Draw the terms that large T leaves out, the learning rates, and the readings of the discounted cost."""
    found = {theme: values for table in tables for theme, values in table.items()}
    figure, axes = figure_of(1, 3, 3.3)
    _draw_dropped(axes[0], found["large T"])
    _draw_rates(axes[1], found["forgetting"]["rates"])
    _draw_readings(axes[2], found["forgetting"])
    lettered(axes, ("large-T limit of the cost", "learning rate", "discounted cost"))
    return figure


def _draw_dropped(axis: Axes, found: Table) -> None:
    for name, width in zip(LOOKS, (4.5, 2.8, 1.4), strict=True):  # all but the same
        row = found[name]
        curve(axis, name, row["times"], row["dropped"], lw=width, linestyle="-", label=f"{name}: left out")
    row = found["squared-output"]
    label = "squared-output: simplification"
    axis.plot(row["times"], row["simplified"], ls=(0, (5, 1.5)), color=DARK, lw=1.4, label=label)
    guide = [0.5 * row["dropped"][0] * row["times"][0] / T for T in row["times"]]
    axis.plot(row["times"], guide, ":", color=MIDDLE, label="1/T")
    axis.set(xscale="log", yscale="log", xlabel="samples T", ylabel="terms left out / terms kept")
    axis.set_ylim(bottom=min(row["simplified"]) / 20)
    axis.legend(loc="lower left", fontsize=6.5, frameon=False)


def _draw_rates(axis: Axes, found: Table) -> None:
    for name, width in zip(LOOKS, (4.0, 2.6, 1.2), strict=True):  # all but the same
        row = found[name]
        curve(axis, name, row["times"], row["forgetting"], lw=width, linestyle="-")
        curve(axis, name, row["times"], row["never"], lw=1.2, linestyle=(0, (3, 1.5)), label=None)
    axis.plot([], [], "-", color="0.3", lw=2.2, label=f"β = {forgetting.BETA}")
    axis.plot([], [], ls=(0, (3, 1.5)), color="0.3", lw=1.2, label="β = 1")
    axis.set(xscale="log", yscale="log", xlabel="samples T", ylabel="learning rate 1/μ (1/variance)")
    axis.legend(loc="lower left", fontsize=6.5, frameon=False)


def _draw_readings(axis: Axes, found: Table) -> None:
    styles = {
        "meant": ("o", "-", "as meant"),
        "scalar": ("s", (0, (1, 1.2)), "scalar minus matrix (printed)"),
        "order": ("^", (0, (5, 1.5)), "B from $\\beta^0$ on (printed)"),
    }
    for name, look in LOOKS.items():
        for reading, (marker, line, _) in styles.items():
            if (name, reading) != ("squared-output", "scalar"):
                values = found["readings"][name][reading]
                axis.plot(found["windows"], values, ls=line, marker=marker, color=look.color, ms=4, lw=1.3)
    for marker, line, label in styles.values():
        axis.plot([], [], ls=line, marker=marker, color="0.3", ms=4, label=label)
    axis.set(xscale="log", yscale="log", xlabel=r"window $1/(1-\beta^2)$ (samples)")
    axis.set_ylabel("distance from the network's\noutput (relative)")
    axis.set_ylim(bottom=min(min(found["readings"][name]["meant"]) for name in LOOKS) / 8)
    axis.legend(loc="lower left", fontsize=6.5, frameon=False)
