"""(i) Monitoring: which rows of a plant with faults stand out, and what is promised of those that do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eigenstream.paper.reproduction.item import Claim, Table
from evaluation.question import Row
from evaluation.questions.monitoring import faults, promises

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME, LETTER, ALONE = "monitoring", "i", False
TITLE = "Monitoring"
INTRO = f"{faults.INTRO} {promises.INTRO}"
Case = faults.Case | promises.Case


@dataclass(frozen=True)
class Settings:
    faults: faults.Settings
    promises: promises.Settings


FULL = Settings(faults.FULL, promises.FULL)
QUICK = Settings(faults.QUICK, promises.QUICK)


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    return [*faults.cases(settings.faults, seed), *promises.cases(settings.promises, seed)]


def simulate(case: Case) -> Table:
    return faults.simulate(case) if isinstance(case, faults.Case) else promises.simulate(case)


def _of_faults(tables: Sequence[Table]) -> list[Table]:
    return [one for one in tables if one["kind"] == "faults"]


def rows(settings: Settings, tables: Sequence[Table]) -> list[Row]:
    return faults.rows(settings.faults, _of_faults(tables))


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    return [
        *faults.claims(settings.faults, _of_faults(tables)),
        *promises.claims(settings.promises, tables),
    ]


def further(settings: Settings, tables: Sequence[Table]) -> str:
    parts = faults.further(settings.faults, _of_faults(tables)), promises.further(settings.promises, tables)
    return "\n\n".join(parts)


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    from eigenstream.plotting import panels

    figure, (axis,) = panels(1, 1, 10, 4.5)
    faults.draw_on(axis, settings.faults, _of_faults(tables))
    return figure
