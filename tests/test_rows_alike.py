"""Rows that are like those before them count for less: sums over neighbours, edges, ranks, words."""

import numpy as np
import pytest
from scipy.signal import lfilter

from eigenstream import AdaptivePCA, OnlineAdaptivePCA, merge
from eigenstream.learners.lags import LAGS, LagSums, block_sums, projections_on
from eigenstream.rank import Evidence, NoiseEdge
from eigenstream.rank.edges import independent_samples

SEED = 4_000


def slow_noise(rows, width, rho, seed):
    noise = np.random.default_rng(seed).standard_normal((rows + 500, width))
    return lfilter([np.sqrt(1 - rho**2)], [1, -rho], noise, axis=0)[500:]


def with_factors(X, strengths, rho=0.0, seed=0):
    rng = np.random.default_rng(seed)
    factors = slow_noise(len(X), len(strengths), rho, seed + 1) if rho else rng.standard_normal((len(X), 3))
    return X + factors * np.sqrt(strengths) @ np.linalg.qr(rng.standard_normal((X.shape[1], 3)))[0].T


def sums_of(X, axes, stretches=(slice(None),)):
    return block_sums(None, projections_on(X, axes, 2), X, None, True, stretches)


def test_sums_are_products_of_rows_and_their_predecessors():
    X = np.random.default_rng(0).standard_normal((64, 5))
    axes = np.linalg.qr(np.random.default_rng(1).standard_normal((5, 5)))[0][:2]
    found = sums_of(X, axes)
    for i, lag in enumerate(LAGS):
        later, before = X[lag:], X[: 64 - lag]
        assert found.pairs[i] == 64 - lag
        np.testing.assert_allclose(found.sums[i, 0], np.sum(later * before))
        np.testing.assert_allclose(found.sums[i, 1:], np.sum((later @ axes.T) * (before @ axes.T), axis=0))
    np.testing.assert_allclose(found.inputs, [np.sum(X * X, axis=0), np.sum(X[1:] * X[:-1], axis=0)])
    of_products = block_sums(X @ X.T, projections_on(X, axes, 2), X, None, True)
    np.testing.assert_allclose(of_products.sums, found.sums)


def test_rows_on_both_sides_of_a_pause_are_no_neighbours():
    X = np.random.default_rng(0).standard_normal((64, 5))
    apart, whole = sums_of(X, X[:0], (slice(0, 20), slice(20, 64))), sums_of(X, X[:0])
    first, second = sums_of(X[:20], X[:0]), sums_of(X[20:], X[:0])
    np.testing.assert_array_equal(apart.pairs, whole.pairs)
    share = (first.pairs + second.pairs) / whole.pairs
    np.testing.assert_allclose(np.sqrt(share)[:, None] * apart.sums, first.sums + second.sums)
    np.testing.assert_allclose(np.sqrt(share)[:2, None] * apart.inputs, first.inputs + second.inputs)


def test_visits_of_a_few_rows_are_worth_as_many_as_their_edge_says():
    # By the largest eigenvalue of 30 inputs they are worth 445 independent rows.
    X = np.vstack([slow_noise(8, 30, 0.95, SEED + i) for i in range(300)])
    times = np.add.outer(10_000.0 * np.arange(300), np.arange(8.0)).ravel()
    model = OnlineAdaptivePCA(half_life="100000000000s").fit(X, timestamps=times)
    assert 300 < model.n_samples_effective_ < 600


@pytest.mark.parametrize("rho", [0.5, 0.9, 0.99])
def test_persistence_is_that_of_the_process(rho):
    X = slow_noise(60_000, 10, rho, SEED)
    lags = LagSums.none(10, 2)
    for start in range(0, len(X), 64):
        if lags.is_due(1.0, whole=len(X[start : start + 64]) == 64):
            lags = lags.after(1.0, sums_of(X[start : start + 64], X[:0]))
        else:
            lags = lags.passed(1.0)
    assert lags.persistence()[0] == pytest.approx((1 + rho**2) / (1 - rho**2), rel=0.25)


def test_white_rows_have_none():
    assert AdaptivePCA().fit(slow_noise(2_000, 20, 0.0, SEED))._evidence.persistence is None


@pytest.mark.parametrize(("n", "T", "tau"), [(30, 2_000, 99.5), (100, 500, 9.5), (200, 2_000, 9.5)])
def test_the_edge_of_slow_noise_is_that_of_fewer_independent_samples(n, T, tau):
    rho = np.sqrt((tau - 1) / (tau + 1))
    draws = [slow_noise(T, n, rho, SEED + i) for i in range(6)]
    largest = [np.linalg.eigvalsh(X.T @ X / T)[-1] for X in draws]
    samples = float(independent_samples(n, T, np.array([tau]))[0])
    assert np.mean(largest) == pytest.approx((1 + np.sqrt(n / samples)) ** 2, rel=0.15)
    assert samples < T / 2


