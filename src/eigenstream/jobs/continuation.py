"""A saved model that goes on with another source: settings and columns are the model's own.

Each source is learnt once: the model remembers the sources that it has learnt completely, and how to
recognise them. Where some of several files were learnt before, the others are read; where all were, that is
an error.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..io import files
from ..io.sources import Hint, Source, SourceError
from ..io.sources.identity import Identity, learnt_files, learnt_place
from ..io.sources.options import STORED
from ..keyed import is_bank
from ..model import StreamModel
from ..monitoring import MonitoredModel, load
from .judging import parameters_of, settings_of
from .model_file import Contradiction, RunError
from .record import MOST_SOURCES, STANDSTILL, Record, Request, Scalar, record_of

PathLike = str | os.PathLike[str]

NEW_EACH_TIME = ("rows",)
"""Settings of one job that the next does not inherit."""


class Beginning(NamedTuple):
    """A model to go on from, and the record of its last job."""

    model: StreamModel
    record: Record | None
    path: PathLike

    @classmethod
    def load(cls, path: PathLike) -> Beginning:
        if is_bank(path):
            raise RunError(
                f"{path} is a bank of models, one per key: only its own job can go on, with the same key",
                Hint("resume", None, "with save continues it"),
            )
        model = load(path)
        return cls(model, record_of(model.position_), path)

    @property
    def names(self) -> list[str] | None:
        """Names of the model's inputs, if each has its own."""
        return unique((self.record.names if self.record else None) or self.model.features)

    @property
    def learnt(self) -> list[Identity]:
        return self.record.sources if self.record else []

    @property
    def is_midway(self) -> bool:
        """True if its last job has not reached the end of its source, which can still be read."""
        record = self.record
        return record is not None and record.source is not None and record.ended is None and not self._piped

    @property
    def _piped(self) -> bool:
        return self.record is not None and self.record.request.source == "-"

    def refuse_midway(self, relearn: bool) -> None:
        """Raise if rows of the last source would be passed over in silence."""
        record = self.record
        if relearn or not self.is_midway or record is None or record.source is None:
            return
        raise RunError(
            f"{self.path} stands in the middle of {named(record.request.source)}, after row "
            f"{record.source['row']:,}: learn the rest of it first",
            Hint("resume", None, "with that source continues it"),
            Hint("relearn", None, "goes on without the rest"),
        )

    def request(self, asked: Request, stated: Collection[str]) -> Request:
        """The request of the next job: settings of the model, and of its reading unless others are given."""
        before = self.record.request if self.record else Request(None, parameters=self._parameters())
        for name in sorted(set(stated) - {*STORED, *STANDSTILL}):
            if name in before.parameters and asked.parameters.get(name) != before.parameters[name]:
                was, now = before.parameters[name], asked.parameters.get(name)
                raise Contradiction(
                    self.path,
                    name,
                    was,
                    now,
                    "a model goes on with its own settings; leave this out, or begin a new model",
                )
        own = {name for name in STORED if name in stated} | set(NEW_EACH_TIME)
        reading = replace(before.reading, **{name: getattr(asked.reading, name) for name in own})
        residuals = asked.residuals or (self.record is not None and before.residuals)
        parameters = dict(before.parameters)
        if asked.watches:
            new = {name: value for name, value in asked.parameters.items() if name in STANDSTILL}
            parameters = parameters_of(settings_of(asked.parameters)) | parameters | new
        return replace(asked, reading=reading, residuals=residuals, parameters=parameters)

    def _parameters(self) -> dict[str, Scalar]:
        model = self.model
        settings = parameters_of(model.settings) if isinstance(model, MonitoredModel) else {}
        return settings | {
            name: value if isinstance(value, Scalar) else str(value)
            for name, value in model.parameters.items()
        }


def unique(names: list[str] | None) -> list[str] | None:
    """The names, if there are some and each occurs once."""
    return list(names) if names and len(set(names)) == len(names) else None


def named(source: Any) -> str:
    """The name of a source in a message."""
    if source is None:
        return "the built-in stream"
    if isinstance(source, list):
        return f"{len(source)} files from {files.shown(source[0])} to {files.shown(source[-1])}"
    return "standard input" if source == "-" else files.shown(source)


def merged_record(positions: Sequence[Any], models: Sequence[str]) -> tuple[Record | None, list[str]]:
    """How the files of merged models were read and which those were, if all say so; and what is odd about it.

    Raises
    ------
    RunError
        If the models have learnt from other columns.
    """
    records = [record_of(position) for position in positions]
    known = [record for record in records if record is not None]
    if len(known) < len(records):
        return None, []
    learnt, notes = list[Identity](), list[str]()
    for record, path in zip(known, models, strict=True):
        if record.names != known[0].names:
            first, other = (", ".join(names or ["unnamed"]) for names in (known[0].names, record.names))
            raise RunError(f"{models[0]} and {path} have learnt from other columns: {first}; {other}")
        names = [one["name"] for one in record.sources if any(_is_same(one, before) for before in learnt)]
        notes += [f"{name} was learnt by {path} and by another: its rows count twice" for name in names]
        learnt += record.sources
    before = known[0].request
    reading = replace(before.reading, rows=(0, None))
    request = replace(before, source=None, output=None, reading=reading, residuals=False)
    return Record(request, None, None, known[0].names, learnt[-MOST_SOURCES:]), notes


def _is_same(one: Identity, other: Identity) -> bool:
    same = [name for name in ("bytes", "sha256", "place") if name in one or name in other]
    if any(one.get(name) != other.get(name) for name in same):
        return False
    rows = other.get("rows")
    return one.get("rows") is None or rows is None or _overlaps((rows[0], rows[1]), one["rows"])


def files_left(source: Source, learnt: list[Identity]) -> list[str] | None:
    """Of several files, those that were not learnt before; None if that is all of them, or none."""
    known = learnt_files(source.reader, learnt)
    left = [path for path in source.reader.files if path not in known]
    return [str(path) for path in left] if known and left and len(source.reader.files) > 1 else None


def refuse_learnt(source: Source, learnt: list[Identity], rows: tuple[int, int | None]) -> None:
    """Raise if the source, or a part of it that is asked for, was learnt before."""
    known = list(learnt_files(source.reader, learnt).items())
    place = learnt_place(source.reader, learnt)
    found = known or ([(Path(source.name), place)] if place else [])
    for path, one in found:
        if _overlaps(rows, one.get("rows")):
            called = "" if one["name"] == str(path) else f" as {files.shown(one['name'])}"
            raise SourceError(
                f"{source.name} was learnt before{called}: it would be counted twice",
                Hint("resume", None, "reads only what has been added since"),
                Hint("relearn", None, "learns it once more"),
            )


def forgotten(source: Source, learnt: list[Identity]) -> list[Identity]:
    """Sources in ``learnt`` that remain when this one is learnt once more."""
    known = list(learnt_files(source.reader, learnt).values())
    place = learnt_place(source.reader, learnt)
    return [one for one in learnt if one not in known and one != place]


def _overlaps(asked: tuple[int, int | None], learnt: list[int] | None) -> bool:
    if learnt is None:
        return True
    return asked[0] < learnt[1] and (asked[1] is None or asked[1] > learnt[0])
