"""A stream over time in bounded memory: what pictures of it are drawn from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..learners.marks import Mark

Item = TypeVar("Item")

# Moments. A picture has no more columns to show them in; a file grows by as many spectra at most.
LIMIT = 256
"""Most moments kept."""

BESIDE = 4
"""Numbers of a moment beside its variances."""

STATISTIC_NAMES = {
    "t2": "T²",
    "spe": "SPE",
    **{name: name for name in ("distance", "extreme", "average", "pair")},
}
"""Statistics of a monitor in the order of the columns of `ControlHistory`, and their names for people."""


ROUNDING = 1e-12
"""Variances below this share of the largest are rounding."""


def above_rounding(variances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Variances as a logarithmic axis shows them: NaN where rounding or zero would stretch it.

    Examples
    --------
    >>> above_rounding(np.array([3.0, 1e-17, 0.0]))
    array([ 3., nan, nan])
    """
    return np.where(variances > ROUNDING * variances.max(initial=0), variances, np.nan)


class SpectrumHistory(NamedTuple):
    """The spectrum at up to 256 moments, evenly spread over the stream."""

    sample: NDArray[np.int64]
    """Number of samples seen (m)."""
    variances: NDArray[np.float64]
    """Input variance along each component kept; for others the mean of the rest (m, max_components)."""
    threshold: NDArray[np.float64]
    """Threshold between kept and dropped variances (m)."""
    rank: NDArray[np.int64]
    """Number of components kept (m)."""
    rest: NDArray[np.float64]
    """Mean variance of the directions that are not kept (m)."""


class ControlHistory(NamedTuple):
    """The statistics of a stream in up to 512 stretches of equal length."""

    row: NDArray[np.int64]
    """The first row of each stretch (m)."""
    statistics: NDArray[np.float64]
    """The largest of each statistic in it; NaN where no row was judged (m, 5)."""
    limits: NDArray[np.float64]
    """The limits at its end; infinity where there was none (m, 5)."""
    severity: NDArray[np.float64]
    """The largest severity in it (m)."""
    alarm: NDArray[np.bool_]
    """True if a row of it alarmed (m)."""

    def chart(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A statistic, or the severity, and its limit as a chart shows them; NaN where nothing is shown.

        Before there is a limit, and just after, a model knows so little that statistics are of any size.
        """
        if name == "severity":
            statistic = self.severity.copy()
            limit = np.where(np.isfinite(self.limits).any(axis=1), 1.0, np.inf)
        else:
            i = list(STATISTIC_NAMES).index(name)
            statistic, limit = self.statistics[:, i].copy(), self.limits[:, i].copy()
        told = np.flatnonzero(np.isfinite(limit))
        first = told[len(told) // 50] if len(told) else len(limit)
        statistic[:first] = limit[:first] = np.nan
        statistic[~(statistic > 0)] = limit[~np.isfinite(limit)] = np.nan
        return statistic, limit


@dataclass
class Thinned(Generic[Item]):
    """At most `LIMIT` of any number of moments, evenly spread; which ones depends on their places alone."""

    place_of: Callable[[Item], int]
    """Function that gives the number of samples seen at a moment."""
    stride: int = 1
    """Samples of which only the first moment is kept; doubled whenever there are too many moments."""
    moments: list[Item] = field(default_factory=list)

    def takes(self, place: int) -> bool:
        """True if a moment at this place, later than those before, would be kept."""
        return not self.moments or place // self.stride != self._bin(self.moments[-1])

    def add(self, moment: Item) -> None:
        """Offer one moment, later than those before."""
        if not self.takes(self.place_of(moment)):
            return
        self.moments.append(moment)
        while len(self.moments) > LIMIT:
            self.stride *= 2
            bins = [self._bin(kept) for kept in self.moments]
            self.moments = [m for i, m in enumerate(self.moments) if i == 0 or bins[i] != bins[i - 1]]

    def mark(self) -> Mark:
        """The present state, for `revert`."""
        return self.stride, self.moments, len(self.moments)

    def revert(self, mark: Mark) -> None:
        """Go back to the last mark: since then moments were only added, or the list was replaced."""
        self.stride, self.moments, number = mark
        del self.moments[number:]

    def _bin(self, moment: Item) -> int:
        return self.place_of(moment) // self.stride


def _sample_of(moment: NDArray[np.float64]) -> int:
    return int(moment[0])


class History(Thinned[NDArray[np.float64]]):
    """Moments of a spectrum of k variances, each (sample, threshold, rank, rest, variances...)."""

    def __init__(self, k: int, stride: int = 1, moments: Iterable[NDArray[np.float64]] = ()) -> None:
        super().__init__(_sample_of, stride, list(moments))
        self.k = k

    def note(self, sample: int, variances: list[float], threshold: float, rank: int, rest: float) -> None:
        """Offer the spectrum at this moment, and the mean variance of what is not kept."""
        self.add(np.array([sample, threshold, rank, rest, *variances]))

    def repeat(self, sample: int) -> None:
        """Offer the last moment once more: nothing has moved since then."""
        if self.takes(sample):
            moment = self.moments[-1].copy()
            moment[0] = sample
            self.add(moment)

    def history(self) -> SpectrumHistory:
        """The moments kept, as arrays."""
        table = np.array(self.moments).reshape(-1, BESIDE + self.k)
        sample, rank = table[:, 0].astype(np.int64), table[:, 2].astype(np.int64)
        return SpectrumHistory(sample, table[:, BESIDE:], table[:, 1], rank, table[:, 3])
