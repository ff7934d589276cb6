"""A copy, as a CSV file, of a source that is no file: a table or query of a database, a Redis stream."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import IO

from . import sources
from .files import shown, without_secret
from .sources import ReadOptions, SourceError
from .sources.columns import TEXT

ENDLESS = ("mqtt://", "mqtts://")
"""Starts of addresses whose rows have no end."""


def spool(source: str, options: ReadOptions, file: IO[bytes]) -> ReadOptions:
    """Write all rows that a source has now into a CSV file; return how to read that.

    All columns are written, those that are not learnt, too, in their order; a column that only some rows have
    is empty in the others. Columns that say where a row stands are not learnt unless they are asked for.
    """
    name = shown(without_secret(source))
    if source.startswith(ENDLESS):
        raise SourceError(
            f"{name}: messages have no end, and the filled copy is written at the end: keep them in a file "
            "by eigenstream run 'mqtt://HOST/TOPIC?spool=FILE', and fill FILE with --time-column mqtt_time"
        )
    # Columns are chosen when the copy is read.
    with sources.open(source, ReadOptions(exclude=TEXT)) as opened, tempfile.TemporaryFile("w+") as rows:
        first: dict[str, str] = {}
        """First word of each column."""
        for record in opened.reader.records():
            for column, word in record.items():
                if not first.get(column):
                    first[column] = "" if word.strip().lower() in options.missing else word
            rows.write(json.dumps(record) + "\n")
        aside = list(opened.reader.aside)
        rows.seek(0)
        _write(file, list(first), map(json.loads, rows), name)
    if options.columns is None:
        options = _without(options, aside, [one for one, word in first.items() if not _fits(word, options)])
    decimal = options.decimal or "."
    return replace(options, delimiter=",", header=True, decimal=decimal, encoding=None, comment=None)


def _write(file: IO[bytes], names: list[str], rows: Iterable[Mapping[str, str]], source: str) -> None:
    """Write a CSV file with these columns."""
    written = io.TextIOWrapper(file, "utf-8", "surrogateescape", newline="", write_through=True)
    table = csv.writer(written, lineterminator="\n")
    table.writerow(names)
    for number, row in enumerate(rows):
        cells = [row.get(name, "") for name in names]
        for name, cell in zip(names, cells, strict=True):
            if "\n" in cell or "\r" in cell:
                raise SourceError(
                    f"{source}, row {number}, {name!r}: a text of several lines cannot be copied to CSV; "
                    "leave it out of the query"
                )
        table.writerow(cells)
    written.detach()


def _without(options: ReadOptions, aside: list[str], texts: list[str]) -> ReadOptions:
    """Options that leave out columns aside, and those of text where these are to be left out."""
    given = options.exclude or ()
    listed = given.split(",") if isinstance(given, str) else list(given)
    marked = {*options.time_parts(texts), options.key}
    more = [*aside, *(texts if TEXT in listed else ())]
    return replace(options, exclude=(*listed, *(one for one in more if one not in marked)) or None)


def _fits(word: str, options: ReadOptions) -> bool:
    """True for a number, and where there is no word."""
    try:
        return not word or options.number(word.strip()) is not None
    except ValueError:
        return False
