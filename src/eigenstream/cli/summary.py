"""What a model is, in words for people and in facts for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .tables import table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..running import Job, Outcome
    from ..running.learner import Model

SHOWN = 12
"""Rows of a table before it is cut short."""
RESTLESS = 100
"""Samples in which changes of rank say little."""


def described(model: Model) -> dict[str, Any]:
    """The state of a model as plain values."""
    return {
        "samples": model.n_samples_seen_,
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
    from ..files import shown

    console.print(shown(text), style=style, markup=False, highlight=False, soft_wrap=True)


def spectrum_table(model: Model) -> Table:
    """Components kept, and what is left."""
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
    """How the rank got where it is; the restless beginning left out."""
    changes = model.rank_history_
    told = [f"{c.before} → {c.after} at {c.sample:,}" for c in changes if c.sample > RESTLESS][-6:]
    if not told and changes:
        told = [f"{changes[-1].after} since sample {changes[-1].sample:,}"]
    if changes and changes[-1].after != model.n_components_:
        told.append(f"{model.n_components_} now")  # decided after the last look of the stream
    return ", ".join(told) or "no change on record"


def print_model(console: Console, model: Model) -> None:
    """Rank, threshold, spectrum and how the rank changed."""
    say(console, f"rank {model.n_components_}, threshold {model.threshold_:.4g}", "bold")
    console.print(spectrum_table(model))
    say(console, f"rank over time: {rank_story(model)}")
    say(console, f"rows: {rows_told(model)}")
    if model.advice_:
        say(console, f"note: {model.advice_}", "yellow")


def rows_told(model: Model) -> str:
    """What became of the rows that a model was given."""
    tally = model.tally_
    others = {"with gaps filled": tally.imputed, "as capped outliers": tally.capped}
    told = [f"{tally.learnt:,} learnt", *(f"{n:,} of them {how}" for how, n in others.items() if n)]
    return ", ".join([*told, *([f"{tally.skipped:,} skipped for their gaps"] if tally.skipped else [])])


def print_summary(
    console: Console, job: Job, outcome: Outcome, notes: list[str], picture: str | None
) -> None:
    """A summary of a job."""
    source = job.source
    pace = f"{outcome.rows / max(outcome.seconds, 1e-9):,.0f} rows/s"
    say(console, f"{source.name}: {outcome.rows:,} rows of {source.width} numbers, {pace}")
    print_model(console, job.model)
    if source.skipped:
        say(console, f"rows left out: {source.skipped:,}")
    if outcome.learnt < outcome.rows:
        missing = f"{outcome.rows - outcome.learnt:,} of {outcome.rows:,} rows lack values"
        advice = ": choose other --columns, or --missing impute" if not outcome.learnt else ""
        say(console, f"note: {missing} and were not learnt from{advice}", "yellow")
    places = {"scores": job.request.output, "model": job.file and job.file.path, "picture": picture}
    for what, where in places.items():
        if where:
            say(console, f"{what}: {where}")
    for note in notes:
        say(console, f"note: {note}", "yellow")
    if outcome.signal is not None:
        again = " Continue with --resume." if job.file else ""
        say(console, f"stopped before the end.{again}", "yellow")
