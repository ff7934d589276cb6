"""A monitor in words for people and in facts for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model.history import STATISTIC_NAMES
from ..monitoring import STATISTICS
from .summary import say

if TYPE_CHECKING:
    from rich.console import Console


def counted(model: Any) -> dict[str, int]:
    """Counts of a monitor since it began; empty before its first row."""
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


def watched(model: Any, before: dict[str, int] | None = None) -> dict[str, Any]:
    """The state of a monitor as plain values; it counts from what was there ``before`` on."""
    monitor, limits = model.monitor, model.monitor.limits
    facts = {name: count - (before or {}).get(name, 0) for name, count in counted(model).items()}
    judged = facts["watched"] - facts["unjudged"]
    return facts | {
        "learnt": model.tally_.learnt,
        "alarm_on": monitor.watch.counts,
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


def _number_of_alarms(alarms: int) -> str:
    return "no alarm" if not alarms else f"{alarms:,} alarm{'s' if alarms > 1 else ''}"


def _rows(number: int) -> str:
    return f"{number:,} row{'s' if number != 1 else ''}"


def alarms_in_words(facts: dict[str, Any]) -> str:
    """Number of alarms, and of the rows in them."""
    alarms = facts["alarms"]
    told = _number_of_alarms(alarms)
    told += ", one of them still on" if facts["alarm_on"] and alarms > 1 else ""
    told += ", still on" if facts["alarm_on"] and alarms <= 1 else ""
    told += f"; {_rows(facts['alarmed'])} alarmed ({facts['share_alarmed']:.2%} of those judged)"
    accepted = facts["accepted"]
    return told + (
        f"; a new normal accepted {accepted:,} time{'s' if accepted > 1 else ''}" if accepted else ""
    )


def rows_in_words(facts: dict[str, Any]) -> str:
    """Counts of the rows that were watched, by what became of them."""
    told = [f"{facts['watched']:,} watched"]
    others = {
        "unjudged": "not judged (before there were limits, or with gaps)",
        "skipped": "skipped for their gaps",
        "imputed": "learnt with gaps filled",
    }
    told += [f"{facts[name]:,} {how}" for name, how in others.items() if facts[name]]
    return f"{', '.join(told)}; the model has learnt from {facts['learnt']:,}"


def limits_in_words(facts: dict[str, Any]) -> str:
    """The limits as they are now, and the reason for those that are missing."""
    limits = {STATISTIC_NAMES[name]: limit for name, limit in facts["limits"].items()}
    known = ", ".join(f"{name} {limit:.4g}" for name, limit in limits.items() if limit is not None)
    if not known:
        return "none yet: there is no basis for one"
    missing = " and ".join(name for name, limit in limits.items() if limit is None)
    if not missing:
        return known
    if facts["rank"] == 0 and limits[STATISTIC_NAMES["t2"]] is None:
        # T² is measured within the components: without one, more rows of the same kind give no limit.
        return f"{known}; none for {missing}: at rank 0 there is no pattern to measure within"
    return f"{known}; none yet for {missing}: watch more normal rows first"


def print_watching(console: Console, facts: dict[str, Any]) -> None:
    """Print alarms, rows and limits of a monitor."""
    say(console, f"alarms: {alarms_in_words(facts)}", "bold")
    say(console, f"rows: {rows_in_words(facts)}")
    if total := facts.get("since_it_began"):
        alarms = _number_of_alarms(total["alarms"])
        told = f"{total['watched']:,} rows watched, {alarms}, {_rows(total['alarmed'])} alarmed"
        say(console, f"since the monitor began: {told}")
    say(console, f"limits: {limits_in_words(facts)}")
