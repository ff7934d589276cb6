"""Learners on one stream, timed in turns.

The machine may be busy with other things: turns go round, so that a slow spell hits all, and the best turn
counts. Every learner sees the stream from its first row on; one that is too slow stops early.

Turns of one learner agree within a few percent, but learners of the same kind have differed by a third from
run to run, ours as well as peers. So a race is run in heats, each with new learners.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.meter import Meter
from benchmarks.peers.peer import Array, Peer


@dataclass
class Lane:
    """One learner on its way through the stream X, so many rows at once (or a multiple)."""

    learner: Peer
    X: Array
    at_once: int
    seen: int = 0
    pace: float = 0.0
    """Seconds per sample, estimated before the first turn."""
    turns: list[tuple[int, float]] = field(default_factory=list)
    """Rows and seconds of every timed turn."""

    def advance(self, rows: int) -> float:
        """Learn the next rows; returns the seconds it took."""
        part = self.X[self.seen : self.seen + rows]
        start = perf_counter()
        self.learner.learn(part)
        self.seen += len(part)
        return perf_counter() - start

    def warm_up(self) -> None:
        """Compile and start on the first rows, then estimate the pace on the next."""
        self.advance(max(self.at_once, self.learner.k))
        self.pace = self.advance(self.at_once) / self.at_once

    def take_turn(self, left: int, limit: float) -> None:
        """An equal share of what is left of the stream, or as much of it as fits in ``limit`` seconds.

        At least one batch, though, and two turns, even if they take longer.
        """
        share = (len(self.X) - self.seen) // left
        rows = max(min(share, int(limit / self.pace)) // self.at_once, 1) * self.at_once
        too_slow = len(self.turns) > 1 and rows * self.pace > 2 * limit
        if self.seen + rows <= len(self.X) and not too_slow:
            self.turns.append((rows, self.advance(rows)))

    def finish(self, limit: float) -> None:
        """See the rest of the stream, untimed, if that fits in ``limit`` seconds."""
        if (len(self.X) - self.seen) * self.pace <= limit:
            self.advance(len(self.X) - self.seen)

    def rates(self) -> list[float]:
        """Microseconds per sample, turn by turn."""
        return [1e6 * seconds / rows for rows, seconds in self.turns]


def figures(heats: Sequence[Lane]) -> dict[str, Any]:
    """Microseconds per sample of one contender: over all turns, and the best of every heat."""
    rates = [rate for lane in heats for rate in lane.rates()]
    return {"best": min(rates), "median": median(rates), "heats": [min(lane.rates()) for lane in heats]}


def race(lanes: list[Lane], turns: int, limit: float, meter: Meter) -> None:
    """Let all lanes learn in turns, each for about ``limit`` seconds in all."""
    for lane in lanes:
        meter.note(f"{lane.learner.name} warms up")
        lane.warm_up()
    for left in range(turns, 0, -1):
        for lane in lanes:
            meter.note(lane.learner.name)
            lane.take_turn(left, limit / turns)
