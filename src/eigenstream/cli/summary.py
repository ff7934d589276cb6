"""A model in words for people and in facts for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .hints import in_flags
from .tables import table

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
