"""Many keys at a glance: of each its severity or rank now, what has happened, its past in a few numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .bank_file import Key

POINTS = 32
"""Points of the past of a key: as many as a line of a few millimetres can show."""
LEAST, MOST = 1e-2, 1e2
"""Severities below and above which all look the same: far from a limit, and far beyond it."""


class KeysAtOnce(NamedTuple):
    """All keys at one moment. Nobody writes to its arrays."""

    keys: tuple[Key, ...]
    """In the order in which they came (K)."""
    now: NDArray[np.float32]
    """Severity or rank, as of the last row of each; NaN before the first (K)."""
    on: NDArray[np.bool_]
    """True while an alarm is on (K)."""
    began: NDArray[np.int64]
    """First row of the last alarm that was on behind a batch, by the count of its monitor; -1: none (K)."""
    events: NDArray[np.int32]
    """Alarms that began to count, or changes of the rank, since this job was started (K)."""
    rows: NDArray[np.int64]
    """Rows that came, since this job was started (K)."""
    past: NDArray[np.uint8]
    """Largest of each stretch of rows, by its `LEVELS`, the oldest first; 0: none (K, POINTS)."""
    why: tuple[str, ...]
    """Of each the inputs to blame for its last alarm, or the last change of its rank, in words (K)."""
    of: str
    """``"severity"`` or ``"rank"``."""

    @property
    def order(self) -> NDArray[np.intp]:
        """Keys with an alarm on first, then by severity or rank, the largest first."""
        return np.lexsort((-np.nan_to_num(self.now, nan=-1.0), ~self.on))

    @property
    def levels(self) -> NDArray[np.float64]:
        """The past as severities or ranks; NaN where there is none (K, POINTS)."""
        past = self.past.astype(np.float64)
        known = past - 1 if self.of == "rank" else LEAST * (MOST / LEAST) ** ((past - 1) / 254)
        return np.where(past > 0, known, np.nan)


def level(severity: Any) -> NDArray[np.uint8]:
    """Severities on a logarithmic scale from 1 to 255, on which 128 is the limit; 0 where there is no limit.

    Examples
    --------
    >>> level([0.0, 0.01, 1.0, 5.0, 1000.0]).tolist()
    [0, 1, 128, 172, 255]
    """
    known = np.nan_to_num(np.asarray(severity, dtype=np.float64))
    span = np.log(np.clip(known, LEAST, MOST) / LEAST) / np.log(MOST / LEAST)
    return np.where(known > 0, np.round(1 + 254 * span), 0).astype(np.uint8)


def rank_level(rank: Any) -> NDArray[np.uint8]:
    """Ranks from 1 on, at most 255; 0 is left for none.

    Examples
    --------
    >>> rank_level([0, 3, 1000]).tolist()
    [1, 4, 255]
    """
    levels: NDArray[np.uint8] = np.minimum(np.asarray(rank) + 1, 255).astype(np.uint8)
    return levels


LEVELS = {"severity": level, "rank": rank_level}
"""Conversion of a value of a past to the byte that is kept of it."""


class Overview:
    """Follows the severities or ranks of all keys, in memory that does not grow with their streams.

    The past of a key has at most `POINTS` points, each the largest value of a stretch of its rows. When they
    are full, two neighbours become one, and stretches are twice as long.

    Parameters
    ----------
    keys
        Keys that are known before the first row.
    of
        ``"severity"`` of what is watched, or ``"rank"`` of what is learnt.
    """

    _now: NDArray[np.float32]
    _on: NDArray[np.bool_]
    _began: NDArray[np.int64]
    _events: NDArray[np.int32]
    _rows: NDArray[np.int64]
    _stride: NDArray[np.int64]
    _past: NDArray[np.uint8]

    def __init__(self, keys: Iterable[Key] = (), of: str = "severity") -> None:
        self.of = of
        self._number: dict[Key, int] = {}
        self._make_room(1024)
        self._why: list[str] = []
        for key in keys:
            self._of(key)

    def _make_room(self, size: int) -> None:
        """Arrays for this number of keys, with what they held before."""
        fresh: dict[str, NDArray[Any]] = {
            "_now": np.full(size, np.nan, np.float32),
            "_on": np.zeros(size, np.bool_),
            "_began": np.full(size, -1, np.int64),
            "_events": np.zeros(size, np.int32),
            "_rows": np.zeros(size, np.int64),
            "_stride": np.ones(size, np.int64),
            "_past": np.zeros((size, POINTS), np.uint8),
        }
        for name, array in fresh.items():
            before = vars(self).get(name)
            if before is not None:
                array[: len(before)] = before
            setattr(self, name, array)

    def _of(self, key: Key) -> int:
        """The number of a key, which may be new."""
        number = self._number.setdefault(key, len(self._number))
        if number == len(self._why):
            self._why.append("")
            if number >= len(self._now):
                self._make_room(2 * len(self._now))
        return number

    def take_in(self, keys: Sequence[Key], values: NDArray[Any]) -> None:
        """Take in the severities or ranks of rows, in order, with their keys."""
        if not len(keys):
            return
        own = np.fromiter(map(self._of, keys), dtype=np.int64, count=len(keys))
        order = np.argsort(own, kind="stable")
        sorted_own = own[order]
        first = np.flatnonzero(np.r_[True, np.diff(sorted_own) > 0])
        within = np.empty(len(own), np.int64)
        within[order] = np.arange(len(own)) - np.repeat(first, np.diff(np.r_[first, len(own)]))
        seen = sorted_own[first]
        added = np.diff(np.r_[first, len(own)])
        self._shorten(seen, added)
        place = (self._rows[own] + within) // self._stride[own]
        np.maximum.at(self._past, (own, place), LEVELS[self.of](values))
        last = order[np.r_[first[1:], len(own)] - 1]
        self._now[seen] = np.asarray(values)[last]
        self._rows[seen] += added

    def _shorten(self, seen: NDArray[np.int64], added: NDArray[np.int64]) -> None:
        """Join neighbouring points of the keys that need more than there are."""
        while True:
            full = seen[(self._rows[seen] + added - 1) // self._stride[seen] >= POINTS]
            if not len(full):
                return
            pairs = self._past[full].reshape(len(full), -1, 2).max(axis=2)
            self._past[full] = np.hstack((pairs, np.zeros_like(pairs)))
            self._stride[full] *= 2

    def alarmed(self, key: Key, began: bool, why: str) -> None:
        """Note an alarm that began to count, or ended."""
        number = self._of(key)
        self._on[number] = began
        self._events[number] += began
        self._why[number] = why

    def goes_on(self, key: Key, began: int, why: str) -> None:
        """Note an alarm that is on, its first row and the inputs to blame: they change as it goes on.

        It may have begun before this job was started.
        """
        number = self._of(key)
        self._on[number], self._began[number] = True, began
        self._why[number] = why

    def changed(self, key: Key, why: str) -> None:
        """Note a change of the rank."""
        number = self._of(key)
        self._events[number] += 1
        self._why[number] = why

    def glance(self) -> KeysAtOnce:
        """All keys as they are now."""
        n = len(self._number)
        return KeysAtOnce(
            tuple(self._number),
            self._now[:n].copy(),
            self._on[:n].copy(),
            self._began[:n].copy(),
            self._events[:n].copy(),
            self._rows[:n].copy(),
            self._past[:n].copy(),
            tuple(self._why),
            self.of,
        )
