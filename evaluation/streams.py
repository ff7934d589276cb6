"""Streams with a known answer: components that come and go, in noise whose edge is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from benchmarks.peers.peer import Array
from benchmarks.sections.rules.data import noise
from numpy.typing import NDArray

from eigenstream.streams import random_orthonormal

FAMILIES = {
    "white": "white",
    "uneven": "uniform",
    "very uneven": "gamma(1)",
    "coloured": "decaying (e^-3)",
    "coloured in time": "AR(0.5)",
    "heavy-tailed": "Student t(5)",
}
"""Kinds of noise, and what they are called where they are drawn: variances of inputs that are equal,
uniform in [0, 2], exponentially distributed, or fall by e^-3 along random axes; correlation 0.5 from row to
row; Student's t with 5 degrees of freedom."""
STRENGTHS = (4.0, 1.0, 2.0, 1.4, 2.8)
"""Variances of the components over that of the weakest, which is nearly always there."""
RANKS = (3, 5, 2, 0, 4)
"""Numbers of components, one after the other."""


@dataclass(frozen=True)
class Known:
    """Which stream: everything it depends on."""

    family: str
    n: int
    stretch: int
    """Rows between two changes."""
    half_life: int
    seed: int
    weakest: float = 1.5
    """Variance of the weakest component, in units of the edge of the noise."""
    scale: float = 1.0


class Stream(NamedTuple):
    rows: Array
    ranks: NDArray[np.int64]
    """The right rank at each row."""
    edge: float


def changing(known: Known) -> Stream:
    """Rows of this stream."""
    rng = np.random.default_rng(known.seed)
    T = known.stretch * len(RANKS)
    X, _ = noise(FAMILIES[known.family], known.n, T, rng)
    if known.family == "coloured":
        X = X @ random_orthonormal(known.n, known.n, rng)
    edge = edge_of(X, known.half_life)
    axes = random_orthonormal(known.n, len(STRENGTHS), rng)
    ranks = np.repeat(RANKS, known.stretch)
    there = np.arange(len(STRENGTHS)) < ranks[:, None]
    Z = rng.standard_normal(there.shape) * np.sqrt(edge * known.weakest * np.array(STRENGTHS))
    return Stream(known.scale * (X + (Z * there) @ axes), ranks, edge)


def edge_of(noise_rows: Array, half_life: int) -> float:
    """Mean over time of the largest eigenvalue of the discounted second moment of the noise alone."""
    beta, block = 0.5 ** (1 / half_life), half_life // 4
    fade = beta ** np.arange(block - 1, -1, -1)
    C, weight, found = np.zeros((noise_rows.shape[1],) * 2), 0.0, []
    for start in range(0, len(noise_rows) - block + 1, block):
        rows = noise_rows[start : start + block]
        C = beta**block * C + (rows * fade[:, None]).T @ rows
        weight = beta**block * weight + float(fade.sum())
        if start > 4 * half_life:
            found.append(np.linalg.eigvalsh(C / weight)[-1])
    return float(np.mean(found))
