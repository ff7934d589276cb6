"""Leading pairs of the subspace learner's small matrix, from those of before."""

import numpy as np
import pytest

from eigenstream import OnlineAdaptivePCA, metrics, offline
from eigenstream.learners import subspace
from eigenstream.learners.warm import warm_pairs


def small_matrix(rng, strong=6, r=24, b=64, n=400):
    """M of r directions, some of which stand out, and of b rows of the same input; noise has variance 1."""
    lam = np.r_[np.linspace(30, 10, strong) * 1000, np.full(r - strong, 3000.0)]
    axes = np.linalg.qr(rng.standard_normal((n, r)))[0].T
    rows = rng.standard_normal((b, n)) + rng.standard_normal((b, strong)) * 4 @ axes[:strong]
    V = np.vstack((np.sqrt(lam)[:, None] * axes, rows))
    M = V @ V.T
    M[:r, :r] = np.diag(lam)
    return M


@pytest.mark.parametrize("wanted", [24, 32])
def test_what_stands_out_is_found_and_nearly_all_of_the_rest(wanted, rng):
    M = small_matrix(rng)
    e, P = warm_pairs(M, 24, 6, wanted)
    truth, axes = np.linalg.eigh(M)
    truth, axes = truth[::-1][:wanted], axes[:, ::-1]
    np.testing.assert_allclose(P.T @ P, np.eye(wanted), atol=1e-12)
    np.testing.assert_allclose(P.T @ M @ P, np.diag(e), atol=1e-10 * e[0])
    np.testing.assert_allclose(e[:6], truth[:6], rtol=1e-8)
    assert metrics.subspace_error(P[:, :6].T, axes[:, :6].T) < 1e-8
    assert 0.97 < e.sum() / truth.sum() <= 1 + 1e-12


def test_where_directions_depend_on_each_other_nothing_is_said(rng):
    low = rng.standard_normal((88, 5))
    assert warm_pairs(low @ low.T, 24, 3, 24) is None
    assert warm_pairs(np.zeros((88, 88)), 24, 0, 24) is None
    gross = small_matrix(rng)
    gross[24:, 24:] += 1e12
    assert warm_pairs(gross, 24, 6, 24) is None


def stream(rng, n=400, T=4000):
    axes = np.linalg.qr(rng.standard_normal((n, 7)))[0].T
    X = rng.standard_normal((T, n))
    X += rng.standard_normal((T, 7)) * [6, 5.5, 5, 4.5, 4, 3.5, 3] @ axes
    X[: T // 2] -= X[: T // 2] @ axes[5:].T @ axes[5:]  # two of them begin in the middle
    return X


@pytest.mark.parametrize("half_life", [None, 500])
def test_models_are_as_with_whole_decompositions(half_life, rng, monkeypatch):
    """A new component may be found a block later: at first it is hardly more than noise.

    It is found from other directions in the noise, and so are the variances of what was in it before.
    """
    X = stream(rng)
    truth = offline.spectrum(X - X.mean(axis=0), 7)[1]
    warm = OnlineAdaptivePCA(max_components=40, half_life=half_life).fit(X)
    monkeypatch.setattr(subspace, "MOST_WARM", 0.0)
    whole = OnlineAdaptivePCA(max_components=40, half_life=half_life).fit(X)
    assert warm.n_components_ == whole.n_components_ == 7
    assert 0 <= warm.rank_history_[-1].sample - whole.rank_history_[-1].sample <= 64
    np.testing.assert_allclose(warm.explained_variance_[:5], whole.explained_variance_[:5], rtol=1e-4)
    np.testing.assert_allclose(warm.explained_variance_, whole.explained_variance_, rtol=0.05)
    if half_life is None:
        errors = [metrics.subspace_error(model.components_, truth) for model in (warm, whole)]
        assert errors[0] < 1.1 * errors[1] < 0.3
    assert (warm.components_ != whole.components_).any()
