"""Times of the rows that come next, as the source of a model writes its own."""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..io.sources import Source
from ..io.sources.times import LARGEST_TIME, Clock, written
from .record import Record, record_of

DAY = 86_400.0
"""Seconds."""
MONTH, SHORTEST, LONGEST = 30.436875 * DAY, 28 * DAY, 31.5 * DAY
"""Seconds of a mean month, and of steps between months; a mean step is longer where rows are missing."""
FEWEST = 3
"""Rows from which on a step may be one of months: two rows a month apart may be so by chance."""
LARGEST = 6e10
"""Seconds from 1970 up to which there are years, 3871; later times go on by even steps."""
FILLED = "filled"
"""Name under which the position of a model that `fill` has saved holds the digests of its sources."""


class NextTimes(NamedTuple):
    """Times of the next rows: the last row's, and on by the usual step (`Clock.usual`), or by months."""

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
    months = _months(clock.first, last, step, clock.count)
    seconds = (
        last + step * np.arange(1.0, steps + 1.0) if months is None else _by_months(last, *months, steps)
    )
    name = column if isinstance(column, str) and not column.isdecimal() else "time"
    return NextTimes(name, seconds, [written(one, clock.format) for one in seconds.tolist()])


def _months(first: float, last: float, step: float, count: int) -> tuple[int, bool] | None:
    """Number of months from row to row, and True if rows stand at the ends of months; None if not by months.

    Steps between months are uneven, 28 to 31 days: of years and quarters, as many months. The first and the
    last row stand on the same day of the month, or both on the last one, at the same time of day.
    """
    number = round(step / MONTH)
    uneven = number >= 1 and SHORTEST * number <= step <= LONGEST * number
    if count < FEWEST or not uneven or max(abs(first), abs(last)) > LARGEST:
        return None
    begin, end = _moment(first), _moment(last)
    between = 12 * (end.year - begin.year) + end.month - begin.month
    if begin.time() != end.time() or between < number or between % number:
        return None
    at_end = _is_last_day(begin) and _is_last_day(end)
    return (number, at_end) if at_end or begin.day == end.day else None


def _by_months(last: float, number: int, at_end: bool, steps: int) -> NDArray[np.float64]:
    """Times that go on by this number of months; a day that a month lacks is its last one."""
    begin = _moment(last)
    found = []
    for h in range(1, steps + 1):
        years, month = divmod(begin.month - 1 + number * h, 12)
        days = monthrange(begin.year + years, month + 1)[1]
        moment = begin.replace(year=begin.year + years, month=month + 1, day=1)
        found.append(moment.timestamp() + (days if at_end else min(begin.day, days)) * DAY - DAY)
    return np.array(found)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds)


def _is_last_day(moment: datetime) -> bool:
    return moment.day == monthrange(moment.year, moment.month)[1]


def _last(record: Record) -> float | None:
    """Time of the last sample: the clock may have seen rows that wait to be learnt."""
    return record.times[-1][1] if record.times else None


def _of_key(record: Record, place: Any, key: str) -> tuple[Any, None]:
    """Place of the clock of a key; None where rows of it wait to be learnt."""
    waiting = (record.source or {}).get("waiting") or {}
    if place is None or key not in place[1] or any(key in texts for texts in waiting.get("texts", ())):
        return None, None
    return [place[0], *place[1][key]], None
