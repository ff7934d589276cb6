"""When samples were taken, at a few moments: what puts times on the axis of a picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

LIMIT = 512
"""Most moments remembered."""


@dataclass
class Times:
    """Pairs of a sample count and seconds since 1970, at most `LIMIT`, evenly spread.

    Examples
    --------
    >>> times = Times()
    >>> for count in range(100, 1100, 100):
    ...     times.add(count, 60.0 * count)
    >>> times.at([150, 1000])
    array([ 9000., 60000.])
    """

    pairs: list[list[float]] = field(default_factory=list)

    def add(self, samples: int, seconds: float) -> None:
        """Note when the last of so many samples was taken."""
        self.pairs.append([samples, seconds])
        if len(self.pairs) > LIMIT:
            self.pairs = self.pairs[::2]

    @property
    def at_all(self) -> Callable[[ArrayLike], NDArray[np.float64]] | None:
        """`at`, where any time is known."""
        return self.at if self.pairs else None

    def at(self, samples: ArrayLike) -> NDArray[np.float64]:
        """When these samples were taken: in between, as if time had passed evenly."""
        known = np.array(self.pairs)
        return np.asarray(np.interp(np.asarray(samples, dtype=np.float64), known[:, 0], known[:, 1]))
