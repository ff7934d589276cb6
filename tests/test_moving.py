"""Differences from row to row: their sums along axes, and components that only they can tell."""

import numpy as np
import pytest

from eigenstream import AdaptivePCA, OnlineAdaptivePCA, merge
from eigenstream.learners.lags import LagSums, block_sums
from eigenstream.learners.moves import Moves, moves_of
from eigenstream.rank import NoiseEdge
from tests.test_rows_alike import slow_noise

SEED = 4_500
WHOLE = (slice(None),)


def axes_of(n, k, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0][:k]


def walks(rows, width, seed):
    return np.cumsum(np.random.default_rng(seed).standard_normal((rows, width)), axis=0)


def with_walking_factors(X, strengths, seed):
    factors = walks(len(X), len(strengths), seed)
    return X + factors * np.sqrt(strengths) @ axes_of(X.shape[1], len(strengths), seed)


@pytest.mark.parametrize("half_life", [None, 300])
@pytest.mark.parametrize(("factors", "said"), [(0, "no components"), (1, "1 component"), (2, "2 components")])
def test_the_advice_says_how_many_components_differences_have(factors, said, half_life):
    """Where levels are random walks of their own, and only steps have something in common."""
    for seed in range(3):
        rng = np.random.default_rng(SEED + seed)
        common = 5 * rng.standard_normal((1500, factors)) @ axes_of(8, factors, seed)
        X = 3 * walks(1500, 8, SEED + seed) + 3 * common
        model = OnlineAdaptivePCA(half_life=half_life).fit(X)
        assert model.n_components_ == 0
        assert f"(they have {said})" in model.advice_
        if half_life is None:
            assert f"(they have {said})" in AdaptivePCA().fit(X).advice_


def test_nothing_is_said_of_differences_that_are_not_known_in_all_directions():
    assert "(they have" not in OnlineAdaptivePCA().fit(walks(1500, 30, SEED)).advice_
    assert "(they have" not in OnlineAdaptivePCA(max_components=4).fit(walks(1500, 8, SEED)).advice_


def close(one, two):
    for mine, other in zip(one, two, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-6)


def test_sums_are_products_of_differences():
    X, axes = walks(64, 5, 0), axes_of(5, 2)
    found, steps = moves_of(X @ axes.T, X, None, WHOLE), np.diff(X, axis=0)
    along = steps @ axes.T
    np.testing.assert_allclose(found.along[0], along.T @ along)
    np.testing.assert_allclose(found.shared, along.T @ steps)
    np.testing.assert_allclose(found.inputs, np.sum(steps**2, axis=0))
    np.testing.assert_allclose(found.totals, [63, 63, 63 / 62 * np.sum(steps[1:] * steps[:-1])])


def test_differences_over_a_pause_are_left_out():
    X, axes = walks(64, 5, 0), axes_of(5, 2)
    X[20:] += 1e6
    apart = moves_of(X @ axes.T, X, None, (slice(0, 20), slice(20, 64)))
    parts = [moves_of(part @ axes.T, part, None, WHOLE) for part in (X[:20], X[20:])]
    np.testing.assert_allclose(apart.inputs, parts[0].inputs + parts[1].inputs)
    assert apart.totals[0] == 62


def test_weights_of_rows_do_not_make_differences():
    X, axes = np.full((64, 5), 1e6), axes_of(5, 2)
    weights = 0.9 ** np.arange(63, -1, -1.0)
    found = moves_of(weights[:, None] * X @ axes.T, weights[:, None] * X, weights, WHOLE)
    assert found.inputs.max() < 1e-6
    assert not moves_of(0 * X @ axes.T, 0 * X, np.zeros(64), WHOLE).known


def test_sums_turn_with_the_axes():
    X, before, after = walks(64, 5, 0), axes_of(5, 5), axes_of(5, 5, 1)
    turned = moves_of(X @ before.T, X, None, WHOLE).turned(after @ before.T)
    close(turned, moves_of(X @ after.T, X, None, WHOLE))


