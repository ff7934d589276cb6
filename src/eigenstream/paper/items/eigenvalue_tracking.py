"""Fig. eigen_track: the stationary stream, and whether the outputs follow its top eigenvalues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..reproduction.item import Claim, Table
from ..reproduction.verdict import verdict
from . import experiment
from .experiment import KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "eigenvalue-tracking"
TITLE = "Fig. eigen_track: outputs follow the top three input eigenvalues"

LINES = 4
"""How many eigenvalues are shown."""


@dataclass(frozen=True)
class Settings:
    printed: int
    """Samples for the printed network."""
    engine: int
    """Samples for the engine."""


FULL = Settings(printed=10_000, engine=10_000)
QUICK = Settings(printed=1_500, engine=10_000)


@dataclass(frozen=True)
class Case:
    network: str
    regularizer: str
    n_samples: int
    seed: int


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    lengths = {"printed": settings.printed, "engine": settings.engine}
    return [Case(network, name, T, seed) for network, T in lengths.items() for name in KINDS]


def simulate(case: Case) -> Table:
    """The top eigenvalues of X'X / T and Y'Y / T as T grows, and the offline threshold at the end."""
    times = experiment.even_times(case.n_samples)
    X = experiment.stationary(case.n_samples, case.seed)
    regularizer = experiment.chosen_regularizer(case.regularizer)
    Y = experiment.run(case.network, regularizer, X, times, seed=case.seed).Y
    x_sums, y_sums = (experiment.scatter_sums(Z, times) for Z in (X, Y))
    whole = experiment.eigenvalues(x_sums[times[-1]] / times[-1])
    return {
        "network": case.network,
        "regularizer": case.regularizer,
        "alpha": regularizer.alpha,
        "threshold": regularizer.threshold(whole, experiment.DEFAULT.k),
        "times": times,
        "input": [experiment.eigenvalues(x_sums[T] / T)[:LINES].tolist() for T in times],
        "output": [experiment.eigenvalues(y_sums[T] / T)[:LINES].tolist() for T in times],
    }


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    from ...plotting import panels

    figure, axes = panels(2, 3, 12, 7)
    for axis, table in zip(axes, tables, strict=True):
        _draw_lines(axis, table)
    for axis in axes[::3]:
        axis.set_ylabel("eigenvalue (input variance)")
    axes[0].legend(loc="upper right", fontsize=8, ncols=2)
    return figure


def _draw_lines(axis: Axes, table: Table) -> None:
    from ...plotting import COLOR_OF

    T, x, y = (np.array(table[name]) for name in ("times", "input", "output"))
    lines = axis.plot(T, x - experiment.DEFAULT.threshold, color="0.45", linestyle="--", linewidth=1.5)
    lines[0].set_label(r"$X^\top X/T - 2$, top four")
    found = axis.plot(T, y, color=COLOR_OF[table["regularizer"]], linewidth=1.8)
    found[0].set_label(r"$Y^\top Y/T$, top four")
    axis.set(xlabel="samples T", ylim=(-0.6, 6.2), xlim=(0, T[-1]))
    axis.locator_params(axis="x", nbins=5)
    label = experiment.NETWORK_LABEL[table["network"]]
    axis.set_title(rf"{table['regularizer']}, $\alpha$ = {table['alpha']:.3g}" + f"\n{label}")


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    found = [_tracking_claim(table) for table in tables]
    return [*found, _threshold_claim(tables), _same_networks_claim(tables)]


def _tracking_claim(table: Table) -> Claim:
    """Transients of the first samples stay in Y'Y / T and fade like 1/T: hence the tolerances.

    The fourth input eigenvalue lies on the threshold, so the fourth output is small rather than zero.
    """
    T, m = table["times"][-1], experiment.N_SIGNAL
    x, y = np.array(table["input"][-1]), np.array(table["output"][-1])
    off = float(np.max(np.abs(y[:m] - (x[:m] - experiment.DEFAULT.threshold))))
    tolerance, small = 0.1 + 400 / T, 0.25 + 400 / T
    return Claim(
        f"Section VI.A, Fig. eigen_track, {table['regularizer']}, {table['network']}",
        "the outputs keep track of the top three input eigenvalues, thresholded by 2, and of no other",
        f"{experiment.NETWORK_LABEL[table['network']]}, spectra at T = {T:,}",
        f"top three off by at most {off:.3f} (to be below {tolerance:.2f}), fourth output eigenvalue "
        f"{y[m]:.3f} (to be below {small:.2f})",
        verdict(off < tolerance and float(y[m]) < small),
    )


def _threshold_claim(tables: Sequence[Table]) -> Claim:
    thetas = {t["regularizer"]: t["threshold"] for t in tables if t["network"] == "engine"}
    return Claim(
        "Section VI",
        "alpha can be chosen for each regularizer so that the top three eigenvalues are thresholded by 2",
        "offline threshold of the whole sample at the alphas chosen from the true spectrum",
        ", ".join(f"{name} {theta:.3f}" for name, theta in thetas.items()),
        verdict(all(abs(theta - experiment.DEFAULT.threshold) < 0.1 for theta in thetas.values())),
    )


def _same_networks_claim(tables: Sequence[Table]) -> Claim:
    """On the samples that both have seen."""
    gaps = []
    for name in KINDS:
        series = [dict(zip(t["times"], t["output"], strict=True)) for t in tables if t["regularizer"] == name]
        common = sorted(set(series[0]) & set(series[1]))
        gaps.append(max(float(np.max(np.abs(np.subtract(series[0][T], series[1][T])))) for T in common))
    return Claim(
        "Section IV, Jacobi iteration",
        "where the iteration converges it finds the solution of the quadratic program",
        "output eigenvalues of the printed network against those of the engine, which solves directly",
        f"differ by at most {max(gaps):.1e} at any T that both have seen",
        verdict(max(gaps) < 1e-2),
    )
