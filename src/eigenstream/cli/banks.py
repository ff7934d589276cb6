"""Banks of models or monitors, one per key: listed, exported, merged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from .summary import numbers, say, table

if TYPE_CHECKING:
    from ..jobs.starting_point import StartingPoint
    from ..keyed.store import Entry

SHOWN = 20
"""Keys that are listed: about as many as a terminal shows without scrolling."""


def inspect_bank(path: str, as_json: bool) -> None:
    """Print the keys, rows and ranks of a bank, the last used first."""
    from rich.console import Console
    from rich.text import Text

    from ..io.files import shown
    from ..jobs.record import record_of
    from ..keyed import Store
    from ..keyed.bank import may_be_read

    store = Store(path)
    store.close()  # what is shown of it has been read
    entries, samples, width = list(store.entries()), store.fact("samples"), store.fact("width")
    shown_entries = entries if as_json else entries[:SHOWN]
    by_all_rows = not as_json or may_be_read(len(entries), width or 0)
    if by_all_rows:
        shown_entries = _by_all_rows(path, shown_entries)
    if as_json:
        record = record_of(store.fact("position"))
        made_by = None if record is None else record.request.document()
        if made_by is not None:
            made_by |= made_by.pop("reading")
        facts = {"samples": samples, "features": width, "parameters": store.fact("parameters")}
        facts["ranks_by"] = "all rows" if by_all_rows else "last look"
        print(json.dumps({**facts, "made_by": made_by, "keys": [entry._asdict() for entry in shown_entries]}))
        return
    console, what = Console(), "models" if store.fact("monitors") is None else "monitors"
    say(console, f"{path}: a bank of {len(entries):,} {what}, {samples:,} samples of {numbers(width or 0)}")
    listed = table("key", "samples", "rank")
    for entry in shown_entries:
        listed.add_row(Text(shown(str(entry.key))), f"{entry.samples:,}", str(entry.rank))
    settings = [store.fact("alarms") and f"alarms: {store.fact('alarms'):,}"]
    if (record := record_of(store.fact("position"))) is not None:
        settings.append(f"column of keys: {record.request.key}")
        if learnt := [one["name"] for one in record.sources]:
            more = f", and {len(learnt) - SHOWN} before" if len(learnt) > SHOWN else ""
            settings.append(f"sources learnt completely: {', '.join(learnt[-SHOWN:])}{more}")
    for line in filter(None, settings):
        say(console, str(line))
    console.print(listed)
    if len(entries) > SHOWN:
        say(console, f"the {SHOWN} used last of {len(entries):,}; --json lists all, --key KEY shows one")


def _by_all_rows(path: str, entries: list[Entry]) -> list[Entry]:
    """Entries with the ranks by all rows: those in the file are as of the last look of each key."""
    from ..keyed import open_bank

    with open_bank(path) as bank:
        return [entry._replace(rank=bank.model(entry.key).n_components_) for entry in entries]


def model_of(path: str, key: str) -> Any:
    """One model of a bank."""
    from ..keyed import open_bank

    bank = open_bank(path)
    try:
        return bank.model(key)
    except KeyError:
        raise click.ClickException(f"{path} has no model with the key {key!r}") from None
    finally:
        bank.close()


def point_of(path: str, key: str | None) -> StartingPoint:
    """The model in a file, or the one with this key in a bank."""
    from ..jobs.starting_point import StartingPoint
    from ..keyed import is_bank

    if is_bank(path):
        if key is None:
            raise click.UsageError(f"{path} is a bank of models: name one with --key KEY")
        return StartingPoint.of(model_of(path, key), path)
    if key is not None:
        raise click.UsageError(f"--key is for banks of models, and {path} is one model")
    return StartingPoint.load(path)


def each_model(path: str) -> Iterator[tuple[Any, StartingPoint]]:
    """The models of a bank, by their keys in order."""
    from ..jobs.starting_point import StartingPoint
    from ..keyed import open_bank

    with open_bank(path) as bank:
        for key in sorted(bank, key=lambda one: (isinstance(one, str), one)):
            yield key, StartingPoint.of(bank.model(key), path)


def export_bank(path: str, output: str) -> None:
    """Write all models of a bank as JSON, one per line with its key."""
    from ..io.files import replace, shown
    from ..jobs.record import record_of
    from ..keyed import open_bank
    from ..model.portable import document

    with open_bank(path) as bank:
        record = record_of(bank.position_)
        names = record.names if record is not None else None
        keys = [entry.key for entry in bank.store.entries()]
        lines = [
            json.dumps({"key": key} | document(bank.model(key), names), ensure_ascii=False, allow_nan=False)
            for key in keys
        ]
    replace(output, "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
    click.echo(f"{shown(output)}: {len(keys):,} models, one per line")


def merge_into(banks: tuple[str, ...], save: str) -> None:
    """Merge banks into one."""
    from ..io.files import shown
    from ..jobs import ModelFile
    from ..jobs.learnt import merged_record
    from ..keyed import Store, merge_banks

    stores = [Store(path) for path in banks]
    for store in stores:
        store.close()  # what is asked of it has been read
    record, notes = merged_record([store.fact("position") for store in stores], banks)
    file = ModelFile(save)
    try:
        shared = merge_banks(banks, file.target, record and record.document())
        file.forget()  # what a note says of an earlier job is no longer true
    finally:
        file.close()
    merged = Store(save)
    merged.close()
    of = f"{len(merged.models):,} keys, of which {shared:,} were in several"
    click.echo(f"{shown(save)}: {merged.fact('samples'):,} samples of {of}")
    for note in notes:
        click.echo(f"note: {shown(note)}", err=True)
