"""The display of a running job: in place on a terminal, lines elsewhere, JSON for programs; its alarms."""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..io.durations import when
from ..io.files import shown
from ..jobs import Watcher
from ..jobs.watcher import (
    ShelfEvent,
    alarm_document,
    in_words,
    notice_document,
    notice_in_words,
    shelf_document,
    shelf_in_words,
)
from ..model.history import STATISTIC_NAMES
from .summary import say

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console, RenderableType
    from rich.text import Text

    from ..io.sources import Batch, Reader, Source
    from ..jobs import AlarmEvent, Job
    from ..jobs.stage import Model
    from ..jobs.traces import FleetTraces, Traces
    from ..jobs.watcher import NoticeEvent
    from ..keyed.bank_file import Key
    from ..keyed.overview import Overview
    from ..live import Page
    from ..model import RankChange
    from ..monitoring import Alarm

BLOCKS = " ▁▂▃▄▅▆▇█"
EVENTS = 4
"""Latest events in the display: it keeps its height, and the spectrum stays in sight."""
REFRESH, SELDOM = 0.1, 10.0
"""Seconds between two pictures on a terminal, and between two lines elsewhere."""


class RowRate:
    """Rows per second over the last few seconds."""

    def __init__(self, rows: int) -> None:
        self.marks = [(time.monotonic(), rows)]

    def at(self, rows: int) -> float:
        now = time.monotonic()
        self.marks = [mark for mark in self.marks if now - mark[0] < 5] or self.marks[-1:]
        if now - self.marks[-1][0] > 0.1:
            self.marks.append((now, rows))
        moment, before = self.marks[0]
        return (rows - before) / max(now - moment, 1e-9)


class Display(Watcher):
    """Samples, rate, rank, threshold and spectrum, in place on a terminal; of many keys, lines."""

    def __init__(self, source: Source, console: Console, *, keyed: bool = False) -> None:
        from rich.live import Live

        self.source, self.console, self.rate = source, console, RowRate(source.count)
        self.events: deque[str] = deque(maxlen=EVENTS)
        # Lines on standard output that goes elsewhere must not end up on the terminal.
        redirect = sys.stdout is not None and sys.stdout.isatty()
        self.live = Live(console=console, auto_refresh=False, transient=True, redirect_stdout=redirect)
        self._keyed, self._in_place = keyed, console.is_terminal and not keyed
        self._shown_at = time.monotonic()

    def __enter__(self) -> Display:
        if self._in_place:
            self.live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.live.stop()

    def learnt(self, model: Any, batch: Batch) -> None:
        now = time.monotonic()
        if now - self._shown_at < (REFRESH if self._in_place else SELDOM):
            return
        self._shown_at = now
        if self._in_place:
            self.live.update(self._picture(model, batch), refresh=True)
        else:
            keys = f"{len(model):,} keys" if self._keyed else ""
            state = keys or f"rank {model.n_components_}, threshold {model.threshold_:.4g}{_alarms(model)}"
            say(self.console, f"{self._facts(batch)}, {state}")

    def rank_changed(self, change: RankChange, key: Any = None) -> None:
        self.events.append(f"sample {change.sample:,}: rank {change.before} → {change.after}")

    def saved(self, samples: int) -> None:
        self.events.append(f"sample {samples:,}: saved")

    def skipped(self, reason: str) -> None:
        self.events.append(f"left out: {shown(reason)}")

    def _picture(self, model: Model, batch: Batch) -> RenderableType:
        from rich.columns import Columns
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        share, rank = batch.share, (str(model.n_components_), "bold")
        bar = ProgressBar(total=1.0, completed=share or 0.0, pulse=share is None, width=60)
        state = Text.assemble("rank ", rank, f"   threshold {model.threshold_:.4g}{_alarms(model)}")
        return Group(
            Text(shown(self.source.name), style="bold"),
            Columns([bar, Text(f"{share:.0%}" if share is not None else "")]),
            Text(self._facts(batch)),
            state,
            spectrum_bars(model.spectrum_, model.n_components_),
            *(Text(event, style="dim") for event in self.events),
        )

    def _facts(self, batch: Batch) -> str:
        skipped = f", {batch.skipped:,} left out" if batch.skipped else ""
        return f"{batch.count:,} rows, {self.rate.at(batch.count):,.0f} rows/s{skipped}"


