"""(f) Forgetting: after a switch of all components, how close to the exact discounted answer?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.peers.candid_covariance_free import CompiledCCIPCA
from benchmarks.peers.peer import Array
from benchmarks.sections.accuracy.passes import error

from eigenstream.paper.reproduction.item import Claim, Table
from eigenstream.streams import random_orthonormal
from evaluation import rivals
from evaluation.methods import (
    PROCESS_IMPROVE,
    Fixed,
    Make,
    Ours,
    ProcessImprove,
    present,
    why_not_process_improve,
)
from evaluation.question import OURS, Row, target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME, LETTER, ALONE = "forgetting", "f", False
TITLE = "Forgetting"
MOST = 1.1
VARIANCES = (8.0, 6.0, 5.0, 4.0)
MOMENTS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Half-lives after the switch."""
INTRO = f"""{len(VARIANCES)} components in white noise of variance 0.5; at one moment all of them change
their directions. The measure is the distance of the top axes from the new ones, in units of that of the
exact discounted second moment, which remembers every row and decomposes an n x n matrix: 1 is as good as
exact, below 1 is luck. 64 inputs (exact solver) and 400 (subspace); everybody has {len(VARIANCES)}
components and our half-life, but for CCIPCA (its amnesic parameter is 2, as its paper recommends; its
window grows with time) and AdaptivePCA (process-improve), whose forgetting factor was set to our
half-life and which is given narrow input only."""


@dataclass(frozen=True)
class Settings:
    widths: tuple[int, ...]
    half_life: int
    seeds: int


FULL = Settings((64, 400), 200, 5)
QUICK = Settings((64,), 100, 1)


@dataclass(frozen=True)
class Case:
    n: int
    half_life: int
    seed: int
    present: str


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    seeds = range(seed, seed + settings.seeds)
    return [Case(n, settings.half_life, i, present()) for n in settings.widths for i in seeds]


def makers(n: int, half_life: int) -> dict[str, Make]:
    beta = 0.5 ** (1 / half_life)
    found: dict[str, Make] = {
        OURS: lambda n, k: Ours(n, k, half_life=half_life),
        "block SVD": lambda n, k: rivals.BlockSVD(n, k, discount=beta),
        "SPIRIT": lambda n, k: Fixed(rivals.SPIRIT(n, beta, least=k, most=k)),
        "FRAHST": lambda n, k: Fixed(rivals.FRAHST(n, beta, least=k, most=k)),
        "Federated PCA": lambda n, k: Fixed(rivals.FederatedPCA(n, beta, least=k, most=k)),
        "CCIPCA": lambda n, k: CompiledCCIPCA(n, k, amnesia=2.0),
    }
    if not why_not_process_improve(n):
        found[PROCESS_IMPROVE] = lambda n, k: ProcessImprove(n, k, forgetting_factor=1 - beta)
    return found


def simulate(case: Case) -> Table:
    rng, k = np.random.default_rng(case.seed), len(VARIANCES)
    before, after = 6 * case.half_life, int(max(MOMENTS) * case.half_life)
    old, new = (random_orthonormal(case.n, k, rng) for _ in range(2))
    scores = rng.standard_normal((before + after, k)) * np.sqrt(VARIANCES)
    X = np.vstack((scores[:before] @ old, scores[before:] @ new))
    X += np.sqrt(0.5) * rng.standard_normal(X.shape)
    moments = [before + int(moment * case.half_life) for moment in MOMENTS]
    exact = [error(_exact(X[:t], case.half_life, k), new) for t in moments]
    found = {}
    for name, make in makers(case.n, case.half_life).items():
        learner, seen, ratios = make(case.n, k), 0, []
        for t, best in zip(moments, exact, strict=True):
            for start in range(seen, t, 100):
                learner.learn(X[start : min(start + 100, t)])
            seen = t
            ratios.append(error(learner.components(k), new) / best)
        found[name] = ratios
    return {"n": case.n, "exact": exact, "ratios": found}


def _exact(X: Array, half_life: int, k: int) -> Array:
    """Top axes of the discounted second moment about the discounted mean."""
    weights = 0.5 ** (np.arange(len(X) - 1, -1, -1) / half_life)
    centered = np.sqrt(weights)[:, None] * (X - weights @ X / weights.sum())
    return np.asarray(np.linalg.eigh(centered.T @ centered)[1][:, ::-1][:, :k].T)


def rows(settings: Settings, tables: Sequence[Table]) -> list[Row]:
    found = []
    for n in settings.widths:
        mine = [t["ratios"] for t in tables if t["n"] == n]
        for i, moment in enumerate(MOMENTS):
            values = {name: median(t[name][i] for t in mine) for name in mine[0]}
            where = f"{n} inputs, {moment:g} half-lives after"
            found.append(Row(f"f/{n}/{moment:g}", where, "error over that of the exact answer", values))
    return found


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    most = max(rows(settings, tables), key=lambda row: row.values[OURS])
    value = most.values[OURS]
    return [
        target(
            f"within {MOST:g} of the exact discounted answer",
            "error over that of the exact answer, median over seeds, largest over moments and widths",
            f"{value:.3f}: {most.case}",
            value <= MOST,
        )
    ]


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    from eigenstream.plotting import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY, panels

    figure, axes = panels(1, len(settings.widths), 4.6 * len(settings.widths), 4, sharey=True)
    for axis, n in zip(axes, settings.widths, strict=True):
        mine = [row for row in rows(settings, tables) if row.anchor.startswith(f"f/{n}/")]
        colours = (BLUE, GREEN, ORANGE, PURPLE, SKY, RED, "0.5")
        for name, colour, marker in zip(mine[0].values, colours, "oDs^vx.", strict=False):
            values = [row.values[name] for row in mine]
            axis.plot(MOMENTS, values, f"{marker}-", color=colour, label=name, alpha=0.8)
        axis.axhline(MOST, color=BLACK, linewidth=0.8, linestyle=":")
        axis.set(xscale="log", yscale="log", xlabel="half-lives after the switch", title=f"{n} inputs")
        axis.set_xticks(MOMENTS, [f"{moment:g}" for moment in MOMENTS])
        axis.minorticks_off()
    axes[0].set_ylabel("error over that of the exact answer")
    axes[0].legend(fontsize=7)
    return figure
