"""Gaps filled by rows and by time, with error bars; forecasts."""

from itertools import pairwise

import numpy as np
import pytest

from eigenstream import OnlineAdaptivePCA, load, merge
from eigenstream.model.forecast_kernels import moved
from eigenstream.model.gap_kernels import mix
from eigenstream.model.gap_state import OtherAnswer
from eigenstream.model.judgement import HiddenErrors, SecondMixture, bins_of, hide
from eigenstream.model.persistence import Forecaster, Persistence
from eigenstream.model.time_filter import Growth, moved_means
from tests.online_model import paper, with_gaps
from tests.same_state import differences


def walks(seed, rows=700, width=8, shared=3):
    """Random walks, most of whose steps come from a few sources."""
    rng = np.random.default_rng(seed)
    steps = rng.standard_normal((rows, shared)) @ rng.standard_normal((shared, width))
    return np.cumsum(steps + 0.5 * rng.standard_normal((rows, width)), axis=0)


def gone_for_long(X, seed, stretch=40, share=0.2):
    """Rows in which some inputs have no value for many rows, the first never."""
    rng, gappy = np.random.default_rng(seed), X.copy()
    for start in range(0, len(X), stretch):
        gappy[start : start + stretch, 1:][:, rng.random(X.shape[1] - 1) < share] = np.nan
    return gappy


def by_last(gappy):
    filled = gappy.copy()
    for t in range(1, len(filled)):
        filled[t] = np.where(np.isnan(gappy[t]), filled[t - 1], gappy[t])
    return filled


def error(filled, X, gappy, begin=100):
    gaps = np.isnan(gappy)
    gaps[:begin] = False
    return float(np.sqrt(np.mean((filled - X)[gaps] ** 2)))


@pytest.mark.parametrize("solver", ["exact", "subspace"])
def test_time_and_the_other_inputs_are_better_together_than_each_alone(solver):
    X = walks(0)
    gappy = with_gaps(X, 0.2)
    model = OnlineAdaptivePCA(missing="impute", solver=solver)
    filled = error(model.learn_and_impute(gappy), X, gappy)
    by_level = OnlineAdaptivePCA(solver=solver).fit(X).impute(gappy)  # knows the future, but no time
    assert filled < 0.75 * error(by_last(gappy), X, gappy)
    assert filled < 0.75 * error(by_level, X, gappy)


def test_inputs_that_are_gone_for_long_follow_the_others():
    X = walks(0)
    gappy = gone_for_long(X, 0)
    filled = OnlineAdaptivePCA(missing="impute").learn_and_impute(gappy)
    assert error(filled, X, gappy) < 0.75 * error(by_last(gappy), X, gappy)


def test_unrelated_walks_are_filled_as_well_as_by_the_last_value():
    X = np.cumsum(np.random.default_rng(1).standard_normal((700, 8)), axis=0)
    gappy = with_gaps(X, 0.3)
    filled = OnlineAdaptivePCA(missing="impute").learn_and_impute(gappy)
    assert error(filled, X, gappy) < 1.05 * error(by_last(gappy), X, gappy)


def test_where_time_says_nothing_the_other_inputs_say_all():
    X = paper(1000)
    gappy = with_gaps(X, 0.1)
    filled = OnlineAdaptivePCA(missing="impute").learn_and_impute(gappy)
    by_level = OnlineAdaptivePCA().fit(X).impute(gappy)
    assert error(filled, X, gappy, 500) < 1.2 * error(by_level, X, gappy, 500)


@pytest.mark.parametrize("gaps", [lambda X: with_gaps(X, 0.2), lambda X: gone_for_long(X, 3)])
def test_error_bars_cover_as_much_as_they_say(gaps):
    X = walks(2, 1500)
    gappy = gaps(X)
    filled, std = OnlineAdaptivePCA(missing="impute").learn_and_impute(gappy, return_std=True)
    missing = np.isnan(gappy)
    assert (std[~missing] == 0).all()
    missing[:200] = False
    covered = np.mean(np.abs((filled - X)[missing]) < 1.645 * std[missing])
    assert 0.82 < covered < 0.97