def _alarms(model: Model) -> str:
    """The number of alarms, of a model that watches."""
    monitor = getattr(model, "monitor", None)
    if monitor is None:
        return ""
    now = ", alarm on" if monitor.watch.counts else ""
    return f", {monitor.counts.alarms:,} alarms{now}"


def spectrum_bars(variances: NDArray[np.float64], rank: int, most: int = 24) -> Text:
    """The spectrum as blocks on a logarithmic scale: the components kept, then the mean of the rest."""
    from rich.text import Text

    shown = np.maximum(variances[: min(rank + 1, most)], 1e-300)
    if not len(shown):
        return Text("spectrum not known yet", style="dim")
    span = max(float(np.log(shown[0] / shown[-1])), 1e-9)
    heights = np.clip(1 + np.ceil(7 * np.log(shown / shown[-1]) / span), 1, 8).astype(int)
    text = Text("spectrum ")
    for i, height in enumerate(heights):
        text.append(BLOCKS[height] * 2, style="bold blue" if i < rank else "dim")
    return text.append(f"  {shown[0]:.3g} to {shown[-1]:.3g}")


class JsonEvents(Watcher):
    """One JSON object per line for each event, progress about once a second."""

    def __init__(self, rows: int, file: TextIO) -> None:
        self.rate, self._said_at, self._file = RowRate(rows), time.monotonic(), file

    def say(self, event: str, **facts: object) -> None:
        print(json.dumps({"event": event, **facts}), flush=True, file=self._file)

    def learnt(self, model: Any, batch: Batch) -> None:
        now = time.monotonic()
        if now - self._said_at < 1:
            return
        self._said_at = now
        rate = self.rate.at(batch.count)
        facts = {"rows": batch.count, "share": batch.share, "skipped": batch.skipped, "rows_per_second": rate}
        if hasattr(model, "keys"):
            self.say("progress", **facts, keys=len(model))
            return
        facts |= {"rank": model.n_components_, "threshold": model.threshold_}
        self.say("progress", **facts, spectrum=[float(value) for value in model.spectrum_])

    def rank_changed(self, change: RankChange, key: Any = None) -> None:
        self.say("rank", **({} if key is None else {"key": key}), **change._asdict())

    def saved(self, samples: int) -> None:
        self.say("saved", samples=samples)

    def skipped(self, reason: str) -> None:
        self.say("skipped", reason=reason)


class OnPage(Watcher):
    """Keeps the live page up to date; an alarm is on it at once."""

    def __init__(self, page: Page, job: Job, traces: Traces | None) -> None:
        self.page, self.job, self.rate, self.traces = page, job, RowRate(job.source.count), traces
        self._alarmed = False

    def alarmed(self, event: AlarmEvent) -> None:
        self._alarmed = True

    def learnt(self, model: Model, batch: Batch) -> None:
        lag, times = self.job.source.reader.behind(), self.job.times.ordered
        traces = () if self.traces is None else self.traces.found
        rate = self.rate.at(batch.count)
        rows = self.job.alarm_rows(model) if self.job.request.watches else None
        self.page.update(model, rows_per_second=rate, lag=lag, times=times, traces=traces, source_rows=rows)
        self._hurry()

    def _hurry(self) -> None:
        """Have the page show an alarm of this batch without waiting for its next look."""
        if self._alarmed:
            self.page.hurry()
        self._alarmed = False


