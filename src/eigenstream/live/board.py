"""The board on which the learning thread leaves snapshots for the page; neither waits for the other.

A snapshot is one moment of a model in few numbers, however wide its rows and long its stream.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..model.history import LIMIT, ControlHistory, SpectrumHistory, Thinned

if TYPE_CHECKING:
    from ..model.attributes import TrackedAttributes
    from ..model.expectation import Trace
    from ..monitoring import Alarm, Monitor
    from ..monitoring.handled import Handled

Pairs = Sequence[Sequence[float]]
"""Pairs of a sample count and the seconds since 1970 when that sample was taken."""

MOST_COMPONENTS = 6
"""Leading components that are shown: as many as there are colours that everybody can tell apart."""
MOST_POINTS = 512
"""Most points of each of them: more than a chart has pixels for."""
MOST_TRACKS = 48
"""Most eigenvalues that are followed over time; each is a line that the browser paints."""
MOST_NOTICES = 3
"""Inputs out of order, or a drift, that the page names: the latest."""
MOST_EVENTS = 200
"""Most changes of rank, or alarms, in the list: the latest."""
REFRESH = 0.25
"""Least seconds between two looks at the model: faster changes nobody follows by eye."""
SHARE = 0.02
"""Largest share of the learning thread's time, about, for looks; wide models are looked at less often."""
QUIET = 1.0
"""Seconds without a batch after which the courier looks by itself, so that the end of a burst is seen."""
WAITING = 3.0
"""Seconds without a batch after which the page says that it waits."""


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


class Watching(NamedTuple):
    """The state of a monitor, beside that of its model."""

    history: ControlHistory
    alarms: tuple[Alarm, ...]
    """The latest, oldest first, in rows that came."""
    number: int
    """Number of alarms."""
    alarmed: int
    """Rows that alarmed."""
    traces: tuple[Trace, ...]
    """Traces of the inputs to blame around the latest alarms."""
    source_rows: Mapping[int, int]
    """Number in the source of the first row of an alarm, by its number here; those that are known."""
    notices: str
    """Inputs out of order and drifts that are on, as a text behind others."""


class Snapshot(NamedTuple):
    """The content of the page. Nobody writes to its arrays."""

    version: int
    now: Moment
    explained: float
    """The share of the variance that the components kept account for."""
    capacity: int
    independent: float
    """Number of independent samples that the samples are worth."""
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
    handled: Handled | None = None
    """Acknowledged alarms, and what is shelved; None: the page has no buttons for it."""


class Desk(Protocol):
    """Receiver of clicks on alarms; called by a thread of the page."""

    def take(self, message: Any) -> bool:
        """Note what was clicked; anything may come, what cannot be is left."""

    def list_alarms(self, alarms: Mapping[str | None, Iterable[int]]) -> None:
        """Take in the first rows of the alarms that the page lists, by their keys, as of `Handling`."""

    def handled(self) -> Handled:
        """Return what was acknowledged and shelved, and the times that are on offer."""


