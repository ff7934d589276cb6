"""Durations and time stamps as seconds."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    **dict.fromkeys(("s", "sec", "second"), 1.0),
    **dict.fromkeys(("m", "min", "minute"), 60.0),
    **dict.fromkeys(("h", "hour"), 3600.0),
    **dict.fromkeys(("d", "day"), 86400.0),
    **dict.fromkeys(("w", "week"), 604800.0),
}
"""Seconds in each unit; units that are words may have an ``s`` at their end."""

PART = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zµ]+)")


def is_duration(value: Any) -> bool:
    """Return True for a text, a `timedelta` or a ``timedelta64``; False for a plain number."""
    return isinstance(value, str | timedelta | np.timedelta64)


def seconds(value: Any) -> float:
    """Return the seconds in a duration: a text such as ``"1h30min"``, a `timedelta` or a ``timedelta64``.

    Examples
    --------
    >>> seconds("10min"), seconds("1h30min"), seconds(np.timedelta64(2, "D"))
    (600.0, 5400.0, 172800.0)
    """
    if isinstance(value, timedelta):
        found = value.total_seconds()
    elif isinstance(value, np.timedelta64):
        found = float(_as_numbers(np.array([value]))[0])
    else:
        found = _parsed(str(value))
    if not 0 < found < math.inf:
        raise ValueError(f"a duration must be longer than 0, got {value!r}")
    return found


def _parsed(given: str) -> float:
    total, end = 0.0, 0
    lower = given.strip().lower()
    while (part := PART.match(lower, end)) is not None:
        number, unit = part.groups()
        unit = unit if unit in UNITS else unit.removesuffix("s")
        if unit not in UNITS:
            break
        total, end = total + float(number) * UNITS[unit], part.end()
    if not end or end != len(lower):
        raise ValueError(
            f"{given!r} is not a duration: expected numbers with units, such as '10min', '90s' or '1h30min'"
        )
    return total


def as_seconds(timestamps: Any) -> NDArray[np.float64]:
    """Convert time stamps to float64 seconds, dates to seconds since 1970 (UTC), to about 0.2 microseconds.

    Parameters
    ----------
    timestamps
        Numbers of seconds, ``datetime64``, `datetime`, or a series or an index of pandas. Dates without a
        time zone count as UTC.

    Examples
    --------
    >>> as_seconds(np.array(["1970-01-02", "1970-01-03"], dtype="datetime64[D]"))
    array([ 86400., 172800.])
    """
    if np.ma.is_masked(timestamps):
        raise ValueError("timestamps must not be missing, but some are masked: leave such rows out")
    array = np.asarray(timestamps)
    if array.dtype.kind in "iuf":
        found = array.astype(np.float64)
    elif array.dtype.kind in "mM":
        found = _as_numbers(array)
    elif array.dtype == object and array.ndim == 1:
        found = np.array([_of_object(stamp) for stamp in array], dtype=np.float64)
    else:
        raise TypeError(
            f"timestamps must be numbers of seconds, datetime64 or datetime objects, got {array.dtype}: "
            "convert texts first, for instance with pandas.to_datetime"
        )
    if not np.isfinite(found).all():
        where = int(np.flatnonzero(~np.isfinite(found.ravel()))[0])
        raise ValueError(
            f"timestamps must not be missing or infinite, but number {where} is "
            f"{array.ravel()[where]}: leave such rows out"
        )
    return np.asarray(found)


def is_date(value: float) -> bool:
    """True for seconds since 1970 between 1973 and the year 5138.

    Smaller numbers count from the start of a recording, in seconds or, such as cycles, in no unit of time.
    """
    return 1e8 < value < 1e11


def when(value: float, column: str = "time") -> str:
    """Return the time of a row in words: a date, or the number with the name of the column it stands in.

    Examples
    --------
    >>> when(1.7e9), when(138.0, "cycle")
    ('2023-11-14 22:13:20', 'cycle 138')
    """
    return moment(value).replace("T", " ") if is_date(value) else f"{column} {value:.15g}"


def moment(value: float) -> str:
    """Return a time stamp in words: as a date if it is one after 1973, else in seconds.

    Examples
    --------
    >>> moment(12.5), moment(1.7e9)
    ('12.5 s', '2023-11-14T22:13:20')
    """
    if not is_date(value):
        return f"{value:.15g} s"
    whole = datetime.fromtimestamp(math.floor(value), UTC).replace(tzinfo=None)
    return (whole + timedelta(seconds=value - math.floor(value))).isoformat()


def _as_numbers(array: NDArray[Any]) -> NDArray[np.float64]:
    """Convert datetime64 or timedelta64 to seconds, NaT to NaN."""
    unit, step = np.datetime_data(array.dtype)
    if unit == "generic":
        raise ValueError(f"{array.dtype} has no unit: give one, such as np.timedelta64(10, 'm')")
    fine = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}
    if unit not in fine or step != 1:
        unit = "ns" if unit in ("ps", "fs", "as") else unit if unit in fine else "s"
        array = array.astype(f"{array.dtype.kind}8[{unit}]")
    return np.where(np.isnat(array), np.nan, array.view(np.int64) / fine[unit])


def _of_object(stamp: Any) -> float:
    if stamp is None or stamp != stamp:  # NaN and NaT are unequal to themselves
        return math.nan
    if isinstance(stamp, datetime):
        aware = stamp if stamp.tzinfo is not None else stamp.replace(tzinfo=UTC)
        return aware.timestamp()
    if isinstance(stamp, np.datetime64 | np.timedelta64):
        return float(_as_numbers(np.array([stamp]))[0])
    if isinstance(stamp, int | float | np.number) and not isinstance(stamp, bool):
        return float(stamp)
    raise TypeError(f"a time stamp must be a number of seconds, a datetime64 or a datetime, got {stamp!r}")
