"""Standardized inputs: the units that inputs come in do not matter."""

import functools

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenstream import AdaptivePCA, OnlineAdaptivePCA, compare_half_lives, compare_to_offline, load, merge
from eigenstream.rank import ParallelAnalysis
from tests.online_model import live_signal, stored, with_gaps

UNITS = 10.0 ** np.random.default_rng(1).permutation(np.linspace(-6, 6, 30))


@pytest.fixture(params=["exact", "subspace"])
def standardizing(request):
    return functools.partial(OnlineAdaptivePCA, solver=request.param, standardize=True)


def even_signal(rng, rows):
    """Three components in 30 inputs, off centre; every input has as much noise in it."""
    signs = np.where(rng.uniform(size=(3, 30)) < 0.5, -1.0, 1.0)
    return rng.standard_normal((rows, 3)) @ signs + 0.3 * rng.standard_normal((rows, 30)) + 2


@pytest.fixture
def signal(rng):
    return even_signal(rng, 900)


@pytest.mark.parametrize(
    "options",
    [{}, {"half_life": 100}, {"outliers": "cap"}, {"missing": "impute"}, {"missing": "skip"}, {"lags": 1}],
    ids=str,
)
def test_units_do_not_matter(standardizing, signal, options):
    if "missing" in options:
        signal = with_gaps(signal, 0.01)
    if "outliers" in options:
        signal[[300, 500]] *= 1e3
    one, other = standardizing(**options), standardizing(**options)
    before = one.learn_many(signal), other.learn_many(signal * UNITS)
    if "outliers" not in options:
        assert one.n_components_ == 3 * (1 + options.get("lags", 0))
    assert one.n_components_ == other.n_components_
    assert one.rank_history_ == other.rank_history_
    assert one.tally_ == other.tally_
    np.testing.assert_allclose(before[0], before[1], atol=1e-6)
    np.testing.assert_allclose(one.transform(signal), other.transform(signal * UNITS), atol=1e-6)
    if "missing" not in options:
        np.testing.assert_allclose(
            one.squared_residuals(signal), other.squared_residuals(signal * UNITS), rtol=1e-6, atol=1e-8
        )
        back = [
            model.inverse_transform(model.transform(x))
            for model, x in ((one, signal), (other, signal * UNITS))
        ]
        np.testing.assert_allclose(back[0], back[1] / UNITS, atol=1e-6)


def test_offline_is_a_standard_scaler_and_pca(signal):
    X = signal * UNITS
    model = AdaptivePCA(standardize=True, scores="projected").fit(X)
    pipeline = make_pipeline(StandardScaler(), PCA(3)).fit(X)
    np.testing.assert_allclose(model.scale_, pipeline[0].scale_)
    np.testing.assert_allclose(model.mean_, pipeline[0].mean_)
    T = len(X)
    np.testing.assert_allclose(model.explained_variance_, pipeline[1].explained_variance_ * (T - 1) / T)
    overlap = model.components_ @ pipeline[1].components_.T
    np.testing.assert_allclose(np.abs(overlap), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(X)), pipeline.inverse_transform(pipeline.transform(X))
    )


@pytest.mark.parametrize("half_life", [None, 80])
def test_online_is_offline_to_rounding(signal, half_life):
    model = OnlineAdaptivePCA(solver="exact", standardize=True, half_life=half_life).fit(signal * UNITS)
    report = compare_to_offline(model, signal * UNITS)
    assert report.rank_online == report.rank_offline == 3
    assert max(report.variance_errors) < 1e-12
    assert report.subspace_error < 1e-12
    if half_life is None:
        np.testing.assert_allclose(model.scale_, signal.std(axis=0) * UNITS, rtol=1e-12)


def test_a_wide_subspace_agrees_with_offline(rng):
    """Where directions are let go, scales are exact all the same, and variances nearly so."""
    X = live_signal(rng, 2000, width=300, rank=4) * 10.0 ** rng.uniform(-3, 3, 300)
    model = OnlineAdaptivePCA(solver="subspace", standardize=True, max_components=8).fit(X)
    report = compare_to_offline(model, X)
    assert report.rank_online == report.rank_offline == 4
    assert max(report.variance_errors) < 1e-3
    np.testing.assert_allclose(model.scale_, X.std(axis=0), rtol=1e-12)


def test_without_the_option_there_is_no_scale(signal):
    assert AdaptivePCA().fit(signal).scale_ is None
    assert OnlineAdaptivePCA().fit(signal).scale_ is None


def test_inputs_that_do_not_vary_have_scale_1(standardizing, signal):
    signal[:, 4], signal[:, 9] = 7.3, 0.0
    model = standardizing().fit(signal)
    np.testing.assert_array_equal(model.scale_[[4, 9]], 1.0)
    np.testing.assert_array_equal(AdaptivePCA(standardize=True).fit(signal).scale_[[4, 9]], 1.0)
    np.testing.assert_allclose(model.components_[:, [4, 9]], 0.0, atol=1e-15)


