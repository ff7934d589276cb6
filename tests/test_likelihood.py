"""Log-likelihood, covariance and precision are those of scikit-learn's PCA with as many components."""

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, cross_val_score

from eigenstream import AdaptivePCA, OnlineAdaptivePCA, StreamMonitor
from tests.online_model import paper

SETS = {name: getattr(datasets, f"load_{name}") for name in ("breast_cancer", "wine", "iris", "diabetes")}


def rows_of(name):
    rng = np.random.default_rng(0)
    if name == "paper":
        return paper(1500)
    if name == "few rows":
        return rng.standard_normal((30, 50)) * np.linspace(3, 0.1, 50)
    return SETS[name]().data


@pytest.mark.parametrize("name", [*SETS, "paper", "few rows"])
@pytest.mark.parametrize("number", [1, 3, 4])
@pytest.mark.parametrize("model", [AdaptivePCA, OnlineAdaptivePCA])
def test_the_score_is_scikit_learns(name, number, model):
    X = rows_of(name)
    expected, ours = PCA(number).fit(X), model(number).fit(X)
    assert ours.n_components_ == number
    assert ours.score(X) == pytest.approx(expected.score(X), rel=1e-8)
    np.testing.assert_allclose(ours.score_samples(X), expected.score_samples(X), rtol=1e-8)
    largest = np.abs(expected.get_covariance()).max()
    np.testing.assert_allclose(ours.get_covariance(), expected.get_covariance(), atol=1e-8 * largest)
    precision = expected.get_precision()
    np.testing.assert_allclose(ours.get_precision(), precision, atol=1e-8 * np.abs(precision).max())


def test_the_rank_that_was_found_has_scikit_learns_score():
    X = paper(1500)
    model = OnlineAdaptivePCA().fit(X)
    assert model.score(X) == pytest.approx(PCA(model.n_components_).fit(X).score(X), rel=1e-8)


def test_units_are_those_of_the_input():
    """With ``standardize=True`` the model is that of scaled inputs, the density that of the input itself."""
    X = datasets.load_wine().data
    scale = X.std(axis=0)
    model, plain = OnlineAdaptivePCA(3, standardize=True).fit(X), PCA(3).fit(X / scale)
    np.testing.assert_allclose(
        model.get_covariance(), plain.get_covariance() * np.outer(scale, scale), rtol=1e-8
    )
    expected = plain.score_samples(X / scale) - np.log(scale).sum()
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-8)


def test_rows_that_are_skipped_do_not_count():
    X = paper(300)
    gappy = X.copy()
    gappy[5, 3] = np.nan
    model = OnlineAdaptivePCA(3, missing="skip").fit(gappy)
    assert np.isnan(model.score_samples(gappy)).sum() == 1
    assert model.score(gappy) == pytest.approx(model.score(np.delete(gappy, 5, axis=0)), rel=1e-12)


def test_the_number_can_be_cross_validated():
    X = paper(600)
    found = [cross_val_score(OnlineAdaptivePCA(number), X, cv=3).mean() for number in (2, 4)]
    assert found[1] > found[0]


@pytest.mark.parametrize("method", ["impute", "learn_and_impute"])
def test_filled_rows_come_in_the_container_that_was_asked_for(method):
    table = pd.DataFrame(paper(200)[:, :4], columns=list("abcd"), index=np.arange(200) * 10)
    table.iloc[3, 1] = np.nan
    model = OnlineAdaptivePCA(2, missing="impute").fit(table)
    assert isinstance(getattr(model, method)(table), np.ndarray)
    filled = getattr(model.set_output(transform="pandas"), method)(table)
    assert list(filled.columns) == list("abcd")
    assert filled.index.equals(table.index)
    assert not filled.isna().to_numpy().any()


class TestParametersOfAMonitor:
    @pytest.mark.parametrize("confirm", ["3/5", (3, 5)])
    def test_three_of_five(self, confirm):
        monitor = StreamMonitor(confirm=confirm).fit(paper(100))
        assert monitor._monitor.settings.confirm == (3, 5)

    @pytest.mark.parametrize("confirm", ["3/", "5/3", "x", "1/2/3", 0, (1, 2, 3), True, None])
    def test_others_are_refused(self, confirm):
        with pytest.raises(ValueError, match="such as '3/5'"):
            StreamMonitor(confirm=confirm).fit(paper(100))

    def test_a_number_is_no_model(self):
        with pytest.raises(TypeError, match="model must be an OnlineAdaptivePCA or None, got 100"):
            StreamMonitor(100).fit(paper(100))

    def test_the_default_model_has_parameters(self):
        monitor = StreamMonitor()
        assert monitor.get_params()["model__standardize"] is True
        assert "model__half_life" not in monitor.get_params(deep=False)
        monitor.set_params(model__half_life=50)
        assert (monitor.model.half_life, monitor.model.standardize) == (50, True)
        search = GridSearchCV(
            StreamMonitor(),
            {"model__half_life": [100, 500]},
            scoring=lambda model, X, y=None: float(np.mean(model.score_samples(X))),
            cv=2,
        ).fit(paper(400))
        assert search.best_params_["model__half_life"] in (100, 500)
