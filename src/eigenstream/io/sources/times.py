"""Times of rows: text as seconds since 1970, in one format throughout a source, and their order.

A row whose time is before that of its predecessor is out of order, but which of the two is wrong? A clock
that jumps once to the year 2077 must not make every later row a late one. So a row whose time is far ahead
waits until the rows behind it say which is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from math import isfinite
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batch import NO_TEXT, Hint, SourceError
from .time_formats import formats_of, is_written

Times = NDArray[np.float64]

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Seconds per unit."""
YEAR = "%Y"
WORDS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
LARGEST_SECONDS = 1e11
"""Largest number taken for seconds since 1970: the year 5138; a larger one is in a finer unit."""

LARGEST_TIME = 1e15
"""Largest number of seconds that is a time, either way: 30 million years. Beyond, float64 loses seconds."""
FAR = 10.0
"""Steps longer than this many usual ones are far ahead: such a row waits. More would let a wrong time silence
as many rows as fit in the step; less would hold back rows that are merely late."""
VOTES = 3
"""Rows on one side that decide whether a row far ahead is right: two wrong ones in sequence are outvoted, and
a row after a pause waits for some three more."""
YEARS = range(1500, 2200)
"""Whole numbers that are years where the first time of a source is one, rather than seconds since 1970."""
GOOD, BEFORE, AHEAD, OPEN = range(4)
"""Verdicts on the time of a row: in order, before an earlier row, ahead of the rows behind it, undecided."""

MOST_VOTES = 64
"""Votes that the usual step can have, in rows: a stream that changes its pace has a new usual step after some
hundred rows."""
SAME = 1e-6
"""Difference of two steps that are the same, in seconds and as a share of the step: rounding of float64."""

HOW = Hint(
    "time_format",
    None,
    "says how times are written: iso, s, ms, us, ns, an example such as '31.12.2024 23:59', or such as "
    "'%d.%m.%Y %H:%M'",
)


