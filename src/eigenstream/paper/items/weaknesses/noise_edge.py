"""The edge of the noise: the largest eigenvalue of pure noise under forgetting, measured and by formula."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....rank import noise_edge
from ...reproduction.item import Claim, Table, verdict
from ..drawing import DARK, LOOKS, Axes

N_INPUTS = 64
# Windows of 25 to 250 samples, shorter and longer than the number of inputs.
BETAS = (0.98, 0.99, 0.995, 0.998)
"""Discounts per sample."""
WINDOWS = 12
"""Length of each stream."""
DRAWS = 10


def measure(seed: int) -> Table:
    """Largest eigenvalue of the discounted second moment of white noise, measured and by two formulas."""
    windows = [1 / (1 - beta**2) for beta in BETAS]
    return {
        "windows": windows,
        "largest": [_largest_eigenvalue(beta**2, seed) for beta in BETAS],
        "forgetting": [
            noise_edge(N_INPUTS, round(WINDOWS * window), beta**2)
            for window, beta in zip(windows, BETAS, strict=True)
        ],
        "plain": [noise_edge(N_INPUTS, round(window)) for window in windows],
    }


def _largest_eigenvalue(beta2: float, seed: int) -> float:
    """The mean of several draws: a single one is off by a tenth."""
    rng, T = np.random.default_rng(seed), int(WINDOWS / (1 - beta2))
    weight = beta2 ** np.arange(T - 1, -1, -1.0)
    largest = []
    for _ in range(DRAWS):
        X = rng.standard_normal((T, N_INPUTS))
        largest.append(np.linalg.eigvalsh(X.T @ (weight[:, None] * X) / weight.sum())[-1])
    return float(np.mean(largest))


def draw(axis: Axes, tables: Sequence[Table]) -> str:
    windows, forgetting, plain = (tables[0][name] for name in ("windows", "forgetting", "plain"))
    red, blue = (LOOKS[name].color for name in ("scale-dependent", "input-output"))
    axis.plot(windows, plain, "--", color=red, lw=1.7, label="as if the window were plain samples")
    axis.plot(windows, forgetting, "-", color=blue, lw=1.7, label="edge under forgetting")
    for t in tables:
        axis.plot(windows, t["largest"], "o", color=DARK, ms=4)
    axis.plot([], [], "o", color=DARK, ms=4, label=f"measured, means of {DRAWS}, {len(tables)} seeds")
    axis.set(xscale="log", xlabel=r"window $1/(1-\beta^2)$ (samples)", ylabel="largest eigenvalue of noise")
    axis.set_xticks(windows, [f"{window:.0f}" for window in windows])
    axis.set_xticks([], minor=True)
    axis.legend(frameon=False, fontsize=6.5)
    return f"edge of white noise, {N_INPUTS} inputs"


def claims(tables: Sequence[Table]) -> list[Claim]:
    measured = np.median([t["largest"] for t in tables], axis=0)
    steady, plain = (measured / np.array(tables[0][name]) - 1 for name in ("forgetting", "plain"))
    return [
        Claim(
            "ours: edge of the noise",
            r"under forgetting the largest eigenvalue of noise is the root of "
            "e - 1 - ln e = n (1 - β²)",
            f"white noise on {N_INPUTS} inputs, beta = {BETAS}",
            f"measured is {steady.min():+.0%} to {steady.max():+.0%} from it; {plain.min():+.0%} to "
            f"{plain.max():+.0%} from the edge of as many plain samples",
            verdict(bool(np.all(np.abs(steady) < 0.12)) and bool(np.all(np.abs(steady) < np.abs(plain)))),
        )
    ]
