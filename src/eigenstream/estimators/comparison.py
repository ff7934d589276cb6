"""Does online agree with offline? The question every streaming user asks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array

from .. import metrics
from ..learners.arrays import fetched
from ..learners.knowledge import Profile, Vector
from ..learners.scale import scale_of_rows
from ..model import row_times
from ..model.moments import likeness_of
from ..model.pace import EvenPace
from ..model.reading import Floats
from ..offline import spectrum
from ..rank import Evidence, Rule
from ..rank.decision import decide
from .online_adaptive_pca import OnlineAdaptivePCA, require_online
from .validation import FLOAT_TYPES, filled, times_of

FADED = 0.02
"""Rows that count less than this share of the last one do not tell how alike rows are."""


class Comparison(NamedTuple):
    """An online model beside the closed form of the same rows. Prints readably."""

    rank_online: int
    rank_offline: int
    eigenvalue_error: float
    """Sum of squared differences of the output variances, as a share of the offline ones' sum of squares."""
    subspace_error: float
    """Distance of the kept subspaces, 0 (equal) to 1 (orthogonal), over the smaller rank."""
    n_samples: int
    variances_online: tuple[float, ...]
    variances_offline: tuple[float, ...]
    alignment: tuple[float, ...]
    """Squared cosine of the angle between the online and the offline axis of each component; 1 is equal."""

    @property
    def variance_errors(self) -> tuple[float, ...]:
        """Relative error of each variance that both have."""
        pairs = zip(self.variances_online, self.variances_offline, strict=False)
        return tuple(abs(online - offline) / offline for online, offline in pairs)

    def __str__(self) -> str:
        lines = [
            f"{self.n_samples:,} samples       online   offline     error",
            f"rank            {self.rank_online:>10}{self.rank_offline:>10}{self._rank_error():>10}",
        ]
        rows = zip(self.variances_online, self.variances_offline, self.variance_errors, strict=False)
        lines += [
            f"variance {i:<3}    {online:>10.4g}{offline:>10.4g}{error:>10.1e}"
            for i, (online, offline, error) in enumerate(rows)
        ]
        lines += [
            f"error of output variances (squares, relative) {self.eigenvalue_error:.2g}",
            f"error of the subspace (relative)              {self.subspace_error:.2g}",
        ]
        return "\n".join(lines)

    def _rank_error(self) -> str:
        return f"{self.rank_online - self.rank_offline:+d}" if self.rank_online != self.rank_offline else "0"


def compare_to_offline(model: OnlineAdaptivePCA, X: ArrayLike, *, timestamps: Any = None) -> Comparison:
    """Compare a model with the closed form on these rows, discounted as the model is.

    Parameters
    ----------
    model
        A fitted model.
    X
        The rows it has learnt from, in their order (all of them, or under forgetting the recent ones). Rows
        with gaps are left out or, with ``missing="impute"``, filled in by what the model knows now.
    timestamps
        When each row came, if the model's half-life is a duration.

    Examples
    --------
    >>> from eigenstream import OnlineAdaptivePCA, compare_to_offline, streams
    >>> X = np.vstack(list(streams.paper_stream(3000, random_state=0)))
    >>> report = compare_to_offline(OnlineAdaptivePCA(random_state=0).fit(X), X)
    >>> report.rank_online, report.rank_offline
    (4, 4)
    """
    require_online(model)
    tracker, plan = model._tracker, model._tracker.plan
    data, ages = _same_rows(model, X, timestamps)
    weights = plan.beta2**ages if plan.seconds is None else np.exp2(-ages / plan.seconds)
    if plan.center:
        data = data - (weights @ data / weights.sum()).astype(data.dtype)
    if plan.standardize:
        data = data / scale_of_rows(data, weights).astype(data.dtype)
    lam, axes = spectrum(data, min(plan.k, len(data)), sample_weight=weights)
    lam = lam.astype(np.float64)
    powers = weights @ np.square(data, dtype=np.float64) / weights.sum()
    # A network knows no variance that it drops: where those set the threshold, it is compared without them.
    told = len(lam) if tracker.reading().tells_below_threshold or _is_patient(plan.alpha) else plan.k
    persistence, moves = likeness_of(data[weights > FADED * weights.max()], plan.k, axes)
    evidence = Evidence(
        lam[:told].astype(np.float64),
        float(lam.sum()),
        len(axes),
        tracker.blocks.inputs.number,
        len(data) - plan.center,
        plan.beta2,
        input_variances=powers,
        rounding=float(np.finfo(data.dtype).eps),
        profile=Profile.of(powers, np.sqrt(lam[: len(axes), None]) * axes),
        persistence=persistence,
        standardized=plan.standardize,
        moves=moves,
    )
    if plan.seconds is not None:
        pace = EvenPace(float(weights.sum()), float(weights @ weights))
        evidence = evidence._replace(beta2=pace.beta2, remembered=pace.samples - plan.center)
    decision = decide(plan.kind, plan.alpha, evidence, tracker.decision)
    rank, threshold = decision.rank, decision.threshold
    output = lam[:rank] - threshold
    shared, components = min(rank, model.n_components_), fetched(model.components_)
    scale = float(output @ output)
    error = metrics.eigenvalue_error(model.output_variance_, output)
    return Comparison(
        rank_online=model.n_components_,
        rank_offline=rank,
        eigenvalue_error=error / scale if scale > 0 else error,
        subspace_error=metrics.subspace_error(components[:shared], axes[:shared], normalize="relative")
        if shared
        else 0.0,
        n_samples=len(data),
        variances_online=tuple(map(float, model.explained_variance_)),
        variances_offline=tuple(map(float, lam[:rank])),
        alignment=tuple(_alignment(components[i], axes[i]) for i in range(shared)),
    )


def _is_patient(alpha: float | Rule) -> bool:
    return not isinstance(alpha, Rule) or alpha.patient


def _same_rows(model: OnlineAdaptivePCA, X: ArrayLike, timestamps: Any) -> tuple[Floats, Vector]:
    """The rows as the model learns from them, and how old each is: in samples, or in seconds."""
    tracker, plan = model._tracker, model._tracker.plan
    finite: Any = True if model.missing == "raise" else "allow-nan"
    X = filled(X)
    rows = check_array(X, dtype=FLOAT_TYPES, ensure_all_finite=finite)
    if rows.shape[1] != model.n_features_in_:
        raise ValueError(f"the model has n_features={model.n_features_in_}, these rows have {rows.shape[1]}")
    if plan.seconds is not None:
        timestamps = times_of(X, timestamps)
    times = row_times(timestamps, len(rows), plan)
    data = tracker.completed(rows, model.missing)
    complete = ~np.isnan(data).any(axis=1)
    if not complete.any():
        raise ValueError("every row has missing values: there is nothing to compare with")
    data = data[complete]
    if times is None:
        return data, np.arange(len(data) - 1, -1, -1.0)
    return data, times[complete][-1] - times[complete]


def _alignment(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Squared cosine of the angle between two axes."""
    return min(float(one @ other) ** 2, 1.0)
