import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from eigenstream import offline
from eigenstream.regularizers import REGULARIZERS, InputOutput, ScaleDependent, SquaredOutput

STRENGTH = {"scale-dependent": 0.5, "input-output": 0.1, "squared-output": 0.2}


def printed_cost(X, Y, regularizer, weights=None):
    """The cost exactly as the paper prints it, T x T matrices and all."""
    B = np.diag(np.sqrt(np.ones(len(X)) if weights is None else weights))
    GX, GY = B @ X @ X.T @ B, B @ Y @ Y.T @ B
    penalty = {
        "scale-dependent": 2 * np.trace(B @ B) * np.trace(GY),
        "input-output": 2 * np.trace(GX) * np.trace(GY),
        "squared-output": np.trace(GY) ** 2,
    }[regularizer.name]
    return np.sum((GX - GY) ** 2) + regularizer.alpha * penalty


@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (30, 3), (5, 5), (1, 4), (4, 1)])
@pytest.mark.parametrize("weighted", [False, True])
def test_cost_is_the_printed_one(kind, rng, shape, weighted):
    X, Y = rng.standard_normal(shape), rng.standard_normal((shape[0], 2))
    weights = rng.uniform(0, 2, shape[0]) if weighted else None
    regularizer = kind(0.3)
    found = offline.cost(X, Y, regularizer, sample_weight=weights)
    assert found == pytest.approx(printed_cost(X, Y, regularizer, weights), rel=1e-12)


@pytest.mark.parametrize("shape", [(12, 5), (5, 9)])
@pytest.mark.parametrize("weighted", [False, True])
def test_no_optimizer_finds_a_better_output(kind, rng, shape, weighted):
    X = rng.standard_normal(shape) * np.sqrt(np.linspace(3, 0.1, shape[1]))
    weights = rng.uniform(0.2, 2, shape[0]) if weighted else None
    regularizer, k = kind(STRENGTH[kind.name]), 3
    best = offline.cost(
        X, offline.solve(X, regularizer, k, sample_weight=weights).Y, regularizer, sample_weight=weights
    )

    def objective(flat):
        return printed_cost(X, flat.reshape(shape[0], k), regularizer, weights)

    found = min(
        minimize(objective, rng.standard_normal(shape[0] * k), method="BFGS", options={"gtol": 1e-9}).fun
        for _ in range(4)
    )
    assert best <= found * (1 + 1e-9)
    assert found == pytest.approx(best, rel=1e-6)


def test_full_square_rewritings_differ_by_terms_without_the_output(rng):
    """Equations 3 and 6: || X'X - Y'Y - theta I ||^2 has the same Y-dependent terms."""
    X = rng.standard_normal((9, 4))
    T, trace = len(X), np.sum(X**2)
    for regularizer, theta in ((ScaleDependent(0.3), 0.3 * T), (InputOutput(0.3), 0.3 * trace)):

        def gap(Y, regularizer=regularizer, theta=theta):
            square = np.sum((X @ X.T - Y @ Y.T - theta * np.eye(T)) ** 2)
            return square - printed_cost(X, Y, regularizer)

        gaps = [gap(rng.standard_normal((T, 3)) * scale) for scale in (0.1, 1, 5)]
        np.testing.assert_allclose(gaps, gaps[0], rtol=1e-9)


def test_alpha_zero_is_plain_pca(kind, rng):
    X = rng.standard_normal((50, 8))
    solution = offline.solve(X, kind(0.0), 3)
    _, s, Vt = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(solution.eigenvalues, s**2 / 50)
    np.testing.assert_allclose(solution.Y @ solution.Y.T, (X @ Vt[:3].T) @ (X @ Vt[:3].T).T, atol=1e-10)
    assert solution.threshold == 0
    assert solution.n_components == 3


@given(
    st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32 - 1), st.sampled_from(sorted(REGULARIZERS))
)
def test_solution_is_consistent_for_any_shape(T, n, seed, name):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((T, n))
    k = int(rng.integers(1, n + 1))
    solution = offline.solve(X, REGULARIZERS[name](STRENGTH[name]), k)
    p, U = solution.n_components, solution.components
    assert solution.Y.shape == (T, k)
    assert solution.output_eigenvalues.shape == (k,)
    assert U.shape == (min(k, T), n)
    np.testing.assert_allclose(U @ U.T, np.eye(len(U)), atol=1e-10)
    np.testing.assert_allclose(
        solution.Y.T @ solution.Y / T, np.diag(solution.output_eigenvalues), atol=1e-10
    )
    assert not solution.Y[:, p:].any()
    assert np.count_nonzero(solution.output_eigenvalues) == p
    second_moment = np.linalg.eigvalsh(X.T @ X / T)[::-1][: min(T, n)]
    np.testing.assert_allclose(solution.eigenvalues, second_moment, atol=1e-12)


def test_weights_are_repetitions(kind, rng):
    X = rng.standard_normal((20, 5))
    repeats = rng.integers(0, 4, 20)
    weighted = offline.solve(X, kind(0.1), 4, sample_weight=repeats)
    repeated = offline.solve(np.repeat(X, repeats, axis=0), kind(0.1), 4)
    np.testing.assert_allclose(weighted.eigenvalues, repeated.eigenvalues)
    np.testing.assert_allclose(weighted.output_eigenvalues, repeated.output_eigenvalues)
    assert weighted.threshold == pytest.approx(repeated.threshold)
    np.testing.assert_allclose(np.repeat(weighted.Y, repeats, axis=0), repeated.Y, atol=1e-10)


