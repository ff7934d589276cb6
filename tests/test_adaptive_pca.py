import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from eigenstream import AdaptivePCA, InputOutput, SquaredOutput, offline, streams
from eigenstream.regularizers import REGULARIZERS
from tests.marks import slow

SELF_CALIBRATING = ["input-output", "squared-output"]


@pytest.fixture(scope="module")
def X():
    return np.vstack(list(streams.paper_stream(2000, random_state=0)))


def spiked(n, T, spikes, rng, scale=1.0):
    """White noise of variance 1 with a few larger variances, times a scale."""
    deviations = np.ones(n)
    deviations[: len(spikes)] = np.sqrt(spikes)
    return scale * rng.standard_normal((T, n)) * deviations


@parametrize_with_checks([AdaptivePCA(), AdaptivePCA(standardize=True)])
@pytest.mark.filterwarnings("ignore:more than max_components:UserWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("center", [True, False])
def test_it_is_the_offline_solution(kind, X, center):
    alpha = {"scale-dependent": 2.0, "input-output": 0.09, "squared-output": 0.22}[kind.name]
    shifted = X + 1.0
    model = AdaptivePCA(regularizer=kind(alpha), max_components=10, center=center).fit(shifted)
    data = shifted - shifted.mean(axis=0) if center else shifted
    solution = offline.solve(data, kind(alpha), 10)
    p = solution.n_components
    assert model.n_components_ == p
    assert model.max_components_ == 10
    assert model.alpha_ == alpha
    assert model.threshold_ == pytest.approx(solution.threshold)
    np.testing.assert_allclose(model.components_, solution.components[:p], atol=1e-9)
    np.testing.assert_allclose(model.explained_variance_, solution.eigenvalues[:p])
    np.testing.assert_allclose(model.output_variance_, solution.output_eigenvalues[:p])
    np.testing.assert_allclose(model.transform(shifted), solution.Y, atol=1e-9)


def test_projected_scores_without_shrinking_are_pca(X):
    ours = AdaptivePCA(alpha=0.01, scores="projected").fit(X)
    p = ours.n_components_
    theirs = PCA(p).fit(X)
    np.testing.assert_allclose(np.abs(ours.transform(X)[:, :p]), np.abs(theirs.transform(X)), atol=1e-9)
    unbiased = len(X) / (len(X) - 1)  # scikit-learn divides by T - 1, we by the (effective) count T
    np.testing.assert_allclose(ours.explained_variance_ * unbiased, theirs.explained_variance_)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_)
    np.testing.assert_allclose(ours.singular_values_, theirs.singular_values_)
    assert ours.noise_variance_ * unbiased == pytest.approx(theirs.noise_variance_)


@pytest.mark.parametrize("scores", ["shrunk", "projected"])
def test_round_trip_is_the_projection(X, scores):
    model = AdaptivePCA(scores=scores).fit(X)
    Z = model.transform(X)
    assert Z.shape == (len(X), 32)
    assert not Z[:, model.n_components_ :].any()
    projection = (X - model.mean_) @ model.components_.T @ model.components_ + model.mean_
    np.testing.assert_allclose(model.inverse_transform(Z), projection, atol=1e-10)
    np.testing.assert_allclose(model.squared_residuals(X), np.sum((X - projection) ** 2, axis=1), atol=1e-9)
    variance = np.var(Z[:, : model.n_components_], axis=0)
    expected = model.output_variance_ if scores == "shrunk" else model.explained_variance_
    np.testing.assert_allclose(variance, expected)


def test_outliers_score_high(X):
    model = AdaptivePCA().fit(X)
    odd = X[:5] + 10 * np.random.default_rng(0).standard_normal((5, 64))
    assert model.squared_residuals(odd).min() > model.squared_residuals(X).max()


def test_signs_are_fixed(X):
    U = AdaptivePCA().fit(X).components_
    assert np.all(U[np.arange(len(U)), np.abs(U).argmax(axis=1)] > 0)


