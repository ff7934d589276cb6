"""(a) The right rank: components that come and go, rows that resemble each other, and real records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eigenstream.paper.reproduction.item import Claim, Table
from evaluation.question import Row
from evaluation.questions.rank import changing, real, slow, slow_results
from evaluation.streams import Known

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME, LETTER, ALONE = "rank", "a", False
TITLE = "The right rank"
INTRO = " ".join(part.INTRO for part in (changing, slow, real))
Case = Known | slow.Slow | real.Record


@dataclass(frozen=True)
class Settings:
    changing: changing.Settings
    slow: slow.Settings
    real: real.Settings


FULL = Settings(changing.FULL, slow.FULL, real.FULL)
QUICK = Settings(changing.QUICK, slow.QUICK, real.QUICK)


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    return [
        *changing.cases(settings.changing, seed),
        *slow.cases(settings.slow, seed),
        *real.cases(settings.real, seed),
    ]


def simulate(case: Case) -> Table:
    if isinstance(case, Known):
        return changing.simulate(case)
    return slow.simulate(case) if isinstance(case, slow.Slow) else real.simulate(case)


def _of(kind: str, tables: Sequence[Table]) -> list[Table]:
    return [t for t in tables if t["kind"] == kind]


def rows(settings: Settings, tables: Sequence[Table]) -> list[Row]:
    return [
        *changing.rows(settings.changing, _of("changing", tables)),
        *slow_results.rows(settings.slow, _of("slow", tables)),
    ]


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    return [
        *changing.claims(settings.changing, _of("changing", tables)),
        *slow_results.claims(settings.slow, _of("slow", tables)),
        *real.claims(settings.real, _of("real", tables)),
    ]


def further(settings: Settings, tables: Sequence[Table]) -> str:
    return "\n\n".join(
        (
            changing.further(settings.changing, _of("changing", tables)),
            slow_results.further(settings.slow, _of("slow", tables)),
            real.further(settings.real, _of("real", tables)),
        )
    )


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    from eigenstream.plotting import panels

    figure, (bars, trace, noise, factors) = panels(4, 1, 9, 13)
    changing.draw_on(bars, trace, settings.changing, _of("changing", tables))
    slow_results.draw_on(noise, factors, _of("slow", tables))
    return figure
