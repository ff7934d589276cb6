"""Table 1: which alpha keeps the signal alone, and the top output eigenvalue that results.

The printed formulas are held against the offline solution of data with exactly the two-level spectrum: both
ends of the range are found by bisection on the number of modes that the solution keeps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import offline, streams, theory
from ...regularizers import Regularizer
from ..reproduction.item import Claim, Sheet, Table
from .drawing import LOOKS, Figure, figure_of, lettered
from .texts import texts_of

if TYPE_CHECKING:
    from ...offline import Floats

NAME = "table-1"
TITLE, CAPTION, ALT, claim = texts_of(NAME)

LARGE_ALPHA = 1e4
"""Stands for infinity where a range has no upper end."""
# Sixty halvings end at rounding, which the offline solution's eigenvalues add to: 3e-13 was measured.
TOLERANCE = 1e-9
"""Largest relative error at which a formula counts as exact."""


@dataclass(frozen=True)
class Settings:
    inputs: tuple[tuple[float, float, int, int], ...]
    """Signal and noise level, and how many modes of each."""


QUICK = Settings(((1.0, 0.2, 10, 54), (0.05, 0.04, 10, 10), (30.0, 3.0, 3, 7)))
FULL = Settings((*QUICK.inputs, (1.0, 0.9, 1, 20), (2.0, 0.5, 20, 5), (500.0, 499.0, 6, 6)))


@dataclass(frozen=True)
class Case:
    a: float
    b: float
    n1: int
    n2: int
    seed: int


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    return [Case(*levels, seed=seed) for levels in settings.inputs]


def simulate(case: Case) -> Table:
    """Printed range and eigenvalue of each regularizer, and the same found from the data."""
    X = data_with_spectrum(
        theory.two_level_spectrum(case.a, case.b, case.n1, case.n2), np.random.default_rng(case.seed)
    )
    rows = [_compared(row, X, case.n1) for row in theory.alpha_table(case.a, case.b, case.n1, case.n2)]
    return {"a": case.a, "b": case.b, "n1": case.n1, "n2": case.n2, "rows": rows}


def data_with_spectrum(lam: Floats, rng: np.random.Generator) -> Floats:
    """2n samples whose second moment has exactly these eigenvalues, along random axes."""
    n = len(lam)
    Q = streams.random_orthonormal(2 * n, n, rng).T
    return np.asarray(np.sqrt(2 * n) * (Q * np.sqrt(lam)) @ streams.random_orthonormal(n, n, rng))


def _compared(row: theory.AlphaRow, X: Floats, n1: int) -> Table:
    kind, high = row.regularizer, min(row.high, LARGE_ALPHA)
    ends = row.low * (1 + 1e-6), min(row.high * (1 - 1e-6), 100 * row.low)
    inside, dense = np.geomspace(*ends, 7), np.geomspace(*ends, 50)
    top = [float(offline.solve(X, kind(float(alpha))).output_eigenvalues[0]) for alpha in inside]
    found_high = _last_alpha(kind, X, n1, row.low, 2 * high)
    return {
        "regularizer": kind.name,
        "low": row.low,
        "high": row.high if row.high < math.inf else None,
        "top_at_high": row.output_top_eigenvalue(high),
        "found_low": _last_alpha(kind, X, n1 + 1, 0.0, high),
        "found_high": found_high if found_high < 2 * high else None,
        "alphas": inside.tolist(),
        "top": [row.output_top_eigenvalue(float(alpha)) for alpha in inside],
        "found_top": top,
        "curve_alphas": dense.tolist(),
        "curve": [row.output_top_eigenvalue(float(alpha)) for alpha in dense],
    }


def _last_alpha(kind: type[Regularizer], X: Floats, n_modes: int, low: float, high: float) -> float:
    """Largest alpha at which the offline solution keeps ``n_modes`` or more; ``high`` if it does there."""
    if offline.solve(X, kind(high)).n_components >= n_modes:
        return high
    for _ in range(60):
        middle = (low + high) / 2
        if offline.solve(X, kind(middle)).n_components >= n_modes:
            low = middle
        else:
            high = middle
    return high


MARKERS = ("o", "s", "^", "D", "v", "P")


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    """Draw printed formulas as lines and offline solutions as marks, in units in which the inputs compare."""
    figure, axes = figure_of(1, 3, 3.1, sharey=True)
    for column, axis in enumerate(axes):
        name = tables[0]["rows"][column]["regularizer"]
        for table, marker in zip(tables, MARKERS, strict=False):
            row = table["rows"][column]
            x = np.array([_position(row, alpha) for alpha in row["alphas"]])
            top, found = (np.array(row[key]) / (table["a"] - table["b"]) for key in ("curve", "found_top"))
            dense = [_position(row, alpha) for alpha in row["curve_alphas"]]
            axis.plot(dense, top, color=LOOKS[name].color, lw=1.4, zorder=2)
            axis.plot(
                x, found, marker, mfc="white", mec="black", mew=0.8, ms=4.5, label=_label(table), zorder=3
            )
        axis.set(ylim=(-0.05, 1.08))
    for axis in axes[:2]:
        axis.set_xlabel(r"$\alpha$ within its range, 0 to 1")
    axes[2].set(xscale="log", xlabel=r"$\alpha$ / lower end (no upper end)")
    axes[0].set_ylabel("top output eigenvalue / $(a - b)$")
    lettered(axes, [row["regularizer"] for row in tables[0]["rows"]])
    figure.legend(*axes[2].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def _position(row: Table, alpha: float) -> float:
    """Position of alpha within a range with two ends, or relative to the only end."""
    return float((alpha - row["low"]) / (row["high"] - row["low"]) if row["high"] else alpha / row["low"])


def _label(table: Table) -> str:
    return f"a = {table['a']:g}, b = {table['b']:g}, $n_1$ = {table['n1']}, $n_2$ = {table['n2']}"


RANGE = {
    "scale-dependent": "a ≥ α ≥ b",
    "input-output": "a/(n₁ a + n₂ b) ≥ α ≥ b/(n₁ a + n₂ b)",
    "squared-output": "α ≥ b/((a - b) n₁)",
}
OPEN_RANGE = {
    "scale-dependent": "a > α ≥ b",
    "input-output": "a/(n₁ a + n₂ b) > α ≥ b/(n₁ a + n₂ b)",
    "squared-output": RANGE["squared-output"],
}
TOP = {
    "scale-dependent": "a - α",
    "input-output": "a - α (n₁ a + n₂ b)",
    "squared-output": "a (1/(1 + α n₁))",
}
LABEL = {
    "scale-dependent": "1. Scale-dependent, R_TY",
    "input-output": "2. Input-output, R_XY",
    "squared-output": "3. Squared-output, R_YY",
}


def sheets(settings: Settings, tables: Sequence[Table]) -> Sequence[Sheet]:
    """The table as printed, and what was found for each input."""
    names = list(RANGE)
    printed = Sheet(
        "Table 1 as printed, and as it holds",
        ("Regularizer", "Choice of α (printed)", "as it holds", "Output top eigenvalue"),
        tuple((LABEL[name], RANGE[name], OPEN_RANGE[name], TOP[name]) for name in names),
    )
    rows = []
    for table in tables:
        for row in table["rows"]:
            rows.append((
                f"a = {table['a']:g}, b = {table['b']:g}, n₁ = {table['n1']}, n₂ = {table['n2']}",
                row["regularizer"],
                f"{row['low']:.6g} to {_end(row['high'])}",
                f"{row['found_low']:.6g} to {_end(row['found_high'])}",
                f"{row['top'][0]:.6g}, {row['found_top'][0]:.6g}",
            ))  # fmt: skip
    found = Sheet(
        "Table 1 for each input",
        ("Input", "Regularizer", "Range by the formula", "Range found", "Top eigenvalue at the lower end"),
        tuple(rows),
        "Ranges found by bisection on the rank of the offline solution; last column: formula, solution.",
    )
    return [printed, found]


def _end(value: float | None) -> str:
    return "∞" if value is None else f"{value:.6g}"


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    found: list[Claim] = []
    for column, name in enumerate(RANGE):
        rows = [table["rows"][column] for table in tables]
        found += [_range_claim(name, rows), _top_claim(name, rows, tables)]
    return [*found, _closed_end_claim(tables)]


def _range_claim(name: str, rows: Sequence[Table]) -> Claim:
    errors = [abs(row["found_low"] / row["low"] - 1) for row in rows]
    errors += [abs(row["found_high"] / row["high"] - 1) for row in rows if row["high"] and row["found_high"]]
    same_kind = all((row["high"] is None) == (row["found_high"] is None) for row in rows)
    value = f"both ends agree to {max(errors):.1e} (relative, largest of {len(errors)})"
    right = same_kind and max(errors) < TOLERANCE
    return claim("range", value, right, name=name, stated=RANGE[name], inputs=len(rows))


def _top_claim(name: str, rows: Sequence[Table], tables: Sequence[Table]) -> Claim:
    error = max(
        float(np.max(np.abs(np.subtract(row["top"], row["found_top"])))) / table["a"]
        for row, table in zip(rows, tables, strict=True)
    )
    value = f"agrees to {error:.1e} (relative to a)"
    return claim("top", value, error < TOLERANCE, name=name, stated=TOP[name], inputs=len(rows))


def _closed_end_claim(tables: Sequence[Table]) -> Claim:
    at_end = [row["top_at_high"] / table["a"] for table in tables for row in table["rows"] if row["high"]]
    below = [row["found_top"][-1] for table in tables for row in table["rows"] if row["high"]]
    value = f"at most {max(at_end):.0e} at the end, at least {min(below):.1e} just below"
    return claim("closed-end", value, min(at_end) > TOLERANCE, min(below) > 0)
