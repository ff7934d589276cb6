"""The models of a bank that are in memory: most of them stacked in a fleet, the others by themselves."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from ..learners.knowledge import Floats
from ..learners.marks import Mark
from ..learners.threads import one_thread
from ..model import RankChange, TimesGoBack, Tracker, row_times
from ..model.plan import Plan
from .bank_file import Key
from .fleet import Fleet, Slots, fits

# Models. Large enough that handing over a part costs nothing beside it, small enough for all threads to work.
PART = 512
"""Models that one thread works on at a time."""

Changes = list[tuple[Key, RankChange]]
Held = dict[Key, tuple[int | Tracker, Tracker]]
"""Keys, the slot or tracker of each, and the tracker in that slot."""


class Call(NamedTuple):
    """The rows of a call, and the scores that answer it."""

    X: Floats
    rows: dict[Key, Slots]
    """Rows of each key, in order."""
    times: dict[Key, Any]
    """Their times; empty if the half-life is in samples."""
    scores: Floats
    """Takes each row's score."""
    blank: bool = False
    """True for NaN instead of zeros before a model has started."""


class Models:
    """Trackers by key, the longest idle first.

    Parameters
    ----------
    plan
        What all of them do.
    scores, missing
        As of `OnlineAdaptivePCA`.
    workers
        How many threads learn.
    """

    def __init__(self, plan: Plan, scores: str, missing: Any, workers: int) -> None:
        self.plan, self.scores, self.missing, self.workers = plan, scores, missing, workers
        self.fleet = Fleet(plan, scores)
        self._places: OrderedDict[Key, int | Tracker] = OrderedDict()
        """Slots in the fleet, and trackers that cannot be there."""
        self._marks: list[tuple[Tracker, Mark]] = []
        """Trackers outside the fleet that the last call concerned, as they were before."""
        self._pool, self._owner = _pool(workers), os.getpid()

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def keys(self) -> Iterable[Key]:
        return self._places.keys()

    def idle(self, most: int) -> list[Key]:
        """The keys to put away, longest idle first, so that ``most`` stay."""
        return list(islice(self._places, max(len(self._places) - most, 0)))

    def add(self, key: Key, tracker: Tracker) -> None:
        # Where gaps are filled, each model follows the past of its inputs, which a fleet does not.
        stacked = self.missing != "impute" and fits(tracker)
        self._places[key] = self.fleet.add(tracker) if stacked else tracker

    def remove(self, key: Key) -> None:
        place = self._places.pop(key)
        if not isinstance(place, Tracker):
            self.fleet.free(place)

    def held(self, keys: Iterable[Key]) -> Held:
        """Places of these keys, for `put_back`."""
        places = ((key, self._places[key]) for key in keys)
        return {
            key: (place, place if isinstance(place, Tracker) else self.fleet.tracker(place))
            for key, place in places
        }

    def put_back(self, held: Held) -> None:
        """Put keys back where they were, as far as they were removed since."""
        for key, (place, tracker) in held.items():
            self._places[key] = place
            if not isinstance(place, Tracker):
                self.fleet.trackers[place] = tracker

    def discard(self, keys: Iterable[Key]) -> None:
        """Forget keys that a failed call has brought; some may not have got here."""
        for key in keys:
            self._places.pop(key, None)
        self.fleet.repair(place for place in self._places.values() if not isinstance(place, Tracker))

    def tracker(self, key: Key) -> Tracker:
        """The tracker of this key, up to date; it may share memory with others."""
        place = self._places[key]
        return place if isinstance(place, Tracker) else self.fleet.tracker(place)

    def times(self, rows: dict[Key, Slots], timestamps: Any) -> dict[Key, Any]:
        """Times of the rows of each key, checked before anything is learnt."""
        if self.plan.seconds is None and timestamps is None:
            return {}
        stamps = None if timestamps is None else np.asarray(timestamps)
        found: dict[Key, Any] = {}
        for key, own in rows.items():
            given = None if stamps is None else stamps[own]
            try:
                found[key] = row_times(given, len(own), self.plan, self.tracker(key).clock.latest)
            except TimesGoBack as error:
                raise error.of(key, own) from None
        return found

    def learn(self, call: Call, gappy: Iterable[Key], go_on: Callable[[], None]) -> Changes:
        """Let each of them learn its rows; returns what changed.

        Parameters
        ----------
        call
            The rows.
        gappy
            Keys that have rows with gaps.
        go_on
            Called between two parts of the work; raises if the call is to end.
        """
        for key in gappy:
            place = self._places[key]
            if not isinstance(place, Tracker):
                self._places[key] = self.fleet.taken_out(place)
                self.fleet.free(place)
        for key in call.rows:
            self._places.move_to_end(key)  # behind all that are idle for longer; nothing comes in between
        together = [key for key in call.rows if not isinstance(self._places[key], Tracker)]
        alone = [key for key in call.rows if isinstance(self._places[key], Tracker)]
        self.fleet.mark(np.array([self._places[key] for key in together], dtype=np.intp))
        self._marks = [(tracker, tracker.mark()) for tracker in map(self.tracker, alone)]
        size = max(min(PART, -(-len(together) // self.workers)), 1)
        parts = [together[start : start + size] for start in range(0, len(together), size)]
        if self._owner != os.getpid():  # a process that was forked has none of the threads
            self._pool, self._owner = _pool(self.workers), os.getpid()
        each = map if self._pool is None else self._pool.map
        changes: Changes = []
        try:
            with one_thread():
                for found in chain(
                    each(lambda part: self._learn_together(part, call), parts),
                    each(lambda key: self._learn_alone(key, call), alone),
                ):
                    changes += found
                    go_on()
        except BaseException:
            self._finish_threads()
            raise
        return changes

    def forget_marks(self) -> None:
        """Let `revert` go back no farther than to here."""
        self.fleet.mark(np.zeros(0, np.intp))
        self._marks = []

    def revert(self) -> None:
        """Go back to before the last call of `learn`, to the bit."""
        self.fleet.revert()
        for tracker, mark in self._marks:
            tracker.revert(mark)

    def _finish_threads(self) -> None:
        """Wait until no thread learns any more: only then can models go back."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = _pool(self.workers)

    def _learn_together(self, keys: list[Key], call: Call) -> Changes:
        slots = np.array([self._places[key] for key in keys], dtype=np.intp)
        counts = np.array([len(call.rows[key]) for key in keys])
        own = np.concatenate([call.rows[key] for key in keys])
        scores = np.zeros((len(own), self.plan.k), dtype=self.plan.dtype)
        changes = self.fleet.learn(slots, counts, call.X[own], scores, blank=call.blank)
        call.scores[own] = scores
        key_in = dict(zip(slots.tolist(), keys, strict=True)) if changes else {}
        return [(key_in[slot], change) for slot, change in changes]

    def _learn_alone(self, key: Key, call: Call) -> Changes:
        own, tracker = call.rows[key], self.tracker(key)
        times = call.times.get(key)
        # There is no residual before a model has started.
        starts = call.blank and not tracker.last_look.started
        answers, changes = tracker.follow(
            call.X[own], None, self.missing, self.scores, times, residuals=starts
        )
        assert answers is not None
        if starts:
            answers[np.isnan(answers[:, -1])] = np.nan
        call.scores[own] = answers[:, : self.plan.k]
        return [(key, change) for change in changes]

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()


def _pool(workers: int) -> ThreadPoolExecutor | None:
    return ThreadPoolExecutor(workers, "eigenstream-bank") if workers > 1 else None


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
