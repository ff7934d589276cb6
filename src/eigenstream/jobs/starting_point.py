"""The starting point of a job: a checkpoint of its own, the model of an earlier job, or nothing."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..io import files, sources
from ..io.files import PathLike
from ..io.sources import Hint, ReadOptions, Source, SourceError
from ..io.sources.options import STORED, called_by_number
from ..io.sources.several import Identity, learnt_files, learnt_place
from ..keyed import Bank, MonitorBank, is_bank, open_bank
from ..model import StreamModel
from ..monitoring import MonitoredModel, load
from .handling import Handling
from .judging import parameters_of, settings_of
from .learnt import files_left, forgotten, named, refuse_learnt, unique
from .model_file import AFRESH, Contradiction, ModelFile, RunError
from .record import STANDSTILL, Record, Request, Scalar, plain, record_of
from .times import Times

GO_ON = "goes on from it with another source"
KEY_OF_BANK = Hint("key", None, "names its column of keys")
NEW_EACH_TIME = {"rows"}
"""Settings of one job that the next does not inherit."""


@dataclass(frozen=True)
class StartingPoint:
    """The model that a job continues, if any, and the record of the model's last job."""

    model: Any = None
    """A `StreamModel`, a `Bank` or a `MonitorBank`."""
    record: Record | None = None
    path: PathLike = ""
    """The file of the model, as messages call it."""
    resumed: bool = False
    """True if the last job goes on in its own source, False if the model goes on with another."""
    in_place: bool = False
    """True if the model goes on with another source in the file that it is in."""
    again: bool = False
    """True if the last job would have been resumed, had it not ended and been asked for another source."""

    @classmethod
    def load(cls, path: PathLike, *, in_place: bool = False) -> StartingPoint:
        """The model or bank in a file, to go on with another source: settings and columns are its own."""
        model = open_bank(path) if is_bank(path) else load(path)
        return replace(cls.of(model, path), in_place=in_place)

    @classmethod
    def of(cls, model: StreamModel | Bank | MonitorBank, path: PathLike) -> StartingPoint:
        """A model that was loaded, with the record of its last job, if it has one."""
        return cls(model, record_of(model.position_), path)

    @property
    def position(self) -> dict[str, Any] | None:
        return self.record.source if self.resumed and self.record else None

    @property
    def names(self) -> list[str] | None:
        """Names of the model's inputs, if each has its own."""
        names = self.record.names if self.record else None
        own = getattr(self.model, "features", None)
        return unique(names if self.model is None or self.resumed else names or own)

    @property
    def learnt(self) -> list[Identity]:
        """Sources that the model has learnt completely."""
        if self.record is None:
            return []
        return self.record.learnt if self.resumed else self.record.sources

    @property
    def times(self) -> Times:
        return Times([list(pair) for pair in self.record.times] if self.record else [])

    @property
    def numbering(self) -> list[list[int]]:
        return self.record.numbering if self.record else []

    @property
    def fleet(self) -> Any:
        """Counts of a bank when its source began, if it is in the middle of one."""
        return self.record.fleet if self.resumed and self.record else None

    @property
    def handling(self) -> Handling:
        """Acknowledged alarms and shelved inputs; shelves that count rows end with their source."""
        held = self.record.handled if self.record else None
        if held is not None and not self.resumed:
            held = {**held, "shelves": [shelf for shelf in held["shelves"] if shelf[1] is None]}
        return Handling(held)

    @property
    def is_bank(self) -> bool:
        """True if there is one model per key."""
        return isinstance(self.model, Bank | MonitorBank)

    def request(self, asked: Request, stated: set[str], relearn: bool, file: ModelFile | None) -> Request:
        """The request of the job: what is asked, with the settings of what it continues from."""
        if self.model is None:
            return asked
        self._refuse_other_kind(asked)
        if self.resumed and self.record and file:
            return _resumed(asked, self.record, stated, file)
        self._refuse_midway(relearn)
        return self.inherited(asked, stated)

    def inherited(self, asked: Request, stated: Collection[str]) -> Request:
        """The request for another source: settings of the model, and of its reading unless given anew."""
        before = self.record.request if self.record else Request(None, parameters=self._parameters())
        for name in sorted(set(stated) - {*STORED, *STANDSTILL}):
            if name in before.parameters and asked.parameters.get(name) != before.parameters[name]:
                was, now = before.parameters[name], asked.parameters.get(name)
                then = "a model goes on with its own settings; leave this out, or begin a new model"
                raise Contradiction(self.path, name, was, now, then)
        own = NEW_EACH_TIME | {name for name in STORED if name in stated}
        given = {name: getattr(asked.reading, name) for name in own}
        reading = asked.reading if self.record is None else replace(before.reading, **given)
        if self.is_bank and reading.key is None:
            raise RunError(f"{self.path} is a bank of models", KEY_OF_BANK)
        residuals = asked.residuals or (self.record is not None and before.residuals)
        parameters = dict(before.parameters)
        if asked.watches:
            new = {name: value for name, value in asked.parameters.items() if name in STANDSTILL}
            parameters = parameters_of(settings_of(asked.parameters)) | parameters | new
        return replace(asked, reading=reading, residuals=residuals, parameters=parameters)

    def _parameters(self) -> dict[str, Scalar]:
        model = self.model
        watches = isinstance(model, MonitoredModel | MonitorBank)
        settings = parameters_of(model.settings) if watches else {}
        return settings | plain(model.parameters)

    def _refuse_other_kind(self, asked: Request) -> None:
        """Raise if file and command differ in kind: one watches, the other does not."""
        if asked.key is not None and not self.is_bank:
            raise RunError(
                f"{self.path} is one model, not a bank of them: leave the key out, or begin a bank anew",
                *([AFRESH] if self.resumed else []),
            )
        watched = isinstance(self.model, MonitoredModel | MonitorBank)
        if watched and not asked.watches:
            raise RunError(f"{self.path} watches its stream: go on with eigenstream watch")
        if isinstance(self.model, Bank) and asked.watches:
            raise RunError(
                f"{self.path} was made by eigenstream run and does not watch its streams: watch them from "
                "their beginning, into another file"
            )
        if self.resumed and asked.watches and not watched:
            raise RunError(
                f"{self.path} was made by eigenstream run and does not watch its stream: to watch by what it "
                "has learnt, save the monitor elsewhere",
                Hint("model", str(self.path), "goes on from it"),
            )

    def _refuse_midway(self, relearn: bool) -> None:
        """Raise if rows of the last source, which can still be read, would be passed over in silence."""
        record = self.record
        if relearn or record is None or record.source is None or record.ended is not None:
            return
        if record.request.source != "-":
            raise RunError(
                f"{self.path} stands in the middle of {named(record.request.source)}, after row "
                f"{record.source['row']:,}: learn the rest of it first",
                Hint("resume", None, "with that source continues it"),
                Hint("relearn", None, "goes on without the rest"),
            )

    def opened(self, request: Request, stated: set[str], opening: dict[str, Any]) -> Source:
        """Open the source at its position, without files that were learnt before, if others are left."""
        chosen = self.model is not None and not self.resumed and "columns" in stated
        reading = _reading(request, None if chosen else self.names, opening)
        try:
            if self.learnt and request.source != "-":
                with sources.open(request.source, reading) as source:
                    left = files_left(source, self.learnt)
                request = replace(request, source=left or request.source)
            source = sources.open(request.source, reading, position=self.position)
        except SourceError as error:
            raise self._explained(error, request) from None
        named = source.reader.names and self.names
        if named and named not in (source.names, called_by_number(source.reader.column_numbers)):
            source.close()
            raise SourceError(f"{source.name}: the columns chosen are not the model's: {', '.join(named)}")
        return source

    def learnt_before(self, source: Source, request: Request, relearn: bool) -> tuple[list[Identity], bool]:
        """Sources learnt before this one, which must not be among them; True if nothing in it is new."""
        if self.resumed or not self.learnt:
            return self.learnt, False
        learnt = forgotten(source, self.learnt) if relearn else self.learnt
        return learnt, refuse_learnt(source, learnt, request.reading.rows, self.again)

    def _explained(self, error: SourceError, request: Request) -> SourceError:
        """The error, which says what was read before where that has another name."""
        if not self.resumed or self.record is None:
            return error
        hints, what, before = error.hints, error.what, self.record.request.source
        if self.record.ended is not None:
            hints = (*hints, Hint("model", str(self.path), "goes on with what it has not learnt yet"))
        now = files.without_secret(request.source) if isinstance(request.source, str) else request.source
        if before != now:
            what = f"{what}; the model had been learning from {named(before)}"
        return SourceError(what, *hints)


