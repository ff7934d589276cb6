"""Weaknesses of the paper's networks, measured with and without the library's remedies.

One module per weakness. Each offers ``measure(seed)``, a pure function that returns a table,
``claims(tables)`` over all seeds, and ``draw(axis, tables)``, which returns the panel's title.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...reproduction.item import Claim, Table
from ..drawing import Figure, figure_of, lettered
from . import dead_modes, initial_scale, noise_edge, slow_start

NAME = "weaknesses"
TITLE = "Not in the paper: weaknesses of the networks, and remedies"
CAPTION = (
    "What the paper's networks are bad at, and what helps. (a) Modes just above the threshold are "
    "learnt slowly. (b) A mode that was silent for long comes back late. (c) A constant initial "
    "activity has units and breaks self-calibration at the start. (d) How large an eigenvalue pure "
    "noise has under forgetting."
)
ALT = (
    "Four panels. The error falls slowly from a random start, and much faster from the closed form. The "
    "wait for a new component is several times shorter with spontaneous activity. The subspace error of "
    "the constant start is large for small inputs, that of the scaled start the same for all. Measured "
    "largest eigenvalues of noise lie on the formula for forgetting."
)

THEMES: dict[str, Any] = {
    "slow start": slow_start,
    "dead modes": dead_modes,
    "initial scale": initial_scale,
    "noise edge": noise_edge,
}


@dataclass(frozen=True)
class Settings:
    n_seeds: int


FULL = Settings(n_seeds=8)
QUICK = Settings(n_seeds=2)


@dataclass(frozen=True)
class Case:
    theme: str
    seed: int


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    return [Case(theme, seed + i) for theme in THEMES for i in range(settings.n_seeds)]


def simulate(case: Case) -> Table:
    return {"theme": case.theme, "found": THEMES[case.theme].measure(case.seed)}


def _by_theme(tables: Sequence[Table]) -> dict[str, list[Table]]:
    return {theme: [t["found"] for t in tables if t["theme"] == theme] for theme in THEMES}


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    figure, axes = figure_of(2, 2, 5.4)
    titles = []
    for axis, (theme, found) in zip(axes, _by_theme(tables).items(), strict=True):
        titles.append(THEMES[theme].draw(axis, found))
    lettered(axes, titles)
    return figure


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    return [claim for theme, found in _by_theme(tables).items() for claim in THEMES[theme].claims(found)]
