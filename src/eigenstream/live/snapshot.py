"""One moment of a model in few numbers, however wide its rows and long its stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.history import ControlHistory, SpectrumHistory

MOST_COMPONENTS = 6
"""Leading components that are shown: as many as there are colours that everybody can tell apart."""
MOST_POINTS = 512
"""Most points of each of them: more than a chart has pixels for."""
MOST_TRACKS = 48
"""Most eigenvalues that are followed over time; each is a line that the browser paints."""
MOST_EVENTS = 200
"""Most changes of rank, or alarms, in the list: the latest."""


class Moment(NamedTuple):
    """A model at one refresh of the page."""

    sample: int
    variances: NDArray[np.float64]
    threshold: float
    rank: int
    rows_per_second: float
    lag: float
    """NaN if unknown."""


class Speed(NamedTuple):
    """Rows per second that were learnt, and the lag behind the source, over time."""

    sample: NDArray[np.int64]
    rows_per_second: NDArray[np.float64]
    lag: NDArray[np.float64]


class Loadings(NamedTuple):
    """The leading components, thinned."""

    start: NDArray[np.int64]
    """The first feature that each point stands for (m)."""
    values: NDArray[np.float32]
    """The loading furthest from zero among the features of a point (components, m)."""
    n_features: int


class ShownAlarm(NamedTuple):
    """An alarm of a monitor, in rows that came."""

    began: int
    last: int
    rows: int
    """Rows that exceeded a limit."""
    on: bool
    accepted: bool
    peak: float
    statistic: str
    contributors: tuple[tuple[str, float], ...]


class Watching(NamedTuple):
    """The state of a monitor, beside that of its model."""

    history: ControlHistory
    alarms: tuple[ShownAlarm, ...]
    """The latest, oldest first."""
    number: int
    """Number of alarms."""
    alarmed: int
    """Rows that alarmed."""


class Snapshot(NamedTuple):
    """The content of the page. Nobody writes to its arrays."""

    version: int
    now: Moment
    explained: float
    """The share of the variance that the components kept account for."""
    capacity: int
    timeline: SpectrumHistory
    pace: Speed
    recent: int
    """The sample from which on every refresh is remembered."""
    loadings: Loadings
    events: tuple[tuple[int, int, int], ...]
    """The latest changes of rank: sample, before, after."""
    times: NDArray[np.float64] = np.zeros((0, 2))
    """Times of some samples: sample counts and seconds since 1970."""
    watching: Watching | None = None
    """None unless the model watches; samples are then rows that came, learnt or not."""


@dataclass
class Shown:
    """The snapshot that a page shows now, and its state."""

    snapshot: Snapshot | None = None
    state: str = "waiting"
    message: str | None = None
    """The message for a stream that has ended."""


def thinned(components: NDArray[np.floating[Any]]) -> Loadings:
    """At most `MOST_POINTS` of each of the first `MOST_COMPONENTS` rows; peaks stay.

    Examples
    --------
    >>> row = np.zeros((1, 2048))
    >>> row[0, 1001] = -7
    >>> thin = thinned(row)
    >>> thin.values.shape, int(thin.start[250]), float(thin.values[0, 250])
    ((1, 512), 1000, -7.0)
    """
    leading = components[:MOST_COMPONENTS]
    n = components.shape[1]
    if n <= MOST_POINTS:
        return Loadings(np.arange(n), leading.astype(np.float32), n)
    start = np.linspace(0, n, MOST_POINTS, endpoint=False).astype(np.int64)
    low, high = np.minimum.reduceat(leading, start, axis=1), np.maximum.reduceat(leading, start, axis=1)
    return Loadings(start, np.where(high >= -low, high, low).astype(np.float32), n)


def merged(past: SpectrumHistory, recent: Sequence[Moment]) -> SpectrumHistory:
    """The whole stream and its recent part in one, in order, each moment once."""
    width = past.variances.shape[1]
    late = np.zeros((len(recent), width))
    for row, moment in zip(late, recent, strict=True):
        row[: len(moment.variances)] = moment.variances[:width]
    sample = np.concatenate((past.sample, [m.sample for m in recent])).astype(np.int64)
    sample, order = np.unique(sample, return_index=True)
    tracks = np.concatenate((past.variances, late))[order, :MOST_TRACKS]
    return SpectrumHistory(
        sample,
        np.where(tracks > 0, tracks, np.nan),
        np.concatenate((past.threshold, [m.threshold for m in recent]))[order],
        np.concatenate((past.rank, [m.rank for m in recent])).astype(np.int64)[order],
    )


def paced(moments: Sequence[Moment]) -> Speed:
    """Rows per second and lag at these moments, in order, each once."""
    sample, order = np.unique(np.array([m.sample for m in moments], dtype=np.int64), return_index=True)
    table = np.array([(m.rows_per_second, m.lag) for m in moments]).reshape(-1, 2)[order]
    return Speed(sample, table[:, 0], table[:, 1])