@pytest.mark.parametrize("half_life", [None, 300])
@pytest.mark.parametrize("rho", [0.9, 0.99, 0.999])
def test_independent_slow_inputs_have_no_components(rho, half_life):
    X = slow_noise(3_000, 30, rho, SEED)
    assert OnlineAdaptivePCA(half_life=half_life).fit(X).n_components_ == 0
    assert AdaptivePCA().fit(X).n_components_ == 0


def test_nor_have_random_walks_or_inputs_of_which_some_are_slow():
    rng = np.random.default_rng(SEED)
    walks = np.cumsum(rng.standard_normal((3_000, 30)), axis=0)
    mixed = np.hstack([slow_noise(3_000, 5, 1 - e, SEED + i) for i, e in enumerate(np.geomspace(1e-3, 1, 6))])
    for X in (walks, mixed):
        assert AdaptivePCA().fit(X).n_components_ == 0
        assert OnlineAdaptivePCA().fit(X).n_components_ == 0


@pytest.mark.parametrize(("of_noise", "of_factors"), [(0.9, 0.0), (0.9, 0.9), (0.0, 0.99)])
def test_factors_are_found_in_slow_noise_and_slow_factors_in_white(of_noise, of_factors):
    X = with_factors(slow_noise(4_000, 30, of_noise, SEED), [20.0, 15.0, 10.0], of_factors, SEED)
    assert AdaptivePCA().fit(X).n_components_ == 3
    assert OnlineAdaptivePCA().fit(X).n_components_ == 3


def test_the_number_of_independent_rows_is_told():
    X = np.cumsum(np.random.default_rng(SEED).standard_normal((5_000, 30)), axis=0)
    offline, online = AdaptivePCA().fit(X), OnlineAdaptivePCA().fit(X)
    assert offline.n_samples_effective_ < 20
    assert online.n_samples_effective_ < 20
    for model in (offline, online):
        assert model.advice_.startswith("5,000 rows, each like the one before: worth about")
        assert "no number of rows is enough" in model.advice_
    assert "(they have no components)" in offline.advice_
    white = AdaptivePCA().fit(X[1:] - X[:-1])
    assert white.n_samples_effective_ == pytest.approx(4_998)
    assert "worth about" not in white.advice_


def test_rows_that_are_too_few_are_told_at_any_rank():
    X = slow_noise(2_000, 30, 0.99, SEED)
    nothing = AdaptivePCA().fit(X)
    assert "Whether there are components cannot be told yet: about" in nothing.advice_
    forgetful = OnlineAdaptivePCA(half_life=300).fit(X)
    assert "cannot be told yet: a half-life" in forgetful.advice_
    one = AdaptivePCA().fit(X + 30 * np.random.default_rng(SEED).standard_normal((len(X), 1)))
    assert one.n_components_ == 1
    assert "Whether there is more than 1 component cannot be told yet: about" in one.advice_
    assert AdaptivePCA(n_components=1).fit(X).advice_ == ""


def test_halves_that_are_merged_know_how_alike_their_rows_are():
    X = slow_noise(4_000, 30, 0.99, SEED)
    halves = [OnlineAdaptivePCA().fit(part) for part in (X[:2_000], X[2_000:])]
    whole = OnlineAdaptivePCA().fit(X)
    both = merge(halves)
    assert both.n_components_ == 0
    assert both.n_samples_effective_ == pytest.approx(whole.n_samples_effective_, rel=0.5)


def test_components_only_become_fewer_by_counting_independent_samples():
    rng = np.random.default_rng(SEED)
    for _ in range(200):
        lam = np.sort(rng.gamma(0.5, 2.0, 12))[::-1]
        tau = 1 + rng.exponential(20, 13)
        by_rows = Evidence(lam, lam.sum(), capacity=12, n_inputs=12, n_samples=400)
        alike = by_rows._replace(persistence=tau)
        assert NoiseEdge().judge(alike).rank() <= NoiseEdge().judge(by_rows).rank()


@pytest.mark.parametrize("solver", ["exact", "subspace"])
@pytest.mark.parametrize("width", [2, 8, 16])
def test_rounding_that_all_axes_of_narrow_input_leave_is_not_alike(solver, width):
    for seed in range(4):
        model = OnlineAdaptivePCA(solver=solver).fit(slow_noise(1_000, width, 0.0, SEED + seed))
        assert not model._tracker.learner.lags.alike
        assert model._tracker.evidence().persistence is None


def test_rounding_that_few_rows_of_single_precision_leave_is_not_alike():
    for seed in range(20):
        rng = np.random.default_rng(SEED + seed)
        X = rng.standard_normal((16, 6)) * 8 @ rng.standard_normal((6, 300)) / 4
        X += rng.standard_normal((16, 300)) + 5
        single, double = (
            OnlineAdaptivePCA(solver="subspace", half_life=100).fit(X.astype(kind)) for kind in "fd"
        )
        persistence = [model._tracker.evidence().persistence for model in (single, double)]
        assert (persistence[0] is None) == (persistence[1] is None)
        assert single.n_components_ == double.n_components_
