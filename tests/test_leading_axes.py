"""The first axes of narrow input, found without those behind them."""

import numpy as np
import pytest

from eigenstream import OnlineAdaptivePCA
from eigenstream.learners.symmetric import leading_eigenpairs, leading_eigenpairs_in_place

N, K = 64, 4


def _matrices():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4 * N, N))
    Q = np.linalg.qr(X)[0][:N, :]
    Q = np.linalg.qr(Q)[0]
    noise = X.T @ X
    constant = noise.copy()
    constant[[5, N - 1]] = constant[:, [5, N - 1]] = 0.0
    return {
        "noise": noise,
        "constant inputs": constant,
        "ties among the first": Q @ np.diag(np.r_[np.ones(N - 3), 5.0, 5.0, 5.0]) @ Q.T,
        "all tie": np.eye(N),
        "few rows": X[:8].T @ X[:8],
        "nothing": np.zeros((N, N)),
        "two equal halves": np.kron(np.eye(2), noise[: N // 2, : N // 2]),
        "tiny": 1e-290 * noise,
    }


@pytest.mark.parametrize("name", _matrices())
def test_leading_pairs_are_eigenpairs(name):
    C = _matrices()[name]
    lam, V = leading_eigenpairs(C, K)
    V, scale = V[:, -K:], max(lam[-1], np.finfo(float).tiny)
    np.testing.assert_allclose(lam / scale, np.linalg.eigvalsh(C) / scale, atol=1e-13)
    np.testing.assert_allclose(C @ V / scale, V * lam[-K:] / scale, atol=1e-13)
    np.testing.assert_allclose(V.T @ V, np.eye(K), atol=1e-13)


@pytest.mark.parametrize("standardize", [False, True])
def test_all_axes_continue_the_first(standardize):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((500, N)) + 3 * rng.standard_normal((500, 2)) @ rng.standard_normal((2, N))
    X[:, 7] = 1.0  # a constant input has no direction
    model = OnlineAdaptivePCA(max_components=K, standardize=standardize).fit(X)
    first, rank = model.components_, model.n_components_
    whole = model.reading()
    assert len(whole.axes) == len(whole.variances) == N - 1
    np.testing.assert_array_equal(whole.axes[:rank], first)
    np.testing.assert_allclose(whole.axes @ whole.axes.T, np.eye(N - 1), atol=1e-12)


def test_asking_for_all_axes_changes_nothing_that_follows():
    X = np.random.default_rng(2).standard_normal((640, N))
    asked, alone = OnlineAdaptivePCA(max_components=K), OnlineAdaptivePCA(max_components=K)
    for part in np.split(X, 10):
        asked.partial_fit(part).reading()
        alone.partial_fit(part)
    np.testing.assert_array_equal(asked.reading().axes, alone.reading().axes)


@pytest.mark.parametrize("n", [48, 64, 130, 256])
def test_decomposed_in_place_it_is_the_same_and_nothing_is_left_behind(n):
    R = np.random.default_rng(n).standard_normal((3 * n, n))
    C = np.tril(R.T @ R)
    before = C.copy()
    lam, V = leading_eigenpairs_in_place(C, 5)
    np.testing.assert_array_equal(C, before)
    for found, expected in zip((lam, V), leading_eigenpairs(before, 5), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_in_place_a_matrix_that_cannot_be_reduced_is_decomposed_whole():
    lam, _ = leading_eigenpairs_in_place(np.zeros((64, 64)), 5)
    np.testing.assert_array_equal(lam, np.zeros(64))
