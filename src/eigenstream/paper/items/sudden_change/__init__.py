"""Fig. 6: the input's variance doubles at 1000 and returns at 6000; the networks forget.

Spectra are those of the last min(T, 1000) samples. The fourth input eigenvalue sits on the threshold, so
the fourth output eigenvalue is judged by its size, never by whether it is exactly zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...reproduction.item import Table
from .. import experiment
from ..drawing import DARK, LOOKS, MIDDLE, Axes, Figure, figure_of, lettered
from ..experiment import DEFAULT, KINDS, LINES, Case, Setup, cases_of, chosen
from ..switching import RESTORED, mark_changes, recent_eigenvalues
from .claims import AFTERWARDS
from .claims import claims as claims

NAME = "sudden-change"
TITLE = "Fig. 6: a sudden change, with forgetting"
CAPTION = (
    r"Top four eigenvalues of the last 1,000 samples' input (grey, dashed) and output (coloured; the "
    r"fourth black): medians of the seeds, bands from the lowest to the highest seed. The input's "
    "variance doubles at 1,000 (marked ×2) and returns at 6,000 (marked ×1). "
    r"Above with forgetting; below the control without, which the paper does not show: R_TY never "
    r"recovers, the self-calibrating networks need no forgetting to."
)
ALT = (
    "Six panels, regularizers from left to right, with forgetting above and without below. The three "
    "top output eigenvalues step up at 1,000 and down at 6,000 samples with the input. The fourth rises "
    "to about 2 between the steps for the scale-dependent regularizer only. Without forgetting it does "
    "not return to zero by the end, and the top three stay too high; those of the other two "
    "regularizers return."
)


@dataclass(frozen=True)
class Settings:
    n_seeds: int
    n_samples: int
    printed_samples: int
    beta: float = 0.995
    other_betas: tuple[float, ...] = (0.95, 0.999)
    """Shorter and longer memory, to show why not them: the paper does not say which it took."""
    setup: Setup = DEFAULT


FULL = Settings(n_seeds=10, n_samples=10_000, printed_samples=10_000)
QUICK = Settings(n_seeds=10, n_samples=10_000, printed_samples=1_200)


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    if settings.n_samples < AFTERWARDS or settings.n_samples % 200:
        raise ValueError(
            f"{NAME} needs n_samples of at least {AFTERWARDS:,} and a multiple of 200, got "
            f"{settings.n_samples:,}: the input returns at {RESTORED:,}"
        )
    if len(settings.other_betas) != 2:
        raise ValueError(f"{NAME} needs two other_betas, a shorter and a longer memory")
    counts = {1.0: settings.n_seeds, **dict.fromkeys(settings.other_betas, settings.n_seeds // 2)}
    counts[settings.beta] = settings.n_seeds
    found = cases_of("printed", settings.printed_samples, 1, seed, settings.setup, settings.beta)
    for beta, n_seeds in counts.items():
        found += cases_of("engine", settings.n_samples, n_seeds, seed, settings.setup, beta)
    return found


def simulate(case: Case) -> Table:
    """The top eigenvalues of input and output over the last min(T, 1000) samples."""
    times = [T for T in range(100, case.n_samples + 1, 100) if T <= 2500 or T % 200 == 0]
    X = experiment.switching(case.n_samples, case.seed)
    regularizer = experiment.chosen_regularizer(case.regularizer, case.setup)
    Y = experiment.run(
        case.network, regularizer, X, times, seed=case.seed, beta=case.beta, setup=case.setup
    ).Y
    return {
        "network": case.network,
        "regularizer": case.regularizer,
        "alpha": regularizer.alpha,
        "beta": case.beta,
        "times": times,
        "input": recent_eigenvalues(X, times),
        "output": recent_eigenvalues(Y, times),
    }


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    figure, axes = figure_of(2, 3, 4.6, sharex=True, sharey=True)
    titles = []
    for row, beta in enumerate((settings.beta, 1.0)):
        for column, name in enumerate(KINDS):
            mine = chosen(tables, network="engine", regularizer=name, beta=beta)
            _draw_lines(axes[3 * row + column], name, mine)
            titles.append(rf"{name}, $\alpha={mine[0]['alpha']:.3g}$")
        axes[3 * row].set_ylabel(f"β = {beta:g}: eigenvalue over\nthe last 1,000 samples")
    for axis in axes[3:]:
        axis.set_xlabel("samples T")
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False)
    lettered(axes, titles)
    return figure


def _draw_lines(axis: Axes, name: str, tables: Sequence[Table]) -> None:
    T = tables[0]["times"]
    x, y = (np.array([t[which] for t in tables]) for which in ("input", "output"))
    for i in range(LINES):
        label = "input, top four" if i == 0 else None
        axis.plot(T, np.median(x[:, :, i], axis=0), ls=(0, (3, 1.5)), color=MIDDLE, lw=0.9, label=label)
        color = DARK if i == experiment.N_SIGNAL else LOOKS[name].color
        names = {0: "output, top three", experiment.N_SIGNAL: "output, fourth"}
        axis.plot(T, np.median(y[:, :, i], axis=0), color=color, lw=1.7, label=names.get(i))
        axis.fill_between(T, y[:, :, i].min(axis=0), y[:, :, i].max(axis=0), color=color, alpha=0.25, lw=0)
    mark_changes(axis)
    axis.set(xlim=(0, T[-1]), ylim=(-0.4, 13.8))
