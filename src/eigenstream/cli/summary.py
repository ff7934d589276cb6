"""What a model is, in words for people and in facts for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .hints import in_flags
from .tables import table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from rich.console import Console
    from rich.table import Table

    from ..jobs import Job, Outcome
    from ..jobs.learner import Model
    from ..model import StreamModel

SHOWN = 12
"""Rows of a table before it is cut short."""
RESTLESS = 100
"""Samples in which changes of rank say little."""
TIMED_FROM = 5.0
"""Seconds: a pace over less would be mostly that of the start."""

LARGEST = 4
"""How many inputs of a component are named."""


def input_names(model: StreamModel) -> list[str] | None:
    """What the inputs of a stored model are called, if it says so."""
    from ..jobs.continuation import Beginning
    from ..jobs.record import record_of

    return Beginning(model, record_of(model.position_), "").names


def times_of(position: Any) -> Callable[[ArrayLike], Any] | None:
    """Says when samples of a stored model were taken, if that is known."""
    from ..jobs.record import record_of
    from ..jobs.times import Times

    record = record_of(position)
    return None if record is None else Times(record.times).at_all


def loadings(model: Model, names: Sequence[str] | None, most: int = LARGEST) -> list[list[tuple[str, float]]]:
    """The inputs that make up each component: those with the largest loadings, by name or number."""
    import numpy as np

    from ..model.delays import input_names as delayed_names

    plan = model._fitted().plan
    named = delayed_names(names or [f"input {i}" for i in range(plan.width)], plan.lags)
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


def print_model(console: Console, model: Model, names: Sequence[str] | None, note: str) -> None:
    """Rank, threshold, spectrum, what components are made of, how the rank changed, and a note on it."""
    say(console, f"rank {model.n_components_}, threshold {model.threshold_:.4g}", "bold")
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
    """What became of the rows that a model was given."""
    tally = model.tally_
    others = {"with gaps filled": tally.imputed, "as capped outliers": tally.capped}
    told = [f"{tally.learnt:,} learnt", *(f"{n:,} of them {how}" for how, n in others.items() if n)]
    return ", ".join([*told, *([f"{tally.skipped:,} skipped for their gaps"] if tally.skipped else [])])


def story_told(model: Model) -> str:
    """What happened, for people who see it for the first time; rows in which a model begins are left out."""
    begun = [change.after for change in model.rank_history_ if change.sample <= RESTLESS]
    later = [change for change in model.rank_history_ if change.sample > RESTLESS]
    found = [f"{(begun or [0])[-1]} components", *(f"{c.after} from row {c.sample:,} on" for c in later)]
    fewer = any(change.after < change.before for change in later)
    forgetting = " It takes a while to forget components that have gone." if fewer else ""
    return (
        f"In {len(model.mean_)} noisy inputs it found {', then '.join(found)}. "
        f"Nobody told it how many there are: it reads that off the noise.{forgetting}"
    )


def rows_read(job: Job, outcome: Outcome, of: str) -> str:
    """How many rows came, and how fast: unless the time was short, or set by --rate."""
    told = f"{job.source.name}: {outcome.rows:,} rows of {of}"
    if outcome.seconds < TIMED_FROM or job.rate is not None:
        return told
    return f"{told}, {outcome.rows / outcome.seconds:,.0f} rows/s"


def nothing_new(job: Job) -> str:
    """What to say of a job that was resumed and had nothing left to do."""
    start, stop = job.request.reading.rows
    end = "its end" if stop is None else f"row {stop:,}, as --rows {start}:{stop} asks"
    return f"{job.source.name}: nothing new, it had been learnt to {end}"


def print_summary(
    console: Console, job: Job, outcome: Outcome, notes: list[str], picture: str | None
) -> None:
    """A summary of a job."""
    source = job.source
    if outcome.rows or job.position is None:
        say(console, rows_read(job, outcome, f"{source.width} numbers"))
    else:
        say(console, nothing_new(job), "yellow")
    note = job.model.advice_ or job.model._fitted().second_opinion()
    print_model(console, job.model, job.names or source.names, note)
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
    if job.request.source is None and outcome.signal is None:
        say(console, story_told(job.model), "bold")
    if outcome.signal is not None:
        again = " Continue with --resume." if job.file else ""
        say(console, f"stopped before the end.{again}", "yellow")
