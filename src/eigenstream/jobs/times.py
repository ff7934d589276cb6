"""Times of samples at a few moments: enough to put times on the axis of a picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..learners.learner import PAUSE

LIMIT = 512
"""Most moments remembered: a picture has about twice as many pixels."""

OF_A_KEY = {"limit": 64, "every": 32}
"""Settings of the times of one key of many: some kilobytes, and a moment at least every 32 rows at first."""


@dataclass
class Times:
    """Pairs of a sample count and seconds since 1970, at most `LIMIT`; the last is that of the last sample.

    Examples
    --------
    >>> times = Times()
    >>> times.add(0, 60.0 * np.arange(100), begins=True)
    >>> times.add(100, 86400.0 + 60.0 * np.arange(100), begins=True)
    >>> times.at([1, 51, 100, 101, 151])
    array([    0.,  3000.,  5940., 86400., 89400.])
    """

    pairs: list[list[float]] = field(default_factory=list)
    limit: int = LIMIT
    every: int = 0
    """Samples after which one is remembered in any case; 0: none is."""

    def add(self, came: int, seconds: NDArray[np.float64], *, begins: bool) -> None:
        """Note the times of samples that follow ``came`` others.

        Both sides of each pause are remembered, and of the beginning where a batch ``begins``. A pause, a
        step of more than `PAUSE` mean ones, depends on the samples before it alone: the pieces in which a
        pipe delivers rows must not matter.
        """
        if not len(seconds):
            return
        first, last = (self.pairs[0], self.pairs[-1]) if self.pairs else [[came + 1, float(seconds[0])]] * 2
        counts = np.concatenate(([last[0]], came + 1 + np.arange(len(seconds))))
        moments = np.concatenate(([last[1]], seconds))
        ages, spans = counts[:-1] - first[0], np.abs(moments[:-1] - first[1])
        noted = np.abs(np.diff(moments)) * ages > PAUSE * spans
        noted[0] |= begins or not self.pairs
        if self.every:
            noted |= counts[1:] % self.every == 0
        kept = self.pairs[:-1]
        for i in np.flatnonzero(noted):
            for count, moment in zip(counts[i : i + 2].tolist(), moments[i : i + 2].tolist(), strict=True):
                if not kept or count > kept[-1][0]:
                    kept = _thinned([*kept, [count, moment]], self.limit)
        self.pairs = [*kept, [counts[-1].item(), moments[-1].item()]]

    @property
    def at_all(self) -> Callable[[ArrayLike], NDArray[np.float64]] | None:
        """`at`, if any time is known, and times go on: where clocks began anew, an axis shows rows."""
        return self.at if self.ordered else None

    @property
    def ordered(self) -> list[list[float]]:
        """The pairs, if times go on from each to the next; none where clocks began anew."""
        moments = [moment for _, moment in self.pairs]
        return self.pairs if moments == sorted(moments) else []

    def at(self, samples: ArrayLike) -> NDArray[np.float64]:
        """Times of these samples: interpolated between the moments remembered."""
        known = np.array(self.pairs)
        return np.asarray(np.interp(np.asarray(samples, dtype=np.float64), known[:, 0], known[:, 1]))


def _thinned(pairs: list[list[float]], limit: int) -> list[list[float]]:
    """Drop moments that lie most nearly on a line with their neighbours, once there are too many."""
    if len(pairs) < limit:
        return pairs
    count, moment = np.array(pairs).T
    middle = np.arange(1, len(pairs) - 1, 2)
    share = (count[middle] - count[middle - 1]) / (count[middle + 1] - count[middle - 1])
    between = moment[middle - 1] + share * (moment[middle + 1] - moment[middle - 1])
    order = np.argsort(np.abs(moment[middle] - between), kind="stable")
    return [pairs[i] for i in np.delete(np.arange(len(pairs)), middle[order[: len(order) // 2]])]
