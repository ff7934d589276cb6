"""The main job: a stream in; scores, a model and a picture out."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, TextIO

import click
from click.core import ParameterSource

from .job_options import check_job_options, keeping_options, key_options, showing_options
from .jobs import carry_out, linger, looked_on, prepared
from .options import (
    ESTIMATOR_OPTIONS,
    estimator_options,
    keep_options,
    require_picture,
    residuals_option,
    source_argument,
    source_options,
)
from .reading import reading, require_input
from .sections import Section, SectionedCommand

if TYPE_CHECKING:
    from ..jobs import Job, Outcome, Watcher

BUILT_IN = {"half_life": 150.0, "batch_rows": 100}
"""What suits the built-in stream, which changes: unless asked otherwise."""
BUILT_IN_RATE = 2500.0
"""Rows per second of the built-in stream, slow enough to be watched."""


@click.command(
    cls=SectionedCommand,
    epilog="Example: eigenstream run sensors.csv --half-life 5000 --output scores.csv --save sensors.model",
)
@source_argument(required=False)
@Section.WRITE.option(
    "--output",
    type=click.Path(allow_dash=True),
    help="Write scores to NAME.csv, NAME.jsonl, NAME.npy or NAME.parquet (a folder of parts; the last comes "
    "at the end).",
)
@source_options
@keep_options
@estimator_options
@residuals_option
@keeping_options
@key_options
@Section.WRITE.option(
    "--picture", type=click.Path(dir_okay=False), help="Draw spectrum and rank over time: PNG or SVG."
)
@Section.SHOW.option("--quiet", is_flag=True, help="Say nothing unless something is wrong.")
@Section.SHOW.option("--json", "as_json", is_flag=True, help="Say what happens as JSON, one object per line.")
@showing_options
@click.pass_context
def run(ctx: click.Context, /, **given: Any) -> None:
    """Learn from a stream, and watch its dimension.

    SOURCE is a file of CSV or JSON lines (gzip too), an NPY or NPZ file, a Parquet file or folder, a Zarr
    array, a Redis stream (redis://HOST/0?stream=NAME), or - for CSV or JSON lines on standard input. Several
    files, or a folder of them, are read one after the other. Without SOURCE: a built-in stream whose
    number of components changes.

    With --save, a job that was killed continues with --resume as if nothing had happened: the final model and
    output are those of an uninterrupted run, bit for bit. Give the same command again, and --resume.

    With --key, each key has a model of its own, the same as if its rows came alone; scores carry the key.

    With --model, a model goes on with the next source: its settings and columns (by name) are its own. It
    remembers which sources it has learnt, and does not learn one twice.
    """
    stated = {name for name in given if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}
    check_job_options(given)
    if given["residuals"] and not given["output"] and not given["resume"]:
        raise click.UsageError("--residuals are written beside the scores: they need --output")
    if given["key"] is not None:
        from .keyed import keyed_settings, refuse_other_options

        refuse_other_options(given)
        given = keyed_settings(given, stated)
    if given["picture"]:
        require_picture(given["picture"])
    require_input(given["source"])
    if given["key"] is not None:
        ctx.exit(_run_keyed(given, stated))
    with _prepared(given, stated) as job, looked_on(given, job) as (page, watchers):
        outcome, notes = carry_out(job, watchers, _display(job, given))
        _report(job, outcome, notes, given)
        if page is not None and outcome.signal is None:
            linger(page, given["live_seconds"])
    if outcome.signal is not None:
        ctx.exit(128 + outcome.signal)


def _run_keyed(given: dict[str, Any], stated: set[str]) -> int:
    """One model per key; returns the exit status."""
    from .keyed import carry_out

    with _prepared(given, stated) as job:
        outcome = carry_out(job, given, _words_to(given))
    return 128 + outcome.signal if outcome.signal is not None else 0


def _prepared(given: dict[str, Any], stated: set[str]) -> Job:
    """The job that these options ask for."""
    from ..jobs import Request

    asked = dict(given)
    if given["source"] is None and given["model"] is None:
        asked |= {name: value for name, value in BUILT_IN.items() if name not in stated}
    request = Request(
        given["source"],
        given["output"],
        reading(asked),
        residuals=given["residuals"],
        parameters={name: asked[name] for name in ESTIMATOR_OPTIONS},
    )
    job = prepared(request, given, stated)
    if job.rate is None and job.request.source is None:
        job.rate = BUILT_IN_RATE
    return job


def _display(job: Job, given: dict[str, Any]) -> Watcher | None:
    from rich.console import Console

    from .display import Display, JsonEvents

    if given["as_json"]:
        return JsonEvents(job.source.count, _words_to(given))
    return None if given["quiet"] else Display(job.source, Console(stderr=True))


def _words_to(given: dict[str, Any]) -> TextIO:
    """Where words go: not to standard output if scores do."""
    return sys.stderr if given["output"] == "-" else sys.stdout


def _report(job: Job, outcome: Outcome, notes: list[str], given: dict[str, Any]) -> None:
    """What came of it: for programs, for people, and as a picture."""
    from rich.console import Console

    from ..jobs.learner import has_learnt
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
        print(json.dumps({"event": "end", **facts, **state, "notes": notes}), file=words, flush=True)
    elif not given["quiet"]:
        print_summary(Console(file=words), job, outcome, notes, picture)


def _drawn(job: Job, path: str, notes: list[str]) -> bool:
    from ..io.files import shown
    from ..plotting import draw_history

    try:
        figure = draw_history(job.model, shown(job.source.name), job.times.at_all)
    except ImportError as error:
        notes.append(f"there is no picture: {error}")
        return False
    figure.savefig(path)
    return True