class Clock:
    """Parser and judge of times that must not go backward.

    The usual step is the mean one since the first row or the last pause. A row more than `FAR` usual steps
    ahead (any, before there is a usual step) waits: rows behind it that are not before it vote for it, rows
    between it and its predecessor against it. `VOTES` of one kind decide, at the end of the source the more
    frequent kind. Verdicts depend on the times alone, not on how many are judged at once.

    Parameters
    ----------
    format
        ``"iso"`` (``2024-01-31 12:00:00.5+01:00``, UTC where it does not say), ``"s"``, ``"ms"``, ``"us"`` or
        ``"ns"`` since 1970, an example (``"31.12.2024 23:59"``), or a format of `datetime.strptime`. If None,
        detected from the first time (``1959`` is a year); of day and month, which comes first may show in a
        later one.

    Examples
    --------
    >>> clock = Clock()
    >>> clock.read(["1970-01-02", "1970-01-02T00:00:30Z"]), clock.taken
    (array([86400., 86430.]), 'ISO 8601')
    >>> Clock().read(["1700000000000"])
    array([1.7e+09])
    >>> Clock().judge(np.array([1.0, 2.0, 3.0, 1e9, 4.0, 5.0, 4.5, 6.0]), final=True)
    array([0, 0, 0, 2, 0, 0, 1, 0])
    """

    def __init__(self, format: str | None = None) -> None:
        if format is not None and format not in ("iso", *UNITS) and "%" not in format:
            format = _by_example(format)
        self.format = format
        self.last = self.first = -np.inf
        """Times of the last row in order, and of the first one behind the last pause."""
        self.count = 0
        """Number of rows in order from `first` to `last`."""
        self.step, self.votes = 0.0, 0
        """Step in seconds that the majority of rows are apart, if there is one, and its lead over all others
        (the majority vote of Boyer and Moore)."""
        self.held: list[float] = []
        """Times that no verdict has been given on."""
        self.decided_at: NDArray[np.intp] = np.zeros(0, np.intp)
        """Of the times that were judged last: the one with which each was decided, or the end behind all."""

    @property
    def taken(self) -> str | None:
        """Format of the times in words; None until it is detected."""
        if self.format is None or "%" in self.format:
            return "years" if self.format == YEAR else self.format
        return "ISO 8601" if self.format == "iso" else f"{WORDS[self.format]} since 1970"

    def read(self, texts: Sequence[str]) -> Times:
        """Parse times to seconds, NaN where a text is not a time."""
        if self.format is None:
            self.format = _detected(texts)
        if self.format is None:
            return np.full(len(texts), np.nan)
        seconds = _reader(self.format)
        return np.array([_or_nan(seconds, text) for text in texts])

    @property
    def usual(self) -> float | None:
        """Usual seconds between two rows: that of most of them, or the mean one; None if too few have come.

        Examples
        --------
        >>> clock = Clock()
        >>> minutes = np.array([0, 1, 2, 3, 5, 6, 7, 8, 9, 11, 12, 13])
        >>> codes = clock.judge(60.0 * minutes, final=True)
        >>> clock.usual
        60.0
        """
        if self.step > 0 and self.votes > min(MOST_VOTES, max(self.count, 8)) / 2:
            return self.step
        return (self.last - self.first) / (self.count - 1) if self.last > self.first else None

    def judge(self, times: Times, *, final: bool = False) -> NDArray[np.int64]:
        """Return verdicts on the times that were held and on these; ``final``: no more come."""
        waiting = list(range(len(self.held)))
        codes = np.full(len(waiting) + len(times), GOOD)
        self.decided_at = np.arange(len(codes))
        usual = 0 if waiting else self._pass_usual(times)
        for i, time in enumerate(times[usual:].tolist(), len(waiting) + usual):
            if time < self.last:
                codes[i] = BEFORE
                continue
            self.held.append(time)
            waiting.append(i)
            for code in self._decided():
                self.decided_at[waiting[0]] = i
                codes[waiting.pop(0)] = code
        for code in self._decided(final=True) if final else ():
            self.decided_at[waiting[0]] = len(codes)
            codes[waiting.pop(0)] = code
        codes[waiting] = OPEN
        return codes

    def _pass_usual(self, times: Times) -> int:
        """Take the times in order up to the first that is not at the usual pace; return their number."""
        if self.count < 2 or not len(times):
            return 0
        before = np.concatenate(([self.last], times[:-1]))
        pace = (before - self.first) / (self.count - 1 + np.arange(len(times)))
        steps = times - before
        fine = (steps >= 0) & (steps <= FAR * pace)
        number = len(times) if fine.all() else int(fine.argmin())
        if number:
            self._vote(steps[:number].tolist())
            self.last, self.count = float(times[number - 1]), self.count + number
        return number

    def _decided(self, *, final: bool = False) -> Iterator[int]:
        """Yield verdicts on the first of the times held, and take these out, as far as they can be given."""
        while self.held:
            time, later = self.held[0], self.held[1:]
            code = BEFORE if time < self.last else GOOD
            if code == GOOD and self._is_far(time):
                pro = sum(other >= time for other in later)
                contra = sum(self.last <= other < time for other in later)
                if max(pro, contra) < VOTES and not final:
                    return
                code = AHEAD if contra > pro else GOOD
            if code == GOOD:
                paused = self.count < 1 or (self.count > 1 and self._is_far(time))
                if not paused:
                    self._vote([time - self.last])
                self.first, self.count = (time, 1) if paused else (self.first, self.count + 1)
                self.last = time
            del self.held[0]
            yield code

    def _vote(self, steps: Sequence[float]) -> None:
        """Let steps vote for the usual one: each for itself, against any other."""
        for step in steps:
            if not self.votes:
                self.step, self.votes = step, 1
            elif abs(step - self.step) <= SAME * (1 + self.step):
                self.votes = min(self.votes + 1, MOST_VOTES)
            else:
                self.votes -= 1

    def _is_far(self, time: float) -> bool:
        step = time - self.last
        return step > 0 and (self.count < 2 or step > FAR * ((self.last - self.first) / (self.count - 1)))

    def restart(self) -> None:
        """Begin anew in the same format: rows that come now are of another file, which may count from 0."""
        self.last = self.first = -np.inf
        self.count = 0

    def place(self) -> list[Any]:
        """Return the format and what is known of order and step, for a position."""
        order = [self.count, self.first, self.last] if self.count else [0, 0.0, 0.0]
        return [self.format, *order, self.step, self.votes]

    def go_to(self, place: Any, held: Sequence[float] = ()) -> None:
        """Continue from what `place` returned, with the times that were held then."""
        format, count, first, last, step, votes = (*place, 0.0, 0) if len(place) == 4 else place
        self.format, self.count, self.held = Clock(format).format, index(count), list(held)
        self.first, self.last = (float(first), float(last)) if count else (-np.inf, -np.inf)
        if self.count < 0 or not (
            self.count == 0 or -LARGEST_TIME <= self.first <= self.last <= LARGEST_TIME
        ):
            raise ValueError(f"{count} rows from {first} to {last}")
        self.step, self.votes = float(step), index(votes)
        if not (0 <= self.step <= 2 * LARGEST_TIME and 0 <= self.votes <= MOST_VOTES):
            raise ValueError(f"{votes} votes for a step of {step} seconds")


