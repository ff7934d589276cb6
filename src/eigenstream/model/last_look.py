"""The last look at a learner: by what was seen then rows are scored, and gaps are filled."""

from __future__ import annotations

import numpy as np

from ..learners.arrays import zeros
from ..learners.knowledge import Floats, Vector
from ..learners.learner import Learner, Seen, rowwise
from ..learners.marks import Mark, Marked
from ..learners.scale import standardized
from ..rank import Rule
from ..rank.decision import Decision
from .filling import expected_by
from .imputation import MISFIT, Gaussian
from .looks import reading_of
from .plan import Plan
from .reading import SCORES, Reading


class LastLook(Marked):
    """The decision of the last look at a learner, and the variances seen then.

    Parameters
    ----------
    plan
        The task.
    learner
        The learner that is looked at.
    """

    LEARNT = ("decision", "kept", "rest", "early")

    def __init__(self, plan: Plan, learner: Learner) -> None:
        self.plan, self.learner = plan, learner
        self.decision = Decision(0.0 if isinstance(plan.alpha, Rule) else plan.alpha, 0.0, 0)
        self.kept: Vector = np.zeros(0)
        """Variance along each kept axis."""
        self.rest = 0.0
        """Mean variance of all other directions."""
        self.early: Reading | None = None
        """The reading of the first look, until the learner has axes of its own."""
        self._forget()

    def revert(self, mark: Mark) -> None:
        super().revert(mark)
        self._forget()

    def take(self, decision: Decision, kept: Vector, rest: float, early: Reading | None) -> None:
        """Go on with what a look has found."""
        self.decision, self.kept, self.rest, self.early = decision, kept, rest, early
        self._forget()

    def _forget(self) -> None:
        """Drop what follows from the look and the learner; it is computed anew when somebody asks."""
        self._factors: dict[str, Floats] = {}
        """Factors that make scores of projections, by the kind of scores."""
        self.learner_moved()

    def learner_moved(self) -> None:
        """Drop what follows from the learner, which has learnt a block; in lists, see `Callers`."""
        self._expected: list[Gaussian] = []
        self._seen: list[Seen] = []

    def expected(self) -> Gaussian:
        """Distribution of a row by the last block and look, of which there must have been one."""
        kept = self._expected
        if not kept:
            kept.append(self._expected_now())
        return kept[0]

    def _expected_now(self) -> Gaussian:
        if self.learner.block > 1:
            if not self.learner.started:
                assert self.early is not None
                return expected_by(self.early)
            return expected_by(reading_of(self.learner.known().on_host(), self.plan, self.decision))
        # A network changes with every row: by its axes and mean at the last look, which are those it keeps.
        seen, n, rank = self.learner.seen(self.decision.rank), self.plan.n, self.decision.rank
        total = float(self.kept.sum()) + self.rest * (n - rank)
        noise = max(self.rest, MISFIT * total / n)
        return Gaussian(seen.mean, seen.axes.astype(np.float64), self.kept, noise, 1.0)

    def seen(self) -> Seen:
        """Mean, kept axes and gain as of the last block and look."""
        kept = self._seen
        if not kept:
            kept.append(self.learner.seen(self.decision.rank) if self.early is None else _seen_by(self.early))
        return kept[0]

    @property
    def started(self) -> bool:
        """True once there has been a look, or the learner has axes: before, there is nothing to score by."""
        return self.early is not None or self.learner.started

    def scores(self, rows: Floats, how: str) -> Floats:
        """Scores by the last block and look, zero beyond the rank; the same bits for any chunking.

        A single row may come as a vector.
        """
        rank = self.decision.rank
        single = type(rows) is np.ndarray and rows.ndim == 1  # each row of `learn_one` comes here
        scores: Floats = (
            np.zeros(self.plan.k, rows.dtype) if single else zeros((*rows.shape[:-1], self.plan.k), rows)
        )
        if not rank:
            return scores
        if self.early is None:
            projections = self.seen().project(rows)
        else:
            early = self.early.beside(rows)
            projections = rowwise(
                standardized(rows, early.mean, early.scale), early.kept_axes.astype(rows.dtype)
            )
        factors = self._factors.get(how)
        if factors is None:
            factors = SCORES[how](self.kept, self.decision.threshold).astype(rows.dtype)
            self._factors[how] = factors
        if single:
            np.multiply(projections, factors, scores[:rank])
        else:
            scores[..., :rank] = projections * factors
        return scores

    def squared_residuals(self, rows: Floats) -> Floats:
        """Squared residuals by the last block and look, NaN before; the same bits for any chunking."""
        if not self.started:
            return np.full_like(rows, np.nan, shape=(len(rows),))
        seen = self.seen()
        centered = rows - seen.mean.astype(rows.dtype)
        if seen.gain is not None:
            centered *= seen.gain.astype(rows.dtype)
        axes = seen.axes.astype(rows.dtype)
        outside = centered - rowwise(rowwise(centered, axes), axes.T.copy())
        residuals: Floats = np.matmul(outside[:, None, :], outside[:, :, None])[:, 0, 0]
        return residuals


def _seen_by(early: Reading) -> Seen:
    """Mean, kept axes and gain of a reading."""
    gain = None if early.scale is None else 1 / early.scale.astype(np.float64)
    return Seen(early.mean.astype(np.float64), early.kept_axes, gain)
