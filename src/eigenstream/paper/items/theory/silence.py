"""Dead modes: how long a component waits that appears after a silence, with rounding and without."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .... import theory
from ....regularizers import ScaleDependent
from ...reproduction.item import Claim, Table
from ..drawing import DARK, LOOKS, Axes
from ..experiment import Array, Engine, Setup
from ..texts import texts_of
from .growth import Row, row

*_, claim = texts_of("theory")

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
DRAWS = 5
"""Streams per seed, whose medians are taken: among other neurons single ones come back sooner."""
SIGNAL, NOISE = 4.0, 0.01
HALF_GAIN = 0.5 * float(np.sqrt((SIGNAL - REGULARIZER.alpha) / SIGNAL))
"""Half of the gain that the new component has in the end."""
ROUNDING = 1e-16
"""Relative size of what other neurons' rounding leaves of a mode, in float64."""
NETWORKS = {"among other neurons": 0.0, "alone: no rounding": None}
"""Spontaneous activity of each network; None for one neuron that sees the new component alone."""


def median_waits(noise: float | None, seed: int) -> list[float]:
    """Windows, by silence, until the new component is transmitted with half its final gain."""
    waits = [[_wait(silence, noise, seed, draw) for silence in SILENCES] for draw in range(DRAWS)]
    return [float(wait) for wait in np.median(waits, axis=0)]


def _wait(silence: int, noise: float | None, seed: int, draw: int) -> float:
    rng = np.random.default_rng([seed, draw])
    onset, end = silence * WINDOW, (silence + AFTER) * WINDOW
    X = np.sqrt(NOISE) * rng.standard_normal((end, N_INPUTS))
    X[:, 0] += np.sqrt(SIGNAL) * rng.standard_normal(end)
    X[onset:, 1] += np.sqrt(SIGNAL) * rng.standard_normal(end - onset)
    if noise is None:
        network, X = Engine(REGULARIZER, 1, ALONE, rng, beta=BETA), np.ascontiguousarray(X[:, 1:2])
    else:
        network = Engine(REGULARIZER, N_INPUTS, SETUP, rng, beta=BETA, noise=noise, seed=seed)
    network.run(X[:onset])
    step = max(WINDOW // 10, 1)
    for start in range(onset, end, step):
        network.run(X[start : start + step])
        if np.linalg.norm(network.filter[:, min(1, X.shape[1] - 1)]) > HALF_GAIN:
            return (start + step - onset) / WINDOW
    return float(AFTER)


def measure(seed: int) -> Table:
    """Waits by network and silence."""
    return {name: median_waits(noise, seed) for name, noise in NETWORKS.items()}


def longest_wait() -> float:
    """Windows that a mode of the size of others' rounding takes."""
    return float(np.log(HALF_GAIN / ROUNDING)) / _rates()[1]


def _rates() -> tuple[float, float]:
    """Rates per window at which the mode fades and grows."""
    fading, growing = (theory.growth_rate(lam, REGULARIZER.alpha, BETA) for lam in (NOISE, SIGNAL + NOISE))
    return -fading, growing


def predicted() -> dict[str, Array]:
    """Predicted waits by network and silence: among others no longer than rounding allows."""
    among, alone = (_without_rounding(*case) for case in ((SETUP, N_INPUTS), (ALONE, 1)))
    return dict(zip(NETWORKS, (np.minimum(among, longest_wait()), alone), strict=True))


def _without_rounding(setup: Setup, n: int) -> Array:
    fading, growing = _rates()
    gain = setup.W_yx_length * np.sqrt(setup.k / n)  # of the start for one input
    # It falls at once: the activity of the start is less than what the threshold will add up to.
    fallen = np.log(HALF_GAIN / gain * WINDOW * REGULARIZER.alpha / setup.mu_0)
    return np.asarray((fading * np.array(SILENCES) + fallen) / growing)


def _medians(tables: Sequence[Table]) -> dict[str, Array]:
    return {name: np.median([t[name] for t in tables], axis=0) for name in NETWORKS}


def rows(tables: Sequence[Table]) -> list[Row]:
    found, expected = _medians(tables), predicted()
    return [
        row(f"windows to wait, {name}", f"after {silence} of silence", float(p), float(m))
        for name in reversed(NETWORKS)
        for silence, p, m in zip(SILENCES, expected[name], found[name], strict=True)
        if silence in (10, 30, LONG, SILENCES[-1])
    ]


def draw(axis: Axes, tables: Sequence[Table]) -> str:
    found, expected = _medians(tables), predicted()
    for name, key in zip(NETWORKS, ("scale-dependent", "squared-output"), strict=True):
        look = LOOKS[key]
        axis.plot(SILENCES, expected[name], ls=look.line, color=look.color, lw=1)
        axis.plot(SILENCES, found[name], look.marker, color=look.color, ms=4.5, label=name)
    axis.axhline(longest_wait(), color=DARK, lw=0.8, ls=":", label="$10^{-16}$ grows back")
    axis.set(xscale="log", yscale="log", xlabel="windows of silence", ylim=(1, 400))
    shown = [silence for silence in SILENCES if silence not in (20, 150)]
    axis.set_xticks(shown, [str(silence) for silence in shown])
    axis.set_xticks([], minor=True)
    axis.set_ylabel("windows to half the gain")
    axis.legend(frameon=False, fontsize=6, loc="upper left")
    return "dead modes"


def claims(tables: Sequence[Table]) -> list[Claim]:
    among, alone = _medians(tables).values()
    bound, free = predicted().values()
    away, ratios = alone / free - 1, among / bound
    long = SILENCES.index(LONG)
    lone = (
        f"{alone[long]:.1f} windows after {LONG} and {alone[-1]:.1f} after {SILENCES[-1]}, predicted "
        f"{free[long]:.1f} and {free[-1]:.1f}; {away.min():+.0%} to {away.max():+.0%} over all"
    )
    listed = ", ".join(f"{m:.1f} ({p:.1f})" for m, p in zip(among, bound, strict=True))
    rounded = (
        f"after {', '.join(map(str, SILENCES))} windows: {listed}; {ratios.min() - 1:+.0%} to "
        f"{ratios.max() - 1:+.0%}"
    )
    within = np.all(ratios < 1.25) and np.all(ratios > 0.5) and alone[-1] > 2 * among[-1]
    words = {"beta": BETA, "longest": SILENCES[-1]}
    return [
        claim("fading", lone, np.all(np.abs(away) < 0.2), **words),
        claim("rounding", rounded, within, **words),
    ]
