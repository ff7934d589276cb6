"""Times of rows: text as seconds since 1970, in one format throughout a source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batch import NO_TEXT, Hint, SourceError

Times = NDArray[np.float64]

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Seconds per unit."""
WORDS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
LARGEST_SECONDS = 1e11
"""Largest number taken for seconds since 1970: the year 5138; a larger one is in a finer unit."""

HOW = Hint("time_format", None, "says how times are written: iso, s, ms, us, ns, or such as '%d.%m.%Y %H:%M'")


class Clock:
    """Parser of times that must not go backward.

    Parameters
    ----------
    format
        ``"iso"`` (``2024-01-31 12:00:00.5+01:00``, UTC where it does not say), ``"s"``, ``"ms"``, ``"us"`` or
        ``"ns"`` since 1970, or a format of `datetime.strptime`. If None, detected from the first time, but
        for the last.

    Examples
    --------
    >>> clock = Clock()
    >>> clock.read(["1970-01-02", "1970-01-02T00:00:30Z"]), clock.taken
    (array([86400., 86430.]), 'ISO 8601')
    >>> Clock().read(["1700000000000"])
    array([1.7e+09])
    """

    def __init__(self, format: str | None = None) -> None:
        if format is not None and format not in ("iso", *UNITS) and "%" not in format:
            raise SourceError(f"{format!r} is not a format of times", HOW)
        self.format = format
        self.last = -np.inf
        """Latest time so far."""

    @property
    def taken(self) -> str | None:
        """Format of the times in words; None until it is detected."""
        if self.format is None or "%" in self.format:
            return self.format
        return "ISO 8601" if self.format == "iso" else f"{WORDS[self.format]} since 1970"

    def read(self, texts: Sequence[str]) -> Times:
        """Parse times to seconds, NaN where a text is not a time."""
        if self.format is None:
            self.format = next(filter(None, map(_likely, texts)), None)
        if self.format is None:
            return np.full(len(texts), np.nan)
        seconds = _reader(self.format)
        return np.array([_or_nan(seconds, text) for text in texts])

    def backward(self, times: Times, usable: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return True for each usable row whose time is before that of an earlier usable one."""
        counted = np.where(usable, times, -np.inf)
        latest = np.maximum.accumulate(np.concatenate(([self.last], counted)))
        self.last = float(latest[-1])
        return np.asarray(usable & (times < latest[:-1]))

    def place(self) -> list[Any]:
        """Return the format and the latest time, for a position."""
        return [self.format, self.last if isfinite(self.last) else None]

    def go_to(self, place: Any) -> None:
        """Continue from what `place` returned."""
        format, last = place
        self.format = Clock(format).format
        self.last = -np.inf if last is None else float(last)


def time_hints(column: str, text: str) -> tuple[Hint, ...]:
    """Return hints for a column where numbers were expected; none if its text is not a time."""
    if np.isnan(_or_nan(_iso, text)):
        return ()
    return (Hint("time_column", column, "takes it as the time of each row"), NO_TEXT)


def _likely(text: str) -> str | None:
    """Detect the format of a time; None if it cannot be."""
    try:
        number = abs(_number(text))
    except ValueError:
        return None if np.isnan(_or_nan(_iso, text)) else "iso"
    return next((unit for unit, length in UNITS.items() if number * length < LARGEST_SECONDS), None)


def _reader(format: str) -> Callable[[str], float]:
    if format == "iso":
        return _iso
    if format in UNITS:
        return lambda text: _number(text) * UNITS[format]
    return lambda text: _seconds(datetime.strptime(text.strip(), format))


def _or_nan(seconds: Callable[[str], float], text: str) -> float:
    try:
        return seconds(text)
    except (ValueError, OverflowError):
        return float("nan")


def _iso(text: str) -> float:
    return _seconds(datetime.fromisoformat(text.strip()))


def _seconds(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _number(text: str) -> float:
    number = float(text.strip().replace(",", "."))
    if "_" in text or not isfinite(number):
        raise ValueError(text)
    return number
