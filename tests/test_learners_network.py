"""The network's kernels are the printed network, in any chunks, in blocks or by rows, anywhere in memory."""

import ctypes
import random
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config

from eigenstream.learners.network import BLOCK, learn
from eigenstream.learners.network.block import learn_block
from eigenstream.learners.network.optimum import random_start
from eigenstream.learners.network.state import (
    DECAY,
    NetworkRule,
    input_output_sum,
    new_state,
    read_spectrum,
    response_filter,
    threshold,
    to_weights,
)
from eigenstream.learners.network.stream import learn_rows
from eigenstream.regularizers import REGULARIZERS, InputOutput
from tests.learner_samples import ALPHA, assert_same_state, betas, colored, names
from tests.online_model import needs_compilation, paper
from tests.oracle import DirectNetwork, accumulate

pytestmark = pytest.mark.kernel


def from_weights(W_yx, W_yy, mu, theta):
    """The state of a network given by its weights; theta says how mu splits into S_ii + theta."""
    S = mu[:, None] * W_yy
    np.fill_diagonal(S, mu - theta)
    return new_state(mu[:, None] * W_yx, (S + S.T) / 2, theta)


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
    rule = NetworkRule.of(regularizer, beta)
    state = from_weights(network.W_yx, network.W_yy, network.mu, theta=network.mu[0] / 2)
    np.testing.assert_allclose(learn(state, rule, X), network.run(X), atol=1e-10)
    found = to_weights(state, rule)
    np.testing.assert_allclose(found.W_yx, network.W_yx, atol=1e-10)
    np.testing.assert_allclose(found.W_yy, network.W_yy, atol=1e-10)
    np.testing.assert_allclose(found.mu, network.mu, rtol=1e-10)
    np.testing.assert_allclose(response_filter(state, rule), network.filter, atol=1e-10)


def test_random_start_is_a_new_network(kind):
    network = DirectNetwork(12, 4, kind(0.1), initial_activity=3.0, random_state=5)
    found = to_weights(random_start(12, 4, 3.0, np.random.default_rng(5)), NetworkRule.of(kind(0.1)))
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
    rule = NetworkRule.of(REGULARIZERS[name](ALPHA[name]), beta, center=centered)
    state = random_start(n, k, 5.0, rng)
    Y, N, S, theta, m = accumulate(X, state.N, state.S, 2.5, rule, weights)
    columns = None if weights is None else np.column_stack((weights, np.zeros(T)))
    # Feedback amplifies rounding where little is remembered: up to 3e-9 was found at beta = 0.5.
    close = {"rtol": 1e-8, "atol": 3e-8}
    np.testing.assert_allclose(learn(state, rule, X, columns), Y, **close)
    np.testing.assert_allclose(input_output_sum(state), N, **close)
    np.testing.assert_allclose(state.S, S, **close)
    assert threshold(state, rule) == pytest.approx(theta)
    if centered:
        np.testing.assert_allclose(state.mean, m, rtol=1e-10)


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
    rule = NetworkRule.of(REGULARIZERS[name](ALPHA[name]), beta, center=centered, noise=noise, seed=7)
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
    rule = NetworkRule.of(InputOutput(0.05), 0.99, center=True, noise=0.01, seed=3)
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
    rule = NetworkRule.of(REGULARIZERS[name](ALPHA[name]), beta, center=centered, noise=noise, seed=7)
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
    rule = NetworkRule.of(InputOutput(0.05), 0.99, center=True, noise=0.01)
    answers = []
    for wide in (False, True):
        monkeypatch.setattr("eigenstream.learners.network._is_wide", lambda *_, wide=wide: wide)
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
    rule = NetworkRule.of(InputOutput(1 / n))
    one = random_start(n, k, 2.0 * n, rng, dtype)
    other = one.copy()
    Y, weights = np.empty((BLOCK, k)), np.tile([1.0, 0.0], (BLOCK, 1))
    learn_rows(one, rule, X, weights, Y)
    Z = learn(other, rule, X)
    assert not np.array_equal(Z, Y)  # another order of sums, so it was the other driver
    np.testing.assert_allclose(Z, Y, atol=(1e-8 if dtype == np.float64 else 1e-3) * np.abs(Y).max())


@pytest.mark.skipif(sys.platform == "win32", reason="asks the C library for memory")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_where_arrays_lie_in_memory_does_not_change_a_bit(dtype):
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    chance, rng = random.Random(0), np.random.default_rng(0)
    X, weights = rng.standard_normal((20, 17)).astype(dtype), np.tile([1.0, 0.0], (20, 1))
    rule = NetworkRule.of(REGULARIZERS["squared-output"](0.3), 0.5)
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
