"""A fleet as a file: four units with times, of which two go wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np

INPUTS = ["a", "b", "c", "d"]
UNITS = [f"unit {i}" for i in range(4)]
FAULTY, LATE = UNITS[1], UNITS[2]
"""One whose input c goes wrong three times, and one whose input d goes wrong at last and stays so."""
TIME = 1_700_000_000
HEAD = ",".join(["unit", "when", *INPUTS]) + "\n"


def fleet_lines(rows: int = 600) -> list[str]:
    """Lines of CSV, for each of so many rows one of each unit, ten seconds after the one before."""
    X = np.random.default_rng(1).standard_normal((rows, len(UNITS), 4)) * [4.0, 3.0, 0.5, 0.5]
    for first in (300, 400, 500):
        X[first : first + 10, 1, 2] += 30.0
    X[-10:, 2, 3] += 30.0
    return [
        f"{unit},{TIME + 10 * row + number},{','.join(map(repr, X[row, number].tolist()))}\n"
        for row in range(rows)
        for number, unit in enumerate(UNITS)
    ]


def write_fleet(path: Path) -> None:
    path.write_text(HEAD + "".join(fleet_lines()))
