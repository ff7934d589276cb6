"""Where a job stands before its first row: at a checkpoint of its own, at an earlier model, or nowhere."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..io import files, sources
from ..io.sources import Hint, ReadOptions, Source, SourceError
from ..io.sources.identity import Identity, learnt_files, learnt_place
from ..keyed import Bank, is_bank
from ..model import StreamModel
from ..monitoring import MonitoredModel, load
from .continuation import Beginning, files_left, forgotten, named, refuse_learnt, unique
from .model_file import Contradiction, ModelFile, RunError
from .monitors import Monitors, opened
from .outlet import AFRESH
from .record import Record, Request
from .times import Times

PathLike = str | os.PathLike[str]

GO_ON = "goes on from it with another source"


@dataclass(frozen=True)
class Standing:
    """What a job continues from: its own checkpoint, the model of an earlier job, or nothing."""

    model: StreamModel | Bank | Monitors | None = None
    file: ModelFile | None = None
    record: Record | None = None
    """Of its own checkpoint."""
    beginning: Beginning | None = None
    in_place: bool = False
    """Whether it goes on from the file that it will replace."""

    @property
    def position(self) -> dict[str, Any] | None:
        return self.record.source if self.record else None

    @property
    def names(self) -> list[str] | None:
        """Names of the model's inputs, if each has its own."""
        if self.record is not None:
            return unique(self.record.names)
        return self.beginning.names if self.beginning else None

    @property
    def learnt(self) -> list[Identity]:
        if self.record is not None:
            return self.record.learnt
        return self.beginning.learnt if self.beginning else []

    @property
    def times(self) -> Times:
        before = self.record or (self.beginning.record if self.beginning else None)
        return Times([list(pair) for pair in before.times]) if before else Times()

    @property
    def numbering(self) -> list[list[int]]:
        before = self.record or (self.beginning.record if self.beginning else None)
        return before.numbering if before else []

    def request(self, asked: Request, stated: set[str], anyway: bool) -> Request:
        """What the job does: what is asked, with the settings of what it continues from."""
        self._refuse_other_kind(asked)
        if self.record is not None and self.file is not None:
            return _continued(asked, self.record, stated, self.file)
        if self.beginning is None:
            return asked
        self.beginning.refuse_midway(anyway)
        return self.beginning.request(asked, stated)

    def _refuse_other_kind(self, asked: Request) -> None:
        """Raise if a monitor is asked to go on as a model without one, or a checkpoint as the other kind."""
        if self.model is None:
            return
        path = (
            self.file.path
            if self.record is not None and self.file
            else self.beginning and self.beginning.path
        )
        watched = isinstance(self.model, MonitoredModel | Monitors)
        if watched and not asked.watches:
            raise RunError(f"{path} watches its stream: go on with eigenstream watch")
        if isinstance(self.model, Bank) and asked.watches:
            raise RunError(f"{path} was made by eigenstream run and does not watch its streams", AFRESH)
        if self.record is not None and asked.watches and not watched:
            raise RunError(
                f"{path} was made by eigenstream run and does not watch its stream: to watch by what it has "
                "learnt, save the monitor elsewhere",
                Hint("model", str(path), "goes on from it"),
            )

    def opened(self, request: Request, stated: set[str], opening: dict[str, Any]) -> Source:
        """The source at its position, without files that were learnt before, if others are left."""
        chosen = self.beginning is not None and self.record is None and "columns" in stated
        reading = _reading(request, None if chosen else self.names, opening)
        try:
            if self.learnt and request.source != "-":
                with sources.open(request.source, reading) as source:
                    left = files_left(source, self.learnt)
                request = replace(request, source=left or request.source)
            source = sources.open(request.source, reading, position=self.position)
        except SourceError as error:
            raise self._explained(error, request) from None
        if self.names and source.names and source.names != self.names:
            source.close()
            raise SourceError(
                f"{source.name}: the columns chosen are not the model's: {', '.join(self.names)}"
            )
        return source

    def learnt_before(self, source: Source, request: Request, anyway: bool) -> list[Identity]:
        """Sources learnt before this one, which must not be among them."""
        if self.record is not None or not self.learnt:
            return self.learnt
        learnt = forgotten(source, self.learnt) if anyway else self.learnt
        refuse_learnt(source, learnt, request.reading.rows)
        return learnt

    def _explained(self, error: SourceError, request: Request) -> SourceError:
        """The error, which says what was read before where that has another name."""
        if self.record is None or self.record.request.source == request.source:
            return error
        before = f"{error.what}; the model had been learning from {named(self.record.request.source)}"
        return SourceError(before, *error.hints)


