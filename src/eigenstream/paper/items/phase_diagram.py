"""Fig. 2: where all signal and no noise is transmitted, by alpha and noise-to-signal ratio b/a."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ... import theory
from ..reproduction.item import Claim, Sheet, Table
from .drawing import DARK, LOOKS, Axes, Figure, figure_of, lettered
from .experiment import KINDS, SELF_CALIBRATING, Array
from .texts import texts_of

NAME = "phase-diagram"
TITLE, CAPTION, ALT, claim = texts_of(NAME)

ALPHA_SHOWN = {"input-output": (0.003, 0.15), "squared-output": (0.003, 30.0)}
"""The ranges of alpha drawn. Nothing is judged by them."""
LOWEST, HIGHEST = ALPHA_SHOWN["squared-output"]
GAINS_SHOWN = {"input-output": (0.1, 0.3, 0.5, 0.7), "squared-output": (0.01, 0.03, 0.1, 0.3, 0.5, 0.7)}
LABELLED = 0.16
"""The ratio at which lines of equal gain carry their labels."""
PATCH = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 0.6}
FAR = 1e6
"""Multiple of the lower end of its range at which alpha is tried where the range has no upper end."""


@dataclass(frozen=True)
class Settings:
    points: int
    """Ratios b/a between 0 and 1."""
    alphas: int
    """Values of alpha at each ratio for which the offline solution is asked."""
    n1: int = 10
    n2: int = 10


FULL = Settings(points=199, alphas=80)
QUICK = Settings(points=99, alphas=80)


@dataclass(frozen=True)
class Case:
    regularizer: str
    points: int
    alphas: int
    n1: int
    n2: int


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    """One case per regularizer; nothing is random, so the seed plays no part."""
    return [
        Case(name, settings.points, settings.alphas, settings.n1, settings.n2) for name in SELF_CALIBRATING
    ]


def simulate(case: Case) -> Table:
    """The printed region for each ratio, where offline solutions agree with it, and what they transmit."""
    ratios = np.arange(1, case.points + 1) / (case.points + 1)
    regions = theory.phase_diagram(ratios, n1=case.n1, n2=case.n2)
    region = next(r for r in regions if r.regularizer.name == case.regularizer)
    alphas = np.geomspace(*ALPHA_SHOWN[case.regularizer], case.alphas)
    gains = np.array([[_gain(case, float(r), float(alpha)) for alpha in alphas] for r in ratios])
    inside = (alphas >= region.low[:, None]) & (alphas < region.high[:, None])
    universal, universal_gains = _universal(case)
    return {
        "regularizer": case.regularizer,
        "ratios": ratios.tolist(),
        "low": region.low.tolist(),
        "high": [float(high) if math.isfinite(high) else None for high in region.high],
        "alphas": alphas.tolist(),
        "gains": gains.tolist(),
        "asked": int(inside.size),
        "disagree": int(np.count_nonzero(inside != (gains > 0))),
        "factors": [_factor(case, float(r)) for r in ratios],
        "far": sum(_gain(case, r, FAR * low) > 0 for r, low in zip(ratios, region.low.tolist(), strict=True)),
        "meeting": _meeting(case),
        "universal": universal,
        "universal_gains": universal_gains,
    }


def _gain(case: Case, ratio: float, alpha: float) -> float:
    """Share of the signal that the offline solution transmits if it reaches the goal; otherwise 0."""
    d = KINDS[case.regularizer](alpha).shrink(theory.two_level_spectrum(1.0, ratio, case.n1, case.n2))
    return float(d[0]) if d[-1] == 0 else 0.0


def _factor(case: Case, ratio: float) -> float | None:
    """Upper over lower end of the range of alpha that keeps exactly the signal; None without upper end."""
    lam = theory.two_level_spectrum(1.0, ratio, case.n1, case.n2)
    low, high = KINDS[case.regularizer].alpha_range(lam, case.n1)
    return high / low if high < math.inf else None


def _meeting(case: Case) -> float:
    """The ratio up to which some alpha suits both regularizers, by bisection on offline ranges."""
    low, high = 0.0, 1.0
    for _ in range(50):
        ratio = (low + high) / 2
        lam = theory.two_level_spectrum(1.0, ratio, case.n1, case.n2)
        narrow, wide = (KINDS[name].alpha_range(lam, case.n1) for name in SELF_CALIBRATING)
        low, high = (ratio, high) if wide[0] < narrow[1] else (low, ratio)
    return low


def _universal(case: Case) -> tuple[float, list[float]]:
    """The least alpha that suits all pairs with a > b, and the share it transmits: median, least, largest."""
    curve = theory.transmission_curve(case.regularizer, strict=True, n1=case.n1, n2=case.n2)
    suits = np.flatnonzero((curve.noise_counts == 0) & (curve.signal_counts == curve.n_pairs))
    alpha = float(curve.alpha[suits[0]]) * (1 + 1e-9)
    levels = range(1, theory.GRID + 1)
    gains = [_gain(case, b / a, alpha) for a in levels for b in range(1, a)]
    return alpha, [float(np.median(gains)), min(gains), max(gains)]


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    figure, axes = figure_of(1, 3, 3.3)
    for table, hatch in zip(tables, ("", "////"), strict=True):
        name = table["regularizer"]
        _draw_region(axes[0], table, hatch)
        top = 0.3 if name == "squared-output" else 0.035
        axes[0].text(0.3, top, name, ha="center", fontsize=7.5, fontweight="bold", color=DARK)
    for axis, table in zip(axes[1:], tables, strict=True):
        _draw_region(axis, table, "")
        _draw_gains(axis, table)
        axis.axhline(table["universal"], color=DARK, ls=":", lw=1)
        x, side = (0.9, "right") if table["high"][0] is None else (0.01, "left")
        axis.text(x, table["universal"], "universal", ha=side, va="bottom", fontsize=6.5)
    for axis in axes:
        axis.set(yscale="log", ylim=(LOWEST, HIGHEST), xlim=(0, 1), xlabel="noise-to-signal ratio $b/a$")
        axis.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])
    axes[1].set_ylim(*ALPHA_SHOWN["input-output"])
    axes[0].set_ylabel(r"regularization coefficient $\alpha$")
    lettered(
        axes,
        (f"both, $n_1={settings.n1}$, $n_2={settings.n2}$", *(f"{name}: gain" for name in SELF_CALIBRATING)),
    )
    return figure


def _edges(table: Table) -> tuple[Array, Array, Array]:
    """Ratios and both ends of the region, drawn out to ratio 0."""
    ratios = np.concatenate(([0.0], table["ratios"]))
    low = np.concatenate(([LOWEST / 10], table["low"]))
    high = [HIGHEST if value is None else value for value in table["high"]]
    return ratios, low, np.concatenate((high[:1], high))


def _draw_region(axis: Axes, table: Table, hatch: str) -> None:
    ratios, low, high = _edges(table)
    color = LOOKS[table["regularizer"]].color
    axis.fill_between(ratios, np.minimum(low, high), high, facecolor=color, alpha=0.35, lw=0)
    if hatch:
        bounds = (ratios, np.minimum(low, high), high)
        axis.fill_between(*bounds, facecolor="none", edgecolor=color, hatch=hatch, lw=0)
    axis.plot(ratios, low, color=color, lw=1.6)
    if table["high"][0] is not None:
        axis.plot(ratios, high, color=color, lw=1.6)


def _draw_gains(axis: Axes, table: Table) -> None:
    gains, levels = np.array(table["gains"]), GAINS_SHOWN[table["regularizer"]]
    alphas, shown = table["alphas"], np.where(gains > 0, gains, np.nan).T
    axis.contour(table["ratios"], alphas, shown, levels, colors=DARK, linewidths=0.7)
    at = int(np.searchsorted(table["ratios"], LABELLED))
    for level in levels:
        alpha = alphas[np.argmin(np.abs(gains[at] - level))]
        axis.text(LABELLED, alpha, f"{level:.0%}", fontsize=6, ha="center", va="center", bbox=PATCH)


def sheets(settings: Settings, tables: Sequence[Table]) -> Sequence[Sheet]:
    rows = []
    for table in tables:
        median, least, largest = table["universal_gains"]
        rows.append((
            table["regularizer"],
            "a/b" if table["high"][0] is not None else "∞",
            f"{table['universal']:.5g}",
            f"{median:.1%} ({least:.1%} to {largest:.1%})",
        ))  # fmt: skip
    return [
        Sheet(
            "The price of a universal alpha",
            (
                "Regularizer",
                "Upper over lower end of alpha's range",
                "Least universal alpha",
                "Share of the signal it transmits: median (least to largest) of the 4,950 pairs",
            ),
            tuple(rows),
        )
    ]


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    disagree, asked = (sum(table[key] for table in tables) for key in ("disagree", "asked"))
    return [
        _larger_claim(*tables),
        claim("offline", f"{disagree} disagree", disagree == 0, asked=asked),
        _meeting_claim(settings, tables[0]["meeting"]),
        _price_claim(tables),
    ]


def _larger_claim(narrow: Table, wide: Table) -> Claim:
    """Judge by the ends of the ranges, not by the area that happens to be drawn."""
    ratios = np.array(narrow["ratios"])
    factors = np.array([f or math.nan for f in narrow["factors"]])
    error = float(np.max(np.abs(factors * ratios - 1)))
    endless = sum(f is None for f in wide["factors"])
    return claim(
        "larger",
        f"R_XY: a/b to {error:.0e}, from {factors.min():.3g} to {factors.max():.3g}; R_YY: no upper end at "
        f"{endless} of {len(ratios)} ratios, goal still reached far above it at {wide['far']}",
        error < 1e-9 and endless == wide["far"] == len(ratios),
    )


def _meeting_claim(settings: Settings, found: float) -> Claim:
    n1, n2 = settings.n1, settings.n2
    expected = (math.sqrt(n1 * n1 + n1 * n2) - n1) / n2
    value = f"up to b/a = {found:.4f}; the formula says {expected:.4f}"
    return claim("meeting", value, abs(found - expected) < 1e-9)


def _price_claim(tables: Sequence[Table]) -> Claim:
    medians, least = ({t["regularizer"]: t["universal_gains"][i] for t in tables} for i in (0, 1))
    ratio = medians["input-output"] / medians["squared-output"]
    return claim(
        "price",
        ", ".join(f"{name} {medians[name]:.1%} (median; least {least[name]:.1%})" for name in medians)
        + f": a factor of {ratio:.0f}",
        ratio > 10 and max(medians.values()) < 0.5,
    )
