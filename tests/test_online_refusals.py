"""What is refused, and that nothing has changed then; every solver."""

import numpy as np
import pytest

from eigenstream import InputOutput, Network, merge
from tests.online_model import paper, stored, with_gaps


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": "best"}, "is n_components"),
        ({"n_components": "best"}, "'auto'"),
        ({"n_components": 0}, "got 0"),
        ({"n_components": True}, "got True"),
        ({"n_components": 1.0}, "got 1.0"),
        ({"n_components": 65}, "at most n_features"),
        ({"n_components": 3, "max_components": 2}, "its own capacity"),
        ({"n_components": 3, "alpha": 0.1}, "give one of them"),
        ({"n_components": 3, "regularizer": InputOutput(0.1)}, "give one of them"),
        ({"regularizer": InputOutput(0.1), "alpha": 0.1}, "brings its own alpha"),
        ({"regularizer": "nuclear"}, "nuclear"),
        ({"max_components": 65}, "n_features=64"),
        ({"half_life": 0}, "half_life"),
        ({"half_life": -5}, "half_life"),
        ({"solver": "magic"}, "solver"),
        ({"missing": "ignore"}, "missing"),
        ({"scores": "raw"}, "scores"),
    ],
)
def test_bad_parameters_are_named_and_change_nothing(online, options, says):
    X = paper(50)
    with pytest.raises(ValueError, match=says):
        online().set_params(**options).fit(X)
    model = online(random_state=0).fit(X)
    before = stored(model)[:2]
    model.set_params(**options)
    with pytest.raises(ValueError, match=says):
        model.fit(X[:, :64])
    assert stored(model)[:2] == before


@pytest.mark.parametrize(
    "settings",
    [
        {"init_samples": -1},
        {"init_samples": "many"},
        {"consolidation": 1.0},
        {"consolidation": "often"},
        {"spontaneous_activity": -0.1},
        {"spontaneous_activity": "some"},
    ],
)
def test_bad_settings_of_the_network_are_named(settings):
    (name,) = settings
    with pytest.raises(ValueError, match=name):
        Network(**settings)


@pytest.mark.parametrize("missing", ["raise", "skip", "impute"])
def test_bad_rows_are_refused_before_anything_changes(online, missing):
    X = paper(60)
    model = online(missing=missing, random_state=0).fit(X)
    before = stored(model)
    bad = {
        "width": X[:, :5],
        "dimension": X[0],
        "empty": X[:0],
        "infinite": np.where(np.arange(64) == 3, np.inf, X),
        "complex": X * 1j,
        "text": np.array([["a"] * 64], dtype=object),
    }
    if missing == "raise":
        bad["nan"] = with_gaps(X, 0.1)
    for name, rows in bad.items():
        with pytest.raises((ValueError, TypeError)):
            model.partial_fit(rows)
        if name != "width":
            with pytest.raises((ValueError, TypeError)):
                model.fit(rows)
        assert stored(model) == before, name
    for weights in (np.full(60, -1.0), np.full(60, np.nan), np.ones(3), np.full(60, np.inf)):
        with pytest.raises(ValueError, match="sample_weight"):
            model.partial_fit(X, sample_weight=weights)
        assert stored(model) == before


def test_bad_vectors_are_refused_before_anything_changes(online):
    model = online(random_state=0).fit(paper(60))
    before = stored(model)
    for x in (np.zeros(3), np.zeros((1, 64)), np.full(64, np.nan), np.full(64, np.inf), ["a"] * 64):
        with pytest.raises((ValueError, TypeError)):
            model.learn_one(x)
        assert stored(model) == before


def test_an_unfitted_model_says_so(online):
    model = online()
    with pytest.raises(AttributeError, match="has not learnt anything"):
        _ = model.n_components_
    with pytest.raises(Exception, match="not fitted"):
        model.transform(np.zeros((1, 3)))
    with pytest.raises(Exception, match="not fitted"):
        merge([model])


@pytest.mark.parametrize(("dtype", "huge"), [(np.float64, 1e80), (np.float32, 1e11)])
def test_values_whose_squares_overflow_are_refused(online, dtype, huge):
    X = paper(300).astype(dtype)
    model = online(random_state=0, missing="impute").fit(X)
    before = stored(model)
    rows = X[:3].copy()
    rows[1, 5], rows[2, 6] = huge, np.nan
    for call in (model.partial_fit, model.fit, lambda rows: model.learn_one(rows[1])):
        with pytest.raises(ValueError, match="too large"):
            call(rows)
        assert stored(model) == before
    largest = {np.float64: 1e65, np.float32: 1e8}[dtype]
    big = online(random_state=0).fit(X * dtype(largest))
    assert big.n_components_ == 4
    assert np.isfinite(big.transform(X * dtype(largest))).all()
