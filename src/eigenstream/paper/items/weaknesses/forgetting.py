"""Forgetting: an output that is silent for long comes back late, unless neurons are never quite silent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...reproduction.item import Claim, Table
from ..drawing import LOOKS, Axes
from ..experiment import Array
from ..texts import texts_of
from ..theory.silence import BETA, LONG, SILENCES, median_waits

*_, claim = texts_of("weaknesses")

NETWORKS = {"without (paper)": 0.0, "spontaneous activity 0.01": 0.01}
"""Spontaneous activity of each network."""


def measure_dead_modes(seed: int) -> Table:
    """Windows, by silence, until the network transmits the new component with half its final gain."""
    return {name: median_waits(noise, seed) for name, noise in NETWORKS.items()}


def _medians(tables: Sequence[Table]) -> dict[str, Array]:
    return {name: np.median([t[name] for t in tables], axis=0) for name in NETWORKS}


def draw_dead_modes(axis: Axes, tables: Sequence[Table]) -> str:
    for (name, waits), key in zip(_medians(tables).items(), ("scale-dependent", "input-output"), strict=True):
        look = LOOKS[key]
        axis.plot(SILENCES, waits, look.marker + "-", color=look.color, lw=1.5, ms=4, label=name)
    axis.set(xscale="log", yscale="log", xlabel="windows of silence", ylim=(0.8, 60))
    axis.set_xticks(SILENCES, [str(silence) for silence in SILENCES])
    axis.set_xticks([], minor=True)
    axis.set_ylabel("windows until a new component\nis transmitted with half its gain")
    axis.legend(frameon=False, fontsize=6, loc="upper left")
    return "dead modes (scale-dependent)"


def dead_modes_claims(tables: Sequence[Table]) -> list[Claim]:
    dead, alive = _medians(tables).values()
    long, start = SILENCES.index(LONG), SILENCES.index(30)
    kept = f"{dead[long]:.1f} windows without and {alive[long]:.1f} with it after {LONG} of silence"
    return [claim("dead-modes", kept, np.all(alive[start:] < dead[start:] / 2), beta=BETA)]
