"""(e) Outliers: a share of the rows is gross, in random directions; how far do the axes turn?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.sections.accuracy.passes import error

from eigenstream.paper.reproduction.item import Claim, Table
from eigenstream.streams import random_orthonormal
from evaluation.methods import METHODS, Make, Ours, learnt, methods_for, present
from evaluation.question import OURS, Row, in_words, target, worst

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME, LETTER, ALONE = "outliers", "e", False
TITLE = "Outliers"
KEPT = "eigenstream, outliers kept"
VARIANCES = (8.0, 6.0, 5.0, 4.0)
INTRO = f"""{len(VARIANCES)} components of variance {", ".join(f"{v:g}" for v in VARIANCES)} in white
noise of variance 0.5 over 50 inputs. A share of the rows is replaced by gross ones: so many times as long
as rows usually are, each in its own random direction. The measure is the distance of the top axes from
the true ones (0 equal, 1 orthogonal), median over seeds. Ours is `OnlineAdaptivePCA(outliers="cap")`,
which is not the default; the default is shown beside it. AdaptivePCA (process-improve) leaves out rows
that are out of control, by default. No other rival does anything about outliers."""


@dataclass(frozen=True)
class Settings:
    shares: tuple[float, ...]
    sizes: tuple[float, ...]
    seeds: int
    T: int


FULL = Settings((0.0, 0.001, 0.01, 0.05), (5.0, 20.0, 100.0), 3, 2_000)
QUICK = Settings((0.0, 0.01), (20.0,), 1, 600)


@dataclass(frozen=True)
class Case:
    share: float
    size: float
    T: int
    seed: int
    present: str


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    return [
        Case(share, size, settings.T, seed + i, present())
        for share in settings.shares
        for size in (settings.sizes if share else settings.sizes[:1])
        for i in range(settings.seeds)
    ]


def simulate(case: Case) -> Table:
    rng, n, k = np.random.default_rng(case.seed), 50, len(VARIANCES)
    axes = random_orthonormal(n, k, rng)
    X = (rng.standard_normal((case.T, k)) * np.sqrt(VARIANCES)) @ axes
    X += np.sqrt(0.5) * rng.standard_normal(X.shape)
    usual = np.sqrt(np.mean(np.sum(X**2, axis=1)))
    gross = rng.random(case.T) < case.share
    away = rng.standard_normal((int(gross.sum()), n))
    X[gross] = case.size * usual * away / np.linalg.norm(away, axis=1)[:, None]
    makers: dict[str, Make] = {
        **methods_for(n, case.T),
        OURS: lambda n, k: Ours(n, k, outliers="cap"),
        KEPT: METHODS[OURS],
    }
    found = {name: error(learnt(make(n, k), X).components(k), axes) for name, make in makers.items()}
    return {"share": case.share, "size": case.size, "errors": found}


def rows(settings: Settings, tables: Sequence[Table]) -> list[Row]:
    found = []
    for share, size in dict.fromkeys((t["share"], t["size"]) for t in tables):
        mine = [t["errors"] for t in tables if (t["share"], t["size"]) == (share, size)]
        values = {name: median(t[name] for t in mine) for name in mine[0]}
        extra = {KEPT: values.pop(KEPT)}
        where = f"{100 * share:g} % of rows, {size:g}x" if share else "no outliers"
        anchor = f"e/{100 * share:g}/{size:g}" if share else "e/none"
        found.append(Row(anchor, where, "error of the axes", values, extra=extra))
    return found


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    found = rows(settings, tables)
    most = worst(found)
    return [
        target(
            "with outliers capped, never less accurate than a rival",
            "error of the axes",
            f"less accurate in {sum(row.lost for row in found)} of {len(found)} cases"
            + (f", at worst {in_words(most.ratio)} than {most.best_rival}: {most.case}" if most else ""),
            most is None,
        )
    ]


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    from eigenstream.plotting import BLUE, GREEN, ORANGE, PURPLE, RED, SKY, panels

    colours = (BLUE, RED, GREEN, PURPLE, ORANGE, ORANGE, ORANGE, SKY, SKY, SKY, "0.5", BLUE)
    figure, (axis,) = panels(1, 1, 9, 4.5)
    found = rows(settings, tables)
    for i, name in enumerate((*found[0].values, KEPT)):
        values = [{**row.values, **row.extra}[name] for row in found]
        style = {"linestyle": "--" if name == KEPT else "-", "color": colours[i], "label": name}
        axis.plot(range(len(found)), values, "osD^x+1x+1.o"[i], **style)
    axis.set_xticks(range(len(found)), [row.case.replace(", ", "\n") for row in found], fontsize=7)
    axis.set(yscale="log", ylabel="error of the axes")
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return figure