@pytest.mark.parametrize("options", [{}, {"half_life": 20}, {"half_life": 20, "outliers": "cap"}], ids=str)
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_an_input_that_begins_to_vary_late_does_no_harm(standardizing, signal, options, unit):
    late = signal.copy()
    late[:500, 5] = late[0, 5]
    late[:, 5] *= unit
    model = standardizing(**options)
    scores = model.learn_many(late)
    assert np.abs(scores[:500]).max() < 50
    if not options:
        assert model.n_components_ == AdaptivePCA(standardize=True).fit(late).n_components_
    elif "outliers" not in options:
        assert model.n_components_ == 3
    expected = unit * standardizing(**options).fit(signal).scale_[5] if options else late[:, 5].std()
    np.testing.assert_allclose(model.scale_[5], expected, rtol=0.3)


def test_an_input_that_stops_varying_is_not_noise_of_rounding(standardizing, signal):
    """After 100 half-lives nothing but rounding errors of its mean is left of it."""
    signal[200:, 5] = 1234.5678
    model = standardizing(half_life=5, max_components=4).fit(signal[:200])
    for _ in range(3):
        model.partial_fit(signal[200:])
    assert model.scale_[5] == 1.0
    np.testing.assert_allclose(model.components_[:, 5], 0.0, atol=1e-6)


def test_one_outlier_leaves_scale_and_rank(standardizing, rng):
    signal = even_signal(rng, 4000)
    plain = standardizing(outliers="cap").fit(signal * UNITS)
    signal[3000] += 1e4
    signal[3500, 7] = -999.0
    model = standardizing(outliers="cap").fit(signal * UNITS)
    assert model.tally_.capped == 2
    assert model.n_components_ == 3
    np.testing.assert_allclose(model.scale_, plain.scale_, rtol=0.01)


def test_gaps_are_filled_in_standardized_units(standardizing, signal):
    full = standardizing().fit(signal * UNITS)
    model = standardizing(missing="impute").fit(with_gaps(signal * UNITS, 0.2))
    assert model.n_components_ == 3
    np.testing.assert_allclose(model.explained_variance_, full.explained_variance_, rtol=0.1)
    np.testing.assert_allclose(model.scale_, full.scale_, rtol=0.15)
    assert model._reading.total_variance == pytest.approx(30, rel=0.02)


def test_merged_models_have_the_scale_of_the_whole(standardizing, signal):
    X = signal * UNITS
    X[:400, 3] = 5.0  # varies in the second half only
    merged = merge([standardizing().fit(part) for part in (X[:400], X[400:])])
    whole = standardizing().fit(X)
    np.testing.assert_allclose(merged.scale_, whole.scale_, rtol=1e-9)
    # The whole knows that the input began to vary once, which is no fourth component; its parts do not.
    np.testing.assert_allclose(merged.explained_variance_[:3], whole.explained_variance_[:3], rtol=1e-9)
    merged.partial_fit(X)
    np.testing.assert_allclose(merged.scale_, standardizing().fit(np.vstack((X, X))).scale_, rtol=1e-9)


def test_merging_two_constants_does_not_make_an_input_of_rounding_errors(standardizing, signal):
    signal[:, 3] = 0.1
    merged = merge([standardizing().fit(part) for part in np.split(signal, [299, 700])])
    assert merged.scale_[3] == 1.0
    assert merged.partial_fit(signal).scale_[3] == 1.0


@pytest.mark.parametrize("cut", [10, 40, 300])
def test_a_file_continues_exactly(standardizing, signal, cut, tmp_path):
    model = standardizing(half_life=100).fit(signal[:cut])
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert stored(model.partial_fit(signal[cut:])) == stored(again.partial_fit(signal[cut:]))


def test_models_that_standardize_and_models_that_do_not_cannot_be_merged(signal):
    with pytest.raises(ValueError, match="different standardize"):
        merge([OnlineAdaptivePCA().fit(signal), OnlineAdaptivePCA(standardize=True).fit(signal)])


def test_the_network_refuses(signal):
    with pytest.raises(ValueError, match=r"standardize=True needs solver='exact' or 'subspace'"):
        OnlineAdaptivePCA(solver="network", standardize=True).fit(signal)


def test_surprise_does_not_depend_on_units(signal):
    """A likelihood changes by a constant with the units, the same for every half-life."""
    tried = [compare_half_lives(x, (50, None), standardize=True) for x in (signal, signal * UNITS)]
    differences = [one[0].surprise - one[1].surprise for one in tried]
    assert differences[0] == pytest.approx(differences[1], rel=1e-6)


def test_advice_says_standardize_where_units_differ(signal):
    for model in (AdaptivePCA, OnlineAdaptivePCA):
        raw = model(n_components=ParallelAnalysis()).fit(signal * UNITS)
        assert "standardize=True" in raw.advice_
        assert model(n_components=ParallelAnalysis(), standardize=True).fit(signal * UNITS).advice_ == ""


def test_other_ranks_of_the_offline_model(signal):
    assert AdaptivePCA().fit(signal).other_ranks_["edge"] == 3