def test_both_sides_agree(kind, rng):
    """The same second moment through the n x n and the T x T route."""
    X = rng.standard_normal((6, 10))
    wide = offline.solve(X, kind(0.1), 6)
    tall = offline.solve(np.vstack((X, np.zeros((6, 10)))), kind(0.1), 6, sample_weight=[1] * 6 + [0] * 6)
    np.testing.assert_allclose(wide.eigenvalues, tall.eigenvalues[:6], atol=1e-12)
    np.testing.assert_allclose(np.abs(wide.Y), np.abs(tall.Y[:6]), atol=1e-10)
    np.testing.assert_allclose(wide.components, tall.components, atol=1e-10)


@pytest.mark.parametrize("kind_", [InputOutput, SquaredOutput])
@pytest.mark.parametrize("exponent", range(-6, 7, 2))
def test_self_calibrating_regularizers_ignore_the_units(kind_, exponent, rng):
    X = rng.standard_normal((200, 10)) * np.sqrt(np.r_[6, 4, 2, np.full(7, 0.1)])
    one, other = (offline.solve(X * scale, kind_(0.1)) for scale in (1.0, 10.0**exponent))
    assert one.n_components == other.n_components
    np.testing.assert_allclose(one.components, other.components, atol=1e-9)


def test_scale_dependent_regularizer_does_not(rng):
    X = rng.standard_normal((200, 10)) * np.sqrt(np.r_[6, 4, 2, np.full(7, 0.1)])
    ranks = [offline.solve(X * scale, ScaleDependent(1.0)).n_components for scale in (0.01, 1, 100)]
    assert ranks == [0, 3, 10]


@pytest.mark.parametrize("shape", [(300, 12), (12, 300)])
def test_float32_stays_float32_and_close_to_float64(kind, rng, shape):
    X = rng.standard_normal(shape)
    single = offline.solve(X.astype(np.float32), kind(0.05), 5)
    double = offline.solve(X, kind(0.05), 5)
    assert {a.dtype for a in single[:4]} == {np.dtype(np.float32)}
    np.testing.assert_allclose(single.eigenvalues, double.eigenvalues, rtol=1e-5)
    np.testing.assert_allclose(np.abs(single.Y), np.abs(double.Y), atol=1e-3)


@pytest.mark.parametrize("shape", [(20_000, 20), (20, 20_000)])
def test_memory_stays_on_the_smaller_side(shape):
    X = np.random.default_rng(0).standard_normal(shape)
    tracemalloc.start()
    offline.solve(X, InputOutput(0.05), 5)
    offline.cost(X, np.zeros((shape[0], 2)), InputOutput(0.05))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * X.nbytes  # the larger Gram matrix alone would be 1000 times X


@pytest.mark.parametrize("order", ["C", "F"])
def test_input_is_left_alone(rng, order):
    X = np.asarray(rng.standard_normal((10, 4)), order=order)
    X.flags.writeable = False
    before = X.copy()
    offline.solve(X, InputOutput(0.1), sample_weight=np.arange(10))
    np.testing.assert_array_equal(X, before)


def test_odd_but_answerable_input():
    assert offline.solve([[1, 2], [3, 4]], InputOutput(0.1)).n_components == 1
    assert offline.solve(np.zeros((4, 3)), InputOutput(0.1)).n_components == 0
    assert offline.solve(np.zeros((4, 3)), SquaredOutput(0.1)).n_components == 0
    assert offline.solve([[3.0, 4.0]], InputOutput(0.1)).n_components == 1
    objects = np.array([[1, 2.5], [3, 4]], dtype=object)
    assert offline.solve(objects, InputOutput(0.1)).Y.dtype == np.float64


@pytest.mark.parametrize(
    ("X", "options", "says"),
    [
        (np.zeros(3), {}, r"shape \(3,\)"),
        (np.zeros((0, 3)), {}, "at least one row"),
        (np.zeros((3, 0)), {}, "at least one row"),
        (np.array([[1.0, np.nan]]), {}, "nan in row 0, column 1"),
        (np.array([[1.0], [-np.inf]]), {}, "-inf in row 1"),
        (np.array([[1j]]), {}, "complex"),
        (np.array([["a"]], dtype=object), {}, "object"),
        (np.ones((3, 2)), {"max_components": 3}, "n_features=2"),
        (np.ones((3, 2)), {"max_components": 0}, "max_components"),
        (np.ones((3, 2)), {"sample_weight": [1, 2]}, "sample_weight"),
        (np.ones((3, 2)), {"sample_weight": [1, 2, -1]}, "sample_weight"),
        (np.ones((3, 2)), {"sample_weight": [1, 2, np.nan]}, "sample_weight"),
        (np.ones((3, 2)), {"sample_weight": [0, 0, 0]}, "sample_weight"),
    ],
)
def test_bad_input_is_named(X, options, says):
    with pytest.raises(ValueError, match=says):
        offline.solve(X, InputOutput(0.1), **options)


def test_cost_refuses_outputs_of_another_length():
    with pytest.raises(ValueError, match="as many rows, got 3 and 2"):
        offline.cost(np.ones((3, 2)), np.ones((2, 1)), InputOutput(0.1))


def test_huge_values_are_not_mistaken_for_infinity():
    X = np.array([[1e200, 0.0], [0.0, 1e199]])
    with pytest.raises(ValueError, match="too large"):
        offline.solve(X, InputOutput(0.1))
