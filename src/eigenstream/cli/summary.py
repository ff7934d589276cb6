"""A model or a monitor in words for people and in facts for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

from .hints import in_flags

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..jobs.stage import Model

SHOWN = 12
"""Rows of a table before it is cut short."""
RESTLESS = 100
"""Samples at the beginning in which changes of rank say little: the noise is not known yet."""
LARGEST = 4
"""Inputs of a component that are named."""


def table(first: str, *others: str) -> Table:
    """An empty table, plain enough for programs: the first column to the left, the others to the right."""
    from rich.table import Table

    empty = Table(box=None, padding=(0, 1, 0, 0))
    empty.add_column(first, no_wrap=True)
    for heading in others:
        empty.add_column(heading, justify="right", no_wrap=True)
    return empty


def numbers(width: int) -> str:
    """The width of rows in words."""
    return f"{width:,} number{'s' if width != 1 else ''}"


def loadings(model: Model, names: Sequence[str] | None, most: int = LARGEST) -> list[list[tuple[str, float]]]:
    """The inputs with the largest loadings of each component, by name."""
    import numpy as np

    from ..model.delays import input_names

    plan = model.fitted().plan
    named = input_names(names or [f"x{i}" for i in range(plan.width)], plan.lags)
    found = []
    for axis in model.components_:
        largest = np.argsort(-np.abs(axis), kind="stable")[:most]
        found.append([(named[i], float(axis[i])) for i in largest.tolist()])
    return found


def described(model: Model, names: Sequence[str] | None = None) -> dict[str, Any]:
    """The state of a model as plain values."""
    return {
        "loadings": [dict(one) for one in loadings(model, names)],
        "samples": model.n_samples_seen_,
        "samples_effective": model.n_samples_effective_,
        "features": model.n_features_in_,
        "rank": model.n_components_,
        "threshold": model.threshold_,
        "alpha": model.alpha_,
        "explained_variance": [float(value) for value in model.explained_variance_],
        "explained_variance_ratio": [float(value) for value in model.explained_variance_ratio_],
        "noise_variance": float(model.noise_variance_),
        "spectrum": [float(value) for value in model.spectrum_],
        "rank_history": [list(change) for change in model.rank_history_],
        "tally": asdict(model.tally_),
        "other_ranks": model.other_ranks_,
        "advice": model.advice_,
    }


def say(console: Console, text: str, style: str = "") -> None:
    """Print a line as it is: names of files are not to be taken for markup."""
    from ..io.files import shown

    console.print(shown(text), style=style, markup=False, highlight=False, soft_wrap=True)


def spectrum_table(model: Model) -> Table:
    """Table of the components kept, and of the rest."""
    shown = table("component", "variance", "share of total", "after shrinking")
    shares, rest = model.explained_variance_ratio_, len(model.mean_) - model.n_components_
    columns = zip(model.explained_variance_, shares, model.output_variance_, strict=True)
    for i, (variance, share, shrunk) in enumerate(list(columns)[:SHOWN]):
        shown.add_row(str(i), f"{variance:.4g}", f"{share:.1%}", f"{shrunk:.4g}")
    if model.n_components_ > SHOWN:
        shown.caption = f"the first {SHOWN} of {model.n_components_} components"
    if rest:
        noise = f"{model.noise_variance_:.4g}"
        shown.add_row(f"the other {rest}, mean", noise, f"{1 - shares.sum():.1%}", "0")
    return shown


def rank_story(model: Model) -> str:
    """Changes of the rank, without its restless beginning."""
    changes = model.rank_history_
    told = [f"{c.before} → {c.after} at {c.sample:,}" for c in changes if c.sample > RESTLESS][-6:]
    if not told and changes:
        told = [f"{changes[-1].after} since sample {changes[-1].sample:,}"]
    if changes and changes[-1].after != model.n_components_:
        told.append(f"{model.n_components_} now")  # decided after the last look of the stream
    return ", ".join(told) or f"{model.n_components_} throughout"


def print_model(console: Console, model: Model, names: Sequence[str] | None, note: str) -> None:
    """Print rank, threshold, spectrum, loadings, changes of the rank, and a note on it."""
    say(console, f"rank {model.n_components_}, threshold {model.threshold_:.4g}", "bold")
    worth = model.fitted().worth()
    if worth and worth[1:] not in note:
        say(console, worth)
    console.print(spectrum_table(model))
    if model.n_components_:
        say(console, "largest loadings (squares of all add up to 1):")
    for i, made_of in enumerate(loadings(model, names)[:SHOWN]):
        say(console, f"  component {i}: " + ", ".join(f"{value:+.2f} {name}" for name, value in made_of))
    say(console, f"rank over time: {rank_story(model)}")
    say(console, f"rows: {rows_told(model)}")
    if note:
        say(console, f"note: {in_flags(note)}", "yellow")


def rows_told(model: Model) -> str:
    """Counts of the rows that a model was given: learnt, filled, capped, skipped."""
    tally = model.tally_
    others = {"with gaps filled": tally.imputed, "as capped outliers": tally.capped}
    told = [f"{tally.learnt:,} learnt", *(f"{n:,} of them {how}" for how, n in others.items() if n)]
    return ", ".join([*told, *([f"{tally.skipped:,} skipped for their gaps"] if tally.skipped else [])])


def counted(model: Any) -> dict[str, int]:
    """Counts of a monitor since it began; empty before its first row."""
    monitor = model.monitor
    if monitor is None:
        return {}
    counts, tally = monitor.counts, model.tally_
    told = {"watched": counts.came, "unjudged": counts.unjudged}
    told |= {"skipped": tally.skipped, "imputed": tally.imputed}
    told |= {"held": counts.held, "elsewhere": counts.elsewhere, "capped": counts.capped}
    return told | {"alarms": counts.alarms, "alarmed": counts.alarmed, "accepted": counts.accepted}


def watched(model: Any, before: dict[str, int] | None = None) -> dict[str, Any]:
    """The state of a monitor as plain values; it counts from what was there ``before`` on."""
    from ..monitoring import STATISTICS

    monitor, limits = model.monitor, model.monitor.limits_now()
    facts = {name: count - (before or {}).get(name, 0) for name, count in counted(model).items()}
    judged = facts["watched"] - facts["unjudged"]
    return facts | {
        "learnt": model.tally_.learnt,
        "alarm_on": monitor.watch.counts,
        "share_alarmed": facts["alarmed"] / judged if judged else 0.0,
        "rank": model.n_components_,
        "threshold": model.threshold_,
        "drift": monitor.drift._asdict(),
        "drifting": monitor.watch.drift is not None,
        "frozen": monitor.frozen,
        "features": model.n_features_in_,
        "limits": {
            name: float(limit) if isfinite(limit) else None
            for name, limit in zip(STATISTICS, limits, strict=True)
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
        "held": "not learnt, as rows of a fault",
        "elsewhere": "not learnt, as rows of a normal of before",
        "capped": "learnt with less weight, as they exceeded a limit",
    }
    told += [f"{facts[name]:,} {how}" for name, how in others.items() if facts[name]]
    return f"{', '.join(told)}; the model has learnt from {facts['learnt']:,}"


def limits_in_words(facts: dict[str, Any]) -> str:
    """The limits as they are now, and the reason for those that are missing."""
    from ..model.history import STATISTIC_NAMES

    limits = {STATISTIC_NAMES[name]: limit for name, limit in facts["limits"].items()}
    known = ", ".join(f"{name} {limit:.4g}" for name, limit in limits.items() if limit is not None)
    if not known:
        return "none yet: there is no basis for one"
    missing = [name for name, limit in limits.items() if limit is None]
    if missing and facts["features"] == 1:
        return f"{known}; none for {' and '.join(missing)}: one input has no pattern that a row could be off"
    if facts["rank"] == 0 and (within := STATISTIC_NAMES["t2"]) in missing:
        # T² is measured within the components: without one, more rows of the same kind give no limit.
        known += f"; none for {within}: at rank 0 there is no pattern to measure within"
        missing.remove(within)
    if not missing:
        return known
    return f"{known}; none yet for {' and '.join(missing)}: watch more normal rows first"


def print_watching(console: Console, facts: dict[str, Any]) -> None:
    """Print alarms, rows and limits of a monitor."""
    say(console, f"alarms: {alarms_in_words(facts)}", "bold")
    say(console, f"rows: {rows_in_words(facts)}")
    if total := facts.get("since_it_began"):
        alarms = _number_of_alarms(total["alarms"])
        told = f"{total['watched']:,} rows watched, {alarms}, {_rows(total['alarmed'])} alarmed"
        say(console, f"since the monitor began: {told}")
    say(console, f"limits: {limits_in_words(facts)}")
    say(console, f"drift: {drift_in_words(facts)}")


# Of calm streams limits rise by less; twice as high where tails are long.
RISEN = 2.0
"""Factor by which limits have risen that is worth a word."""


def drift_in_words(facts: dict[str, Any]) -> str:
    """The distance of the model from its anchor, the first normal, in words."""
    level, spread, directions, limits = facts["drift"].values()
    told = f"an input's mean by up to {level:.2g} of its standard deviations, its spread by a factor of up to"
    told += f" {spread:.3g}, {directions:.2g} of the components"
    if limits > RISEN:
        told += (
            f"; limits are {limits:.2g} times as high as they were: rows exceeded them too often, and faults"
        )
        told += " that did then may not now (--freeze-after keeps them)"
    return told + ("; rows leave the first normal while the model follows them" if facts["drifting"] else "")
