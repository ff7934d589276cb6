"""Find the alpha that gives a certain rank or threshold."""

from __future__ import annotations

import json
from typing import Any

import click

from .options import (
    lags_option,
    missing_option,
    reading,
    require_enough,
    require_input,
    source_argument,
    source_options,
    standardize_option,
)
from .sections import Section, SectionedCommand
from .summary import table

MOST_COLUMNS = 10_000
"""Columns: the second moment of more takes over 800 MB."""


@click.command(cls=SectionedCommand, epilog="Example: eigenstream calibrate sensors.csv --components 3")
@source_argument(required=True)
@Section.LEARN.option(
    "--components", "n_components", type=click.IntRange(min=1), help="Number of components to keep."
)
@Section.LEARN.option("--threshold", type=float, help="Threshold on variances.")
@Section.LEARN.option("--center/--no-center", default=True, help="Subtract the mean.")
@standardize_option
@lags_option
@Section.SHOW.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@missing_option
@source_options
@click.pass_context
def calibrate(
    ctx: click.Context,
    /,
    source: str | list[str],
    n_components: int | None,
    threshold: float | None,
    center: bool,
    standardize: bool,
    lags: int,
    missing: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Find the alpha of each regularizer for a number of components.

    With --threshold, the alpha that puts the threshold on variances there. Reads the source once; it takes
    memory for the square of the number of columns.
    """
    import numpy as np

    from .. import calibrate_alpha
    from ..io import sources
    from ..io.files import shown
    from ..regularizers import REGULARIZERS

    if (n_components is None) == (threshold is None):
        raise click.UsageError("give either --components or --threshold")
    if missing == "impute":
        raise click.UsageError(
            "--missing impute needs a model: use skip, which leaves out rows that lack values"
        )
    require_input(source)
    with sources.open(source, reading(options), allow_nan=missing == "skip") as opened:
        moment = _second_moment(opened, center, lags, standardize)
        eigenvalues = np.maximum(np.linalg.eigvalsh(moment)[::-1], 0)
    found: dict[str, float | None] = {}
    for name in REGULARIZERS:
        try:
            found[name] = calibrate_alpha(eigenvalues, name, n_components=n_components, threshold=threshold)
        except ValueError as error:
            found[name] = None
            click.echo(f"{name}: {shown(str(error))}", err=True)
    if not any(alpha is not None for alpha in found.values()):
        raise click.ClickException("no regularizer can do that for this source")
    if as_json:
        print(json.dumps({"alpha": found, "eigenvalues": eigenvalues.tolist()}))
    else:
        _show(found, eigenvalues)
    require_enough(ctx, opened, options["skip_at_most"])


def _second_moment(source: Any, center: bool, lags: int, standardize: bool) -> Any:
    """The second moment of all rows of a source, beside their predecessors."""
    from ..io.sources import SourceError
    from ..model.calibration import second_moment

    n = source.width * (lags + 1)
    if n > MOST_COLUMNS:
        raise SourceError(f"{source.name}: {n:,} columns are too many to calibrate by; choose some of them")
    rows = (batch.rows for batch in source)
    moment = second_moment(rows, center=center, lags=lags, standardize=standardize)
    if moment is None:
        raise SourceError(f"{source.name} has no rows" + (" without gaps" if source.count else ""))
    return moment


def _show(found: dict[str, float | None], eigenvalues: Any) -> None:
    from rich.console import Console

    console = Console()
    shown = table("regularizer", "alpha")
    for name, alpha in found.items():
        shown.add_row(name, "none" if alpha is None else f"{alpha:.6g}")
    console.print(shown)
    listed = " ".join(f"{value:.4g}" for value in eigenvalues[:12])
    console.print(f"variances: {listed}{' ...' if len(eigenvalues) > 12 else ''}", highlight=False)
