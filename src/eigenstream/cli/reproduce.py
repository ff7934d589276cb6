"""The paper, item by item."""

from __future__ import annotations

import click

from .tables import table


@click.command()
def reproduce() -> None:
    """Print what Section III of the paper states, computed: Table 1 and the transmission curve.

    Example: eigenstream reproduce
    """
    from rich.console import Console

    from .. import theory
    from ..regularizers import REGULARIZERS

    a, b, n1, n2 = 1.0, 0.2, 10, 54
    rows = table("regularizer", "alpha from", "to", "output top eigenvalue there")
    rows.title = f"Table 1 at a = {a}, b = {b}, n1 = {n1}, n2 = {n2}"
    for row in theory.alpha_table(a, b, n1, n2):
        top = row.output_top_eigenvalue(row.low)
        rows.add_row(row.regularizer.name, f"{row.low:.4g}", f"{row.high:.4g}", f"{top:.4g}")

    curve = table("regularizer", "5,050 pairs, a >= b", "4,950 pairs, a > b")
    curve.title = "Transmission: nearest point to (no noise, all signal)"
    for name in REGULARIZERS:
        points = (theory.transmission_curve(name, strict=s).nearest_to_ideal() for s in (False, True))
        curve.add_row(name, *(f"({noise:.4f}, {signal:.4f})" for noise, signal in points))
    Console().print(rows, "", curve)
