"""Settings of a monitor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .events import CALM

# Limits are measured by rows beyond `limits.BODY`, which is as much.
LARGEST_RATE = 0.1
"""Largest false alarm rate, as a share of rows."""

# Fewer make no basis for the limits of the new normal (`limits.BASIS`).
SHORTEST_ALARM = 64
"""Fewest rows after which a new normal is accepted."""


@dataclass(frozen=True)
class Settings:
    """Settings of a monitor."""

    false_alarm_rate: float = 1e-3
    learn_from_alarms: bool = False
    accept_after: int = 1000
    """Rows after which an alarm that is still on is taken for the new normal."""
    confirm: tuple[int, int] = (1, 1)
    """An alarm counts once k of n rows in sequence have exceeded a limit."""

    def __post_init__(self) -> None:
        rate, longest, (k, n) = self.false_alarm_rate, self.accept_after, self.confirm
        if not 0 < rate <= LARGEST_RATE:
            raise ValueError(f"false_alarm_rate must be above 0 and at most {LARGEST_RATE}, got {rate!r}")
        if not isinstance(longest, int | np.integer) or longest < SHORTEST_ALARM:
            raise ValueError(
                f"accept_after must be a whole number of rows, at least {SHORTEST_ALARM}, got {longest!r}"
            )
        whole = isinstance(k, int | np.integer) and isinstance(n, int | np.integer)
        if not whole or not 1 <= k <= n <= CALM:
            raise ValueError(
                f"confirm must be k rows in sequence or (k, n) for k of n rows, 1 <= k <= n <= {CALM}, got "
                f"{(k, n)!r}"
            )