class Board:
    """Looks at a model now and then, and holds the latest `Snapshot` for whoever wants it."""

    def __init__(self, desk: Desk | None = None) -> None:
        self.desk = desk
        self.latest: Snapshot | None = None
        self.message: str | None = None
        """The message for a stream that has ended."""
        self._seen: (
            tuple[TrackedAttributes, float, float, Pairs, tuple[Trace, ...], Mapping[int, int]] | None
        ) = None
        self._touched = self._due = -math.inf
        self.looked_at: object = None
        """For whoever looks only where something has changed."""
        self._looking = Lock()
        self._recent: deque[Moment] = deque(maxlen=LIMIT)
        self._whole: Thinned[Moment] = Thinned(attrgetter("sample"))

    def update(
        self,
        model: TrackedAttributes,
        rows_per_second: float,
        lag: float | None,
        times: Pairs = (),
        traces: tuple[Trace, ...] = (),
        source_rows: Mapping[int, int] | None = None,
    ) -> None:
        """Note the model after a batch; returns at once unless a look is due."""
        lagging = math.nan if lag is None else lag
        self._seen = model, rows_per_second, lagging, times, traces, source_rows or {}
        self._touched = monotonic()
        if self._touched >= self._due:
            self.look()

    def look(self) -> None:
        """Copy what the page shows, unless somebody else is just doing so."""
        if self._seen is None or not self._looking.acquire(blocking=False):
            return
        start = monotonic()
        try:
            self.latest = self._snapshot(*self._seen)
            if self.desk is not None:
                self.desk.list_alarms(self._listed())
        finally:
            end = monotonic()
            self._due = end + max(REFRESH - (end - start), (end - start) / SHARE)
            self._looking.release()

    def _listed(self) -> dict[str | None, list[int]]:
        """First rows of the alarms in the list of the page."""
        return {None: [] if self.latest is None else first_rows(self.latest)}

    def look_if_quiet(self) -> None:
        """Called by the courier: what came just before a pause of the source should not go unseen.

        Should a batch come at this very moment, the model refuses to be read: the next look will do.
        """
        if self._seen is None or self.latest is None or monotonic() < max(self._touched + QUIET, self._due):
            return
        with suppress(RuntimeError):
            if self._has_news():
                self.look()

    def _has_news(self) -> bool:
        """True if rows have come since the last look."""
        assert self._seen is not None
        assert self.latest is not None
        return _rows(self._seen[0]) != self.latest.now.sample

    @property
    def state(self) -> str:
        if self.message is not None:
            return "finished"
        if self.latest is None or monotonic() > self._touched + WAITING:
            return "waiting"
        return "running"

    def shown(self) -> Shown:
        """The latest snapshot, with the state of the stream."""
        handled = None if self.desk is None else self.desk.handled()
        return Shown(self.latest, self.state, self.message, handled)

    def _snapshot(
        self,
        model: TrackedAttributes,
        rows_per_second: float,
        lag: float,
        times: Pairs,
        traces: tuple[Trace, ...],
        source_rows: Mapping[int, int],
    ) -> Snapshot:
        spectrum = model.spectrum_
        monitor: Monitor | None = getattr(model, "monitor", None)
        now = Moment(_rows(model), spectrum, model.threshold_, model.n_components_, rows_per_second, lag)
        self._remember(now)
        return Snapshot(
            version=1 if self.latest is None else self.latest.version + 1,
            now=now,
            explained=float(np.sum(model.explained_variance_ratio_)),
            capacity=model.max_components_,
            independent=model.n_samples_effective_,
            timeline=merged(model.spectrum_history_, self._recent),
            pace=paced([*self._whole.moments, *self._recent]),
            recent=self._recent[0].sample,
            loadings=thinned(model.components_),
            times=np.array(times, dtype=np.float64).reshape(-1, 2),
            events=tuple((e.sample, e.before, e.after) for e in model.rank_history_[-MOST_EVENTS:]),
            watching=None if monitor is None else _watching(monitor, traces, source_rows),
        )

    def _remember(self, now: Moment) -> None:
        if self._recent and now.sample < self._recent[-1].sample:  # another model, or fitted anew
            self._recent.clear()
            self._whole = Thinned(attrgetter("sample"))
        if self._recent and now.sample == self._recent[-1].sample:
            self._recent.pop()
        else:
            self._whole.add(now)
        self._recent.append(now)


def first_rows(snapshot: Snapshot) -> list[int]:
    """First rows of the alarms of a monitor."""
    return [] if snapshot.watching is None else [alarm.began for alarm in snapshot.watching.alarms]


def _rows(model: TrackedAttributes) -> int:
    """Rows that have come; of a monitor, also those that were not learnt."""
    monitor: Monitor | None = getattr(model, "monitor", None)
    return model.n_samples_seen_ if monitor is None else monitor.counts.came


def _watching(monitor: Monitor, traces: tuple[Trace, ...], source_rows: Mapping[int, int]) -> Watching:
    alarms = tuple(replace(alarm) for alarm in list(monitor.watch.past)[-MOST_EVENTS:])
    counts = monitor.counts
    on = [
        f"{one.input} is {one.kind}" if one.input else one.kind
        for one in monitor.notices
        if one.ended is None
    ]
    notices = "".join(f"; {one}" for one in on[-MOST_NOTICES:])
    return Watching(
        *(monitor.stretches.history(), alarms, counts.alarms, counts.alarmed),
        *(traces, source_rows, notices),
    )


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
        np.concatenate((past.rest, np.full(len(recent), np.nan)))[order],
    )


def paced(moments: Sequence[Moment]) -> Speed:
    """Rows per second and lag at these moments, in order, each once."""
    sample, order = np.unique(np.array([m.sample for m in moments], dtype=np.int64), return_index=True)
    table = np.array([(m.rows_per_second, m.lag) for m in moments]).reshape(-1, 2)[order]
    return Speed(sample, table[:, 0], table[:, 1])