def standing_of(
    file: ModelFile | None,
    resume: bool,
    start: PathLike | None,
    request: Request,
    opening: dict[str, Any],
) -> Standing:
    record, model = _checkpoint(file, request) if file is not None and resume else (None, None)
    if start is None:
        return Standing(model, file, record)
    beginning, same = Beginning.load(start), file is not None and Path(os.path.realpath(start)) == file.target
    if record is not None and not (same and record.ended and not _has_learnt(request, beginning, opening)):
        return Standing(model, file, record, beginning)
    # The file holds the model to go on from, and what is given now is another source than the one that has
    # ended. (A pipe leaves nothing to be recognised by: with resume, it is taken for the same.)
    if request.source is None:
        raise RunError(f"{start} can go on with any source: name one")
    return Standing(beginning.model, file, None, beginning, same)


def _reading(request: Request, names: list[str] | None, opening: dict[str, Any]) -> ReadOptions:
    allow_nan = request.parameters.get("missing", "raise") != "raise"
    return replace(request.reading, **opening, allow_nan=allow_nan, names=names)


def _has_learnt(request: Request, beginning: Beginning, opening: dict[str, Any]) -> bool:
    """Whether the job that ended last has learnt this very source: then there is nothing to go on with."""
    if request.source is None or request.source == "-" or beginning.record is None:
        return request.source is None
    ended = beginning.record.ended or []
    reading = _reading(beginning.request(request, ()), beginning.names, opening)
    with sources.open(request.source, reading) as source:
        return bool(learnt_files(source.reader, ended)) or learnt_place(source.reader, ended) is not None


def _checkpoint(
    file: ModelFile, request: Request
) -> tuple[Record | None, StreamModel | Bank | Monitors | None]:
    """What was written down last, and the model or the bank of them, if there is one to continue."""
    if not file.has_checkpoint():
        return None, None
    keyed = is_bank(file.target)
    if keyed and request.key is None:
        raise RunError(f"{file.path} is a bank of models", Hint("key", None, "names its column of keys"))
    if request.key is not None and not keyed:
        raise RunError(f"{file.path} is one model, not a bank of them: resume without key", AFRESH)
    model = opened(file.target) if keyed else load(file.target)
    try:
        record = Record.from_document(model.position_)
    except ValueError as error:
        raise RunError(f"{file.path} cannot be resumed: {error}") from None
    if record.source is None:
        raise RunError(
            f"{file.path} was merged from others and stands in no source",
            Hint("model", str(file.path), GO_ON),
        )
    return record, model


def _continued(request: Request, record: Record, stated: Collection[str], file: ModelFile) -> Request:
    """The request of the job that is resumed, if what is asked now agrees with it."""
    before, path = record.request, file.path
    if before.output is not None and request.output is None and not file.owns(before.output):
        raise RunError(
            f"{path} says that it was writing scores to {files.shown(before.output)}, but nothing on this "
            "computer proves it: name the output to continue it",
            AFRESH,
        )
    if before.output is None and request.output is not None:
        raise RunError(f"{path} was made without an output: resume without one", AFRESH)
    rows = before.reading.rows
    if "rows" in stated and _goes_further(request.reading.rows, record):
        rows, stated = request.reading.rows, set(stated) - {"rows"}
    name = request.difference(before, stated)
    if name is not None:
        own, other = before.value(name), request.value(name)
        raise Contradiction(path, name, own, other, "a job is resumed with its own settings", AFRESH)
    source, output = request.source or before.source, request.output or before.output
    return replace(before, source=source, output=output, reading=replace(before.reading, rows=rows))


def _goes_further(rows: tuple[int, int | None], record: Record) -> bool:
    """Whether these rows begin as before and end no earlier than what has been read."""
    assert record.source is not None
    start, stop = record.request.reading.rows
    return rows[0] == start and (rows[1] is None or rows[1] >= min(record.source["row"], stop or rows[1]))
