"""What the parameters of `OnlineAdaptivePCA` mean: checks, and the defaults behind "auto"."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state


def discount(half_life: float | None) -> float:
    """beta, the discount of activities a sample: ``beta^(2 half_life) = 1/2``."""
    h = _number("half_life", half_life, above=0, expected="None or a number of samples > 0")
    return 1.0 if h is None else float(0.5 ** (0.5 / h))


def init_samples(value: int | str, n: int, k: int) -> int:
    """Rows to start from: 200, fewer where they are very wide, but never less than twice the capacity.

    What that brings on real data is measured in benchmarks/results/defaults.md; with more rows, looking at
    them costs more than it brings.
    """
    if value == "auto":
        return max(2 * k, min(200, 2**23 // n))
    if not isinstance(value, int | np.integer) or value < 0:
        raise ValueError(f"init_samples must be 'auto' or a whole number >= 0, got {value!r}")
    return int(value)


def consolidation(value: float | str | None) -> float | None:
    """The factor between consolidations."""
    factor = 1.25 if value == "auto" else value
    number = _number("consolidation", factor, above=1, expected="'auto', None or a number > 1")
    return None if number is None else min(number, 1e9)  # from then on it never comes to the second


def spontaneous_activity(value: float | str, beta: float) -> float:
    """Needed under forgetting, where silent modes die; without it nothing decays."""
    if value == "auto":
        return 0.0 if beta == 1 else 0.01
    if isinstance(value, str) or not 0 <= value < np.inf:
        raise ValueError(f"spontaneous_activity must be 'auto' or a number >= 0, got {value!r}")
    return float(value)


def seed(random_state: Any) -> int:
    """One number that all randomness follows from."""
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state) % 2**63  # what a compiled loop can hold
    return int(check_random_state(random_state).randint(2**31))


LARGEST_POWER: dict[Any, float] = {np.float64: 1e135, np.float32: 1e20}
"""Squared length a row may have, such that what is made of it stays finite over 10^8 samples: its square
where eigenvalues are read off, its power 3/2 where N in the precision of the data meets a row."""


def refuse_huge(rows: NDArray[np.floating[Any]]) -> None:
    """An error where squares would overflow; NaN is somebody else's business."""
    limit = LARGEST_POWER[rows.dtype.type]
    if np.einsum("ij,ij->", rows, rows, dtype=np.float64) < limit:
        return
    with np.errstate(over="ignore"):
        power = np.nansum(rows.astype(np.float64) ** 2, axis=1).max(initial=0.0)
    if not power < limit:
        largest = float(np.nanmax(np.abs(rows)))
        raise ValueError(
            f"values up to {largest:g} are too large for {rows.dtype}: squares would overflow; rescale them"
        )


def row_weights(sample_weight: ArrayLike | None, rows: int) -> NDArray[np.float64]:
    """Weight and power factor of each row."""
    weights = np.ones((rows, 2))
    if sample_weight is None:
        return weights
    given = np.asarray(sample_weight, dtype=np.float64)
    if given.shape != (rows,):
        raise ValueError(f"sample_weight must be {rows} numbers, one a row, got shape {given.shape}")
    if not np.all((given >= 0) & np.isfinite(given)):
        raise ValueError("sample_weight must be finite and >= 0; found negative, NaN or infinite weights")
    weights[:, 0] = given
    return weights


def _number(name: str, value: Any, *, above: float, expected: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, str) or not above < value < np.inf:
        raise ValueError(f"{name} must be {expected}, got {value!r}")
    return float(value)