OPTIONS = {
    "plain": {},
    "subspace": {"solver": "subspace"},
    "forgets": {"half_life": 60},
    "standardized": {"standardize": True},
    "capped": {"outliers": "cap"},
    "lags": {"lags": 1},
    "in seconds": {"half_life": "2min"},
    "single precision": {},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_any_chunking_gives_the_same_bits_and_the_same_state(name):
    X = with_gaps(gone_for_long(walks(4, 300), 4), 0.05)
    X = X.astype(np.float32) if name == "single precision" else X
    X[np.isnan(X).all(axis=1), 0] = 0.0
    rng = np.random.default_rng(5)
    times = np.cumsum(rng.exponential(1.0, len(X))) if name == "in seconds" else None
    whole, parts = (OnlineAdaptivePCA(missing="impute", random_state=0, **OPTIONS[name]) for _ in range(2))
    filled, std = whole.learn_and_impute(X, times, return_std=True)
    cuts = [0, 1, 63, 64, 65, 70, 150, 200, 201, 300]
    found = [
        parts.learn_and_impute(X[a:b], None if times is None else times[a:b], return_std=True)
        for a, b in pairwise(cuts)
    ]
    np.testing.assert_array_equal(np.vstack([part[0] for part in found]), filled)
    np.testing.assert_array_equal(np.vstack([part[1] for part in found]), std)
    assert differences(whole._tracker, parts._tracker) == []
    for one, other in zip(whole.forecast(3), parts.forecast(3), strict=True):
        np.testing.assert_array_equal(one, other)


def in_parts(model, rows, cuts):
    """Filled rows and deviations of calls that end at these rows."""
    ends = [0, *cuts, len(rows)]
    found = [model.learn_and_impute(rows[a:b], return_std=True) for a, b in pairwise(ends)]
    return tuple(np.vstack(part) for part in zip(*found, strict=True))


def test_rows_that_share_their_algebra_have_the_same_bits_wherever_calls_end():
    X = walks(9, 400)
    X[100:300, [0, 2]] = np.nan  # one pattern over several blocks
    X[180:190, 1] = np.nan
    filled = OnlineAdaptivePCA(missing="impute").learn_and_impute(X, return_std=True)
    found = in_parts(OnlineAdaptivePCA(missing="impute"), X, range(1, 400, 3))
    for one, other in zip(filled, found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("options", [{}, {"solver": "subspace"}, {"standardize": True}, {"half_life": 60}])
def test_an_input_without_a_value_yet_stays_empty_and_is_not_learnt_as_zeros(options):
    X = walks(4, 400) + 1000.0
    gappy = with_gaps(X, 0.1)
    gappy[:, 0], gappy[:203, 1], gappy[:70, 2], gappy[:10, 3] = np.nan, np.nan, np.nan, np.nan
    model, parts = (OnlineAdaptivePCA(missing="impute", random_state=0, **options) for _ in range(2))
    filled, std = model.learn_and_impute(gappy, return_std=True)
    begun = np.logical_or.accumulate(~np.isnan(gappy), axis=0)
    assert np.isnan(filled[~begun]).all()
    assert np.isnan(std[~begun]).all()
    assert np.isfinite(filled[begun]).all()
    for one, other in zip(
        in_parts(parts, gappy, [1, 65, 130, 202, 203, 204, 300]), (filled, std), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert differences(model._tracker, parts._tracker) == []
    late = np.isnan(gappy[260:, 1:4])
    assert np.abs((filled - X)[260:, 1:4][late]).max() < 15
    assert np.abs(model.mean_[1:] - X[:, 1:].mean(axis=0)).max() < 60
    ahead, again = model.forecast(2), model.impute(gappy[300:310], return_std=True)
    for found in (*ahead, *again):
        assert np.isnan(found[:, 0]).all()
        assert np.isfinite(found[:, 1:]).all()


def test_a_merged_model_takes_the_mean_of_an_input_from_those_that_have_seen_it():
    X = walks(5, 400) + 1000.0
    late = X.copy()
    late[:200, 1] = np.nan
    one, other = (OnlineAdaptivePCA(missing="impute").fit(part) for part in (late[:200], late[200:]))
    for both in (merge([one, other]), merge([other, one])):
        assert both.mean_[1] == pytest.approx(other.mean_[1])
        assert np.isfinite(both.forecast(1).rows).all()


@pytest.mark.parametrize("options", [{}, {"lags": 1}, {"half_life": 60}])
def test_rows_without_any_value_are_filled_by_the_past_and_let_time_pass(options):
    X = np.cumsum(np.random.default_rng(14).standard_normal((400, 4)), axis=0)
    gappy = with_gaps(X, 0.1)
    gappy[0] = gappy[20:23] = gappy[200:250] = gappy[300] = np.nan
    model, parts = (OnlineAdaptivePCA(missing="impute", random_state=0, **options) for _ in range(2))
    filled, std = model.learn_and_impute(gappy, return_std=True)
    assert np.isnan(filled[0]).all()
    assert np.isfinite(filled[25:]).all()
    assert (np.diff(std[205:250], axis=0) >= 0).all()
    assert np.abs(filled[249] - filled[199]).max() < 10
    near = np.flatnonzero(np.isnan(gappy[250]))[:1]
    assert (std[250, near] > 1.5 * np.median(std[100:200][np.isnan(gappy[100:200])])).all()
    for one, other in zip(
        in_parts(parts, gappy, [20, 21, 64, 199, 210, 250, 300, 301]), (filled, std), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert differences(model._tracker, parts._tracker) == []
    before = model.forecast(1).std
    model.partial_fit(np.full((50, 4), np.nan))
    assert (model.forecast(1).std > 2 * before).all()


def test_rows_without_any_value_are_imputed_from_the_rows_before_them():
    X = np.cumsum(np.random.default_rng(15).standard_normal((400, 4)), axis=0)
    model = OnlineAdaptivePCA(missing="impute").fit(X[:300])
    gappy = X[300:340].copy()
    gappy[0] = gappy[20:30] = np.nan
    filled, std = model.impute(gappy, return_std=True)
    assert np.isnan(filled[0]).all()
    np.testing.assert_allclose(filled[20:30], np.tile(X[319], (10, 1)), atol=4)
    assert (np.diff(std[20:30], axis=0) > 0).all()
    assert np.isnan(model.transform(gappy)[20:30]).all()


@pytest.mark.kernel
def test_a_file_in_the_middle_of_a_gap_changes_nothing(tmp_path):
    X = gone_for_long(walks(6, 300), 6)
    whole, first = (OnlineAdaptivePCA(missing="impute", random_state=0) for _ in range(2))
    filled = whole.learn_and_impute(X)
    first.learn_and_impute(X[:170])
    first.save(tmp_path / "model")
    second = load(tmp_path / "model")
    np.testing.assert_array_equal(second.forecast(2).rows, first.forecast(2).rows)
    np.testing.assert_array_equal(second.learn_and_impute(X[170:]), filled[170:])
    assert differences(second._tracker, whole._tracker) == []


def test_time_passes_between_rows_with_time_stamps():
    """After a pause the last value says less: forecasts go back to the mean."""
    rng, X = np.random.default_rng(7), np.zeros((600, 4))
    for t in range(1, 600):
        X[t] = 0.95 * X[t - 1] + rng.standard_normal(4)
    times = np.arange(600.0)
    times[590:] += 500
    gappy = X.copy()
    gappy[589:591, 0] = np.nan
    X[588, 0] = gappy[588, 0] = 12.0
    model = OnlineAdaptivePCA(missing="impute", half_life="10min")
    filled, std = model.learn_and_impute(gappy, times, return_std=True)
    assert abs(filled[589, 0]) > 6 > 3 > abs(filled[590, 0])
    assert std[590, 0] > 1.5 * std[589, 0]


def test_forecasts_of_walks_are_their_last_rows_with_growing_deviations():
    X = np.cumsum(np.random.default_rng(8).standard_normal((2000, 5)), axis=0)
    model = OnlineAdaptivePCA(missing="impute").fit(X)
    rows, std = model.forecast(16)
    np.testing.assert_allclose(rows[0], X[-1], atol=0.3)
    np.testing.assert_allclose(std.mean(axis=1), np.sqrt(np.arange(1, 17)), rtol=0.25)
    assert model.forecast().rows.shape == (1, 5)


def test_error_bars_of_forecasts_cover_as_much_as_they_say_where_no_input_is_a_simple_process():
    """Slow factors in white noise: an input by itself is neither of first nor of second order."""
    rng, slow = np.random.default_rng(18), np.zeros((1500, 2))
    for t in range(1, 1500):
        slow[t] = 0.95 * slow[t - 1] + rng.standard_normal(2)
    X = slow @ rng.standard_normal((2, 10)) + rng.standard_normal((1500, 10))
    model, covered = OnlineAdaptivePCA(missing="impute").fit(X[:500]), []
    for start in range(500, 1480, 20):
        rows, std = model.forecast(20)
        covered.append(np.abs(X[start : start + 20] - rows) < 1.645 * std)
        model.partial_fit(X[start : start + 20])
    share = np.mean(covered, axis=(0, 2))[[0, 4, 19]]
    assert ((share > 0.84) & (share < 0.96)).all()


def test_an_input_that_has_left_its_mean_is_not_forecast_to_come_back():
    """A first block of rest says nothing of how an input comes back once it moves; a single spike does."""
    rng = np.random.default_rng(19)
    X = 0.1 * rng.standard_normal((200, 4))
    X[70:] += 5.0
    model = OnlineAdaptivePCA(missing="impute").fit(X[:66])
    spike = X[66].copy() + 5.0
    assert np.abs(model.partial_fit(spike[None]).forecast().rows).max() < 2.0
    model = OnlineAdaptivePCA(missing="impute").fit(X[:75])
    np.testing.assert_allclose(model.forecast(3).rows, 5.0, atol=1.0)
    gappy = X.copy()
    gappy[75:120:5] = np.nan
    gappy[77:120:5, 0] = np.nan
    filled = OnlineAdaptivePCA(missing="impute").learn_and_impute(gappy)
    assert np.abs(filled - X)[75:120].max() < 1.0


def test_moved_means_are_those_of_the_kernel():
    rng, far = np.random.default_rng(20), np.array([1.0, 2.0])
    last, before = rng.normal(0, 4, (50, 2)), rng.normal(0, 4, (50, 2))
    pairs = zip(last, before, strict=True)
    expected = [[moved(*both) for both in zip(*pair, far, strict=True)] for pair in pairs]
    np.testing.assert_allclose(moved_means(last, before, far), expected)
    assert np.count_nonzero(expected) > 10


def test_forecasts_of_a_rhythm_follow_it():
    t = np.arange(1000)[:, None]
    X = np.sin(2 * np.pi * t / np.array([40.0, 60.0, 90.0])) + 1e-3 * np.random.default_rng(
        0
    ).standard_normal((1000, 3))
    ahead = OnlineAdaptivePCA(missing="impute").fit(X[:900]).forecast(5)
    assert np.abs(ahead.rows - X[900:905]).max() < 0.5 * np.abs(X[899] - X[904]).max()


def test_forecasts_say_what_they_need():
    with pytest.raises(ValueError, match=r"missing='impute' and the exact or the subspace solver.*'raise'"):
        OnlineAdaptivePCA().fit(walks(0, 100)).forecast(1)
    with pytest.raises(ValueError, match=r"7 rows say too little about time.*with row 8"):
        OnlineAdaptivePCA(missing="impute").fit(walks(0, 7)).forecast(1)
    with pytest.raises(ValueError, match="steps must be at least 1, got 0"):
        OnlineAdaptivePCA(missing="impute").fit(walks(0, 100)).forecast(0)


def early_errors(X, seed):
    """Errors of first rows with 10 % gaps, in deviations of their input, of ours and of the last value."""
    X = X / X.std(axis=0)
    gaps = np.random.default_rng(seed).random(X.shape) < 0.1
    gaps[0] = False
    gappy = np.where(gaps, np.nan, X)
    filled, std = OnlineAdaptivePCA(missing="impute").learn_and_impute(gappy, return_std=True)
    return (filled - X)[gaps], (by_last(gappy) - X)[gaps], std[gaps]


def test_first_rows_of_slow_inputs_are_filled_by_time():
    found = [early_errors(walks(seed, 60, 30, 1), seed) for seed in range(8)]
    ours, last, std = map(np.concatenate, zip(*found, strict=True))
    assert np.sqrt(np.mean(ours**2)) < 0.9 * np.sqrt(np.mean(last**2))
    assert np.abs(ours).max() < 2.5
    assert 0.75 < np.mean(np.abs(ours) < 1.645 * std) < 0.97


def test_first_rows_of_independent_rows_are_filled_by_the_level():
    found = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = 2 * rng.standard_normal((60, 2)) @ rng.standard_normal((2, 12)) + rng.standard_normal((60, 12))
        found.append(early_errors(X, seed))
    ours, last, std = map(np.concatenate, zip(*found, strict=True))
    assert np.sqrt(np.mean(ours**2)) < 0.6 * np.sqrt(np.mean(last**2))
    assert 0.75 < np.mean(np.abs(ours) < 1.645 * std) < 0.97


def test_first_rows_are_filled_alike_however_they_come():
    gappy = with_gaps(walks(11, 70), 0.2)
    gappy[20:23] = np.nan
    models = [OnlineAdaptivePCA(missing="impute") for _ in range(3)]
    at_once = models[0].learn_and_impute(gappy)
    in_parts = [models[1].learn_and_impute(gappy[i : i + 7]) for i in range(0, 70, 7)]
    one_by_one = [models[2].learn_and_impute(row[None]) for row in gappy]
    np.testing.assert_array_equal(np.vstack(in_parts), at_once)
    np.testing.assert_array_equal(np.vstack(one_by_one), at_once)


def test_impute_knows_time_before_the_first_block():
    X = walks(12, 40)
    gappy = X.copy()
    gappy[20:23, 1] = np.nan
    filled = OnlineAdaptivePCA(missing="impute").fit(X).impute(gappy)
    assert np.abs(filled - X).max() < 2 * np.abs(by_last(gappy) - X).max()


def test_merged_models_go_on_from_the_last_row_of_the_last():
    X = walks(9)
    one, other = (OnlineAdaptivePCA(missing="impute").fit(part) for part in (X[:333], X[333:]))
    both = merge([one, other])
    np.testing.assert_allclose(both.forecast(1).rows[0], X[-1], atol=8)
    gappy = with_gaps(X[-50:], 0.2)
    assert np.isfinite(both.learn_and_impute(gappy)).all()


def test_a_call_that_fails_leaves_the_filter_as_it_was():
    X = gone_for_long(walks(10, 260), 10)
    model, twin = (OnlineAdaptivePCA(missing="impute", random_state=0).fit(X[:150]) for _ in range(2))
    bad = X[150:].copy()
    bad[-1, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.learn_and_impute(bad)
    assert differences(model._tracker, twin._tracker) == []
    np.testing.assert_array_equal(model.learn_and_impute(X[150:]), twin.learn_and_impute(X[150:]))


def test_an_input_whose_scale_changes_is_learnt_anew():
    """Innovations that are gross by what was known are not taken for errors for ever."""
    rng = np.random.default_rng(11)
    X = np.cumsum(rng.standard_normal((900, 6)), axis=0)
    X[300:] = X[300] + 50 * (X[300:] - X[300])
    gappy = with_gaps(X, 0.1)
    filled, std = OnlineAdaptivePCA(missing="impute").learn_and_impute(gappy, return_std=True)
    late = np.isnan(gappy)
    late[:600] = False
    assert error(filled, X, gappy, 600) < 1.3 * error(by_last(gappy), X, gappy, 600)
    assert np.median(std[late]) > 15


def test_persistence_of_each_input_by_itself():
    rng, X = np.random.default_rng(12), np.zeros((4002, 3))
    a, b = np.array([0.0, 0.9, 1.6]), np.array([0.0, 0.0, -0.63])
    for t in range(2, len(X)):
        X[t] = a * X[t - 1] + b * X[t - 2] + rng.standard_normal(3)
    present = rng.random(X.shape) < 0.8
    sums = Persistence.none(3).after(X, present, np.ones(4000), 1.0)
    found = sums.forecaster(4000)
    np.testing.assert_allclose(found.a, a, atol=0.06)
    np.testing.assert_allclose(found.b, b, atol=0.06)
    np.testing.assert_allclose(sums.variances(), X.var(axis=0), rtol=0.1)
    np.testing.assert_allclose(found.responses(3)[2], found.a**2 + found.b)


@pytest.mark.kernel
def test_the_weight_of_time_is_the_one_with_the_least_error():
    rng = np.random.default_rng(13)
    shared, own = rng.standard_normal((2, 4000, 5))
    level, time = shared + own, 0.5 * shared + rng.standard_normal((4000, 5))
    answers = np.stack((level, time, np.full_like(level, 2.0), np.full_like(level, 1.0)))
    judged = HiddenErrors.none(5).after(np.zeros((4000, 5), dtype=np.intp), answers, np.ones(4000))
    factors, one = judged.factors(np.ones(5)), np.ones((1, 5))
    mixed, most = np.zeros((2, 1, 5)), np.full(5, np.inf)
    other = OtherAnswer(one, one, np.zeros((1, 5), np.int8), factors, *mixed, most)
    for i in range(5):
        left = mix(other, 0, np.array([i]), np.zeros(1), np.full(1, 2.0), np.zeros((6, 1)))
        w, variance = other.mixed[0, i], other.mixed_variances[0, i]
        errors = [np.mean((v * time[:, i] + (1 - v) * level[:, i]) ** 2) for v in (w - 0.1, w, w + 0.1)]
        assert errors[1] == min(errors)
        assert variance == pytest.approx(errors[1], rel=0.1)
        assert left == variance / 2


def test_in_gaps_that_are_older_than_those_judged_the_weight_of_time_stays():
    factors, one, oldest = np.full((3, 8, 1), 0.5), np.ones((1, 1)), np.full((1, 1), 7, np.int8)
    shares = []
    for variance in (4.0, 9.0, 100.0):
        mixed = np.zeros((2, 1, 1))
        other = OtherAnswer(one, variance * one, oldest, factors, *mixed, np.full(1, 9.0))
        mix(other, 0, np.zeros(1, np.int64), np.zeros(1), np.full(1, 16.0), np.zeros((6, 1)))
        shares.append(mixed[0, 0, 0])
    assert shares[0] > shares[1] == shares[2] > 0


def test_where_inputs_jump_the_last_value_is_mixed_in():
    """Relations and persistence say nothing of levels that last until the next jump."""
    rng = np.random.default_rng(16)
    X = np.repeat(rng.standard_normal((60, 6)), rng.integers(5, 40, 60), axis=0)[:1000]
    gappy = with_gaps(X, 0.2)
    filled = OnlineAdaptivePCA(missing="impute").learn_and_impute(gappy)
    assert error(filled, X, gappy, 300) < 1.1 * error(by_last(gappy), X, gappy, 300)


def test_the_second_mixture_has_the_weights_with_the_least_error_and_few_entries_count_little():
    rng, bins = np.random.default_rng(17), np.zeros((2000, 2), dtype=np.intp)
    truth = rng.standard_normal((2000, 2))
    errors = np.stack((truth, truth + rng.standard_normal((2000, 2)), 0.5 * truth))
    errors[2, :10] = np.nan  # no last value yet
    found = SecondMixture.none().after(bins, errors, np.array([1.0, 10.0]), np.ones(2000))
    assert found.weights()[0, 0] == pytest.approx(0.0, abs=0.03)
    assert found.weights()[1, 0] == pytest.approx(1.0, abs=0.02)
    assert not found.weights()[:, 1:].any()
    few = SecondMixture.none().after(bins[:20], errors[:, :20], np.ones(2), np.ones(20))
    assert few.weights()[1, 0] < 0.6
    mixed = found.mixed(bins[:1], *np.array([[[4.0, 4.0]], [[4.0, 4.0]], [[2.0, np.nan]]]))
    np.testing.assert_allclose(mixed, [[2.0, 4.0]], atol=0.1)


def test_hidden_entries_are_others_in_every_block_and_leave_something_of_a_row():
    rows = np.ones((64, 5))
    gone = np.array([np.isnan(hide(rows, block)) for block in range(16)])
    assert gone.any(axis=(0, 1)).all()
    assert not gone.all(axis=2).any()
    assert 0.1 < gone.mean() < 0.5
    assert bins_of(np.array([1, 2, 3, 4, 5, 64, 65, 9999])).tolist() == [0, 1, 2, 2, 3, 6, 7, 7]


def test_a_value_after_a_gap_corrects_the_row_before_it():
    """Inputs that keep their direction would otherwise seem to have moved by what was filled wrongly."""
    rng = np.random.default_rng(21)
    speed = np.zeros((1000, 4))
    for t in range(1, 1000):
        speed[t] = 0.95 * speed[t - 1] + rng.standard_normal(4)
    X = np.cumsum(speed - speed.mean(axis=0), axis=0)
    for share, at_most in ((0.2, 0.5), (0.5, 0.8)):
        gappy = with_gaps(X, share)
        filled = OnlineAdaptivePCA(missing="impute").learn_and_impute(gappy)
        assert error(filled, X, gappy) < at_most * error(by_last(gappy), X, gappy)


def test_the_correction_of_a_filled_predecessor_is_that_of_least_squares():
    none = np.zeros(2)
    forecaster = Forecaster(np.array([1.6, 0.8]), np.array([-0.63, 0.0]))
    rng, e = np.random.default_rng(22), np.random.default_rng(23).standard_normal((5, 40_000, 2))
    first = rng.standard_normal((2, 2))
    expected = forecaster.ahead(first[1], first[0], 4)
    rows = [np.tile(row, (40_000, 1)) for row in first]
    for t in range(4):
        rows.append(forecaster.after(rows[-1], rows[-2]) + e[t])
    for h in range(1, 4):  # rows[2 + h] came after h rows that were filled by what was expected
        off, unexpected = rows[1 + h] - expected[h - 1], rows[2 + h] - expected[h]
        share = (off * unexpected).mean(axis=0) / np.square(unexpected).mean(axis=0)
        np.testing.assert_allclose(Growth.of(forecaster).carried[h], share, atol=0.02)
    np.testing.assert_array_equal(Growth.of(forecaster).carried[0], none)


def test_forecasts_of_changes_count_by_the_share_of_them_that_comes_true():
    """An input that stands still and jumps has no direction, though a few jumps would give one."""
    rng = np.random.default_rng(24)
    jumps = rng.standard_normal((2001, 3)) * (rng.random((2001, 3)) < 0.02)
    trend = np.zeros((2001, 3))
    for t in range(1, 2001):
        trend[t] = 0.9 * trend[t - 1] + rng.standard_normal(3)
    for steps, low, high in ((jumps, 0.0, 0.4), (trend, 0.9, 1.0)):
        X, sums = np.cumsum(steps, axis=0), Persistence.none(3)
        for start in range(0, 1920, 64):
            fitted = sums.fitted(start) if start else None
            rows = X[start : start + 66] - X[: start + 66].mean(axis=0)
            sums = sums.after(rows, np.ones(rows.shape, dtype=bool), np.ones(64), 1.0, fitted)
        assert low <= sums.shares(sums.fitted(1920)).mean() <= high


def test_inputs_without_direction_are_forecast_by_their_last_value():
    """What chance fits to a random walk does not come true; a direction that chance would not give stays."""
    rng = np.random.default_rng(25)
    steps = rng.standard_t(4, (1000, 40))
    kept = steps.copy()
    for t in range(1, 1000):
        kept[t] += 0.6 * kept[t - 1]
    for changes, low, high in ((steps, 0.0, 0.01), (kept, 0.9, 1.0)):
        X, sums = np.cumsum(changes, axis=0), Persistence.none(40)
        for start in range(0, 896, 64):
            fitted = sums.fitted(start) if start else None
            rows = X[start : start + 66] - X[: start + 66].mean(axis=0)
            sums = sums.after(rows, np.ones(rows.shape, dtype=bool), np.ones(64), 1.0, fitted)
        shares = sums.shares(sums.fitted(896))
        assert low <= np.median(shares) <= high


def test_random_walks_are_filled_as_by_their_last_value():
    ratios = []
    for seed in range(6):
        X = np.cumsum(np.random.default_rng(seed).standard_t(3, (1000, 12)), axis=0)
        gappy = np.where(np.random.default_rng(100 + seed).random(X.shape) < 0.05, np.nan, X)
        gappy[0] = X[0]
        filled = OnlineAdaptivePCA(missing="impute").learn_and_impute(gappy)
        ratios.append(error(filled, X, gappy) / error(by_last(gappy), X, gappy))
    assert np.mean(ratios) < 1.006
