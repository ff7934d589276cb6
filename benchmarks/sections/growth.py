"""How cost grows with the length and width of a stream and the number of outputs; and memory."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks.contenders import Eigenstream
from benchmarks.inputs import signal_in_noise
from benchmarks.markdown import number, table
from benchmarks.meter import Meter
from benchmarks.peers.peer import Array
from benchmarks.repeats import interleaved
from benchmarks.sections.long_stream import memory_over, memory_sentence
from eigenstream import OnlineAdaptivePCA
from eigenstream.plotting import BLUE, ORANGE, PURPLE, panels

TITLE = "Growth of time and memory"
FIT, NETWORK = "fit", "network"
FITTED = 4
"""How many of the largest sizes a slope is fitted to: at small ones, fixed costs flatten it."""


@dataclass(frozen=True)
class Settings:
    base: tuple[int, int, int] = (2048, 1024, 16)
    """T, n, k where they do not vary."""
    T: tuple[int, ...] = tuple(2**i for i in range(9, 15))
    n: tuple[int, ...] = tuple(2**i for i in range(6, 15))
    k: tuple[int, ...] = tuple(2**i for i in range(8))
    repeats: int = 2
    long: int = 4_000_000
    """Samples of the long stream, 64 inputs and 4 outputs."""
    readings: int = 50
    seconds: tuple[float, ...] = (4.0, 6.0, 3.0, 12.0)
    """What to expect for T, n, k and the long stream."""


QUICK = Settings(
    base=(256, 64, 4),
    T=(128, 256, 512, 1024),
    n=(16, 32, 64, 128),
    k=(1, 2, 4, 8),
    repeats=2,
    long=100_000,
    readings=5,
    seconds=(0.2, 0.2, 0.2, 0.5),
)


def settings(quick: bool) -> Settings:
    return QUICK if quick else Settings()


def seconds(quick: bool) -> float:
    return sum(settings(quick).seconds)


def run(meter: Meter, quick: bool) -> dict[str, Any]:
    """One BLAS thread throughout."""
    chosen = settings(quick)
    T, n, k = chosen.base
    sizes = {
        "T": [(value, n, k) for value in chosen.T],
        "n": [(T, value, k) for value in chosen.n],
        "k": [(T, n, value) for value in chosen.k],
    }
    curves = {}
    with threadpool_limits(1):
        for (name, grown), expected in zip(sizes.items(), chosen.seconds, strict=False):
            with meter.measuring(f"growth with {name}", expected):
                curves[name] = curve(grown, getattr(chosen, name), chosen.repeats, meter)
        with meter.measuring(f"memory over {chosen.long:,} samples", chosen.seconds[-1]):
            memory = memory_over(chosen.long, chosen.readings, meter)
    return {"base": dict(zip("Tnk", chosen.base, strict=True)), "curves": curves, "memory": memory}


def curve(
    sizes: list[tuple[int, int, int]], values: tuple[int, ...], repeats: int, meter: Meter
) -> dict[str, Any]:
    """Best seconds for a whole stream at each size, and the slope in logarithms, of both."""
    taken: dict[str, list[float]] = {FIT: [], NETWORK: []}
    for T, n, k in sizes:
        meter.note(f"T = {T:,}, n = {n:,}, k = {k}")
        X = signal_in_noise(n, max(k // 2, 1), k + T)
        network = Eigenstream(n, k)
        network.learn(X[:k])
        works = {FIT: partial(fitted, X[k:], k), NETWORK: partial(network.learn, X[k:])}
        for name, times in interleaved(works, repeats).items():
            taken[name].append(times["best"])
    slopes = {name: slope(values, times) for name, times in taken.items()}
    return {"values": list(values), "seconds": taken, "slopes": slopes}


def fitted(X: Array, k: int) -> int:
    """What a user calls."""
    with warnings.catch_warnings():
        # With one component asked for and one there, the rank reaches what was asked for.
        warnings.filterwarnings("ignore", "the rank has reached max_components", UserWarning)
        return OnlineAdaptivePCA(max_components=k).fit(X).n_components_


def slope(values: tuple[int, ...], taken: list[float]) -> float:
    return float(np.polyfit(np.log(values[-FITTED:]), np.log(taken[-FITTED:]), 1)[0])


def report(results: dict[str, Any]) -> str:
    """Slopes, the two ends of memory, and the measured points."""
    base, curves = results["base"], results["curves"]
    intro = (
        f"Seconds to learn a stream, one thread, float64, where one of T = {base['T']:,} samples, "
        f"n = {base['n']:,} inputs and k = {base['k']} outputs varies: `OnlineAdaptivePCA(max_components=k)"
        ".fit(X)`, as a user calls it, and the network's engine alone. A slope of 1 means that twice as much "
        f"takes twice as long; it is fitted to the {FITTED} largest sizes. For the network, one sample costs "
        "a term in n k and one in k cubed, so that the slope in k rises from 1 towards 3."
    )
    slopes = table(
        ("grows", "from", "to", "slope of fit", "slope of the network"),
        [
            (name, f"{c['values'][0]:,}", f"{c['values'][-1]:,}", *(f"{s:.2f}" for s in c["slopes"].values()))
            for name, c in curves.items()
        ],
    )
    points = table(
        ("", "fit, seconds", "network, seconds"),
        [
            (f"{name} = {value:,}", *map(number, taken))
            for name, c in curves.items()
            for value, *taken in zip(c["values"], *c["seconds"].values(), strict=True)
        ],
    )
    return f"{intro}\n\n{slopes}\n\n{memory_sentence(results['memory'])}\n\n{points}"


def draw(results: dict[str, Any]) -> Figure:
    """Three log-log panels and memory."""
    figure, axes = panels(2, 2, 9, 6.4)
    base = results["base"]
    titles = {"T": "samples T", "n": "inputs n", "k": "outputs k"}
    for axis, name in zip(axes, "Tnk", strict=False):
        others = ", ".join(f"{other} = {base[other]:,}" for other in "Tnk" if other != name)
        _draw_curve(axis, results["curves"][name])
        axis.set(xlabel=titles[name], ylabel="seconds", title=others)
    memory = results["memory"]
    axes[3].plot(np.array(memory["seen"]) / 1e6, memory["MiB"], color=PURPLE)
    axes[3].set(ylim=(0, 1.2 * max(memory["MiB"])), xlabel="samples seen, millions")
    axes[3].set(ylabel="resident memory, MiB", title="n = 64, k = 4, both")
    return figure


def _draw_curve(axis: Axes, curve: dict[str, Any]) -> None:
    values = np.array(curve["values"], float)
    last = values[-FITTED:]
    for (name, seconds), colour in zip(curve["seconds"].items(), (BLUE, ORANGE), strict=True):
        taken, slope = np.array(seconds), curve["slopes"][name]
        middle = np.exp(np.mean(np.log(taken[-FITTED:])))
        fit = middle * (last / np.exp(np.mean(np.log(last)))) ** slope
        axis.loglog(values, taken, "o", color=colour)
        axis.loglog(last, fit, "-", color=colour, label=f"{name}, slope {slope:.2f}")
    axis.set_ylim(top=10 * max(max(seconds) for seconds in curve["seconds"].values()))  # room for the legend
    axis.legend(loc="upper left", frameon=False)
