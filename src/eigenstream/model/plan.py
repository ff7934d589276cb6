"""Task and schedule of a tracker: everything is due at absolute sample counts alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..learners.learner import Learner
from ..rank import Rule
from ..regularizers import Regularizer

if TYPE_CHECKING:
    from ..learners.network.learner import NetworkSettings

BLOCK = 64
"""Rows per block, unless the forgetting window asks for shorter ones."""

DEVICE_BLOCK = 256
"""The same on a GPU, where launching the work on 64 rows takes longer than the work."""

SHORTEST_BLOCK = 16
"""Rows per block at least."""

FIRST_LOOK = 32
"""Sample count of the first look, unless blocks are shorter."""

LEAST_STEP = 8
"""Samples between two looks at a network at least: a look costs as much as learning some hundred samples."""

NARROW, NARROW_UNLESS_SHORT = 128, 256
"""Up to these widths the scatter matrix beats a subspace (measured on one core): always, and unless the
window is so short that axes turn too far between looks for glances, so that looks cost n^3."""

# Rows for each input. With a half-life of 500 and 256 inputs (2.8), nine of ten looks are glances.
PER_INPUT = 2
"""Window from which on glances at the scatter matrix are enough most of the time."""


@dataclass(frozen=True)
class Plan:
    """The task of a tracker."""

    kind: type[Regularizer]
    alpha: float | Rule
    """The coefficient, or the rule that finds it."""
    n: int
    """Numbers that are learnt from together: the width of a row, times ``lags + 1``."""
    k: int
    solver: str = "exact"
    dtype: Any = np.float64
    beta: float = 1.0
    """The discount of activities per sample; 1 where ``seconds`` says how samples are forgotten."""
    center: bool = True
    standardize: bool = False
    """True if each input is divided by its standard deviation so far."""
    seconds: float | None = None
    """The half-life in seconds, for rows with time stamps; None: in samples, by ``beta``."""
    lags: int = 0
    """Number of predecessors that are put beside each row."""
    cap_outliers: bool = False
    """True if rows that are far off what is known pull no harder than ten usual ones."""
    longest_block: int = BLOCK
    """Rows per block at most."""
    init_samples: int = 0
    """This and what follows concerns the network only."""
    consolidation: float | None = None
    spontaneous: float = 0.0
    seed: int = 0

    @cached_property
    def width(self) -> int:
        """Numbers in a row as it comes."""
        return self.n // (self.lags + 1)

    @cached_property
    def rounding(self) -> float:
        """Relative rounding error of the rows."""
        return float(np.finfo(self.dtype).eps)

    @cached_property
    def plain(self) -> bool:
        """True if rows are learnt as they come, each one step of time."""
        return not self.lags and self.seconds is None

    @property
    def whole_blocks(self) -> bool:
        """True if complete rows may be learnt several blocks at a time."""
        return self.plain and not self.cap_outliers

    @property
    def anywhere(self) -> bool:
        """True if rows of other libraries are learnt where they live, and not on the host."""
        return self.solver == "subspace" and not self.lags and not self.cap_outliers

    @property
    def glances(self) -> bool:
        """True if looks may be glances: what changes nothing is not decided anew."""
        return self.solver != "network" and isinstance(self.alpha, Rule) and self.alpha.patient

    @cached_property
    def beta2(self) -> float:
        """The discount per sample of second moments."""
        return self.beta**2

    @cached_property
    def window(self) -> float:
        """Effective number of samples that are remembered."""
        return window_of(self.beta)

    @cached_property
    def block(self) -> int:
        """Rows per block: a power of two, at most an eighth of the window.

        Where outliers are capped, half of that: what is usual is updated once per block, and has to follow
        a stream whose scale changes. Where the half-life is in seconds, nobody knows the window beforehand:
        blocks are short enough for most.
        """
        if self.seconds is not None:
            return SHORTEST_BLOCK if self.cap_outliers else 2 * SHORTEST_BLOCK
        longest = self.window / (16 if self.cap_outliers else 8)
        if longest >= self.longest_block:
            return self.longest_block
        return int(max(SHORTEST_BLOCK, 2 ** int(np.log2(max(longest, 1)))))

    def learner(self, alpha: float) -> Learner:
        """A new learner of the kind that ``solver`` names."""
        return LEARNERS[self.solver](self, alpha)

    def network(self) -> NetworkSettings:
        """The settings of the network that this plan asks for, or that would answer it."""
        from ..learners.network.learner import NetworkSettings

        return NetworkSettings(
            self.kind,
            self.n,
            self.k,
            self.dtype,
            self.beta,
            self.center,
            self.init_samples,
            self.consolidation,
            self.spontaneous,
            self.seed,
        )

    def next_look(self, time: int, window: float) -> int:
        """The sample count of the look after this one, given how many samples are remembered."""
        if self.solver == "network":
            return self._next_look_at_network(time)
        if not time:
            return min(FIRST_LOOK, self.block)
        if time < self.block:  # next, when there are rows enough for a look that costs more
            return self.block if self.solver == "subspace" else max(-(-self.n // self.block), 1) * self.block
        if self.solver == "exact":
            # A look costs n^3 here, as much as learning some hundred rows: wide input is looked at less, and
            # narrow input more, so that events do not wait for a look.
            widest = max(window / 16, min(8 * self.n, window / 4))
            return time + self._whole_blocks(min(max(min(2 * time, 8 * self.n), time // 16), widest))
        return time + self._whole_blocks(min(max(self.block, time // 16), window / 16))

    def _whole_blocks(self, rows: float) -> int:
        """The multiple of a block that is nearest to a number of rows, the smaller of two; at least one."""
        return max(math.ceil(rows / self.block - 0.5), 1) * self.block

    def _next_look_at_network(self, time: int) -> int:
        """Steps of 1/32 of the time, at least 8 samples after the first 8.

        At most 1/16 window, 1/4 of a short one. Before the start each look goes through all rows kept: steps
        of 1/4 where these are very wide.
        """
        parts = 4 if time < self.init_samples and self.n > 4096 else 32
        step = max(time // parts, LEAST_STEP if time >= LEAST_STEP else 1)
        if self.beta < 1:
            window = int(1 / (1 - self.beta**2))
            step = min(step, max(window // 16, min(window // 4, LEAST_STEP)))
        later = time + max(step, 1)
        start = max(self.init_samples, 1 + self.center)
        return min(later, start) if time < start else later  # from its start on it fills gaps in another way


def _scatter(plan: Plan, alpha: float) -> Learner:
    from ..learners.scatter import Scatter

    return Scatter(plan.n, plan.k, plan.block, center=plan.center, standardize=plan.standardize)


def _subspace(plan: Plan, alpha: float) -> Learner:
    from ..learners.subspace import Subspace

    return Subspace(
        *(plan.n, plan.k, plan.block),
        center=plan.center,
        standardize=plan.standardize,
        dtype=plan.dtype,
    )


def _network(plan: Plan, alpha: float) -> Learner:
    from ..learners.network.learner import NetworkLearner

    return NetworkLearner(plan.network(), alpha)


LEARNERS: dict[str, Callable[[Plan, float], Learner]] = {
    "exact": _scatter,
    "subspace": _subspace,
    "network": _network,
}
"""Makers of the learner that a solver stands for, given a plan and alpha."""


def automatic_solver(n: int, k: int, window: float = np.inf) -> str:
    """The faster of the two learners that need no local learning, for this width, capacity and window."""
    narrow = NARROW_UNLESS_SHORT if window >= PER_INPUT * n else NARROW
    return "exact" if n <= max(narrow, 2 * k) else "subspace"


def window_of(beta: float) -> float:
    """Effective number of samples that are remembered at this discount."""
    return 1 / (1 - beta**2) if beta < 1 else math.inf
