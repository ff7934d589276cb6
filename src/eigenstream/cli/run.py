"""The commands run and watch: learn from a stream, or watch it, in a job that can be continued."""

from __future__ import annotations

from typing import Any

import click

from .job_command import ALARMED, BUILT_IN_RATE, carry_out
from .options import (
    ESTIMATOR_OPTIONS,
    WATCHING_OPTIONS,
    estimator_options,
    keep_options,
    names_of,
    residuals_option,
    source_argument,
    source_options,
    threads_option,
    together,
    watching_options,
)
from .sections import CONFIRMATION, Decorator, Finite, Section, SectionedCommand

_keeping_options = together(
    Section.WRITE.option("--save", type=click.Path(dir_okay=False), help="Keep the model in this file."),
    Section.GO_ON.flag("--resume", "Continue after the last checkpoint in --save, if there is one."),
    Section.GO_ON.option(
        "--model",
        type=click.Path(exists=True, dir_okay=False),
        help="Go on from this model with another source; --save may name the same file.",
    ),
    Section.GO_ON.flag(
        "--relearn", "With --model: learn a known source once more, or leave the last one unfinished."
    ),
    Section.WRITE.flag("--overwrite", "Replace an existing model and output."),
    Section.GO_ON.flag("--follow", "Wait for more lines at the end of a growing file."),
    Section.GO_ON.number("--idle", "With --follow: end after this number of seconds without a new line."),
    Section.GO_ON.whole(
        "--checkpoint-rows",
        "With --save: save after this number of rows, at the end of a batch (see --batch-rows), however "
        "long that takes.  [default: time alone decides, also with --key]",
    ),
    Section.GO_ON.number(
        "--checkpoint-seconds",
        "With --save: save after this number of seconds, at the end of a batch; less often where saving "
        "would take more than a tenth of the time.",
        default=10.0,
    ),
    Section.SPEED.number(
        "--rate",
        f"Most rows read per second.  [default: no limit; {BUILT_IN_RATE:.0f} for the built-in stream]",
        1e-3,
    ),
    threads_option,
    Section.KEYS.option(
        "--key", help="The column with the key of a row: one model per key, all in the file --save names."
    ),
    Section.KEYS.whole(
        "--max-models",
        "With --key: most models in memory; the longest idle wait in the file.  [default: all]",
    ),
)
"""The file of the model, the speed of reading, one model per key."""

_showing_options = together(
    Section.SHOW.flag("--live", "Show a live page in the browser."),
    Section.SHOW.option(
        "--live-address", default="127.0.0.1", help="The address at which the live page listens."
    ),
    Section.SHOW.port("--live-port", "The port of the live page.  [default: any that is free]", default=0),
    Section.SHOW.number(
        "--live-seconds",
        "Seconds to serve the live page after the end.  [default: on a terminal, until Ctrl-C]",
    ),
    Section.SHOW.port(
        "--metrics", "Serve metrics to Prometheus on this port; 0: any that is free.", metavar="PORT"
    ),
    Section.SHOW.option(
        "--metrics-host", default="127.0.0.1", help="The address at which metrics are served."
    ),
)
"""The live page and the metrics."""

_monitor_options = together(
    Section.WATCH.option(
        "--false-alarm-rate",
        type=Finite(min=0, max=0.1, min_open=True),
        default=1e-3,
        help="Share of rows that may exceed a limit while nothing is wrong.",
    ),
    Section.WATCH.option(
        "--confirm",
        type=CONFIRMATION,
        default="1/1",
        help="An alarm counts once K of N rows in sequence exceed a limit.",
    ),
    Section.WATCH.whole(
        "--accept-after",
        "Accept an alarm that lasts, or comes again and again, as the new normal after this number of rows.",
        64,
        default=1000,
    ),
    Section.WATCH.whole(
        "--end-after",
        "End an alarm after this number of rows in sequence below all limits.  [default: about twice as many "
        "as exceeded, at most 32]",
        1,
    ),
    Section.WATCH.flag("--learn-from-alarms", "Learn also from rows that exceed a limit; by default not."),
    Section.WATCH.whole(
        "--freeze-after",
        "Learn from this number of rows, then freeze: judge by what is known and learn nothing more.",
    ),
    Section.WATCH.flag("--frozen", "With --model: judge by this monitor and learn nothing."),
)


def job_options(*own: Decorator, output: str, picture: str, quiet: str, as_json: str) -> Decorator:
    """The source, all options that run and watch share, and those of one of them.

    Parameters
    ----------
    *own
        Options of the command itself, listed after those that say how to read.
    output, picture, quiet, as_json
        Help of these options.
    """
    return together(
        source_argument(required=False),
        Section.WRITE.option("--output", type=click.Path(allow_dash=True), help=output),
        source_options,
        keep_options,
        *own,
        _keeping_options,
        Section.WRITE.option("--picture", type=click.Path(dir_okay=False), help=picture),
        Section.SHOW.flag("--quiet", quiet),
        Section.SHOW.option("--json", "as_json", is_flag=True, help=as_json),
        _showing_options,
    )