def written(seconds: float, format: str) -> str:
    """Return a time as a source writes it in this format; UTC.

    Examples
    --------
    >>> [written(1.7e9 + 0.5, format) for format in ("iso", "s", "ns", "%d.%m.%Y %H:%M")]
    ['2023-11-14T22:13:20.500000', '1700000000.5', '1700000000500000000', '14.11.2023 22:13']
    """
    if format == "s":
        return f"{seconds:.15g}"
    if format in UNITS:  # to the microsecond: float64 has no finer ones today
        micro = round(seconds * 1e6)
        return str(micro * 1000) if format == "ns" else f"{micro / (UNITS[format] * 1e6):.16g}"
    moment = datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds)
    return moment.replace(tzinfo=None).isoformat() if format == "iso" else moment.strftime(format)


def time_hints(column: str, text: str) -> tuple[Hint, ...]:
    """Return hints for a column where numbers were expected; none if its text is not a time."""
    if np.isnan(_or_nan(_iso, text)) and not formats_of(text):
        return ()
    return (Hint("time_column", column, "takes it as the time of each row"), NO_TEXT)


def _by_example(example: str) -> str:
    """Return the format of a time that is given as an example."""
    if not np.isnan(_or_nan(_iso, example)):
        return "iso"
    formats = formats_of(example)
    if len(formats) != 1:
        why = "day and month cannot be told apart" if formats else "it is no time either"
        raise SourceError(f"{example!r} is not a format of times, and no example of one: {why}", HOW)
    return formats[0]


def _detected(texts: Sequence[str]) -> str | None:
    """Return the format of the first text that is a time; `SourceError` if it may be two."""
    for text in texts:
        formats = formats_of(text) if (likely := _likely(text)) is None else [likely]
        if len(formats) > 1:
            others = ([one for one in formats if is_written(other, one)] for other in texts)
            formats = next((fitting for fitting in others if len(fitting) == 1), formats)
        if len(formats) > 1:
            first, second = (f"{datetime.strptime(text.strip(), one):%-d %B}" for one in formats)
            raise SourceError(
                f"the time {text.strip()!r} may be the {first} or the {second}",
                Hint("time_format", f"{datetime(2024, 12, 31, 23, 59):{formats[0]}}", "says: the day first"),
                Hint("time_format", f"{datetime(2024, 12, 31, 23, 59):{formats[1]}}", "the month first"),
            )
        if formats:
            return formats[0]
    return None


def _likely(text: str) -> str | None:
    """Detect the format of a time; None if it is none that is known."""
    try:
        number = abs(_number(text))
    except ValueError:
        return None if np.isnan(_or_nan(_iso, text)) else "iso"
    if len(text.strip()) == 4 and number in YEARS:
        return YEAR
    return next((unit for unit, length in UNITS.items() if number * length < LARGEST_SECONDS), None)


def _reader(format: str) -> Callable[[str], float]:
    if format == "iso":
        return _iso
    if format in UNITS:
        return lambda text: _number(text) * UNITS[format]
    return lambda text: _seconds(datetime.strptime(text.strip(), format))


def _or_nan(seconds: Callable[[str], float], text: str) -> float:
    try:
        found = seconds(text)
    except (ValueError, OverflowError):
        return float("nan")
    return found if abs(found) <= LARGEST_TIME else float("nan")


def _iso(text: str) -> float:
    return _seconds(datetime.fromisoformat(text.strip()))


def _seconds(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _number(text: str) -> float:
    number = float(text.strip().replace(",", "."))
    if "_" in text or not isfinite(number):
        raise ValueError(text)
    return number
