"""The main job: a stream in; scores, a model and a picture out."""

from __future__ import annotations

import json
import sys
import time
import warnings
from contextlib import AbstractContextManager, ExitStack, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TextIO

import click
from click.core import ParameterSource

from .options import (
    ESTIMATOR_OPTIONS,
    estimator_options,
    keep_options,
    require_picture,
    residuals_option,
    source_argument,
    source_options,
    threads_option,
)
from .reading import reading, require_input
from .types import Finite

if TYPE_CHECKING:
    from ..live import Page
    from ..running import Job, Outcome, Watcher

WIDE = 4096
"""From so many columns on, linear algebra gains from more than one thread."""
BUILT_IN = {"half_life": 150.0, "batch_rows": 100}
"""What suits the built-in stream, which changes: unless asked otherwise."""
BUILT_IN_RATE = 2500.0
"""Rows per second of the built-in stream, slow enough to be watched."""


@click.command(
    epilog="Example: eigenstream run sensors.csv --half-life 5000 --output scores.csv --save sensors.model"
)
@source_argument(required=False)
@click.option(
    "--output",
    type=click.Path(allow_dash=True),
    help="Write scores to NAME.csv, NAME.jsonl, NAME.npy or NAME.parquet (a folder of parts; the last comes "
    "at the end).",
)
@residuals_option
@click.option("--save", type=click.Path(dir_okay=False), help="Keep the model in this file.")
@click.option(
    "--resume",
    is_flag=True,
    help="Continue after the last checkpoint in --save, if there is one.",
)
@click.option(
    "--model",
    type=click.Path(exists=True, dir_okay=False),
    help="Go on from this model with another source; --save may name the same file.",
)
@click.option(
    "--anyway",
    is_flag=True,
    help="With --model: learn a source once more that it has learnt, or leave its last one unfinished.",
)
@click.option("--overwrite", is_flag=True, help="Replace a model and an output that exist.")
@click.option("--follow", is_flag=True, help="Wait for more lines at the end of a growing file.")
@click.option(
    "--idle",
    type=Finite(min=0),
    help="With --follow: end after so many seconds without a new line.",
)
@click.option(
    "--checkpoint-rows",
    type=click.IntRange(min=1),
    default=100_000,
    show_default=True,
    help="With --save: save after so many rows ...",
)
@click.option(
    "--checkpoint-seconds",
    type=Finite(min=0),
    default=30.0,
    show_default=True,
    help="... and after so many seconds.",
)
@click.option("--rate", type=Finite(min=1e-3), help="Most rows per second.")
@click.option(
    "--key",
    help="The column that says whose a row is: one model per key, all in the file --save names.",
)
@click.option(
    "--max-models",
    type=click.IntRange(min=1),
    help="With --key: most models in memory; the longest idle wait in the file.  [default: all]",
)
@threads_option
@click.option(
    "--picture", type=click.Path(dir_okay=False), help="Draw spectrum and rank over time: PNG or SVG."
)
@click.option("--live", is_flag=True, help="Show a live page in the browser.")
@click.option("--live-address", default="127.0.0.1", show_default=True, help="Where the page listens.")
@click.option(
    "--live-port", default=0, type=click.IntRange(0, 65535), help="Its port.  [default: any that is free]"
)
@click.option(
    "--live-seconds",
    type=Finite(min=0),
    help="How long it stays after the end.  [default: on a terminal, until Ctrl-C]",
)
@click.option("--quiet", is_flag=True, help="Say nothing unless something is wrong.")
@click.option("--json", "as_json", is_flag=True, help="Say what happens as JSON, one object a line.")
@source_options
@keep_options
@estimator_options
@click.pass_context
def run(ctx: click.Context, /, **given: Any) -> None:
    """Learn from a stream, and watch its dimension.

    SOURCE is a file of CSV or JSON lines (gzip too), an NPY or NPZ file, a Parquet file or folder, a Zarr
    array, a Redis stream (redis://HOST/0?stream=NAME), or - for CSV or JSON lines on standard input. Several
    files, or a folder of them, are read one after the other. Without SOURCE: a built-in stream that changes
    its scale.

    With --save, a job that was killed continues with --resume as if nothing had happened: the final model and
    output are those of an uninterrupted run, bit for bit. Give the same command again, and --resume.

    With --key, each key has a model of its own, the same as if its rows came alone; scores carry the key.

    With --model, a model goes on with the next source: its settings and columns (by name) are its own. It
    remembers which sources it has learnt, and does not learn one twice.
    """
    stated = {name for name in given if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}
    if given["quiet"] and given["as_json"]:
        raise click.UsageError("--quiet and --json exclude each other")
    if given["resume"] and not given["save"]:
        raise click.UsageError("--resume needs --save MODEL: the model to continue")
    if given["anyway"] and not given["model"]:
        raise click.UsageError("--anyway needs --model MODEL: the model to go on from")
    if given["residuals"] and not given["output"] and not given["resume"]:
        raise click.UsageError("--residuals are written beside the scores: they need --output")
    if given["idle"] is not None and not given["follow"]:
        raise click.UsageError("--idle says when to stop following: it needs --follow")
    if given["max_models"] is not None and given["key"] is None:
        raise click.UsageError("--max-models bounds the models of many keys: it needs --key")
    if given["key"] is not None:
        from .keyed import keyed_settings, refuse_other_options

        refuse_other_options(given)
        given = keyed_settings(given, stated)
    if given["picture"]:
        require_picture(given["picture"])
    if given["save"] and given["output"] == "-":
        raise click.UsageError("standard output cannot be cut back to a checkpoint: --save needs a file")
    require_input(given["source"])
    with ExitStack() as stack:
        job = stack.enter_context(_prepared(given, stated))
        if given["key"] is not None:
            from .keyed import carry_out

            outcome = carry_out(job, given, _words_to(given))
            ctx.exit(128 + outcome.signal if outcome.signal is not None else 0)
        page = _page(given, job, stack) if given["live"] else None
        outcome, notes = _carry_out(job, given, page)
        _report(job, outcome, notes, given)
        if page is not None and outcome.signal is None:
            _linger(page, given["live_seconds"])
    if outcome.signal is not None:
        ctx.exit(128 + outcome.signal)


