"""Work on a model whose features are cut into shards: pure functions, which can be redone.

The subspace learner (`learners.subspace`) touches features in sums over them and in products that are local:

    each shard   enters a block R of its columns below its columns of L; its part of ``L R'`` and ``R R'``
    all          add these parts up: the one thing that is sent, (r + b)^2 numbers
    one          decomposes the sum: the new eigenvalues, and P
    each shard   ``L <- P' [L; R]``, when the next block enters

Nothing is changed in place: Dask makes up for a worker that dies by calling these functions again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...learners.knowledge import WIDEST, Floats, Matrix, Profile, Vector
from ...learners.learner import Steps
from ...learners.subspace import Subspace
from ...model.parameters import refuse_huge, squares_fit
from ...model.plan import Plan
from ...model.varying import Varying


class Lead(NamedTuple):
    """Knowledge without features: eigenvalues, counts, and the turn of L with the last block."""

    core: Subspace
    """A shard without columns."""
    P: Matrix | None = None
    """By it each shard turns ``[L; R]``; None: there is nothing to turn."""
    trace: float = 0.0
    """Sum of squares of all centered inputs."""
    varying: int = 0
    """Number of inputs that vary."""


class Shard(NamedTuple):
    """Some columns of a model. The last block of rows stands below L, until the next one comes."""

    learner: Subspace
    inputs: Varying


class Part(NamedTuple):
    """Part of a shard in the sums over all features."""

    products: Matrix
    trace: float
    varying: int


def subspace(plan: Plan, columns: int) -> Subspace:
    """A subspace of some columns of the input."""
    return Subspace(columns, plan.k, plan.block, center=plan.center, width=plan.n)


def nothing(plan: Plan, columns: int) -> Shard:
    """A shard before the first row."""
    return Shard(subspace(plan, columns), Varying(columns, plan.dtype))


def rows_of(pieces: Sequence[Floats], bounds: Sequence[tuple[int, int]], dtype: type) -> Floats:
    """Rows of a shard that lie in one chunk, or across several; an error if they cannot be learnt from."""
    parts = [piece[start:stop] for piece, (start, stop) in zip(pieces, bounds, strict=True)]
    rows: Floats = np.ascontiguousarray(np.vstack(parts) if len(parts) > 1 else parts[0], dtype=dtype)
    if not squares_fit(rows):
        refuse_huge(rows)
        raise ValueError(
            "Input contains NaN: a model with its features in shards cannot fill gaps; fill them before, for "
            "instance with dask.array.where"
        )
    return rows


def turned(shard: Shard, lead: Lead) -> Shard:
    """The shard with its last block learnt."""
    if lead.P is None:
        return shard
    twin, b = shard.learner.copy(), len(lead.P) - shard.learner.r
    twin.room[:b] = shard.learner.room[:b]
    twin.turn(lead.core.lam, lead.P, twin.room[:b])
    twin.blocks += 1
    return shard._replace(learner=twin)


def entered(
    shard: Shard, lead: Lead, pieces: Sequence[Floats], bounds: Sequence[tuple[int, int]], plan: Plan
) -> Shard:
    """The shard with its last block learnt and these rows below L."""
    rows = rows_of(pieces, bounds, plan.dtype)
    learner = turned(shard, lead).learner
    learner = learner.copy() if learner is shard.learner else learner
    learner.enter(rows, Steps.even(len(rows), plan.beta2))
    inputs = Varying(learner.n, plan.dtype)
    inputs.set(shard.inputs.first.copy(), shard.inputs.varies)
    if not inputs.all_vary:
        inputs.see(rows)
    return Shard(learner, inputs)


def part_of(shard: Shard, b: int, plan: Plan) -> Part:
    """Part of the shard in the sums, b rows having entered."""
    learner = shard.learner
    products = learner.products(learner.room[:b], Steps.even(b, plan.beta2).fading.decay)
    return Part(products, float(learner.inputs.sum()), int(shard.inputs.varies.sum()))


def added(*parts: Part) -> Part:
    """The sum of some parts."""
    products, traces, varying = zip(*parts, strict=True)
    return Part(np.sum(products, axis=0), sum(traces), sum(varying))


def led(lead: Lead, parts: Sequence[Part], b: int, plan: Plan, rank: int | None) -> Lead:
    """The step that needs no features: given the sums over them, how every shard turns.

    ``rank``: number of axes that keep their order and direction from now on; None: as before.
    """
    total = added(*parts)
    core = lead.core.copy()
    if rank is not None:
        core.align(rank, 0.0)
    steps = Steps.even(b, plan.beta2)
    R = core.enter(np.zeros((b, 0)), steps)
    e, P = core.leading(total.products, steps.fading.decay, steps)
    core.turn(e, P, R)
    core.blocks += 1
    return Lead(core, P, total.trace, total.varying)


def largest(shard: Shard, lead: Lead) -> Vector:
    """The largest entry, with its sign, of each axis among these columns."""
    learner = turned(shard, lead).learner
    L = learner.L
    return np.asarray(L[np.arange(len(L)), np.argmax(np.abs(L), axis=1)])


def signed(lead: Lead, *entries: Vector) -> Lead:
    """The first axes with their largest entry positive."""
    assert lead.P is not None
    table = np.array(entries)
    found = table[np.argmax(np.abs(table), axis=0), np.arange(table.shape[1])]
    return lead._replace(P=lead.P * np.where(found < 0, -1.0, 1.0))


def axes_of(shard: Shard, lead: Lead) -> Matrix:
    """These columns of the axes."""
    learner = turned(shard, lead).learner
    axes: Matrix = learner.L / np.sqrt(learner.lam)[:, None]
    return axes


def mean_of(shard: Shard) -> Vector:
    """Mean of these columns."""
    return shard.learner.mean


def input_sums_of(shard: Shard) -> Vector:
    """Sum of squares of each of these columns, centered."""
    return shard.learner.inputs


def profile_of(shard: Shard, lead: Lead, plan: Plan) -> Profile:
    """Profile of these columns; of wide input, of its share of the columns shown."""
    learner = turned(shard, lead).learner
    widest = WIDEST if plan.n <= WIDEST else max(WIDEST * learner.n // plan.n, 2)
    return Profile.of(learner.inputs, learner.L[: plan.k], widest)
