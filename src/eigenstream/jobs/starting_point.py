"""The starting point of a job: a checkpoint of its own, the model of an earlier job, or nothing."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..io import files, sources
from ..io.sources import Hint, ReadOptions, Source, SourceError
from ..io.sources.identity import Identity, learnt_files, learnt_place
from ..keyed import Bank, MonitorBank, is_bank, open_bank
from ..monitoring import MonitoredModel, load
from .continuation import Beginning, files_left, forgotten, named, refuse_learnt, unique
from .model_file import Contradiction, ModelFile, RunError
from .outlet import AFRESH
from .record import Record, Request
from .times import Times

PathLike = str | os.PathLike[str]

GO_ON = "goes on from it with another source"


@dataclass(frozen=True)
class StartingPoint:
    """The model, if any, that a job continues, and what earlier jobs have left with it."""

    model: Any = None
    """A `StreamModel`; of a checkpoint also a `Bank` or a `MonitorBank`."""
    file: ModelFile | None = None
    record: Record | None = None
    """Of the job's own checkpoint."""
    beginning: Beginning | None = None
    """The model of an earlier job; never beside a record."""
    in_place: bool = False
    """True if it goes on from the file that it will replace."""

    @property
    def _before(self) -> Record | None:
        """The record of the last job of the model."""
        return self.record or (self.beginning.record if self.beginning else None)

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
        return Times([list(pair) for pair in self._before.times] if self._before else [])

    @property
    def numbering(self) -> list[list[int]]:
        return self._before.numbering if self._before else []

    def request(self, asked: Request, stated: set[str], relearn: bool) -> Request:
        """The request of the job: what is asked, with the settings of what it continues from."""
        self._refuse_other_kind(asked)
        if self.record is not None and self.file is not None:
            return _continued(asked, self.record, stated, self.file)
        if self.beginning is None:
            return asked
        self.beginning.refuse_midway(relearn)
        return self.beginning.request(asked, stated)

    def _refuse_other_kind(self, asked: Request) -> None:
        """Raise if file and command differ in kind: one watches, the other does not."""
        if self.model is None:
            return
        path = self.beginning.path if self.beginning else self.file and self.file.path
        watched = isinstance(self.model, MonitoredModel | MonitorBank)
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
        """Open the source at its position, without files that were learnt before, if others are left."""
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

    def learnt_before(self, source: Source, request: Request, relearn: bool) -> list[Identity]:
        """Sources learnt before this one, which must not be among them."""
        if self.record is not None or not self.learnt:
            return self.learnt
        learnt = forgotten(source, self.learnt) if relearn else self.learnt
        refuse_learnt(source, learnt, request.reading.rows)
        return learnt

    def _explained(self, error: SourceError, request: Request) -> SourceError:
        """The error, which says what was read before where that has another name."""
        if self.record is None or self.record.request.source == request.source:
            return error
        before = f"{error.what}; the model had been learning from {named(self.record.request.source)}"
        return SourceError(before, *error.hints)


def starting_point(
    file: ModelFile | None,
    resume: bool,
    start: PathLike | None,
    request: Request,
    opening: dict[str, Any],
    beside: Mapping[str, PathLike | None],
) -> StartingPoint:
    """Find the checkpoint or the model that a job continues; refuses files that two things would share."""
    record, model = _checkpoint(file if resume else None, request)
    same, beginning = file is not None and _is_at(start, file), None
    # The file may hold the model to go on from: its last source has ended, and another is given now. (A pipe
    # leaves nothing to be recognised by: with resume, it is taken for the same.)
    if record is not None and record.ended and start is not None and same:
        earlier = Beginning(model, record, start)
        if not _has_learnt(request, earlier, record.ended, opening):
            beginning, record = earlier, None
    before = request if record is None else record.request
    files.refuse_shared(
        {
            "source": request.source or before.source,
            "model": None if file is None else file.path,
            "model to go on from": None if same else start,
            "output": request.output or before.output,
            **beside,
        }
    )
    if start is None or record is not None:
        return StartingPoint(model, file, record)
    beginning = beginning or Beginning.load(start)
    if request.source is None:
        raise RunError(f"{start} can go on with any source: name one")
    return StartingPoint(beginning.model, file, None, beginning, same)


def _is_at(path: PathLike | None, file: ModelFile) -> bool:
    return path is not None and os.path.realpath(path) == os.fspath(file.target)


def _reading(request: Request, names: list[str] | None, opening: dict[str, Any]) -> ReadOptions:
    allow_nan = request.parameters.get("missing", "raise") != "raise"
    return replace(request.reading, **opening, allow_nan=allow_nan, names=names)


def _has_learnt(
    request: Request, beginning: Beginning, ended: list[Identity], opening: dict[str, Any]
) -> bool:
    """True if the job that ended last has learnt this very source: then there is nothing to go on with."""
    if request.source is None or request.source == "-":
        return request.source is None
    reading = _reading(beginning.request(request, ()), beginning.names, opening)
    with sources.open(request.source, reading) as source:
        return bool(learnt_files(source.reader, ended)) or learnt_place(source.reader, ended) is not None


def _checkpoint(file: ModelFile | None, request: Request) -> tuple[Record | None, Any]:
    """The record of the last checkpoint and its model or bank, if there is one to continue."""
    if file is None or not file.has_checkpoint():
        return None, None
    keyed = is_bank(file.target)
    if keyed and request.key is None:
        raise RunError(f"{file.path} is a bank of models", Hint("key", None, "names its column of keys"))
    if request.key is not None and not keyed:
        raise RunError(f"{file.path} is one model, not a bank of them: resume without key", AFRESH)
    model = open_bank(file.target) if keyed else load(file.target)
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
    """The request of the job that is resumed, if the present request agrees with it."""
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
    """True if these rows begin as before and end no earlier than what has been read."""
    assert record.source is not None
    start, stop = record.request.reading.rows
    return rows[0] == start and (rows[1] is None or rows[1] >= min(record.source["row"], stop or rows[1]))