class OnFleetPage(OnPage):
    """Keeps the live page of a fleet up to date."""

    def __init__(self, page: Page, job: Job, overview: Overview, traces: FleetTraces | None) -> None:
        super().__init__(page, job, None)
        self.overview, self.traces_of = overview, None if traces is None else traces.of
        page.update_fleet(job.model, overview)  # keys from before are there before the first row

    def learnt(self, model: Any, batch: Batch) -> None:
        lag, rate = self.job.source.reader.behind(), self.rate.at(batch.count)
        places = self._places if self.job.request.watches else None
        self.page.update_fleet(
            model, self.overview, rows_per_second=rate, lag=lag, traces=self.traces_of, places=places
        )
        self._hurry()

    def _places(self, key: Key, model: Any) -> tuple[list[list[float]], dict[int, int]]:
        """Times of the rows of a key, and the rows in the source at which its alarms began."""
        return self.job.places(key).times.ordered, self.job.alarm_rows(model, key)


Event = TypeVar("Event", "AlarmEvent", "NoticeEvent", "ShelfEvent")


class AlarmLines(Watcher):
    """A line for each alarm that begins to count, is blamed on another input, or ends."""

    def __init__(
        self, file: Callable[[], TextIO], *, as_json: bool, clock: str = "time", reader: Reader | None = None
    ) -> None:
        self._file, self._as_json, self._clock, self._reader = file, as_json, clock, reader

    def alarmed(self, event: AlarmEvent) -> None:
        # Asked each time: on a terminal, a display may have put something before standard output meanwhile.
        self._say(event, alarm_document, _as_words)

    def noticed(self, event: NoticeEvent) -> None:
        self._say(event, notice_document, notice_in_words)

    def shelved(self, event: ShelfEvent) -> None:
        self._say(event, shelf_document, lambda one: shelf_in_words(one, self._clock))

    def _say(
        self, event: Event, document: Callable[[Event], dict[str, Any]], words: Callable[[Event], str]
    ) -> None:
        """Print an event, as JSON or as text; with its file and the row there, if there are several files."""
        of_file = None if self._reader is None else self._reader.file_row(event.row)
        if self._as_json:
            file = {} if of_file is None else {"file": of_file[0].name, "file_row": of_file[1]}
            line = json.dumps(document(event) | file)
        else:
            line = shown(self._where(event, of_file) + words(event))
        print(line, file=self._file(), flush=True)

    def _where(self, event: AlarmEvent | NoticeEvent | ShelfEvent, of_file: tuple[Path, int] | None) -> str:
        """Key, row, file and time of an event, in front of what has happened."""
        facts = [] if of_file is None else [f"row {of_file[1]:,} of {of_file[0].name}"]
        facts += [] if event.time is None else [when(event.time, self._clock)]
        key = "" if event.key is None else f"{event.key}, "
        more = f" ({', '.join(facts)})" if facts else ""
        return f"{key}row {event.row:,}{more}: "


def _as_words(event: AlarmEvent) -> str:
    alarm = event.alarm
    peak = f"{alarm.peak:.3g} at row {alarm.peak_row:,}"
    if event.state == "began":
        since = f", since row {alarm.began:,}" if alarm.began != event.row else ""
        said = f"alarm began{since}; largest severity so far {peak}"
    elif event.state == "lasts":
        said = f"alarm blamed anew, since row {alarm.began:,}; largest severity so far {peak}"
    else:
        how = "ended" if event.state == "ended" else "accepted as the new normal"
        exceeded = f"{alarm.rows:,} row{'s' if alarm.rows > 1 else ''} exceeded a limit"
        said = f"alarm {how}: {exceeded}, the last was row {alarm.last:,}; largest severity {peak}"
    said += f", {STATISTIC_NAMES[alarm.statistic]}; {in_words(alarm.contributors)}{_reads(alarm)}"
    return said


def _reads(alarm: Alarm) -> str:
    """Say the reading of the input to blame first, and its expected reading."""
    first = alarm.readings[:1]
    return "".join(f"; {name} should read {should:.4g}, reads {reads:.4g}" for name, reads, should in first)