def starting_point(
    file: ModelFile | None,
    resume: bool,
    start: PathLike | None,
    request: Request,
    opening: dict[str, Any],
    beside: Mapping[str, PathLike | None],
) -> StartingPoint:
    """Find the checkpoint or the model that a job continues; refuses files that two things would share."""
    point = _checkpoint(file) if file is not None and resume else StartingPoint()
    same = start is not None and file is not None and os.path.realpath(start) == str(file.target)
    # The file may hold the model to go on from: its last source has ended, and another is given now. (A pipe
    # leaves nothing to be recognised by: with resume, it is taken for the same.)
    if same and point.record is not None and point.record.ended:
        next_one = replace(point, resumed=False, in_place=True, again=True)
        if not _continues(request, next_one, point.record, opening):
            point = next_one
    before = point.record.request if point.resumed and point.record else request
    files.refuse_shared(
        {
            "source": request.source or before.source,
            "model": None if file is None else file.path,
            "model to go on from": None if same else start,
            "output": request.output or before.output,
            **beside,
        }
    )
    if start is not None and point.model is None:
        point = StartingPoint.load(start, in_place=same)
    if point.model is not None and not point.resumed and request.source is None:
        raise RunError(f"{start} can go on with any source: name one")
    return point


def _reading(request: Request, names: list[str] | None, opening: dict[str, Any]) -> ReadOptions:
    allow_nan = request.parameters.get("missing", "raise") != "raise"
    return replace(request.reading, **opening, allow_nan=allow_nan, names=names)


