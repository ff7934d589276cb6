"""Thousands of keyed streams: a bank on one core and on two, against a loop over models."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks.markdown import mark, number, size, table
from benchmarks.meter import Meter
from benchmarks.peers.peer import Array
from eigenstream import OnlineAdaptivePCA
from eigenstream.keyed import Bank
from eigenstream.plotting import BLUE, ORANGE, SKY, panels

TITLE = "A bank of keyed models"
N, K = 32, 4
LOOP, ONE, TWO = "Python loop over learn_one", "bank, one thread", "bank, two threads"
START, LATER = "start", "later"
SCALING, TIMES = 1.7, 20.0
"""How many times one thread's rate two should have, and how many times that of the loop."""


@dataclass(frozen=True)
class Settings:
    keys: int = 10_000
    rows: int = 32
    """Rows of each key per call."""
    start: int = 6
    """Calls that belong to the start of the streams."""
    later: int = 8
    """Calls after that: as many rows as there are between two looks at the spectrum."""
    seconds: float = 180.0


def settings(quick: bool) -> Settings:
    return Settings(50, 16, 4, 4, 2.0) if quick else Settings()


def seconds(quick: bool) -> float:
    return settings(quick).seconds


def run(meter: Meter, quick: bool) -> dict[str, Any]:
    """All take turns, call by call; one BLAS thread."""
    chosen = settings(quick)
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # ranks at their capacity
        with meter.measuring(f"bank of {chosen.keys:,} keys", chosen.seconds):
            banks = {
                ONE: Bank(max_components=K, workers=1),
                TWO: Bank(Path(folder) / "bank", max_components=K, workers=2),
            }
            contenders: dict[str, Callable[[list[int], Array], object]] = {LOOP: loop_over(chosen.keys)}
            contenders |= {name: bank.learn_many for name, bank in banks.items()}
            taken = times_of(contenders, chosen, meter)
            began = perf_counter()
            banks[TWO].save()
            saved = {"seconds": perf_counter() - began, "bytes": (Path(folder) / "bank").stat().st_size}
            for bank in banks.values():
                bank.close()
    return {
        "keys": chosen.keys,
        "rows": chosen.rows,
        "calls": [chosen.start, chosen.later],
        "taken": taken,
        "saved": saved,
    }


def times_of(
    contenders: dict[str, Callable[[list[int], Array], object]], chosen: Settings, meter: Meter
) -> dict[str, dict[str, dict[str, float]]]:
    """Microseconds per row, by the clock and computed, of each contender in each phase."""
    phases = {START: chosen.start, LATER: chosen.later}
    spent = {name: {phase: np.zeros(2) for phase in phases} for name in contenders}
    calls = batches(chosen)
    for phase, number_of_calls in phases.items():
        for call in range(number_of_calls):
            keys, rows = next(calls)
            for name, learn in contenders.items():
                meter.note(f"{phase} {call + 1} of {number_of_calls}: {name}")
                began = np.array([perf_counter(), process_time()])
                learn(keys, rows)
                spent[name][phase] += np.array([perf_counter(), process_time()]) - began
    rows_of = {
        phase: number_of_calls * chosen.rows * chosen.keys for phase, number_of_calls in phases.items()
    }
    return {
        name: {
            phase: dict(zip(("clock", "computing"), (1e6 * both / rows_of[phase]).tolist(), strict=True))
            for phase, both in by_phase.items()
        }
        for name, by_phase in spent.items()
    }


def batches(chosen: Settings) -> Iterator[tuple[list[int], Array]]:
    """Rows of all keys in random order: three components in white noise."""
    rng = np.random.default_rng(0)
    scale = np.r_[5.0, 4.0, 3.0, np.ones(N - 3)]
    while True:
        keys = rng.permutation(np.repeat(np.arange(chosen.keys), chosen.rows))
        yield keys.tolist(), rng.standard_normal((len(keys), N)) * scale


def loop_over(keys: int) -> Callable[[list[int], Array], object]:
    models = [OnlineAdaptivePCA(max_components=K, random_state=0) for _ in range(keys)]

    def learn(keys: list[int], rows: Array) -> None:
        for key, row in zip(keys, rows, strict=True):
            models[key].learn_one(row)

    return learn


def report(results: dict[str, Any]) -> str:
    """Targets, then all figures."""
    taken, saved, (start, later) = results["taken"], results["saved"], results["calls"]
    intro = (
        f"{results['keys']:,} streams of {N} inputs, capacity {K}, all defaults. Each call brings "
        f"{results['rows']} rows of every key in random order ({results['rows'] * results['keys']:,} rows), "
        f"and all contenders take turns, call by call. The first {start} calls are the start of the streams, "
        "where models are made and looks at the spectrum are frequent; targets are for the "
        f"{later} calls after it. The bank's scores and models are those of the loop to the bit. "
        "Computing is the processor time of the whole process: where the clock shows much more than that on "
        "one thread, the machine was busy with something else, and scaling cannot be told from the clock.\n\n"
        f"Saving all models took {saved['seconds']:.2f} s, {saved['bytes'] / results['keys'] / 1024:.1f} KiB "
        "per key."
    )
    rows = [
        (name, phase, number(times["clock"]), number(times["computing"]), f"{1e6 / times['clock']:,.0f}")
        for name, by_phase in taken.items()
        for phase, times in by_phase.items()
    ]
    headings = ("", "phase", "clock, µs per row", "computing, µs per row", "rows per second")
    return "\n\n".join((_targets(taken), intro, table(headings, rows)))


def _targets(taken: dict[str, dict[str, dict[str, float]]]) -> str:
    clock = {name: by_phase[LATER]["clock"] for name, by_phase in taken.items()}
    scaling, times = clock[ONE] / clock[TWO], clock[LOOP] / clock[TWO]
    start = taken[LOOP][START]["clock"] / taken[TWO][START]["clock"]
    rows = [
        (
            "two threads over one",
            size(N, K),
            f"{scaling:.2f}x",
            f"at least {SCALING:g}x",
            mark(scaling >= SCALING),
        ),
        (
            "two threads over the loop",
            size(N, K),
            f"{times:.1f}x",
            f"at least {TIMES:g}x",
            mark(times >= TIMES),
        ),
        ("one thread over the loop", size(N, K), f"{clock[LOOP] / clock[ONE]:.1f}x", "stated", ""),
        ("two threads over the loop, start", size(N, K), f"{start:.1f}x", "stated", ""),
    ]
    return table(("", "(n, k)", "measured", "target", ""), rows)


def draw(results: dict[str, Any]) -> Figure:
    """Bars of the time per row."""
    figure, (axis,) = panels(1, 1, 9, 3.6)
    colours = {LOOP: ORANGE, ONE: SKY, TWO: BLUE}
    for group, phase in enumerate((START, LATER)):
        for i, (name, colour) in enumerate(colours.items()):
            height = results["taken"][name][phase]["clock"]
            axis.bar(group + 0.25 * (i - 1), height, 0.22, color=colour, label=name if group == 0 else None)
            axis.annotate(number(height), (group + 0.25 * (i - 1), 1.05 * height), ha="center", fontsize=8)
    axis.set_yscale("log")
    axis.margins(y=0.15)
    axis.grid(visible=False, axis="x")
    axis.set_xticks((0, 1), ("start of the streams", "later"))
    axis.set(ylabel="microseconds per row, by the clock")
    axis.set_title(f"{results['keys']:,} keyed streams of {N} inputs, capacity {K}")
    figure.legend(loc="outside right upper", frameon=False)
    return figure
