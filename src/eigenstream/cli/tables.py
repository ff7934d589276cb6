"""Tables on the terminal, plain enough to be read by a program too."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def table(first: str, *others: str) -> Table:
    """An empty table: the first column to the left, the others to the right."""
    from rich.table import Table

    empty = Table(box=None, padding=(0, 1, 0, 0))
    empty.add_column(first, no_wrap=True)
    for heading in others:
        empty.add_column(heading, justify="right", no_wrap=True)
    return empty