def _continues(request: Request, point: StartingPoint, last: Record, opening: dict[str, Any]) -> bool:
    """True if this is the source that was learnt last, which may have grown since."""
    if request.source is None or request.source == "-":
        return request.source is None
    reading = _reading(point.inherited(request, ()), point.names, opening)
    with sources.open(request.source, reading) as source:
        known = learnt_files(source.reader, last.ended or [])
        if not known or len(source.reader.files) == 1:
            return bool(known) or learnt_place(source.reader, last.ended or []) is not None
        left = files_left(source, last.learnt)
    try:  # new files may have come between those that were learnt: then only they are read
        sources.open(left or request.source, reading, position=last.source).close()
    except SourceError:
        return False
    return True


def _checkpoint(file: ModelFile) -> StartingPoint:
    """The last checkpoint, if there is one to continue."""
    if not file.has_checkpoint():
        return StartingPoint()
    model = open_bank(file.target) if is_bank(file.target) else load(file.target)
    try:
        record = Record.from_document(model.position_)
    except ValueError as error:
        raise RunError(f"{file.path} cannot be resumed: {error}") from None
    if record.source is None:
        raise RunError(
            f"{file.path} was merged from others and has no position in a source",
            Hint("model", str(file.path), GO_ON),
        )
    return StartingPoint(model, record, file.path, resumed=True)


def _resumed(request: Request, record: Record, stated: Collection[str], file: ModelFile) -> Request:
    """The request of the job that is resumed, if the present request agrees with it."""
    before, path = record.request, file.path
    if request.source is None and files.is_address(before.source):
        raise RunError(
            f"{path} was learning from {named(before.source)}: name that source again; a model file does not "
            "choose which server is asked"
        )
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
