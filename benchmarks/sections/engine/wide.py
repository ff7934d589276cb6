"""The engine against itself: narrow numbers against wide ones, a block against its products."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg.blas import dgemm

from benchmarks.contenders import Eigenstream, rule
from benchmarks.inputs import signal_in_noise
from benchmarks.meter import Meter
from benchmarks.peers.peer import Array
from benchmarks.race import Lane, figures, race
from benchmarks.repeats import interleaved
from benchmarks.sections.engine.settings import Settings
from eigenstream.learners import network as engine
from eigenstream.learners.network.block import learn_block
from eigenstream.learners.network.optimum import random_start

ROWS = 2_048


def precisions(n: int, k: int, chosen: Settings, meter: Meter) -> dict[str, Any]:
    """Microseconds per sample in float64 and float32, on the same numbers."""
    X = signal_in_noise(n, k // 2, ROWS)
    heats = []
    for _ in range(chosen.heats):
        lanes = [Lane(Eigenstream(n, k, d), X.astype(d), engine.BLOCK) for d in (np.float64, np.float32)]
        race(lanes, chosen.turns, chosen.limit, meter)
        heats.append(lanes)
    wide, narrow = (figures(lanes) for lanes in zip(*heats, strict=True))
    return {"n": n, "k": k, "float64": wide, "float32": narrow}


def blocks(n: int, k: int, dtype: str, chosen: Settings) -> dict[str, Any]:
    """Seconds for one block, and for its three matrix products alone."""
    b = engine.BLOCK
    rows = signal_in_noise(n, k // 2, b, dtype=dtype)
    state = random_start(n, k, float(np.sum(rows**2)) / b, np.random.default_rng(0), np.dtype(dtype))
    weights, Y = np.ones((b, 2)), np.empty((b, k))
    outputs = np.random.default_rng(0).standard_normal((b, k)).astype(dtype)
    target = np.zeros((k, n))
    times = interleaved(
        {
            "block": lambda: learn_block(state, rule(n), rows, weights, Y),
            "products": lambda: products(rows, state.N_narrow, outputs, target),
        },
        chosen.repeats,
    )
    return {"n": n, "k": k, "dtype": dtype, "rows": b, **times}


def products(rows: Array, F: Array, outputs: Array, target: Array) -> None:
    """``X N'``, ``X X'`` and ``Y' X``, as `eigenstream.learners.network.block` has BLAS do them."""
    np.matmul(rows, F.T)
    np.matmul(rows, rows.T)
    if rows.dtype == np.float64:
        dgemm(1.0, rows.T, np.asfortranarray(outputs), beta=1.0, c=target.T, overwrite_c=True)
    else:
        np.matmul(outputs.T, rows)
