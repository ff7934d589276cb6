"""What came of watching, in words for people and in facts for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model.history import STATISTIC_NAMES
from ..monitoring import STATISTICS, MonitoredModel
from .hints import in_flags
from .summary import nothing_new, rows_read, say

if TYPE_CHECKING:
    from rich.console import Console

    from ..jobs import Job, Outcome


def counted(model: Any) -> dict[str, int]:
    """What a monitor has counted since it began; nothing before its first row."""
    monitor = model.monitor
    if monitor is None:
        return {}
    counts, tally = monitor.counts, model.tally_
    return {
        "watched": counts.came,
        "unjudged": counts.unjudged,
        "skipped": tally.skipped,
        "imputed": tally.imputed,
        "alarms": counts.alarms,
        "alarmed": counts.alarmed,
        "accepted": counts.accepted,
    }


def counted_before(job: Job) -> dict[str, int]:
    """What a monitor had counted that is no part of this job; an alarm that is on is a part of it."""
    counts = counted(job.model)
    if counts.get("watched", 0) == job.source.count:
        return {}
    return counts | {"alarms": counts["alarms"] - _alarm_is_on(job.model)}


def _alarm_is_on(model: Any) -> bool:
    on = model.monitor.watch.on
    return on is not None and on.counts_from is not None


def watched(model: Any, before: dict[str, int] | None = None) -> dict[str, Any]:
    """The state of a monitor as plain values; it counts from what was there ``before`` on."""
    monitor, limits = model.monitor, model.monitor.limits
    facts = {name: count - (before or {}).get(name, 0) for name, count in counted(model).items()}
    judged = facts["watched"] - facts["unjudged"]
    return facts | {
        "learnt": model.tally_.learnt,
        "alarm_on": _alarm_is_on(model),
        "share_alarmed": facts["alarmed"] / judged if judged else 0.0,
        "rank": model.n_components_,
        "threshold": model.threshold_,
        "drift": monitor.drift,
        "frozen": monitor.frozen,
        "limits": {
            name: float(limit) if told else None
            for name, limit, told in zip(STATISTICS, limits.values, limits.told, strict=True)
        },
        **({"since_it_began": counted(model)} if before else {}),
    }


def _how_many_alarms(alarms: int) -> str:
    return "no alarm" if not alarms else f"{alarms:,} alarm{'s' if alarms > 1 else ''}"


def _rows(number: int) -> str:
    return f"{number:,} row{'s' if number != 1 else ''}"


def alarms_in_words(facts: dict[str, Any]) -> str:
    """How many alarms there were, and how many rows were in them."""
    alarms = facts["alarms"]
    told = _how_many_alarms(alarms)
    told += ", one of them still on" if facts["alarm_on"] and alarms > 1 else ""
    told += ", still on" if facts["alarm_on"] and alarms <= 1 else ""
    told += f"; {_rows(facts['alarmed'])} alarmed ({facts['share_alarmed']:.2%} of those judged)"
    accepted = facts["accepted"]
    return told + (
        f"; a new normal accepted {accepted:,} time{'s' if accepted > 1 else ''}" if accepted else ""
    )


def rows_in_words(facts: dict[str, Any]) -> str:
    """What became of the rows that were watched."""
    told = [f"{facts['watched']:,} watched"]
    others = {
        "unjudged": "not judged (before there were limits, or with gaps)",
        "skipped": "skipped for their gaps",
        "imputed": "learnt with gaps filled",
    }
    told += [f"{facts[name]:,} {how}" for name, how in others.items() if facts[name]]
    return f"{', '.join(told)}; the model has learnt from {facts['learnt']:,}"


def limits_in_words(facts: dict[str, Any]) -> str:
    """The limits as they are now."""
    limits = {STATISTIC_NAMES[name]: limit for name, limit in facts["limits"].items()}
    told = ", ".join(f"{name} {limit:.4g}" for name, limit in limits.items() if limit is not None)
    if not told:
        return "none yet: there is no basis for one"
    missing = [name for name, limit in limits.items() if limit is None]
    return told + (f"; none yet for {' and '.join(missing)}: watch more normal rows first" if missing else "")


def print_watching(console: Console, facts: dict[str, Any]) -> None:
    """Alarms, rows and limits of a monitor."""
    say(console, f"alarms: {alarms_in_words(facts)}", "bold")
    say(console, f"rows: {rows_in_words(facts)}")
    if total := facts.get("since_it_began"):
        alarms = _how_many_alarms(total["alarms"])
        told = f"{total['watched']:,} rows watched, {alarms}, {_rows(total['alarmed'])} alarmed"
        say(console, f"since the monitor began: {told}")
    say(console, f"limits: {limits_in_words(facts)}")


def print_watched(
    console: Console,
    job: Job,
    before: dict[str, int],
    outcome: Outcome,
    notes: list[str],
    picture: str | None,
) -> None:
    """A summary of a job that watched, by a monitor that had counted this ``before``."""
    assert isinstance(job.model, MonitoredModel)
    source, facts = job.source, watched(job.model, before)
    if outcome.rows or job.position is None:
        say(console, rows_read(job, outcome, f"{source.width} numbers"))
    else:
        say(console, nothing_new(job), "yellow")
    print_watching(console, facts)
    if source.skipped:
        say(console, f"rows left out: {source.skipped:,}")
    still = "; it stands still" if facts["frozen"] else ""
    say(
        console,
        f"rank {facts['rank']}, threshold {facts['threshold']:.4g}, drift {facts['drift']:.2f}{still}",
    )
    places = {"verdicts": job.request.output, "model": job.file and job.file.path, "picture": picture}
    for what, where in places.items():
        if where:
            say(console, f"{what}: {where}")
    if job.model.advice_:
        say(console, f"note: {in_flags(job.model.advice_)}", "yellow")
    for note in notes:
        say(console, f"note: {note}", "yellow")
    if outcome.signal is not None:
        again = " Continue with --resume." if job.file else ""
        say(console, f"stopped before the end.{again}", "yellow")
