"""The listener of a job, and what it hears of: alarms in terms of the rows of a source, and the outcome."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ..io.durations import is_date, moment, when

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..io.sources import Batch
    from ..keyed.bank_file import Key
    from ..model import RankChange
    from ..monitoring import Alarm, Contributors, Notice, Verdicts
    from .stage import Model

MOST_BREAKS = 256
"""Last jumps of row numbers that are remembered, beside one for each row that is still needed."""
LISTED = 200
"""Alarms, the latest, that pages list and whose row numbers stay known."""


@dataclass
class Numbering:
    """Numbers in the source of the rows of a monitor, which counts what came: the source has gaps.

    Examples
    --------
    >>> numbering = Numbering()
    >>> numbering.note(0, np.array([5, 6, 9, 10]))
    >>> [numbering.number(row) for row in range(4)]
    [5, 6, 9, 10]
    """

    breaks: list[list[int]] = field(default_factory=list)
    """Pairs of a row of the monitor and its number, where numbers jump."""

    def note(self, first: int, numbers: NDArray[np.int64]) -> None:
        """Note the numbers of rows of the monitor, from this one on."""
        rows = np.arange(first, first + len(numbers))
        before = self.number(first) if self.breaks else -1
        jumps = np.flatnonzero(np.diff(numbers - rows, prepend=before - first))
        self.breaks += [[int(rows[i]), int(numbers[i])] for i in jumps]

    def forget(self, needed: Iterable[int]) -> None:
        """Forget all but the last jumps, and the numbers of the rows that are still needed.

        So an alarm that never ends takes bounded memory, however often rows of its source are left out.
        """
        recent = self.breaks[-MOST_BREAKS:]
        if len(recent) < len(self.breaks):
            older = sorted({row for row in needed if self.breaks[0][0] <= row < recent[0][0]})
            self.breaks = [[row, self.number(row)] for row in older] + recent

    def numbers(self, rows: Iterable[int]) -> dict[int, int]:
        """Numbers of rows that were needed all the time, without those from before the first number."""
        known = [row for row in rows if self.breaks and row >= self.breaks[0][0]]
        return {row: self.number(row) for row in known}

    def number(self, row: int) -> int:
        """The number of a row of the monitor, one of the last or one that is still needed."""
        at, number = self.breaks[self._at(row)]
        return row - at + number

    def _at(self, row: int) -> int:
        """Position of the last jump up to this row, or of the first."""
        return max(bisect_right(self.breaks, row, key=itemgetter(0)) - 1, 0)


class AlarmEvent(NamedTuple):
    """An alarm that began to count, is blamed anew, or ended. Row numbers are those of the source."""

    state: Literal["began", "lasts", "ended", "accepted"]
    row: int
    """The row at which it began to count or is blamed anew, or the last before it had ended."""
    time: float | None
    """Time of that row, in seconds since 1970, if known."""
    length: int
    """Rows from the first that exceeded a limit to the last."""
    alarm: Alarm
    """The alarm in row numbers of the source; of an earlier source, if it began there."""
    key: Key | None = None
    """The key of the rows, with one monitor per key."""


class NoticeEvent(NamedTuple):
    """A drift, or an input out of order, that began or ended. Row numbers are those of the source."""

    state: Literal["began", "ended"]
    row: int
    """The row at which it began, or at which it was known that it has ended."""
    time: float | None
    """Time of that row, in seconds since 1970, if known."""
    notice: Notice
    key: Key | None = None
    """The key of the rows, with one monitor per key."""


class ShelfEvent(NamedTuple):
    """An input or a key that somebody has shelved on the page, or taken off; in rows of the source."""

    state: Literal["shelved", "unshelved"]
    row: int
    """The first row from which on it holds, in this process."""
    time: float | None
    """Time of that row, in seconds since 1970, if known."""
    input: str
    """The input; empty: the whole key."""
    until_row: int | None = None
    """The first row after it, of one that counts rows."""
    until: float | None = None
    """The time of its end, of one that has a duration."""
    key: Key | None = None
    """The key, with one monitor per key."""


MEANINGS = {
    "flat": "repeats its value for longer than usual",
    "lively": "moves more than usual",
    "gone": "has no values for longer than usual",
    "off": "has left its pattern, too, while an alarm is on",
    "drift": "rows leave the first normal, and the model follows them",
}
"""Meaning of each kind of notice."""


def notice_document(event: NoticeEvent) -> dict[str, Any]:
    """A notice as plain values: a line of ``watch --json``, and what a command or a web server is told."""
    notice = event.notice
    facts: dict[str, Any] = {"event": "notice", "kind": notice.kind, "state": event.state, "row": event.row}
    facts |= {"input": notice.input} if notice.input else {}
    facts |= {} if event.key is None else {"key": event.key}
    facts |= {} if event.time is None else {"time": _stamp(event.time)}
    facts["since"] = notice.began
    return facts if notice.ended is None else facts | {"last": notice.ended - 1}


def notice_in_words(event: NoticeEvent) -> str:
    """A notice as a text.

    Examples
    --------
    >>> from eigenstream.monitoring import Notice
    >>> notice_in_words(NoticeEvent("began", 7, None, Notice("flat", 7, input="valve")))
    'valve is flat: it repeats its value for longer than usual'
    """
    kind, name = event.notice.kind, event.notice.input
    if kind == "drift":
        return f"drift began: {MEANINGS[kind]}" if event.state == "began" else "drift ended"
    if event.state == "began":
        return f"{name} is {kind}: it {MEANINGS[kind]}"
    first, last = event.notice.began, (event.notice.ended or 0) - 1
    rows = f"from row {first:,} to row {last:,}" if last > first else f"at row {first:,}"
    return f"{name} is no longer {kind}: it was {rows}"


def shelf_document(event: ShelfEvent) -> dict[str, Any]:
    """A shelf as plain values: a line of ``watch --json``."""
    facts: dict[str, Any] = {"event": event.state, "row": event.row, "by": "page"}
    facts |= {} if event.key is None else {"key": event.key}
    facts |= {"input": event.input} if event.input else {}
    facts |= {} if event.time is None else {"time": _stamp(event.time)}
    facts |= {} if event.until is None else {"until": _stamp(event.until)}
    return facts | ({} if event.until_row is None else {"until_row": event.until_row})


def shelf_in_words(event: ShelfEvent, clock: str = "time") -> str:
    """A shelf as a text behind its key, with the name of the column of times.

    Examples
    --------
    >>> shelf_in_words(ShelfEvent("shelved", 7, None, "valve", until_row=1007))
    'valve is shelved until row 1,007 (by the page): nobody is told of it'
    """
    subject = event.input or "the key"
    if event.state == "unshelved":
        return f"{subject} is no longer shelved (by the page)"
    until = f"row {event.until_row:,}" if event.until is None else when(event.until, clock)
    return f"{subject} is shelved until {until} (by the page): nobody is told of it"


def alarm_document(event: AlarmEvent) -> dict[str, Any]:
    """An alarm that began, lasts or ended, as plain values: a line of ``watch --json``, and a notice."""
    alarm = event.alarm
    facts: dict[str, Any] = {"event": "alarm", "state": event.state, "row": event.row}
    if event.key is not None:
        facts["key"] = event.key
    if event.time is not None:
        facts["time"] = _stamp(event.time)
    facts |= {"since": alarm.began, "last": alarm.last, "rows": alarm.rows, "length": event.length}
    facts |= {"peak": alarm.peak, "peak_row": alarm.peak_row, "statistic": alarm.statistic}
    readings = {name: {"reads": reads, "should_read": should} for name, reads, should in alarm.readings}
    return facts | {"contributors": dict(alarm.contributors), "readings": readings}


def _stamp(time: float) -> str | float:
    """A time for programs: an ISO date, or the number as it stands in the source."""
    return moment(time) if is_date(time) else time


# A share. The second of two sensors that failed has more, the noise of the others less.
LEAST_TOLD = 0.02
"""An input that explains less, and is not the first, is not named in a line; JSON and Python have all."""


def in_words(contributors: Contributors) -> str:
    """Inputs to blame, as a text.

    Examples
    --------
    >>> in_words((("valve", 0.613), ("flow", 0.12), ("level", 0.001)))
    'valve 61 %, flow 12 %'
    """
    told = [(name, share) for i, (name, share) in enumerate(contributors) if not i or share >= LEAST_TOLD]
    return ", ".join(f"{name} {share:.0%}".replace("%", " %") for name, share in told)


class Watcher:
    """Listens to a job; a subclass overrides the methods for the events it wants to hear of."""

    def learnt(self, model: Model, batch: Batch) -> None:
        """A batch has been learnt from."""

    def rank_changed(self, change: RankChange, key: Key | None = None) -> None:
        """The rank has changed; with one model per key, of the model with this key."""

    def judged(self, verdicts: Verdicts) -> None:
        """Rows of a batch have been judged, by a job that watches."""

    def judged_keys(
        self, keys: Sequence[Key], severity: NDArray[np.float64], on: Mapping[Key, Alarm]
    ) -> None:
        """Rows of a batch have been judged, each by the monitor of its key.

        ``on`` has the alarms that are on, of keys in this batch, in row numbers of their monitors.
        """

    def alarmed(self, event: AlarmEvent) -> None:
        """An alarm began to count, is blamed on another input, or ended."""

    def saving(self) -> None:
        """The model is about to be saved: what was heard so far will not be heard again after a crash."""

    def stopping(self) -> None:
        """A signal came: the job will end within seconds. Called at any moment: set a value, not more."""

    def noticed(self, event: NoticeEvent) -> None:
        """A drift or an input out of order began or ended."""

    def shelved(self, event: ShelfEvent) -> None:
        """Somebody has shelved an input or a key on the page, or taken it off."""

    def saved(self, samples: int) -> None:
        """The model has been saved, with this number of samples."""

    def skipped(self, reason: str) -> None:
        """A row was left out."""


class Outcome(NamedTuple):
    """The end of a job."""

    rows: int
    """Rows read by this job."""
    seconds: float
    signal: int | None
    """The signal that stopped it; None if it reached the end."""
    learnt: int
    """Rows learnt from: fewer than were read where values are missing and ``missing`` says to skip."""
    unsaved: int = 0
    """Rows that were learnt after the last checkpoint and not saved: after a signal there was no time."""
    saving: float = 0.0
    """Seconds of `seconds` that checkpoints took."""
