"""The closed-form answer against the two steps that no PCA can do without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks.markdown import mark, number, table
from benchmarks.meter import Meter
from benchmarks.peers.peer import Array
from benchmarks.repeats import interleaved
from eigenstream import InputOutput, offline
from eigenstream.plotting import BLUE, ORANGE, SKY, panels

TITLE = "The offline solution"
TARGET = 3.0
BARE, FEW, ALL = "X'X and eigh alone", "solve, 16 outputs", "solve, n outputs"


@dataclass(frozen=True)
class Settings:
    T: int = 200_000
    n: int = 256
    repeats: int = 3
    seconds: float = 6.0
    """What to expect for one number of threads."""


def settings(quick: bool) -> Settings:
    return Settings(5_000, 64, 2, 0.2) if quick else Settings()


def seconds(quick: bool) -> float:
    return 2 * settings(quick).seconds


def run(meter: Meter, quick: bool) -> dict[str, Any]:
    """Time both with one and with two threads."""
    chosen = settings(quick)
    T, n = chosen.T, chosen.n
    X = paper_like(T, n)
    regularizer = InputOutput(5 / n)
    alternatives = {
        BARE: lambda: np.linalg.eigh(X.T @ X),
        FEW: lambda: offline.solve(X, regularizer, 16),
        ALL: lambda: offline.solve(X, regularizer),
    }
    taken = []
    for threads in (1, 2):
        with meter.measuring(f"offline, {T:,} x {n}, BLAS threads: {threads}", chosen.seconds):
            with threadpool_limits(threads):
                times = interleaved(alternatives, chosen.repeats)
            taken.append({"threads": threads, "times": times})
    kept = offline.solve(X, regularizer, 16).n_components
    return {"T": T, "n": n, "repeats": chosen.repeats, "n_components": kept, "taken": taken}


def paper_like(T: int, n: int) -> Array:
    """Variances 6, 5, 4, 2 and the rest uniform in [0, 0.2], along the coordinate axes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((T, n))
    X *= np.sqrt(np.concatenate(([6.0, 5.0, 4.0, 2.0], rng.uniform(0, 0.2, n - 4))))
    return X


def report(results: dict[str, Any]) -> str:
    """Seconds and ratios; the target is for the best of the repeats."""
    rows = []
    for taken in results["taken"]:
        bare = taken["times"][BARE]["best"]
        for name, time in taken["times"].items():
            ratio = time["best"] / bare
            verdict = "" if name == BARE else f"at most {TARGET:g}x: {mark(ratio <= TARGET)}"
            figures = (number(time["best"]), number(time["median"]), f"{ratio:.2f}")
            rows.append((name, taken["threads"], *figures, verdict))
    intro = (
        f"{results['T']:,} samples of {results['n']} inputs in float64, of which `InputOutput` keeps "
        f"{results['n_components']} components. Best and median of {results['repeats']} repeats, in turns."
    )
    headings = ("", "BLAS threads", "best, s", "median, s", "times the bare steps", "target")
    return f"{intro}\n\n{table(headings, rows)}"


def draw(results: dict[str, Any]) -> Figure:
    """Bars by number of threads, with the target as a line."""
    figure, (axis,) = panels(1, 1, 7, 3.6)
    for group, taken in enumerate(results["taken"]):
        times = taken["times"]
        for i, (name, colour) in enumerate(zip((BARE, FEW, ALL), (SKY, BLUE, ORANGE), strict=True)):
            label = name if group == 0 else None
            axis.bar(group + 0.25 * (i - 1), times[name]["best"], 0.22, color=colour, label=label)
        height = TARGET * times[BARE]["best"]
        label = f"target: {TARGET:g} times the bare steps" if group == 0 else None
        axis.plot([group - 0.38, group + 0.38], [height, height], "k--", label=label)
    axis.set_xticks(range(len(results["taken"])), [f"BLAS threads: {t['threads']}" for t in results["taken"]])
    axis.set_ylabel("seconds, best of repeats")
    axis.set_title(f"{results['T']:,} samples of {results['n']} inputs")
    figure.legend(loc="outside right upper", frameon=False)
    return figure
