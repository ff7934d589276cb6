"""Columns of a DataFrame in the form in which rows travel to models, and the model that each starts from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType, NumericType, TimestampType

from ...estimators.online_adaptive_pca import OnlineAdaptivePCA
from ...estimators.persistence import unfitted
from ...estimators.stream_monitor import StreamMonitor
from ...model import StreamModel, plan_for
from ...model.parameters import check_words, seed

ROW = "row"
"""The inputs of a row as one array: Spark hands rows to Python value by value, and one value is fastest."""


def column_of(rows: DataFrame, name: str) -> Column:
    """The column of this name, which may have dots in it."""
    if name not in rows.columns:
        raise ValueError(f"there is no column {name!r}, expected one of {rows.columns}")
    return F.col(f"`{name.replace('`', '``')}`")


def input_names(rows: DataFrame, inputs: Sequence[str] | None, others: Sequence[str | None]) -> list[str]:
    """The columns to learn: those given, or all but the others."""
    if isinstance(inputs, str):
        raise TypeError(f"inputs must be a list of columns, got {inputs!r}: write [{inputs!r}]")
    names = [name for name in rows.columns if name not in others] if inputs is None else list(inputs)
    if not names:
        raise ValueError(f"there is nothing to learn: none of {rows.columns} is an input")
    for name in names:
        column_of(rows, name)
        if not isinstance(rows.schema[name].dataType, NumericType):
            raise ValueError(
                f"the input {name!r} is of type {_type(rows, name)}, expected numbers: cast it, or name the "
                "columns to learn by inputs=[...]"
            )
    return names


def values(rows: DataFrame, names: Sequence[str]) -> Column:
    """The inputs of each row as an array of numbers; NaN for NULL."""
    gap = F.lit(float("nan"))
    return F.array([F.coalesce(column_of(rows, name).cast("double"), gap) for name in names]).alias(ROW)


def is_time(rows: DataFrame, name: str) -> bool:
    """True if the column holds time stamps."""
    column_of(rows, name)
    return isinstance(rows.schema[name].dataType, TimestampType)


def whole(rows: DataFrame, name: str, alias: str) -> Column:
    """A column that orders rows as whole numbers, time stamps in microseconds since 1970 (UTC).

    NULL fails the query: it has no place in an order, and in pandas it would turn its whole column to floats.
    """
    column = column_of(rows, name)
    if is_time(rows, name):
        column = F.unix_micros(column)
    elif not isinstance(rows.schema[name].dataType, IntegralType):
        raise ValueError(
            f"the order column {name!r} is of type {_type(rows, name)}, expected whole numbers or TIMESTAMP: "
            "cast it"
        )
    missing = F.raise_error(F.lit(f"column {name!r} is NULL in some row: fill it in, or leave such rows out"))
    return F.coalesce(column.cast("long"), missing.cast("long")).alias(alias)


def times(rows: DataFrame, name: str, alias: str) -> Column:
    """A column of time stamps, as `whole`."""
    if not is_time(rows, name):
        raise ValueError(f"the time column {name!r} is of type {_type(rows, name)}, expected TIMESTAMP")
    return whole(rows, name, alias)


def check_time(half_life: Any, is_duration: bool, time: str | None) -> None:
    """An error where rows need a time and have none, or have one that nobody asks for."""
    if is_duration and time is None:
        raise ValueError(f"half_life={half_life!r} needs the time of every row: name its column by time=...")
    if time is not None and not is_duration:
        raise ValueError(
            f"time={time!r} was given, but half_life={half_life!r} counts samples: leave it out, or give a "
            "duration such as half_life='10min'"
        )


def template_of(model: OnlineAdaptivePCA | StreamMonitor, names: Sequence[str]) -> StreamModel:
    """A model that has learnt nothing, for these inputs; refuses parameters that do not fit them."""
    if not isinstance(model, OnlineAdaptivePCA | StreamMonitor):
        raise TypeError(f"expected an OnlineAdaptivePCA or a StreamMonitor, got {model!r}")
    template = unfitted(model)
    given = template.parameters["random_state"]
    template.parameters["random_state"] = 0 if given is None else seed(given)
    template.features = list(names)
    check_words(template.parameters)
    plan_for(template.parameters, len(names), np.float64)
    return template


def _type(rows: DataFrame, name: str) -> str:
    return str(rows.schema[name].dataType.simpleString())
