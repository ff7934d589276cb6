"""The network on streams: online reaches offline, and long streams keep it sound."""

import numpy as np
import pytest
from numba import config

from eigenstream import metrics, offline, streams
from eigenstream.learners.network import learn
from eigenstream.learners.network.optimum import random_start
from eigenstream.learners.network.state import NetworkRule, read_spectrum, response_filter, threshold
from eigenstream.regularizers import InputOutput, ScaleDependent
from tests.learner_samples import SPECTRUM
from tests.online_model import needs_compilation, paper

pytestmark = pytest.mark.kernel


@needs_compilation
def test_errors_on_the_paper_stream(kind):
    """n = 64, k = 20, initial activity 10, threshold 2, ten seeds: both errors fall to the expected size."""
    regularizer = kind.for_threshold(SPECTRUM, 2.0)
    rule = NetworkRule.of(regularizer)
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
    rule = NetworkRule.of(regularizer)
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
    rule = NetworkRule.of(kind.for_threshold(SPECTRUM, 2.0), 0.995)
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


@needs_compilation
def test_silent_modes_do_not_become_denormal():
    rng = np.random.default_rng(0)
    rule = NetworkRule.of(ScaleDependent(1.0), 0.95)
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
        rule = NetworkRule.of(ScaleDependent(1.0), beta, noise=noise)
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
        learn(state, NetworkRule.of(InputOutput(0.05), noise=noise), X)
        lam.append(read_spectrum(state).lam[:4] / 20_000)
    np.testing.assert_allclose(lam[1], lam[0], rtol=1e-3)


def long_run(total, dtype):
    """Learn from `total` samples drawn over and over from one pool, and read the spectrum."""
    pool = paper(100_000).astype(dtype)
    state = random_start(64, 8, 20.0, np.random.default_rng(0), dtype)
    rule = NetworkRule.of(InputOutput(0.05), center=True)
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
