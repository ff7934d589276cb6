"""Fig. signal2noise: for what share of inputs noise, and signal, is transmitted, as alpha grows from 0.

Drawn twice: with the 5,050 pairs of signal and noise levels stated in the appendix (a >= b), and with the
4,950 of them in which signal and noise differ (a > b).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import theory
from ..reproduction.item import Claim, Table
from ..reproduction.verdict import Verdict, verdict
from .experiment import KINDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "signal-to-noise"
TITLE = "Fig. signal2noise: signal against noise transmitted"

POINTS = 150
"""How many points of a curve are kept for drawing, beside the one nearest to the goal."""


@dataclass(frozen=True)
class Settings:
    n1: int = 10
    n2: int = 10


FULL = QUICK = Settings()


@dataclass(frozen=True)
class Case:
    regularizer: str
    strict: bool
    """Whether pairs with a = b are left out."""
    n1: int
    n2: int


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    """The curves are counted, not sampled: the seed plays no part."""
    return [Case(name, strict, settings.n1, settings.n2) for strict in (False, True) for name in KINDS]


def simulate(case: Case) -> Table:
    """The curve, its point nearest to (0, 1), and the same point counted with the offline solution."""
    curve = theory.transmission_curve(case.regularizer, strict=case.strict, n1=case.n1, n2=case.n2)
    distance = np.hypot(curve.noise_fraction, 1 - curve.signal_fraction)
    best = int(np.argmin(distance))
    shown = np.unique(np.append(np.linspace(0, len(distance) - 1, POINTS).round().astype(int), best))
    universal = np.flatnonzero((curve.noise_counts == 0) & (curve.signal_counts == curve.n_pairs))
    return {
        "regularizer": case.regularizer,
        "strict": case.strict,
        "n_pairs": curve.n_pairs,
        "noise": curve.noise_fraction[shown].tolist(),
        "signal": curve.signal_fraction[shown].tolist(),
        "nearest": list(curve.nearest_to_ideal()),
        "nearest_alpha": float(curve.alpha[best]),
        "nearest_offline": list(_counted(case, _just_above(curve.alpha, best))),
        "universal_alpha": curve.alpha[universal[[0, -1]]].tolist() if len(universal) else None,
    }


def _just_above(alpha: np.ndarray[tuple[int, ...], np.dtype[np.float64]], step: int) -> float:
    """Within a step of the curve, off its ends: there rounding would decide."""
    return float((alpha[step] + alpha[step + 1]) / 2 if step + 1 < len(alpha) else 2 * alpha[step])


def _counted(case: Case, alpha: float) -> tuple[float, float]:
    """Shares of pairs whose noise, and whose signal, the offline solution transmits at this alpha."""
    regularizer = KINDS[case.regularizer](alpha)
    levels = range(1, theory.GRID + 1)
    pairs = [(a, b) for a in levels for b in levels if (a > b if case.strict else a >= b)]
    kept = []
    for a, b in pairs:
        d = regularizer.shrink(theory.two_level_spectrum(a / theory.GRID, b / theory.GRID, case.n1, case.n2))
        kept.append((d[-1] > 0, d[0] > 0))
    noise, signal = np.mean(kept, axis=0)
    return float(noise), float(signal)


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    from ...plotting import COLOR_OF, panels

    figure, axes = panels(1, 2, 10, 4.8)
    widths = {"scale-dependent": 2.0, "input-output": 5.0, "squared-output": 2.0}
    for table in tables:
        axis, name = axes[int(table["strict"])], table["regularizer"]
        noise, signal = table["nearest"]
        axis.plot(table["noise"], table["signal"], color=COLOR_OF[name], linewidth=widths[name], label=name)
        axis.plot(noise, signal, "o", color=COLOR_OF[name], markersize=8, markeredgecolor="white", zorder=3)
    for axis, pairs in zip(axes, ("5,050 pairs, a ≥ b (as stated)", "4,950 pairs, a > b"), strict=True):
        axis.set(title=pairs, xlabel="share of pairs whose noise is transmitted", xlim=(-0.04, 1.02))
        axis.set(ylabel="share of pairs whose signal is transmitted", ylim=(-0.02, 1.04))
        axis.plot(0, 1, "k+", markersize=14, markeredgewidth=1.5, label="goal: no noise, all signal")
        axis.legend(loc="lower right", title="dots: nearest to the goal", frameon=False)
    return figure


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    by = {(table["regularizer"], table["strict"]): table for table in tables}
    return [
        _size_claim(by),
        _no_universal_alpha(by),
        *(_universal_alpha(by, name) for name in ("input-output", "squared-output")),
        _agreement(tables),
    ]


def _point(table: Table) -> str:
    return "({:.4f}, {:.4f})".format(*table["nearest"])


def _size_claim(by: dict[tuple[str, bool], Table]) -> Claim:
    sizes = [by["scale-dependent", strict]["n_pairs"] for strict in (False, True)]
    return Claim(
        "Appendix B",
        "there are 5,050 pairs of levels with a >= b",
        "counting",
        f"{sizes[0]:,} with a >= b, {sizes[1]:,} with a > b",
        verdict(sizes == [5050, 4950]),
    )


def _no_universal_alpha(by: dict[tuple[str, bool], Table]) -> Claim:
    tables = [by["scale-dependent", strict] for strict in (False, True)]
    return Claim(
        "Section III, Fig. signal2noise",
        "R_TY's curve does not reach (0, 1): no alpha suits all pairs",
        "the curve's point nearest to (0, 1), with a >= b and with a > b",
        f"{_point(tables[0])} and {_point(tables[1])}",
        verdict(all(t["universal_alpha"] is None and t["nearest"][0] > 0.2 for t in tables)),
    )


def _universal_alpha(by: dict[tuple[str, bool], Table], name: str) -> Claim:
    stated, strict = by[name, False], by[name, True]
    alpha = strict["universal_alpha"] or [float("nan")]
    return Claim(
        "Section III, Fig. signal2noise",
        f"the {name} regularizer's curve passes through (0, 1): a universal alpha exists",
        "the curve's point nearest to (0, 1), with a >= b and with a > b",
        f"{_point(stated)} with a >= b, {_point(strict)} with a > b, first at alpha = {alpha[0]:.4g}",
        verdict(printed=stated["nearest"] == [0, 1], corrected=strict["nearest"] == [0, 1]),
        expected=Verdict.CORRECTED,
        reason="the stated pairs include a = b, where nothing tells signal from noise; with a > b it holds",
    )


def _agreement(tables: Sequence[Table]) -> Claim:
    errors = [np.max(np.abs(np.subtract(t["nearest"], t["nearest_offline"]))) for t in tables]
    return Claim(
        "Section III with Section II",
        "the curves follow from the offline solutions",
        "every pair solved at each curve's alpha nearest to the goal",
        f"largest difference of a share {max(errors):.1g}",
        verdict(max(errors) == 0),
    )