def test_they_turn_where_a_glance_has_left_axes_that_are_not_orthogonal():
    X, before, after = walks(64, 5, 0), axes_of(5, 5), axes_of(5, 5, 1)
    before[3] = (before[1] + before[3]) / np.sqrt(2)
    lags = LagSums.none(5, 5).after(1.0, block_sums(None, X @ before.T, X, None, True))
    close(lags.turned(before, after).moves, moves_of(X @ after.T, X, None, WHOLE))


def test_the_number_of_moves_is_that_of_equal_weights():
    block = moves_of(walks(64, 5, 0)[:, :2], walks(64, 5, 0), None, WHOLE)
    found = Moves.none(5, 2).after(1.0, 1.0, block).after(0.5, 2.0, block)
    assert found.number == pytest.approx((0.5 * 63 + 2 * 63) ** 2 / (0.25 * 63 + 4 * 63))


@pytest.mark.parametrize("half_life", [None, 1_000])
@pytest.mark.parametrize("solver", ["exact", "subspace"])
def test_factors_that_walk_among_walks_are_counted_online(solver, half_life):
    X = with_walking_factors(walks(2_000, 30, SEED), [30.0, 120.0, 60.0], SEED + 1)
    assert OnlineAdaptivePCA(solver=solver, half_life=half_life).partial_fit(X).n_components_ == 3


def test_and_offline_but_walks_alone_have_none():
    for seed in range(SEED + 10, SEED + 20):
        X = walks(2_000, 30, seed)
        assert AdaptivePCA().fit(X).n_components_ == 0
        assert AdaptivePCA().fit(with_walking_factors(X, [30.0, 120.0, 60.0], seed)).n_components_ == 3


@pytest.mark.parametrize("width", [30, 60])
def test_independent_inputs_that_are_uneven_and_slow_in_part_have_none(width):
    rng = np.random.default_rng(SEED)
    for seed in range(SEED + 30, SEED + 34):
        X = np.hstack([slow_noise(2_000, width // 2, rho, seed) for rho in (0.5, 0.99)])
        X *= np.sqrt(rng.exponential(size=width))
        assert AdaptivePCA().fit(X).n_components_ == 0
        assert OnlineAdaptivePCA().partial_fit(X).n_components_ == 0


def test_smooth_inputs_whose_differences_are_slow_too_have_none():
    for seed in range(SEED + 40, SEED + 44):
        X = np.cumsum(slow_noise(2_000, 30, 0.98, seed), axis=0)
        assert AdaptivePCA().fit(X).n_components_ == 0
        assert OnlineAdaptivePCA().partial_fit(X).n_components_ == 0


def test_differences_find_no_more_than_rows_that_are_taken_for_samples():
    X = with_walking_factors(walks(2_000, 30, SEED), [30.0, 120.0, 60.0], SEED + 1)
    evidence = AdaptivePCA().fit(X)._evidence
    by_rows = NoiseEdge().judge(evidence._replace(persistence=None))
    assert (NoiseEdge().judge(evidence).ratios <= by_rows.ratios).all()
    assert NoiseEdge().judge(evidence._replace(moves=None)).rank() < 3


def test_merged_models_know_how_rows_move():
    X = with_walking_factors(walks(4_000, 30, SEED), [30.0, 120.0, 60.0], SEED + 1)
    halves = [OnlineAdaptivePCA(random_state=0).partial_fit(part) for part in (X[:1984], X[1984:3968])]
    whole = OnlineAdaptivePCA(random_state=0).partial_fit(X[:3968])
    joined = merge(halves)
    assert joined.n_components_ == whole.n_components_ == 3
    moves, expected = (model._tracker.learner.lags.moves for model in (joined, whole))
    np.testing.assert_allclose(moves.inputs / moves.totals[0], expected.inputs / expected.totals[0], rtol=0.1)
    spectra = [np.linalg.eigvalsh(m.along[0] / m.totals[0])[-3:] for m in (moves, expected)]
    np.testing.assert_allclose(*spectra, rtol=0.3)
