"""Weaknesses of the paper's networks, measured with and without the library's remedies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...reproduction.item import Claim, Table
from ..drawing import Axes, Figure, figure_of, lettered
from ..texts import texts_of
from . import forgetting, starts

NAME = "weaknesses"
TITLE, CAPTION, ALT, claim = texts_of(NAME)


class Theme(NamedTuple):
    """A weakness: a pure function of the seed, and what is judged and drawn by its tables, one per seed."""

    measure: Callable[[int], Table]
    claims: Callable[[Sequence[Table]], list[Claim]]
    draw: Callable[[Axes, Sequence[Table]], str]
    """Fill a panel, and return its title."""


THEMES = {
    "slow start": Theme(starts.measure_slow_start, starts.slow_start_claims, starts.draw_slow_start),
    "dead modes": Theme(
        forgetting.measure_dead_modes, forgetting.dead_modes_claims, forgetting.draw_dead_modes
    ),
    "initial scale": Theme(
        starts.measure_initial_scale, starts.initial_scale_claims, starts.draw_initial_scale
    ),
    "noise edge": Theme(
        forgetting.measure_noise_edge, forgetting.noise_edge_claims, forgetting.draw_noise_edge
    ),
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
