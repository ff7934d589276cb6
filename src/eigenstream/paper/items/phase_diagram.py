"""Fig. phase_diag: where all signal and no noise is transmitted, by alpha and noise-to-signal ratio b/a."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import theory
from ..reproduction.item import Claim, Table
from ..reproduction.verdict import verdict
from .experiment import KINDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "phase-diagram"
TITLE = "Fig. phase_diag: which alpha reaches the goal at which noise"

ALPHA_SHOWN = (0.003, 3.0)
"""The range of alpha drawn; the areas compared are measured in it, on its logarithmic axis."""


@dataclass(frozen=True)
class Settings:
    points: int
    """Ratios b/a between 0 and 1."""
    alphas: int
    """Values of alpha at each ratio for which the offline solution is asked."""
    n1: int = 10
    n2: int = 10


FULL = Settings(points=199, alphas=60)
QUICK = Settings(points=99, alphas=20)


@dataclass(frozen=True)
class Case:
    regularizer: str
    points: int
    alphas: int
    n1: int
    n2: int


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    """Nothing here is drawn at random."""
    return [
        Case(name, settings.points, settings.alphas, settings.n1, settings.n2)
        for name in ("input-output", "squared-output")
    ]


def simulate(case: Case) -> Table:
    """The printed region for each ratio, and whether offline solutions agree with it."""
    ratios = np.arange(1, case.points + 1) / (case.points + 1)
    regions = theory.phase_diagram(ratios, n1=case.n1, n2=case.n2)
    region = next(r for r in regions if r.regularizer.name == case.regularizer)
    alphas = np.geomspace(*ALPHA_SHOWN, case.alphas)
    reached = [[_reaches_goal(case, float(r), float(alpha)) for alpha in alphas] for r in ratios]
    inside = (alphas >= region.low[:, None]) & (alphas < region.high[:, None])
    return {
        "regularizer": case.regularizer,
        "ratios": ratios.tolist(),
        "low": region.low.tolist(),
        "high": [float(high) if np.isfinite(high) else None for high in region.high],
        "asked": int(inside.size),
        "disagree": int(np.count_nonzero(inside != np.array(reached))),
        "share": float(np.mean(reached)),
        "share_by_ratio": np.mean(reached, axis=1).tolist(),
    }


def _reaches_goal(case: Case, ratio: float, alpha: float) -> bool:
    """Whether the offline solution transmits exactly the signal."""
    spectrum = theory.two_level_spectrum(1.0, ratio, case.n1, case.n2)
    d = KINDS[case.regularizer](alpha).shrink(spectrum)
    return bool(d[0] > 0 and d[-1] == 0)


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    from ...plotting import COLOR_OF, panels

    figure, axes = panels(1, 2, 10, 4.6)
    for axis, table in zip(axes, tables, strict=True):
        high = [ALPHA_SHOWN[1] if value is None else value for value in table["high"]]
        color = COLOR_OF[table["regularizer"]]
        low = np.minimum(table["low"], high)
        axis.fill_between(table["ratios"], low, high, color=color, alpha=0.45, lw=0)
        axis.plot(table["ratios"], table["low"], color=color, lw=2)
        if table["high"][0] is not None:
            axis.plot(table["ratios"], table["high"], color=color, lw=2)
        axis.set(yscale="log", ylim=ALPHA_SHOWN, xlim=(0, 1), xlabel="noise-to-signal ratio b/a")
        axis.set_title(f"{table['regularizer']}: {table['share']:.0%} of this area")
    axes[0].set_ylabel(r"regularization coefficient $\alpha$")
    axes[1].text(0.3, 0.6, "goes on above", ha="center", color="0.2")
    figure.suptitle(
        f"coloured: all signal and no noise is transmitted, n₁ = {settings.n1}, n₂ = {settings.n2}"
    )
    return figure


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    narrow, wide = (table["share"] for table in tables)
    by_ratio = [np.array(table["share_by_ratio"]) for table in tables]
    wider = float(np.mean(by_ratio[1] > by_ratio[0]))
    disagree = sum(table["disagree"] for table in tables)
    asked = sum(table["asked"] for table in tables)
    return [
        Claim(
            "Section III, Fig. phase_diag",
            "R_YY reaches the goal for a much larger range of alpha than R_XY",
            f"share of the area drawn (alpha from {ALPHA_SHOWN[0]:g} to {ALPHA_SHOWN[1]:g}, logarithmic) and "
            "share of the ratios b/a at which R_YY's part of it is the larger",
            f"R_XY {narrow:.1%}, R_YY {wide:.1%}; larger at {wider:.0%} of the ratios",
            verdict(wide > 2 * narrow),
        ),
        Claim(
            "Section III with Section II",
            "the regions follow from the offline solutions",
            f"offline solution at {asked:,} points of the diagram",
            f"{disagree} disagree",
            verdict(disagree == 0),
        ),
    ]
