"""Fig. eigen_subspace_error: how the eigenvalue error and the subspace error fall as T grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import metrics
from ..reproduction.item import Claim, Table
from ..reproduction.verdict import verdict
from . import experiment
from .experiment import KINDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .experiment import Array

NAME = "error-decay"
TITLE = "Fig. eigen_subspace_error: eigenvalue and subspace error"

ERRORS = {"eigenvalue": "eigenvalue error (variance²)", "subspace": "subspace error, m = 3"}
WORST_MEDIAN = {"eigenvalue": 0.02, "subspace": 0.001}
WORST_SEED = {"eigenvalue": 0.06, "subspace": 0.003}


@dataclass(frozen=True)
class Settings:
    n_samples: int
    n_seeds: int
    printed_samples: int
    printed_seeds: int


FULL = Settings(n_samples=10_000, n_seeds=20, printed_samples=10_000, printed_seeds=3)
QUICK = Settings(n_samples=10_000, n_seeds=10, printed_samples=1_000, printed_seeds=1)


@dataclass(frozen=True)
class Case:
    network: str
    regularizer: str
    n_samples: int
    seed: int


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    sizes = {
        "printed": (settings.printed_samples, settings.printed_seeds),
        "engine": (settings.n_samples, settings.n_seeds),
    }
    return [
        Case(network, name, T, seed + i)
        for network, (T, seeds) in sizes.items()
        for name in KINDS
        for i in range(seeds)
    ]


def simulate(case: Case) -> Table:
    """Both errors against the offline solution of the samples seen so far."""
    times = experiment.growing_times(case.n_samples)
    X = experiment.stationary(case.n_samples, case.seed)
    regularizer = experiment.chosen_regularizer(case.regularizer)
    course = experiment.run(case.network, regularizer, X, times, seed=case.seed)
    x_sums, y_sums = (experiment.scatter_sums(Z, times) for Z in (X, course.Y))
    eigenvalue, subspace = [], []
    for T, F in zip(times, course.filters, strict=True):
        lam, V = np.linalg.eigh(x_sums[T] / T)
        best = regularizer.shrink(np.maximum(lam[::-1], 0), experiment.DEFAULT.k)
        eigenvalue.append(metrics.eigenvalue_error(experiment.eigenvalues(y_sums[T] / T), best))
        subspace.append(metrics.subspace_error(F, V[:, ::-1].T, experiment.N_SIGNAL))
    return {
        "network": case.network,
        "regularizer": case.regularizer,
        "times": times,
        "eigenvalue": eigenvalue,
        "subspace": subspace,
    }


def _series(tables: Sequence[Table], network: str, name: str, error: str) -> tuple[list[int], Array]:
    """The sample counts, and one row of errors a seed."""
    chosen = [t for t in tables if t["network"] == network and t["regularizer"] == name]
    return chosen[0]["times"], np.array([t[error] for t in chosen])


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    """Medians and the range from the lowest to the highest seed; the printed network's seeds as dots."""
    from ...plotting import COLOR_OF, panels

    figure, axes = panels(1, 2, 11, 5)
    for axis, (error, label) in zip(axes, ERRORS.items(), strict=True):
        for name in KINDS:
            T, values = _series(tables, "engine", name, error)
            color, style = COLOR_OF[name], _STYLE[name]
            axis.fill_between(T, values.min(axis=0), values.max(axis=0), color=color, alpha=0.15, lw=0)
            axis.plot(T, np.median(values, axis=0), color=color, lw=2, ls=style, label=name)
            T, values = _series(tables, "printed", name, error)
            axis.plot(T[::4], values[:, ::4].T, "o", ms=5, color=color, mec="black", mew=0.5)
        axis.set(xscale="log", yscale="log", xlabel="samples T", ylabel=label)
    axes[0].legend(loc="lower left", frameon=False)
    figure.suptitle(
        f"lines: engine, median of {settings.n_seeds} seeds, bands: all seeds; "
        f"dots: printed network (Jacobi), seeds: {settings.printed_seeds}"
    )
    return figure


_STYLE: dict[str, Any] = {"scale-dependent": "-", "input-output": "--", "squared-output": (0, (4, 1, 1, 1))}


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    found: list[Claim] = []
    for error in ERRORS:
        found += [_decrease_claim(tables, error), _similar_claim(tables, error)]
        found += [_size_claim(tables, error), _printed_claim(tables, error)]
    return found


def _medians(tables: Sequence[Table], error: str, T: int) -> dict[str, float]:
    medians = {}
    for name in KINDS:
        times, values = _series(tables, "engine", name, error)
        medians[name] = float(np.median(values[:, times.index(T)]))
    return medians


def _listed(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.2g}" for name, value in values.items())


def _decrease_claim(tables: Sequence[Table], error: str) -> Claim:
    last = max(t["times"][-1] for t in tables)
    decades = [T for T in (100, 1_000, 10_000) if T <= last]
    medians = [_medians(tables, error, T) for T in decades]
    falls = all(after[n] < before[n] / 2 for before, after in pairwise(medians) for n in after)
    return Claim(
        "Section VI.A, Fig. eigen_subspace_error",
        f"the {error} error of each algorithm decreases with T",
        f"medians over seeds at T = {decades}, each to be less than half of the one before",
        "; ".join(_listed(m) for m in medians),
        verdict(falls),
    )


def _similar_claim(tables: Sequence[Table], error: str) -> Claim:
    T = max(t["times"][-1] for t in tables)
    medians = _medians(tables, error, T)
    ratio = max(medians.values()) / min(medians.values())
    return Claim(
        "Section VI.A, Fig. eigen_subspace_error",
        f"the three algorithms perform similarly by {error} error",
        f"largest over smallest median at T = {T:,}",
        f"{ratio:.2f} times",
        verdict(ratio < 3),
    )


def _size_claim(tables: Sequence[Table], error: str) -> Claim:
    values = {name: _series(tables, "engine", name, error)[1][:, -1] for name in KINDS}
    medians = {name: float(np.median(found)) for name, found in values.items()}
    worst = max(float(found.max()) for found in values.values())
    return Claim(
        f"ours: {error} error at the end",
        f"median at most {WORST_MEDIAN[error]:g}, every seed at most {WORST_SEED[error]:g} at T = 10,000",
        f"{len(next(iter(values.values())))} seeds of the engine",
        f"{_listed(medians)}; worst seed {worst:.2g}",
        verdict(max(medians.values()) <= WORST_MEDIAN[error] and worst <= WORST_SEED[error]),
    )


def _printed_claim(tables: Sequence[Table], error: str) -> Claim:
    """Seeds are the same for both kinds of network, so the first ones can be compared one by one."""
    ratios = []
    for name in KINDS:
        times, printed = _series(tables, "printed", name, error)
        grid, direct = _series(tables, "engine", name, error)
        ratios += (printed[:, -1] / direct[: len(printed), grid.index(times[-1])]).tolist()
    return Claim(
        "Section IV, Jacobi iteration",
        f"the network's iteration costs no accuracy ({error} error)",
        f"printed network over engine, same seeds, T = {times[-1]:,}",
        f"between {min(ratios):.3f} and {max(ratios):.3f} times",
        verdict(0.8 < min(ratios) and max(ratios) < 1.25),
    )
