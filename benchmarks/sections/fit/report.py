"""Where ours is slower first, then the targets, then all figures."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.markdown import mark, number, size, table
from benchmarks.sections.fit.grid import FORGETS, INCREMENTAL, OURS, PLAIN
from benchmarks.sections.fit.settings import (
    BATCH,
    FIRST_USE,
    HALF_LIFE,
    LEAST,
    MEDIAN,
    ONE_THREAD,
    RUNS,
    WIDE,
)

Entry = dict[str, Any]
GRID = """Microseconds per row of `OnlineAdaptivePCA(max_components=k).fit(X)`, after which
`n_components_` is read, and of `IncrementalPCA(n_components=k, batch_size=max({batch}, k)).fit(X)` on the
same rows: k/2 components in white noise, float64, one BLAS thread, in turns, best of {repeats} repeats
(of fewer where they take long). Ours is measured without and with a half-life of {half_life:,} rows,
which IncrementalPCA does not have; unlike it, ours finds the number of components. The ratio is
IncrementalPCA's time over ours: above 1, ours is faster."""
FIRST = """A new process that imports the library, fits the 1,797 x 64 digits with 32 components and
transforms them, against the same with IncrementalPCA: seconds of the whole process and of `fit` within
it, best of {processes}, in turns. With *one BLAS thread*, and with the *default threads* of a process in
whose environment nothing is said about threads. Programs and data are in the memory of the system
already: nothing is read from disk."""
RUN = """Seconds of `eigenstream run FILE.csv` in a new process, best of {processes}; the first of them
too, which may have to compile what Python keeps compiled from then on."""


def report(results: dict[str, Any]) -> str:
    grid, processes = results["grid"], results["processes"]
    repeats = max(entry["repeats"] for entry in grid)
    parts = [
        GRID.format(batch=BATCH, half_life=HALF_LIFE, repeats=repeats),
        "## Where ours is slower",
        _losses(results),
        "## Targets",
        _targets(grid),
        "## Every size",
        _grid(grid),
        "## First use",
        FIRST.format(processes=processes),
        _first_use(results["first use"]),
        "## The command",
        RUN.format(processes=processes),
        _runs(results["runs"]),
    ]
    return "\n\n".join(parts)


def ratio(entry: Entry, ours: str) -> float:
    """How many times faster than IncrementalPCA ours is."""
    times = entry["microseconds"]
    return float(times[INCREMENTAL]["best"] / times[ours]["best"])


def use_ratio(uses: dict[str, Any], what: str) -> float:
    """How many times as long ours takes."""
    return float(uses[PLAIN][what]["best"] / uses[INCREMENTAL][what]["best"])


def _losses(results: dict[str, Any]) -> str:
    lost = [
        f"- {name} at {size(entry['n'], entry['k'])}, {entry['T']:,} rows: "
        f"{1 / ratio(entry, name):.2f} times as long as IncrementalPCA"
        for entry in results["grid"]
        for name in OURS
        if ratio(entry, name) < 1
    ]
    for threads, uses in results["first use"].items():
        for what, words in (("process", "the whole process"), ("fit", "`fit` alone")):
            times = use_ratio(uses, what)
            if times > 1:
                lost.append(f"- first use, {threads}, {words}: {times:.2f} times as long as IncrementalPCA")
    return "\n".join(lost) or "Nowhere."


def _targets(grid: list[Entry]) -> str:
    rows = []
    for i, name in enumerate(OURS):
        ratios = [ratio(entry, name) for entry in grid]
        for words, found, asked in (
            ("least ratio", min(ratios), LEAST[i]),
            ("median ratio", median(ratios), MEDIAN[i]),
        ):
            rows.append((f"{name}: {words}", f"{found:.2f}x", f"at least {asked:g}x", mark(found >= asked)))
        for entry in grid:
            targets = WIDE.get((entry["n"], entry["k"]))
            if targets is not None:
                target = targets[i]
                where = f"{name}: ratio at {size(entry['n'], entry['k'])}, {entry['T']:,} rows"
                found = ratio(entry, name)
                rows.append((where, f"{found:.2f}x", f"at least {target:g}x", mark(found >= target)))
    return table(("", "measured", "target", ""), rows)


def _grid(grid: list[Entry]) -> str:
    rows = []
    for entry in grid:
        times = [number(entry["microseconds"][name]["best"]) for name in (PLAIN, FORGETS, INCREMENTAL)]
        ratios = [f"{ratio(entry, name):.2f}x" for name in OURS]
        solver = " / ".join(dict.fromkeys(entry["solvers"].values()))
        rows.append((size(entry["n"], entry["k"]), f"{entry['T']:,}", *times, *ratios, solver))
    headings = (
        "(n, k)", "rows", "ours, µs", "ours, half-life, µs", "IncrementalPCA, µs", "ratio",
        "ratio, half-life", "solver",
    )  # fmt: skip
    return table(headings, rows)


def _first_use(found: dict[str, Any]) -> str:
    rows = []
    for threads, uses in found.items():
        for what in ("process", "fit"):
            times = [uses[name][what]["best"] for name in (PLAIN, INCREMENTAL)]
            ratio = use_ratio(uses, what)
            limited = what == "process" and threads == ONE_THREAD
            verdict = f"at most {FIRST_USE:g}x: {mark(ratio <= FIRST_USE)}" if limited else "no target"
            rows.append((f"{what}, {threads}", *(number(time) for time in times), f"{ratio:.2f}x", verdict))
    return table(("", "ours, s", "IncrementalPCA, s", "times as long", "target"), rows)


def _runs(runs: list[Entry]) -> str:
    rows = []
    for entry in runs:
        best, limit = entry["seconds"]["best"], RUNS[entry["rows"], entry["columns"]]
        figures = [f"{entry['seconds'][which]:.2f}" for which in ("best", "median", "first")]
        what = f"{entry['rows']:,} rows of {entry['columns']}"
        rows.append((what, *figures, f"at most {limit:g} s", mark(best <= limit)))
    return table(("", "best, s", "median, s", "first, s", "target", ""), rows)
