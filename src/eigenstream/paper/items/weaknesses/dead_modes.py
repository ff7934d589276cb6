"""Dead modes: under forgetting, an output that is silent for long decays and comes back late."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....regularizers import ScaleDependent
from ...reproduction.item import Claim, Table, verdict
from ..drawing import LOOKS, Axes
from ..experiment import Engine, Setup

N_INPUTS = 16
SETUP = Setup(k=4, mu_0=1.0)
REGULARIZER = ScaleDependent(1.0)
# Windows of 50 to 250 samples: the wait is counted in windows.
BETAS = (0.99, 0.995, 0.998)
"""Discounts per sample."""
QUIET, AFTER = 150, 60
"""Windows of silence before a second component appears, and windows to wait for it."""
SIGNAL, NOISE = 4.0, 0.01
SPONTANEOUS = {"without (paper)": 0.0, "spontaneous activity 0.01": 0.01}


def measure(seed: int) -> Table:
    """Samples, by beta, until the network transmits the new component with half its final gain."""
    return {
        "windows": [_window(beta) for beta in BETAS],
        "waits": {name: [_wait(beta, noise, seed) for beta in BETAS] for name, noise in SPONTANEOUS.items()},
    }


def _window(beta: float) -> int:
    return round(1 / (1 - beta**2))


def _wait(beta: float, noise: float, seed: int) -> int:
    rng, window = np.random.default_rng(seed), _window(beta)
    onset, end = QUIET * window, (QUIET + AFTER) * window
    X = np.sqrt(NOISE) * rng.standard_normal((end, N_INPUTS))
    X[:, 0] += np.sqrt(SIGNAL) * rng.standard_normal(end)
    X[onset:, 1] += np.sqrt(SIGNAL) * rng.standard_normal(end - onset)
    network = Engine(REGULARIZER, N_INPUTS, SETUP, rng, beta=beta, noise=noise, seed=seed)
    network.run(X[:onset])
    half_gain = 0.5 * np.sqrt((SIGNAL - REGULARIZER.alpha) / SIGNAL)
    step = max(window // 4, 1)
    for start in range(onset, end, step):
        network.run(X[start : start + step])
        if np.linalg.norm(network.filter[:, 1]) > half_gain:
            return start + step - onset
    return end - onset


def _medians(tables: Sequence[Table]) -> dict[str, list[float]]:
    return {name: np.median([t["waits"][name] for t in tables], axis=0).tolist() for name in SPONTANEOUS}


def draw(axis: Axes, tables: Sequence[Table]) -> str:
    for (name, waits), color, style in zip(
        _medians(tables).items(),
        (LOOKS["scale-dependent"].color, LOOKS["input-output"].color),
        ("o-", "s--"),
        strict=True,
    ):
        axis.plot(tables[0]["windows"], waits, style, color=color, lw=1.7, label=name)
    axis.set(xscale="log", yscale="log", xlabel=r"window $1/(1-\beta^2)$ (samples)")
    axis.set_xticks(tables[0]["windows"], [str(window) for window in tables[0]["windows"]], minor=False)
    axis.set_xticks([], minor=True)
    axis.set_ylabel("samples until a new component\nis transmitted with half its gain")
    axis.legend(frameon=False, fontsize=6.5)
    return "dead modes (scale-dependent)"


def claims(tables: Sequence[Table]) -> list[Claim]:
    windows = tables[0]["windows"]
    dead, alive = (np.array(waits) / windows for waits in _medians(tables).values())
    return [
        Claim(
            "ours: dead modes",
            "a mode that was silent for long comes back late; spontaneous activity keeps it alive",
            f"windows until a component that appears after {QUIET} windows is transmitted, beta = {BETAS}",
            ", ".join(f"{a:.1f} without and {b:.1f} with" for a, b in zip(dead, alive, strict=True)),
            verdict(bool(np.all(alive < dead / 2))),
        )
    ]
