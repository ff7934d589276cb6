"""Rows with missing values: skipped or filled in; every solver."""

import numpy as np
import pytest

from eigenstream import AdaptivePCA, OnlineAdaptivePCA, compare_to_offline, metrics, streams
from tests.online_model import paper, with_gaps


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
def test_missing_values_are_imputed_without_bias(online, share):
    X = paper(6000)
    model = online(missing="impute", random_state=0).fit(with_gaps(X, share))
    truth = AdaptivePCA().fit(X)
    assert model.n_components_ == truth.n_components_ == 4
    np.testing.assert_allclose(model.explained_variance_, truth.explained_variance_, rtol=0.05)
    assert model.noise_variance_ == pytest.approx(truth.noise_variance_, rel=0.1)
    assert metrics.subspace_error(model.components_, truth.components_, normalize="relative") < 0.02
    filled = model.transform(with_gaps(X[:100], share, seed=1))
    assert np.isfinite(filled).all()
    assert np.abs(filled - model.transform(X[:100])).max() < 2
    assert model.tally_.learnt == 6000 - model.tally_.skipped
    assert model.tally_.imputed == np.isnan(with_gaps(X, share)).any(axis=1).sum() - model.tally_.skipped


def test_bursts_of_missing_values_do_no_harm(online):
    """A group of 12 inputs fails for 100 rows at a time, a fifth of the time."""
    X = paper(6000)
    gappy = X.copy()
    for start in range(50, 6000, 500):
        gappy[start : start + 100, (np.arange(12) + start // 500 * 5) % 64] = np.nan
    model = online(missing="impute", random_state=0).fit(gappy)
    truth = AdaptivePCA().fit(X)
    assert model.n_components_ == 4
    np.testing.assert_allclose(model.explained_variance_, truth.explained_variance_, rtol=0.05)
    assert model.noise_variance_ == pytest.approx(truth.noise_variance_, rel=0.1)


def test_one_empty_cell_costs_nothing(online):
    """In 1,147 rows of 8: every row is learnt from, and nobody can tell the difference."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1147, 2)) @ rng.standard_normal((2, 8)) + 0.1 * rng.standard_normal((1147, 8))
    gappy = X.copy()
    gappy[135, 3] = np.nan
    model, whole = online(missing="impute", random_state=0).fit(gappy), online(random_state=0).fit(X)
    assert model.n_samples_seen_ == 1147
    assert np.isfinite(model.transform(gappy)).all()
    assert model.n_components_ == whole.n_components_
    np.testing.assert_allclose(model.explained_variance_, whole.explained_variance_, rtol=1e-2)


def test_imputing_does_not_depend_on_chunks(online):
    X = with_gaps(paper(700), 0.2)
    whole = online(missing="impute", random_state=0).fit(X)
    parts = online(missing="impute", random_state=0)
    for chunk in np.split(X, [1, 50, 333, 334]):
        parts.partial_fit(chunk)
    np.testing.assert_array_equal(parts.components_, whole.components_)


def test_empty_rows_are_left_out(online):
    model = online(missing="impute", random_state=0).fit(paper(1000))
    hopeless, before = np.full((1, 64), np.nan), model.transform(paper(10))
    assert np.isnan(model.transform(hopeless)).all()
    model.partial_fit(hopeless)
    assert model.n_samples_seen_ == 1000
    assert model.tally_.skipped == 1
    np.testing.assert_array_equal(model.transform(paper(10)), before)


def test_skipped_rows_teach_nothing_and_score_nan(online):
    X = paper(1000)
    gappy = np.insert(X, [3, 500, 500, 999], np.nan, axis=0)
    model = online(missing="skip", random_state=0).fit(gappy)
    plain = online(missing="skip", random_state=0).fit(X)
    np.testing.assert_array_equal(model.components_, plain.components_)
    assert model.n_samples_seen_ == 1000
    scores = model.transform(gappy)
    np.testing.assert_array_equal(np.isnan(scores).all(axis=1), np.isnan(gappy).any(axis=1))
    assert np.isnan(model.learn_one(gappy[3])).all()
    assert model.n_samples_seen_ == 1000


def test_one_warning_where_most_rows_are_skipped(online):
    gappy = paper(400)
    gappy[::3, 0] = np.nan
    model = online(missing="skip", random_state=0).fit(gappy)  # a third: no warning
    with pytest.warns(UserWarning, match=r"of 900 rows so far were skipped.*missing='impute'") as caught:
        model.partial_fit(np.full((500, 64), np.nan)).partial_fit(np.full((100, 64), np.nan))
    assert len(caught) == 1


def test_compared_with_offline_by_the_same_rows(online):
    gappy = with_gaps(paper(2000), 0.002)
    skipping = online(missing="skip", random_state=0).fit(gappy)
    report = compare_to_offline(skipping, gappy)
    assert report.n_samples == skipping.n_samples_seen_ == np.isfinite(gappy).all(axis=1).sum()
    assert max(report.variance_errors) < 1e-3
    assert "squares" in str(report)
    report = compare_to_offline(online(missing="impute", random_state=0).fit(gappy), gappy)
    assert report.n_samples == 2000
    assert max(report.variance_errors) < 0.02
    with pytest.raises(ValueError, match="NaN"):
        compare_to_offline(online(random_state=0).fit(paper(500)), gappy)


@pytest.mark.parametrize("missing", ["skip", "impute"])
@pytest.mark.filterwarnings("ignore:.*rows so far were skipped:UserWarning")
def test_learn_many_with_gaps_learns_as_partial_fit_does(online, missing):
    X = np.vstack(list(streams.paper_stream(800, random_state=0)))
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.02] = np.nan
    X[0], X[5] = 1.0, np.nan  # a network starts once every input has had a value
    many, fitted = (online(missing=missing, random_state=0) for _ in range(2))
    scores = many.learn_many(X)
    fitted.partial_fit(X)
    np.testing.assert_array_equal(many.components_, fitted.components_)
    gaps = np.isnan(X).any(axis=1) if missing == "skip" else np.isnan(X).all(axis=1)
    np.testing.assert_array_equal(np.isnan(scores).any(axis=1), gaps)


def test_missing_values_say_what_to_do(online):
    with pytest.raises(ValueError, match="missing='skip'"):
        online().fit(with_gaps(paper(50), 0.1))


def test_gaps_in_input_without_noise_do_not_make_the_model_diverge(rng):
    """What is filled in is learnt, so that errors of the axes can feed on themselves."""
    t = np.arange(400)[:, None]
    slow = np.sin(2 * np.pi * t / rng.uniform(60, 400, 12) + rng.uniform(0, 6, 12))
    X = slow @ rng.standard_normal((12, 40))
    gappy = X.copy()
    for start in range(0, 400, 50):
        gappy[start : start + 50, rng.random(40) < 0.2] = np.nan
    model = OnlineAdaptivePCA(missing="impute", half_life=200)
    for row in gappy:
        model.partial_fit(row[None])
    assert model.explained_variance_.max() < X.var(axis=0).sum()
