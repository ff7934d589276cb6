"""The closing lines of a job, for people and for programs, and its picture."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from ..io.files import replace, shown
from ..monitoring import MonitoredModel
from .hints import in_flags, in_words, listed, without_a_value
from .summary import RESTLESS, counted, described, numbers, print_model, print_watching, say, watched

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike
    from rich.console import Console

    from ..jobs import Job, Outcome
    from ..jobs.stage import Model
    from ..keyed.overview import KeysAtOnce
    from ..model.expectation import Trace

BUILT_IN_PICTURE = "eigenstream.png"
"""Picture of the built-in stream, unless --picture names another file."""
RANKS = 6
"""Ranks that are told with the number of keys at each: about a line."""
TIMED_FROM = 5.0
"""Seconds: a rate over less would be mostly that of the start."""


def counted_before(job: Job) -> dict[str, int]:
    """Counts of a monitor from before this job; an alarm that is on belongs to the job."""
    if not isinstance(job.model, MonitoredModel):
        return {}
    counts = counted(job.model)
    if job.model.monitor is None or counts["watched"] == job.source.count:
        return {}
    return counts | {"alarms": counts["alarms"] - job.model.monitor.watch.counts}


def has_alarmed(job: Job) -> bool:
    """True if an alarm was on during this job, also before it was resumed."""
    if job.request.key is not None:
        return job.keyed_stage.start["alarmed"]
    monitor = job.model.monitor
    if monitor is None:
        return False
    first = monitor.counts.came - job.source.count
    return any(alarm.ended is None or alarm.ended > first for alarm in monitor.watch.past)


def report(
    job: Job,
    outcome: Outcome,
    notes: list[str],
    before: dict[str, int],
    given: dict[str, Any],
    words: TextIO,
    notices: dict[str, int] | None = None,
) -> None:
    """Draw the picture, if any, and say how the job went; a monitor counts from ``before`` on."""
    from rich.console import Console

    from ..jobs.stage import has_learnt

    if job.request.key is None and not has_learnt(job.model):
        done = "judged" if job.request.watches else "learnt"
        click.echo(f"stopped before the first batch: nothing was {done}", err=True)
        return
    picture = given["picture"] or (BUILT_IN_PICTURE if job.request.source is None else None)
    if picture is not None:
        picture = _drawn(job, picture, given["overwrite"], notes)
    facts = _facts(job, before)
    notes = [*_still_columns(job), *notes]
    if given["as_json"]:
        counts = {"rows": outcome.rows, "learnt": outcome.learnt, "left_out": job.source.skipped}
        end = {
            "event": "end",
            **counts,
            "seconds": outcome.seconds,
            "saving": outcome.saving,
            "signal": outcome.signal,
            "unsaved": outcome.unsaved,
            **facts,
            **({} if notices is None else {"notices": notices}),
            "notes": notes,
        }
        print(json.dumps(end), file=words, flush=True)
    elif not given["quiet"]:
        _say_all(Console(file=words), job, outcome, notes, facts, picture)


def _facts(job: Job, before: dict[str, int]) -> dict[str, Any]:
    """The state of the model, monitor or bank as plain values."""
    from ..jobs.judging import KeyedJudging

    model = job.model
    if job.request.key is not None:
        stage = job.keyed_stage
        facts = {**stage.counts(), "samples": model.samples}
        if unjudged := getattr(stage, "unjudged", {}):
            facts |= {"unjudged": sum(unjudged.values()), "unjudged_keys": len(unjudged)}
        if isinstance(stage, KeyedJudging):
            facts |= {"before_limits": stage.before_limits, "keys_without_limits": len(stage.waiting)}
            facts |= {"rows_without_limits": sum(stage.waiting.values())}
            on = sorted(stage.still_on, key=str)
            return facts | {"alarms": model.alarms - stage.start["alarms"], "keys_on_alarm": on}
        read = model.ranks_by_all_rows()
        ranks = model.ranks() if read is None else read
        facts["ranks_by"] = "last look" if read is None else "all rows"
        return facts | {"ranks": {str(rank): keys for rank, keys in sorted(ranks.items())}}
    if job.request.watches:
        return watched(model, before)
    return described(model, job.names or job.source.names)


def _say_all(
    console: Console, job: Job, outcome: Outcome, notes: list[str], facts: dict[str, Any], picture: str | None
) -> None:
    """Closing lines: what was read, what became of it, which files were written, and what to note."""
    source, keyed, watches = job.source, job.request.key is not None, job.request.watches
    if outcome.rows or not (job.known or job.position):
        of = f"{facts['keys']:,} keys" if keyed else numbers(source.width)
        say(console, _rows_read(job, outcome, of))
    else:
        say(console, _nothing_new(job), "yellow")
    if keyed and not job.known and (vary := _keys(facts)):
        say(console, vary)
    if keyed and facts.get("unjudged"):
        rows, keys = facts["unjudged"], facts["unjudged_keys"]
        say(console, f"rows not judged: {rows:,}, of {keys:,} keys without a monitor that has limits")
    if keyed and not watches and facts["ranks"]:
        at = "" if facts["ranks_by"] == "all rows" else " at the last look of each key"
        say(console, f"ranks{at}: {_ranks(facts['ranks'])}", "bold")
    if keyed and watches:
        if facts["before_limits"]:
            say(console, _early(facts))
        say(console, _alarms_of_keys(facts), "bold")
    elif watches:
        print_watching(console, facts)
        frozen = "; frozen" if facts["frozen"] else ""
        state = f"rank {facts['rank']}, threshold {facts['threshold']:.4g}"
        say(console, state + frozen)
        notes = [*([in_flags(job.model.advice_)] if job.model.advice_ else []), *notes]
    elif not keyed:
        note = job.model.advice_ or job.model.fitted().second_opinion()
        print_model(console, job.model, job.names or source.names, note)
        notes = [*_unlearnt(outcome), *notes]
    if source.skipped:
        say(console, f"rows left out: {source.skipped:,}")
    places = {
        "verdicts" if watches else "scores": job.request.output,
        "bank" if keyed else "model": job.file and job.file.path,
        "picture": picture,
    }
    for what, where in places.items():
        if where:
            say(console, f"{what}: {where}")
    for note in notes:
        say(console, f"note: {note}", "yellow")
    if job.request.source is None and outcome.signal is None:
        say(console, _story(job.model), "bold")
    if outcome.signal is not None:
        again = " Continue with --resume." if job.file else ""
        lost = (
            f" There was no time to save the last {outcome.unsaved:,} rows: they are learnt again."
            if outcome.unsaved
            else ""
        )
        say(console, f"stopped before the end.{again}{lost}", "yellow")


def _keys(facts: dict[str, Any]) -> str:
    """The line on keys that this source has brought, and on those that it lacks; empty if it needs none."""
    new, vanished = facts["new_keys"], facts["vanished_keys"]
    if not vanished and new in (0, facts["keys"]):
        return ""
    return f"keys: {new:,} new, {vanished:,} known before that have no row in this source"


def _ranks(ranks: dict[str, int]) -> str:
    """Numbers of keys by rank, the most frequent ranks first."""
    often = sorted(ranks.items(), key=lambda one: -one[1])
    told = [f"{keys:,} key{'s' if keys > 1 else ''} at rank {rank}" for rank, keys in often[:RANKS]]
    others = sum(keys for _, keys in often[RANKS:])
    return ", ".join(told) + (f", {others:,} at others" if others else "")


def _early(facts: dict[str, Any]) -> str:
    """The line on rows that were not judged, since their keys had no limits then."""
    told, keys = f"rows not judged: {facts['before_limits']:,}, before their keys had limits", "keys have"
    if number := facts["keys_without_limits"]:
        keys = "key has" if number == 1 else keys
        told += f"; {number:,} {keys} no limits yet: {facts['rows_without_limits']:,} of these rows"
    return told


def _alarms_of_keys(facts: dict[str, Any]) -> str:
    """The line on alarms of a fleet; one that is on may have begun before this job."""
    alarms, on = facts["alarms"], facts["keys_on_alarm"]
    told = f"alarms: {alarms:,}" if alarms else "no new alarm" if on else "no alarm"
    if not on:
        return told
    return f"{told}; on alarm at the end: {shown(listed([str(key) for key in on]))}"


def _rows_read(job: Job, outcome: Outcome, of: str) -> str:
    """Number of rows that came, and their rate unless the time was short, or set by --rate."""
    read = f"{job.source.name}: {outcome.rows:,} rows of {of}"
    if outcome.seconds < TIMED_FROM or job.rate is not None:
        return read
    return f"{read}, {outcome.rows / outcome.seconds:,.0f} rows/s"


def _nothing_new(job: Job) -> str:
    """The line for a job that was resumed and had nothing left to do."""
    start, stop = job.request.reading.rows
    end = "its end" if stop is None else f"row {stop:,}, as --rows {start}:{stop} asks"
    return f"{job.source.name}: nothing new, it had been learnt to {end}"


def _still_columns(job: Job) -> list[str]:
    """Notes on columns without any value, and, of a job that learns, on constant ones."""
    learns_one = job.request.key is None and job.request.source is not None
    if not learns_one or not job.model.tally_.learnt:
        return []
    empty, constant = job.model.fitted().still_inputs()
    names = job.names or job.source.names or [f"x{i}" for i in range(job.source.width)]
    notes = without_a_value([names[i] for i in empty])
    if constant and not job.request.watches:
        always = listed([names[i] for i in constant])
        notes.append(f"{always} {'is' if len(constant) == 1 else 'are'} constant")
    return notes


def _unlearnt(outcome: Outcome) -> list[str]:
    """A note on rows that were read and not learnt."""
    if outcome.learnt >= outcome.rows:
        return []
    missing = f"{outcome.rows - outcome.learnt:,} of {outcome.rows:,} rows lack values"
    advice = ": choose other --columns, or --missing impute" if not outcome.learnt else ""
    return [f"{missing} and were not learnt from{advice}"]


def _story(model: Model) -> str:
    """The story of the built-in stream, for people who see it for the first time."""
    begun = [change.after for change in model.rank_history_ if change.sample <= RESTLESS]
    later = [change for change in model.rank_history_ if change.sample > RESTLESS]
    found = [f"{(begun or [0])[-1]} components", *(f"{c.after} from row {c.sample:,} on" for c in later)]
    fewer = any(change.after < change.before for change in later)
    forgetting = " It takes a while to forget components that have gone." if fewer else ""
    return (
        f"In {len(model.mean_)} noisy inputs it found {', then '.join(found)}. "
        f"Nobody told it how many there are: it reads that off the noise.{forgetting}"
    )


def drawn(
    model: Model,
    title: str,
    times: Callable[[ArrayLike], Any] | None,
    trace: Trace | None = None,
) -> Figure:
    """The picture of a model: spectrum and rank over time, or the control charts of a monitor.

    Below the charts are those of a ``trace``.
    """
    from ..plotting import draw_control, draw_history

    if not isinstance(model, MonitoredModel):
        return draw_history(model, title, times)
    return draw_control(model, title, times, trace)


def largest(model: MonitoredModel, traces: Sequence[Trace], source_rows: dict[int, int]) -> Trace | None:
    """The trace of the alarm with the largest severity, with its row in the source."""
    peaks = {alarm.began: alarm.peak for alarm in model.alarms_}
    found = max(traces, key=lambda one: peaks.get(one.began, 0.0), default=None)
    return None if found is None else found._replace(source_row=source_rows.get(found.began))


def save_picture(figure: Figure, path: str, overwrite: bool) -> None:
    """Write a picture whole or not at all; an error if there is something already, without ``overwrite``."""
    from ..jobs.model_file import refuse_existing

    refuse_existing(path, overwrite)
    content = BytesIO()
    figure.savefig(content, format=Path(path).suffix[1:].lower())
    replace(path, content.getvalue())


def _drawn(job: Job, path: str, overwrite: bool, notes: list[str]) -> str | None:
    """Draw the picture; returns where it is, or None, with a note that says why there is none."""
    from ..jobs import RunError
    from ..jobs.fleet import FleetOverview
    from ..jobs.traces import Traces

    try:
        traces = next((one.found for one in job.watchers if isinstance(one, Traces)), ())
        fleet = next((one for one in job.watchers if isinstance(one, FleetOverview)), None)
        name = shown(job.source.name)
        trace = largest(job.model, traces, job.alarm_rows(job.model)) if traces else None
        figure = (
            drawn(job.model, name, job.times.at_all, trace)
            if fleet is None
            else _fleet_drawn(job, fleet.overview.glance(), name)
        )
        save_picture(figure, path, overwrite)
    except (ImportError, RunError) as error:
        notes.append(f"there is no picture: {in_words(error)}")
        return None
    return path


def _fleet_drawn(job: Job, glance: KeysAtOnce, name: str) -> Figure:
    """The picture of a fleet, with the traces of the largest alarm of the first key that has some."""
    from ..jobs.traces import FleetTraces
    from ..plotting import draw_fleet

    kept = next((one for one in job.watchers if isinstance(one, FleetTraces)), None)
    for number in glance.order.tolist() if kept is not None else ():
        key = glance.keys[number]
        if not glance.events[number] or kept is None:
            continue
        model = job.model.model(key)
        if trace := largest(model, kept.of(key, model), job.alarm_rows(model, key)):
            return draw_fleet(glance, name, (key, trace), job.places(key).times.at_all)
    return draw_fleet(glance, name)