@click.command(
    cls=SectionedCommand,
    epilog="Example: eigenstream run sensors.csv --half-life 5000 --output scores.csv --save sensors.model",
)
@job_options(
    estimator_options,
    residuals_option,
    output="Write scores, each by the model as it was at that row (the command transform: all by the last "
    "model), to NAME.csv, NAME.jsonl, NAME.npy or NAME.parquet (a folder of parts; the last "
    "comes at the end).",
    picture="Draw spectrum and rank over time: PNG or SVG.",
    quiet="Print errors only.",
    as_json="Print events as JSON, one object per line.",
)
@click.pass_context
def run(ctx: click.Context, /, **given: Any) -> None:
    """Learn from a stream, and follow its dimension.

    SOURCE is a file of CSV or JSON lines (gzip and ZIP too), an XLSX, NPY or NPZ file, a Parquet file or
    folder, a Zarr array, a Redis stream (redis://HOST/0?stream=NAME), MQTT topics
    (mqtt://HOST/TOPIC?spool=FILE), a table of a database (sqlite:///PATH?table=NAME&order=id), or - for CSV
    or JSON lines on standard input. Several files, or a folder of them, are read one after the other. Without
    SOURCE: a built-in stream whose number of components changes, with a half-life of 150 rows and at 2500
    rows per second, slow enough to be watched, unless --half-life and --rate say otherwise.

    With --save, a job that was killed continues with --resume as if nothing had happened: the final model and
    output are those of an uninterrupted run, bit for bit. Give the same command again, and --resume. Rows
    since the last save are learnt again (--checkpoint-seconds). Ctrl-C and SIGTERM end a job within five
    seconds: it saves first, and goes without only where that would take longer.

    With --key, each key has a model of its own, the same as if its rows came alone, with its own clock;
    scores carry the key.

    With --model, a model, or a bank of keyed ones, goes on with the next source: its settings, columns (by
    name) and keys are its own. It remembers which sources it has learnt, and does not learn one twice.
    """
    if given["residuals"] and not given["output"] and not given["resume"]:
        raise click.UsageError("--residuals are written beside the scores: they need --output")
    carry_out(ctx, given, ESTIMATOR_OPTIONS)


@click.command(
    cls=SectionedCommand,
    epilog="Example: eigenstream watch sensors.csv --confirm 3/5 --output verdicts.csv "
    "--save sensors.monitor",
)
@job_options(
    watching_options,
    _monitor_options,
    Section.GO_ON.flag("--exit-code", f"Exit with status {ALARMED} if an alarm was on."),
    Section.TELL.option(
        "--on-alarm",
        metavar="COMMAND",
        help="Start this program for each line about an alarm or a notice, which it finds on standard input "
        "as JSON. There is no shell; after 10 seconds it is killed.",
    ),
    Section.TELL.option(
        "--webhook",
        metavar="URL",
        help="Post each line about an alarm or a notice to this web server as JSON; up to three tries.",
    ),
    Section.TELL.option(
        "--shelve",
        metavar="NAME=TIME",
        multiple=True,
        help="Tell nobody of alarms that blame this input first, nor of notices about it, for a time (2h) or "
        "rows (500) from the first row on. They are recorded as ever, and counted. With --key, NAME is of "
        "all keys, KEY/NAME of one, and KEY/ is a whole key; both from the key's first row on. May be "
        "repeated.",
    ),
    output="Write the verdict on each row to NAME.csv, NAME.jsonl or NAME.parquet: statistics, limits, "
    "severity, alarm, the row at which it began, and the inputs to blame.",
    picture="Draw control charts: PNG or SVG.",
    quiet="Print alarms and errors only.",
    as_json="Print alarms as JSON, one object per line.",
)
@click.pass_context
def watch(ctx: click.Context, /, **given: Any) -> None:
    """Watch a stream: an alarm when rows leave its usual pattern.

    Alarms name the inputs to blame. SOURCE is anything that eigenstream run reads. Each row is judged by what
    was learnt before it, by six numbers with a limit each: T² (how far off within the usual pattern), SPE
    (how far off the pattern), distance (how far off in any direction), extreme (the input that is farthest
    off, by its own range), average (the distance of the last rows together) and pair (that of the row with
    the one before). A row that exceeds a limit is learnt with less weight; while most rows exceed, nothing is
    learnt, and an alarm ends only when rows are back. If they go on for --accept-after rows, they are the new
    normal.

    Alarms are lines on standard output; everything else goes to standard error. There is no alarm before
    there is a basis for one: about a hundred normal rows, more where there are many inputs or rows resemble
    each other. Where normal rows are in another file, name that file first.

    With --key, each key has a monitor of its own, with its own clock, which learns its rows as if they came
    alone. Limits are those of all keys at first, so that a new key is watched from its twentieth row on, and
    its own as its rows come. Alarms name the key, and --live and --picture show all keys. With --model, a
    monitor, or a bank of them, goes on with the next source.

    With --on-alarm or --webhook, somebody is told as often as a line is printed. What cannot be told is
    counted, and never stops the watch.

    With --save, a job that was killed continues with --resume as if nothing had happened: model and --output
    end up the same, bit for bit. A line about an alarm may be printed twice then; it says its row.
    """
    if given["source"] is None and not given["resume"]:
        raise click.UsageError("name a SOURCE to watch")
    if given["frozen"] and not given["model"]:
        raise click.UsageError("--frozen needs --model MONITOR: the monitor to judge by")
    if given["frozen"] and given["freeze_after"]:
        raise click.UsageError("--frozen and --freeze-after exclude each other")
    carry_out(ctx, given, (*WATCHING_OPTIONS, *names_of(_monitor_options)))
