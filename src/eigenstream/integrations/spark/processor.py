"""The processor of each key: restore the model, learn the rows of the batch in order, store it again."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import pandas
from numpy.typing import NDArray
from pyspark.sql.streaming import StatefulProcessor

from ...io import checkpoint
from ...model import RankChange, StreamModel
from ...model.parameters import refuse_gaps
from ...model.stream_model import plain
from ...monitoring import Alarm, MonitoredModel
from .columns import ROW

STATE = "model"
"""Name of the state variable, and of its only field."""

EVENTS = "ARRAY<STRUCT<sample: LONG, before: INT, after: INT>>"
ALARMS = (
    "ARRAY<STRUCT<began: LONG, last: LONG, rows: LONG, counts_from: LONG, ended: LONG, accepted: BOOLEAN, "
    "peak: DOUBLE, peak_row: LONG, statistic: STRING, "
    "contributors: ARRAY<STRUCT<input: STRING, share: DOUBLE>>>>"
)
OUTPUT = {
    "order": "ARRAY<LONG>",
    "scores": "ARRAY<ARRAY<DOUBLE>>",
    "rank": "INT",
    "threshold": "DOUBLE",
    "samples": "LONG",
    "late": "LONG",
    "alarms": ALARMS,
    "events": EVENTS,
}
"""Columns of the answer for each key and batch: names and types."""


class KeyedBatch(NamedTuple):
    """The rows of one key in one batch, as Spark brought them."""

    order: NDArray[np.int64]
    rows: NDArray[np.float64]
    times: NDArray[np.datetime64] | None

    @classmethod
    def of(cls, parts: Iterable[pandas.DataFrame]) -> KeyedBatch:
        tables = list(parts)
        order = np.concatenate([table["order"].to_numpy(np.int64) for table in tables])
        rows = np.stack([row for table in tables for row in table[ROW]])
        if "time" not in tables[0]:
            return cls(order, rows, None)
        times = np.concatenate([table["time"].to_numpy(np.int64) for table in tables])
        return cls(order, rows, times.view("datetime64[us]"))

    def take(self, places: NDArray[np.intp]) -> KeyedBatch:
        times = None if self.times is None else self.times[places]
        return KeyedBatch(self.order[places], self.rows[places], times)


def in_order(order: NDArray[np.int64], last: int | None, late: str) -> NDArray[np.intp]:
    """The places of rows by increasing order, from after ``last``.

    Rows that do not come after all before them are left out, or an error.
    """
    places = np.argsort(order, kind="stable")
    ordered = order[places]
    first = np.iinfo(np.int64).min if last is None else last
    before = np.maximum(np.append(first, ordered[:-1]), first)
    fresh = ordered > before
    if last is None and len(order):
        fresh[0] = True
    if late == "raise" and not fresh.all():
        where = int(np.argmin(fresh))
        raise ValueError(
            f"a row has order {ordered[where]}, which does not come after {before[where]}: the order of a "
            "key's rows must increase from batch to batch and be different in each row; leave such rows out "
            "by late='drop'"
        )
    found: NDArray[np.intp] = places[fresh]
    return found


class ModelOfKey(StatefulProcessor):
    """One model per key, whose state is the content of a model file.

    Parameters
    ----------
    template
        A model that has learnt nothing.
    late
        Treatment of rows that do not come after those already learnt, ``"raise"`` or ``"drop"``.
    ttl
        After how many milliseconds without rows a key is forgotten; None: never.
    """

    def __init__(self, template: StreamModel, late: str, ttl: int | None) -> None:
        self.template, self.late, self.ttl = template, late, ttl

    def init(self, handle: Any) -> None:
        self.state = handle.getValueState(STATE, f"{STATE} BINARY", self.ttl)

    def handleInputRows(
        self, key: Any, rows: Iterator[pandas.DataFrame], timerValues: Any
    ) -> Iterator[pandas.DataFrame]:
        """Learn the rows of one key; one row of output."""
        try:
            told = self._learn(key[0], KeyedBatch.of(rows))
        except ValueError as error:
            raise ValueError(f"key {key[0]}: {error}") from error
        yield pandas.DataFrame({"key": [key[0]], **{name: [value] for name, value in told.items()}})

    def close(self) -> None:
        pass

    def _learn(self, key: Any, batch: KeyedBatch) -> dict[str, Any]:
        model = self._model(str(key))
        last = None if model.position_ is None else model.position_["order"]
        fresh = batch.take(in_order(batch.order, last, self.late))
        alarms: list[Alarm] = []
        events: list[RankChange] = []
        scores: Any = []
        if len(fresh.order):
            refuse_gaps(fresh.rows, model.missing)
            model.on_rank_change = events.append
            if isinstance(model, MonitoredModel):
                model.on_alarm = alarms.append
            scores = model.learn_many(fresh.rows, fresh.times)
            last = int(fresh.order[-1])
        self.state.update((model.to_bytes({"order": last}),))
        return {
            "order": fresh.order,
            "scores": list(scores),
            "rank": model.n_components_,
            "threshold": model.threshold_,
            "samples": model.n_samples_seen_,
            "late": len(batch.order) - len(fresh.order),
            "alarms": list(map(_as_struct, alarms)),
            "events": [change._asdict() for change in events],
        }

    def _model(self, name: str) -> StreamModel:
        """The model of the state, or a new one."""
        if not self.state.exists():  # asked first: Spark logs a warning for a state that is read in vain
            return copy.deepcopy(self.template)
        model = opened(bytes(self.state.get()[0]), name)
        for what, theirs, ours in _differences(model, self.template):
            raise ValueError(
                f"its model was learnt with {what}={theirs!r}, not {what}={ours!r}: go on with the former, "
                "or begin with a new checkpointLocation"
            )
        return model


def opened(content: bytes, name: str) -> StreamModel:
    """The model, or the monitor with its model, that is stored in these bytes."""
    arrays, document = checkpoint.unpacked(content, name)
    kind = MonitoredModel if "monitor" in document else StreamModel
    return kind.from_stored(arrays, document, name)


def _differences(one: StreamModel, other: StreamModel) -> Iterator[tuple[str, Any, Any]]:
    """Settings in which two models differ."""
    asked = [
        {
            **plain(model.parameters, 0),
            "inputs": model.features,
            "monitor": asdict(model.settings) if isinstance(model, MonitoredModel) else None,
        }
        for model in (one, other)
    ]
    return ((name, asked[0][name], asked[1][name]) for name in asked[1] if asked[0][name] != asked[1][name])


def _as_struct(alarm: Alarm) -> dict[str, Any]:
    blamed = [{"input": name, "share": share} for name, share in alarm.contributors]
    return {**asdict(alarm), "contributors": blamed}
