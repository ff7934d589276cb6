"""``python -m benchmarks.lost_worker``: what a killed Dask worker costs, on two processes of this machine.

Needs ``eigenstream[dask]``, and is no part of ``make bench``. Each job is run calmly and with a worker that
is killed once half of the chunks have been read; the answer is the same.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.markdown import table
from eigenstream import OnlineAdaptivePCA

ROWS, CHUNK = 8192, 512
WIDTHS = {"partitions": 2000, "feature shards": 8000}
"""Inputs: 131 MB in partitions, 524 MB in shards of a quarter each."""


def array_of(width: int, columns: int, killing: Path | None) -> Any:
    """Rows with three factors, made where they are needed; reading the middle chunk kills its worker once."""
    import dask.array as da

    def make(block_info: Any) -> np.ndarray:
        (start, stop), (first, last) = block_info[None]["array-location"]
        if killing is not None and start == ROWS // 2 and first == 0:
            try:
                os.close(os.open(killing, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass  # it has happened
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        factors = np.random.default_rng(start).standard_normal((stop - start, 3)) * [6.0, 4.0, 3.0]
        axes = np.random.default_rng(first).standard_normal((3, last - first))
        noise = np.random.default_rng([start, first]).standard_normal((stop - start, last - first))
        return noise + factors @ axes

    chunks = ((CHUNK,) * (ROWS // CHUNK), (columns,) * (width // columns))
    return da.map_blocks(make, chunks=chunks, dtype=np.float64, meta=np.empty((0, 0)))


def timed(fit: Callable[[Any], Any], width: int, columns: int, killing: Path | None) -> float:
    """Seconds of one job on a new cluster, the start of which is not counted."""
    from distributed import Client, LocalCluster

    quiet = {"dashboard_address": None, "worker_dashboard_address": None, "silence_logs": 50}
    workers = LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", **quiet)
    with workers as cluster, Client(cluster):
        began = perf_counter()
        fit(array_of(width, columns, killing))
        return perf_counter() - began


def main() -> None:
    from eigenstream.integrations.dask import FeatureShardedPCA, fit_partitions

    jobs: dict[str, Callable[[Any], Any]] = {
        "partitions": lambda X: fit_partitions(OnlineAdaptivePCA(max_components=8), X),
        "feature shards": lambda X: FeatureShardedPCA(max_components=8).fit(X),
    }
    lines = []
    for name, fit in jobs.items():
        width = WIDTHS[name]
        columns = width if name == "partitions" else width // 4
        with tempfile.TemporaryDirectory() as folder:
            calm, killed = (
                timed(fit, width, columns, None),
                timed(fit, width, columns, Path(folder, "killed")),
            )
        lines.append([name, f"{calm:.1f}", f"{killed:.1f}", f"{killed / calm:.1f}"])
    print(table(["job", "calm, s", "a worker killed, s", "times"], lines))


if __name__ == "__main__":
    main()
