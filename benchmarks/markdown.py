"""Tables, and figures beside their targets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

NUMBER = re.compile(r"\**[-+]?[\d.,]+(e[-+]?\d+)?( ?%|x)?\**|")
"""A cell of figures: a number, a share, a ratio, one of them in bold, or nothing."""


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table: numbers to the right, all else and the first column to the left."""
    cells = [[str(cell) for cell in row] for row in rows]
    columns = [[row[i] for row in cells] for i in range(1, len(headings))]
    lines = [headings, ["---", *map(_alignment, columns)], *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _alignment(column: Sequence[str]) -> str:
    return "---:" if all(map(NUMBER.fullmatch, column)) else "---"


def number(value: float) -> str:
    """Three digits, in plain notation while that is readable."""
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def mark(met: bool) -> str:
    return "met" if met else "**missed**"


def size(n: int, k: int) -> str:
    return f"({n}, {k})"
