"""One model or monitor per key: what `run --key` and `watch --key` show; what `inspect` says of a bank."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TextIO

import click

from ..jobs import Watcher
from .display import SELDOM, Pace
from .summary import rows_read, say
from .tables import table

if TYPE_CHECKING:
    from rich.console import Console

    from ..io.sources import Batch
    from ..jobs import Job, Outcome

BATCH_ROWS = 16_384
"""Rows at a time, unless asked otherwise: a call costs as much per key as a few rows."""
CHECKPOINT_ROWS = 10_000_000
"""Rows between saves, unless asked otherwise: a save costs as much per key as hundreds of rows."""
SHOWN = 20
"""Keys that are listed."""
EXCLUDED = ("model", "picture", "live", "metrics", "residuals", "frozen")
"""Options that are for one model."""


def refuse_other_options(given: dict[str, Any]) -> None:
    """An error where an option has no meaning for many models."""
    for name in EXCLUDED:
        if given.get(name) is not None and given[name] is not False:  # a port may be 0
            raise click.UsageError(f"--{name} is for one model: it cannot be used with --key")
    if given["source"] is None and not given["resume"]:
        raise click.UsageError("--key needs a SOURCE with a column of keys")


def keyed_settings(given: dict[str, Any], stated: set[str]) -> dict[str, Any]:
    """The options, with what suits many models where nothing else was asked for."""
    suited = {"batch_rows": BATCH_ROWS, "checkpoint_rows": CHECKPOINT_ROWS}
    return given | {name: value for name, value in suited.items() if name not in stated}


def carry_out(job: Job, given: dict[str, Any], words: TextIO, *watchers: Watcher) -> Outcome:
    """Run the job, with a line now and then for others than these; says at the end what came of it."""
    from rich.console import Console

    bank = job.model
    bank.max_models = given["max_models"]
    with ExitStack() as stack:
        stack.callback(bank.close)
        job.source.on_skip = job.skipped
        if given["as_json"]:
            watchers = (*watchers, KeyedEvents(job, words))
        elif not given["quiet"]:
            watchers = (*watchers, KeyedLines(job, Console(stderr=True)))
        job.watchers = watchers
        outcome = job.run()
        _report(job, outcome, given, words)
    return outcome


class KeyedLines(Watcher):
    """A line every few seconds."""

    def __init__(self, job: Job, console: Console) -> None:
        self.job, self.console, self.pace = job, console, Pace(job.source.count)
        self._said_at = time.monotonic()

    def learnt(self, model: Any, batch: Batch) -> None:
        if time.monotonic() - self._said_at < SELDOM:
            return
        self._said_at = time.monotonic()
        rate = self.pace.rate(batch.count)
        say(self.console, f"{batch.count:,} rows of {len(model):,} keys, {rate:,.0f} rows/s")


class KeyedEvents(Watcher):
    """One JSON object a line: progress about once a second, changes of rank with their keys."""

    def __init__(self, job: Job, file: TextIO) -> None:
        self.pace, self._said_at, self._file = Pace(job.source.count), time.monotonic(), file
        job.model.on_rank_change = self._changed

    def learnt(self, model: Any, batch: Batch) -> None:
        if time.monotonic() - self._said_at >= 1:
            self._said_at = time.monotonic()
            rate = self.pace.rate(batch.count)
            self._say("progress", rows=batch.count, keys=len(model), rows_per_second=rate)

    def saved(self, samples: int) -> None:
        self._say("saved", samples=samples)

    def skipped(self, reason: str) -> None:
        self._say("skipped", reason=reason)

    def _changed(self, key: Any, change: Any) -> None:
        self._say("rank", key=key, **change._asdict())

    def _say(self, event: str, **facts: object) -> None:
        print(json.dumps({"event": event, **facts}), flush=True, file=self._file)


def _report(job: Job, outcome: Outcome, given: dict[str, Any], words: TextIO) -> None:
    from rich.console import Console

    bank: Any = job.model
    facts = {"rows": outcome.rows, "keys": len(bank), "samples": bank.samples}
    facts |= {"seconds": outcome.seconds, "signal": outcome.signal}
    if job.request.watches:
        facts["alarms"] = bank.alarms
    if given["as_json"]:
        print(json.dumps({"event": "end", **facts}), file=words, flush=True)
    elif not given["quiet"]:
        console = Console(file=words)
        say(console, rows_read(job, outcome, f"{len(bank):,} keys"))
        if job.request.watches:
            say(console, f"alarms: {bank.alarms:,}" if bank.alarms else "no alarm", "bold")
        output = "verdicts" if job.request.watches else "scores"
        for what, where in {output: job.request.output, "bank": job.file and job.file.path}.items():
            if where:
                say(console, f"{what}: {where}")
        if outcome.signal is not None:
            again = " Continue with --resume." if job.file else ""
            say(console, f"stopped before the end.{again}", "yellow")


def inspect_bank(path: str, as_json: bool) -> None:
    """What is in a bank: keys, rows and ranks, the last used first."""
    from rich.console import Console
    from rich.text import Text

    from ..io.files import shown
    from ..keyed import Store

    store = Store(path)
    try:
        entries = list(store.entries())
        samples, width = store.fact("samples"), store.fact("width")
        parameters, position = store.fact("parameters"), store.fact("position")
        what = "monitors" if store.fact("monitors") else "models"
    finally:
        store.close()
    if as_json:
        made_by = dict(position["recipe"]) if isinstance(position, dict) and "recipe" in position else None
        if made_by is not None:
            made_by |= made_by.pop("reading", {})
        facts = {"samples": samples, "features": width, "parameters": parameters, "made_by": made_by}
        print(json.dumps({**facts, "keys": [entry._asdict() for entry in entries]}))
        return
    console = Console()
    say(console, f"{path}: a bank of {len(entries):,} {what}, {samples:,} samples of {width} numbers")
    listed = table("key", "samples", "rank")
    for entry in entries[:SHOWN]:
        listed.add_row(Text(shown(str(entry.key))), f"{entry.samples:,}", str(entry.rank))
    if len(entries) > SHOWN:
        listed.caption = f"the {SHOWN} used last of {len(entries):,}; --json lists all, --key KEY shows one"
    console.print(listed)


def model_of(path: str, key: str) -> Any:
    """One model of a bank."""
    from ..jobs.monitors import opened

    bank = opened(path)
    try:
        return bank.model(key)
    except KeyError:
        raise click.ClickException(f"{path} has no model with the key {key!r}") from None
    finally:
        bank.close()
