"""Each row together with its predecessors: models of a delay embedding."""

import numpy as np
import pandas as pd
import pytest

from eigenstream import AdaptivePCA, OnlineAdaptivePCA, compare_half_lives, compare_to_offline, load, merge
from eigenstream.model import StreamModel
from eigenstream.model.delays import embedded
from eigenstream.rank import ParallelAnalysis
from tests.online_model import stored, with_gaps

LAGS = 2


@pytest.fixture
def series(rng):
    """Two slow factors in six inputs."""
    factors = np.zeros((900, 2))
    for t in range(1, 900):
        factors[t] = 0.9 * factors[t - 1] + rng.standard_normal(2)
    return factors @ rng.standard_normal((2, 6)) + 0.1 * rng.standard_normal((900, 6)) + 4


def test_a_model_with_lags_is_that_of_embedded_rows(online, series):
    model, other = online(lags=LAGS, random_state=0), online(random_state=0)
    scores = model.learn_many(series)
    np.testing.assert_array_equal(scores, other.learn_many(embedded(series, LAGS)))
    np.testing.assert_array_equal(model.components_, other.components_)
    np.testing.assert_array_equal(model.transform(series), other.transform(embedded(series, LAGS)))
    np.testing.assert_array_equal(
        model.squared_residuals(series), other.squared_residuals(embedded(series, LAGS))
    )
    assert model.n_features_in_ == 6
    assert model.components_.shape[1] == 18
    back = model.inverse_transform(model.transform(series))
    assert back.shape == series.shape
    np.testing.assert_allclose(back, other.inverse_transform(other.transform(embedded(series, LAGS)))[:, :6])


def test_a_transition_shows_in_the_components(rng):
    """One input that follows another by a step is one component with lags, and none without."""
    cause = rng.standard_normal(3000)
    X = np.column_stack((cause, np.r_[0.0, cause[:-1]], rng.standard_normal((3000, 4))))
    X += 0.1 * rng.standard_normal(X.shape)
    assert OnlineAdaptivePCA(n_components=ParallelAnalysis()).fit(X).n_components_ == 0
    model = OnlineAdaptivePCA(n_components=ParallelAnalysis(), lags=1).fit(X)
    assert model.n_components_ == 1
    leading = {model.input_names_[i] for i in np.argsort(-np.abs(model.components_[0]))[:2]}
    assert leading == {"x1", "x0(t-1)"}


def test_offline_does_the_same(series):
    offline, online = AdaptivePCA(lags=LAGS).fit(series), OnlineAdaptivePCA(lags=LAGS).fit(series)
    np.testing.assert_allclose(offline.explained_variance_, online.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(
        offline.squared_residuals(series), online.squared_residuals(series), rtol=1e-6, atol=1e-9
    )
    assert offline.inverse_transform(offline.transform(series)).shape == series.shape
    report = compare_to_offline(online, series)
    assert report.rank_offline == offline.n_components_
    assert max(report.variance_errors) < 1e-12


def test_columns_have_names(series):
    frame = pd.DataFrame(series[:, :2], columns=["temp", "flow"])
    names = ["temp", "flow", "temp(t-1)", "flow(t-1)"]
    assert OnlineAdaptivePCA(lags=1).fit(frame).input_names_ == names
    assert AdaptivePCA(lags=1).fit(frame).input_names_ == names
    assert AdaptivePCA().fit(frame).input_names_ == ["temp", "flow"]
    assert OnlineAdaptivePCA(lags=1).fit(frame.to_numpy()).input_names_ == ["x0", "x1", "x0(t-1)", "x1(t-1)"]
    model = StreamModel(lags=1)
    model.features = ["temp", "flow"]
    assert model.partial_fit(frame.to_numpy()).input_names_ == names
    assert model.n_features_in_ == 2


@pytest.mark.parametrize("missing", ["raise", "skip", "impute"])
def test_chunking_is_exact_to_the_bit(online, series, missing, rng):
    X = series if missing == "raise" else with_gaps(series, 0.01)
    whole = online(lags=LAGS, missing=missing, random_state=0)
    scores = whole.learn_many(X)
    for cuts in ([1, 2, 3, 33, 64, 65], np.sort(rng.integers(1, 900, 12))):
        parts = online(lags=LAGS, missing=missing, random_state=0)
        pieces = [parts.learn_many(rows) for rows in np.split(X, cuts) if len(rows)]
        np.testing.assert_array_equal(np.vstack(pieces), scores)
        assert stored(parts) == stored(whole)
    single = online(lags=LAGS, missing=missing, random_state=0)
    np.testing.assert_array_equal([single.learn_one(row) for row in X[:200]], scores[:200])


def test_a_gap_makes_the_rows_after_it_incomplete(online, series):
    series[100, 3] = np.nan
    model = online(lags=LAGS, missing="skip", random_state=0)
    scores = model.learn_many(series)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(scores).any(axis=1)), [100, 101, 102])
    assert model.tally_.skipped == 3
    assert model.n_samples_seen_ == 897
    parts = online(lags=LAGS, missing="skip", random_state=0)
    parts.partial_fit(series[:101]).partial_fit(series[101:])
    assert stored(parts) == stored(model)


@pytest.mark.parametrize("cut", [1, 10, 100, 333])
def test_a_file_continues_exactly(online, series, cut, tmp_path):
    model = online(lags=LAGS, random_state=0).fit(series[:cut])
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.n_features_in_ == 6
    assert stored(model.partial_fit(series[cut:])) == stored(again.partial_fit(series[cut:]))


def test_merged_models_go_on_after_the_last(online, series):
    first, last = (online(lags=LAGS, random_state=0).fit(rows) for rows in (series[:500], series[500:]))
    merged = merge([first, last])
    whole = online(lags=LAGS, random_state=0).fit(series)
    np.testing.assert_allclose(merged.explained_variance_, whole.explained_variance_, rtol=0.02)
    np.testing.assert_array_equal(merged._tracker.recent, series[-LAGS:])
    merged.partial_fit(series[:10])
    with pytest.raises(ValueError, match="different lags"):
        merge([first, online(lags=1, random_state=0).fit(series)])


def test_memory_for_embedded_rows_is_bounded(online, series):
    """However many rows come at once, a part of them is embedded at a time."""
    sizes, model = [], online(lags=LAGS, random_state=0).fit(series[:100])
    inner = model._tracker._embedded

    def noted(rows):
        sizes.append(len(rows))
        return inner(rows)

    model._tracker._embedded = noted
    model._tracker.follow(np.tile(series, (5, 1)))
    assert max(sizes) <= 1024
    assert sum(sizes) == 4500


@pytest.mark.parametrize("lags", [-1, 1.5, "2", True])
def test_lags_are_a_whole_number(series, lags):
    for model in (AdaptivePCA(lags=lags), OnlineAdaptivePCA(lags=lags)):
        with pytest.raises(ValueError, match="lags must be a whole number >= 0"):
            model.fit(series)


def test_a_row_of_another_width_is_refused(series):
    model = OnlineAdaptivePCA(lags=1).fit(series)
    with pytest.raises(ValueError, match="n_features=6"):
        model.learn_one(np.zeros(12))


def test_half_lives_side_by_side(series):
    plain = compare_half_lives(embedded(series, 1), (50, None))
    tried = compare_half_lives(series, (50, None), lags=1)
    assert [one.rank for one in tried] == [one.rank for one in plain]
    assert tried[0].surprise == pytest.approx(plain[0].surprise, rel=1e-9)
