"""Settings of a monitor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .events import LONGEST_CALM

# Limits are measured by rows beyond `limits.BODY`, which is as much.
LARGEST_RATE = 0.1
"""Largest false alarm rate, as a share of rows."""

# Fewer make no basis for the limits of the new normal (`limits.BASIS`).
SHORTEST_ALARM = 64
"""Fewest rows after which a new normal is accepted."""


@dataclass(frozen=True)
class MonitorSettings:
    """Settings of a monitor."""

    false_alarm_rate: float = 1e-3
    learn_from_alarms: bool = False
    accept_after: int = 1000
    """Rows after which an alarm that is still on is taken for the new normal."""
    confirm: tuple[int, int] = (1, 1)
    """An alarm counts once k of n rows in sequence have exceeded a limit; `confirmation` reads it."""

    end_after: int | None = None
    """Rows in sequence below the limits that end an alarm; None: about twice as many as exceeded."""

    def __post_init__(self) -> None:
        rate, longest = self.false_alarm_rate, self.accept_after
        if not 0 < rate <= LARGEST_RATE:
            raise ValueError(f"false_alarm_rate must be above 0 and at most {LARGEST_RATE}, got {rate!r}")
        if not isinstance(longest, int | np.integer) or longest < SHORTEST_ALARM:
            raise ValueError(
                f"accept_after must be a whole number of rows, at least {SHORTEST_ALARM}, got {longest!r}"
            )
        if self.end_after is not None and (
            not isinstance(self.end_after, int | np.integer) or self.end_after < 1
        ):
            raise ValueError(
                f"end_after must be a whole number of rows, at least 1, or None, got {self.end_after!r}"
            )
        object.__setattr__(self, "confirm", confirmation(self.confirm))


def confirmation(value: Any) -> tuple[int, int]:
    """The pair (k, n) of ``3``, ``"3"``, ``"3/5"`` or ``(3, 5)``: k of n rows have to exceed a limit.

    Examples
    --------
    >>> confirmation("3/5"), confirmation(2)
    ((3, 5), (2, 2))
    """
    given = value
    if isinstance(value, str):
        value = tuple(int(part) if part.isdigit() else part for part in value.split("/"))
    pair = tuple(value) if isinstance(value, tuple | list) else (value,)
    k, n = pair if len(pair) == 2 else 2 * pair if len(pair) == 1 else (0, 0)
    whole = all(isinstance(part, int | np.integer) and not isinstance(part, bool) for part in (k, n))
    if not whole or not 1 <= k <= n <= LONGEST_CALM:
        raise ValueError(
            f"confirm must be k rows in sequence, such as 3, or k of n rows, such as '3/5' or (3, 5), with "
            f"1 <= k <= n <= {LONGEST_CALM}, got {given!r}"
        )
    return int(k), int(n)
