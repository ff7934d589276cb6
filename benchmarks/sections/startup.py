"""How long a new process takes before it does anything: importing, --help, and a run on a hundred rows."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.markdown import mark, number, table
from benchmarks.meter import Meter
from eigenstream.plotting import BLUE, ORANGE, panels

TITLE = "Start-up"
ROWS, INPUTS = 100, 8
PYTHON, ARRAYS = "python -c pass", "import numpy, scipy"
PEER = "from sklearn.decomposition import IncrementalPCA"
IMPORT, ESTIMATOR = "import eigenstream", "from eigenstream import OnlineAdaptivePCA"
HELP, RUN = "eigenstream --help", f"eigenstream run, {ROWS} rows"
TARGETS = {IMPORT: (ARRAYS, 0.5), HELP: (PYTHON, 0.3), RUN: (None, 2.0)}
"""Seconds that each may take beyond another; None: in all."""
RATIOS = {IMPORT: ARRAYS, ESTIMATOR: PEER, HELP: PYTHON, RUN: ARRAYS}
"""What each is compared with."""


@dataclass(frozen=True)
class Settings:
    repeats: int = 9
    seconds: float = 60.0
    """What to expect."""


def settings(quick: bool) -> Settings:
    return Settings(1, 5.0) if quick else Settings()


def seconds(quick: bool) -> float:
    return settings(quick).seconds


def run(meter: Meter, quick: bool) -> dict[str, Any]:
    """Each in a process of its own, in turns."""
    chosen = settings(quick)
    with TemporaryDirectory() as folder, meter.measuring("start-up", chosen.seconds):
        source = Path(folder, "rows.csv")
        rows = np.random.default_rng(0).standard_normal((ROWS, INPUTS))
        np.savetxt(source, rows, delimiter=",", header=",".join("abcdefgh"), comments="")
        commands = {name: ["-c", name] for name in (ARRAYS, IMPORT, PEER, ESTIMATOR)}
        commands |= {
            PYTHON: ["-c", "pass"],
            HELP: ["-m", "eigenstream", "--help"],
            RUN: ["-m", "eigenstream", "run", str(source), "--quiet"],
        }
        return {"repeats": chosen.repeats, "times": in_turns(commands, chosen.repeats)}


def in_turns(commands: Mapping[str, Sequence[str]], repeats: int) -> dict[str, dict[str, float]]:
    """Best and median seconds of each, and the fewest that it computed; the first round does not count."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(repeats + 1):
        for name, arguments in commands.items():
            taken[name].append(process(arguments))
    found = {}
    for name, pairs in taken.items():
        waited, computed = zip(*pairs[1:], strict=True)
        found[name] = {"best": min(waited), "median": median(waited), "computing": min(computed)}
    return found


def process(arguments: Sequence[str]) -> tuple[float, float]:
    """Seconds that one Python takes from its start to its end, and seconds that it computed."""
    start = perf_counter()
    with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"python {' '.join(arguments)} ended with {child.returncode}")
    return perf_counter() - start, used.ru_utime + used.ru_stime


def report(results: dict[str, Any]) -> str:
    """Targets, then all figures."""
    best = {name: times["best"] for name, times in results["times"].items()}
    targets = []
    for name, (beyond, limit) in TARGETS.items():
        taken = best[name] - (best[beyond] if beyond else 0)
        what = f"`{name}`" + (f", beyond `{beyond}`" if beyond else "")
        targets.append((what, f"{taken:.3f} s", f"below {limit:g} s", mark(taken < limit)))
    ratios = [(f"`{one}`", f"`{other}`", f"{best[one] / best[other]:.2f}x") for one, other in RATIOS.items()]
    figures = [
        (f"`{name}`", *(number(times[kind]) for kind in ("best", "median", "computing")))
        for name, times in _by_time(results)
    ]
    intro = (
        f"Whole processes, from their start to their end, in turns; best of {results['repeats']} after one "
        "that does not count, so that files are in memory already. What a process takes longer than "
        "it computes, it waits, for other processes among them."
    )
    return "\n\n".join(
        (
            intro,
            table(("", "measured", "target", ""), targets),
            table(("", "compared with", "ratio of times"), ratios),
            table(("", "best, s", "median, s", "computing, s"), figures),
        )
    )


def draw(results: dict[str, Any]) -> Figure:
    """Bars, ours and others'."""
    figure, (axis,) = panels(1, 1, 10, 3.6)
    names, times = zip(*reversed(_by_time(results)), strict=True)
    colours = [BLUE if "eigenstream" in name else ORANGE for name in names]
    axis.barh(names, [entry["best"] for entry in times], 0.7, color=colours)
    axis.grid(visible=False, axis="y")
    axis.set(xlabel="seconds, best of repeats", title="A new process, from its start to its end")
    return figure


def _by_time(results: dict[str, Any]) -> list[tuple[str, dict[str, float]]]:
    return sorted(results["times"].items(), key=lambda pair: float(pair[1]["best"]))
