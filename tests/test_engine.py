import ctypes
import random
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config

from eigenstream import metrics, offline, streams
from eigenstream.engine.network import BLOCK, learn
from eigenstream.engine.network.block import learn_block
from eigenstream.engine.network.optimum import (
    at_optimum,
    consolidate,
    known_from_rows,
    random_start,
    start_from,
)
from eigenstream.engine.network.settle import center, factorize, perturb, substitute
from eigenstream.engine.network.state import (
    COUNT,
    DECAY,
    TRACE,
    Rule,
    from_weights,
    input_output_sum,
    new_state,
    read_spectrum,
    response_filter,
    threshold,
    to_weights,
)
from eigenstream.engine.network.stream import drop_denormals, learn_rows
from eigenstream.regularizers import REGULARIZERS, InputOutput, ScaleDependent, SquaredOutput
from eigenstream.streams import random_orthonormal

from .oracle import DirectNetwork, accumulate, centered_scatter

pytestmark = pytest.mark.kernel

SPECTRUM = np.r_[6.0, 5.0, 4.0, 2.0, np.full(60, 0.1)]
ALPHA = {"scale-dependent": 0.5, "input-output": 0.08, "squared-output": 0.15}

needs_compilation = pytest.mark.skipif(
    bool(config.DISABLE_JIT), reason="tens of thousands of samples take minutes without compilation"
)
names = st.sampled_from(sorted(REGULARIZERS))
betas = st.sampled_from([1.0, 0.995, 0.95, 0.5])


def paper(n_samples, seed=0):
    return np.vstack(list(streams.paper_stream(n_samples, random_state=seed)))


def colored(T, n, rng, dtype=np.float64):
    return (rng.standard_normal((T, n)) * np.sqrt(np.linspace(4, 0.1, n))).astype(dtype)


def assert_same_state(one, other):
    for name, a, b in zip(one._fields, one, other, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)


# --- the three texts agree -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(REGULARIZERS))
@pytest.mark.parametrize("beta", [1.0, 0.995, 0.95])
@settings(max_examples=8)
@given(n=st.integers(1, 9), seed=st.integers(0, 2**32 - 1))
def test_accumulators_are_the_printed_network(name, beta, n, seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, n + 1))
    X = colored(200 if config.DISABLE_JIT else 2000, n, rng)
    regularizer = REGULARIZERS[name](ALPHA[name])
    network = DirectNetwork(n, k, regularizer, beta=beta, random_state=seed)
    rule = Rule.of(regularizer, beta)
    state = from_weights(network.W_yx, network.W_yy, network.mu, theta=network.mu[0] / 2)
    np.testing.assert_allclose(learn(state, rule, X), network.run(X), atol=1e-10)
    found = to_weights(state, rule)
    np.testing.assert_allclose(found.W_yx, network.W_yx, atol=1e-10)
    np.testing.assert_allclose(found.W_yy, network.W_yy, atol=1e-10)
    np.testing.assert_allclose(found.mu, network.mu, rtol=1e-10)
    np.testing.assert_allclose(response_filter(state, rule), network.filter, atol=1e-10)


def test_random_start_is_a_new_network(kind):
    network = DirectNetwork(12, 4, kind(0.1), initial_activity=3.0, random_state=5)
    found = to_weights(random_start(12, 4, 3.0, np.random.default_rng(5)), Rule.of(kind(0.1)))
    np.testing.assert_allclose(found.W_yx, network.W_yx, atol=1e-15)
    np.testing.assert_array_equal(found.W_yy, network.W_yy)
    np.testing.assert_allclose(found.mu, network.mu)


