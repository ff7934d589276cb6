"""Sizes and lengths of streams, and how long to expect; the targets that belong to them."""

from __future__ import annotations

from dataclasses import dataclass

HALF_LIFE = 500
MEDIAN, LEAST = (8.0, 6.0), (3.0, 2.5)
"""How many times faster than IncrementalPCA `fit` should be in the median and at the worst: without and with
a half-life."""
WIDE = {(4096, 32): (9.0, 8.0), (16384, 64): (13.0, 13.0)}
"""How many times faster at these sizes."""
FIRST_USE = 1.2
"""How many times as long as with IncrementalPCA a first use may take."""
RUNS = {(100, 12): 0.8, (10_000, 12): 1.5}
"""Rows and columns of a CSV file, and the seconds that `eigenstream run` may take on it."""
BATCH = 100
ONE_THREAD, DEFAULT_THREADS = "one BLAS thread", "default threads"


@dataclass(frozen=True)
class Size:
    """A stream of T rows of n inputs for k components."""

    n: int
    k: int
    T: int
    seconds: float
    """What to expect of all repeats."""


@dataclass(frozen=True)
class Settings:
    sizes: tuple[Size, ...] = (
        Size(64, 4, 1_000, 0.2),
        Size(64, 4, 10_000, 1.0),
        Size(64, 4, 50_000, 3.0),
        Size(64, 32, 1_000, 0.2),
        Size(64, 32, 10_000, 1.0),
        Size(64, 32, 50_000, 3.0),
        Size(256, 16, 1_000, 0.4),
        Size(256, 16, 10_000, 2.0),
        Size(256, 16, 50_000, 7.0),
        Size(1024, 64, 1_000, 1.5),
        Size(1024, 64, 10_000, 7.0),
        Size(1024, 64, 50_000, 26.0),
        Size(4096, 32, 1_000, 4.0),
        Size(4096, 32, 10_000, 15.0),
        Size(16384, 64, 1_500, 18.0),
    )
    most_repeats: int = 5
    enough: float = 3.0
    """Seconds of one size after which no repeat follows, if there have been two."""
    processes: int = 5
    """How often a new process is started."""
    threads: tuple[str, ...] = (ONE_THREAD, DEFAULT_THREADS)
    process_seconds: float = 35.0


QUICK = Settings(
    sizes=(Size(64, 4, 500, 0.1), Size(256, 16, 300, 0.1)),
    most_repeats=1,
    enough=0.0,
    processes=1,
    threads=(ONE_THREAD,),
    process_seconds=4.0,
)


def settings(quick: bool) -> Settings:
    return QUICK if quick else Settings()
