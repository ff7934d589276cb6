"""Several half-lives side by side in one pass over the same rows, to choose one of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array

from ..io.durations import as_seconds, is_duration
from ..model.likelihood import Density, log_likelihood
from ..model.reading import Floats, Reading
from .online_adaptive_pca import OnlineAdaptivePCA
from .validation import FLOAT_TYPES, filled, times_of

ROWS = 64
"""Rows that are judged together, by the model from before them."""


class HalfLife(NamedTuple):
    """The result of one half-life."""

    half_life: float | str | timedelta | None
    """In samples, or a duration; None never forgets."""
    rank: int
    """The rank at the end."""
    events: int
    """Number of changes of the rank."""
    kept: float
    """Share of the variance that the components make up at the end."""
    surprise: float
    """Mean negative log-likelihood of a number in a new row, by the model from before that row (components
    and even noise, both Gaussian; in nats, up to a constant). Smaller is better, whatever the rank."""


class HalfLives(tuple[HalfLife, ...]):
    """One `HalfLife` for each that was tried. Prints readably."""

    __slots__ = ()

    @property
    def best(self) -> HalfLife:
        """The one whose model was least surprised by new rows."""
        return min(self, key=lambda tried: tried.surprise)

    def __str__(self) -> str:
        best = self.best
        lines = ["half-life      rank    events      kept    surprise"]
        for tried in self:
            name = _name(tried.half_life)
            excess = "     least" if tried is best else f"{tried.surprise - best.surprise:>+10.3f}"
            lines.append(f"{name:<10}{tried.rank:>9}{tried.events:>10}{tried.kept:>10.1%}  {excess}")
        return "\n".join(lines)


def _name(half_life: float | str | timedelta | None) -> str:
    if half_life is None:
        return "never"
    return str(half_life) if is_duration(half_life) else f"{half_life:,g}"


def compare_half_lives(
    X: ArrayLike,
    half_lives: Sequence[float | str | timedelta | None] = (50, 200, 1000, 5000, None),
    *,
    timestamps: Any = None,
    **parameters: Any,
) -> HalfLives:
    """Rank, events and variance for several half-lives: a help to choose one.

    A short half-life follows changes and knows little of weak components; a long one is the other way round.
    The one to choose is least surprised by rows that it has not learnt from yet.

    Parameters
    ----------
    X
        Rows in their order, as they would be learnt from.
    half_lives
        In samples, or durations such as ``"10min"``; None never forgets.
    timestamps
        When each row came, for durations.
    parameters
        Other parameters of `OnlineAdaptivePCA`.

    Examples
    --------
    >>> from eigenstream import compare_half_lives, streams
    >>> X = np.vstack(list(streams.changing_rank(random_state=0)))  # 3 components, then 5, then 2
    >>> tried = compare_half_lives(X, (20, 200, None))
    >>> tried.best.half_life, [one.rank for one in tried]
    (200, [2, 2, 5])
    """
    finite: Any = True if parameters.get("missing", "raise") == "raise" else "allow-nan"
    X = filled(X)
    rows = check_array(X, dtype=FLOAT_TYPES, ensure_min_samples=2, ensure_all_finite=finite)
    times = times_of(X, timestamps)
    if times is not None:
        times = as_seconds(times)
        if times.shape != (len(rows),):
            raise ValueError(f"timestamps must be {len(rows)} times, one per row, got shape {times.shape}")
    return HalfLives(_tried(rows, half_life, times, parameters) for half_life in half_lives)


def _tried(rows: Floats, half_life: Any, times: Any, parameters: dict[str, Any]) -> HalfLife:
    model = OnlineAdaptivePCA(half_life=half_life, **parameters)
    times = times if is_duration(half_life) else None
    surprise, size = 0.0, 0
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the rank has reached max_components", UserWarning)
        for start in range(0, len(rows), ROWS):
            fresh = rows[start : start + ROWS]
            if start:
                judged = model._tracker.next_rows(fresh, model.missing)
                surprise += _surprise(model._reading, judged)
                size += judged.size
            model.partial_fit(fresh, timestamps=None if times is None else times[start : start + ROWS])
    mean = surprise / max(size, 1)
    kept = float(model.explained_variance_ratio_.sum())
    return HalfLife(half_life, model.n_components_, len(model.rank_history_), kept, mean)


def _surprise(reading: Reading, rows: Floats) -> float:
    """Negative log-likelihood of rows under components and even noise, both Gaussian, up to a constant."""
    expected = Density(reading.kept_variances.astype(np.float64), float(reading.rest_variance))
    found = log_likelihood(reading, rows, expected).sum(dtype=np.float64)
    return -float(found) - rows.size * math.log(2 * math.pi) / 2
