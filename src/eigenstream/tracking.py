"""Following a stream: when to start, when to consolidate, when to look, and what was seen.

Everything happens at absolute sample counts, so that how a stream is cut into calls cannot matter:

- the first `Plan.init_samples` rows are kept and the model answers from their closed form; then the network
  starts there,
- at counts that grow by `Plan.consolidation` the network is put at its optimum again,
- on a grid (`next_look`) the spectrum is read off, alpha recalibrated, and axes matched with their
  predecessors. In between, what was seen stands still.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import engine
from .calibration import automatic_alpha, noise_edge, online_threshold
from .engine.optimum import (
    FLOOR,
    Knowledge,
    consolidate,
    known_from_rows,
    known_from_state,
    optimal_threshold,
    random_start,
    start_from,
)
from .engine.state import COUNT, TIME, TRACE, Floats, Rule, State, threshold
from .imputation import Filled, fill
from .offline import fixed_signs
from .recording import Recording
from .regularizers import Regularizer

CROSSING = 1.02
"""Two axes trade places only once their eigenvalues have crossed by this factor."""

HISTORY = 1000
"""How many changes of rank are remembered."""


@dataclass(frozen=True)
class Plan:
    """What a tracker is asked to do."""

    kind: type[Regularizer]
    alpha: float | None
    """None: found from the data."""
    n: int
    k: int
    dtype: Any = np.float64
    beta: float = 1.0
    center: bool = True
    init_samples: int = 0
    consolidation: float | None = None
    noise: float = 0.0
    seed: int = 0

    @property
    def start_rows(self) -> int:
        """How many rows are needed to start: the scale of the input has to be known."""
        return max(self.init_samples, 1 + self.center)

    def rule(self, alpha: float) -> Rule:
        return Rule.of(self.kind(alpha), self.beta, center=self.center, noise=self.noise, seed=self.seed)

    def next_look(self, time: int) -> int:
        """The grid: steps of 1/128, later 1/64 of the time, at most 1/8 window; so at first every sample.

        Before the start each look goes through all rows kept: steps of 1/32 where these are wide, of 1/4
        where they are very wide.
        """
        parts = 128 if time < 8192 else 64
        if time < self.start_rows and self.n >= 256:
            parts = 32 if self.n <= 4096 else 4
        step = time // parts
        if self.beta < 1:
            step = min(step, int(1 / (1 - self.beta**2)) // 8)
        return time + max(step, 1)

    def next_consolidation(self, time: int) -> float:
        """Later by the factor; under forgetting only until the window has filled twice."""
        if self.consolidation is None or (self.beta < 1 and time * (1 - self.beta**2) > 2):
            return math.inf
        return max(math.ceil(time * self.consolidation), time + 1)

    def random(self, time: int) -> np.random.Generator:
        """Random numbers for this moment: a function of seed and time, so there is nothing to save."""
        return np.random.default_rng([self.seed, time])


class View(NamedTuple):
    """What a look saw; per sample, largest first."""

    time: int
    axes: NDArray[np.float64]
    """All directions known, as rows (r, n), r >= rank."""
    variances: NDArray[np.float64]
    """Input variance along each of them."""
    mean: NDArray[np.float64]
    """Mean of the input at that moment."""
    total: float
    """Variance of the input, all directions together."""
    effective: float
    """Effective number of samples."""
    threshold: float
    rank: int
    gains: NDArray[np.float64]
    """``sqrt((variance - threshold) / variance)`` of the modes kept: how much the network transmits."""

    @property
    def rest(self) -> float:
        """Mean variance of the directions that are not kept."""
        kept = float(self.variances[: self.rank].sum())
        return max(self.total - kept, 0.0) / max(len(self.mean) - self.rank, 1)


class RankChange(NamedTuple):
    """The rank went from ``before`` to ``after`` at sample number ``sample``."""

    sample: int
    before: int
    after: int


@dataclass
class Tracker:
    """A network on a stream, and what was last seen of it."""

    plan: Plan
    alpha: float = field(init=False)
    """The coefficient now."""
    rule: Rule = field(init=False)
    """What it amounts to; follows alpha."""
    state: State | None = None
    """None until the network has started."""
    rows: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    """The first rows, until then."""
    weights: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 2)))
    """Their weights and power factors."""
    first: Floats = field(init=False)
    """The very first row, to tell which inputs vary (NaN before it has come)."""
    varies: NDArray[np.bool_] = field(init=False)
    """Which inputs have varied so far: constant ones are not noise."""
    time: int = 0
    look_at: int = 1
    consolidate_at: float = math.inf
    all_vary: bool = False
    view: View = field(init=False)
    history: deque[RankChange] = field(default_factory=lambda: deque(maxlen=HISTORY))
    recording: Recording = field(init=False)
    """The spectrum over time."""

    def __post_init__(self) -> None:
        n = self.plan.n
        self.set_alpha(self.plan.alpha or 0.0)
        self.recording = Recording(self.plan.k)
        self.rows = np.zeros((0, n), dtype=self.plan.dtype)
        self.first, self.varies = np.full(n, np.nan, dtype=self.plan.dtype), np.zeros(n, dtype=bool)
        self.view = View(0, np.zeros((0, n)), np.zeros(0), np.zeros(n), 0.0, 0.0, 0.0, 0, np.zeros(0))

    def __setstate__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        if self.state is not None:
            self.state = self.state.copy()  # pickling loses the alignment of the arrays

    def set_alpha(self, alpha: float) -> None:
        self.alpha, self.rule = alpha, self.plan.rule(alpha)

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean of the input up to now; zero if it is not to be subtracted."""
        if self.state is not None:
            return self.state.mean
        weight = self.weights[:, 0] * self.rule.beta2 ** np.arange(len(self.rows) - 1, -1, -1.0)
        if not self.plan.center or not weight.any():
            return np.zeros(self.plan.n)
        return np.asarray(weight @ self.rows.astype(np.float64) / weight.sum())

    @property
    def spectrum(self) -> NDArray[np.float64]:
        """Variance along each direction kept; the mean of the rest for those that are not (k).

        The network does not transmit the latter, so of each of them it knows a lower bound only.
        """
        view = self.view
        return np.concatenate((view.variances[: view.rank], np.full(self.plan.k - view.rank, view.rest)))

    def room(self) -> int:
        """How many rows can be learnt before something is due."""
        due = min(self.look_at, self.consolidate_at)
        if self.state is None:
            due = min(due, self.time + 1)
        return int(due) - self.time

    def learn(self, X: Floats, weights: NDArray[np.float64]) -> list[RankChange]:
        """Learn from at most `room` rows with their weights and power factors; returns what changed."""
        if not self.all_vary:
            self._see_what_varies(X)
        if self.state is None:
            self._keep(X, weights)
        else:
            engine.learn(self.state, self.rule, X, weights)
        self.time += len(X)
        if self.state is not None and self.time >= self.consolidate_at:
            self._consolidate()
        return self.look() if self.time >= self.look_at else []

    def score(self, row: Floats, *, shrunk: bool) -> Floats:
        """One row's scores by what was last seen, zero beyond the rank."""
        view = self.view
        scores = np.zeros(self.plan.k, dtype=row.dtype)
        if view.rank:
            projection = view.axes[: view.rank] @ (row - self.mean)
            scores[: view.rank] = projection * view.gains if shrunk else projection
        return scores

    def scores(self, X: Floats, *, shrunk: bool) -> Floats:
        """`score` of each of at most `room` rows, as if those before it had been learnt.

        In between looks only the mean moves, and along the axes its path follows from the projections:
        ``m_t - m_0 = sum_{s<=t} beta^(2(t-s)) (x_s - m_0) / w_t``.
        """
        view, T = self.view, len(X)
        scores = np.zeros((T, self.plan.k), dtype=X.dtype)
        projections = (X - self.mean) @ view.axes[: view.rank].T
        if self.plan.center and self.state is not None and T > 1:
            decay = self.rule.beta2 ** np.arange(T)[:, None]
            weight = decay * (self.state.numbers[COUNT] - 1) + np.cumsum(decay, axis=0)
            moved = decay * np.cumsum(projections / decay, axis=0)
            projections[1:] -= moved[:-1] / weight[1:]
        scores[:, : view.rank] = projections * view.gains if shrunk else projections
        return scores

    def fill(self, X: Floats) -> Filled:
        """Rows with NaN filled in by what was last seen."""
        view = self.view
        kept = view.variances[: view.rank]
        return fill(X, view.mean, view.axes[: view.rank], kept, view.rest)

    def known(self) -> Knowledge:
        """What is known of the input up to now, sums over samples."""
        if self.state is not None:
            return known_from_state(self.state)
        if not self.weights[:, 0].any():
            n = self.plan.n
            return Knowledge(np.zeros(0), np.zeros((0, n)), 0.0, 0.0, np.zeros(n))
        return known_from_rows(self.rows, self.plan.k, self.rule, self.weights)

    def network(self) -> State:
        """The network's state now; before the start, the one it would start with."""
        return self._start(self.time) if self.state is None else self.state

    def _see_what_varies(self, X: Floats) -> None:
        if not len(X):
            return
        if np.isnan(self.first[0]):
            self.first = X[0].copy()
        self.varies |= (X != self.first).any(axis=0)
        self.all_vary = bool(self.varies.all())

    def _keep(self, X: Floats, weights: NDArray[np.float64]) -> None:
        """Keep rows until there are enough, and something varies, to start the network."""
        self.rows, self.weights = np.vstack((self.rows, X)), np.vstack((self.weights, weights))
        if len(self.rows) < self.plan.start_rows:
            return
        if self.known().trace > 0:
            self.state = self._start(self.time + len(X))
            self.rows, self.weights = self.rows[:0], self.weights[:0]
            self.consolidate_at = self.plan.next_consolidation(self.time + len(X))
        else:
            # Nothing varies yet: one row with all the weight says as much as all of them.
            faded = self.weights[:, 0] * self.rule.beta2 ** np.arange(len(self.rows) - 1, -1, -1.0)
            self.rows, self.weights = self.rows[-1:], np.array([[faded.sum(), 1.0]])

    def _start(self, time: int) -> State:
        """The network at the optimum of the rows kept; if none were asked for, the paper's random start."""
        plan, known, rng = self.plan, self.known(), self.plan.random(time)
        if plan.init_samples:
            state = start_from(known, plan.k, plan.kind(self.alpha), self.rule, rng, plan.dtype)
        else:
            state = random_start(plan.n, plan.k, known.trace, rng, plan.dtype)
            state.mean[:] = known.mean
            state.numbers[[COUNT, TRACE]] = known.effective, known.trace
        state.clock[TIME] = time
        return state

    def _consolidate(self) -> None:
        assert self.state is not None
        regularizer = self.plan.kind(self.alpha)
        self.state = consolidate(self.state, regularizer, self.rule, self.plan.random(self.time))
        self.consolidate_at = self.plan.next_consolidation(self.time)

    def look(self) -> list[RankChange]:
        """Read the spectrum, recalibrate, and keep each axis with its predecessor."""
        plan, before, known = self.plan, self.view, self.known()
        self.look_at = plan.next_look(self.time)
        if not known.effective > 0:
            return []
        variances, total = known.lam / known.effective, known.trace / known.effective
        floor = 0.0
        if plan.alpha is None:
            inputs, samples = max(int(self.varies.sum()), 1), self.time - plan.center
            edge = noise_edge(inputs, samples, plan.beta**2)
            # Directions that nothing is known of were given a little to start with; it is not theirs.
            floor = max(
                online_threshold(variances, total, inputs, samples, edge), 2 * FLOOR**2 * total / plan.n
            )
            self.set_alpha(automatic_alpha(plan.kind, variances, total, floor))
        theta = max(self._threshold(known) / known.effective, floor)
        rank = int(np.count_nonzero(variances > theta))
        order, signs = matched(known.U, variances, before.axes, rank)
        axes, variances, mean = known.U[order] * signs[:, None], variances[order], known.mean.copy()
        gains = np.sqrt(1 - theta / variances[:rank])
        for seen in (axes, variances, mean, gains):
            seen.flags.writeable = False  # handed out as it is, for others to read
        self.view = View(self.time, axes, variances, mean, total, known.effective, theta, rank, gains)
        self.recording.add(self.time, self.spectrum, theta, rank)
        if rank == before.rank:
            return []
        change = RankChange(self.time, before.rank, rank)
        self.history.append(change)
        return [change]

    def _threshold(self, known: Knowledge) -> float:
        """theta; R_YY's is measured by the outputs of what is known, not by those learnt from on the way."""
        if self.state is not None and not self.rule.r2:
            return threshold(self.state, self.rule)
        return optimal_threshold(known, self.plan.kind(self.alpha), self.rule)


def matched(
    U: NDArray[np.float64], lam: NDArray[np.float64], reference: NDArray[np.float64], rank: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Order and signs that keep each axis in the place and direction of its predecessor.

    Neighbours trade places against their eigenvalues only if these differ by less than `CROSSING`, and never
    between kept and dropped axes; an axis without a predecessor has its largest entry positive.
    """
    order = np.arange(len(U))
    if len(U) == 0:
        return order, np.ones(0)
    signs = np.sign(np.sum(fixed_signs(U) * U, axis=1))
    if len(reference) == 0:
        return order, signs
    overlap = U @ reference.T
    place = np.argmax(np.abs(overlap), axis=1)
    related = np.abs(overlap[order, place]) > 0.5
    signs = np.where(related, np.sign(overlap[order, place]), signs)
    place = np.where(related, place, len(reference) + order)
    near = np.flatnonzero(lam[:-1] < CROSSING * lam[1:])
    for i in near:  # insertion sort by place, across near ties only
        while i >= 0 and i + 1 != rank:
            one, two = order[i], order[i + 1]
            if place[one] < place[two] or lam[one] > CROSSING * lam[two]:
                break
            order[i], order[i + 1] = two, one
            i -= 1
    return order, signs[order]
