"""Forgetting: an output that is silent for long decays and comes back late; the edge of pure noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .... import theory
from ....rank import noise_edge
from ....regularizers import ScaleDependent
from ...reproduction.item import Claim, Table
from ..drawing import DARK, LOOKS, Axes
from ..experiment import Array, Engine, Setup
from ..texts import texts_of

*_, claim = texts_of("weaknesses")

N_INPUTS = 16
SETUP, ALONE = Setup(k=4, mu_0=1.0), Setup(k=1, mu_0=1.0)
REGULARIZER = ScaleDependent(1.0)
# A window of 50 samples: what is measured here is counted in windows.
BETA = 0.99
"""Discount per sample."""
WINDOW = round(1 / (1 - BETA**2))
SILENCES = (5, 10, 20, 30, 60, 150, 300)
"""Windows of silence before a second component appears."""
LONG = 150
"""The silence that is told of in words."""
AFTER = 160
"""Windows to wait for it."""
SIGNAL, NOISE = 4.0, 0.01
ROUNDING = 1e-16
"""Relative size of what other neurons' rounding leaves of a mode, in float64."""
NETWORKS = {
    "as it is computed (paper)": 0.0,
    "a neuron alone: no rounding": None,
    "spontaneous activity 0.01": 0.01,
}
"""Spontaneous activity of each network; None for one neuron that sees the new component alone."""


def measure_dead_modes(seed: int) -> Table:
    """Windows, by silence, until the network transmits the new component with half its final gain."""
    return {
        "silences": list(SILENCES),
        "waits": {
            name: [_wait(silence, noise, seed) for silence in SILENCES] for name, noise in NETWORKS.items()
        },
    }


def _wait(silence: int, noise: float | None, seed: int) -> float:
    rng = np.random.default_rng(seed)
    onset, end = silence * WINDOW, (silence + AFTER) * WINDOW
    X = np.sqrt(NOISE) * rng.standard_normal((end, N_INPUTS))
    X[:, 0] += np.sqrt(SIGNAL) * rng.standard_normal(end)
    X[onset:, 1] += np.sqrt(SIGNAL) * rng.standard_normal(end - onset)
    if noise is None:
        network, X = Engine(REGULARIZER, 1, ALONE, rng, beta=BETA), np.ascontiguousarray(X[:, 1:2])
    else:
        network = Engine(REGULARIZER, N_INPUTS, SETUP, rng, beta=BETA, noise=noise, seed=seed)
    network.run(X[:onset])
    half_gain = 0.5 * np.sqrt((SIGNAL - REGULARIZER.alpha) / SIGNAL)
    step = max(WINDOW // 10, 1)
    for start in range(onset, end, step):
        network.run(X[start : start + step])
        if np.linalg.norm(network.filter[:, min(1, X.shape[1] - 1)]) > half_gain:
            return (start + step - onset) / WINDOW
    return float(AFTER)


def predicted_waits() -> tuple[Array, float]:
    """Windows to wait by silence if there were no rounding, and the most that rounding leaves of them."""
    theta = REGULARIZER.alpha
    fading, growing = (theory.growth_rate(lam, theta, BETA) for lam in (NOISE, SIGNAL + NOISE))
    return -fading * np.array(SILENCES) / growing, -np.log(ROUNDING) / growing


def _medians(tables: Sequence[Table]) -> dict[str, Array]:
    return {name: np.median([t["waits"][name] for t in tables], axis=0) for name in NETWORKS}


def draw_dead_modes(axis: Axes, tables: Sequence[Table]) -> str:
    looks = [
        (LOOKS["scale-dependent"].color, "o-"),
        (LOOKS["squared-output"].color, "^-"),
        (LOOKS["input-output"].color, "s-"),
    ]
    for (name, waits), (color, style) in zip(_medians(tables).items(), looks, strict=True):
        axis.plot(SILENCES, waits, style, color=color, lw=1.5, ms=4, label=name)
    free, most = predicted_waits()
    axis.plot(SILENCES, free, ":", color=DARK, lw=1.2, label="linear theory")
    axis.axhline(most, color=DARK, lw=0.9, ls=(0, (5, 1.5)), label="the same from a mode of $10^{-16}$")
    axis.set(xscale="log", yscale="log", xlabel="windows of silence", ylim=(0.8, 400))
    axis.set_xticks(SILENCES, [str(silence) for silence in SILENCES])
    axis.set_xticks([], minor=True)
    axis.set_ylabel("windows until a new component\nis transmitted with half its gain")
    axis.legend(frameon=False, fontsize=6, loc="upper left")
    return "dead modes (scale-dependent)"


def dead_modes_claims(tables: Sequence[Table]) -> list[Claim]:
    dead, alone, alive = _medians(tables).values()
    free, most = predicted_waits()
    long, start = SILENCES.index(LONG), SILENCES.index(30)
    kept = f"{dead[long]:.1f} windows without and {alive[long]:.1f} with it after {LONG} of silence"
    late = dead[start:]
    rounded = (
        f"{dead[0]:.1f}, {dead[1]:.1f}, {dead[2]:.1f} after 5, 10, 20 windows; {late.min():.1f} to "
        f"{late.max():.1f} from 30 to {SILENCES[-1]}, predicted {most:.1f}"
    )
    # The start, the end near half the gain and the draws are worth a few windows, of either sign.
    slope = float((alone[-1] - alone[start]) / (SILENCES[-1] - SILENCES[start]))
    expected = float((free[-1] - free[start]) / (SILENCES[-1] - SILENCES[start]))
    lone = (
        f"{alone[long]:.1f} windows after {LONG} and {alone[-1]:.1f} after {SILENCES[-1]}; {slope:.3f} per "
        f"window of silence, predicted {expected:.3f} ({slope / expected - 1:+.0%})"
    )
    saturates = abs(float(np.median(late)) / most - 1) < 0.25 and dead[0] < most / 2
    words = {"beta": BETA, "longest": SILENCES[-1]}
    return [
        claim("dead-modes", kept, np.all(alive[start:] < dead[start:] / 2), **words),
        claim("fading", lone, abs(slope / expected - 1) < 0.15, **words),
        claim("rounding", rounded, saturates and alone[long] > 2 * dead[long], **words),
    ]


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
