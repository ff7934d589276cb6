"""A job: read a batch, learn from it, write its scores, and now and then save everything together."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ..io.durations import when
from ..io.sinks import Layout, Sink, SinkError
from ..io.sources import Batch, Hint, Source, SourceError
from ..io.sources import open as open_source
from ..io.sources.batch import SKIP
from ..io.sources.several import Identity, identities
from ..keyed import Bank, CallInterrupted, MonitorBank
from ..model import StreamModel, TimesGoBack
from ..monitoring import MonitoredModel
from .handling import Handling
from .judging import Judging, KeyedJudging, RowPlaces
from .model_file import ModelFile, RunError
from .record import FleetStart, Record, Request
from .stage import KeyedScoring, KeyedStage, Scoring, Stage
from .times import Times
from .waiting import ReadAhead, StopRequest, WaitEnded
from .watcher import LISTED, AlarmEvent, NoticeEvent, Outcome, Watcher

if TYPE_CHECKING:
    from ..keyed.bank_file import Key
    from ..model import RankChange

SLOWEST = 1e-3
"""Least rate, in rows per second: one row in a quarter of an hour.

At a lower one a job looks as if it hung."""
SHARE = 0.1
"""Largest share of the running time that checkpoints take, as long as no number of rows asks for them.

More is felt; less loses more at a kill: ten times what a save takes."""


class Saved(NamedTuple):
    """The last checkpoint of a job."""

    rows: int
    """Rows of the source up to it."""
    moment: float
    """Time at which it was complete; that of the start before the first."""
    seconds: float = 0.0
    """Time that it took."""
    total: float = 0.0
    """Time that all of them took."""


@dataclass
class Job:
    """A model, a source and an output. `prepare` makes one from a `Request`."""

    model: Any
    """A `Model`, or a `Bank` or `MonitorBank` with many of them."""
    source: Source
    sink: Callable[[Layout], Sink] | None = None
    """Opens the output, given its columns."""
    file: ModelFile | None = None
    position: dict[str, Any] | None = None
    """The position in the source that the model has reached already."""
    request: Request = field(default_factory=lambda: Request(None))
    """The request behind the job; saved with the model."""
    learnt: list[Identity] = field(default_factory=list)
    """Sources that the model has learnt completely before."""
    known: bool = False
    """True if the source is among them: there is nothing to do."""
    times: Times = field(default_factory=Times)
    """Times of the samples, as far as they are known."""
    numbering: list[list[int]] = field(default_factory=list)
    """`Record.numbering` of a monitor that has seen rows before."""
    fleet: FleetStart | None = None
    """`Record.fleet` of a bank that is in the middle of its source."""
    handling: Handling = field(default_factory=Handling)
    """Acknowledged alarms and shelved inputs; those of the page are saved with the model."""
    names: list[str] | None = None
    """Names of the inputs; by default those of the source."""
    going_on: bool = False
    """True if the model in the file is the one to go on from: it stays valid until the first save."""
    every_rows: int | None = None
    """A checkpoint is due after this many rows, whatever it costs; None: time alone decides."""
    every_seconds: float = 10.0
    """A checkpoint is due after this many seconds, or nine times as long as one takes if that is longer, so
    that checkpoints take at most `SHARE` of the time. A kill costs at most that much work again."""
    rate: float | None = None
    """Most rows per second."""
    watchers: tuple[Watcher, ...] = ()

    def __post_init__(self) -> None:
        if self.rate is not None and not SLOWEST <= self.rate < math.inf:
            raise ValueError(f"rate must be at least {SLOWEST} rows per second and finite, got {self.rate}")
        if self.request.residuals and not isinstance(self.model, StreamModel):
            raise ValueError(f"residuals need a StreamModel, got {type(self.model).__name__}")
        if (self.every_rows is not None and not self.every_rows >= 1) or not self.every_seconds >= 0:
            raise ValueError(
                "expected a checkpoint after every_rows >= 1 and every_seconds >= 0, got "
                f"{self.every_rows} and {self.every_seconds}"
            )

    def run(self) -> Outcome:
        """Go through the source to its end, or until a signal; returns the outcome.

        Raises
        ------
        SourceError, SinkError, RunError
            If it cannot go on. What has been learnt so far has been saved.
        """
        if self.known:
            return Outcome(0, 0.0, None, 0)
        self._started = started = time.monotonic()
        rows = 0
        self._stage = self._new_stage()
        self._output: Sink | None = None
        self._began = False
        self._last: Batch | None = None
        self._count, before = self.source.count, self._stage.samples
        self._saved = Saved(self._count, started)
        with (
            StopRequest(self._stopping) as stop,
            self._closing(),
            self._stage.announcing(self._rank_changed),
        ):
            self._stop = stop
            self._refuse_other_width()
            self._refuse_missing_times()
            if self.position is not None:
                self._begin()
            try:
                with suppress(CallInterrupted):  # by a signal: the batch at hand is given up
                    for batch in self._batches(stop, started):
                        self._take_in(batch)
                        rows += len(batch.rows)
                        if self._is_due():
                            self._save(final=False)
                if self._last is None and self.position is None and not stop.asked():
                    raise SourceError(f"{self.source.name} has no rows to learn from{self._why_none()}")
                self._save_in_time(final=not stop.asked())
            except SourceError as error:
                self._save_in_time(final=False)
                options = [hint.option for hint in error.hints]
                if before and "allow_nan" in options:  # a model goes on with what it does with gaps
                    others = [hint for hint in error.hints if hint.option not in ("allow_nan", SKIP.option)]
                    error.hints = (SKIP, *others)
                raise
        learnt, unsaved = self._stage.samples - before, self._count - self._saved.rows
        seconds = time.monotonic() - started
        return Outcome(rows, seconds, stop.signal, learnt, unsaved, self._saved.total)

    @property
    def keyed_stage(self) -> KeyedStage:
        """The stage of a job with one model per key that has run; it counts keys."""
        stage = self._new_stage() if self.known else self._stage
        assert isinstance(stage, KeyedStage)
        return stage

    def places(self, key: Key | None = None) -> RowPlaces:
        """Places in the source of the rows of the monitor, or of that of a key; the job has run."""
        if key is not None:
            return RowPlaces.of(self.model.position_of(key))
        return RowPlaces((self._new_stage() if self.known else self._stage).numbering, self.times)

    def alarm_rows(self, model: Any, key: Key | None = None) -> dict[int, int]:
        """Rows of the source at which the latest alarms began, by the monitor's own numbers of them."""
        began = (alarm.began for alarm in model.alarms_[-LISTED:])
        return self.places(key).numbering.numbers(began)

    def close(self) -> None:
        """Close the source and the model file, whether or not the job has run."""
        self.source.close()
        if isinstance(self.model, Bank | MonitorBank):
            self.model.close()
        if self.file is not None:
            self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def _batches(self, stop: StopRequest, started: float) -> Iterator[Batch]:
        """Batches until the end or a signal; while waiting for one, a signal need not wait for it."""
        first = self.source.count
        batches = ReadAhead(self.source)
        while True:
            try:
                with stop.waiting():
                    batch = next(batches, None)
                    if batch is not None and self.rate is not None:
                        ahead = (batch.count - first) / self.rate - (time.monotonic() - started)
                        time.sleep(max(ahead, 0.0))
            except WaitEnded:
                return
            if batch is None:
                return
            yield batch

    def _take_in(self, batch: Batch) -> None:
        """Score and learn, then write: each row's score is from before it was learnt from."""
        came = self._stage.came
        try:
            with self._writing("the output"):
                scored = self.sink is not None
                with self._stage.ended_by(self._stop.asked):
                    said = self._stage.learn(batch, scored=scored, residuals=self.request.residuals)
                if not self._began:
                    # Only now: until the first rows have been learnt, nothing that was there is touched.
                    self._begin()
                if said is not None and self._output is not None:
                    self._output.write(batch.numbers, said.numbers, said.texts)
        except SinkError:
            raise
        except TimesGoBack as error:
            raise self._clock_restarted(batch, error) from None
        except ValueError as error:
            span = f"rows {batch.numbers[0]} to {batch.numbers[-1]}"
            raise RunError(f"{self.source.name}, {span}: {error}") from None
        self._last, self._count = batch, batch.count
        if batch.times is not None and batch.keys is None:  # each key has a clock of its own
            self._note_times(came, batch)
        for watcher in self.watchers:
            if self._stage.verdicts is not None:
                watcher.judged(self._stage.verdicts)
            if isinstance(self._stage, KeyedJudging) and batch.keys is not None:
                watcher.judged_keys(batch.keys, self._stage.severity, self._stage.on)
            events: list[AlarmEvent | NoticeEvent] = [*self._stage.events, *self._stage.notices]
            for event in sorted(events, key=attrgetter("row")):
                if isinstance(event, AlarmEvent):
                    watcher.alarmed(event)
                else:
                    watcher.noticed(event)
            watcher.learnt(self.model, batch)

    def _clock_restarted(self, batch: Batch, error: TimesGoBack) -> RunError:
        """The error for a row that is before the last one learnt; within a file, the source refuses it."""
        place = self._place_of(int(batch.numbers[error.row]))
        key = "" if error.key is None else f", key {error.key!r}"
        column = self.request.reading.time_column
        name = column if isinstance(column, str) else "time"
        what = (
            f"{place}{key}: {when(error.after, name)} is before the last row that was learnt, "
            f"{when(error.before, name)}, and a half-life in time needs clocks that go on from file to file"
        )
        return RunError(
            what,
            Hint("time_column", None, "names a column of times that go on, such as dates"),
            Hint("half_life", "200", "counts rows instead, in a model that is begun anew"),
        )

    def _place_of(self, row: int) -> str:
        """The source and the line of a row, in words; files are opened once more for it."""
        if not self.source.reader.files:
            return f"{self.source.name}, row {row}"
        options = replace(self.source.options, rows=(row, row + 1), follow=False)
        with closing(open_source(self.request.source, options)) as again:
            chunk = again.reader.take(1)
            return f"{self.source.name}, row {row}" if chunk is None else again.reader.where_row(chunk, 0)

    def _note_times(self, came: int, batch: Batch) -> None:
        """Note the times of those samples of a batch that were learnt, or judged."""
        assert batch.times is not None
        taken, times = self._stage.came - came, batch.times
        if taken < len(times):
            whole = ~np.isnan(batch.rows).any(axis=1)
            times = times[whole] if np.count_nonzero(whole) == taken else times[len(times) - taken :]
        begins = (batch.count - len(batch.rows)) % self.source.batch_rows == 0
        self.times.add(came, times, begins=begins)

    def _new_stage(self) -> Stage:
        names = self.names or self.source.names
        if isinstance(self.model, MonitoredModel):
            return Judging(self.model, self.request.parameters, names, self.numbering)
        if isinstance(self.model, MonitorBank):
            return KeyedJudging(self.model, self.request, names, self.fleet)
        if isinstance(self.model, Bank):
            return KeyedScoring(self.model, self.request, self.fleet)
        return Scoring(self.model)

    def _begin(self) -> None:
        """Open the output and note its identity, before anything is written to it."""
        self._began = True
        with self._writing("the output"):
            if self.sink is not None:
                layout = self._stage.layout(self.source.kept, self.request.residuals)
                self._output = self.sink(layout)
            if self.file is not None:
                output = None if self._output is None else self._output.identity
                self.file.begin(output, continuing=self.position is not None, going_on=self.going_on)

    def _refuse_other_width(self) -> None:
        width, source = self._stage.width, self.source
        if width is not None and width != source.width:
            raise SourceError(f"{source.name} has {source.width} columns where the model has {width}")

    def _refuse_missing_times(self) -> None:
        if self._stage.needs_times and self.source.clock is None:
            raise SourceError(
                f"{self.source.name}: a half-life in time needs to know when each row was taken",
                Hint("time_column", None, "names the column that says so"),
            )

    def _is_due(self) -> bool:
        saved, since = self._saved, time.monotonic() - self._saved.moment
        if self.every_rows is not None and self._count - saved.rows >= self.every_rows:
            return True
        if since < self.every_seconds:
            return False
        expected = max(saved.seconds, 0.0 if self.file is None else self._stage.seconds_to_save())
        elapsed, total = time.monotonic() - self._started, saved.total + expected
        return expected <= SHARE * (since + expected) and total <= SHARE * (elapsed + expected)

    def _save_in_time(self, *, final: bool) -> None:
        """Save, unless a signal leaves too little time for it: then the last checkpoint stays."""
        with suppress(CallInterrupted):
            self._save(final=final)

    def _save(self, *, final: bool) -> None:
        """Settle the output, then write the model and both positions down together."""
        began = time.monotonic()
        position = self._last.position if self._last else self.position
        for watcher in self.watchers:
            watcher.saving()
        with self._writing("the model or the output"):
            place = self._output.settle(final=final) if self._output else None
            if self.file is not None and position is not None:
                with self._stage.ended_by(self._stop.is_late):
                    self.file.save(self._stage, self._record(position, place, final))
            if self._output is not None:
                self._output.committed()
            if self.file is not None and final and self._output is None:
                self.file.forget()
        ended = time.monotonic()
        self._saved = Saved(self._count, ended, ended - began, self._saved.total + ended - began)
        if self.file is not None and position is not None:
            for watcher in self.watchers:
                watcher.saved(self._stage.samples)

    def _why_none(self) -> str:
        skipped, first = self.source.skipped, self.source.first_skip
        return f": all {skipped:,} were left out, the first since {first}" if skipped else ""

    def _record(self, position: dict[str, Any], place: dict[str, Any] | None, final: bool) -> Record:
        ended = None
        if final:
            span = [self.request.reading.rows[0], position["row"]]
            ended = identities(self.source.reader)
            if len(ended) == 1 and span[0] < span[1]:
                ended = [ended[0] | {"rows": span}]
        names = self.names or self.source.names
        times, numbering = self.times.pairs, self._stage.numbering.breaks
        fleet: Any = self._stage.start
        handled = self.handling.record()
        parts = (names, self.learnt, ended, times, numbering, fleet, handled)
        return Record(self.request, position, place, *parts)

    @contextmanager
    def _writing(self, what: str) -> Iterator[None]:
        """Turn errors of the system within this block into one that says what is left, and what to do."""
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            kept, hints = "", tuple[Hint, ...]()
            if self.file is not None and error.filename == str(self.file.target):
                what = str(self.file.path)  # a bank's, which takes in models at any time
            if self.file is not None and self.file.has_checkpoint():
                kept = f"; the last checkpoint in {self.file.path} is intact"
                hints = (Hint("resume", None, "continues it once there is room"),)
            raise RunError(f"{what} cannot be written: {error.strerror or error}{kept}", *hints) from None

    def skipped(self, reason: str) -> None:
        """Tell watchers that a row was left out; the source calls this."""
        for watcher in self.watchers:
            watcher.skipped(reason)

    def _stopping(self) -> None:
        for watcher in self.watchers:
            watcher.stopping()

    def _rank_changed(self, change: RankChange, *key: Any) -> None:
        for watcher in self.watchers:
            watcher.rank_changed(change, *key)

    @contextmanager
    def _closing(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.source.close()
            if self._output is not None:
                self._output.close()
