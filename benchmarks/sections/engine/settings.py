"""Sizes, and how long to spend on each; the targets that belong to them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Contest:
    """One size: n inputs, k outputs, a stream of T samples, and the speed-ups aimed at."""

    n: int
    k: int
    T: int
    installable: float
    """How many times faster than the fastest installable peer ours should be."""
    compiled: float
    """The same for the compiled peers."""
    seconds: float
    """What to expect."""


@dataclass(frozen=True)
class Settings:
    contests: tuple[Contest, ...] = (
        Contest(64, 4, 50_000, installable=20, compiled=1 / 1.3, seconds=7),
        Contest(1024, 64, 3_000, installable=5, compiled=1, seconds=13),
        Contest(4096, 32, 2_000, installable=5, compiled=1, seconds=18),
        Contest(16384, 64, 1_200, installable=10, compiled=2.5, seconds=24),
    )
    heats: int = 2
    turns: int = 3
    """In each heat."""
    limit: float = 0.2
    """Seconds for each contender in a heat; the slowest take more, since they get two turns."""
    precisions: tuple[tuple[int, int], ...] = ((1024, 16), (1024, 64), (4096, 32), (16384, 64))
    blocks: tuple[tuple[int, int], ...] = ((4096, 32), (16384, 64))
    repeats: int = 20
    wide_seconds: float = 4.0


QUICK = Settings(
    contests=(Contest(64, 4, 1_000, installable=20, compiled=1 / 1.3, seconds=2),),
    heats=1,
    turns=2,
    limit=0.02,
    precisions=((128, 8),),
    blocks=((128, 8),),
    repeats=3,
    wide_seconds=0.5,
)

PRECISION = 1.6
"""How many times faster than float64 float32 should be."""

BLOCK = 1.5
"""How many times its products alone a block may take."""


def settings(quick: bool) -> Settings:
    return QUICK if quick else Settings()
