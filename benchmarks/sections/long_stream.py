"""Memory along a stream too long to hold: flat, if all that is kept of a sample is what it taught."""

from __future__ import annotations

from typing import Any

from benchmarks.contenders import Eigenstream
from benchmarks.inputs import signal_in_noise
from benchmarks.machine import resident_memory
from benchmarks.meter import Meter
from eigenstream import OnlineAdaptivePCA

N, K = 64, 4
BATCH = 10_000


def memory_over(samples: int, readings: int, meter: Meter) -> dict[str, Any]:
    """MiB of the whole process along a stream that is drawn batch by batch, for two learners at once."""
    model, network = OnlineAdaptivePCA(max_components=K), Eigenstream(N, K)
    batches = samples // BATCH
    seen, resident = [], []
    for i in range(batches):
        X = signal_in_noise(N, K // 2, BATCH, seed=i)
        model.partial_fit(X)
        network.learn(X)
        if (i + 1) % max(batches // readings, 1) == 0:
            seen.append((i + 1) * BATCH)
            resident.append(resident_memory())
            meter.note(f"{seen[-1]:,} seen")
    return {"seen": seen, "MiB": resident}


def memory_sentence(memory: dict[str, Any]) -> str:
    """The two ends, and the most in between."""
    seen, resident = memory["seen"], memory["MiB"]
    return (
        f"Memory of the whole process on a stream of {seen[-1]:,} samples ({N} inputs, {K} outputs, drawn "
        f"{BATCH:,} at a time), from which `OnlineAdaptivePCA(max_components={K})` and the network's engine "
        f"both learn: {resident[0]:.1f} MiB after {seen[0]:,} samples, {resident[-1]:.1f} at the end, never "
        f"more than {max(resident):.1f}."
    )
