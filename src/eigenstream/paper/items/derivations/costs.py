"""Section II: the costs, their full squares, and the closed forms against minimization."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import minimize, nnls

from .... import offline
from ....orthonormal import random_orthonormal
from ....regularizers import InputOutput, Regularizer, ScaleDependent, SquaredOutput
from ...reproduction.item import Claim, Table
from .. import experiment
from ..experiment import KINDS, Array
from ..texts import texts_of

*_, claim = texts_of("derivations")

ALPHA = 0.3


def measure_rewriting(n_samples: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 5)) * np.array([3.0, 2.0, 1.5, 1.0, 0.5])
    outputs = [scale * rng.standard_normal((12, 3)) for scale in np.geomspace(0.1, 10, 20)]
    stream = experiment.stationary(n_samples, seed)
    times = [n_samples // 4, n_samples // 2, n_samples]
    return {
        "spread": {
            kind.name: _spread_of_difference(X, outputs, kind(ALPHA))
            for kind in (ScaleDependent, InputOutput)
        },
        "threshold": {factor: _threshold_found(X, factor) for factor in ("1", "2")},
        "growth": [float(experiment.eigenvalues(stream[:T].T @ stream[:T])[0] / T) for T in times],
        "same_output": _input_output_as_scale_dependent(X),
    }


def _spread_of_difference(X: Array, outputs: list[Array], regularizer: Regularizer) -> float:
    """Variation with Y of the full square less the cost, over the cost's own variation."""
    T = len(X)
    theta = regularizer.alpha * (T if isinstance(regularizer, ScaleDependent) else np.sum(X**2))
    costs = np.array([offline.cost(X, Y, regularizer) for Y in outputs])
    squares = np.array([np.sum((X @ X.T - Y @ Y.T - theta * np.eye(T)) ** 2) for Y in outputs])
    return float(np.ptp(squares - costs) / np.ptp(costs))


def _threshold_found(X: Array, factor: str) -> float:
    """Shrinkage of the top eigenvalue by ``|| X'X - Y'Y ||^2 + factor alpha T Tr(Y'Y)``, by search."""
    T = len(X)
    lam = float(experiment.eigenvalues(X.T @ X)[0])
    d = np.linspace(0, lam, 200_001)
    best = d[np.argmin((lam - d) ** 2 + float(factor) * ALPHA * T * d)]
    return float((lam - best) / T)


def _input_output_as_scale_dependent(X: Array) -> float:
    """Distance of R_XY's solution from R_TY's at the alpha that observing all of X suggests."""
    one = offline.solve(X, InputOutput(ALPHA / 3)).Y
    two = offline.solve(X, ScaleDependent(ALPHA / 3 * float(np.sum(X**2)) / len(X))).Y
    return float(np.max(np.abs(one @ one.T - two @ two.T)) / np.max(np.abs(one @ one.T)))


def rewriting_claims(table: Table) -> list[Claim]:
    one, two = table["threshold"]["1"], table["threshold"]["2"]
    growth = table["growth"]
    found = [
        claim("full-square", f"varies by {spread:.0e} of what the cost varies by", spread < 1e-12, name=name)
        for name, spread in table["spread"].items()
    ]
    return [
        *found,
        claim(
            "factor-two",
            f"{one:.4f} with α T Tr(YᵀY), {two:.4f} with 2 α T Tr(YᵀY)",
            abs(one / ALPHA - 1) < 1e-3,
            abs(two / ALPHA - 1) < 1e-3,
            alpha=ALPHA,
        ),
        claim(
            "growth",
            ", ".join(f"{value:.2f}" for value in growth),
            all(abs(b / a - 1) < 0.2 for a, b in pairwise(growth)),
        ),
        claim(
            "same-output", f"differ by {table['same_output']:.0e} (relative)", table["same_output"] < 1e-12
        ),
    ]


# Small enough for a search over all outputs, T times k numbers, from random starts.
T, N_INPUTS, N_OUTPUTS = 10, 6, 4
"""Samples, inputs and outputs."""
ALPHAS = {"scale-dependent": 1.5, "input-output": 0.1, "squared-output": 0.2}
N_SPECTRA = 200
ROTATIONS = 20


