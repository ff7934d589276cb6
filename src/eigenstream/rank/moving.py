"""Components that move together from row to row, however little a row says.

Independent inputs have no components in their differences either, and differences of slow inputs are nearly
independent of each other: many samples where rows are worth few. So a component of the rows that the number
of independent rows leaves in doubt is one if differences vary along it more than independent inputs' could.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..array_types import Matrix
from ..learners.knowledge import Profile
from ..learners.moves import Moves
from .edges import TINY, edges_at, independence_edges, independent_samples
from .evidence import Evidence, Vector
from .rule import Rule

# Differences per input. Of fewer, the edge is above twice the mean, and axes are those of a handful of rows.
PER_INPUT = 2
"""Independent differences for each input that there must be."""

# A correlation. Guards a division; 1,000 differences are then worth two.
SLOWEST = 0.999
"""Differences that follow each other more closely count as if by this much."""

# A share of the whole. Guards divisions where axes are not known, or differences vanish along some.
ROUNDING = 1e-12
"""Share of the moves along axes that is nothing but rounding."""

Margins = Callable[[float], tuple[float, float, float]]
"""By the number of samples: factors above independent inputs and above neighbours; and by how much the second
may exceed the edge at most, in units of the noise."""


def moving_ratios(evidence: Evidence, margins: Margins, neighbours: int, least: int, most: int) -> Vector:
    """Factor by which differences of one stream vary more than by chance, along its first 1, 2, ... axes.

    Along *all* directions in their span: the smallest eigenvalue of the differences' second moment within
    the first p axes has to pass the lines that the p-th eigenvalue of rows has to pass, drawn for what the
    first p - 1 axes leave of the differences. It is at most the p-th largest of all, so that it is no larger
    by chance, whatever the axes are. Zeros where nothing is known.

    Parameters
    ----------
    evidence
        What is known of the stream.
    margins
        Factors of the lines.
    neighbours
        Eigenvalues further down with which one is compared.
    least, most
        Numbers of components that are certain without differences, and that there are at most.
    """
    ratios, moves, n = np.zeros(evidence.variances.shape), evidence.moves, evidence.n_inputs
    if moves is None or not moves.known or moves.number < PER_INPUT * n:
        return ratios
    k = moves.along.shape[-1]
    last = min(most, k, n - 1)  # behind all of them nothing is left that lines could follow from
    doubtful = [p for p in _doubtful(moves, n, last) if p > least] if last > least else []
    if not doubtful:
        return ratios
    count = float(moves.totals[0])
    spectrum = np.linalg.eigvalsh(moves.along[0] / count)[::-1].tolist()
    for p in reversed(doubtful):
        along, V = np.linalg.eigh(moves.along[0, :p, :p] / count)
        below = spectrum[p - 1 + neighbours] if p - 1 + neighbours < k else 0.0
        left = _left(moves, along[1:], V[:, 1:])
        line = _line(left, below, n, moves.number, margins, neighbours)
        if along[0] > line:
            ratios[:p] = along[0] / line
            break
    return ratios


def rank_of_moves(evidence: Evidence, rule: Rule) -> int | None:
    """Number of components that differences from row to row have by themselves, by the rule of the rows.

    None where they are not known in all directions, as of wide input, or where there are none.
    """
    moves, n = evidence.moves, evidence.n_inputs
    if moves is None or not moves.known or moves.along.shape[-1] < n or moves.shared.shape[-1] != n:
        return None
    count, inputs = float(moves.totals[0]), moves.inputs / float(moves.totals[0])
    lam, V = np.linalg.eigh(moves.along[0] / count)
    known = lam > ROUNDING * max(float(lam[-1]), TINY)
    lam, V = lam[known][::-1], V[:, known][:, ::-1]
    if not len(lam):
        return None
    held = np.square(V.T @ moves.shared / count) / lam[:, None]
    rho = min(abs(float(moves.totals[2]) / count) / float(inputs.sum()), SLOWEST)
    found = Evidence(
        lam,
        float(lam.sum()),
        min(evidence.capacity, len(lam)),
        n,
        moves.number,
        input_variances=inputs,
        profile=Profile(inputs, held, np.ones(n)),
        persistence=np.array([(1 + rho * rho) / (1 - rho * rho)]),
        standardized=evidence.standardized,
    )
    return min(rule.judge(found).rank(), found.capacity)


def _doubtful(moves: Moves, n: int, last: int) -> list[int]:
    """Numbers p of components for which differences may pass their line.

    What is left of those along an axis after the axes before it is no less than the smallest eigenvalue, and
    no line is below that of even noise as all p leave it.
    """
    along, shared = moves.along[0, :last, :last], moves.shared[:last]
    ridge = max(ROUNDING * float(np.trace(along)), TINY)
    L = np.linalg.cholesky(along + ridge * np.eye(last))
    explained = np.square(np.linalg.inv(L) @ shared).sum(axis=-1).cumsum()
    even = (moves.inputs.sum() - explained) / (n - 1 - np.arange(last)) * (1 + (n / moves.number) ** 0.5) ** 2
    return (np.flatnonzero(np.square(np.diagonal(L)) > even) + 1).tolist()


class Left(NamedTuple):
    """Moves without what follows from those along some axes."""

    number: int
    """Number of these axes."""
    inputs: Vector
    """Mean square of each input's (n)."""
    following: float
    """Mean product with the moves before, over all inputs."""


def _left(moves: Moves, along: Vector, V: Matrix) -> Left:
    """Moves without what follows from those along axes V in the span of the first ones, by regression.

    Axes of rows are not those of differences: what a projection would leave of a strong component of these is
    more than all noise.
    """
    count, p = float(moves.totals[0]), len(V)
    shared, later = V.T @ moves.shared[:p] / count, V.T @ moves.along[1, :p, :p] @ V / count
    weights = shared / np.maximum(along, TINY)[:, None]
    inputs = moves.inputs / count - (weights * shared).sum(axis=0)
    inputs[inputs < ROUNDING * float(along.sum())] = 0.0  # what is left of moves that are all explained
    return Left(
        len(along), inputs, float(moves.totals[2]) / count - float(((later @ weights) * weights).sum())
    )


def _line(left: Left, below: float, n: int, number: float, margins: Margins, neighbours: int) -> float:
    """Line of the largest variance of differences that components leave; infinite: it cannot be told."""
    same = float(left.inputs.sum())
    if not same > 0:
        return np.inf
    rho = min(abs(left.following) / same, SLOWEST)
    samples = independent_samples(n, number, np.array([(1 + rho * rho) / (1 - rho * rho)]))
    if samples[0] < PER_INPUT * n:
        return np.inf
    edge, spread, shape = (float(part[0]) for part in edges_at(n, samples, (neighbours + 0.5) / n))
    above_inputs, above_neighbours, very_uneven = margins(float(samples[0]))
    uneven = float(independence_edges(left.inputs, np.ones(len(left.inputs)), samples[0]))
    colour = min(above_neighbours * shape * below, (edge + spread + very_uneven) * same / (n - left.number))
    return max(above_inputs * (1 + spread / edge) * uneven * n / (n - left.number), colour)
