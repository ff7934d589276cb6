"""Models merged, and compared with the closed form; every solver."""

import numpy as np
import pytest

from eigenstream import AdaptivePCA, OnlineAdaptivePCA, compare_to_offline, merge, metrics
from tests.online_model import paper, stored


def test_merged_shards_know_what_one_model_knows(online, kind):
    X = paper(8000)
    alpha = {"scale-dependent": 1.0, "input-output": 0.05, "squared-output": 0.08}[kind.name]
    shards = [online(regularizer=kind(alpha), random_state=i).fit(X[i::4]) for i in range(4)]
    before = [stored(model) for model in shards]
    merged = merge(shards)
    assert [stored(model) for model in shards] == before
    truth = AdaptivePCA(regularizer=kind(alpha)).fit(X)
    assert merged.n_components_ == truth.n_components_
    assert merged.n_samples_seen_ == 8000
    np.testing.assert_allclose(merged.explained_variance_, truth.explained_variance_, rtol=0.02)
    np.testing.assert_allclose(merged.mean_, X.mean(axis=0), atol=1e-10)
    assert metrics.subspace_error(merged.components_, truth.components_, normalize="relative") < 1e-3
    assert merged.threshold_ == pytest.approx(truth.threshold_, rel=0.02)
    backwards = merge(shards[::-1])
    np.testing.assert_allclose(backwards.explained_variance_, merged.explained_variance_, rtol=1e-9)
    merged.partial_fit(X[:500])
    assert merged.n_components_ == truth.n_components_


def test_merging_sees_the_distance_between_means(online, kind):
    """Two shards around different means: the joint model has the direction between them."""
    rng = np.random.default_rng(0)
    X = 0.3 * rng.standard_normal((2000, 10))
    X[:1000, 0] += 5
    alpha = {"scale-dependent": 1.0, "input-output": 0.1, "squared-output": 0.2}[kind.name]
    merged = merge([online(regularizer=kind(alpha), random_state=0).fit(part) for part in np.split(X, 2)])
    truth = AdaptivePCA(regularizer=kind(alpha)).fit(X)
    assert merged.n_components_ == truth.n_components_ == 1
    np.testing.assert_allclose(merged.explained_variance_, truth.explained_variance_, rtol=0.02)
    assert abs(merged.components_[0, 0]) > 0.99


def test_a_tree_of_merges_agrees(online):
    X = paper(8000)
    models = [online(alpha=0.05, random_state=i).fit(X[i::4]) for i in range(4)]
    flat, tree = merge(models), merge([merge(models[:2]), merge(models[2:])])
    np.testing.assert_allclose(tree.explained_variance_, flat.explained_variance_, rtol=1e-3)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"alpha": 0.2}, "n_components or alpha"),
        ({"regularizer": "squared-output"}, "regularizer"),
        ({"half_life": 100}, "half_life"),
        ({"center": False}, "centering"),
        ({"max_components": 5}, "max_components"),
    ],
)
def test_incompatible_models_are_refused(online, options, word):
    one = online(alpha=0.1).fit(paper(100))
    with pytest.raises(ValueError, match=f"different {word}"):
        merge([one, online(**{"alpha": 0.1, **options}).fit(paper(100))])
    with pytest.raises(ValueError, match="number of features"):
        merge([one, online(alpha=0.1).fit(paper(100)[:, :40])])
    with pytest.raises(ValueError, match="nothing to merge"):
        merge([])
    with pytest.raises(TypeError, match="got AdaptivePCA"):
        merge([one, AdaptivePCA().fit(paper(100))])


@pytest.mark.parametrize("half_life", [None, 400])
def test_online_is_compared_with_offline(online, kind, half_life):
    X = paper(4000)
    model = online(regularizer=kind.name, half_life=half_life, random_state=0).fit(X)
    report = compare_to_offline(model, X)
    assert report.rank_online == report.rank_offline == 4
    assert report.eigenvalue_error < 0.02
    assert report.subspace_error < 0.02
    text = str(report)
    assert "online" in text
    assert "offline" in text
    assert "4,000 samples" in text
    wrong = compare_to_offline(model, paper(4000, seed=9))
    assert wrong.subspace_error > 0.3
    with pytest.raises(ValueError, match="n_features=64"):
        compare_to_offline(model, X[:, :10])


@pytest.mark.parametrize("solver", ["exact", "subspace"])
@pytest.mark.parametrize("standardize", [False, True])
def test_axes_point_to_where_those_of_one_model_of_all_rows_do(solver, standardize):
    """With axes of no large entry, which by chance alone would point to the other side every second time."""
    opposite = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        turned = np.linalg.qr(rng.standard_normal((12, 12)))[0]
        X = rng.standard_normal((800, 12)) * np.r_[6.0, 4.0, 2.5, np.full(9, 0.3)] @ turned
        model = {"solver": solver, "n_components": 3, "standardize": standardize}
        whole = OnlineAdaptivePCA(**model).fit(X)
        merged = merge([OnlineAdaptivePCA(**model).fit(part) for part in np.split(X, 4)])
        opposite += np.sum(np.sum(merged.components_ * whole.components_, axis=1) < 0.5)
        merged.partial_fit(X[:200])  # and they stay there
        opposite += np.sum(np.sum(merged.components_ * whole.components_, axis=1) < 0.5)
    assert opposite == 0
