"""`fit` of ours and of IncrementalPCA on the same rows, in turns."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

from sklearn.decomposition import IncrementalPCA

from benchmarks.inputs import signal_in_noise
from benchmarks.meter import Meter
from benchmarks.peers.peer import Array
from benchmarks.sections.fit.settings import BATCH, HALF_LIFE, Settings, Size
from eigenstream import OnlineAdaptivePCA
from eigenstream.model.parameters import discount
from eigenstream.model.plan import automatic_solver, window_of

PLAIN, FORGETS, INCREMENTAL = "ours", "ours, half-life", "IncrementalPCA"
OURS = (PLAIN, FORGETS)


def warm_up() -> None:
    """First calls import and set up what later ones find there."""
    X = signal_in_noise(64, 2, 300)
    for fit in fits(4).values():
        fit(X)


def fits(k: int) -> dict[str, Callable[[Array], object]]:
    """What a user would type, for k components."""
    return {
        PLAIN: lambda X: OnlineAdaptivePCA(max_components=k).fit(X).n_components_,
        FORGETS: lambda X: OnlineAdaptivePCA(max_components=k, half_life=HALF_LIFE).fit(X).n_components_,
        INCREMENTAL: lambda X: IncrementalPCA(n_components=k, batch_size=max(BATCH, k)).fit(X),
    }


def timed(size: Size, chosen: Settings, meter: Meter) -> dict[str, Any]:
    """Microseconds per row of each, best and median of the repeats."""
    X = signal_in_noise(size.n, size.k // 2, size.T)
    taken: dict[str, list[float]] = {name: [] for name in fits(size.k)}
    begun = perf_counter()
    for repeat in range(chosen.most_repeats):
        for name, fit in fits(size.k).items():
            meter.note(f"{name}, repeat {repeat + 1}")
            start = perf_counter()
            fit(X)
            taken[name].append(1e6 * (perf_counter() - start) / size.T)
        if repeat and perf_counter() - begun > chosen.enough:
            break
    figures = {name: {"best": min(times), "median": median(times)} for name, times in taken.items()}
    return {
        "n": size.n,
        "k": size.k,
        "T": size.T,
        "repeats": len(taken[PLAIN]),
        "solvers": solvers(size.n, size.k),
        "microseconds": figures,
    }


def solvers(n: int, k: int) -> dict[str, str]:
    """Which solver "auto" takes, without and with the half-life."""
    window = window_of(discount(HALF_LIFE))
    return {PLAIN: automatic_solver(n, k), FORGETS: automatic_solver(n, k, window)}
