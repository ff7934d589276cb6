"""Parts of inputs in the statistics of rows."""

from __future__ import annotations

import numpy as np

from ..learners.knowledge import Floats, Matrix, Vector
from .judging import judge
from .reference import STATISTICS, Reference


def contributions(reference: Reference, rows: Floats, gross: float) -> dict[str, Matrix]:
    """Parts of each input in each statistic, for each row (T, n): never negative, and they add up to it.

    The extreme is that of one input. Each other statistic is ``|M z|²`` with a symmetric M; input i adds
    ``(M z)_i²`` (complete decomposition: Alcala and Qin 2009, doi:10.1016/j.automatica.2009.02.027). Rows are
    a stretch of their own; ``gross`` as of `judge`.
    """
    judged = judge(reference, rows, 0, gross=gross, spacing=1)
    found = {name: np.full(rows.shape, np.nan) for name in STATISTICS}
    usable = judged.usable
    if not usable.any():
        return found
    axes, (along, elsewhere), (inverse, follows, news) = reference.axes, reference.weights, reference.alike
    with np.errstate(over="ignore"):
        Z, E = (reference.standardized(each) for each in (rows[usable], reference.rows_at(judged.averages)))
        before = np.concatenate((Z[:1], Z[:-1]))
        kept = slice(reference.rank)
        projections = Z @ axes.T
        innovation = Z - before @ axes.T * follows[:-1] @ axes
        innovation -= (before - before @ axes.T @ axes) * follows[-1]
        t2 = (projections[:, kept] * np.sqrt(along[kept])) @ axes[kept]
        found["t2"][usable] = np.square(t2)
        found["spe"][usable] = np.square(Z - projections[:, kept] @ axes[kept])
        found["distance"][usable] = _whitened(reference, Z, along, elsewhere)
        found["extreme"][usable] = _alone(reference, Z)
        found["average"][usable] = _whitened(
            reference, E, along * inverse[:-1], elsewhere * float(inverse[-1])
        )
        found["pair"][usable] = _whitened(
            reference, innovation, along * news[:-1], elsewhere * float(news[-1])
        ) + _whitened(reference, before, along, elsewhere)
    return found


def _alone(reference: Reference, Z: Matrix) -> Matrix:
    """Squared departure of the input that is farthest off in each row, and zero of all others."""
    above, below = reference.reaches
    departures = reference.departures(Z)
    ratios = np.maximum(departures * above, departures * below)
    found, at = np.zeros(ratios.shape), (np.arange(len(ratios)), ratios.argmax(axis=1))
    found[at] = np.square(ratios[at])
    return found


def _whitened(reference: Reference, Z: Matrix, along: Vector, elsewhere: float) -> Matrix:
    """Squares of ``M^(1/2) z``, M with these weights along the axes and elsewhere."""
    projections = Z @ reference.axes.T
    whitened = (projections * np.sqrt(along)) @ reference.axes
    if reference.others:
        whitened += (Z - projections @ reference.axes) * np.sqrt(elsewhere)
    return np.square(whitened)


def per_input(added: Matrix, width: int) -> Matrix:
    """Sum the columns that belong to one input and its predecessors."""
    return added if added.shape[1] == width else added.reshape(len(added), -1, width).sum(axis=1)
