"""Appendix A: the steps of the proof for R_YY, each on random spectra."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import nnls

from ....orthonormal import random_orthonormal
from ....regularizers import SquaredOutput
from ...reproduction.item import Claim, Table
from ..experiment import Array
from ..texts import texts_of
from .costs import non_negative_solution

*_, claim = texts_of("derivations")

# Few enough that all 2^8 supports can be tried.
N = 8
"""Modes of the random spectra."""
N_SPECTRA = 60
# Below the number of positive entries of some solutions, so that it matters.
CAPACITY = 3
"""Outputs, where they are fewer than the modes."""


def measure(n_samples: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    spectra = [np.sort(rng.exponential(size=N))[::-1] for _ in range(N_SPECTRA)]
    alphas = [float(alpha) for alpha in rng.choice([0.01, 0.1, 0.5, 2.0], N_SPECTRA)]
    pairs = list(zip(spectra, alphas, strict=True))
    solutions = [non_negative_solution(lam, alpha) for lam, alpha in pairs]
    return {
        "lemma": max(_alignment_excess(lam, rng) for lam in spectra),
        "disorder": max(float(np.max(np.diff(d))) for d in solutions),
        "prefix": sum(_best_support_is_prefix(lam, alpha) for lam, alpha in pairs),
        "inverse": max(_inverse_error(p, alpha) for p in range(1, N + 1) for alpha in alphas),
        "as_printed": min(
            float(np.max(np.abs(_with_printed_matrix(lam, alpha) - d)) / lam[0])
            for (lam, alpha), d in zip(pairs, solutions, strict=True)
        ),
        "with_root": max(
            float(np.max(np.abs(SquaredOutput(alpha).shrink(lam) - d)) / lam[0])
            for (lam, alpha), d in zip(pairs, solutions, strict=True)
        ),
        "too_many": max(int(np.count_nonzero(d)) for d in solutions),
        "within_capacity": max(_capacity_gap(lam, alpha) for lam, alpha in pairs),
    }


def _alignment_excess(lam: Array, rng: np.random.Generator) -> float:
    """Largest excess of ``Tr(Lam O Lam' O')`` over ``Tr(Lam Lam')``: negative, says Lemma 1."""
    other = np.sort(rng.standard_normal(N))[::-1]
    turned = [random_orthonormal(N, N, rng) for _ in range(20)]
    return float(max(lam @ (O**2) @ other for O in turned) - lam @ other)


def _on_support(lam: Array, alpha: float, support: tuple[int, ...]) -> Array:
    """The unconstrained solution with these entries, the rest zero."""
    chosen = list(support)
    d = np.zeros(len(lam))
    d[chosen] = np.linalg.solve(np.eye(len(chosen)) + alpha, lam[chosen])
    return d


def _best_support_is_prefix(lam: Array, alpha: float) -> bool:
    """True if the best feasible of all 2^n supports is the first p entries."""
    best, where = np.inf, tuple[int, ...]()
    for size in range(1, N + 1):
        for support in combinations(range(N), size):
            d = _on_support(lam, alpha, support)
            cost = float(np.sum((lam - d) ** 2) + alpha * d.sum() ** 2)
            if d.min() >= 0 and cost < best:
                best, where = cost, support
    return where == tuple(range(len(where)))


def _inverse_error(p: int, alpha: float) -> float:
    product = (np.eye(p) + alpha) @ (np.eye(p) - alpha / (1 + alpha * p))
    return float(np.max(np.abs(product - np.eye(p))))


def _with_printed_matrix(lam: Array, alpha: float) -> Array:
    """``min || b - A x ||`` with the printed A = I + alpha 11', and b such that A'b = lam."""
    A = np.eye(N) + alpha
    return np.asarray(nnls(A, np.linalg.solve(A.T, lam))[0])


def _capacity_gap(lam: Array, alpha: float) -> float:
    """The first k entries alone, against the solver that has k outputs."""
    kept = SquaredOutput(alpha).shrink(lam, CAPACITY)[:CAPACITY]
    return float(np.max(np.abs(non_negative_solution(lam[:CAPACITY], alpha) - kept)) / lam[0])


def claims(table: Table) -> list[Claim]:
    return [
        claim(
            "alignment",
            f"the trace is lower by at least {-table['lemma']:.2f}",
            table["lemma"] < 0,
            rotations=20 * N_SPECTRA,
        ),
        claim(
            "order",
            f"largest increase from one to the next {table['disorder']:.0e}",
            table["disorder"] < 1e-9,
            n_spectra=N_SPECTRA,
        ),
        claim("inverse", f"the identity to {table['inverse']:.0e}", table["inverse"] < 1e-12, n=N),
        claim(
            "prefix",
            f"true of {table['prefix']}",
            table["prefix"] == N_SPECTRA,
            supports=2**N - 1,
            n_spectra=N_SPECTRA,
        ),
        claim(
            "least-squares",
            f"off by at least {table['as_printed']:.1e} with that A, by at most {table['with_root']:.0e} "
            "with its square root",
            table["as_printed"] < 1e-9,
            table["with_root"] < 1e-9,
        ),
        claim(
            "constraint",
            f"up to {table['too_many']} positive; over the first k they agree with the solver for k outputs "
            f"to {table['within_capacity']:.0e}",
            table["too_many"] <= CAPACITY,
            table["within_capacity"] < 1e-9,
            n=N,
            capacity=CAPACITY,
        ),
    ]
