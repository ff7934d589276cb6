"""The board on which the learning thread leaves snapshots for the page; neither waits for the other."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from ..model.history import LIMIT, Thinned
from .snapshot import MOST_EVENTS, Moment, Shown, ShownAlarm, Snapshot, Watching, merged, paced, thinned

if TYPE_CHECKING:
    from ..model.attributes import TrackedAttributes
    from ..monitoring import Monitor

Pairs = Sequence[Sequence[float]]
"""Pairs of a sample count and the seconds since 1970 when that sample was taken."""

REFRESH = 0.25
"""Least seconds between two looks at the model: faster changes nobody follows by eye."""
SHARE = 0.02
"""Largest share of the learning thread's time, about, for looks; wide models are looked at less often."""
QUIET = 1.0
"""Seconds without a batch after which the courier looks by itself, so that the end of a burst is seen."""
WAITING = 3.0
"""Seconds without a batch after which the page says that it waits."""


def _sample_of(moment: Moment) -> int:
    return moment.sample


class Board:
    """Looks at a model now and then, and holds the latest `Snapshot` for whoever wants it."""

    def __init__(self) -> None:
        self.latest: Snapshot | None = None
        self.message: str | None = None
        """The message for a stream that has ended."""
        self._seen: tuple[TrackedAttributes, float, float, Pairs] | None = None
        self._touched = self._due = -math.inf
        self._looking = Lock()
        self._recent: deque[Moment] = deque(maxlen=LIMIT)
        self._whole: Thinned[Moment] = Thinned(_sample_of)

    def update(
        self, model: TrackedAttributes, rows_per_second: float, lag: float | None, times: Pairs = ()
    ) -> None:
        """Note the model after a batch; returns at once unless a look is due."""
        self._seen = model, rows_per_second, math.nan if lag is None else lag, times
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
        finally:
            end = monotonic()
            self._due = end + max(REFRESH - (end - start), (end - start) / SHARE)
            self._looking.release()

    def look_if_quiet(self) -> None:
        """Called by the courier: what came just before a pause of the source should not go unseen.

        Should a batch come at this very moment, numbers of two moments may mix until the next look.
        """
        if self._seen is None or self.latest is None or monotonic() < max(self._touched + QUIET, self._due):
            return
        if _rows(self._seen[0]) != self.latest.now.sample:
            self.look()

    @property
    def state(self) -> str:
        if self.message is not None:
            return "finished"
        if self.latest is None or monotonic() > self._touched + WAITING:
            return "waiting"
        return "running"

    def shown(self) -> Shown:
        """The latest snapshot, with the state of the stream."""
        return Shown(self.latest, self.state, self.message)

    def _snapshot(
        self, model: TrackedAttributes, rows_per_second: float, lag: float, times: Pairs
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
            timeline=merged(model.spectrum_history_, self._recent),
            pace=paced([*self._whole.moments, *self._recent]),
            recent=self._recent[0].sample,
            loadings=thinned(model.components_),
            times=np.array(times, dtype=np.float64).reshape(-1, 2),
            events=tuple((e.sample, e.before, e.after) for e in model.rank_history_[-MOST_EVENTS:]),
            watching=None if monitor is None else _watching(monitor),
        )

    def _remember(self, now: Moment) -> None:
        if self._recent and now.sample < self._recent[-1].sample:  # another model, or fitted anew
            self._recent.clear()
            self._whole = Thinned(_sample_of)
        if self._recent and now.sample == self._recent[-1].sample:
            self._recent.pop()
        else:
            self._whole.add(now)
        self._recent.append(now)


def _rows(model: TrackedAttributes) -> int:
    """Rows that have come; of a monitor, also those that were not learnt."""
    monitor: Monitor | None = getattr(model, "monitor", None)
    return model.n_samples_seen_ if monitor is None else monitor.counts.came


def _watching(monitor: Monitor) -> Watching:
    alarms = tuple(
        ShownAlarm(a.began, a.last, a.rows, a.ended is None, a.accepted, a.peak, a.statistic, a.contributors)
        for a in list(monitor.watch.past)[-MOST_EVENTS:]
    )
    return Watching(monitor.stretches.history(), alarms, monitor.counts.alarms, monitor.counts.alarmed)
