"""One pass of a stream through a model, such that a crash at any moment loses nothing.

Rows are scored, written and learnt from batch by batch. Every so often the model, its place in the source and
the length of the output are written down together (`ModelFile.save`, one atomic replacement). A job that
continues from there reads, learns and writes exactly what an uninterrupted one would have.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .ahead import Ahead
from .estimators import OnlineAdaptivePCA
from .interruption import Interruption, Stopped
from .locking import lock
from .sinks import Sink, SinkError
from .sources import Batch, Floats, Source, SourceError
from .tracking import RankChange


class RunError(RuntimeError):
    """A job that cannot go on; what it has written down so far stands."""


class ModelFile:
    """The file a job writes its model to, locked against a second process for as long as it is open."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.saved_at: int | None = None
        """Samples the model had seen when it was last saved."""
        beside = self.path.with_name(f".{self.path.name}.lock")
        try:
            self._handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise RunError(f"{self.path} cannot be written: {error.strerror}") from None
        if not lock(self._handle):
            os.close(self._handle)
            raise RunError(
                f"another process is working on {self.path}: wait until it has ended, or save elsewhere"
            )
        for leftover in self.path.parent.glob(f".{self.path.name}.*.tmp"):
            leftover.unlink()  # a save that was killed; nobody else can be saving now

    @property
    def note(self) -> dict[str, Any]:
        """What the job at work, or the last one, has said of itself."""
        try:
            noted = json.loads(os.pread(self._handle, 1 << 16, 0) or b"{}")
        except ValueError:
            return {}
        return noted if isinstance(noted, dict) else {}

    @note.setter
    def note(self, note: dict[str, Any]) -> None:
        content = json.dumps(note).encode()
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, content, 0)

    def save(self, model: OnlineAdaptivePCA, position: dict[str, Any]) -> None:
        """Replace the file by this model and position."""
        model.save(self.path, position=position)
        self.saved_at = model.n_samples_seen_

    def close(self) -> None:
        os.close(self._handle)


class Watcher:
    """Told of what happens; a subclass overrides what it wants to know."""

    def learnt(self, model: OnlineAdaptivePCA, batch: Batch) -> None:
        """A batch has been learnt from."""

    def rank_changed(self, change: RankChange) -> None:
        """The rank has changed."""

    def saved(self, samples: int) -> None:
        """The model has been saved after so many samples."""

    def skipped(self, reason: str) -> None:
        """A row was left out."""


class Outcome(NamedTuple):
    """How a job ended."""

    rows: int
    """Rows read by this job."""
    seconds: float
    signal: int | None
    """What stopped it, if it did not come to the end."""


