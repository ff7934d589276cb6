"""A small Spark on this machine only, and the driver that tests kill.

python -m tests.spark_session FOLDER    # learns FOLDER/rows by key, and prints how far it is
"""

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from eigenstream import OnlineAdaptivePCA
from eigenstream.integrations.spark import learn_by_key
from eigenstream.integrations.spark.by_key import PROVIDER, ROCKSDB

SCHEMA = "sensor STRING, offset LONG, " + ", ".join(f"x{i} DOUBLE" for i in range(6))


def session():
    """Two threads, bound to 127.0.0.1."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "Europe/Berlin",
        "spark.log.level": "ERROR",
        PROVIDER: ROCKSDB,
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def started(spark, folder, learnt):
    """A query that writes to ``folder/told`` until all rows that are there have come."""
    options = {"path": f"{folder}/told", "checkpointLocation": f"{folder}/state"}
    return learnt.writeStream.format("parquet").options(**options).trigger(availableNow=True).start()


def stream(spark, folder):
    """The files of ``folder/rows`` in order, one per batch."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.parquet(f"{folder}/rows")


def main():
    folder, spark = Path(sys.argv[1]), session()
    learnt = learn_by_key(
        stream(spark, folder), OnlineAdaptivePCA(max_components=3), key="sensor", order="offset"
    )
    query = started(spark, folder, learnt)
    done = False
    while not done:
        done = query.awaitTermination(0.05)
        begun, ended = (len(list(folder.glob(f"state/{name}/[0-9]*"))) for name in ("offsets", "commits"))
        print(begun, ended, flush=True)


if __name__ == "__main__":
    main()
