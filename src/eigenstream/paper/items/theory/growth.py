"""Growth and fading of weak modes: T^(lam/theta - 1), or at that rate per window."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .... import theory
from ....regularizers import ScaleDependent
from ...reproduction.item import Claim, Table
from ..drawing import DARK, LOOKS, Axes
from ..experiment import Array, Engine, Setup
from ..texts import texts_of

*_, claim = texts_of("theory")

THETA = 2.0
REGULARIZER = ScaleDependent(THETA)
LAM = (6.0, 4.0, 3.0, 1.0)
"""Variances of the inputs, independent of one another: three modes grow, one fades."""
# So weak that none of them saturates: the strongest grows by T^2, a factor of 4e6, and by luck more.
SETUP = Setup(k=1, mu_0=THETA, W_yx_length=1e-12)
FIRST, LAST = 200, 2_000
DRAWS = 10
"""Streams per seed, whose medians are taken: a single one is off by a tenth."""

Row = tuple[str, str, str, str, str]


def row(statement: str, case: str, predicted: float, measured: float) -> Row:
    """A prediction beside its measurement, in words."""
    away = f"{measured / predicted - 1:+.1%}" if predicted else f"{measured - predicted:+.2g}"
    return statement, case, f"{predicted:.3g}", f"{measured:.3g}", away


def gain(network: Engine) -> float:
    """Gain of a network with one neuron and one input."""
    return abs(float(network.filter[0, 0]))


def measure(seed: int) -> Table:
    """Exponents of T with which each mode's gain grows, and one course for the figure."""
    times = np.unique(np.geomspace(FIRST, LAST, 12).round().astype(int)).tolist()
    courses = [_course(times, np.random.default_rng([seed, draw])) for draw in range(DRAWS)]
    slopes = [np.log(c[-1] / c[0]) / np.log(LAST / FIRST) for c in courses]
    return {"times": times, "exponents": np.median(slopes, axis=0).tolist(), "course": courses[0].tolist()}


def _course(times: list[int], rng: np.random.Generator) -> Array:
    """Gains (times, modes), each mode with a neuron alone: others would add their scatter to weak ones."""
    courses = []
    for lam in LAM:
        X = np.sqrt(lam) * rng.standard_normal((LAST, 1))
        network, before, found = Engine(REGULARIZER, 1, SETUP, rng), 0, []
        for T in times:
            network.run(X[before:T])
            before = T
            found.append(gain(network))
        courses.append(found)
    return np.array(courses).T


def _exponents(tables: Sequence[Table]) -> list[tuple[float, float, float]]:
    """Variance, prediction and measurement of each mode."""
    measured = np.median([t["exponents"] for t in tables], axis=0)
    return [(lam, theory.growth_exponent(lam, THETA), float(m)) for lam, m in zip(LAM, measured, strict=True)]


def rows(tables: Sequence[Table]) -> list[Row]:
    return [row("growth T^(λ/θ - 1)", f"λ/θ = {lam / THETA:g}", *pair) for lam, *pair in _exponents(tables)]


def draw(axis: Axes, tables: Sequence[Table]) -> str:
    colors = (*(look.color for look in LOOKS.values()), DARK)
    T = np.array(tables[0]["times"])
    for i, (lam, color) in enumerate(zip(LAM, colors, strict=True)):
        course = np.array([t["course"] for t in tables])[:, :, i]
        middle = np.exp(np.median(np.log(course / course[:, :1]), axis=0))
        axis.plot(T, middle, "o", color=color, ms=3.5, label=f"λ/θ = {lam / THETA:g}")
        axis.plot(T, (T / T[0]) ** theory.growth_exponent(lam, THETA), "-", color=color, lw=1)
    axis.set(xscale="log", yscale="log", xlabel="samples T", ylabel=f"gain over that at {FIRST}")
    axis.set_xticks([FIRST, 500, 1_000, LAST], [f"{T:,}" for T in (FIRST, 500, 1_000, LAST)])
    axis.set_xticks([], minor=True)
    axis.legend(frameon=False, fontsize=6, loc="upper left")
    return "weak modes, β = 1"


