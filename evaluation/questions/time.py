"""(c) Time per row through what people call, and of a new process."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks import machine
from benchmarks.inputs import signal_in_noise
from benchmarks.markdown import table
from benchmarks.peers.incremental_pca import IncrementalPCAByOne
from benchmarks.peers.peer import Array
from benchmarks.sections.fit.grid import INCREMENTAL, PLAIN
from benchmarks.sections.fit.processes import environment, one_use
from benchmarks.sections.fit.settings import BATCH, ONE_THREAD
from sklearn.datasets import load_digits
from sklearn.decomposition import IncrementalPCA

from eigenstream import OnlineAdaptivePCA
from eigenstream.model.plan import BLOCK
from eigenstream.paper.reproduction.item import Claim, Table
from evaluation import sensors
from evaluation.methods import METHODS, learnt, methods_for, present
from evaluation.question import OURS, Row, target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME, LETTER, ALONE = "time", "c", True
TITLE = "Time per row"
NEW_PROCESS, ONE_BY_ONE, PLAIN_FIT = "new process", "one by one", "fit"
HALF_LIFE = 500
FADING, STANDARDIZED, BOTH = (
    f"fit, half-life {HALF_LIFE}",
    "fit, standardized",
    f"fit, standardized, half-life {HALF_LIFE}",
)
REAL = {"fit, real": {}, f"fit, real, half-life {HALF_LIFE}": {"half_life": HALF_LIFE}}
"""The same of real sensors, whose rows resemble those before them."""
SENSORS, OF_SENSORS, MOST_ROWS = ("airq", "climate", "chlorine", "temperature", "traffic"), 8, 16_000
"""Which of them, number of components, and most rows."""
PARAMETERS: dict[str, dict[str, Any]] = {
    **REAL,
    PLAIN_FIT: {},
    FADING: {"half_life": HALF_LIFE},
    STANDARDIZED: {"standardize": True},
    BOTH: {"half_life": HALF_LIFE, "standardize": True},
}
PRODUCTS = "bare products"
FIND_THEIR_RANK = ("SPIRIT", "FRAHST", "Federated PCA")
"""Rivals that adapt the number of components, as ours does."""

ASKED = {
    (64, 4, 1_000): (5, 3),
    (64, 4, 20_000): (15, 8),
    (256, 16, 10_000): (12, 8),
    (1024, 64, 6_000): (4.5, 4),
    (4096, 32, 3_000): (9, 8),
    (16384, 64, 800): (13, 13),
}
"""Times faster than IncrementalPCA that `fit` should be, without and with a half-life."""
MEDIAN, LEAST = (8, 6), (3, 2.5)
"""The same in the median and at the worst."""
FROM_INPUTS = 64
"""These targets are for this many inputs and more; for fewer, `fit` should not be slower."""
FROM_ROWS, MOST_PRODUCTS = 10_000, 3
"""From this many rows on `fit` should take at most this many times the bare products."""
LEARN_ONE = 5.0
"""Microseconds that `learn_one` may take at (64, 4) in the mean."""
FIRST_USE = 1.2
"""Times as long as with IncrementalPCA a first use may take."""
INTRO = f"""Microseconds per row, float64, one BLAS thread, one process at a time, best of the repeats.
Ours is `OnlineAdaptivePCA(max_components=k).fit(X)` and reading the rank; IncrementalPCA is
scikit-learn's `fit` with batches of {BATCH} rows, which neither forgets nor standardizes. Each has three
turns, and fits short streams several times in each. Streams are independent rows of components in noise, and,
as *real*, sensor sets of imputegap, whose rows resemble those before them. FSM, CCIPCA, Oja and SPIRIT are
compiled; the others are NumPy; all are handed 100 rows at a time and have k components.
Rivals but IncrementalPCA are timed on as many of the first rows as take 0.3 s. FRAHST is left out where a
row takes it 10 ms. *Bare products* are a loop over blocks of {BLOCK} rows that computes what any method of
this kind has to: the scatter matrix of narrow input, or the three products of a block with k + 8
directions of wide input; nothing is centered, decomposed or decided. Row by row, ours is `learn_one`. A
*new process* imports the library, fits the digits and transforms them."""
ENOUGH = 0.3

# Seconds. The first of several fits of 1,000 rows takes a third longer than the others, whoever fits: after
# somebody else's turn, a processor has other code and other numbers at hand.
IN_SEQUENCE = 0.05
"""A turn is as many fits in sequence as take this long, one at least; the fastest counts."""
WIDEST_FOR_FRAHST = 4096


@dataclass(frozen=True)
class Settings:
    sizes: tuple[tuple[int, int, int], ...]
    repeats: int


FULL = Settings(
    (
        (5, 2, 1_000),
        (5, 2, 20_000),
        (12, 4, 20_000),
        (30, 6, 1_000),
        (30, 6, 20_000),
        (64, 4, 1_000),
        (64, 4, 20_000),
        (64, 32, 10_000),
        (256, 16, 10_000),
        (1024, 64, 6_000),
        (4096, 32, 3_000),
        (16384, 64, 800),
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
    sensors: str = ""
    """Set of real sensors; empty: components in noise."""


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    here = present()
    narrow = [size for size in settings.sizes if FROM_INPUTS <= size[0] <= 256 and size[2] > 1_000]
    found = {name: sensors.load(name, MOST_ROWS) for name in (SENSORS if settings is FULL else ())}
    real = {name: (X.shape[1], OF_SENSORS, len(X)) for name, X in found.items() if X is not None}
    kinds = [(PLAIN_FIT, settings.sizes), (FADING, settings.sizes), (STANDARDIZED, narrow), (BOTH, narrow)]
    return [
        *(Case(kind, *size, settings.repeats, here) for kind, sizes in kinds for size in sizes),
        *(Case(kind, *size, settings.repeats, here, name) for kind in REAL for name, size in real.items()),
        Case(ONE_BY_ONE, 64, 4, 2_000 * settings.repeats, settings.repeats, here),
        Case(NEW_PROCESS, 64, 32, 1_797, settings.repeats, here),
    ]


def simulate(case: Case) -> Table:
    taken = {ONE_BY_ONE: _one_by_one, NEW_PROCESS: _new_processes}.get(case.kind, _fits)(case)
    return {
        "kind": case.kind,
        "n": case.n,
        "k": case.k,
        "T": case.T,
        "sensors": case.sensors,
        "best": {name: min(times) for name, times in taken.items()},
        "median": {name: median(times) for name, times in taken.items()},
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
        "processor": machine.facts()["processor"],
    }


def _fits(case: Case) -> dict[str, list[float]]:
    n, k, T = case.n, case.k, case.T
    X = sensors.load(case.sensors, T) if case.sensors else signal_in_noise(n, k // 2, T)
    assert X is not None
    parameters = PARAMETERS[case.kind]
    calls: dict[str, Callable[[Array], object]] = {
        OURS: lambda X: OnlineAdaptivePCA(max_components=k, **parameters).fit(X).n_components_,
        PRODUCTS: products(n, k),
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
            rows = X if name in (OURS, "IncrementalPCA", PRODUCTS) else X[: enough[name]]
            taken[name].append(1e6 * _fastest(call, rows) / len(rows))
    return taken


def _fastest(call: Callable[[Array], object], rows: Array) -> float:
    """Seconds that the fastest of the fits of one turn takes."""
    times: list[float] = []
    while sum(times) < IN_SEQUENCE:
        start = perf_counter()
        call(rows)
        times.append(perf_counter() - start)
    return min(times)


def products(n: int, k: int) -> Callable[[Array], object]:
    """What any method of this kind has to compute of rows of n inputs for k components, and nothing else."""
    if n <= 256:
        from scipy.linalg.blas import dsyrk

        def scatter(X: Array) -> Array:
            C = np.zeros((n, n), order="F")
            for start in range(0, len(X), BLOCK):
                C = dsyrk(1.0, X[start : start + BLOCK].T, beta=1.0, c=C, overwrite_c=1)
            return C

        return scatter
    r = k + 8
    P = np.linalg.qr(np.random.default_rng(0).standard_normal((r + BLOCK, r)))[0].T.copy()
    V, L = np.zeros((r + BLOCK, n)), np.empty((r, n))

    def three(X: Array) -> Array:
        for start in range(0, len(X) - BLOCK + 1, BLOCK):
            V[r:] = X[start : start + BLOCK]
            V[r:] @ V.T  # with the directions, and with each other
            V[:r] = np.matmul(P, V, out=L)
        return L

    return three


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
            f"c/{t['kind'].replace(', ', '-').replace(' ', '-')}/{t['sensors'] or t['n']}/{t['k']}/{t['T']}",
            f"{t['kind']} {_size(t)}",
            "seconds" if t["kind"] == NEW_PROCESS else "microseconds per row",
            {name: value for name, value in t["best"].items() if name != PRODUCTS},
            extra={name: value for name, value in t["best"].items() if name == PRODUCTS},
        )
        for t in tables
    ]


def _times_faster(t: Table, *rivals: str) -> float:
    """Time of the fastest of these over ours."""
    there = [t["best"][name] for name in rivals if name in t["best"]]
    return min(there) / t["best"][OURS] if there else np.nan


def _size(t: Table) -> str:
    name = f"{t['sensors']} " if t["sensors"] else ""
    return f"{name}({t['n']}, {t['k']}), {t['T']:,} rows"


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    measured, found = "time of IncrementalPCA over ours", []
    for i, (kind, words) in enumerate(((PLAIN_FIT, "nothing forgotten"), (FADING, f"half-life {HALF_LIFE}"))):
        mine = [t for t in tables if t["kind"] == kind and t["n"] >= FROM_INPUTS]
        ratios = [_times_faster(t, "IncrementalPCA") for t in mine]
        for t, ratio in zip(mine, ratios, strict=True):
            size = t["n"], t["k"], t["T"]
            if size in ASKED:
                asked = ASKED[size][i]
                says = f"`fit` at {_size(t)}, {words}: {asked:g} times faster"
                found.append(target(says, measured, _in_words(ratio), ratio >= asked))
        typical, least = float(np.median(ratios)), min(ratios)
        says = f"`fit` {MEDIAN[i]:g} times faster than IncrementalPCA in the median, {words}"
        found.append(target(says, measured, _in_words(typical), typical >= MEDIAN[i]))
        says = f"`fit` {LEAST[i]:g} times faster at the worst, {words}"
        found.append(target(says, measured, _in_words(least), least >= LEAST[i]))
        if few := [t for t in tables if t["kind"] == kind and t["n"] < FROM_INPUTS]:
            slower = [_size(t) for t in few if _times_faster(t, "IncrementalPCA") < 1]
            says = f"`fit` of fewer than {FROM_INPUTS} inputs not slower than IncrementalPCA, {words}"
            told = f"slower at {', '.join(slower)}" if slower else "faster in all cases"
            found.append(target(says, measured, told, not slower))
    for kind, words in zip(REAL, ("nothing forgotten", f"half-life {HALF_LIFE}"), strict=True):
        if mine := [t for t in tables if t["kind"] == kind]:
            ratios = [_times_faster(t, "IncrementalPCA") for t in mine]
            says = f"`fit` of real sensors not slower than IncrementalPCA, {words}"
            told = f"{_in_words(min(ratios))} to {_in_words(max(ratios))}"
            found.append(target(says, measured, told, min(ratios) >= 1))
    fits = [t for t in tables if t["kind"] in PARAMETERS and t["n"] >= FROM_INPUTS]
    if long := [t for t in fits if t["T"] >= FROM_ROWS]:
        over = [1 / _times_faster(t, PRODUCTS) for t in long]
        says = f"`fit` at most {MOST_PRODUCTS} times the bare products from {FROM_ROWS:,} rows on"
        told = f"{min(over):.2g} to {max(over):.2g} times"
        found.append(target(says, "time over that of the products", told, max(over) <= MOST_PRODUCTS))
    behind = [t for t in fits if _times_faster(t, *FIND_THEIR_RANK) < 1]
    told = f"behind in {len(behind)} of {len(fits)} cases"
    says = "`fit` faster than every rival that finds its rank"
    found.append(target(says, "time of the fastest of them over ours", told, not behind))
    one, new = (next(t for t in tables if t["kind"] == kind) for kind in (ONE_BY_ONE, NEW_PROCESS))
    first = new["best"][OURS] / new["best"]["IncrementalPCA"]
    says = f"a new process takes at most {FIRST_USE:g} times as long"
    found.append(target(says, "seconds", f"{first:.3g} times as long", first <= FIRST_USE))
    says = f"`learn_one` {LEARN_ONE:g} µs in the mean at (64, 4)"
    mean = one["best"][OURS]
    found.append(target(says, "µs per call, best repeat", f"{mean:.1f} µs", mean <= LEARN_ONE))
    return found


def further(settings: Settings, tables: Sequence[Table]) -> str:
    load = max(t["load"] for t in tables)
    lines = [
        (
            row.case,
            *(_in_words(_times_faster(t, *names)) for names in (("IncrementalPCA",), FIND_THEIR_RANK)),
            _in_words(row.ratio),
            row.best_rival,
            f"{1 / _times_faster(t, PRODUCTS):.1f}",
        )
        for row, t in zip(rows(settings, tables), tables, strict=True)
        if t["kind"] in PARAMETERS
    ]
    headings = ("", "IncrementalPCA", "the fastest that finds its rank", "the fastest of all", "which is")
    return (
        f"## Ours against each\n\n{table((*headings, 'times the bare products'), lines)}\n\n"
        f"Measured on {tables[0]['processor']}, while up to {load:.1f} processes wanted a core. "
        "Unless that is close to 1, these are times of a busy machine."
    )


def _in_words(ratio: float) -> str:
    """A ratio of times, above 1 where ours is faster."""
    if not ratio > 0:
        return "not there"
    return f"{max(ratio, 1 / ratio):.1f} times {'faster' if ratio >= 1 else 'slower'}"


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    from eigenstream.plotting import BLUE, GREEN, ORANGE, PURPLE, RED, SKY, panels

    colours = (BLUE, "0.2", RED, GREEN, PURPLE, ORANGE, ORANGE, ORANGE, SKY, SKY, SKY, "0.5")
    figure, (axis,) = panels(1, 1, 9, 4.5)
    mine = [t for t in tables if t["kind"] == PLAIN_FIT]
    for i, name in enumerate(mine[0]["best"]):
        values = [t["best"].get(name, np.nan) for t in mine]
        axis.plot(range(len(mine)), values, "o_sD^x+1x+1."[i], color=colours[i], linestyle=":", label=name)
    axis.set_xticks(range(len(mine)), [f"({t['n']}, {t['k']})\n{t['T']:,}" for t in mine])
    axis.set(yscale="log", ylabel="µs per row", xlabel="(inputs, components), rows")
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return figure
