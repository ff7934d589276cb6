"""Cost of a window: scatter against lag, and the edge of noise whose rows resemble each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.signal import lfilter

from .... import theory
from ....rank import noise_edge
from ....regularizers import InputOutput, ScaleDependent
from ...reproduction.item import Claim, Table
from ..drawing import DARK, LOOKS, Axes
from ..experiment import Array, Engine, Setup
from ..texts import texts_of
from .growth import Row, row

*_, claim = texts_of("theory")

N, LAM, NOISE, THETA = 20, 4.0, 0.5, 1.0
SPEEDS = (0.0, 0.001, 0.005)
"""Radians a sample by which the axis turns."""
WINDOWS = (12, 25, 50, 100, 200, 400)
SMALL = 0.2
"""Squared sine up to which the prediction, of first order, is held against measurements."""
LENGTH, READINGS = 30, 40
"""Windows that a network learns before it is read, and readings, a quarter of a window apart."""


def measure_axis(seed: int) -> Table:
    """Mean squared sine between the network's axis and the true one, by speed and window."""
    return {f"{speed:g}": [_axis_error(speed, window, seed) for window in WINDOWS] for speed in SPEEDS}


def _axis_error(speed: float, window: int, seed: int) -> float:
    rng, beta = np.random.default_rng([seed, window]), float(np.sqrt(1 - 1 / window))
    step = max(window // 4, 1)
    T = LENGTH * window + READINGS * step
    angle = speed * np.arange(T)
    X = np.sqrt(NOISE) * rng.standard_normal((T, N))
    along = np.sqrt(LAM - NOISE) * rng.standard_normal(T)
    X[:, 0] += along * np.cos(angle)
    X[:, 1] += along * np.sin(angle)
    network, found = Engine(ScaleDependent(THETA), N, Setup(k=1, mu_0=LAM), rng, beta=beta), []
    network.run(X[: LENGTH * window])
    for start, stop in pairwise(range(LENGTH * window, T + 1, step)):
        network.run(X[start:stop])
        axis = network.filter[0] / np.linalg.norm(network.filter[0])
        cosine = axis[0] * np.cos(angle[stop - 1]) + axis[1] * np.sin(angle[stop - 1])
        found.append(1 - cosine**2)
    return float(np.mean(found))


def _errors(tables: Sequence[Table], speed: float) -> tuple[Array, Array]:
    """Predicted and measured errors by window."""
    predicted = [theory.axis_error(window, speed, LAM, NOISE, N) for window in WINDOWS]
    return np.array(predicted), np.median([t[f"{speed:g}"] for t in tables], axis=0)


def _best(errors: Array) -> float:
    """The window of least error, by a parabola through the lowest point and its neighbours."""
    i = int(np.clip(np.argmin(errors), 1, len(errors) - 2))
    a, b, _ = np.polyfit(np.log(WINDOWS[i - 1 : i + 2]), np.log(errors[i - 1 : i + 2]), 2)
    return float(np.exp(-b / (2 * a)))


def axis_rows(tables: Sequence[Table]) -> list[Row]:
    found = []
    for speed in SPEEDS:
        predicted, measured = _errors(tables, speed)
        for i in (i for i in (1, 3, 5) if predicted[i] < SMALL):
            case = f"window {WINDOWS[i]}, {speed:g} radians a sample"
            found.append(row("squared sine of the axis", case, float(predicted[i]), float(measured[i])))
        if speed:
            best = theory.best_window(speed, LAM, NOISE, N)
            found.append(row("best window", f"{speed:g} radians a sample", best, _best(measured)))
    return found


def draw_axis(axis: Axes, tables: Sequence[Table]) -> str:
    for speed, look in zip(SPEEDS, LOOKS.values(), strict=True):
        predicted, measured = _errors(tables, speed)
        axis.plot(WINDOWS, predicted, ls=look.line, color=look.color, lw=1)
        axis.plot(WINDOWS, measured, look.marker, color=look.color, ms=4.5, label=f"{1e3 * speed:g} mrad")
        if speed:
            axis.axvline(theory.best_window(speed, LAM, NOISE, N), color=look.color, ls=":", lw=0.9)
    axis.set(xscale="log", yscale="log", xlabel=r"window $1/(1-\beta^2)$", ylabel="squared sine of the axis")
    axis.set_ylim(top=2)
    axis.set_xticks(WINDOWS, [str(window) for window in WINDOWS])
    axis.set_xticks([], minor=True)
    axis.legend(frameon=False, fontsize=6, title="turns per sample", title_fontsize=6, loc="upper left")
    return "scatter and lag"


def axis_claims(tables: Sequence[Table]) -> list[Claim]:
    gaps, bests = [], []
    for speed in SPEEDS:
        predicted, measured = _errors(tables, speed)
        # First order in both: where the sine is small, and the window not a handful of samples.
        small = (predicted < SMALL) & (np.array(WINDOWS) >= 25)
        gaps += (measured / predicted - 1)[small].tolist()
        if speed:
            bests.append((speed, theory.best_window(speed, LAM, NOISE, N), _best(measured)))
    listed = "; ".join(f"{s:g} radians a sample: {m:.0f}, predicted {p:.0f}" for s, p, m in bests)
    value = f"errors {min(gaps):+.0%} to {max(gaps):+.0%} from it ({len(gaps)} cases); best window {listed}"
    right = max(map(abs, gaps)) < 0.35 and all(0.67 < m / p < 1.5 for _, p, m in bests)
    return [claim("axis", value, right)]


EDGE_N, EDGE_T = 30, 2_000
MEMORIES = (0.0, 0.5, 0.8, 0.9)
"""Correlation of each input with itself a row later."""
DRAWS = 6


def measure_edge(seed: int) -> Table:
    """Largest eigenvalue of noise over its mean variance, and ranks with alpha around the edge."""
    return {f"{rho:g}": _edge(rho, seed) for rho in MEMORIES}


def effective(rho: float) -> float:
    """Number of independent rows that `EDGE_T` rows of this memory are worth."""
    return EDGE_T * (1 - rho**2) / (1 + rho**2)


def _edge(rho: float, seed: int) -> Table:
    rng, found = np.random.default_rng(seed), []
    alpha = noise_edge(EDGE_N, round(effective(rho))) / EDGE_N
    passing = {0.7: 0, 1.1: 0}
    for _ in range(DRAWS):
        noise = rng.standard_normal((EDGE_T + 200, EDGE_N)) * np.sqrt(1 - rho**2)
        X = lfilter([1], [1, -rho], noise, axis=0)[200:]
        lam = np.linalg.eigvalsh(X.T @ X / EDGE_T)[::-1]
        found.append(float(lam[0] / lam.mean()))
        for factor in passing:
            passing[factor] += int(np.sum(InputOutput(factor * alpha).shrink(lam) > 0) > 0)
    return {"largest": float(np.mean(found)), "below": passing[0.7], "above": passing[1.1]}


def _edges(tables: Sequence[Table]) -> list[tuple[float, float, float, float]]:
    """Memory, edge at T_eff, edge at T, and measurement."""
    return [
        (
            rho,
            noise_edge(EDGE_N, round(effective(rho))),
            noise_edge(EDGE_N, EDGE_T),
            float(np.median([t[f"{rho:g}"]["largest"] for t in tables])),
        )
        for rho in MEMORIES
    ]


def edge_rows(tables: Sequence[Table]) -> list[Row]:
    return [
        row("edge of noise at T_eff, n α", f"correlation {rho:g}, T_eff = {effective(rho):.0f}", p, m)
        for rho, p, _, m in _edges(tables)
    ]


def draw_edge(axis: Axes, tables: Sequence[Table]) -> str:
    rho, at_effective, at_rows, measured = zip(*_edges(tables), strict=True)
    red, blue = (LOOKS[name].color for name in ("scale-dependent", "input-output"))
    axis.plot(rho, at_rows, "--", color=red, lw=1.2, label="edge at T")
    axis.plot(rho, at_effective, "-", color=blue, lw=1.2, label="edge at T_eff")
    axis.plot(rho, measured, "o", color=DARK, ms=4, label="measured")
    axis.set(xlabel="correlation from row to row", ylabel="largest eigenvalue")
    axis.legend(frameon=False, fontsize=6)
    return "edge at T_eff"


def edge_claims(tables: Sequence[Table]) -> list[Claim]:
    found = _edges(tables)
    asked = DRAWS * len(tables) * len(MEMORIES)
    below, above = (sum(t[f"{rho:g}"][key] for t in tables for rho in MEMORIES) for key in ("below", "above"))
    gaps = [m / p - 1 for _, p, _, m in found]
    late = found[-1][3] / found[-1][2] - 1
    value = (
        f"measured {min(gaps):+.0%} to {max(gaps):+.0%} from the edge at T_eff, {late:+.0%} from that at "
        f"T at the longest memory; noise passes in {below} of {asked} at 0.7 of it and in {above} at 1.1"
    )
    right = max(map(abs, gaps)) < 0.1 and below == asked and above < 0.1 * asked
    return [claim("edge", value, right, n_inputs=EDGE_N, n_samples=EDGE_T)]


NOISE_INPUTS = 64
# Windows of 25 to 250 samples, shorter and longer than the number of inputs.
NOISE_BETAS = (0.98, 0.99, 0.995, 0.998)
"""Discounts per sample."""
NOISE_WINDOWS, NOISE_DRAWS = 12, 10
"""Length of each stream in windows, and streams per seed."""


def measure_noise_edge(seed: int) -> Table:
    """Largest eigenvalue of the discounted second moment of white noise, measured and by two formulas."""
    windows = [1 / (1 - beta**2) for beta in NOISE_BETAS]
    return {
        "windows": windows,
        "largest": [_largest_eigenvalue(beta**2, seed) for beta in NOISE_BETAS],
        "forgetting": [
            noise_edge(NOISE_INPUTS, round(NOISE_WINDOWS * window), beta**2)
            for window, beta in zip(windows, NOISE_BETAS, strict=True)
        ],
        "plain": [noise_edge(NOISE_INPUTS, round(window)) for window in windows],
    }


def _largest_eigenvalue(beta2: float, seed: int) -> float:
    """The mean of several draws: a single one is off by a tenth."""
    rng, T = np.random.default_rng(seed), int(NOISE_WINDOWS / (1 - beta2))
    weight = beta2 ** np.arange(T - 1, -1, -1.0)
    largest = []
    for _ in range(NOISE_DRAWS):
        X = rng.standard_normal((T, NOISE_INPUTS))
        largest.append(np.linalg.eigvalsh(X.T @ (weight[:, None] * X) / weight.sum())[-1])
    return float(np.mean(largest))


def noise_edge_rows(tables: Sequence[Table]) -> list[Row]:
    measured = np.median([t["largest"] for t in tables], axis=0)
    return [
        row("edge of noise under forgetting", f"window {window:.0f}, {NOISE_INPUTS} inputs", p, float(m))
        for window, p, m in zip(tables[0]["windows"], tables[0]["forgetting"], measured, strict=True)
    ]


def draw_noise_edge(axis: Axes, tables: Sequence[Table]) -> str:
    windows, forgetting, plain = (tables[0][name] for name in ("windows", "forgetting", "plain"))
    red, blue = (LOOKS[name].color for name in ("scale-dependent", "input-output"))
    axis.plot(windows, plain, "--", color=red, lw=1.7, label="window as samples")
    axis.plot(windows, forgetting, "-", color=blue, lw=1.7, label="edge")
    for t in tables:
        axis.plot(windows, t["largest"], "o", color=DARK, ms=4)
    axis.plot([], [], "o", color=DARK, ms=4, label="measured")
    axis.set(xscale="log", xlabel=r"window $1/(1-\beta^2)$", ylabel="largest eigenvalue")
    axis.set_xticks(windows, [f"{window:.0f}" for window in windows])
    axis.set_xticks([], minor=True)
    axis.legend(frameon=False, fontsize=6)
    return "edge under forgetting"


def noise_edge_claims(tables: Sequence[Table]) -> list[Claim]:
    measured = np.median([t["largest"] for t in tables], axis=0)
    steady, plain = (measured / np.array(tables[0][name]) - 1 for name in ("forgetting", "plain"))
    value = (
        f"measured is {steady.min():+.0%} to {steady.max():+.0%} from it; {plain.min():+.0%} to "
        f"{plain.max():+.0%} from the edge of as many plain samples"
    )
    near = np.all(np.abs(steady) < 0.12) and np.all(np.abs(steady) < np.abs(plain))
    return [claim("noise-edge", value, near, n_inputs=NOISE_INPUTS, betas=", ".join(map(str, NOISE_BETAS)))]