def claims(tables: Sequence[Table]) -> list[Claim]:
    found = _exponents(tables)
    value = "; ".join(f"λ/θ = {lam / THETA:g}: {m:.2f}, predicted {p:.2f}" for lam, p, m in found)
    near = all(abs(m - p) < 0.1 * (1 + abs(p)) for _, p, m in found)
    return [claim("growth", value, near, first=FIRST, last=LAST)]


BETAS = (0.98, 0.99, 0.998)
"""Windows of 25, 50 and 250 samples."""
# From 1e-30 no mode saturates within them, and none is lost in another's rounding: each is alone.
WINDOWS = 12
ALONE = Setup(k=1, mu_0=THETA, W_yx_length=1e-30)


def measure_rates(seed: int) -> Table:
    """Growth of a neuron's gain per window, by variance and beta, once theta has settled."""
    return {
        f"{beta:g}": [
            float(np.median([_rate(lam, beta, [seed, draw]) for draw in range(DRAWS)])) for lam in LAM
        ]
        for beta in BETAS
    }


def _rate(lam: float, beta: float, seed: list[int]) -> float:
    rng, window = np.random.default_rng(seed), round(1 / (1 - beta**2))
    X = np.sqrt(lam) * rng.standard_normal((2 * WINDOWS * window, 1))
    network = Engine(REGULARIZER, 1, ALONE, rng, beta=beta)
    network.run(X[: WINDOWS * window])
    start = gain(network)
    network.run(X[WINDOWS * window :])
    return float(np.log(gain(network) / start) / WINDOWS)


def _rates(tables: Sequence[Table]) -> list[tuple[float, float, float, float]]:
    """Beta, variance, prediction and measurement."""
    found = []
    for beta in BETAS:
        measured = np.median([t[f"{beta:g}"] for t in tables], axis=0)
        for lam, rate in zip(LAM, measured, strict=True):
            found.append((beta, lam, theory.growth_rate(lam, THETA, beta), float(rate)))
    return found


def rate_rows(tables: Sequence[Table]) -> list[Row]:
    return [
        row("growth per window", f"λ/θ = {lam / THETA:g}, β = {beta:g}", *pair)
        for beta, lam, *pair in _rates(tables)
    ]


def draw_rates(axis: Axes, tables: Sequence[Table]) -> str:
    ratios = np.linspace(0.3, 3.2, 40)
    axis.plot(ratios, ratios - 1, ":", color=DARK, lw=1, label="λ/θ - 1")
    for beta, look in zip(BETAS, LOOKS.values(), strict=True):
        predicted = [theory.growth_rate(r * THETA, THETA, beta) for r in ratios]
        axis.plot(ratios, predicted, ls=look.line, color=look.color, lw=1)
        measured = [m for b, _, _, m in _rates(tables) if b == beta]
        label = f"β = {beta:g}"
        axis.plot(np.array(LAM) / THETA, measured, look.marker, color=look.color, ms=4.5, label=label)
    axis.set(xlabel="λ/θ", ylabel="growth per window")
    axis.legend(frameon=False, fontsize=6, loc="upper left")
    return "with forgetting"


def rate_claims(tables: Sequence[Table]) -> list[Claim]:
    found = _rates(tables)
    worst = max(found, key=lambda case: abs(case[3] - case[2]))
    value = (
        f"differ by at most {abs(worst[3] - worst[2]):.3f} (β = {worst[0]:g}, λ/θ = {worst[1] / THETA:g}: "
        f"{worst[3]:.2f}, predicted {worst[2]:.2f}); {len(found)} cases"
    )
    return [claim("rate", value, all(abs(m - p) < 0.1 * (1 + abs(p)) for _, _, p, m in found))]
