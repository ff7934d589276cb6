"""Appendix A: the steps of the proof for R_YY, each on random spectra."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import nnls

from ....orthonormal import random_orthonormal
from ....regularizers import SquaredOutput
from ...reproduction.item import Claim, ClaimVerdict, Table, verdict
from ..experiment import Array
from .closed_forms import non_negative_solution

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
        Claim(
            "Appendix A, Lemma 1",
            "no rotation aligns two ordered diagonal matrices better than none",
            f"{20 * N_SPECTRA:,} random rotations",
            f"the trace is lower by at least {-table['lemma']:.2f}",
            verdict(table["lemma"] < 0),
            quote="identity belongs to the optimal orthogonal transformations for diagonal matrix alignment",
        ),
        Claim(
            "Appendix A, step 1",
            "if the input eigenvalues are ordered, so are the output eigenvalues",
            f"non-negative least squares on {N_SPECTRA} random spectra",
            f"largest increase from one to the next {table['disorder']:.0e}",
            verdict(table["disorder"] < 1e-9),
            quote="when the values of d^X is ordered, the values of d^Y is also ordered",
        ),
        Claim(
            "Appendix A, step 2",
            "on a known support the solution is closed, the inverse of I + alpha 11' being "
            "I - alpha/(1 + alpha p) 11'",
            f"their product, p = 1 to {N}",
            f"the identity to {table['inverse']:.0e}",
            verdict(table["inverse"] < 1e-12),
            quote="Once the support of d^Y is known, the problem is a unconstrained positive definite "
            "quadratic program, which always allows for a closed form solution",
            stated="Iₚ - α/(1 + α p) 1ₚ 1ₚᵀ",
        ),
        Claim(
            "Appendix A, step 3",
            "the support is always the first p entries",
            f"the best of all {2**N - 1} supports, {N_SPECTRA} random spectra",
            f"true of {table['prefix']}",
            verdict(table["prefix"] == N_SPECTRA),
            quote="the support of the solution is always the first p elements",
        ),
        Claim(
            "Appendix A, least squares",
            "the problem is to minimize ‖b - A x‖ over x ≥ 0 with A = I + α 1 1ᵀ",
            "its solution against the closed form",
            f"off by at least {table['as_printed']:.1e} with that A, by at most {table['with_root']:.0e} "
            "with its square root",
            verdict(printed=table["as_printed"] < 1e-9, corrected=table["with_root"] < 1e-9),
            expected=ClaimVerdict.CORRECTED,
            reason="I + α 1 1ᵀ is the matrix of the quadratic form, AᵀA: A is its square root",
            quote="This is a nonnegative least squares problem (NNLS)",
            stated="A = Iₙ + α 1ₙ 1ₙᵀ",
        ),
        Claim(
            "Appendix A, constraint",
            "at most n output eigenvalues can be positive (n is the number of inputs elsewhere)",
            f"solutions over all {N} entries, and over the first k = {CAPACITY}",
            f"up to {table['too_many']} positive; over the first k they agree with the solver for k outputs "
            f"to {table['within_capacity']:.0e}",
            verdict(printed=table["too_many"] <= CAPACITY, corrected=table["within_capacity"] < 1e-9),
            expected=ClaimVerdict.CORRECTED,
            reason="the outputs have k dimensions: at most k can be",
            quote="We have an extra constraint that less than n coordinates of d^Y could be nonzero",
            stated="n",
        ),
    ]
