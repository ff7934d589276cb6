"""New processes: what a user waits for who tries the library, or the command, for the first time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.inputs import signal_in_noise
from benchmarks.meter import Meter
from benchmarks.sections.fit.grid import INCREMENTAL, PLAIN
from benchmarks.sections.fit.settings import DEFAULT_THREADS, ONE_THREAD, RUNS, Settings

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
MODELS = {
    PLAIN: ("from eigenstream import OnlineAdaptivePCA as Model", "Model(max_components=32)"),
    INCREMENTAL: (
        "from sklearn.decomposition import IncrementalPCA as Model",
        "Model(n_components=32, batch_size=100)",
    ),
}
SCRIPT = """
import json, sys
from time import perf_counter
import numpy as np
{imported}
X = np.load(sys.argv[1])
start = perf_counter()
model = {made}.fit(X)
fitted = perf_counter() - start
assert model.transform(X).shape == (len(X), 32)
print(json.dumps(fitted))
"""


def first_use(chosen: Settings, meter: Meter) -> dict[str, Any]:
    """Seconds of whole processes, and of `fit` within them; by number of threads."""
    found: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        digits = Path(folder) / "digits.npy"
        np.save(digits, load_digits().data)
        for threads in chosen.threads:
            taken: dict[str, list[tuple[float, float]]] = {name: [] for name in MODELS}
            for repeat in range(chosen.processes):
                for name in MODELS:
                    meter.note(f"new process, {threads}, {name}, {repeat + 1} of {chosen.processes}")
                    taken[name].append(one_use(name, digits, environment(threads)))
            found[threads] = {name: figures(times) for name, times in taken.items()}
    return found


def one_use(name: str, digits: Path, variables: dict[str, str]) -> tuple[float, float]:
    """Seconds of a process that imports, fits and transforms, and of the fit alone."""
    imported, made = MODELS[name]
    script = SCRIPT.format(imported=imported, made=made)
    start = perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script, str(digits)],
        capture_output=True,
        text=True,
        check=True,
        env=variables,
    )
    return perf_counter() - start, json.loads(done.stdout)


def environment(threads: str) -> dict[str, str]:
    """The variables of this process, with those about threads set to one or taken out."""
    variables = {name: value for name, value in os.environ.items() if name not in THREAD_VARIABLES}
    return variables | (dict.fromkeys(THREAD_VARIABLES, "1") if threads == ONE_THREAD else {})


def figures(times: list[tuple[float, float]]) -> dict[str, dict[str, float]]:
    whole, fit = zip(*times, strict=True)
    return {
        "process": {"best": min(whole), "median": median(whole)},
        "fit": {"best": min(fit), "median": median(fit)},
    }


def command_runs(processes: int, meter: Meter) -> list[dict[str, Any]]:
    """Seconds of `eigenstream run FILE.csv`, from the start of a process to its end."""
    found = []
    with TemporaryDirectory() as folder:
        for rows, columns in RUNS:
            path = Path(folder) / f"{rows}.csv"
            np.savetxt(path, signal_in_noise(columns, 3, rows), delimiter=",", fmt="%.6g")
            times = []
            for repeat in range(processes):
                meter.note(f"eigenstream run, {rows:,} rows, {repeat + 1} of {processes}")
                times.append(one_run(path))
            seconds = {"best": min(times), "median": median(times), "first": times[0]}
            found.append({"rows": rows, "columns": columns, "seconds": seconds})
    return found


def one_run(path: Path) -> float:
    start = perf_counter()
    subprocess.run(
        [sys.executable, "-m", "eigenstream", "run", str(path)],
        capture_output=True,
        check=True,
        env=environment(DEFAULT_THREADS),
    )
    return perf_counter() - start
