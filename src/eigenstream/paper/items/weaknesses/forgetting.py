"""Forgetting: an output that is silent for long decays and comes back late; the edge of pure noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....rank import noise_edge
from ....regularizers import ScaleDependent
from ...reproduction.item import Claim, Table
from ..drawing import DARK, LOOKS, Axes
from ..experiment import Engine, Setup
from ..texts import texts_of

*_, claim = texts_of("weaknesses")

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


def measure_dead_modes(seed: int) -> Table:
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


def draw_dead_modes(axis: Axes, tables: Sequence[Table]) -> str:
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


def dead_modes_claims(tables: Sequence[Table]) -> list[Claim]:
    windows = tables[0]["windows"]
    dead, alive = (np.array(waits) / windows for waits in _medians(tables).values())
    value = ", ".join(f"{a:.1f} without and {b:.1f} with" for a, b in zip(dead, alive, strict=True))
    return [claim("dead-modes", value, np.all(alive < dead / 2), quiet=QUIET, betas=BETAS)]


NOISE_INPUTS = 64
# Windows of 25 to 250 samples, shorter and longer than the number of inputs.
NOISE_BETAS = (0.98, 0.99, 0.995, 0.998)
"""Discounts per sample."""
WINDOWS = 12
"""Length of each stream."""
DRAWS = 10


def measure_noise_edge(seed: int) -> Table:
    """Largest eigenvalue of the discounted second moment of white noise, measured and by two formulas."""
    windows = [1 / (1 - beta**2) for beta in NOISE_BETAS]
    return {
        "windows": windows,
        "largest": [_largest_eigenvalue(beta**2, seed) for beta in NOISE_BETAS],
        "forgetting": [
            noise_edge(NOISE_INPUTS, round(WINDOWS * window), beta**2)
            for window, beta in zip(windows, NOISE_BETAS, strict=True)
        ],
        "plain": [noise_edge(NOISE_INPUTS, round(window)) for window in windows],
    }


def _largest_eigenvalue(beta2: float, seed: int) -> float:
    """The mean of several draws: a single one is off by a tenth."""
    rng, T = np.random.default_rng(seed), int(WINDOWS / (1 - beta2))
    weight = beta2 ** np.arange(T - 1, -1, -1.0)
    largest = []
    for _ in range(DRAWS):
        X = rng.standard_normal((T, NOISE_INPUTS))
        largest.append(np.linalg.eigvalsh(X.T @ (weight[:, None] * X) / weight.sum())[-1])
    return float(np.mean(largest))


def draw_noise_edge(axis: Axes, tables: Sequence[Table]) -> str:
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
    return f"edge of white noise, {NOISE_INPUTS} inputs"


def noise_edge_claims(tables: Sequence[Table]) -> list[Claim]:
    measured = np.median([t["largest"] for t in tables], axis=0)
    steady, plain = (measured / np.array(tables[0][name]) - 1 for name in ("forgetting", "plain"))
    value = (
        f"measured is {steady.min():+.0%} to {steady.max():+.0%} from it; {plain.min():+.0%} to "
        f"{plain.max():+.0%} from the edge of as many plain samples"
    )
    near = np.all(np.abs(steady) < 0.12) and np.all(np.abs(steady) < np.abs(plain))
    return [claim("noise-edge", value, near, n_inputs=NOISE_INPUTS, betas=NOISE_BETAS)]
