"""One model of a batch DataFrame: a model per partition, merged in a tree."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow
from pyspark.sql import DataFrame

from ...estimators.online_adaptive_pca import OnlineAdaptivePCA
from ...estimators.persistence import estimator_of
from ...model import StreamModel, joined
from ...model.parameters import refuse_gaps
from .columns import ROW, check_time, column_of, input_names, template_of, times, values


def fit(
    rows: DataFrame,
    model: OnlineAdaptivePCA | None = None,
    *,
    inputs: Sequence[str] | None = None,
    order: str | None = None,
    time: str | None = None,
) -> OnlineAdaptivePCA:
    """One model of all rows of a batch DataFrame.

    Each partition learns a model of its own, and the models are merged in a tree, as by `eigenstream.merge`:
    no row leaves its executor.

    Parameters
    ----------
    rows
        A DataFrame that is not streaming.
    model
        Template of the model; by default ``OnlineAdaptivePCA()``. ``random_state`` is 0 unless given.
    inputs
        Columns to learn, numbers; all but ``order`` and ``time`` if None. NULL is a missing value.
    order
        The column by which rows of a partition are sorted before they are learnt. Needed where the order
        matters: with a half-life or lags.
    time
        The column of time stamps, if the half-life is a duration; may be the same as ``order``.
    """
    if rows.isStreaming:
        raise ValueError("expected a DataFrame that is not streaming: use learn_by_key for streams")
    chosen = OnlineAdaptivePCA() if model is None else model
    if not isinstance(chosen, OnlineAdaptivePCA):
        raise TypeError(f"expected an OnlineAdaptivePCA, which can be merged, got {model!r}")
    names = input_names(rows, inputs, (order, time))
    template = template_of(chosen, names)
    check_time(chosen.half_life, template.needs_timestamps, time)
    if order is None and (chosen.half_life is not None or chosen.lags):
        raise ValueError("with a half-life or lags, the order of rows matters: name the column by order=...")
    columns = [values(rows, names)] + ([] if time is None else [times(rows, time, "time")])
    sorted_rows = rows if order is None else rows.sortWithinPartitions(column_of(rows, order))
    models = sorted_rows.select(columns).mapInArrow(_learner(template), "model BINARY")
    try:
        _, content = models.rdd.mapPartitionsWithIndex(_numbered).treeReduce(in_order)
    except ValueError:  # of treeReduce itself: those of executors come as Spark's own errors
        raise ValueError("there are no rows to learn from") from None
    fitted = estimator_of(StreamModel.from_bytes(content))
    assert isinstance(fitted, OnlineAdaptivePCA)
    return fitted


def _numbered(partition: int, rows: Iterator[Any]) -> Iterator[tuple[int, bytes]]:
    return ((partition, bytes(row.model)) for row in rows)


def in_order(one: tuple[int, bytes], other: tuple[int, bytes]) -> tuple[int, bytes]:
    """Two stored models as one, that of the first partition first: it has the signs of the axes."""
    (number, first), (_, second) = sorted((one, other))
    return number, merged(first, second)


def merged(one: bytes, other: bytes) -> bytes:
    """Two stored models as one."""
    model, more = StreamModel.from_bytes(one), StreamModel.from_bytes(other)
    assert model.tracker is not None
    assert more.tracker is not None
    model.tracker = joined([model.tracker, more.tracker])
    return model.to_bytes()


def _learner(
    template: StreamModel,
) -> Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]:
    """A function that turns the rows of one partition into one stored model, if there are any."""

    def learn(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        model = copy.deepcopy(template)
        for batch in batches:
            if not batch.num_rows:
                continue
            rows: Any = batch[ROW].flatten().to_numpy(zero_copy_only=False).reshape(batch.num_rows, -1)
            refuse_gaps(rows, model.missing)
            stamps = None
            if model.needs_timestamps:
                stamps = batch["time"].to_numpy(zero_copy_only=False).view("datetime64[us]")
            model.partial_fit(np.array(rows), stamps)
        if model.is_fitted:
            yield pyarrow.RecordBatch.from_pydict({"model": [model.to_bytes()]})

    return learn
