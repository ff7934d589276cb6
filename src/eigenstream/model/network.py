"""Settings of the paper's network, as a value for ``solver``; importing them does not load the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

MOST_NUMBERS_KEPT = 2**23
"""Numbers in the rows that a network keeps to start from, 64 MiB of them: very wide rows are fewer."""

ROWS_TO_START = 200
"""Rows that a network starts from; measured on real data in benchmarks/results/defaults.md. With more rows,
looking at them costs more than it brings."""

GROWTH = 1.25
"""Growth of the sample count between consolidations; measured in benchmarks/results/defaults.md."""

NEVER_AGAIN = 1e9
"""Largest growth: with it a second consolidation never comes, and the count of the first stays finite."""

ACTIVITY = 0.01
"""Spontaneous activity under forgetting, where silent modes die; without forgetting nothing decays."""


@dataclass(frozen=True)
class Network:
    """The paper's network, with what helps it on real streams; ``solver="network"`` is ``solver=Network()``.

    With ``Network(init_samples=0, consolidation=None, spontaneous_activity=0)`` and an ``alpha`` it is as in
    the paper: ``solver="paper"``, which asks for ``alpha``. Without one, a rule finds alpha from the whole
    spectrum now and then, which is not local.

    Parameters
    ----------
    init_samples
        Rows that are kept to start from in closed form; ``"auto"`` is 200 (fewer, but at least twice the
        capacity, where rows are very wide); 0 is the paper's random start.
    consolidation
        Factor by which the sample count grows between returns to the optimum; ``"auto"`` is 1.25; None never
        returns, as in the paper.
    spontaneous_activity
        Random activity that keeps silent modes alive, as a share of the input's root mean square; ``"auto"``
        is 0.01 with a half-life and 0 without; 0 is the paper's network.

    Examples
    --------
    >>> from eigenstream import Network, OnlineAdaptivePCA, streams
    >>> model = OnlineAdaptivePCA(solver=Network(init_samples=100), random_state=0)
    >>> for batch in streams.paper_stream(2000, random_state=0):
    ...     model = model.partial_fit(batch)
    >>> model.n_components_
    4
    """

    init_samples: int | Literal["auto"] = "auto"
    consolidation: float | Literal["auto"] | None = "auto"
    spontaneous_activity: float | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        rows, factor, activity = self.init_samples, self.consolidation, self.spontaneous_activity
        if rows != "auto" and (not isinstance(rows, int | np.integer) or rows < 0):
            raise ValueError(f"init_samples must be 'auto' or a whole number >= 0, got {rows!r}")
        if factor is not None and factor != "auto" and (isinstance(factor, str) or not 1 < factor < np.inf):
            raise ValueError(f"consolidation must be 'auto', None or a number > 1, got {factor!r}")
        if activity != "auto" and (isinstance(activity, str) or not 0 <= activity < np.inf):
            raise ValueError(f"spontaneous_activity must be 'auto' or a number >= 0, got {activity!r}")

    def settings(self, n: int, k: int, beta: float) -> dict[str, Any]:
        """Settings in numbers, for this width, capacity and discount per sample."""
        return {
            "init_samples": self.rows_to_start(n, k),
            "consolidation": self.growth,
            "spontaneous": self.activity(beta),
        }

    def rows_to_start(self, n: int, k: int) -> int:
        """Rows to start from, for this width and capacity."""
        if self.init_samples == "auto":
            return max(2 * k, min(ROWS_TO_START, MOST_NUMBERS_KEPT // n))
        return int(self.init_samples)

    @property
    def growth(self) -> float | None:
        """Growth of the sample count between consolidations; None: there are none."""
        factor = GROWTH if self.consolidation == "auto" else self.consolidation
        return None if factor is None else min(float(factor), NEVER_AGAIN)

    def activity(self, beta: float) -> float:
        """Spontaneous activity at this discount per sample."""
        if self.spontaneous_activity == "auto":
            return 0.0 if beta == 1 else ACTIVITY
        return float(self.spontaneous_activity)


NAMED = {
    "network": Network(),
    "paper": Network(init_samples=0, consolidation=None, spontaneous_activity=0),
}
"""Networks that ``solver`` knows by name: with what helps it on real streams, and the paper's alone."""
