"""Inputs to blame, by reconstruction: by how much does a distance fall if an input is given its best value?

For a distance ``z' M z`` the best value of input i takes ``(M z)_i² / M_ii`` away (Alcala and Qin 2009,
doi:10.1016/j.automatica.2009.02.027). The input of a fault in one sensor is first once the fault is large,
which is not true of parts that add up. For faults in several, inputs are reconstructed one after the other.
What is reconstructed is the way of the last rows of an alarm from the mean that was normal before it. From
the average of the last rows before, which an alarm that comes late has spoilt, the right sensor was first in
fewer cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..learners.knowledge import Floats, Matrix, Vector
from .events import Contributors
from .reference import Reference

# They fit on a line, and a fault of one sensor shows in few others.
BLAMED = 5
"""Number of inputs that an alarm names."""

# A share of what is to be explained: rounding names nobody. At 0.02 the second of two sensors that failed was
# not named in a tenth of the cases.
LEAST = 0.001
"""An input that explains less is not named."""

Readings = tuple[tuple[str, float, float], ...]
"""Inputs with what they read, and what they should read."""


class Blame(NamedTuple):
    """Inputs to blame for some rows."""

    contributors: Contributors
    readings: Readings
    distance: float
    """The mean distance of the rows from the mean before, of which the shares are."""


def blame(reference: Reference, rows: Floats, before: Vector, names: Sequence[str], width: int) -> Blame:
    """Inputs to blame for rows that share a fault, the one that explains most first.

    Parameters
    ----------
    reference
        Reference that they were judged by.
    rows
        The rows, with their predecessors if the model has lags.
    before
        The mean that was normal before the fault.
    names
        Names of the inputs; empty: x0, x1, and so on.
    width
        Number of inputs, lags not counted.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        Z = reference.standardized(rows) - reference.standardized(before[None])
        largest = float(np.abs(Z).max(initial=0.0))
        Z = Z / largest if largest > 0 else Z  # of rows that are nearly infinitely far off, too
        chosen, shares, values, total = _reconstructed(reference, Z)
        distance = total * largest / max(len(Z), 1) * largest
    called = names or [f"x{i}" for i in range(width)]
    scale = np.ones(len(before)) if reference.scale is None else reference.scale
    contributors: dict[str, float] = {}
    readings: dict[str, tuple[float, float]] = {}
    for i, share, value in zip(chosen, shares, values, strict=True):
        name = called[i % width]
        contributors[name] = contributors.get(name, 0.0) + share
        reads = float(np.mean(rows[:, i], dtype=np.float64))
        readings.setdefault(name, (reads, reads - float(scale[i]) * value * largest))
    ordered = sorted(contributors.items(), key=lambda pair: -pair[1])
    return Blame(tuple(ordered), tuple((name, *readings[name]) for name, _ in ordered), distance)


def _reconstructed(reference: Reference, Z: Matrix) -> tuple[list[int], list[float], list[float], float]:
    """Inputs to reconstruct, shares of all distances that they take away, mean errors, and all distances."""
    A, D = reference.precise(Z), reference.precision.copy()
    total = max(float(np.einsum("ij,ij->", Z, A)), np.finfo(np.float64).tiny)
    least = 1e-9 * float(D.max(initial=0.0))
    chosen: list[int] = []
    shares: list[float] = []
    steps: list[Vector] = []
    columns: list[Vector] = []
    for _ in range(min(BLAMED, len(D))):
        gains = np.where(D > least, np.einsum("ij,ij->j", A, A) / np.maximum(D, least), 0.0)
        gains[chosen] = 0.0
        i = int(np.argmax(gains))
        share = float(gains[i]) / total
        if chosen and not share >= LEAST:
            break
        column = reference.precise_column(i)
        columns.append(column)
        for step in steps:
            column = column - step * step[i]
        step = column / np.sqrt(D[i])
        A, D = A - np.outer(A[:, i] / np.sqrt(D[i]), step), D - np.square(step)
        chosen.append(i)
        shares.append(share)
        steps.append(step)
    M = np.stack(columns)[:, chosen]
    errors = np.linalg.lstsq(M, reference.precise(Z.mean(axis=0)[None])[0][chosen], rcond=None)[0]
    return chosen, shares, errors.tolist(), total
