"""Watch a stream: alarms as lines, verdicts as a table, a picture and an exit status."""

from __future__ import annotations

from typing import Any

import click

from .job_command import ALARMED, carry_out
from .job_options import job_options
from .options import WATCHING_OPTIONS, names_of, together, watching_options
from .sections import Section, SectionedCommand
from .types import Finite, ParamType


class Confirmation(ParamType):
    """``K/N``: an alarm counts once K of N rows in sequence exceed a limit."""

    name = "K/N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from ..monitoring.settings import confirmation

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
        help="Share of rows that may exceed a limit while nothing is wrong.",
    ),
    Section.WATCH.option(
        "--confirm",
        type=Confirmation(),
        default="1/1",
        help="An alarm counts once K of N rows in sequence exceed a limit.",
    ),
    Section.WATCH.option(
        "--accept-after",
        type=click.IntRange(min=64),
        default=1000,
        help="Accept a lasting alarm as the new normal after this number of rows.",
    ),
    Section.WATCH.option(
        "--learn-from-alarms", is_flag=True, help="Learn also from rows that exceed a limit; by default not."
    ),
    Section.WATCH.option(
        "--freeze-after",
        type=click.IntRange(min=1),
        help="Learn from this number of rows, then freeze: judge by what is known and learn nothing more.",
    ),
    Section.WATCH.option(
        "--frozen", is_flag=True, help="With --model: judge by this monitor and learn nothing."
    ),
)

MONITOR_OPTIONS = names_of(monitor_options)


@click.command(
    cls=SectionedCommand,
    epilog="Example: eigenstream watch sensors.csv --confirm 3/5 --output verdicts.csv "
    "--save sensors.monitor",
)
@job_options(
    watching_options,
    monitor_options,
    Section.GO_ON.option("--exit-code", is_flag=True, help=f"Exit with status {ALARMED} if an alarm was on."),
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
    was learnt before it, by three numbers with a limit each: T² (how far off within the usual pattern), SPE
    (how far off the pattern) and distance (how far off in any direction). Rows that exceed a limit are not
    learnt. If they go on for --accept-after rows, they are the new normal.

    Alarms are lines on standard output; everything else goes to standard error. There is no alarm before
    there is a basis for one: about 128 normal rows, more where there are many inputs. Where normal rows are
    in another file, name that file first.

    With --key, each key has a monitor of its own, the same as if its rows came alone; alarms name the key.

    With --save, a job that was killed continues with --resume as if nothing had happened: model and --output
    end up the same, bit for bit. A line about an alarm may be printed twice then; it says its row.
    """
    if given["source"] is None and not given["resume"]:
        raise click.UsageError("name a SOURCE to watch")
    if given["frozen"] and not given["model"]:
        raise click.UsageError("--frozen needs --model MONITOR: the monitor to judge by")
    if given["frozen"] and given["freeze_after"]:
        raise click.UsageError("--frozen and --freeze-after exclude each other")
    carry_out(ctx, given, (*WATCHING_OPTIONS, *MONITOR_OPTIONS))
