"""A fitted model or monitor as a notebook shows it: a card in place of scikit-learn's diagram.

HTML and an inline SVG, without scripts. Text and lines take the color of the page around them, so that the
card can be read on white and on black.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..learners.arrays import host
from ..model.history import STATISTIC_NAMES, above_rounding
from .palette import BLUE, RED

if TYPE_CHECKING:
    from ..monitoring import Alarm

# A card is to be seen without scrolling.
MOST_COMPONENTS, MOST_ALARMS, MOST_INPUTS = 6, 5, 3
"""Numbers of first components and last alarms on a card, and of the inputs that matter most to each."""
WIDTH, HEIGHT = 360, 150
"""Size of the picture, in pixels."""
LEFT, BOTTOM = 46, HEIGHT - 22
"""Position of its axes, in pixels."""
MOST = 64
"""Most variances shown, the first ones: a dot for each needs 5 pixels."""
MARGIN = 0.07
"""Room above and below the variances, as a share of their range."""

STYLE = """
.eigenstream-card {color: inherit; font-family: system-ui, sans-serif; font-size: 13px; max-width: 60em}
.eigenstream-card code {
  font-size: 12px; opacity: .75; white-space: pre-wrap; background: none; color: inherit}
.eigenstream-card dl {display: flex; flex-wrap: wrap; gap: 2px 24px; margin: 8px 0}
.eigenstream-card dt {font-size: 11px; opacity: .75; font-weight: normal}
.eigenstream-card dd {margin: 0; font-size: 16px}
.eigenstream-card table {border-collapse: collapse; margin: 6px 0; color: inherit; background: none}
.eigenstream-card tr {background: none}
.eigenstream-card th, .eigenstream-card td {
  text-align: left; padding: 2px 14px 2px 0; font-weight: normal; vertical-align: top; color: inherit}
.eigenstream-card td:not(:last-child), .eigenstream-card th {white-space: nowrap}
.eigenstream-card th {font-size: 11px; opacity: .75}
.eigenstream-card svg {display: block; overflow: visible}
"""


class ShownAsCard:
    """Mixin for estimators: once fitted, a notebook shows their card; before, scikit-learn's diagram."""

    def _repr_html_inner(self) -> str:
        return card(self) if _is_fitted(self) else super()._repr_html_inner()  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle and _is_fitted(self):  # there is none with set_config(display="text")
            bundle["text/html"] = card(self)
        return bundle


def _is_fitted(model: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def card(fitted: Any) -> str:
    """The card of a fitted model, or of a monitor and its model."""
    model = getattr(fitted, "model_", fitted)
    facts = {
        "rank": f"{model.n_components_} of at most {model.max_components_}",
        "samples seen": f"{model.n_samples_seen_:,}",
        "independent samples": f"about {model.n_samples_effective_:,.0f}",
        "inputs": f"{model.n_features_in_:,}",
        "variance kept": f"{float(np.sum(model.explained_variance_ratio_)):.1%}",
        "threshold": f"{model.threshold_:.3g}",
    }
    parts = [spectrum_svg(model.spectrum_, model.n_components_, model.threshold_), _components(model)]
    if model is not fitted:
        alarms = fitted.alarms_
        facts = {"rows watched": f"{fitted.n_rows_seen_:,}", "alarms": _count(alarms), **facts}
        parts.insert(0, _alarms(alarms[-MOST_ALARMS:]))
    if model.advice_:
        parts.append(f"<p>{escape(model.advice_)}</p>")
    told = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items()
    )
    inside = f"<code>{escape(repr(fitted))}</code><dl>{told}</dl>{''.join(parts)}"
    return f'<div class="eigenstream-card"><style>{STYLE}</style>{inside}</div>'


def _count(alarms: Sequence[Alarm]) -> str:
    on = bool(alarms) and alarms[-1].ended is None
    return f"{len(alarms):,}" + (", one is on" if on else "")


def _components(model: Any) -> str:
    """Table of the inputs with the largest weights in the leading components."""
    names, rows = model.input_names_, []
    axes = np.asarray(host(model.components_))[:MOST_COMPONENTS]
    for i, (axis, share) in enumerate(zip(axes, model.explained_variance_ratio_, strict=False)):
        largest = np.argsort(-np.abs(axis), kind="stable")[:MOST_INPUTS].tolist()
        rows.append((str(i), f"{share:.1%}", ", ".join(f"{axis[j]:+.2f} {names[j]}" for j in largest)))
    return _table(("component", "share of variance", "largest weights"), rows)


def _alarms(alarms: Sequence[Alarm]) -> str:
    """The last alarms, the latest first."""
    return _table(
        ("alarm at rows", "state", "peak", "inputs to blame"),
        [
            (
                f"{alarm.began:,} to {alarm.last:,}",
                "on" if alarm.ended is None else "the new normal" if alarm.accepted else "over",
                f"severity {alarm.peak:.3g}, {STATISTIC_NAMES[alarm.statistic]}",
                ", ".join(f"{name} {share:.0%}" for name, share in alarm.contributors[:MOST_INPUTS]),
            )
            for alarm in reversed(alarms)
        ],
    )


def _table(heads: Iterable[str], rows: Sequence[Iterable[str]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


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
