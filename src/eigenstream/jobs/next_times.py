"""Times of the rows that come next, as the source of a model writes its own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..io.sources import Source
from ..io.sources.times import LARGEST_TIME, Clock, written
from .record import Record, record_of

FILLED = "filled"
"""Name under which the position of a model that `fill` has saved holds the digests of its sources."""


class NextTimes(NamedTuple):
    """Times of the next rows: the last row's, and on by the usual step (`Clock.usual`)."""

    column: str
    """Name of the column of times."""
    seconds: NDArray[np.float64]
    texts: list[str]
    """The same times in the format of the source."""


def clock_of_filled(source: Source) -> dict[str, Any]:
    """Part of the position of a model that has filled a source: its clock; empty if rows have no times."""
    if not isinstance(source.clock, Clock):
        return {}
    return {"clock": source.clock.place(), "time_column": source.options.time_column}


def next_times(position: Any, key: str | None, steps: int) -> NextTimes | None:
    """Times of the next rows after a position that a job or `fill` has saved, of one key in a bank.

    None where rows had no times, and where the last of them tell no usual step.
    """
    record = record_of(position)
    if record is None:
        where = position if isinstance(position, dict) and FILLED in position else {}
        column, place, last = where.get("time_column"), where.get("clock"), None
    else:
        column = record.request.reading.time_column
        place = (record.source or {}).get("clock")
        place, last = _of_key(record, place, key) if key is not None else (place, _last(record))
    if column is None or place is None:
        return None
    clock = Clock()
    clock.go_to(place)
    step, last = clock.usual, clock.last if last is None else last
    if step is None or clock.format is None or not abs(last) < LARGEST_TIME:
        return None
    seconds = last + step * np.arange(1.0, steps + 1.0)
    name = column if isinstance(column, str) and not column.isdecimal() else "time"
    return NextTimes(name, seconds, [written(one, clock.format) for one in seconds.tolist()])


def _last(record: Record) -> float | None:
    """Time of the last sample: the clock may have seen rows that wait to be learnt."""
    return record.times[-1][1] if record.times else None


def _of_key(record: Record, place: Any, key: str) -> tuple[Any, None]:
    """Place of the clock of a key; None where rows of it wait to be learnt."""
    waiting = (record.source or {}).get("waiting") or {}
    if place is None or key not in place[1] or any(key in texts for texts in waiting.get("texts", ())):
        return None, None
    return [place[0], *place[1][key]], None
