"""All contenders at one size: a race on one stream, the subspaces they reach, and their memory."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.contenders import CALLING_BLAS, CONTENDERS, rows_at_once
from benchmarks.inputs import signal_in_noise
from benchmarks.meter import Meter
from benchmarks.peers.peer import Array, Peer
from benchmarks.race import Lane, figures, race
from benchmarks.sections.engine.settings import Contest, Settings
from eigenstream import offline
from eigenstream.metrics import subspace_error


def contest(size: Contest, chosen: Settings, meter: Meter) -> dict[str, Any]:
    """One entry per contender, with figures of every kind."""
    X = signal_in_noise(size.n, size.k // 2, size.T)
    # All heats stay in memory, so that new learners do not move into the places of old ones.
    heats = [run_race(CONTENDERS, X.copy(), size.k, 1, chosen, meter) for _ in range(chosen.heats)]
    shared = dict(zip(CALLING_BLAS, run_race(CALLING_BLAS, X, size.k, 2, chosen, meter), strict=True))
    for lane in heats[0]:
        meter.note(f"{lane.learner.name} sees the rest")
        lane.finish(6 * chosen.limit)
    meter.note("full-batch PCA")
    U = offline.spectrum(X, size.k // 2)[1]
    entries = []
    for make, *lanes in zip(CONTENDERS, *heats, strict=True):
        meter.note(f"memory of {make.name}")
        entries.append(
            {
                "name": make.name,
                "kind": make.flavour,
                "one thread": figures(lanes),
                "two threads": figures([shared[make]]) if make in shared else None,
                "samples seen": lanes[0].seen,
                "subspace error": error(lanes[0].learner, U),
                "memory": memory(make, X, size.k),
            }
        )
    targets = {"installable": size.installable, "compiled": size.compiled}
    return {"n": size.n, "k": size.k, "T": size.T, "targets": targets, "contenders": entries}


def run_race(
    makes: list[type[Peer]], X: Array, k: int, threads: int, chosen: Settings, meter: Meter
) -> list[Lane]:
    """New learners on the same stream, with so many threads for BLAS."""
    lanes = [Lane(make(X.shape[1], k), X, rows_at_once(make, k)) for make in makes]
    with threadpool_limits(threads):
        race(lanes, chosen.turns, chosen.limit, meter)
    return lanes


def error(learner: Peer, U: Array) -> float:
    """Relative distance of the learnt subspace from that of U."""
    return subspace_error(learner.components(len(U)), U, normalize="relative")


def memory(make: type[Peer], X: Array, k: int) -> float:
    """Most MiB that Python and NumPy held at once for a learner that starts and learns one batch."""
    at_once = rows_at_once(make, k)
    head = max(at_once, k)
    gc.collect()
    tracemalloc.start()
    learner = make(X.shape[1], k)
    learner.learn(X[:head])
    learner.learn(X[head : head + at_once])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20
