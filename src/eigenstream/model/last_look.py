"""What was seen of a learner at the last look: by it rows are scored, and gaps are filled."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..learners.arrays import zeros
from ..learners.knowledge import Floats, Vector
from ..learners.learner import Learner, Seen, rowwise
from ..learners.scale import standardized
from ..rank import Rule
from ..rank.decision import Decision
from .delays import embedded
from .filling import expected_by
from .imputation import MISFIT, Gaussian, fill, fill_by_means
from .looks import reading_of
from .plan import Plan
from .reading import SCORES, Reading
from .varying import Varying


@dataclass
class LastLook:
    """Abstract: a learner, and what was decided about it at the last look."""

    plan: Plan
    learner: Learner = field(init=False)
    inputs: Varying = field(init=False)
    """Which inputs have varied so far."""
    decision: Decision = field(init=False)
    """What was decided at the last look."""
    kept: Vector = field(init=False)
    """Variance along each kept axis, as of the last look."""
    rest: float = 0.0
    """Mean variance of all other directions, as of the last look."""
    early: Reading | None = None
    """The first look, until the learner has axes of its own."""
    recent: Floats | None = None
    """The last rows as they came, as many as there are lags; None before the first."""
    _expected: Gaussian | None = None
    """What a row is expected to be, once somebody has asked since the last block and look."""
    _factors: dict[str, Floats] = field(default_factory=dict)
    """What projections are multiplied by to become scores, since the last look."""

    def __post_init__(self) -> None:
        plan = self.plan
        self.decision = Decision(0.0 if isinstance(plan.alpha, Rule) else plan.alpha, 0.0, 0)
        self.kept = np.zeros(0)
        self.learner = plan.learner(self.decision.alpha)
        self.inputs = Varying(plan.n, plan.dtype)

    @property
    def alpha(self) -> float:
        """The coefficient as of the last look."""
        return self.decision.alpha

    @property
    def n_inputs(self) -> int:
        """How many inputs vary; at least 1."""
        return self.inputs.number

    def expected(self) -> Gaussian:
        """What a row is expected to be by the last block and look, of which there must have been one."""
        if self._expected is None:
            self._expected = self._expected_now()
        return self._expected

    def _expected_now(self) -> Gaussian:
        if self.learner.block > 1:
            if not self.learner.started:
                assert self.early is not None
                return expected_by(self.early)
            known = self.learner.known().on_host()
            return expected_by(
                reading_of(known, self.plan, self.decision, self.learner.tells_below_threshold)
            )
        # A network changes with every row: by its axes and mean at the last look, which are those it keeps.
        seen, n, rank = self.learner.seen(self.decision.rank), self.plan.n, self.decision.rank
        total = float(self.kept.sum()) + self.rest * (n - rank)
        noise = max(self.rest, MISFIT * total / n)
        return Gaussian(seen.mean, seen.axes.astype(np.float64), self.kept, noise, 1.0)

    def fill(self, rows: Floats) -> Floats:
        """Rows with NaN filled in by the last block and look, each for itself."""
        if self.early is not None or self.learner.started:
            return fill(rows, self.expected())
        return fill_by_means(np.where(np.isnan(rows), self.inputs.first, rows)).rows

    def next_rows(self, rows: Floats, missing: str) -> Floats:
        """Rows as they would be learnt from if they came next."""
        rows = self.prepared(rows, missing, self.recent)
        return rows[~np.isnan(rows).any(axis=1)]

    def prepared(self, rows: Floats, missing: str, before: Floats | None = None) -> Floats:
        """Rows embedded, as a stretch of their own unless others came before them.

        Gaps are filled by the last block and look where ``missing`` says so and the row has a value.
        """
        if self.plan.lags:
            rows = embedded(rows, self.plan.lags, before)
        if missing == "impute" and np.isnan(rows).any():
            observed = ~np.isnan(rows).all(axis=1)
            rows = rows.copy()
            rows[observed] = self.fill(rows[observed])
        return rows

    def scores(self, rows: Floats, how: str) -> Floats:
        """Scores by the last block and look, gaps filled in; nothing is learnt."""
        return self._scores(self.fill(rows) if np.isnan(rows).any() else rows, how)

    def _seen(self) -> Seen:
        """Mean, kept axes and gain as of the last block and look."""
        if self.early is not None:
            scale = self.early.scale
            gain = None if scale is None else 1 / scale.astype(np.float64)
            return Seen(self.early.mean.astype(np.float64), self.early.kept_axes, gain)
        return self.learner.seen(self.decision.rank)

    def _scores(self, rows: Floats, how: str) -> Floats:
        """Scores by the last block and look, zero beyond the rank; the same bits for any chunking.

        A single row may come as a vector.
        """
        rank = self.decision.rank
        scores = zeros((*rows.shape[:-1], self.plan.k), rows)
        if not rank:
            return scores
        if self.early is None:
            projections = self.learner.project(rows, rank)
        else:
            early = self.early.beside(rows)
            projections = rowwise(
                standardized(rows, early.mean, early.scale), early.kept_axes.astype(rows.dtype)
            )
        if how not in self._factors:
            self._factors[how] = SCORES[how](self.kept, self.decision.threshold).astype(rows.dtype)
        scores[..., :rank] = projections * self._factors[how]
        return scores

    def _squared_residuals(self, rows: Floats) -> Floats:
        """By the last block and look, NaN before the first; the same bits for any chunking."""
        if self.early is None and not self.learner.started:
            return np.full_like(rows, np.nan, shape=(len(rows),))
        mean, axes, gain = self._seen()
        centered = rows - mean.astype(rows.dtype)
        if gain is not None:
            centered *= gain.astype(rows.dtype)
        axes = axes.astype(rows.dtype)
        outside = centered - rowwise(rowwise(centered, axes), axes.T.copy())
        residuals: Floats = np.matmul(outside[:, None, :], outside[:, :, None])[:, 0, 0]
        return residuals
