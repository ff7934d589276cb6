"""Sources that a model has learnt: each is learnt once.

The model remembers the sources that it has learnt completely, and how to recognise them. Where some of
several files were learnt before, the others are read; where all were, that is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..io import files
from ..io.sources import Hint, Source, SourceError
from ..io.sources.several import Identity, learnt_files, learnt_place
from .model_file import RunError
from .record import MOST_SOURCES, Record, record_of


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
    """The record of merged models, if each has one, and notes on sources that count twice.

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
        if sorted(record.names or []) == sorted(known[0].names or []) and record.names != known[0].names:
            raise RunError(
                f"{models[0]} and {path} have learnt from the same columns in another order: learn the "
                "second anew, with --columns in the order of the first, or go on from the first, which finds "
                f"columns by name: eigenstream run SOURCE --model {models[0]}"
            )
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
    """Those of several files that were not learnt before; None if that is all of them, or none.

    Raises
    ------
    SourceError
        If one of those learnt before has grown since: rows of it would be passed over in silence.
    """
    known = learnt_files(source.reader, learnt)
    for path, one in known.items() if len(source.reader.files) > 1 else ():
        if path.stat().st_size > one["bytes"]:
            raise SourceError(
                f"{files.shown(path)} was learnt before and has grown since: what was added can be learnt "
                "only from the source that was learnt last; leave this file out, or begin a new model"
            )
    left = [path for path in source.reader.files if path not in known]
    return [str(path) for path in left] if known and left and len(source.reader.files) > 1 else None


def is_learnt(source: Source, learnt: list[Identity], rows: tuple[int, int | None]) -> bool:
    """True if every file of the source was learnt before, to its end, and is as it was then."""
    known = learnt_files(source.reader, learnt)
    for path in source.reader.files:
        one = known.get(path)
        if one is None or path.stat().st_size != one["bytes"]:
            return False
        begin, end = one.get("rows") or (0, None)
        if begin > rows[0] or (end is not None and (rows[1] is None or rows[1] > end)):
            # Of one file it is known to which row it was learnt. Are there more?
            source.pass_over(end or 0)
            if begin > rows[0] or source.reader.take(1) is not None:
                return False
    return bool(known)


def refuse_learnt(
    source: Source, learnt: list[Identity], rows: tuple[int, int | None], resumed: bool
) -> bool:
    """Raise if the source, or a part of it that is asked for, was learnt before.

    Returns True, instead of raising, if the job is ``resumed`` and there is nothing new in the source.
    """
    known = list(learnt_files(source.reader, learnt).items())
    place = learnt_place(source.reader, learnt)
    found = known or ([(Path(source.name), place)] if place else [])
    for path, one in found:
        if _overlaps(rows, one.get("rows")):
            called = "" if one["name"] == str(path) else f" as {files.shown(one['name'])}"
            again = Hint("relearn", None, "learns it once more")
            if resumed and is_learnt(source, learnt, rows):
                return True
            if resumed:
                raise SourceError(
                    f"{source.name} was learnt before{called}, and others after it: what was added since "
                    "can be learnt only from the source that was learnt last",
                    again,
                )
            raise SourceError(
                f"{source.name} was learnt before{called}: it would be counted twice",
                Hint("resume", None, "reads only what has been added since"),
                again,
            )
    return False


def forgotten(source: Source, learnt: list[Identity]) -> list[Identity]:
    """Sources in ``learnt`` that remain when this one is learnt once more."""
    known = list(learnt_files(source.reader, learnt).values())
    place = learnt_place(source.reader, learnt)
    return [one for one in learnt if one not in known and one != place]


def _overlaps(asked: tuple[int, int | None], learnt: list[int] | None) -> bool:
    if learnt is None:
        return True
    return asked[0] < learnt[1] and (asked[1] is None or asked[1] > learnt[0])