def _prepared(given: dict[str, Any], stated: set[str]) -> Job:
    """The job that these options ask for."""
    from ..files import refuse_shared
    from ..running import Request, prepare

    named = {"source": given["source"], "output": given["output"], "picture": given["picture"]}
    for model in (given["save"], given["model"]):
        refuse_shared(named | {"model": model})
    asked = {**given, **reading(given)}
    if given["source"] is None and given["model"] is None:
        asked |= {name: value for name, value in BUILT_IN.items() if name not in stated}
    request = Request(
        given["source"],
        given["output"],
        **{name: asked[name] for name in reading(given)},
        residuals=given["residuals"],
        key=given["key"],
        parameters={name: asked[name] for name in ESTIMATOR_OPTIONS},
    )
    job = prepare(
        request,
        save=given["save"],
        resume=given["resume"],
        overwrite=given["overwrite"],
        start=given["model"],
        anyway=given["anyway"],
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
    return job


def _carry_out(job: Job, given: dict[str, Any], page: Page | None) -> tuple[Outcome, list[str]]:
    """Run the job with whoever wants to watch; returns how it went and what is worth a note."""
    from rich.console import Console

    from .display import Display, JsonEvents, OnPage

    source = job.source
    watchers: list[Watcher] = [OnPage(page, source, job.times)] if page is not None else []
    source.on_skip = job.skipped
    with ExitStack() as stack:
        if given["as_json"]:
            watchers.append(JsonEvents(source.count, _words_to(given)))
        elif not given["quiet"]:
            watchers.append(stack.enter_context(Display(source, Console(stderr=True))))
        job.watchers = tuple(watchers)
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always", UserWarning)
        stack.enter_context(_threads(source.width))
        outcome = job.run()
    return outcome, [str(warning.message) for warning in caught] + source.notes


def _words_to(given: dict[str, Any]) -> TextIO:
    """Where words go: not to standard output if scores do."""
    return sys.stderr if given["output"] == "-" else sys.stdout


def _threads(width: int) -> AbstractContextManager[object]:
    """One thread for linear algebra unless rows are wide: more only get in each other's way."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(None if width >= WIDE else 1, "blas")
    return limits


def _page(given: dict[str, Any], job: Job, stack: ExitStack) -> Page:
    """The live page, up for as long as the stack lasts."""
    from ..delays import input_names
    from ..live import Page

    source, lags = job.source, int(job.request.parameters.get("lags") or 0)
    names = None if source.names is None else input_names(source.names, lags)
    where, timed = (given["live_address"], given["live_port"]), source.clock is not None
    page = Page(source.name, names, *where, lag_unit=source.reader.unit, timed=timed)
    try:
        url = page.start()
    except ImportError as error:
        raise click.ClickException(str(error)) from None
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


def _report(job: Job, outcome: Outcome, notes: list[str], given: dict[str, Any]) -> None:
    """What came of it: for programs, for people, and as a picture."""
    from rich.console import Console

    from ..running.learner import has_learnt
    from .summary import described, print_summary

    if not has_learnt(job.model):
        click.echo("stopped before the first batch: nothing was learnt", err=True)
        return
    picture = given["picture"] or ("eigenstream.png" if job.request.source is None else None)
    if picture is not None and not _drawn(job, picture, notes):
        picture = None
    words = _words_to(given)
    if given["as_json"]:
        facts: dict[str, Any] = {"rows": outcome.rows, "learnt": outcome.learnt}
        facts |= {"seconds": outcome.seconds, "signal": outcome.signal}
        state = described(job.model, job.names or job.source.names)
        print(json.dumps({"event": "end", **facts, **state, "notes": notes}), file=words)
    elif not given["quiet"]:
        print_summary(Console(file=words), job, outcome, notes, picture)


def _drawn(job: Job, path: str, notes: list[str]) -> bool:
    if find_spec("matplotlib") is None:
        notes.append("there is no picture: it needs matplotlib, pip install 'eigenstream[plot]'")
        return False
    from ..files import shown
    from ..plotting import draw_history

    draw_history(job.model.spectrum_history_, shown(job.source.name), job.times.at_all).savefig(path)
    return True
