"""Fig. 5: how the eigenvalue error and the subspace error fall as T grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ... import metrics
from ..reproduction.item import Claim, Sheet, Table
from . import experiment
from .drawing import DARK, LOOKS, MIDDLE, Figure, curve, figure_of, lettered
from .experiment import DEFAULT, KINDS, Array, Case, Setup, cases_of, chosen
from .texts import texts_of

NAME = "error-decay"
TITLE, CAPTION, ALT, claim = texts_of(NAME)

ERRORS = {"eigenvalue": "eigenvalue error (variance²)", "subspace": "subspace error, m = 3"}
# About twice what was measured: medians up to 0.0097 and 0.00032, seeds up to 0.032 and 0.0012.
WORST_MEDIAN = {"eigenvalue": 0.02, "subspace": 0.001}
WORST_SEED = {"eigenvalue": 0.06, "subspace": 0.003}
# Quartiles of ten seeds lie 1.3 to 3.9 times apart: a smaller difference would not be seen in the figure.
SIMILAR = 3.0
"""Algorithms perform similarly while their median errors are within this factor."""
SETTLED = 2_000
"""Number of samples from which on the correction says that they do."""


@dataclass(frozen=True)
class Settings:
    n_samples: int
    n_seeds: int
    printed_samples: int
    printed_seeds: int
    solver_seeds: int
    setup: Setup = DEFAULT


FULL = Settings(n_samples=10_000, n_seeds=20, printed_samples=10_000, printed_seeds=3, solver_seeds=8)
QUICK = Settings(n_samples=10_000, n_seeds=10, printed_samples=600, printed_seeds=1, solver_seeds=2)
SOLVERS = {"paper": False, "network": True, "subspace": True, "exact": True}
"""Solvers of the estimator, and whether they center the input, as is their default."""


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    return [
        *cases_of("printed", settings.printed_samples, settings.printed_seeds, seed, settings.setup),
        *cases_of("engine", settings.n_samples, settings.n_seeds, seed, settings.setup),
        *(
            Case(solver, "input-output", settings.n_samples, seed + i, settings.setup)
            for solver in SOLVERS
            for i in range(settings.solver_seeds)
        ),
    ]


def simulate(case: Case) -> Table:
    """Both errors against the offline solution of the samples seen so far."""
    if case.network in SOLVERS:
        return {"network": case.network, "regularizer": case.regularizer, **read_outs(case)}
    times = experiment.growing_times(case.n_samples)
    found = errors(case.network, case.regularizer, times, case.seed, case.setup)
    return {"network": case.network, "regularizer": case.regularizer, "times": times, **found}


def errors(network: str, name: str, times: Sequence[int], seed: int, setup: Setup) -> dict[str, list[float]]:
    """Eigenvalue and subspace error of a network on the stationary stream, at each of the times."""
    X = experiment.stationary(times[-1], seed)
    regularizer = experiment.chosen_regularizer(name, setup)
    course = experiment.run(network, regularizer, X, times, seed=seed, setup=setup)
    x_sums, y_sums = (experiment.scatter_sums(Z, times) for Z in (X, course.Y))
    found: dict[str, list[float]] = {"eigenvalue": [], "subspace": [], "fourth": []}
    for T, F in zip(times, course.filters, strict=True):
        lam, V = np.linalg.eigh(x_sums[T] / T)
        best = regularizer.shrink(np.maximum(lam[::-1], 0), setup.k)
        d = experiment.eigenvalues(y_sums[T] / T)
        found["eigenvalue"].append(metrics.eigenvalue_error(d, best))
        found["subspace"].append(metrics.subspace_error(F, V[:, ::-1].T, experiment.N_SIGNAL))
        found["fourth"].append(float(d[experiment.N_SIGNAL]))
    return found


def read_outs(case: Case) -> Table:
    """Subspace errors at the end of what an estimator hands out, and fourth eigenvalues of its outputs."""
    from ...estimators import OnlineAdaptivePCA

    X = experiment.stationary(case.n_samples, case.seed)
    solver: Any = case.network
    model = OnlineAdaptivePCA(
        regularizer=experiment.chosen_regularizer(case.regularizer, case.setup),
        max_components=case.setup.k,
        solver=solver,
        center=SOLVERS[solver],
        random_state=case.seed,
    ).fit(X)
    m, centered = experiment.N_SIGNAL, X - model.mean_
    axes = np.linalg.eigh(centered.T @ centered)[1][:, ::-1].T
    F = model.respond(np.eye(X.shape[1]) + model.mean_).T
    Y, Z = model.respond(X), np.asarray(model.transform(X))
    return {
        "filter": metrics.subspace_error(F, axes, m),
        "components": metrics.subspace_error(model.components_[:m], axes, m),
        "fourth_response": float(experiment.eigenvalues(Y.T @ Y / len(Y))[m]),
        "fourth_score": float(experiment.eigenvalues(Z.T @ Z / len(Z))[m]),
    }


READ_OUTS = ("filter", "components", "fourth_response", "fourth_score")


def _series(tables: Sequence[Table], network: str, name: str, error: str) -> tuple[list[int], Array]:
    """The sample counts, and one row of errors per seed."""
    mine = chosen(tables, network=network, regularizer=name)
    return mine[0]["times"], np.array([t[error] for t in mine])


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    figure, axes = figure_of(1, 3, 3.0)
    for axis, (error, label) in zip(axes, ERRORS.items(), strict=False):
        for name in KINDS:
            T, values = _series(tables, "engine", name, error)
            low, middle, high = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
            axis.fill_between(T, low, high, color=LOOKS[name].color, alpha=0.22, lw=0)
            curve(axis, name, T, middle)
        axis.set(xscale="log", yscale="log", xlabel="samples T", ylabel=label)
    for error, style in zip(ERRORS, ("-", "--"), strict=True):
        times, ratios = _ratios(tables, error)
        axes[2].plot(times, ratios, style, color=DARK, lw=1.6, label=f"{error} error")
    axes[2].axhline(SIMILAR, color=MIDDLE, lw=0.8, ls=":")
    axes[2].set(xscale="log", xlabel="samples T", ylabel="largest / smallest median", ylim=(0.8, 6.5))
    axes[0].legend(loc="lower left", frameon=False)
    axes[2].legend(loc="upper right", frameon=False)
    lettered(axes, (f"{settings.n_seeds} seeds", "", "similarity of the three"))
    return figure


def sheets(settings: Settings, tables: Sequence[Table]) -> Sequence[Sheet]:
    """The formulas of both errors: the paper breaks off in one, and cites the other."""
    same = "of the same samples x₁, ..., x_T, not of the true covariance"
    return [
        Sheet(
            "The two errors, and what they are measured against",
            ("Error", "The paper says", "Taken", "Measured against"),
            (
                (
                    "eigenvalue",
                    "“calculated by summing squared differences between the eigenvalues of (1/T) YᵀY”: the "
                    "sentence ends there",
                    "∑ (dᵢ - dᵢ*)² over i ≤ k; dᵢ: eigenvalues of YᵀY/T, largest first",
                    f"dᵢ* = max(λᵢ - θ, 0), the closed form of Section II {same}",
                ),
                (
                    "subspace",
                    "“can be found in” Pehlevan and Chklovskii (2015)",
                    f"‖F Fᵀ - U Uᵀ‖² (Frobenius) = 2m - 2 ‖Fᵀ U‖², m = {experiment.N_SIGNAL}; F: top m right "
                    "singular vectors of the filter (I + W^YY)⁻¹ W^YX",
                    f"U: top m eigenvectors of the input second moment {same}",
                ),
            ),
            "Outputs count as the network emitted them, those of the transient included; the filter is that "
            "of the moment T.",
        ),
        Sheet(
            "What the estimator hands out on this stream, R_XY",
            ("solver", "Subspace error of y", "of components_", "Fourth eigenvalue of y", "of transform"),
            tuple(
                (solver, *(f"{np.median([t[key] for t in mine]):.2g}" for key in READ_OUTS))
                for solver in SOLVERS
                if (mine := chosen(tables, network=solver))
            ),
            f"Medians of {settings.solver_seeds} seeds at T = {settings.n_samples:,}, capacity "
            f"{settings.setup.k}, alpha as in Fig. 5. y: outputs of respond, by the network's filter; of "
            "solvers that are none, by a network at its optimum, whose silent modes keep a hundredth of "
            "their variance. components_ and transform are read off the sums.",
        ),
    ]


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    found: list[Claim] = []
    for error in ERRORS:
        found += [_decrease_claim(tables, error), _similar_claim(tables, error)]
        found += [_size_claim(settings, tables, error), _printed_claim(tables, error)]
    return [*found, _read_out_claim(settings, tables)]


def _read_out_claim(settings: Settings, tables: Sequence[Table]) -> Claim:
    """Judge by orders of magnitude: the network's filter is as in Fig. 5, its read-out far more accurate."""
    medians = {
        solver: [float(np.median([t[key] for t in chosen(tables, network=solver)])) for key in READ_OUTS[:2]]
        for solver in SOLVERS
    }
    fig_5 = float(np.median(_series(tables, "engine", "input-output", "subspace")[1][:, -1]))
    value = f"Fig. 5 {fig_5:.1e}; " + "; ".join(
        f"{solver} {of_y:.1e} and {of_axes:.1e}" for solver, (of_y, of_axes) in medians.items()
    )
    of_y, of_axes = medians["paper"]
    right = 1 / SIMILAR < of_y / fig_5 < SIMILAR and of_axes < of_y / 10
    return claim("read-out", value, right, n_samples=settings.n_samples)


