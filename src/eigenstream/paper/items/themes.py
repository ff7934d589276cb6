"""An item of several themes: each measured on its own, judged, and drawn into a panel of one figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from ..reproduction.item import Claim, Sheet, Table
from .drawing import Axes, Figure, figure_of, lettered
from .texts import texts_of


class Theme(NamedTuple):
    """A pure function of the seed, and what is judged and drawn by its tables, one per seed."""

    measure: Callable[[int], Table]
    claims: Callable[[Sequence[Table]], list[Claim]]
    draw: Callable[[Axes, Sequence[Table]], str]
    """Fill a panel, and return its title."""


@dataclass(frozen=True)
class Settings:
    n_seeds: int


@dataclass(frozen=True)
class Case:
    theme: str
    seed: int


class ThemedItem:
    """The members of an `Item`, made of themes.

    Parameters
    ----------
    name
        Name of the item, and of its texts.
    themes
        By name, in the order of the panels.
    full, quick
        Number of seeds of each theme.
    columns, height
        Panels side by side, and the height of a row of them in inches.
    sheets
        Tables for the report, of all tables by theme.
    """

    def __init__(
        self,
        name: str,
        themes: Mapping[str, Theme],
        *,
        full: int,
        quick: int,
        columns: int = 2,
        height: float = 2.7,
        sheets: Callable[[dict[str, list[Table]]], Sequence[Sheet]] | None = None,
    ) -> None:
        self.NAME, self.themes, self._columns, self._height = name, dict(themes), columns, height
        self.TITLE, self.CAPTION, self.ALT, _ = texts_of(name)
        self.FULL, self.QUICK = Settings(full), Settings(quick)
        self._sheets = sheets

    def cases(self, settings: Settings, seed: int) -> Sequence[Case]:
        return [Case(theme, seed + i) for theme in self.themes for i in range(settings.n_seeds)]

    def simulate(self, case: Case) -> Table:
        return {"theme": case.theme, "found": self.themes[case.theme].measure(case.seed)}

    def _by_theme(self, tables: Sequence[Table]) -> dict[str, list[Table]]:
        return {theme: [t["found"] for t in tables if t["theme"] == theme] for theme in self.themes}

    def draw(self, settings: Settings, tables: Sequence[Table]) -> Figure:
        rows = ceil(len(self.themes) / self._columns)
        figure, axes = figure_of(rows, self._columns, rows * self._height)
        titles = []
        for axis, (theme, found) in zip(axes, self._by_theme(tables).items(), strict=False):
            titles.append(self.themes[theme].draw(axis, found))
        for axis in axes[len(self.themes) :]:
            axis.remove()
        lettered(axes[: len(self.themes)], titles)
        return figure

    def claims(self, settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
        by = self._by_theme(tables)
        return [claim for theme, found in by.items() for claim in self.themes[theme].claims(found)]

    def functions(self) -> Sequence[Callable[..., object]]:
        return [part for theme in self.themes.values() for part in (theme.measure, theme.draw)]

    def sheets(self, settings: Settings, tables: Sequence[Table]) -> Sequence[Sheet]:
        return self._sheets(self._by_theme(tables)) if self._sheets else ()
