"""Watching a stream: alarms as lines, verdicts as a table, a picture and an exit status."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, TextIO

import click
from click.core import ParameterSource

from .job_options import check_job_options, keeping_options, key_options, showing_options
from .jobs import carry_out, linger, looked_on, prepared
from .options import (
    WATCHING_OPTIONS,
    keep_options,
    require_picture,
    source_argument,
    source_options,
    together,
    watching_options,
)
from .reading import reading, require_input
from .sections import Section, SectionedCommand
from .types import Finite, ParamType

if TYPE_CHECKING:
    from ..jobs import Job, Outcome, Watcher

ALARMED = 3
"""Exit status with --exit-code if an alarm was on; 1 and 2 are errors."""


class Confirmation(ParamType):
    """``K/N``: an alarm counts once K of N rows in sequence exceed a limit."""

    name = "K/N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from ..jobs.judge import confirmation

        try:
            confirmation(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return value


monitor_options = together(
    Section.WATCH.option(
        "--false-alarm-rate",
        type=Finite(min=0, max=0.1, min_open=True),
        default=1e-3,
        show_default=True,
        help="The share of rows that may exceed a limit while nothing is wrong.",
    ),
    Section.WATCH.option(
        "--confirm",
        type=Confirmation(),
        default="1/1",
        show_default=True,
        help="An alarm counts once K of N rows in sequence exceed a limit.",
    ),
    Section.WATCH.option(
        "--accept-after",
        type=click.IntRange(min=64),
        default=1000,
        show_default=True,
        help="After so many rows, what an alarm is about is taken for the new normal.",
    ),
    Section.WATCH.option(
        "--learn-from-alarms", is_flag=True, help="Learn also from rows that exceed a limit; by default not."
    ),
    Section.WATCH.option(
        "--freeze-after",
        type=click.IntRange(min=1),
        help="Learn from so many rows, then judge by what is known and learn nothing more.",
    ),
    Section.WATCH.option(
        "--frozen", is_flag=True, help="With --model: judge by this monitor and learn nothing."
    ),
)

MONITOR_OPTIONS = (
    "false_alarm_rate",
    "confirm",
    "accept_after",
    "learn_from_alarms",
    "freeze_after",
    "frozen",
)


@click.command(
    cls=SectionedCommand,
    epilog="Example: eigenstream watch sensors.csv --confirm 3/5 --output verdicts.csv "
    "--save sensors.monitor",
)
@source_argument(required=False)
@Section.WRITE.option(
    "--output",
    type=click.Path(allow_dash=True),
    help="Write what is said of each row to NAME.csv, NAME.jsonl or NAME.parquet: statistics, limits, index, "
    "alarm, since which row, and the inputs to blame.",
)
@source_options
@keep_options
@watching_options
@monitor_options
@keeping_options
@key_options
@Section.WRITE.option("--picture", type=click.Path(dir_okay=False), help="Draw control charts: PNG or SVG.")
@Section.GO_ON.option("--exit-code", is_flag=True, help=f"Exit with status {ALARMED} if an alarm was on.")
@Section.SHOW.option("--quiet", is_flag=True, help="Say nothing but alarms.")
@Section.SHOW.option("--json", "as_json", is_flag=True, help="Print alarms as JSON, one object per line.")
@showing_options
@click.pass_context
def watch(ctx: click.Context, /, **given: Any) -> None:
    """Watch a stream: an alarm when rows leave its usual pattern.

    Alarms name the inputs to blame. SOURCE is anything that eigenstream run reads. Each row is judged by what
    was learnt before it, by three numbers with a limit each: T² (how far off within the usual pattern), SPE
    (how far off the pattern) and distance (how far off in any direction). Rows that exceed a limit are not
    learnt. If they go on for --accept-after rows, they are the new normal.

    Alarms are lines on standard output; everything else goes to standard error. There is no alarm before
    there is a basis for one: about 128 normal rows, more of many inputs. Where normal rows are in another
    file, name that file first.

    With --key, each key has a monitor of its own, the same as if its rows came alone; alarms name the key.

    With --save, a job that was killed continues with --resume as if nothing had happened: model and --output
    end up the same, bit for bit. A line about an alarm may be printed twice then; it says its row.
    """
    stated = {name for name in given if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}
    check_job_options(given)
    if given["source"] is None and not given["resume"]:
        raise click.UsageError("name a SOURCE to watch")
    if given["frozen"] and not given["model"]:
        raise click.UsageError("--frozen needs --model MONITOR: the monitor to judge by")
    if given["frozen"] and given["freeze_after"]:
        raise click.UsageError("--frozen and --freeze-after exclude each other")
    if given["key"] is not None:
        from .keyed import keyed_settings, refuse_other_options

        refuse_other_options(given)
        given = keyed_settings(given, stated)
    if given["picture"]:
        require_picture(given["picture"])
    require_input(given["source"])
    if given["key"] is not None:
        ctx.exit(_watch_keyed(given, stated))
    from .watch_summary import counted_before

    with _prepared(given, stated) as job, looked_on(given, job) as (page, watchers):
        watchers = [_lines(given), *watchers]
        before = counted_before(job)
        outcome, notes = carry_out(job, watchers, _display(job, given))
        _report(job, before, outcome, notes, given)
        if page is not None and outcome.signal is None:
            linger(page, given["live_seconds"])
    if outcome.signal is not None:
        ctx.exit(128 + outcome.signal)
    if given["exit_code"] and _has_alarmed(job):
        ctx.exit(ALARMED)


def _watch_keyed(given: dict[str, Any], stated: set[str]) -> int:
    """One monitor per key; returns the exit status."""
    from .keyed import carry_out

    with _prepared(given, stated) as job:
        outcome = carry_out(job, given, sys.stderr, _lines(given))
    if outcome.signal is not None:
        return 128 + outcome.signal
    return ALARMED if given["exit_code"] and job.model.alarms else 0


def _prepared(given: dict[str, Any], stated: set[str]) -> Job:
    """The job that these options ask for."""
    from ..jobs import Request

    parameters = {name: given[name] for name in (*WATCHING_OPTIONS, *MONITOR_OPTIONS)}
    request = Request(given["source"], given["output"], reading(given), parameters=parameters)
    # A monitor that learns nothing may judge what it has learnt.
    return prepared(request, given | {"anyway": given["anyway"] or given["frozen"]}, stated)


def _lines(given: dict[str, Any]) -> Watcher:
    from .alarm_lines import AlarmLines

    return AlarmLines(lambda: _alarms_to(given), as_json=given["as_json"])


def _alarms_to(given: dict[str, Any]) -> TextIO:
    """Where alarms go: not to standard output if the table does."""
    return sys.stderr if given["output"] == "-" else sys.stdout


def _display(job: Job, given: dict[str, Any]) -> Watcher | None:
    from rich.console import Console

    from .display import Display, JsonEvents

    if given["as_json"]:
        return JsonEvents(job.source.count, sys.stderr)
    return None if given["quiet"] else Display(job.source, Console(stderr=True))


def _report(
    job: Job, before: dict[str, int], outcome: Outcome, notes: list[str], given: dict[str, Any]
) -> None:
    """What came of it: for programs, for people, and as a picture."""
    from rich.console import Console

    from ..jobs.learner import has_learnt
    from .watch_summary import print_watched, watched

    if not has_learnt(job.model):
        click.echo("stopped before the first batch: nothing was judged", err=True)
        return
    if given["picture"]:
        _draw(job, given["picture"])
    if given["as_json"]:
        facts = {"rows": outcome.rows, "seconds": outcome.seconds, "signal": outcome.signal}
        print(
            json.dumps({"event": "end", **facts, **watched(job.model, before), "notes": notes}),
            file=sys.stderr,
            flush=True,
        )
    elif not given["quiet"]:
        print_watched(Console(stderr=True), job, before, outcome, notes, given["picture"])


def _draw(job: Job, path: str) -> None:
    from ..io.files import shown
    from ..monitoring import MonitoredModel
    from ..plotting import draw_control

    assert isinstance(job.model, MonitoredModel)
    draw_control(job.model, shown(job.source.name), job.times.at_all).savefig(path)


def _has_alarmed(job: Job) -> bool:
    """Whether an alarm was on during this job, also before it was resumed."""
    from ..monitoring import MonitoredModel

    assert isinstance(job.model, MonitoredModel)
    monitor = job.model.monitor
    if monitor is None:
        return False
    first = monitor.counts.came - job.source.count
    return any(alarm.ended is None or alarm.ended > first for alarm in monitor.watch.past)
