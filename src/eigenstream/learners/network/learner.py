"""The paper's network as a learner on a stream: its start, its consolidations, its own threshold.

Everything happens at absolute sample counts: the first ``init_samples`` rows are kept and answered for in
closed form, then the network starts from there; at counts that grow by the factor ``consolidation`` it is put
at its optimum again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...offline import fixed_signs
from ...regularizers import Regularizer
from ..axes import matched
from ..compiled import need_numba
from ..knowledge import Floats, Knowledge, Matrix, Vector, nothing_known
from ..lags import LagSums, block_sums, projections_on
from ..learner import Seen, Steps
from ..marks import Mark, Marked
from ..stored import LARGEST_VALUE, LATEST, stored_array
from . import learn
from .optimum import consolidate, known_from_rows, known_from_state, random_start, start_from
from .state import COUNT, RECENT, TAU, THETA0, TIME, TRACE, WEIGHT, NetworkRule, State

LARGE, SMALL = State._fields[:2], State._fields[2:]
"""Arrays of the state that change with every fourth sample, and with every sample."""


# Rows: the block of the other learners, so that `LagSums` mean the same for all of them.
TOGETHER = 64
"""Rows that are compared with their predecessors at a time, as other learners do by blocks."""


@dataclass(frozen=True)
class NetworkSettings:
    """Settings of a network."""

    kind: type[Regularizer]
    n: int
    k: int
    dtype: Any = np.float64
    beta: float = 1.0
    center: bool = True
    init_samples: int = 0
    consolidation: float | None = None
    spontaneous: float = 0.0
    seed: int = 0

    @property
    def start_rows(self) -> int:
        """Number of rows needed to start: the scale of the input has to be known."""
        return max(self.init_samples, 1 + self.center)

    def rule(self, alpha: float) -> NetworkRule:
        return NetworkRule.of(
            self.kind(alpha), self.beta, center=self.center, noise=self.spontaneous, seed=self.seed
        )

    def next_consolidation(self, time: int) -> float:
        """Later by the factor; under forgetting only until the window has filled twice."""
        if self.consolidation is None or (self.beta < 1 and time * (1 - self.beta**2) > 2):
            return math.inf
        later = time * self.consolidation
        return max(math.ceil(later), time + 1) if later < LATEST else math.inf

    def random(self, time: int) -> np.random.Generator:
        """Random numbers for this moment: a function of seed and time, so there is nothing to save."""
        return np.random.default_rng([self.seed, time])


class NetworkLearner(Marked):
    """A network in accumulator form, and the rows it waits for before it starts."""

    block = 1
    LEARNT = (
        *("state", "rows", "weights", "time", "consolidate_at"),
        *("axes", "looked_mean", "aligned", "alpha", "rule", "lags", "neighbours"),
    )

    def __init__(self, settings: NetworkSettings, alpha: float) -> None:
        need_numba()
        self.settings = settings
        self.state: State | None = None
        """None until the network has started."""
        self._spare: State | None = None
        """Memory for what the state was at the last mark: kernels change the state in place."""
        self._marked = False
        """True if `_spare` still has to take over what is going to change."""
        self._saved: tuple[str, ...] = ()
        """Names of the arrays that it holds of the state at the last mark."""
        self.rows: Floats = np.zeros((0, settings.n), dtype=settings.dtype)
        """The first rows, until then."""
        self.weights: Matrix = np.zeros((0, 2))
        """Their weights, and the squared length that each of them lacks."""
        self.time, self.consolidate_at = 0, math.inf
        self.axes: Matrix = np.zeros((0, settings.n))
        """Axes of the last look, and the mean at that moment."""
        self.looked_mean: Vector = np.zeros(settings.n)
        self.aligned = 0
        self.lags = LagSums.none(settings.n, settings.k)
        """Likeness of rows to their predecessors."""
        self.neighbours: tuple[Floats, ...] = ()
        """Rows since the last `TOGETHER` that were compared with their predecessors."""
        self._recalibrate(alpha)

    def __setstate__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values | {"_spare": None, "_marked": False})
        if self.state is not None:
            self.state = self.state.copy()  # pickling loses the alignment of the arrays

    @property
    def started(self) -> bool:
        return self.time > 0

    def mark(self) -> Mark:
        self._marked, self._saved = self.state is not None, ()
        return super().mark()

    def revert(self, mark: Mark) -> None:
        super().revert(mark)
        for name in self._saved:
            np.copyto(getattr(self.state, name), getattr(self._spare, name))
        self._marked, self._saved = False, ()

    def learn(self, rows: Floats, steps: Steps, lacking: Matrix | None = None) -> None:
        """Learn from rows alone: what these lack counts as noise."""
        weights = np.column_stack((steps.weight, steps.extra))
        start = 0
        while start < len(rows):
            due = 1 if self.state is None else self.consolidate_at - self.time
            part = slice(start, int(min(start + due, len(rows))))
            self._learn_until_due(rows[part], weights[part])
            start = part.stop
        self._compare_neighbours(rows)

    def _compare_neighbours(self, rows: Floats) -> None:
        """Compare rows with their predecessors, whole groups at a time, as of the axes of the last look.

        A row counts as one whatever its weight.
        """
        start, waiting = 0, len(self.neighbours)
        while start < len(rows):
            part = rows[start : start + TOGETHER - waiting]
            self.neighbours = *self.neighbours, *part.copy()
            start, waiting = start + len(part), waiting + len(part)
            if waiting == TOGETHER:
                self.lags = self._lags_after(self.neighbours, whole=True)
                self.neighbours, waiting = (), 0

    def _lags_after(self, rows: tuple[Floats, ...], *, whole: bool) -> LagSums:
        """Likeness to predecessors after these rows as well."""
        steps = Steps.even(len(rows), self.rule.beta2)
        decay, scales = steps.fading.decay, steps.fading.scales
        if not self.lags.is_due(decay, whole=whole):
            return self.lags.passed(decay)
        R = np.array(rows, dtype=np.float64) - (self.looked_mean if self.settings.center else 0.0)
        if scales is not None:
            R *= scales[:, None]
        Y = projections_on(R, self.axes, self.lags.directions)
        before = self.lags if len(self.axes) == 0 or self.lags.knows_axes else self.lags.begun_anew()
        return before.after(decay, block_sums(None, Y, R, scales, before.alike))

    def _learn_until_due(self, rows: Floats, weights: Matrix) -> None:
        """Learn from rows up to the start of the network, or up to the next return to its optimum."""
        if self.state is None:
            self._keep(rows, weights)
        else:
            if self._marked:
                self._save(len(rows))
            learn(self.state, self.rule, rows, weights)
        self.time += len(rows)
        if self.state is not None and self.time >= self.consolidate_at:
            regularizer, rng = self.settings.kind(self.alpha), self.settings.random(self.time)
            self.state, self._marked = consolidate(self.state, regularizer, self.rule, rng), False
            self.consolidate_at = self.settings.next_consolidation(self.time)

    def known(self, *, axes: bool = True) -> Knowledge:
        few = self.neighbours and not self.lags.pairs.any()
        lags = self._lags_after(self.neighbours, whole=False) if few else self.lags
        known, kept = self._totals()._replace(tells_below_threshold=False, lags=lags), slice(self.aligned)
        if not axes:
            return known
        lam = known.lam.copy()
        U: Matrix = fixed_signs(known.U).astype(np.float64) if len(known.U) else known.U.copy()
        order, signs = matched(U[kept], lam[kept], self.axes, self.aligned)
        lam[kept], U[kept] = lam[order], U[order] * signs[:, None]
        return known._replace(lam=lam, U=U)

    def _totals(self) -> Knowledge:
        if self.state is not None:
            totals = self.state.totals
            own = None if self.rule.r2 else (float(totals[TAU]), float(totals[THETA0]))
            return known_from_state(self.state)._replace(accumulated=own)
        if not self.weights[:, WEIGHT].any():
            return nothing_known(self.settings.n)
        return known_from_rows(self.rows, self.settings.k, self.rule, self.weights)

    def align(self, rank: int, alpha: float) -> Vector:
        self._recalibrate(alpha)
        self.aligned = rank
        known = self.known()
        self.axes, self.looked_mean = known.U, known.mean.copy()
        return known.lam[:rank]

    def seen(self, rank: int) -> Seen:
        return Seen(self.looked_mean, self.axes[:rank])

    def _recalibrate(self, alpha: float) -> None:
        self.alpha, self.rule = alpha, self.settings.rule(alpha)

    def restart(self, known: Knowledge, time: int, alpha: float) -> None:
        self._recalibrate(alpha)
        self.time, self._marked = time, False
        self.lags = LagSums.taken_over(known.lags, self.settings.n, self.settings.k)
        self.neighbours = ()
        if known.trace > 0:
            self.state = self._started_from(known, time)
            self.consolidate_at = self.settings.next_consolidation(time)
        else:
            self.rows = known.mean[None].astype(self.settings.dtype)
            self.weights = np.array([[known.effective, 0.0]])

    def network(self) -> State:
        """The network's state now; before the start, the one it would start with."""
        return self._begun(self.time) if self.state is None else self.state

    def copy(self) -> Self:
        twin = type(self)(self.settings, self.alpha)
        twin.__dict__ |= self.__dict__
        twin.state = None if self.state is None else self.state.copy()
        twin._spare, twin._marked = None, False
        return twin

    def arrays(self) -> dict[str, NDArray[Any]]:
        due = -1 if self.consolidate_at == math.inf else int(self.consolidate_at)
        neighbours = np.vstack((self.rows[:0], *self.neighbours))
        stored = self.lags.arrays() | {
            "neighbours": neighbours,
            "rows": self.rows,
            "weights": self.weights,
            "axes": self.axes,
            "looked_mean": self.looked_mean,
            "alpha": np.array([self.alpha]),
            "clock": np.array([self.time, due, self.aligned], dtype=np.int64),
        }
        if self.state is not None:
            named = zip(State._fields, self.state, strict=True)
            stored |= {f"state.{name}": array for name, array in named}
            if self.state.N_narrow is self.state.N:
                del stored["state.N_narrow"]
        return stored

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        n, k, dtype = self.settings.n, self.settings.k, self.settings.dtype
        largest = LARGEST_VALUE[dtype]
        self.rows = stored_array(arrays, "rows", (None, n), dtype, most=largest)
        self.weights = stored_array(arrays, "weights", (len(self.rows), 2), least=0.0)
        self.axes = stored_array(arrays, "axes", (None, n))
        self.looked_mean = stored_array(arrays, "looked_mean", (n,), most=largest)
        self._recalibrate(float(stored_array(arrays, "alpha", (1,), least=0.0)[0]))
        self.lags = LagSums.restored(arrays, n, k)
        neighbours = stored_array(arrays, "neighbours", (None, n), dtype, most=largest)
        if len(neighbours) >= TOGETHER:
            raise ValueError(f"{len(neighbours)} rows wait to be compared, expected fewer than {TOGETHER}")
        self.neighbours = tuple(neighbours)
        clock = stored_array(arrays, "clock", (3,), np.int64, least=-1, most=LATEST)
        self.time, due, self.aligned = map(int, clock)
        self.consolidate_at = math.inf if due < 0 else due
        if any(name.startswith("state.") for name in arrays):
            self.state = self._restored_state(arrays, largest)
        waits = self.state is None and self.consolidate_at < math.inf
        if waits or self.consolidate_at <= self.time or not self.aligned <= len(self.axes) <= k:
            raise ValueError(f"its clock {clock.tolist()} does not fit its {len(self.axes)} axes")

    def _restored_state(self, arrays: Mapping[str, NDArray[Any]], largest: float) -> State:
        n, k, dtype = self.settings.n, self.settings.k, self.settings.dtype
        time, waiting = stored_array(arrays, "state.clock", (2,), np.int64, least=0, most=LATEST)
        if waiting > time % RECENT:  # the compiled code would write beyond its arrays
            raise ValueError(f"{waiting} samples wait at time {time}")
        N = stored_array(arrays, "state.N", (k, n))
        return State(
            N=N,
            N_narrow=N if dtype == np.float64 else stored_array(arrays, "state.N_narrow", (k, n), dtype),
            S=stored_array(arrays, "state.S", (k, k)),
            X_recent=stored_array(arrays, "state.X_recent", (RECENT, n), dtype, most=largest),
            Y_recent=stored_array(arrays, "state.Y_recent", (RECENT, k), dtype),
            mean=stored_array(arrays, "state.mean", (n,), most=largest),
            totals=stored_array(arrays, "state.totals", (5,), least=0.0),
            clock=stored_array(arrays, "state.clock", (2,), np.int64),
        ).copy()

    def _save(self, rows: int) -> None:
        """Keep what these rows change of the state at the last mark; of N, only if a group enters it."""
        assert self.state is not None
        if self._spare is None:
            self._spare = self.state.copy()
        if not self._saved:
            self._saved = self._saved_now(SMALL)
        if self.state.clock[TIME] % RECENT + rows >= RECENT:
            self._saved += self._saved_now(LARGE if self.state.N_narrow is not self.state.N else LARGE[:1])
            self._marked = False

    def _saved_now(self, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            np.copyto(getattr(self._spare, name), getattr(self.state, name))
        return names

    def _faded(self) -> Vector:
        """Weights of the rows kept, discounted up to now."""
        ages = np.arange(len(self.rows) - 1, -1, -1.0)
        return np.asarray(self.weights[:, WEIGHT] * self.rule.beta2**ages)

    def _keep(self, rows: Floats, weights: Matrix) -> None:
        """Keep rows until there are enough, and something varies, to start the network."""
        self.rows, self.weights = np.vstack((self.rows, rows)), np.vstack((self.weights, weights))
        if len(self.rows) < self.settings.start_rows:
            return
        now = self.time + len(rows)
        if self._totals().trace > 0:
            self.state = self._begun(now)
            self.rows, self.weights = self.rows[:0], self.weights[:0]
            self.consolidate_at = self.settings.next_consolidation(now)
        else:
            # Nothing varies yet: one row with all the weight says as much as all of them.
            self.rows, self.weights = self.rows[-1:], np.array([[self._faded().sum(), 0.0]])

    def _begun(self, time: int) -> State:
        """The network at the optimum of the rows kept; if none were asked for, the paper's random start."""
        settings, known = self.settings, self._totals()
        if settings.init_samples:
            return self._started_from(known, time)
        state = random_start(settings.n, settings.k, known.trace, settings.random(time), settings.dtype)
        state.mean[:] = known.mean
        state.totals[[COUNT, TRACE]] = known.effective, known.trace
        state.clock[TIME] = time
        return state

    def _started_from(self, known: Knowledge, time: int) -> State:
        settings = self.settings
        regularizer, rng = settings.kind(self.alpha), settings.random(time)
        state = start_from(known, settings.k, regularizer, self.rule, rng, settings.dtype)
        state.clock[TIME] = time
        return state