@pytest.mark.parametrize(
    ("n", "ratio"),
    [(16, 2), (16, 100), (64, 10), slow(256, 2), *(slow(n, 100) for n in (64, 256))],
)
def test_white_noise_has_no_components(n, ratio, rng):
    draws = 2 if n * ratio > 10_000 else 12
    ranks = [
        AdaptivePCA(regularizer=name).fit(scale * rng.standard_normal((ratio * n, n))).n_components_
        for scale in (1e-3, 1.0, 1e3)
        for name in REGULARIZERS
        for _ in range(draws)
    ]
    assert np.mean(np.array(ranks) == 0) >= 0.99


@pytest.mark.slow
@pytest.mark.parametrize("n", [16, 64, 256])
@pytest.mark.parametrize("ratio", [2, 10, 100])
def test_white_noise_has_no_components_in_many_draws(n, ratio, rng):
    draws = 20 if n * ratio > 10_000 else 300
    for name in REGULARIZERS:
        ranks = [
            AdaptivePCA(regularizer=name).fit(rng.standard_normal((ratio * n, n))).n_components_
            for _ in range(draws)
        ]
        assert np.mean(np.array(ranks) == 0) >= 0.99


@pytest.mark.parametrize(("n", "ratio", "draws"), [(64, 10, 60), (64, 100, 10), (256, 10, 5)])
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_spikes_at_four_times_the_edge_are_counted(kind, n, ratio, draws, scale, rng):
    edge = (1 + np.sqrt(1 / ratio)) ** 2
    found = []
    for _ in range(draws):
        p = int(rng.integers(1, 9))
        spikes = 4 * edge * np.sort(rng.uniform(1, 10, p))[::-1]
        spikes[-1] = 4 * edge
        found.append(
            AdaptivePCA(regularizer=kind.name).fit(spiked(n, ratio * n, spikes, rng, scale)).n_components_
            == p
        )
    assert np.mean(found) >= 0.99


def test_a_giant_does_not_hide_a_small_one(kind, rng):
    for n, ratio in ((64, 10), (64, 100), (256, 10)):
        edge = (1 + np.sqrt(1 / ratio)) ** 2
        for _ in range(5):
            data = spiked(n, ratio * n, [1e4, 4 * edge], rng)
            assert AdaptivePCA(regularizer=kind.name).fit(data).n_components_ == 2


@pytest.mark.parametrize("T", [500, 1000, 5000])
def test_paper_stream_has_four(kind, T):
    for seed in range(10):
        data = np.vstack(list(streams.paper_stream(T, random_state=seed)))
        for scale in (1e-3, 1.0, 1e3):
            assert AdaptivePCA(regularizer=kind.name).fit(scale * data).n_components_ == 4


@pytest.mark.parametrize("name", SELF_CALIBRATING)
@pytest.mark.parametrize("alpha", [None, 0.05])
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
def test_units_do_not_matter(X, name, alpha, scale):
    one, other = (AdaptivePCA(regularizer=name, alpha=alpha).fit(X * s) for s in (1.0, scale))
    assert one.n_components_ == other.n_components_
    np.testing.assert_allclose(one.components_, other.components_, atol=1e-9)


def test_noise_free_low_rank_data(rng):
    data = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 20))
    assert AdaptivePCA().fit(data).n_components_ == 3
    assert AdaptivePCA().fit(data.astype(np.float32)).n_components_ == 3


@pytest.mark.parametrize(("inputs", "factors"), [(12, 2), (20, 3)])
def test_an_input_apart_from_others_is_no_component_of_standardized_ones(inputs, factors):
    """What factors leave of it is large beside what they leave of others: a gap, and nothing shared."""
    right = 0
    for seed in range(20):
        rng = np.random.default_rng(40_000 + seed)
        loadings = 2 * rng.standard_normal((factors, inputs))
        loadings[:, 0] *= 0.05
        X = rng.standard_normal((1_500, factors)) @ loadings + 0.5 * rng.standard_normal((1_500, inputs))
        right += AdaptivePCA(standardize=True).fit(X).n_components_ == factors
    assert right >= 19


