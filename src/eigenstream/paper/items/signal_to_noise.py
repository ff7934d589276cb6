"""Fig. 1: shares of inputs whose noise, and whose signal, is transmitted, as alpha grows from 0.

Drawn twice: with the 5,050 pairs of signal and noise levels stated in the appendix (a >= b), and with the
4,950 of them in which signal and noise differ (a > b).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ... import theory
from ..reproduction.item import Claim, Table
from .drawing import DARK, LOOKS, Figure, curve, figure_of, lettered
from .experiment import KINDS, SELF_CALIBRATING, Array
from .texts import texts_of

NAME = "signal-to-noise"
TITLE, CAPTION, ALT, claim = texts_of(NAME)

MARKED = {
    "scale-dependent": (0.1, 0.3, 0.5, 0.7, 0.9),
    "input-output": (0.03, 0.05, 0.06, 0.08),
    "squared-output": (0.01, 0.1, 1.0),
}
"""The alphas marked on the curves."""
POINTS = 150
"""Number of points of a curve kept for drawing, beside the one nearest to the goal."""


@dataclass(frozen=True)
class Settings:
    n1: int = 10
    n2: int = 10


FULL = QUICK = Settings()


@dataclass(frozen=True)
class Case:
    regularizer: str
    strict: bool
    """True if pairs with a = b are left out."""
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
        "area": _area(curve),
        "marked": [[alpha, *_at(curve, alpha)] for alpha in MARKED[case.regularizer]],
        "other_counts": _same_shape(case, curve),
        "nearest_alpha": float(curve.alpha[best]),
        "nearest_offline": list(_counted(case, _just_above(curve.alpha, best))),
        "universal_alpha": curve.alpha[universal[[0, -1]]].tolist() if len(universal) else None,
    }


def _area(curve: theory.TransmissionCurve) -> float:
    """Area under the curve from its last point on, with straight lines between its points."""
    width, signal = -np.diff(curve.noise_fraction), curve.signal_fraction
    return float(width @ (signal[1:] + signal[:-1]) / 2)


def _at(curve: theory.TransmissionCurve, alpha: float) -> list[float]:
    step = int(np.searchsorted(curve.alpha, alpha, side="right")) - 1
    return [float(curve.noise_fraction[step]), float(curve.signal_fraction[step])]


def _same_shape(case: Case, curve: theory.TransmissionCurve) -> bool:
    """True if other numbers of modes give the same points."""
    other = theory.transmission_curve(case.regularizer, strict=case.strict, n1=3, n2=57)
    points = [
        set(zip(c.noise_counts.tolist(), c.signal_counts.tolist(), strict=True)) for c in (curve, other)
    ]
    return points[0] == points[1]


def _just_above(alpha: Array, step: int) -> float:
    """An alpha within a step of the curve, off its ends, where rounding would decide."""
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
    figure, axes = figure_of(1, 2, 3.9)
    for table in tables:
        axis, name = axes[int(table["strict"])], table["regularizer"]
        look, (noise, signal) = LOOKS[name], table["nearest"]
        width = 3.2 if name == "input-output" else 1.8
        curve(
            axis, name, table["noise"], table["signal"], lw=width, label=f"{name}, area {table['area']:.4f}"
        )
        size = {"input-output": 12, "squared-output": 7}.get(name, 9)
        axis.plot(noise, signal, look.marker, color=look.color, ms=size, mec=DARK, mew=0.8, zorder=4)
        for alpha, x, y in table["marked"]:
            axis.plot(x, y, look.marker, color=look.color, ms=4, mec=DARK, mew=0.5, zorder=3)
            offset = ABOVE if name == "input-output" and x > 0.1 else OFFSET[name]
            axis.annotate(f"{alpha:g}", (x, y), xytext=offset, textcoords="offset points", fontsize=6)
    for axis in axes:
        axis.set(xlabel="share of pairs whose noise is transmitted", xlim=(-0.04, 1.04), ylim=(-0.02, 1.06))
        axis.plot(0, 1, "+", color=DARK, ms=13, mew=1.2, zorder=5, label="goal: no noise, all signal")
        axis.legend(loc="lower right", frameon=False)
    axes[0].set_ylabel("share of pairs whose signal is transmitted")
    lettered(axes, ("5,050 pairs, $a \\geq b$ (as stated)", "4,950 pairs, $a > b$"))
    return figure


OFFSET = {"scale-dependent": (5, -7), "input-output": (5, -9), "squared-output": (-2, 6)}
"""Offset of an alpha's label from its mark, in points."""
ABOVE = (0, 6)
"""Offset for marks of the input-output regularizer above the scale-dependent's curve."""


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    by = {(table["regularizer"], table["strict"]): table for table in tables}
    sizes = [by["scale-dependent", strict]["n_pairs"] for strict in (False, True)]
    gap = max(np.max(np.abs(np.subtract(t["nearest"], t["nearest_offline"]))) for t in tables)
    same = sum(table["other_counts"] for table in tables)
    return [
        claim("size", f"{sizes[0]:,} with a ≥ b, {sizes[1]:,} with a > b", sizes == [5050, 4950]),
        _no_universal_alpha(*(by["scale-dependent", strict] for strict in (False, True))),
        *(_universal_alpha(name, by[name, False], by[name, True]) for name in SELF_CALIBRATING),
        claim("agreement", f"largest difference of a share {gap:.1g}", gap == 0),
        _area_claim(by),
        claim("counts", f"the same for {same} of {len(tables)} curves", same == len(tables)),
    ]


def _point(table: Table) -> str:
    return "({:.4f}, {:.4f})".format(*table["nearest"])


def _no_universal_alpha(stated: Table, strict: Table) -> Claim:
    missed = all(t["universal_alpha"] is None and t["nearest"][0] > 0.2 for t in (stated, strict))
    return claim("no-universal-alpha", f"{_point(stated)} and {_point(strict)}", missed)


def _universal_alpha(name: str, stated: Table, strict: Table) -> Claim:
    alpha = strict["universal_alpha"] or [float("nan")]
    value = f"{_point(stated)} with a ≥ b, {_point(strict)} with a > b, first at alpha = {alpha[0]:.4g}"
    return claim("universal-alpha", value, *(t["nearest"] == [0, 1] for t in (stated, strict)), name=name)


def _area_claim(by: dict[tuple[str, bool], Table]) -> Claim:
    areas, strict = ({name: by[name, only]["area"] for name in KINDS} for only in (False, True))
    end = by["squared-output", False]["noise"][-1]
    lacking = 1 - end - areas["squared-output"]
    return claim(
        "area",
        ", ".join(f"{name} {areas[name]:.4f} ({strict[name]:.4f})" for name in areas)
        + f"; squared-output's curve ends at a noise of {end:.4f}; its area lacks {lacking:.0g} beyond that",
        min(strict["input-output"], strict["squared-output"]) > 1 - 1e-9
        and areas["scale-dependent"] < 0.9 < areas["input-output"] < 1
        and abs(lacking) < 1e-9,
    )
