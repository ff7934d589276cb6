"""Which half-life? One pass over the same rows with several of them, side by side."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array

from ..reading import Floats
from .online_adaptive_pca import OnlineAdaptivePCA

ROWS = 64
"""Rows that are judged together, by the model from before them."""


class HalfLife(NamedTuple):
    """What one half-life came to."""

    half_life: float | None
    """In samples; None never forgets."""
    rank: int
    """The rank at the end."""
    events: int
    """How often it changed."""
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
            name = "never" if tried.half_life is None else f"{tried.half_life:,g}"
            excess = "     least" if tried is best else f"{tried.surprise - best.surprise:>+10.3f}"
            lines.append(f"{name:<10}{tried.rank:>9}{tried.events:>10}{tried.kept:>10.1%}  {excess}")
        return "\n".join(lines)


def compare_half_lives(
    X: ArrayLike, half_lives: Sequence[float | None] = (50, 200, 1000, 5000, None), **parameters: Any
) -> HalfLives:
    """Rank, events and variance for several half-lives: a help to choose one.

    A short half-life follows changes and knows little of weak components; a long one is the other way round.
    The one to choose is least surprised by rows that it has not learnt from yet.

    Parameters
    ----------
    X
        Rows in their order, as they would be learnt from.
    half_lives
        In samples; None never forgets.
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
    rows = check_array(X, dtype=(np.float64, np.float32), ensure_min_samples=2)
    return HalfLives(_tried(rows, half_life, parameters) for half_life in half_lives)


def _tried(rows: Floats, half_life: float | None, parameters: dict[str, Any]) -> HalfLife:
    model = OnlineAdaptivePCA(half_life=half_life, **parameters)
    surprise = 0.0
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the rank has reached max_components", UserWarning)
        for start in range(0, len(rows), ROWS):
            fresh = rows[start : start + ROWS]
            if start:
                surprise += _surprise(model, fresh)
            model.partial_fit(fresh)
    mean = surprise / max(rows[ROWS:].size, 1)
    kept = float(model.explained_variance_ratio_.sum())
    return HalfLife(half_life, model.n_components_, len(model.rank_history_), kept, mean)


def _surprise(model: OnlineAdaptivePCA, rows: Floats) -> float:
    """Negative log-likelihood of rows under components and even noise, both Gaussian, up to a constant."""
    variances, n = model.explained_variance_.astype(np.float64), rows.shape[1]
    noise = max(float(model.noise_variance_), np.finfo(np.float64).tiny)
    projections = (rows - model.mean_) @ model.components_.T
    width = float(np.sum(np.log(variances))) + (n - len(variances)) * np.log(noise)
    inside = np.sum(np.square(projections, dtype=np.float64) / variances, axis=1)
    outside = model.score_samples(rows).astype(np.float64) / noise
    return float(np.sum(width + inside + outside)) / 2
