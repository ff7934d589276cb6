"""(g) Memory: the most that Python's allocator sees while a stream is learnt, and whether it grows."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.peers.peer import Array

from eigenstream.paper.reproduction.item import Claim, Table
from evaluation.methods import CHUNK, METHODS
from evaluation.question import OURS, Row, target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME, LETTER, ALONE = "memory", "g", False
TITLE = "Memory"
GROWTH = 1.01
NOT_MORE_AT = (256, 16)
"""Size at which ours should need no more than IncrementalPCA."""
INTRO = f"""KiB that are allocated at most while {CHUNK} rows after {CHUNK} rows are learnt and the axes
read, beyond what was there before the first row and the rows themselves: state, waiting rows and
workspace. What LAPACK allocates inside of NumPy is not seen; it is about as much as the matrix that is
decomposed, for everybody who decomposes one. Everybody has k components and nobody forgets; ours is
`OnlineAdaptivePCA(max_components=k)`. Ours also keeps a history of spectra (256 moments) and of changes,
which is included."""


@dataclass(frozen=True)
class Settings:
    sizes: tuple[tuple[int, int], ...]
    T: int


FULL = Settings(((64, 4), (64, 32), (256, 16), (1024, 64), (4096, 32)), 1_200)
QUICK = Settings(((64, 4),), 800)


@dataclass(frozen=True)
class Case:
    n: int
    k: int
    T: int


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    return [Case(n, k, settings.T) for n, k in settings.sizes]


def simulate(case: Case) -> Table:
    """Peaks over the first quarter of the stream and over all of it."""
    found = {}
    for name, make in METHODS.items():
        learner = make(case.n, case.k)  # compiles, imports, and fills memos that all models share
        for rows in _stream(case, case.T):
            learner.learn(rows)
        learner.components(case.k)
        tracemalloc.start()
        try:
            found[name] = [_peak(name, case, rows) for rows in (case.T // 4, case.T)]
        finally:
            tracemalloc.stop()
    return {"n": case.n, "k": case.k, "KiB": found}


def _peak(name: str, case: Case, T: int) -> float:
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    learner = METHODS[name](case.n, case.k)
    for rows in _stream(case, T):
        learner.learn(rows)
    learner.components(case.k)
    most = tracemalloc.get_traced_memory()[1] - before
    return (most - 8 * CHUNK * case.n) / 2**10


def _stream(case: Case, T: int) -> Iterator[Array]:
    """The same buffer again and again: streams need no memory of their own."""
    rng, rows = np.random.default_rng(0), np.empty((CHUNK, case.n))
    scale = np.where(np.arange(case.n) < case.k // 2, 3.0, 0.3)
    for _ in range(T // CHUNK):
        rng.standard_normal(out=rows)
        rows *= scale
        yield rows


def rows(settings: Settings, tables: Sequence[Table]) -> list[Row]:
    return [
        Row(
            f"g/{t['n']}/{t['k']}",
            f"({t['n']}, {t['k']})",
            "KiB",
            {name: peaks[1] for name, peaks in t["KiB"].items()},
        )
        for t in tables
    ]


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    growth = {(t["n"], t["k"]): t["KiB"][OURS][1] / t["KiB"][OURS][0] for t in tables}
    most = max(growth, key=lambda size: growth[size])
    beside = [t["KiB"] for t in tables if (t["n"], t["k"]) == NOT_MORE_AT]
    return [
        *(
            target(
                f"at {NOT_MORE_AT} not more than IncrementalPCA",
                "KiB",
                f"{peaks[OURS][1]:,.0f}; IncrementalPCA {peaks['IncrementalPCA'][1]:,.0f}",
                peaks[OURS][1] <= peaks["IncrementalPCA"][1],
            )
            for peaks in beside
        ),
        target(
            "memory does not grow with the stream",
            "peak of the whole stream over that of its first quarter",
            f"at most {growth[most]:.3f}, at {most}",
            growth[most] <= GROWTH,
        ),
    ]


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    from eigenstream.plotting import BLUE, GREEN, ORANGE, PURPLE, RED, SKY, panels

    colours = (BLUE, RED, GREEN, PURPLE, ORANGE, ORANGE, ORANGE, SKY, SKY, SKY)
    figure, (axis,) = panels(1, 1, 8, 4)
    for i, name in enumerate(METHODS):
        values = [t["KiB"][name][1] for t in tables]
        axis.plot(range(len(tables)), values, "osD^x+1x+1"[i], color=colours[i], linestyle=":", label=name)
    axis.set_xticks(range(len(tables)), [f"({t['n']}, {t['k']})" for t in tables])
    axis.set(yscale="log", ylabel="KiB", xlabel="(inputs, components)")
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return figure
