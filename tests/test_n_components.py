"""``n_components``: a number is exactly that, a share is scikit-learn's, and both hold at once."""

import json
from functools import cache

import numpy as np
import pytest
from sklearn import datasets
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV

from eigenstream import (
    AdaptivePCA,
    FixedRank,
    Network,
    OnlineAdaptivePCA,
    VarianceShare,
    compare_to_offline,
    load,
    rules,
    streams,
)
from eigenstream.io import checkpoint
from tests.online_model import paper

BUNDLED = ("digits", "breast_cancer", "wine", "iris", "diabetes")
DRAWN = {
    "paper": lambda rng: paper(1500),
    "plant": lambda rng: np.vstack(list(streams.plant(1500, random_state=0))),
    "white": lambda rng: rng.standard_normal((500, 20)),
    "decaying": lambda rng: rng.standard_normal((800, 60)) * 0.8 ** np.arange(60),
    "few rows": lambda rng: rng.standard_normal((30, 50)) * np.linspace(3, 0.1, 50),
}


@cache
def rows_of(name, standardized=False):
    drawn = name in DRAWN
    X = DRAWN[name](np.random.default_rng(0)) if drawn else getattr(datasets, f"load_{name}")().data
    if standardized:
        deviations = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
    return X


@pytest.mark.parametrize("standardized", [False, True])
@pytest.mark.parametrize("name", [*BUNDLED, *DRAWN])
def test_a_share_has_the_rank_of_scikit_learns_pca(name, standardized):
    X = rows_of(name, standardized)
    for share in (0.5, 0.8, 0.95, 0.999):
        expected = PCA(n_components=share).fit(X).n_components_
        assert AdaptivePCA(share).fit(X).n_components_ == expected
        online = OnlineAdaptivePCA(share).fit(X)
        assert online.n_components_ == expected
        assert online.max_components_ == X.shape[1]
        assert compare_to_offline(online, X).rank_offline == expected


def test_wide_input_has_a_share_of_at_most_the_capacity():
    X = np.random.default_rng(0).standard_normal((400, 300))
    with pytest.warns(UserWarning, match="max_components=32"):
        assert OnlineAdaptivePCA(0.95).fit(X).n_components_ == 32
    with pytest.warns(UserWarning, match="max_components=32"):
        assert AdaptivePCA(0.95).fit(X).n_components_ == 32
    expected = PCA(n_components=0.5).fit(X).n_components_
    wide = OnlineAdaptivePCA(0.5, max_components=200, solver="subspace").fit(X)
    assert wide.n_components_ == expected


@pytest.mark.parametrize("number", [1, 3, 7, 64])
@pytest.mark.parametrize("half_life", [None, 300])
def test_a_number_is_exactly_that(online, number, half_life):
    X = paper(1500)
    if number == 64 and online.keywords["solver"] == "network":
        pytest.skip("a network does not hold on to its weakest directions")
    model = online(number, half_life=half_life, random_state=0).fit(X)
    assert model.n_components_ == model.max_components_ == number
    assert model.transform(X).shape[1] == number
    assert model.inverse_transform(model.transform(X)).shape == X.shape
    assert model.advice_ == ""
    assert compare_to_offline(model, X).rank_offline == number
    offline = AdaptivePCA(number).fit(X)
    assert offline.n_components_ == offline.transform(X).shape[1] == number


@pytest.mark.parametrize("solver", ["exact", "subspace"])
def test_the_threshold_lies_at_the_largest_variance_that_is_dropped(solver):
    X = paper(1500)
    lam = PCA().fit(X).explained_variance_ * (len(X) - 1) / len(X)
    model = OnlineAdaptivePCA(3, solver=solver).fit(X)
    assert model.threshold_ == pytest.approx(lam[3], rel=1e-6)
    assert AdaptivePCA(3).fit(X).threshold_ == pytest.approx(lam[3], rel=1e-9)
    assert compare_to_offline(model, X).eigenvalue_error < 1e-12


def test_there_are_fewer_only_while_the_data_have_fewer_directions(online):
    X = paper(300)
    model = online(5, random_state=0).partial_fit(X[:3])
    assert model.n_components_ == 2
    assert model.transform(X).shape[1] == 5
    assert model.partial_fit(X[3:]).n_components_ == 5
    flat = np.outer(np.arange(100.0), [1.0, 2.0, -1.0])
    for made in (online(2, random_state=0), AdaptivePCA(2)):
        assert made.fit(flat).n_components_ == 1
        assert not made.transform(flat)[:, 1].any()


def test_ties_do_not_add_components():
    corners = np.vstack((np.eye(6), -np.eye(6)))
    for model in (AdaptivePCA, OnlineAdaptivePCA):
        assert model(2).fit(corners).n_components_ == 2


def test_both_mean_the_same_as_their_rules():
    X = paper(600)
    for number, rule in ((3, FixedRank(3)), (0.7, VarianceShare(0.7))):
        one, other = (OnlineAdaptivePCA(value, random_state=0).fit(X) for value in (number, rule))
        assert one._tracker.plan == other._tracker.plan


def test_a_number_and_a_share_hold_at_once_under_forgetting():
    """No patience: the rank after each call is that of the model's own variances."""
    X = np.vstack(list(streams.changing_rank(2600, ranks={0: 3, 1300: 5}, random_state=0)))
    model = OnlineAdaptivePCA(0.8, half_life=100)
    for start in range(0, len(X), 100):
        model.partial_fit(X[start : start + 100])
        shares = np.cumsum(model.explained_variance_ratio_)
        assert (shares[:-1] <= 0.8).all()
        assert shares[-1] > 0.8


@pytest.mark.parametrize("number", [4, 0.9, "parallel", rules.ParallelAnalysis(), "auto"])
def test_files_hold_numbers_and_rules(number, tmp_path):
    X = paper(300)
    model = OnlineAdaptivePCA(number, solver=Network(init_samples=50), random_state=0).fit(X)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert rules.rule_of(again.n_components) == rules.rule_of(number)
    assert again.solver == model.solver
    assert again.partial_fit(X).threshold_ == model.partial_fit(X).threshold_
    stored = checkpoint.read(tmp_path / "model")[1]["parameters"]
    assert json.loads(json.dumps(stored)) == stored


def _closeness(model, X, y=None):
    return -float(np.mean((X - model.inverse_transform(model.transform(X))) ** 2))


def test_a_network_is_a_value():
    network = Network(init_samples=np.int64(30), consolidation=None)
    model = OnlineAdaptivePCA(solver=network)
    assert "Network(init_samples=" in repr(model)
    assert clone(model).solver == network
    assert model.set_params(solver="network").fit(paper(100)).get_params()["solver"] == "network"
    search = GridSearchCV(
        OnlineAdaptivePCA(3, random_state=0),
        {"solver": ["exact", Network(init_samples=20), Network(init_samples=0)]},
        scoring=_closeness,
        cv=2,
    )
    assert len(search.fit(paper(300)).cv_results_["params"]) == 3