@given(name=names, beta=betas, centered=st.booleans(), weighted=st.booleans(), seed=st.integers(0, 2**32 - 1))
def test_centering_and_weights_follow_the_equations(name, beta, centered, weighted, seed):
    rng = np.random.default_rng(seed)
    n, k, T = 6, 3, 83
    X = colored(T, n, rng) + 5
    weights = rng.uniform(0.1, 3, T) * (rng.uniform(size=T) > 0.2 * weighted) if weighted else None
    if weighted:
        weights[0] = 1.0
    rule = Rule.of(REGULARIZERS[name](ALPHA[name]), beta, center=centered)
    state = random_start(n, k, 5.0, rng)
    Y, N, S, theta, m = accumulate(X, state.N, state.S, 2.5, rule, weights)
    columns = None if weights is None else np.column_stack((weights, np.ones(T)))
    np.testing.assert_allclose(learn(state, rule, X, columns), Y, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(input_output_sum(state), N, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(state.S, S, rtol=1e-9, atol=1e-9)
    assert threshold(state, rule) == pytest.approx(theta)
    if centered:
        np.testing.assert_allclose(state.mean, m, rtol=1e-10)


# --- any chunking ----------------------------------------------------------------------------------------


@given(
    cuts=st.lists(st.integers(0, 60), max_size=6),
    name=names,
    beta=betas,
    centered=st.booleans(),
    noise=st.sampled_from([0.0, 0.01]),
    dtype=st.sampled_from([np.float64, np.float32]),
    shape=st.sampled_from([(1, 1), (5, 3), (9, 4), (17, 7)]),
)
def test_any_chunking_gives_the_same_bits(cuts, name, beta, centered, noise, dtype, shape):
    rng = np.random.default_rng(1)
    n, k = shape
    X = colored(61, n, rng, dtype) + dtype(1)
    weights = rng.uniform(0, 2, (len(X), 2))
    rule = Rule.of(REGULARIZERS[name](ALPHA[name]), beta, center=centered, noise=noise, seed=7)
    whole = random_start(n, k, 4.0, rng, dtype)
    parts = whole.copy()
    Y = learn(whole, rule, X, weights)
    pieces = [
        learn(parts, rule, rows, w)
        for rows, w in zip(np.split(X, sorted(cuts)), np.split(weights, sorted(cuts)), strict=True)
    ]
    np.testing.assert_array_equal(np.vstack(pieces), Y)
    assert_same_state(whole, parts)


def test_sample_by_sample_gives_the_same_bits():
    X = paper(200).astype(np.float32)
    rule = Rule.of(InputOutput(0.05), 0.99, center=True, noise=0.01, seed=3)
    whole = random_start(64, 10, 20.0, np.random.default_rng(0), np.float32)
    parts = whole.copy()
    Y = learn(whole, rule, X)
    np.testing.assert_array_equal(np.vstack([learn(parts, rule, X[t : t + 1]) for t in range(200)]), Y)
    assert_same_state(whole, parts)


@given(
    b=st.integers(1, 48),
    name=names,
    beta=betas,
    centered=st.booleans(),
    noise=st.sampled_from([0.0, 0.01]),
)
def test_blocks_agree_with_the_loop(b, name, beta, centered, noise):
    rng = np.random.default_rng(2)
    n, k = 23, 6
    X = colored(3 * b, n, rng) + 1
    weights = rng.uniform(0.5, 2, len(X))
    rule = Rule.of(REGULARIZERS[name](ALPHA[name]), beta, center=centered, noise=noise, seed=7)
    one = random_start(n, k, 4.0, rng)
    other = one.copy()
    Y, Z = np.empty((3 * b, k)), np.empty((3 * b, k))
    weights = np.column_stack((weights, rng.uniform(1, 2, len(X))))
    learn_rows(one, rule, X, weights, Y)
    for i in range(0, 3 * b, b):
        learn_block(other, rule, X[i : i + b], weights[i : i + b], Z[i : i + b])
    np.testing.assert_allclose(Z, Y, atol=1e-8 * np.abs(Y).max())
    np.testing.assert_allclose(input_output_sum(other), input_output_sum(one), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(other.S, one.S, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(other.totals[:DECAY], one.totals[:DECAY], rtol=1e-8)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_wide_data_go_through_blocks_and_ragged_ends(dtype, monkeypatch):
    """The choice is invisible: forced either way, the same calls give the same answer."""
    rng = np.random.default_rng(0)
    X = colored(3 * BLOCK + 17, 40, rng, dtype)
    rule = Rule.of(InputOutput(0.05), 0.99, center=True, noise=0.01)
    answers = []
    for wide in (False, True):
        monkeypatch.setattr("eigenstream.engine.network._is_wide", lambda *_, wide=wide: wide)
        state = random_start(40, 8, 4.0, np.random.default_rng(1), dtype)
        Y = np.vstack([learn(state, rule, part) for part in np.split(X, [5, 5, 100, 101])])
        answers.append((Y, read_spectrum(state).lam))
    tolerance = 1e-8 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(answers[1][0], answers[0][0], atol=tolerance * np.abs(answers[0][0]).max())
    np.testing.assert_allclose(answers[1][1], answers[0][1], rtol=tolerance)


@needs_compilation
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_really_wide_data_choose_blocks(dtype):
    rng = np.random.default_rng(0)
    n, k = (2**16, 32) if dtype == np.float64 else (2**13, 32)
    X = colored(BLOCK, n, rng, dtype)
    rule = Rule.of(InputOutput(1 / n))
    one = random_start(n, k, 2.0 * n, rng, dtype)
    other = one.copy()
    Y, weights = np.empty((BLOCK, k)), np.ones((BLOCK, 2))
    learn_rows(one, rule, X, weights, Y)
    Z = learn(other, rule, X)
    assert not np.array_equal(Z, Y)  # another order of sums, so it was the other driver
    np.testing.assert_allclose(Z, Y, atol=(1e-8 if dtype == np.float64 else 1e-3) * np.abs(Y).max())


# --- small pure functions --------------------------------------------------------------------------------


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
    rule = Rule.of(InputOutput(0.1), np.sqrt(beta2), center=True)
    mean, totals, row = np.zeros(3), np.zeros(5), np.zeros((1, 3))
    scatter = np.zeros((3, 3))
    for t in range(40):
        power = center(X, t, np.column_stack((weights, np.ones(40))), mean, totals, rule, row, 0)
        assert power == pytest.approx(float(row[0] @ row[0]))
        scatter = rule.beta2 * scatter + weights[t] * np.outer(row[0], row[0])
    expected, expected_mean = centered_scatter(X, rule.beta2, weights)
    np.testing.assert_allclose(scatter, expected, atol=1e-12 * np.trace(expected) * 10)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-12)
    assert totals[COUNT] == pytest.approx(np.sum(weights * rule.beta2 ** np.arange(39, -1, -1)))


def test_a_large_mean_leaves_no_phantom_component():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 8)) * np.sqrt([9, 1, 1, 1, 1, 1, 1, 1]) + 100
    rule = Rule.of(InputOutput(0.2), center=True)
    state = random_start(8, 4, 10.0, rng)
    learn(state, rule, X)
    lam, U = read_spectrum(state)
    assert np.count_nonzero(lam > threshold(state, rule)) == 1
    assert lam[0] / 2000 == pytest.approx(9, rel=0.1)
    assert abs(U[0] @ np.ones(8) / np.sqrt(8)) < 0.5


def test_weight_zero_only_lets_time_pass():
    rng = np.random.default_rng(0)
    state = random_start(5, 2, 1.0, rng)
    rule = Rule.of(SquaredOutput(0.1), 0.9, center=True, noise=0.01)
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
    rule = Rule.of(regularizer, beta, center=centered)
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
    rule = Rule.of(regularizer, center=True)
    state = closed_form_start(colored(3, 12, rng), 8, regularizer, rule, rng)
    assert np.all(np.diag(state.S) > 0)
    learn(state, rule, colored(500, 12, rng))
    assert np.isfinite(state.N).all()


def test_consolidation_keeps_what_is_known(kind):
    X = paper(500)
    regularizer = kind.for_threshold(SPECTRUM, 2.0)
    rule = Rule.of(regularizer, center=True)
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
    rule = Rule.of(InputOutput(0.05))
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


def test_power_factors_enter_the_threshold_and_the_trace_alone():
    rng = np.random.default_rng(0)
    X, regularizer = colored(50, 6, rng), InputOutput(0.05)
    rule = Rule.of(regularizer)
    for start in (0, 20):
        states = []
        for factor in (1.0, 2.0):
            weights = np.column_stack((np.ones(50), np.full(50, factor)))
            state = random_start(6, 3, 4.0, np.random.default_rng(1))
            if start:
                state = closed_form_start(X[:start], 3, regularizer, rule, rng, weights[:start])
            learn(state, rule, X[start:], weights[start:])
            states.append(state)
        assert states[1].totals[TRACE] == pytest.approx(2 * states[0].totals[TRACE])
        assert states[1].totals[COUNT] == states[0].totals[COUNT]
        np.testing.assert_array_equal(states[1].mean, states[0].mean)


# --- online reaches offline ------------------------------------------------------------------------------


@needs_compilation
def test_errors_on_the_paper_stream(kind):
    """n = 64, k = 20, initial activity 10, threshold 2, ten seeds: both errors fall to the expected size."""
    regularizer = kind.for_threshold(SPECTRUM, 2.0)
    rule = Rule.of(regularizer)
    errors = {100: [], 1000: [], 10_000: []}
    for seed in range(10):
        X = paper(10_000, seed)
        state = random_start(64, 20, 10.0, np.random.default_rng(seed))
        Y = np.zeros((0, 20))
        for T, found in errors.items():
            Y = np.vstack((Y, learn(state, rule, X[len(Y) : T])))
            solution = offline.solve(X[:T], regularizer, 20)
            subspace = metrics.subspace_error(response_filter(state, rule), solution.components, 3)
            found.append((metrics.eigenvalue_error(Y, solution.output_eigenvalues), subspace))
            assert np.all(read_spectrum(state).lam <= T * solution.eigenvalues[:20] * (1 + 1e-9))
    medians = np.array([np.median(found, axis=0) for found in errors.values()])
    assert np.all(np.diff(medians, axis=0) < 0)
    assert medians[-1, 0] <= 0.02
    assert medians[-1, 1] <= 0.001
    assert np.max(errors[10_000], axis=0)[0] <= 0.06
    assert np.max(errors[10_000], axis=0)[1] <= 0.003


@pytest.mark.parametrize("theta", [1.0, 2.0])
def test_rank_is_right_from_a_hundred_samples_on(kind, theta):
    """Equal to offline's but for modes near the threshold: those the network learns late, never too early."""
    regularizer = kind.for_threshold(SPECTRUM, theta)
    rule = Rule.of(regularizer)
    for seed in range(2 if config.DISABLE_JIT else 10):
        X = paper(200 if config.DISABLE_JIT else 3000, seed)
        state = random_start(64, 20, 10.0, np.random.default_rng(seed))
        seen = 0
        for T in (100, 150, 200, 300, 1000, 3000):
            if T <= len(X):
                learn(state, rule, X[seen:T])
                seen = T
                found = np.count_nonzero(read_spectrum(state).lam > threshold(state, rule))
                solution = offline.solve(X[:T], regularizer, 20)
                clear = np.count_nonzero(solution.eigenvalues > 1.4 * solution.threshold)
                assert clear <= found <= solution.n_components


@needs_compilation
def test_forgetting_follows_the_switching_stream(kind):
    """The fourth output eigenvalue over the last 1,000 samples, as in Fig. sudden2."""
    rule = Rule.of(kind.for_threshold(SPECTRUM, 2.0), 0.995)
    tracks = []
    for seed in range(10):
        X = np.vstack(list(streams.switching_stream(random_state=seed)))
        state = random_start(64, 20, 10.0, np.random.default_rng(seed))
        Y = learn(state, rule, X)
        fourth = {
            T: np.linalg.svd(Y[T - 1000 : T], compute_uv=False)[3] ** 2 / 1000
            for T in range(1000, 10_001, 500)
        }
        tracks.append(list(fourth.values()))
    times, tracks = np.array(list(fourth)), np.array(tracks)
    if kind is ScaleDependent:
        assert tracks[:, (times >= 3000) & (times <= 6000)].min() > 1
        assert tracks[:, -1].max() < 0.25
    else:
        # The fourth eigenvalue sits on the threshold, so chance moves it: one seed in ten reaches 0.27.
        assert np.median(tracks, axis=0).max() < 0.2
        assert tracks.max() < 0.3


# --- long streams ----------------------------------------------------------------------------------------


@needs_compilation
def test_silent_modes_do_not_become_denormal():
    rng = np.random.default_rng(0)
    rule = Rule.of(ScaleDependent(1.0), 0.95)
    for dtype in (np.float64, np.float32):
        state = random_start(16, 6, 1.0, rng, dtype)
        X = np.zeros((50_000, 16), dtype)
        X[:, 0] = 3 * rng.standard_normal(len(X))
        learn(state, rule, X)
        for array in state[:5]:
            tiny = np.finfo(array.dtype).tiny
            assert not np.any((array != 0) & (np.abs(array) < tiny))


@needs_compilation
@pytest.mark.parametrize("beta", [0.99, 0.998])
def test_spontaneous_activity_wakes_silent_modes(beta):
    """A component that appears after a long silence is found within ten windows."""
    rng = np.random.default_rng(0)
    window = int(1 / (1 - beta**2))
    X = 0.1 * rng.standard_normal((400 * window, 16))
    X[:, 0] += 2 * rng.standard_normal(len(X))
    X[300 * window :, 1] += 2 * rng.standard_normal(100 * window)
    waits = []
    for noise in (0.0, 0.01):
        rule = Rule.of(ScaleDependent(1.0), beta, noise=noise)
        state = random_start(16, 4, 1.0, np.random.default_rng(1))
        Y = learn(state, rule, X)
        power = (Y[300 * window :] ** 2).sum(axis=1).reshape(-1, window).mean(axis=1)
        awake = power > power[:2].mean() + 1
        waits.append(int(np.argmax(awake)) if awake.any() else len(awake))
    assert waits[1] <= 10
    assert waits[1] < waits[0]


@needs_compilation
def test_spontaneous_activity_hardly_moves_what_is_kept():
    X = paper(20_000)
    lam = []
    for noise in (0.0, 0.01):
        state = random_start(64, 10, 20.0, np.random.default_rng(0))
        learn(state, Rule.of(InputOutput(0.05), noise=noise), X)
        lam.append(read_spectrum(state).lam[:4] / 20_000)
    np.testing.assert_allclose(lam[1], lam[0], rtol=1e-3)


def long_run(total, dtype):
    """Learn from `total` samples drawn over and over from one pool, and read the spectrum."""
    pool = paper(100_000).astype(dtype)
    state = random_start(64, 8, 20.0, np.random.default_rng(0), dtype)
    rule = Rule.of(InputOutput(0.05), center=True)
    for start in range(0, total, len(pool)):
        learn(state, rule, pool[: total - start])
    return read_spectrum(state).lam / total


@needs_compilation
def test_a_million_float32_samples_add_up():
    single, double = long_run(1_000_000, np.float32), long_run(1_000_000, np.float64)
    np.testing.assert_allclose(single[:4], double[:4], rtol=1e-4)


@needs_compilation
@pytest.mark.slow
def test_ten_million_float32_samples_add_up():
    single, double = long_run(10_000_000, np.float32), long_run(10_000_000, np.float64)
    np.testing.assert_allclose(single[:4], double[:4], rtol=1e-3)


@pytest.mark.skipif(sys.platform == "win32", reason="asks the C library for memory")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_where_arrays_lie_in_memory_does_not_change_a_bit(dtype):
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    chance, rng = random.Random(0), np.random.default_rng(0)
    X, weights = rng.standard_normal((20, 17)).astype(dtype), np.ones((20, 2))
    rule = Rule.of(REGULARIZERS["squared-output"](0.3), 0.5)
    start, held, found = random_start(17, 7, 4.0, rng, dtype), [], set()
    for _ in range(400):
        held += [libc.malloc(chance.randrange(16, 512)) for _ in range(chance.randrange(6))]
        chance.shuffle(held)
        for place in held[20:]:
            libc.free(place)
        held = held[:20]
        found.add(learn(start.copy(), rule, X, weights).tobytes())
    for place in held:
        libc.free(place)
    assert len(found) == 1
