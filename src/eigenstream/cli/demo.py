"""A first look: the paper's stream, all at once and sample by sample."""

from __future__ import annotations

from collections.abc import Iterable

import click

from .tables import table


@click.command()
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

    from .. import AdaptivePCA, OnlineAdaptivePCA, streams
    from ..regularizers import REGULARIZERS

    X = np.vstack(list(streams.paper_stream(samples, random_state=seed)))
    console = Console()
    shown = table("regularizer", "solved", "alpha", "threshold", "rank", "eigenvalues in", "out")
    shown.title = f"{samples:,} samples of {X.shape[1]} inputs"
    shown.caption = "the paper's stream: 4 components, variances 6, 5, 4, 2, in coloured noise"
    for name in REGULARIZERS:
        for solved, model in (
            ("offline", AdaptivePCA(name)),
            ("online", OnlineAdaptivePCA(name, random_state=0)),
        ):
            with console.status(f"{name}, {solved}"):
                model.fit(X)
            shown.add_row(
                name if solved == "offline" else "",
                solved,
                f"{model.alpha_:.3f}",
                f"{model.threshold_:.3f}",
                str(model.n_components_),
                _listed(model.explained_variance_),
                _listed(model.output_variance_),
            )
    console.print(shown)


def _listed(values: Iterable[float]) -> str:
    return " ".join(f"{v:.1f}" for v in values)
