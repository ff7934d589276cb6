"""One model or monitor per key of a DataFrame, streaming or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from ...estimators.online_adaptive_pca import OnlineAdaptivePCA
from ...estimators.persistence import estimator_of
from ...estimators.stream_monitor import StreamMonitor
from ...io.durations import seconds
from .columns import check_time, column_of, input_names, is_time, template_of, times, values, whole
from .processor import OUTPUT, STATE, ModelOfKey, opened

LATE = ("raise", "drop")
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def learn_by_key(
    rows: DataFrame,
    model: OnlineAdaptivePCA | StreamMonitor | None = None,
    *,
    key: str,
    order: str,
    inputs: Sequence[str] | None = None,
    time: str | None = None,
    ttl: Any = None,
    late: str = "raise",
) -> DataFrame:
    """Learn one model, or one monitor, per key; returns what is told of each key in each batch.

    Every model is, to the bit, what ``model`` would be after the rows of its key in order, however Spark cuts
    its batches, and however often a query is killed and started again on its ``checkpointLocation``. All rows
    of a key in one batch have to fit into memory.

    Parameters
    ----------
    rows
        A streaming DataFrame, or a batch.
    model
        Template of the model: an `OnlineAdaptivePCA` (the default) or a `StreamMonitor`. What it has
        learnt itself does not count, and its callbacks are not called. ``random_state`` is 0 unless given.
    key
        The column that says whose a row is.
    order
        The column that orders the rows of each key: whole numbers or time stamps that increase and are
        different in each row of a key, such as the offset in a Kafka partition. Rows of one batch may come in
        any order.
    inputs
        Columns to learn, numbers; all but ``key``, ``order`` and ``time`` if None. NULL is a missing value.
    time
        The column of time stamps, if the half-life is a duration; may be the same as ``order``.
    ttl
        After how long without rows a key is forgotten, by the clock of Spark: a duration such as ``"7d"``.
        If rows for it come later, it starts anew. None: never. Spark then also runs batches without rows:
        with ``trigger(availableNow=True)`` a query ends only if
        ``spark.sql.streaming.noDataMicroBatches.enabled`` is false.
    late
        Rows that do not come after those of earlier batches, or have the order of another row: ``"raise"``
        fails the query; ``"drop"`` leaves them out and counts them. With ``"drop"``, what comes late depends
        on the batches.

    Returns
    -------
    DataFrame
        One row per key and batch:

        - ``key``; ``order`` of the rows learnt, sorted, and their ``scores``, one array per row: what
          `OnlineAdaptivePCA.learn_many` returns, or for a monitor `eigenstream.monitoring.COLUMNS`. NULL
          stands for NaN,
        - ``rank`` and ``threshold`` after the batch, ``samples`` learnt so far, rows that came ``late``,
        - ``alarms`` that began to count or ended (`eigenstream.monitoring.Alarm`), and ``events``, changes of
          the rank.
    """
    if late not in LATE:
        raise ValueError(f"late must be 'raise' or 'drop', got {late!r}")
    _require_rocksdb(rows.sparkSession)
    key_column, order_column = column_of(rows, key).alias("key"), whole(rows, order, "order")
    names = input_names(rows, inputs, (key, order, time))
    template = template_of(OnlineAdaptivePCA() if model is None else model, names)
    check_time(template.parameters["half_life"], template.needs_timestamps, time)
    columns = [key_column, order_column, values(rows, names)]
    if time is not None:
        columns.append(times(rows, time, "time"))
    keyed = rows.select(columns)
    types = ", ".join(f"{name} {kind}" for name, kind in OUTPUT.items())
    output = StructType([keyed.schema["key"], *StructType.fromDDL(types)])
    milliseconds = None if ttl is None else int(1000 * seconds(ttl))
    told = keyed.groupBy("key").transformWithStateInPandas(
        ModelOfKey(template, late, milliseconds),
        outputStructType=output,
        outputMode="update",
        timeMode="none" if ttl is None else "processingTime",
    )
    return (
        told.withColumn("order", F.transform("order", F.timestamp_micros)) if is_time(rows, order) else told
    )


def stored_models(spark: SparkSession, checkpoint: str) -> DataFrame:
    """The models of a query that runs or has run, as of the last batch that it finished.

    Parameters
    ----------
    spark
        The session.
    checkpoint
        The query's ``checkpointLocation``.

    Returns
    -------
    DataFrame
        One row per key: ``key`` and ``model``, the content of a model file, which `model_of` opens.
    """
    states = spark.read.format("statestore").option("stateVarName", STATE).load(checkpoint)
    # With a time to live, Spark wraps what it stores.
    path = f"value.{STATE}" if STATE in states.schema["value"].dataType.names else f"value.value.{STATE}"
    return states.select(F.col("key.key").alias("key"), F.col(path).alias("model"))


def model_of(content: bytes) -> OnlineAdaptivePCA | StreamMonitor:
    """The model in a row of `stored_models`, as `eigenstream.load` would give it; nothing in it is executed.

    Its ``position_`` (of a monitor, that of its ``model_``) is the order of the last row.
    """
    return estimator_of(opened(bytes(content), "model"))


def _require_rocksdb(spark: SparkSession) -> None:
    provider = spark.conf.get(PROVIDER)
    if "RocksDB" not in str(provider):
        raise ValueError(
            f"{PROVIDER} is {provider}, but Spark keeps the state of models in RocksDB only: set it to "
            f"{ROCKSDB}"
        )
