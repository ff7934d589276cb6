"""(c) Time per row through what people call, and of a new process."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from benchmarks import machine
from benchmarks.inputs import signal_in_noise
from benchmarks.peers.incremental_pca import IncrementalPCAByOne
from benchmarks.peers.peer import Array
from benchmarks.sections.fit.grid import INCREMENTAL, PLAIN
from benchmarks.sections.fit.processes import environment, one_use
from benchmarks.sections.fit.settings import BATCH, FIRST_USE, MEDIAN, ONE_THREAD, WIDE
from sklearn.datasets import load_digits
from sklearn.decomposition import IncrementalPCA

from eigenstream import OnlineAdaptivePCA
from eigenstream.paper.reproduction.item import Claim, Table
from evaluation.methods import METHODS, learnt, methods_for, present
from evaluation.question import OURS, Row, in_words, median_ratio, target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME, LETTER, ALONE = "time", "c", True
TITLE = "Time per row"
NEW_PROCESS, ONE_BY_ONE = "new process", "one by one"
LEARN_ONE = 10.0
"""Microseconds that `learn_one` may take at (64, 4) in the mean."""
INTRO = f"""Microseconds per row, float64, one BLAS thread, one process at a time, best of the repeats.
Ours is `OnlineAdaptivePCA(max_components=k).fit(X)` and reading the rank; IncrementalPCA is
scikit-learn's `fit` with batches of {BATCH} rows. FSM, CCIPCA, Oja and SPIRIT are compiled; the others
are NumPy; all are handed 100 rows at a time and have k components. Rivals but IncrementalPCA are timed on
as many of the first rows as take 0.3 s. FRAHST is left out where a row takes it 10 ms. Row by row, ours
is `learn_one`. A *new process* imports the library, fits the digits and transforms them."""
ENOUGH = 0.3
WIDEST_FOR_FRAHST = 4096


@dataclass(frozen=True)
class Settings:
    sizes: tuple[tuple[int, int, int], ...]
    repeats: int


FULL = Settings(
    (
        (64, 4, 1_000),
        (64, 4, 10_000),
        (64, 4, 50_000),
        (64, 32, 10_000),
        (256, 16, 10_000),
        (1024, 64, 5_000),
        (4096, 32, 2_000),
        (16384, 64, 1_000),
    ),
    3,
)
QUICK = Settings(((64, 4, 1_000), (256, 16, 1_000)), 1)


@dataclass(frozen=True)
class Case:
    kind: str
    n: int
    k: int
    T: int
    repeats: int
    present: str


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    here = present()
    return [
        *(Case("fit", *size, settings.repeats, here) for size in settings.sizes),
        Case(ONE_BY_ONE, 64, 4, 2_000 * settings.repeats, settings.repeats, here),
        Case(NEW_PROCESS, 64, 32, 1_797, settings.repeats, here),
    ]


def simulate(case: Case) -> Table:
    taken = {"fit": _fits, ONE_BY_ONE: _one_by_one, NEW_PROCESS: _new_processes}[case.kind](case)
    return {
        "kind": case.kind,
        "n": case.n,
        "k": case.k,
        "T": case.T,
        "best": {name: min(times) for name, times in taken.items()},
        "median": {name: median(times) for name, times in taken.items()},
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
        "processor": machine.facts()["processor"],
    }


def _fits(case: Case) -> dict[str, list[float]]:
    n, k, T = case.n, case.k, case.T
    X = signal_in_noise(n, k // 2, T)
    calls: dict[str, Callable[[Array], object]] = {
        OURS: lambda X: OnlineAdaptivePCA(max_components=k).fit(X).n_components_,
        "IncrementalPCA": lambda X: IncrementalPCA(n_components=k, batch_size=max(BATCH, k)).fit(X),
    }
    for name, make in methods_for(n, T).items():
        calls.setdefault(name, lambda X, make=make: learnt(make(n, k), X))
    if n > WIDEST_FOR_FRAHST:
        del calls["FRAHST"]
    for call in calls.values():  # compiles and imports
        call(X[: max(BATCH, 2 * k)])
    enough = {name: _rows_within(call, X, k) for name, call in calls.items()}
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(case.repeats):
        for name, call in calls.items():
            rows = X if name in (OURS, "IncrementalPCA") else X[: enough[name]]
            start = perf_counter()
            call(rows)
            taken[name].append(1e6 * (perf_counter() - start) / len(rows))
    return taken


def _rows_within(call: Callable[[Array], object], X: Array, k: int) -> int:
    """How many rows take about `ENOUGH` seconds."""
    first = X[: max(BATCH, 2 * k)]
    start = perf_counter()
    call(first)
    pace = (perf_counter() - start) / len(first)
    return int(min(max(ENOUGH / pace, len(first)), len(X)))


def _one_by_one(case: Case) -> dict[str, list[float]]:
    X = signal_in_noise(case.n, case.k // 2, case.T)
    taken: dict[str, list[float]] = {}
    names = ("CCIPCA", "FSM", "Oja", "SPIRIT")
    makers = {"IncrementalPCA": IncrementalPCAByOne, **{name: METHODS[name] for name in names}}
    for _ in range(case.repeats):
        model = OnlineAdaptivePCA(max_components=case.k).partial_fit(X[:1])
        start = perf_counter()
        for x in X:
            model.learn_one(x)
        taken.setdefault(OURS, []).append(1e6 * (perf_counter() - start) / len(X))
        for name, make in makers.items():
            learner = learnt(make(case.n, case.k), X[:BATCH])
            start = perf_counter()
            for x in X:
                learner.learn(x[None])
            taken.setdefault(name, []).append(1e6 * (perf_counter() - start) / len(X))
    return taken


def _new_processes(case: Case) -> dict[str, list[float]]:
    """Seconds of whole processes."""
    taken: dict[str, list[float]] = {OURS: [], "IncrementalPCA": []}
    with TemporaryDirectory() as folder:
        digits = Path(folder) / "digits.npy"
        np.save(digits, load_digits().data)
        for _ in range(case.repeats):
            for name, key in ((OURS, PLAIN), ("IncrementalPCA", INCREMENTAL)):
                taken[name].append(one_use(key, digits, environment(ONE_THREAD))[0])
    return taken


def rows(settings: Settings, tables: Sequence[Table]) -> list[Row]:
    return [
        Row(
            f"c/{t['kind'].replace(' ', '-')}/{t['n']}/{t['k']}/{t['T']}",
            f"{t['kind']} ({t['n']}, {t['k']}), {t['T']:,} rows",
            "seconds" if t["kind"] == NEW_PROCESS else "microseconds per row",
            t["best"],
        )
        for t in tables
    ]


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    found = rows(settings, tables)
    fits = [row.against("IncrementalPCA") for row in found if row.anchor.startswith("c/fit")]
    least, typical = min(fits, key=lambda row: row.ratio), median_ratio(fits)
    one, new = (next(t for t in tables if t["kind"] == kind) for kind in (ONE_BY_ONE, NEW_PROCESS))
    first = new["best"][OURS] / new["best"]["IncrementalPCA"]
    wide = [row for row in fits for n, k in WIDE if f"/{n}/{k}/" in row.anchor]
    measured = "time of IncrementalPCA over ours"
    return [
        target(
            "`fit` never slower than IncrementalPCA",
            measured,
            f"{_faster(least.ratio)} at the worst: {least.case}",
            least.ratio >= 1,
        ),
        target(f"{MEDIAN:g} times faster in the median", measured, _faster(typical), typical >= MEDIAN),
        *(
            target(f"8 times faster at {row.case}", measured, _faster(row.ratio), row.ratio >= 8)
            for row in wide
        ),
        target(
            f"a new process takes at most {FIRST_USE:g} times as long",
            "seconds",
            f"{first:.3g} times as long",
            first <= FIRST_USE,
        ),
        target(
            f"`learn_one` below {LEARN_ONE:g} µs in the mean at (64, 4)",
            "µs per call, best repeat",
            f"{one['best'][OURS]:.1f} µs",
            one["best"][OURS] < LEARN_ONE,
        ),
    ]


def _faster(ratio: float) -> str:
    return in_words(ratio, "faster", "slower")


def further(settings: Settings, tables: Sequence[Table]) -> str:
    load = max(t["load"] for t in tables)
    return (
        f"Measured on {tables[0]['processor']}, while up to {load:.1f} processes wanted a core. "
        "Unless that is close to 1, these are times of a busy machine."
    )


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    from eigenstream.plotting import BLUE, GREEN, ORANGE, PURPLE, RED, SKY, panels

    colours = (BLUE, RED, GREEN, PURPLE, ORANGE, ORANGE, ORANGE, SKY, SKY, SKY, "0.5")
    figure, (axis,) = panels(1, 1, 9, 4.5)
    mine = [t for t in tables if t["kind"] == "fit"]
    for i, name in enumerate(mine[0]["best"]):
        values = [t["best"].get(name, np.nan) for t in mine]
        axis.plot(range(len(mine)), values, "osD^x+1x+1."[i], color=colours[i], linestyle=":", label=name)
    axis.set_xticks(range(len(mine)), [f"({t['n']}, {t['k']})\n{t['T']:,}" for t in mine])
    axis.set(yscale="log", ylabel="µs per row", xlabel="(inputs, components), rows")
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return figure
