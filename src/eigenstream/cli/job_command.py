"""The command behind run and watch: prepare a job, carry it out, let others look on, and sum it up."""

from __future__ import annotations

import gc
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click
from click.core import ParameterSource

from .hints import GAPS, in_flags, of_stand_in, say_when_compiling
from .options import KEYED_BATCH_ROWS, reading, require_enough, require_input, require_picture

if TYPE_CHECKING:
    from ..jobs import Job, Outcome, Watcher
    from ..jobs.notices import Notices
    from ..jobs.shelves import Shelf
    from ..jobs.shelving import Shelving
    from ..jobs.stand_ins import StandInWatcher
    from ..live import Page

ALARMED = 3
"""Exit status with --exit-code if an alarm was on; 1 and 2 are errors."""
BUILT_IN = {"half_life": 150.0, "batch_rows": 100}
"""Settings for the built-in stream, unless others are given: its components change every 1,000 rows."""
BUILT_IN_RATE = 2500.0
"""Rows per second of the built-in stream, slow enough to be watched."""
FOR_ONE_MODEL = ("residuals",)
"""Options that cannot be used with one model per key."""
NEEDS = (
    ("resume", "save", "needs --save MODEL: the model to continue"),
    ("relearn", "model", "needs --model MODEL: the model to go on from"),
    ("idle", "follow", "says when to stop following: it needs --follow"),
)
"""Options that need another."""


def stated_options(ctx: click.Context, given: dict[str, Any]) -> set[str]:
    """Names of the options that were given, not left at their defaults."""
    return {name for name in given if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}


def carry_out(ctx: click.Context, given: dict[str, Any], parameters: tuple[str, ...]) -> None:
    """Carry out the job that these options ask for; ``parameters`` are those of its model or monitor."""
    from .closing import counted_before, has_alarmed, report

    stated = stated_options(ctx, given)
    _check_options(given)
    if _is_keyed(given):
        given = _keyed_settings(given, stated)
    elif given["max_models"] is not None:
        raise click.UsageError("--max-models bounds the models of many keys: it needs --key")
    if given["picture"]:
        require_picture(given["picture"], given["overwrite"])
    require_input(given["source"])
    notices = _notices(given)
    say_when_compiling()
    with _prepared(given, stated, parameters) as job, _looked_on(given, job, notices) as (page, watchers):
        watches, before, skipped = job.request.watches, counted_before(job), _skipped(job)
        # Scores may go to standard output; of a job that watches, only alarms do.
        words = sys.stderr if watches or given["output"] == "-" else sys.stdout
        telling = [*_alarm_lines(given, job), *([] if notices is None else [notices])]
        shelving = _shelving(given, job, telling)
        numbers = _stand_ins(job)
        outcome, notes = _run(job, [shelving, *numbers, *watchers], _display(job, given, words))
        job.handling.close()
        notes = [note for one in numbers for note in _on_stand_in(one, job)] + notes
        notes += shelving.in_words()
        if notices is not None:
            notices.wait()
            notes += notices.in_words()
        report(job, outcome, notes, before, given, words, None if notices is None else notices.counts)
        if page is not None and outcome.signal is None:
            _linger(page, given["live_seconds"])
    if outcome.signal is not None:
        gc.freeze()  # or Python looks through all monitors for garbage: a second for ten thousand
        ctx.exit(128 + outcome.signal)
    if given.get("exit_code") and has_alarmed(job):
        ctx.exit(ALARMED)
    useless = outcome.learnt == 0 and (not watches or _skipped(job) - skipped == outcome.rows)
    require_enough(ctx, job.source, given["skip_at_most"], outcome.rows if useless else 0)


def _stand_ins(job: Job) -> list[StandInWatcher]:
    """Watcher for numbers that may mean a gap; none for the built-in stream, and for keys of many levels."""
    from ..jobs.stand_ins import StandInWatcher

    return [] if job.request.source is None or job.request.key is not None else [StandInWatcher()]


def _on_stand_in(numbers: StandInWatcher, job: Job) -> list[str]:
    """A note on a number that may mean a gap, and was learnt as a value."""
    often = numbers.found
    if often is None:
        return []
    effect = "reads it as missing"
    if job.request.parameters.get("missing", "raise") == "raise":
        effect += f"; {GAPS}"
    where = f" in the first {numbers.rows:,} rows" if numbers.ended else ""
    return [of_stand_in(often, _inputs(job)[often.column], effect, where)]


def _skipped(job: Job) -> int:
    """Rows that one model has skipped for their gaps."""
    from ..jobs.stage import has_learnt

    one = job.request.key is None and has_learnt(job.model)
    return int(job.model.tally_.skipped) if one else 0


def _is_keyed(given: dict[str, Any]) -> bool:
    """True if there is one model per key: a column of keys is named, or the file to go on from is a bank."""
    from ..keyed import is_bank

    files = (given["model"], given["save"] if given["resume"] else None)
    return given["key"] is not None or any(file and Path(file).exists() and is_bank(file) for file in files)