def _medians(tables: Sequence[Table], error: str) -> tuple[list[int], dict[str, Array]]:
    medians = {}
    for name in KINDS:
        times, values = _series(tables, "engine", name, error)
        medians[name] = np.asarray(np.median(values, axis=0))
    return times, medians


def _ratios(tables: Sequence[Table], error: str) -> tuple[list[int], Array]:
    """Largest over smallest median at each T."""
    times, medians = _medians(tables, error)
    stacked = np.array(list(medians.values()))
    return times, np.asarray(stacked.max(axis=0) / stacked.min(axis=0))


def _decrease_claim(tables: Sequence[Table], error: str) -> Claim:
    times, medians = _medians(tables, error)
    decades = [T for T in (100, 1_000, 10_000) if T <= times[-1]]
    columns = {name: [found[times.index(T)] for T in decades] for name, found in medians.items()}
    falls = all(after < before / 2 for found in columns.values() for before, after in pairwise(found))
    return claim(
        "decrease",
        "; ".join(f"{name} {', '.join(f'{v:.2g}' for v in found)}" for name, found in columns.items()),
        falls,
        name=error,
        times=", ".join(f"{T:,}" for T in decades),
    )


def _similar_claim(tables: Sequence[Table], error: str) -> Claim:
    times, ratios = _ratios(tables, error)
    T = np.array(times)
    above = T[ratios >= SIMILAR]
    late = float(ratios[T >= min(SETTLED, T[-1])].max())
    where = f"above {SIMILAR:g} at {len(above)} of {len(T)} times" + (
        f", from T = {above.min():,} to {above.max():,}" if len(above) else ""
    )
    value = (
        f"at most {ratios.max():.1f} (T = {times[int(np.argmax(ratios))]:,}); {where}; at most {late:.1f} "
        f"from {SETTLED:,} on, {ratios[-1]:.1f} at the end"
    )
    return claim(
        "similar", value, not len(above), late < SIMILAR, name=error, settled=SETTLED, similar=SIMILAR
    )


def _size_claim(settings: Settings, tables: Sequence[Table], error: str) -> Claim:
    values = {name: _series(tables, "engine", name, error)[1][:, -1] for name in KINDS}
    small = max(float(np.median(found)) for found in values.values()) <= WORST_MEDIAN[error]
    small &= max(float(found.max()) for found in values.values()) <= WORST_SEED[error]
    words = {"median": WORST_MEDIAN[error], "seed": WORST_SEED[error], "n_samples": settings.n_samples}
    return claim("size", experiment.spreads(values), small, name=error, **words)


def _printed_claim(tables: Sequence[Table], error: str) -> Claim:
    """Seeds are the same for both kinds of network, so the first ones can be compared one by one."""
    ratios = []
    for name in KINDS:
        times, printed = _series(tables, "printed", name, error)
        grid, direct = _series(tables, "engine", name, error)
        last = max(T for T in times if T in grid)
        ratios += (printed[:, times.index(last)] / direct[: len(printed), grid.index(last)]).tolist()
    value = f"between {min(ratios):.3f} and {max(ratios):.3f} times"
    return claim("printed", value, 0.8 < min(ratios) and max(ratios) < 1.25, name=error, last=last)