def test_constant_columns_do_not_count_as_noise(rng):
    data = np.full((1000, 64), 0.1)
    data[:, :30] = spiked(30, 1000, [20.0, 10.0], rng)
    assert AdaptivePCA().fit(data).n_components_ == 2
    assert AdaptivePCA().fit(np.full((10, 5), 0.1)).n_components_ == 0
    assert AdaptivePCA(alpha=0.01).fit(np.full((10, 5), 0.1)).n_components_ == 0


@pytest.mark.parametrize("regularizer", sorted(REGULARIZERS))
@pytest.mark.parametrize("alpha", [None, 0.1])
def test_one_sample_says_nothing_about_variance(regularizer, alpha):
    model = AdaptivePCA(regularizer=regularizer, alpha=alpha).fit([[1.0, 2.0, 3.0]])
    assert model.n_components_ == 0
    np.testing.assert_array_equal(model.mean_, [1, 2, 3])
    np.testing.assert_array_equal(model.transform([[4.0, 5.0, 6.0]]), np.zeros((1, 3)))


def test_float32_stays(X):
    model = AdaptivePCA().fit(X.astype(np.float32))
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.components_.dtype == model.explained_variance_.dtype == np.float32
    assert model.inverse_transform(model.transform(X.astype(np.float32))).dtype == np.float32
    assert model.n_components_ == 4


def test_capacity_is_told_when_it_binds(X):
    with pytest.warns(UserWarning, match="more than max_components=2"):
        model = AdaptivePCA(max_components=2).fit(X)
    assert model.n_components_ == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AdaptivePCA(max_components=4).fit(X)


def test_pipeline_grid_search_and_pandas(X):
    y = (X @ np.linspace(-1, 1, 64) > 0).astype(int)
    pipeline = make_pipeline(AdaptivePCA(), LogisticRegression())
    search = GridSearchCV(pipeline, {"adaptivepca__n_components": ["auto", 2, 0.5]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.5
    frame = pd.DataFrame(X, columns=[f"sensor{i}" for i in range(64)])
    out = AdaptivePCA(max_components=6).set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns) == [f"adaptivepca{i}" for i in range(6)]
    assert list(AdaptivePCA().fit(frame).feature_names_in_) == list(frame.columns)


def test_pickles(X):
    model = AdaptivePCA(regularizer=SquaredOutput(0.1)).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.transform(X), again.transform(X))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": np.nan}, "alpha"),
        ({"alpha": "automatic"}, "is n_components"),
        ({"n_components": None}, "'auto'"),
        ({"regularizer": "nuclear"}, "nuclear"),
        ({"regularizer": InputOutput(0.1), "alpha": 0.1}, "brings its own alpha"),
        ({"max_components": 65}, "n_features=64"),
        ({"max_components": 0}, "max_components"),
        ({"max_components": 2.5}, "max_components"),
        ({"scores": "raw"}, "scores"),
    ],
)
def test_bad_parameters_are_named(X, options, says):
    with pytest.raises(ValueError, match=says):
        AdaptivePCA(**options).fit(X)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (np.zeros(4), "1D array"),
        (np.zeros((2, 2, 2)), "dim 3"),
        (np.zeros((0, 4)), "0 sample"),
        (np.zeros((4, 0)), "0 feature"),
        (
            np.array([[1.0, np.nan]] * 3),
            r"Input X contains NaN: AdaptivePCA does not learn .*missing='impute'",
        ),
        (np.array([[1.0, np.inf]] * 3), "infinity"),
        (np.array([[1j, 2]] * 3), "Complex"),
        (np.array([["a", "b"]] * 3, dtype=object), "could not convert"),
    ],
)
def test_bad_data_are_named_and_leave_the_model_alone(X, data, says):
    model = AdaptivePCA().fit(X)
    before = pickle.dumps(model.components_)
    with pytest.raises((ValueError, TypeError), match=says):
        model.fit(data)
    assert pickle.dumps(model.components_) == before
    with pytest.raises((ValueError, TypeError)):
        model.transform(data)


def test_scores_of_another_width_are_refused(X):
    with pytest.raises(ValueError, match="max_components_=32 columns, got 4"):
        AdaptivePCA().fit(X).inverse_transform(np.zeros((2, 4)))