def _keyed_settings(given: dict[str, Any], stated: set[str]) -> dict[str, Any]:
    """The options of a job with one model per key; an error where one is for a single model."""
    for name in FOR_ONE_MODEL:
        if given.get(name) is not None and given[name] is not False:  # a port may be 0
            raise click.UsageError(f"--{name} is for one model: it cannot be used with one model per key")
    if given.get("frozen") and given["save"]:
        raise click.UsageError("--frozen learns nothing, so there is no bank to save: leave --save out")
    if given["source"] is None and not given["resume"]:
        raise click.UsageError("--key needs a SOURCE with a column of keys")
    return given if "batch_rows" in stated else given | {"batch_rows": KEYED_BATCH_ROWS}


def _check_options(given: dict[str, Any]) -> None:
    """Raise a usage error where options need others that are missing, or exclude each other."""
    if given["quiet"] and given["as_json"]:
        raise click.UsageError("--quiet and --json exclude each other")
    if given["alpha"] is not None and given["n_components"] != "auto":
        raise click.UsageError(
            f"--components {given['n_components']} says how many components to keep, and so does --alpha, "
            "the paper's coefficient: give one of them"
        )
    goes_on = given["model"] is not None or given["resume"]  # with a model that has its alpha
    if given.get("solver") == "paper" and given["alpha"] is None and not goes_on:
        raise click.UsageError(
            "--solver paper learns locally, with the alpha it is given: give --alpha (0.1 is a tenth of the "
            "input's variance; eigenstream calibrate SOURCE --components 3 finds one), or take --solver "
            "network, which finds alpha by itself"
        )
    for name, needed, why in NEEDS:
        if given[name] is not None and given[name] is not False and not given[needed]:
            raise click.UsageError(f"--{name.replace('_', '-')} {why}")
    if given["save"] and given["output"] == "-":
        raise click.UsageError("standard output cannot be cut back to a checkpoint: --save needs a file")


def _prepared(given: dict[str, Any], stated: set[str], parameters: tuple[str, ...]) -> Job:
    """The job that these options ask for."""
    from ..jobs import Request, prepare

    asked = dict(given)
    if given["source"] is None and given["model"] is None:
        asked |= {name: value for name, value in BUILT_IN.items() if name not in stated}
    request = Request(
        given["source"],
        given["output"],
        reading(asked),
        residuals=given.get("residuals", False),
        parameters={name: asked[name] for name in parameters},
    )
    job = prepare(
        request,
        save=given["save"],
        resume=given["resume"],
        overwrite=given["overwrite"],
        start=given["model"],
        # A monitor that learns nothing may judge what it has learnt.
        relearn=given["relearn"] or given.get("frozen", False),
        beside={"picture": given["picture"]},
        threads=given["threads"],
        stated=stated,
        follow=given["follow"],
        idle=given["idle"],
        every_rows=given["checkpoint_rows"],
        every_seconds=given["checkpoint_seconds"],
        rate=given["rate"],
    )
    if job.rate is None and job.request.source is None:
        job.rate = BUILT_IN_RATE
    if job.request.key is not None:
        job.model.max_models = given["max_models"]
    return job


def _notices(given: dict[str, Any]) -> Notices | None:
    """Whoever is to be told of alarms; None if nobody is."""
    if given.get("on_alarm") is None and given.get("webhook") is None:
        return None
    from ..jobs.notices import Command, Notices, Webhook

    kinds = {"on_alarm": Command, "webhook": Webhook}
    ways = [kind(given[name]) for name, kind in kinds.items() if given[name] is not None]
    return Notices(ways, lambda said: click.echo(f"note: {said}", err=True))


def _shelving(given: dict[str, Any], job: Job, telling: list[Any]) -> Shelving:
    """The filter that drops events of shelved inputs and keys before anybody is told."""
    from ..jobs.shelving import Shelving

    job.handling.shelve([_shelf(one, job) for one in given.get("shelve") or ()])
    return Shelving(telling, job.handling)


def _shelf(given: str, job: Job) -> Shelf:
    """The shelf that a text asks for; an error if there is no such input, or no clock for its time."""
    from ..jobs.shelves import of_fleet, shelf_of

    try:
        asked = shelf_of(given)
    except ValueError as error:
        raise click.UsageError(f"--shelve: {error}") from None
    names, keyed = _inputs(job), job.request.key is not None
    shelf = of_fleet(asked, names) if keyed else asked
    if shelf.key is None and shelf.name not in names:
        known = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        of_key = f"; an input of one key is KEY/{names[0]}, a whole key is KEY/" if keyed else ""
        raise click.UsageError(f"--shelve: there is no input {asked.name!r}; inputs are {known}{of_key}")
    if shelf.seconds is not None and job.source.clock is None:
        raise click.UsageError(
            f"--shelve {asked.name}: a time needs rows that say when they were taken: name their column "
            f"with --time-column, or give a number of rows, such as {asked.name}=500"
        )
    return shelf


