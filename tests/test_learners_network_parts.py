"""Parts of the network's kernels: elimination, centered sums, optimum, closed-form start, consolidation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenstream import metrics, offline
from eigenstream.learners.network import learn
from eigenstream.learners.network.optimum import (
    at_optimum,
    consolidate,
    known_from_rows,
    random_start,
    start_from,
)
from eigenstream.learners.network.settle import center, factorize, perturb, substitute
from eigenstream.learners.network.state import (
    COUNT,
    TRACE,
    NetworkRule,
    input_output_sum,
    new_state,
    read_spectrum,
    response_filter,
    threshold,
    to_weights,
)
from eigenstream.learners.network.stream import drop_denormals
from eigenstream.regularizers import InputOutput, SquaredOutput
from eigenstream.streams import random_orthonormal
from tests.learner_samples import ALPHA, SPECTRUM, assert_same_state, colored, names
from tests.online_model import paper
from tests.oracle import centered_scatter

pytestmark = pytest.mark.kernel


@given(k=st.integers(1, 21), seed=st.integers(0, 2**32 - 1))
def test_elimination_solves(k, seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((k, k + 2))
    S, h = root @ root.T, rng.standard_normal(k)
    A, y = np.empty((k, k)), np.empty(k)
    factorize(S, 0.7, A)
    substitute(A, h.copy(), y)
    np.testing.assert_allclose((S + 0.7 * np.eye(k)) @ y, h, atol=1e-10)


@given(beta2=st.sampled_from([1.0, 0.99, 0.8]), weighted=st.booleans(), seed=st.integers(0, 2**32 - 1))
def test_centered_sums_are_the_centered_scatter(beta2, weighted, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 3)) + 100
    weights = rng.uniform(0.2, 3, 40) if weighted else np.ones(40)
    rule = NetworkRule.of(InputOutput(0.1), np.sqrt(beta2), center=True)
    mean, totals, row = np.zeros(3), np.zeros(5), np.zeros((1, 3))
    scatter = np.zeros((3, 3))
    for t in range(40):
        power = center(X, t, np.column_stack((weights, np.zeros(40))), mean, totals, rule, row, 0)
        assert power == pytest.approx(float(row[0] @ row[0]))
        scatter = rule.beta2 * scatter + weights[t] * np.outer(row[0], row[0])
    expected, expected_mean = centered_scatter(X, rule.beta2, weights)
    np.testing.assert_allclose(scatter, expected, atol=1e-12 * np.trace(expected) * 10)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-12)
    assert totals[COUNT] == pytest.approx(np.sum(weights * rule.beta2 ** np.arange(39, -1, -1)))


def test_a_large_mean_leaves_no_phantom_component():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 8)) * np.sqrt([9, 1, 1, 1, 1, 1, 1, 1]) + 100
    rule = NetworkRule.of(InputOutput(0.2), center=True)
    state = random_start(8, 4, 10.0, rng)
    learn(state, rule, X)
    lam, U = read_spectrum(state)
    assert np.count_nonzero(lam > threshold(state, rule)) == 1
    assert lam[0] / 2000 == pytest.approx(9, rel=0.1)
    assert abs(U[0] @ np.ones(8) / np.sqrt(8)) < 0.5


def test_weight_zero_only_lets_time_pass():
    rng = np.random.default_rng(0)
    state = random_start(5, 2, 1.0, rng)
    rule = NetworkRule.of(SquaredOutput(0.1), 0.9, center=True, noise=0.01)
    learn(state, rule, colored(20, 5, rng))
    before = state.copy()
    learn(state, rule, colored(1, 5, rng), np.array([[0.0, 1.0]]))
    np.testing.assert_allclose(input_output_sum(state), 0.81 * input_output_sum(before), rtol=1e-12)
    np.testing.assert_allclose(state.S, 0.81 * before.S)
    np.testing.assert_allclose(state.totals[:4], 0.81 * before.totals[:4])
    np.testing.assert_array_equal(state.mean, before.mean)
    assert state.clock[0] == 21


def test_spontaneous_activity_is_a_balanced_function_of_the_count():
    def draw(seed, time, k=200):
        y = np.zeros(k)
        perturb(y, 1.0, seed, time)
        return y

    np.testing.assert_array_equal(draw(1, 5), draw(1, 5))
    assert set(draw(1, 5)) == {1.0, -1.0}
    table = np.array([draw(3, t) for t in range(500)])
    correlations = table.T @ table / 500 - np.eye(200)
    assert np.abs(table.mean(axis=0)).max() < 0.25
    assert np.abs(correlations).max() < 0.3
    assert not np.array_equal(draw(1, 5), draw(2, 5))
    assert not np.array_equal(draw(1, 5), draw(1, 6))


@given(name=names, seed=st.integers(0, 2**32 - 1))
def test_a_state_at_its_optimum_reads_back(name, seed):
    rng = np.random.default_rng(seed)
    n, k = 9, 5
    U, lam = random_orthonormal(n, k, rng), np.sort(rng.uniform(1, 50, k))[::-1]
    N, S = at_optimum(U, lam, 10.0, k, 0.1, rng)
    found = read_spectrum(new_state(N, S, 10.0))
    np.testing.assert_allclose(found.lam, lam, rtol=1e-9)
    np.testing.assert_allclose(np.abs(np.sum(found.U * U, axis=1)), 1, rtol=1e-9)


def test_missing_directions_are_filled_so_that_none_is_dead():
    rng = np.random.default_rng(0)
    U = random_orthonormal(9, 2, rng)
    N, S = at_optimum(U, np.array([5.0, 3.0]), 1.0, 5, 0.01, rng)
    assert np.all(np.diag(S) > 0)
    found = read_spectrum(new_state(N, S, 1.0))
    np.testing.assert_allclose(found.lam, [5, 3, 0.01, 0.01, 0.01])
    np.testing.assert_allclose(found.U @ found.U.T, np.eye(5), atol=1e-9)


def closed_form_start(X, k, regularizer, rule, rng, weights=None):
    return start_from(known_from_rows(X, k, rule, weights), k, regularizer, rule, rng, X.dtype)


@pytest.mark.parametrize("beta", [1.0, 0.99])
@pytest.mark.parametrize("centered", [False, True])
def test_closed_form_start_is_the_offline_optimum(kind, beta, centered):
    rng = np.random.default_rng(0)
    X = colored(60, 12, rng) + 3
    regularizer = kind(ALPHA[kind.name])
    rule = NetworkRule.of(regularizer, beta, center=centered)
    state = closed_form_start(X, 5, regularizer, rule, rng)
    weights = rule.beta2 ** np.arange(59, -1, -1.0)
    data = X - (weights @ X / weights.sum() if centered else 0)
    solution = offline.solve(data, regularizer, 5, sample_weight=weights)
    found = read_spectrum(state)
    np.testing.assert_allclose(found.lam / weights.sum(), solution.eigenvalues[:5], rtol=1e-9)
    assert metrics.subspace_error(found.U, solution.components) < 1e-9
    assert threshold(state, rule) / weights.sum() == pytest.approx(solution.threshold)
    assert state.totals[COUNT] == pytest.approx(weights.sum())
    scatter = data.T @ (weights[:, None] * data)
    assert state.totals[TRACE] == pytest.approx(np.trace(scatter))


def test_closed_form_start_from_fewer_rows_than_outputs(kind):
    rng = np.random.default_rng(0)
    regularizer = kind(ALPHA[kind.name])
    rule = NetworkRule.of(regularizer, center=True)
    state = closed_form_start(colored(3, 12, rng), 8, regularizer, rule, rng)
    assert np.all(np.diag(state.S) > 0)
    learn(state, rule, colored(500, 12, rng))
    assert np.isfinite(state.N).all()


def test_consolidation_keeps_what_is_known(kind):
    X = paper(500)
    regularizer = kind.for_threshold(SPECTRUM, 2.0)
    rule = NetworkRule.of(regularizer, center=True)
    state = random_start(64, 8, 20.0, np.random.default_rng(0))
    learn(state, rule, X[:497])  # some samples still wait
    before = state.copy()
    settled = consolidate(state, regularizer, rule, np.random.default_rng(1))
    assert_same_state(state, before)
    one, two = read_spectrum(state), read_spectrum(settled)
    np.testing.assert_allclose(two.lam[:4], one.lam[:4], rtol=1e-9)
    assert metrics.subspace_error(two.U[:4], one.U[:4]) < 1e-9
    assert settled.clock[0] == 497
    d = np.diag(settled.S)
    np.testing.assert_allclose(d[:3], one.lam[:3] - threshold(settled, rule), rtol=1e-9)
    if kind is SquaredOutput:
        kept = np.maximum(one.lam - threshold(settled, rule), 0).sum()
        assert threshold(settled, rule) == pytest.approx(regularizer.alpha * kept)
    else:
        assert threshold(settled, rule) == threshold(state, rule)


def test_reading_changes_nothing():
    state = random_start(64, 8, 20.0, np.random.default_rng(0))
    rule = NetworkRule.of(InputOutput(0.05))
    learn(state, rule, paper(99))
    before = state.copy()
    read_spectrum(state), to_weights(state, rule), response_filter(state, rule)
    assert_same_state(state, before)


def test_decayed_numbers_are_dropped():
    for dtype, tiny in ((np.float64, 1e-290), (np.float32, 1e-33)):
        state = random_start(4, 2, 1.0, np.random.default_rng(0), dtype)
        state.N[0, 1] = state.N_narrow[0, 1] = state.S[0, 1] = tiny
        state.S[0, 1] = state.totals[0] = 1e-290
        before = state.copy()
        drop_denormals(state.N, state.N_narrow, state.S, state.totals)
        assert state.N[0, 1] == state.N_narrow[0, 1] == state.S[0, 1] == state.totals[0] == 0
        assert np.count_nonzero(state.N != before.N) == 1


def test_what_rows_lack_enters_the_threshold_and_the_trace_alone():
    rng = np.random.default_rng(0)
    X, regularizer = colored(50, 6, rng), InputOutput(0.05)
    rule = NetworkRule.of(regularizer)
    for start in (0, 20):
        states = []
        for extra in (0.0, 2.0):
            weights = np.column_stack((np.ones(50), np.full(50, extra)))
            state = random_start(6, 3, 4.0, np.random.default_rng(1))
            if start:
                state = closed_form_start(X[:start], 3, regularizer, rule, rng, weights[:start])
            learn(state, rule, X[start:], weights[start:])
            states.append(state)
        assert states[1].totals[TRACE] == pytest.approx(states[0].totals[TRACE] + 2 * 50)
        assert states[1].totals[COUNT] == states[0].totals[COUNT]
        np.testing.assert_array_equal(states[1].mean, states[0].mean)