def measure_closed_forms(n_samples: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((T, N_INPUTS)) * np.array([3.0, 2.5, 2.0, 1.2, 0.6, 0.3])
    spectra = [np.sort(rng.exponential(size=9))[::-1] for _ in range(N_SPECTRA)]
    pairs = list(zip(spectra, rng.choice([0.01, 0.1, 0.5, 2.0, 20.0], N_SPECTRA), strict=True))
    plain = KINDS["scale-dependent"](0.0)
    return {
        "minima": {name: _against_search(X, KINDS[name](alpha), rng) for name, alpha in ALPHAS.items()},
        "plain": _against_search(X, plain, rng),
        "vector": max(_off_nnls(lam, a, _vector_formula(lam, a)) for lam, a in pairs),
        "matrix": min(_off_nnls(lam, a, _matrix_formula(lam, a)) for lam, a in pairs),
        "largest_p": sum(_largest_p_is_right(lam, a) for lam, a in pairs),
        "rotated": max(_rotation_gap(X, KINDS[name](alpha), rng) for name, alpha in ALPHAS.items()),
        "nuclear": max(_nuclear_gap(rng.standard_normal((T, N_OUTPUTS))) for _ in range(20)),
        "output_sum": max(_output_sum_error(lam, a) for lam, a in pairs),
    }


def _rotation_gap(X: Array, regularizer: Regularizer, rng: np.random.Generator) -> float:
    Y = offline.solve(X, regularizer, N_OUTPUTS).Y
    turned = [Y @ random_orthonormal(N_OUTPUTS, N_OUTPUTS, rng) for _ in range(ROTATIONS)]
    best = offline.cost(X, Y, regularizer)
    return max(abs(offline.cost(X, output, regularizer) / best - 1) for output in turned)


def _nuclear_gap(Y: Array) -> float:
    return float(abs(np.linalg.norm(Y @ Y.T, "nuc") / np.trace(Y @ Y.T) - 1))


def _against_search(X: Array, regularizer: Regularizer, rng: np.random.Generator) -> Table:
    """The closed form's cost against perturbations of it and against the best that a search finds."""
    solution = offline.solve(X, regularizer, N_OUTPUTS)
    best = offline.cost(X, solution.Y, regularizer)
    sizes = np.geomspace(1e-3, 1, 60)
    nearby = [
        offline.cost(X, solution.Y + s * rng.standard_normal((T, N_OUTPUTS)), regularizer) for s in sizes
    ]
    searches = [_searched(X, regularizer, rng) for _ in range(3)]
    value, Y = min(searches, key=lambda found: found[0])
    scale = float(np.max(np.abs(solution.Y @ solution.Y.T)))
    return {
        "rise": float(min(nearby) - best) / best,
        "search": (value - best) / best,
        "output": float(np.max(np.abs(Y @ Y.T - solution.Y @ solution.Y.T))) / scale,
        "rank": solution.n_components,
    }


def _searched(X: Array, regularizer: Regularizer, rng: np.random.Generator) -> tuple[float, Array]:
    """A local minimum from a random start, and where it is."""
    r0, r1, r2 = regularizer.increment
    trace = float(np.sum(X**2))

    def cost_and_slope(flat: Array) -> tuple[float, Array]:
        Y = flat.reshape(T, N_OUTPUTS)
        theta = regularizer.alpha * (r0 * T + r1 * trace + r2 * float(np.sum(Y**2)))
        slope = 4 * ((Y @ Y.T - X @ X.T) @ Y + theta * Y)
        return offline.cost(X, Y, regularizer), slope.ravel()

    start = rng.standard_normal(T * N_OUTPUTS)
    options: Any = {"maxiter": 1000, "ftol": 1e-13, "gtol": 1e-8}
    found = minimize(cost_and_slope, start, jac=True, method="L-BFGS-B", options=options)
    return float(found.fun), np.asarray(found.x).reshape(T, N_OUTPUTS)


def non_negative_solution(lam: Array, alpha: float) -> Array:
    """``min d'(I + alpha 11')d - 2 lam'd`` over d >= 0, by active sets."""
    root = np.linalg.cholesky(np.eye(len(lam)) + alpha).T
    return np.asarray(nnls(root, np.linalg.solve(root.T, lam))[0])


def _off_nnls(lam: Array, alpha: float, d: Array) -> float:
    return float(np.max(np.abs(non_negative_solution(lam, alpha) - d)) / lam[0])


def feasible_sizes(lam: Array, alpha: float) -> list[int]:
    """Each p for which the unconstrained solution on the first p modes has no negative entry."""
    return [p for p in range(1, len(lam) + 1) if np.min(_on_prefix(lam, alpha, p)) >= 0]


def _on_prefix(lam: Array, alpha: float, p: int) -> Array:
    """``(I - alpha / (1 + alpha p) 11') lam_p``, with the eigenvalues as a vector."""
    return np.asarray(lam[:p] - alpha / (1 + alpha * p) * lam[:p].sum())


def _vector_formula(lam: Array, alpha: float) -> Array:
    p = max(feasible_sizes(lam, alpha))
    return np.concatenate((_on_prefix(lam, alpha, p), np.zeros(len(lam) - p)))


def _matrix_formula(lam: Array, alpha: float) -> Array:
    """The diagonal of ``(I - alpha / (1 + alpha p) 11') Lambda_p``, all of which is positive: p = k."""
    p = len(lam)
    return np.diag((np.eye(p) - alpha / (1 + alpha * p)) @ np.diag(lam))


def _largest_p_is_right(lam: Array, alpha: float) -> bool:
    """True if the largest feasible p has the lowest cost of all feasible ones, and is the solver's."""
    sizes = feasible_sizes(lam, alpha)
    costs = []
    for p in sizes:
        d = np.concatenate((_on_prefix(lam, alpha, p), np.zeros(len(lam) - p)))
        costs.append(float(np.sum((lam - d) ** 2) + alpha * d.sum() ** 2))
    kept = int(np.count_nonzero(SquaredOutput(alpha).shrink(lam)))
    return sizes[int(np.argmin(costs))] == max(sizes) == kept and sizes == list(range(1, kept + 1))


def _output_sum_error(lam: Array, alpha: float) -> float:
    """Relative error of "the output's trace is the sum of the top p input eigenvalues over 1 + alpha p"."""
    d = SquaredOutput(alpha).shrink(lam)
    p = int(np.count_nonzero(d))
    return float(abs(d.sum() / (lam[:p].sum() / (1 + alpha * p)) - 1))


def closed_form_claims(table: Table) -> list[Claim]:
    minima = {"plain": table["plain"], **table["minima"]}
    return [
        *(_minimum_claim(name, found) for name, found in minima.items()),
        claim(
            "rotations",
            f"changes by at most {table['rotated']:.0e} (relative)",
            table["rotated"] < 1e-12,
            rotations=ROTATIONS,
        ),
        claim("nuclear-norm", f"agree to {table['nuclear']:.0e} (relative)", table["nuclear"] < 1e-12),
        claim(
            "matrix",
            f"off by at least {table['matrix']:.2g} as a matrix (relative to lam_1), by at most "
            f"{table['vector']:.0e} with the eigenvalues as a vector",
            table["matrix"] < 1e-9,
            table["vector"] < 1e-9,
            n_spectra=N_SPECTRA,
        ),
        claim(
            "largest-p", f"true of {table['largest_p']}", table["largest_p"] == N_SPECTRA, n_spectra=N_SPECTRA
        ),
        claim("output-sum", f"agrees to {table['output_sum']:.0e} (relative)", table["output_sum"] < 1e-12),
    ]


def _minimum_claim(name: str, values: Table) -> Claim:
    return claim(
        "minimum",
        f"rank {values['rank']}; perturbed costs higher by at least {values['rise']:.0e}, the best "
        f"found equal to {abs(values['search']):.0e} (relative), its similarity matrix to "
        f"{values['output']:.0e}",
        values["rise"] > 0 and abs(values["search"]) < 1e-8 and values["output"] < 1e-3,
        name=name,
    )
