"""A look at what a learner knows: the evidence in it, and the reading of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..learners.knowledge import Knowledge, Vector
from ..rank import Evidence
from ..rank.decision import Decision
from .pace import EvenPace
from .plan import Plan
from .reading import Reading


def evidence_of(
    known: Knowledge, plan: Plan, n_inputs: int, time: int, pace: EvenPace, threshold: float
) -> Evidence:
    """Evidence for a decision about threshold and rank.

    Parameters
    ----------
    known
        What the learner knows, which must be something.
    plan
        What it is asked to do.
    n_inputs
        How many inputs vary.
    time
        Samples so far.
    pace
        Of rows with time stamps.
    threshold
        As of the last look.
    """
    timed = plan.seconds is not None
    return Evidence.of(
        known,
        plan.k,
        n_inputs,
        time - plan.center,
        pace.beta2 if timed else plan.beta2,
        floor=_seeded(known, plan, threshold),
        rounding=plan.rounding,
        tells_below_threshold=known.tells_below_threshold,
        spent=int(plan.center),
        remembered=max(pace.samples - plan.center, 0.0) if timed else None,
    )


def evidence_at_a_glance(
    known: Knowledge, plan: Plan, rank: int, n_inputs: int, time: int, pace: EvenPace, tau: tuple[float, ...]
) -> Evidence:
    """Evidence that this many components still stand: `evidence_of` of less, at less cost.

    Parameters
    ----------
    known
        Totals and bounds of the leading eigenvalues.
    plan, n_inputs, time, pace
        As for `evidence_of`.
    rank
        Number of components that are kept.
    tau
        Persistence of rows as of the last look at everything.
    """
    timed, count = plan.seconds is not None, known.effective
    return Evidence(
        known.lam[:rank] / count,
        known.trace / count,
        plan.k,
        n_inputs,
        time - plan.center,
        pace.beta2 if timed else plan.beta2,
        rounding=plan.rounding,
        remembered=max(pace.samples - plan.center, 0.0) if timed else None,
        persistence=np.array(tau) if tau else None,
    )


def _seeded(known: Knowledge, plan: Plan, threshold: float) -> float:
    """Variances below this may be those that a network's start has put into unknown directions."""
    if plan.solver != "network":
        return 0.0
    from ..learners.network.optimum import seeded_variance

    return seeded_variance(threshold, known.trace / known.effective, plan.n)


def reading_of(known: Knowledge, plan: Plan, decision: Decision) -> Reading:
    """A reading of this knowledge after this decision, kept axes first; it may take the axes over."""
    count = max(known.effective, np.finfo(np.float64).tiny)
    variances = known.lam / count
    order = kept_first(variances[: plan.k], decision.threshold)
    order = np.concatenate((order, np.arange(len(order), len(variances))))
    reading = Reading(
        known.mean.copy(),
        known.U if (order[1:] > order[:-1]).all() else known.U[order[: len(known.U)]],
        variances[order],
        min(decision.rank, len(order)),
        decision.threshold,
        decision.alpha,
        known.trace / count,
        known.effective,
        known.tells_below_threshold,
        known.scale,
    )
    for array in (reading.mean, reading.axes, reading.variances):
        if isinstance(array, np.ndarray):
            array.flags.writeable = False  # handed out as it is, for others to read
    return reading


def kept_first(variances: Vector, threshold: float) -> NDArray[np.intp]:
    """The order that puts what exceeds the threshold first, and changes nothing else."""
    return np.argsort(~(variances > threshold), kind="stable")


def spectrum_of(known: Knowledge, plan: Plan, rank: int) -> list[float]:
    """Variances along the first directions; the mean of the rest where single ones are not known.

    Parameters
    ----------
    known
        What the learner knows, which must be something.
    plan
        What it is asked to do.
    rank
        How many components are kept.
    """
    told = min(len(known.lam) if known.tells_below_threshold else rank, plan.k)
    variances = sorted((known.lam / known.effective).tolist(), reverse=True)[:told]
    if told == plan.k:
        return variances
    rest = max(known.trace / known.effective - sum(variances), 0.0) / max(plan.n - told, 1)
    return variances + [rest] * (plan.k - told)
