"""``python -m benchmarks.spark``: one model per key in Spark, against a plain loop over keys.

Needs ``eigenstream[spark]`` and Java 17, and is no part of ``make bench``. Spark runs on this machine with
two threads. The loop runs in one process and one thread on rows that are in memory: all that Spark adds is in
the ratio.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import click
import numpy as np
import pandas

from benchmarks.markdown import table
from eigenstream import OnlineAdaptivePCA
from eigenstream.model import StreamModel

N, K = 32, 4
LOOP, STORING, SPARK = "loop over keys", "loop that stores every model after every batch", "Spark"
Batches = list[pandas.DataFrame]


def batches_of(keys: int, rows: int, batches: int) -> Batches:
    """Rows of all keys in random sequence, as many of each in every batch: three components in noise."""
    rng = np.random.default_rng(0)
    scale = np.r_[5.0, 4.0, 3.0, np.ones(N - 3)]
    found, start = [], 0
    for _ in range(batches):
        order = rng.permutation(np.repeat(np.arange(keys), rows))
        values = rng.standard_normal((len(order), N)) * scale
        batch = pandas.DataFrame(values, columns=[f"x{i}" for i in range(N)])
        batch.insert(0, "offset", start + np.arange(len(order)))
        batch.insert(0, "key", order)
        found.append(batch)
        start += len(order)
    return found


def loop(batches: Batches, *, storing: bool) -> list[float]:
    """Seconds of each batch in a loop over keys; optionally every model is restored and stored in each."""
    models: dict[int, StreamModel] = {}
    contents: dict[int, bytes] = {}
    seconds = []
    for batch in batches:
        began = perf_counter()
        for key, rows in batch.groupby("key"):
            X = rows.sort_values("offset").iloc[:, 2:].to_numpy()
            if storing and key in contents:
                models[key] = StreamModel.from_bytes(contents[key])
            model = models.setdefault(key, StreamModel(max_components=K, random_state=0))
            model.learn_many(X)
            if storing:
                contents[key] = model.to_bytes()
        seconds.append(perf_counter() - began)
    return seconds


def spark(batches: Batches, folder: Path) -> list[float]:
    """Seconds of each batch in Spark, as it reports them."""
    from pyspark.sql import SparkSession

    from eigenstream.integrations.spark import learn_by_key
    from eigenstream.integrations.spark.by_key import PROVIDER, ROCKSDB

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.log.level", "ERROR")
    session = builder.config(PROVIDER, ROCKSDB).getOrCreate()
    (folder / "rows").mkdir()
    for i, batch in enumerate(batches):
        path = folder / "rows" / f"{i}.parquet"
        batch.to_parquet(path, index=False)
        os.utime(path, (1_000_000_000 + i, 1_000_000_000 + i))  # Spark takes the oldest first
    schema = session.read.parquet(str(path)).schema
    rows = session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "rows"))
    learnt = learn_by_key(rows, OnlineAdaptivePCA(max_components=K), key="key", order="offset")
    places = {"path": str(folder / "told"), "checkpointLocation": str(folder / "state")}
    query = learnt.writeStream.format("parquet").options(**places).trigger(availableNow=True).start()
    query.awaitTermination()
    seconds = [step["durationMs"]["triggerExecution"] / 1000 for step in query.recentProgress]
    session.stop()
    return seconds[: len(batches)]


@click.command()
@click.option("--keys", default=2000, show_default=True)
@click.option("--rows", default=32, show_default=True, help="Rows of each key per batch.")
@click.option("--batches", default=3, show_default=True)
def main(keys: int, rows: int, batches: int) -> None:
    """Print rows per second, and how many times as long as the loop each takes, without the first batch."""
    made = batches_of(keys, rows, batches)
    with tempfile.TemporaryDirectory() as folder:
        contenders: dict[str, Callable[[], list[float]]] = {
            LOOP: lambda: loop(made, storing=False),
            STORING: lambda: loop(made, storing=True),
            SPARK: lambda: spark(made, Path(folder)),
        }
        taken = {name: sum(contender()[1:]) for name, contender in contenders.items()}
    learnt = keys * rows * (batches - 1)
    lines = [
        (name, f"{learnt / seconds:,.0f}", f"{seconds / taken[LOOP]:.2f}x") for name, seconds in taken.items()
    ]
    click.echo(f"{keys:,} keys, {rows} rows of each per batch, {N} inputs, capacity {K}\n")
    click.echo(table(("", "rows per second", "time in units of the loop"), lines))


if __name__ == "__main__":
    main()
