"""From files: what reading and bookkeeping leave of the rate of learning, and whether memory stays flat."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks import machine
from benchmarks.inputs import signal_in_noise
from benchmarks.markdown import mark, number, table
from benchmarks.meter import Meter
from benchmarks.peers.peer import Array
from benchmarks.repeats import interleaved
from eigenstream import OnlineAdaptivePCA, sources
from eigenstream.jobs import Job
from eigenstream.model.stream_model import StreamModel
from eigenstream.plotting import BLUE, ORANGE, SKY, panels

TITLE = "Throughput from files"
WIDTH, CAPACITY, BATCH = 256, 16, 1024
CSV_BLOCK = 500
SHARE = 0.7
"""Of the rate in memory that should be left when a model is fed from an NPY file."""
TIMES = 1.3
"""How many times the time of parsing CSV a job may take."""
MEBIBYTES = 500
"""What a job may use however large its file."""


@dataclass(frozen=True)
class Settings:
    rows: int = 300_000
    block: int = 50_000
    """Rows that are drawn; the file repeats them."""
    csv_rows: int = 40_000
    repeats: int = 2
    seconds: tuple[float, float, float] = (13.0, 6.0, 4.0)
    """What to expect of NPY, CSV and memory."""


def settings(quick: bool) -> Settings:
    return Settings(10_000, 5_000, 500, 1, (0.5, 0.5, 2.0)) if quick else Settings()


def seconds(quick: bool) -> float:
    return sum(settings(quick).seconds)


def run(meter: Meter, quick: bool) -> dict[str, Any]:
    """One BLAS thread throughout."""
    chosen = settings(quick)
    with TemporaryDirectory() as folder, threadpool_limits(1):
        X = signal_in_noise(WIDTH, CAPACITY // 2, chosen.block)
        matrix, text = Path(folder) / "x.npy", Path(folder) / "x.csv"
        with meter.measuring("throughput from NPY", chosen.seconds[0]):
            repeated(X, chosen.rows, matrix)
            npy = interleaved(
                {"memory": lambda: alone(X, chosen.rows), "job": lambda: job(matrix)}, chosen.repeats
            )
        with meter.measuring("throughput from CSV", chosen.seconds[1]):
            repeated_text(X[:CSV_BLOCK], chosen.csv_rows, text)
            csv = interleaved({"parsing": lambda: parsed(text), "job": lambda: job(text)}, chosen.repeats)
        with meter.measuring("memory", chosen.seconds[2]):
            peak = peak_mebibytes(matrix)
        size = matrix.stat().st_size
    return {"rows": chosen.rows, "csv_rows": chosen.csv_rows, "repeats": chosen.repeats,
            "npy": npy, "csv": csv, "file_mebibytes": size / 2**20, "peak_mebibytes": peak}  # fmt: skip


def repeated(X: Array, rows: int, path: Path) -> None:
    """A file with these rows again and again."""
    with path.open("wb") as file:
        head = {"descr": "<f8", "fortran_order": False, "shape": (rows, X.shape[1])}
        np.lib.format.write_array_header_1_0(file, head)
        for _ in range(rows // len(X)):
            X.tofile(file)


def repeated_text(X: Array, rows: int, path: Path) -> None:
    """The same as CSV; writing numbers takes longer than reading them."""
    written = StringIO()
    np.savetxt(written, X, delimiter=",", fmt="%.9g")
    with path.open("w") as file:
        for _ in range(rows // len(X)):
            file.write(written.getvalue())


def alone(X: Array, rows: int) -> None:
    """A model on as many rows, in memory already."""
    model = OnlineAdaptivePCA(max_components=CAPACITY, random_state=0)
    for _ in range(rows // len(X)):
        for start in range(0, len(X), BATCH):
            model.partial_fit(X[start : start + BATCH])


def job(path: Path) -> None:
    """What `eigenstream run` does, without its display."""
    Job(StreamModel(max_components=CAPACITY, random_state=0), sources.open(path)).run()


def parsed(path: Path) -> None:
    with sources.open(path) as source:
        for _ in source:
            pass


def peak_mebibytes(path: Path) -> float:
    """The most memory of a process that runs the job and nothing else."""
    code = "import sys; from benchmarks.sections.throughput import told; told(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout))


def told(path: str) -> None:
    job(Path(path))
    print(json.dumps(machine.peak_memory()))


def report(results: dict[str, Any]) -> str:
    """Targets, then all figures."""
    intro = (
        f"What `eigenstream run` makes of a file of {results['rows']:,} rows of {WIDTH} numbers (NPY) and "
        f"one of {results['csv_rows']:,} (CSV), capacity {CAPACITY}, one thread, best of "
        f"{results['repeats']} in turns. The files have just been written: they are read from memory rather "
        f"than from disk. In memory: `partial_fit` by {BATCH:,} rows that are there already; parsing alone "
        "makes rows of the CSV and drops them."
    )
    figures = table(
        ("", "best, µs per row", "median, µs per row"),
        [
            (name, *(number(1e6 * times[kind] / rows) for kind in ("best", "median")))
            for name, times, rows in _timed(results)
        ],
    )
    return f"{intro}\n\n{_targets(results)}\n\n{figures}"


def _targets(results: dict[str, Any]) -> str:
    npy, csv = results["npy"], results["csv"]
    share = npy["memory"]["best"] / npy["job"]["best"]
    ratio = csv["job"]["best"] / csv["parsing"]["best"]
    peak, size = results["peak_mebibytes"], results["file_mebibytes"]
    rows = [
        ("share of the rate in memory, from NPY", f"{share:.0%}", f"at least {SHARE:.0%}", share >= SHARE),
        ("time over parsing alone, from CSV", f"{ratio:.2f}x", f"at most {TIMES:g}x", ratio <= TIMES),
        (f"memory for {size:,.0f} MiB of NPY", f"{peak:.0f} MiB", f"below {MEBIBYTES} MiB", peak < MEBIBYTES),
    ]
    return table(("", "measured", "target", ""), [(*row, mark(met)) for *row, met in rows])


def _timed(results: dict[str, Any]) -> list[tuple[str, dict[str, float], int]]:
    npy, csv = results["npy"], results["csv"]
    return [
        ("in memory", npy["memory"], results["rows"]),
        ("job from NPY", npy["job"], results["rows"]),
        ("parsing CSV alone", csv["parsing"], results["csv_rows"]),
        ("job from CSV", csv["job"], results["csv_rows"]),
    ]


def draw(results: dict[str, Any]) -> Figure:
    """Bars: with and without the job around it."""
    figure, (npy, csv) = panels(1, 2, 9, 3.6)
    bars = _timed(results)
    for axis, pair, title in ((npy, bars[:2], "from NPY"), (csv, bars[2:], "from CSV")):
        for place, (name, times, rows) in enumerate(pair):
            height = 1e6 * times["best"] / rows
            axis.bar(name, height, 0.6, color=(SKY, BLUE)[place])
            axis.annotate(number(height), (place, height), ha="center", va="bottom")
        axis.set(title=title, ylabel="microseconds per row, best")
        axis.margins(y=0.15)
        axis.grid(visible=False, axis="x")
    limit = 1e6 * results["npy"]["memory"]["best"] / results["rows"] / SHARE
    npy.axhline(limit, color=ORANGE, linestyle="--", label=f"{SHARE:.0%} of the rate in memory")
    npy.legend(frameon=False, loc="upper left")
    return figure