def _inputs(job: Job) -> list[str]:
    """Names of the inputs, as alarms name them."""
    return job.names or job.source.names or [f"x{i}" for i in range(job.source.width)]


def _clock(job: Job) -> str:
    """The name of the column of times."""
    column = job.request.reading.time_column
    return column if isinstance(column, str) else "time"


def _alarm_lines(given: dict[str, Any], job: Job) -> list[Watcher]:
    """Alarms on standard output, or on standard error if the table goes there."""
    if not job.request.watches:
        return []
    from .display import AlarmLines

    to_error, as_json = given["output"] == "-", given["as_json"]

    def file() -> TextIO:
        return sys.stderr if to_error else sys.stdout

    return [AlarmLines(file, as_json=as_json, clock=_clock(job), reader=job.source.reader)]


def _display(job: Job, given: dict[str, Any], words: TextIO) -> Watcher | None:
    from rich.console import Console

    from .display import Display, JsonEvents

    if given["as_json"]:
        return JsonEvents(job.source.count, words)
    console, keyed = Console(stderr=True), job.request.key is not None
    return None if given["quiet"] else Display(job.source, console, keyed=keyed)


def _run(job: Job, watchers: list[Watcher], display: Watcher | None) -> tuple[Outcome, list[str]]:
    """Run the job with these watchers; returns how it went and what is worth a note."""
    from ..learners.threads import threads_for
    from .display import Display

    source = job.source
    source.on_skip = job.skipped
    with ExitStack() as stack:
        if isinstance(display, Display):
            stack.enter_context(display)
        job.watchers = (*watchers, *([display] if display is not None else []))
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always", UserWarning)
        stack.enter_context(threads_for(source.width))
        outcome = job.run()
    return outcome, [str(warning.message) for warning in caught] + list(map(in_flags, source.notes))


@contextmanager
def _looked_on(
    given: dict[str, Any], job: Job, notices: Notices | None
) -> Iterator[tuple[Page | None, list[Watcher]]]:
    """Serve the live page and the metrics, and tell of alarms, as far as asked for, within this block."""
    with ExitStack() as stack:
        page, watchers = None, list[Any]()
        keyed, shown = job.request.key is not None, given["live"] or given["picture"]
        traces: Any = None
        fleet = None
        if shown and keyed:
            from ..jobs.fleet import FleetOverview
            from ..jobs.traces import FleetTraces

            fleet = FleetOverview.over(job.model)
            traces = FleetTraces() if job.request.watches else None
            watchers += [fleet, traces] if job.request.watches else [fleet]
        elif job.request.watches and shown:
            from ..jobs.traces import Traces

            traces = Traces()
            traces.recall(job)
            watchers.append(traces)
        try:
            if given["live"]:
                from .display import OnFleetPage, OnPage

                page = _page(given, job, stack)
                watchers.append(
                    OnPage(page, job, traces)
                    if fleet is None
                    else OnFleetPage(page, job, fleet.overview, traces)
                )
            if given["metrics"] is not None:
                from ..jobs.prometheus import Metrics

                metrics = Metrics(job.source, given["metrics_host"], given["metrics"], notices)
                stack.callback(metrics.close)
                click.echo(f"metrics: {metrics.url}", err=True)
                watchers.append(metrics)
        except ImportError as error:
            raise click.ClickException(str(error)) from None
        yield page, watchers


def _page(given: dict[str, Any], job: Job, stack: ExitStack) -> Page:
    """The live page, served until the stack closes."""
    from ..live import Page
    from ..model.delays import input_names

    source, lags = job.source, int(job.request.parameters.get("lags") or 0)
    names = None if source.names is None else input_names(source.names, lags)
    where, timed = (given["live_address"], given["live_port"]), source.clock is not None
    unit, watching = source.reader.unit, job.request.watches
    fleet = job.request.key is not None
    timed = timed and (watching or not fleet)  # models of many keys do not remember when rows came
    desk = job.handling if watching else None
    if desk is not None:
        desk.offer(_inputs(job), timed=timed, clock=_clock(job), keys=job.model if fleet else None)
    settings: dict[str, Any] = {
        "lag_unit": unit,
        "timed": timed,
        "watching": watching,
        "fleet": fleet,
        "desk": desk,
    }
    page = Page(source.name, names, *where, **settings)
    url = page.start()
    stack.callback(page.stop)
    click.echo(f"live page: {url}", err=True)
    return page


def _linger(page: Page, seconds: float | None) -> None:
    """Leave the page up for a while: by default until Ctrl-C, if there is somebody to press it."""
    page.finish("the stream has ended")
    if seconds is None:
        seconds = float("inf") if sys.stderr.isatty() else 0.0
    if seconds > 0:
        until = "" if seconds == float("inf") else f" for {seconds:g} seconds"
        click.echo(f"the page stays at {page.url}{until}; Ctrl-C ends it", err=True)
    ends = time.monotonic() + seconds
    with suppress(KeyboardInterrupt):
        while time.monotonic() < ends:
            time.sleep(0.1)
