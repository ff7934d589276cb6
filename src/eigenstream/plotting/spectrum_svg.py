"""A spectrum as an inline SVG, for the card that a notebook shows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..model.history import above_rounding
from .palette import BLUE, RED

WIDTH, HEIGHT = 360, 150
"""Size of the picture, in pixels."""
LEFT, BOTTOM = 46, HEIGHT - 22
"""Position of its axes, in pixels."""
MOST = 64
"""Most variances shown, the first ones: a dot for each needs 5 pixels."""
MARGIN = 0.07
"""Room above and below the variances, as a share of their range."""


def spectrum_svg(spectrum: NDArray[np.float64], rank: int, threshold: float) -> str:
    """Variances on a logarithmic scale: kept ones as filled dots, others as circles, the threshold dashed."""
    shown = above_rounding(spectrum)[:MOST]
    values = np.append(shown[np.isfinite(shown)], threshold if threshold > 0 else [])
    if not len(values):
        return ""
    low, high = math.log10(values.min()), math.log10(values.max())
    margin = MARGIN * (high - low) or 0.5
    step, last = (WIDTH - LEFT) / len(shown), len(shown) - 1

    def x(i: int) -> float:
        return LEFT + (i + 0.5) * step

    def y(value: float) -> float:
        return BOTTOM * (high + margin - math.log10(value)) / (high - low + 2 * margin)

    dots = [_dot(x(i), y(v), i, v, i < rank) for i, v in enumerate(shown.tolist()) if math.isfinite(v)]
    numbers = [_text(LEFT - 6, y(value) + 4, f"{value:.3g}", "end") for value in _ticks(low, high)]
    ends = [_text(x(i), HEIGHT - 6, str(i), "middle") for i in sorted({0, last})]
    named = _text((LEFT + WIDTH) / 2, HEIGHT - 6, "variance of each component", "middle") if last > 1 else ""
    label = f"variance along {last + 1} components, {min(rank, last + 1)} of them kept"
    inside = "".join([_axes(), _line(y(threshold)) if threshold > 0 else "", *dots, *numbers, *ends, named])
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return f'<svg {size} role="img" aria-label="{label}">{inside}</svg>'


def _dot(x: float, y: float, i: int, variance: float, kept: bool) -> str:
    ink = f'fill="{BLUE}"' if kept else 'fill="none" stroke="currentColor" stroke-opacity=".6"'
    said = f"<title>component {i}: variance {variance:.3g}</title>"
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" {ink}>{said}</circle>'


def _axes() -> str:
    way = f"M{LEFT} 0V{BOTTOM}H{WIDTH}"
    return f'<path d="{way}" fill="none" stroke="currentColor" stroke-opacity=".4"/>'


def _line(y: float) -> str:
    dashed = f'stroke="{RED}" stroke-width="1.5" stroke-dasharray="5 3"'
    return f'<path d="M{LEFT} {y:.1f}H{WIDTH}" {dashed}/>' + _text(WIDTH, y - 5, "threshold", "end")


def _ticks(low: float, high: float) -> list[float]:
    """Powers of ten between these exponents, at most four; the ends where there are not two."""
    powers = range(math.ceil(low), math.floor(high) + 1)
    if len(powers) < 2:
        return sorted({10**low, 10**high})
    return [10.0**power for power in powers[:: math.ceil(len(powers) / 4)]]


def _text(x: float, y: float, text: str, anchor: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-size="11" fill="currentColor">{text}</text>'