@dataclass
class Job:
    """A model, a source, and what comes out."""

    model: OnlineAdaptivePCA
    source: Source
    sink: Callable[[int, Any], Sink] | None = None
    """Opens the output, given the number of scores a row and their type."""
    file: ModelFile | None = None
    position: dict[str, Any] | None = None
    """Where in the source the model stands already."""
    recipe: dict[str, Any] = field(default_factory=dict)
    """What the job was asked to do; saved with the model."""
    every_rows: int = 100_000
    every_seconds: float = 30.0
    rate: float | None = None
    """Most rows a second."""
    watchers: tuple[Watcher, ...] = ()

    def run(self) -> Outcome:
        """Go through the source to its end, or until a signal; returns how it went. For the main thread.

        Raises
        ------
        SourceError, RunError
            If it cannot go on. What has been learnt so far has been saved.
        """
        started, rows = time.monotonic(), 0
        self._output: Sink | None = None
        self._last: Batch | None = None
        self._refuse_other_width()
        if self.position is not None and self.sink is not None:
            self._open_output(self.model.max_components_, self.model.components_.dtype)
        self._count = self.source.count
        self._saved = (self._count, started)
        self.model.on_rank_change = self._rank_changed
        with Interruption() as interruption, self._closing():
            try:
                for batch in self._batches(interruption, started):
                    self._take_in(batch)
                    rows += len(batch.rows)
                    if self._is_due():
                        self._save(final=False)
                if self._last is None and self.position is None and not interruption.asked():
                    raise SourceError(f"{self.source.name} has no rows to learn from")
                self._save(final=not interruption.asked())
            except SourceError:
                self._save(final=False)
                raise
        return Outcome(rows, time.monotonic() - started, interruption.signal)

    def _batches(self, interruption: Interruption, started: float) -> Iterator[Batch]:
        """Batches until the end or a signal; while waiting for one, a signal need not wait for it."""
        first = self.source.count
        batches = Ahead(self.source)
        while True:
            try:
                with interruption.waiting():
                    batch = next(batches, None)
                    if batch is not None and self.rate is not None:
                        ahead = (batch.count - first) / self.rate - (time.monotonic() - started)
                        time.sleep(max(ahead, 0.0))
            except Stopped:
                return
            if batch is None:
                return
            yield batch

    def _take_in(self, batch: Batch) -> None:
        """Score, write, learn: in this order, so that a score never knows its own row."""
        try:
            scores = self._learn(batch.rows)
            if scores is not None:
                output = self._open_output(scores.shape[1], scores.dtype)
                output.write(batch.numbers, scores)
        except SinkError:
            raise
        except ValueError as error:
            span = f"rows {batch.numbers[0]} to {batch.numbers[-1]}"
            raise RunError(f"{self.source.name}, {span}: {error}") from None
        except OSError as error:
            raise self._unwritable("the output", error) from None
        self._last, self._count = batch, batch.count
        for watcher in self.watchers:
            watcher.learnt(self.model, batch)

    def _learn(self, rows: Floats) -> Floats | None:
        """Learn; returns the scores from before, if there is an output to write them to."""
        model, scored = self.model, self.sink is not None
        if model.__sklearn_is_fitted__() and rows.dtype == model.components_.dtype:
            return model.learn_checked(rows, scored=scored)  # the source has checked everything
        if scored:
            return model.learn_many(rows)
        model.partial_fit(rows)
        return None

    def _refuse_other_width(self) -> None:
        model, source = self.model, self.source
        if model.__sklearn_is_fitted__() and model.n_features_in_ != source.width:
            raise SourceError(
                f"{source.name} has {source.width} columns where the model has {model.n_features_in_}"
            )

    def _open_output(self, width: int, dtype: Any) -> Sink:
        if self._output is None:
            assert self.sink is not None
            self._output = self.sink(width, dtype)
        return self._output

    def _is_due(self) -> bool:
        rows, moment = self._saved
        return self._count - rows >= self.every_rows or time.monotonic() - moment >= self.every_seconds

    def _save(self, *, final: bool) -> None:
        """Settle the output, then write model and places down together."""
        self._saved = (self._count, time.monotonic())
        try:
            place = self._output.settle(final=final) if self._output else None
            here = self._last.position if self._last else self.position
            keeping = self.file is not None and here is not None
            if self.file is not None and keeping:
                told = {"source": here, "output": place, "recipe": self.recipe, "names": self.source.names}
                self.file.save(self.model, told)
            if self._output is not None:
                self._output.committed()
        except OSError as error:
            raise self._unwritable("the model or the output", error) from None
        if keeping:
            for watcher in self.watchers:
                watcher.saved(self.model.n_samples_seen_)

    def _unwritable(self, what: str, error: OSError) -> RunError:
        kept = ""
        if self.file is not None and self.file.path.exists():
            kept = f"; the last checkpoint in {self.file.path} is intact: make room and resume"
        return RunError(f"{what} cannot be written: {error.strerror or error}{kept}")

    def skipped(self, reason: str) -> None:
        """A row was left out: for the source to call."""
        for watcher in self.watchers:
            watcher.skipped(reason)

    def _rank_changed(self, change: RankChange) -> None:
        for watcher in self.watchers:
            watcher.rank_changed(change)

    @contextmanager
    def _closing(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.model.on_rank_change = None
            self.source.close()
            if self._output is not None:
                self._output.close()
