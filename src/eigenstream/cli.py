"""The command line. Heavy imports stay inside the commands, so that ``--help`` is instant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.table import Table


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="eigenstream")
def main() -> None:
    """Streaming PCA that finds its own number of components."""


@main.command()
@click.option(
    "--samples", default=5000, show_default=True, type=click.IntRange(min=2), help="Length of the stream."
)
@click.option("--seed", default=0, show_default=True, help="Seed of the stream.")
def demo(samples: int, seed: int) -> None:
    """Find the components of the paper's stream, all at once and sample by sample.

    Example: eigenstream demo --samples 2000
    """
    import numpy as np
    from rich.console import Console

    from . import AdaptivePCA, OnlineAdaptivePCA, streams
    from .regularizers import REGULARIZERS

    X = np.vstack(list(streams.paper_stream(samples, random_state=seed)))
    console = Console()
    table = _table("regularizer", "solved", "alpha", "threshold", "rank", "eigenvalues in", "out")
    table.title = f"{samples:,} samples of {X.shape[1]} inputs"
    table.caption = "the paper's stream: 4 components, variances 6, 5, 4, 2, in coloured noise"
    for name in REGULARIZERS:
        for solved, model in (
            ("offline", AdaptivePCA(name)),
            ("online", OnlineAdaptivePCA(name, random_state=0)),
        ):
            with console.status(f"{name}, {solved}"):
                model.fit(X)
            table.add_row(
                name if solved == "offline" else "",
                solved,
                f"{model.alpha_:.3f}",
                f"{model.threshold_:.3f}",
                str(model.n_components_),
                _listed(model.explained_variance_),
                _listed(model.output_variance_),
            )
    console.print(table)


@main.command()
def reproduce() -> None:
    """Print what Section III of the paper states, computed: Table 1 and the transmission curve.

    Example: eigenstream reproduce
    """
    from rich.console import Console

    from . import theory
    from .regularizers import REGULARIZERS

    a, b, n1, n2 = 1.0, 0.2, 10, 54
    rows = _table("regularizer", "alpha from", "to", "output top eigenvalue there")
    rows.title = f"Table 1 at a = {a}, b = {b}, n1 = {n1}, n2 = {n2}"
    for row in theory.alpha_table(a, b, n1, n2):
        top = row.output_top_eigenvalue(row.low)
        rows.add_row(row.regularizer.name, f"{row.low:.4g}", f"{row.high:.4g}", f"{top:.4g}")

    curve = _table("regularizer", "5,050 pairs, a >= b", "4,950 pairs, a > b")
    curve.title = "Transmission: nearest point to (no noise, all signal)"
    for name in REGULARIZERS:
        points = (theory.transmission_curve(name, strict=s).nearest_to_ideal() for s in (False, True))
        curve.add_row(name, *(f"({noise:.4f}, {signal:.4f})" for noise, signal in points))
    Console().print(rows, "", curve)


def _table(first: str, *others: str) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True)
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _listed(values: Iterable[float]) -> str:
    return " ".join(f"{v:.1f}" for v in values)
