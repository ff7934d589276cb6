"""Many watched keys at a glance: of each its severity now, its alarms, and its past in a few numbers."""

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


class Glance(NamedTuple):
    """All keys at one moment. Nobody writes to its arrays."""

    keys: tuple[Key, ...]
    """In the order in which they came (K)."""
    severity: NDArray[np.float32]
    """Of the last row of each; NaN before the first (K)."""
    on: NDArray[np.bool_]
    """True while an alarm is on (K)."""
    alarms: NDArray[np.int32]
    """Alarms that began to count, since this job was started (K)."""
    rows: NDArray[np.int64]
    """Rows that came, since this job was started (K)."""
    past: NDArray[np.uint8]
    """Largest severity of each stretch of rows by `level`, the oldest first; 0: none (K, POINTS)."""
    why: tuple[str, ...]
    """The inputs to blame for the last alarm of each, in words; empty without one (K)."""

    @property
    def order(self) -> NDArray[np.intp]:
        """Keys with an alarm on first, then by severity, the largest first."""
        return np.lexsort((-np.nan_to_num(self.severity, nan=-1.0), ~self.on))


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


class Overview:
    """Follows the severities of all keys, in memory that does not grow with their streams.

    The past of a key has at most `POINTS` points, each the largest severity of a stretch of its rows. When
    they are full, two neighbours become one, and stretches are twice as long.
    """

    _severity: NDArray[np.float32]
    _on: NDArray[np.bool_]
    _alarms: NDArray[np.int32]
    _rows: NDArray[np.int64]
    _stride: NDArray[np.int64]
    _past: NDArray[np.uint8]

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self._number: dict[Key, int] = {}
        self._make_room(1024)
        self._why: list[str] = []
        for key in keys:
            self._of(key)

    def _make_room(self, size: int) -> None:
        """Arrays for this number of keys, with what they held before."""
        fresh: dict[str, NDArray[Any]] = {
            "_severity": np.full(size, np.nan, np.float32),
            "_on": np.zeros(size, np.bool_),
            "_alarms": np.zeros(size, np.int32),
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
            if number >= len(self._severity):
                self._make_room(2 * len(self._severity))
        return number

    def judged(self, keys: Sequence[Key], severity: NDArray[Any]) -> None:
        """Take in the severities of rows, in order, with their keys."""
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
        np.maximum.at(self._past, (own, place), level(severity))
        last = order[np.r_[first[1:], len(own)] - 1]
        self._severity[seen] = np.asarray(severity)[last]
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
        self._alarms[number] += began
        self._why[number] = why

    def glance(self) -> Glance:
        """All keys as they are now."""
        n = len(self._number)
        return Glance(
            tuple(self._number),
            self._severity[:n].copy(),
            self._on[:n].copy(),
            self._alarms[:n].copy(),
            self._rows[:n].copy(),
            self._past[:n].copy(),
            tuple(self._why),
        )
