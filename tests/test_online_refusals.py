"""What is refused, and that nothing has changed then; every solver."""

import numpy as np
import pytest

from eigenstream import InputOutput, merge
from tests.online_model import paper, stored, with_gaps


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": "best"}, "'auto'"),
        ({"regularizer": InputOutput(0.1), "alpha": 0.1}, "brings its own alpha"),
        ({"regularizer": "nuclear"}, "nuclear"),
        ({"max_components": 65}, "n_features=64"),
        ({"half_life": 0}, "half_life"),
        ({"half_life": -5}, "half_life"),
        ({"solver": "magic"}, "solver"),
        ({"missing": "ignore"}, "missing"),
        ({"scores": "raw"}, "scores"),
        ({"init_samples": -1}, "init_samples"),
        ({"init_samples": "many"}, "init_samples"),
        ({"consolidation": 1.0}, "consolidation"),
        ({"consolidation": "often"}, "consolidation"),
        ({"spontaneous_activity": -0.1}, "spontaneous_activity"),
        ({"spontaneous_activity": "some"}, "spontaneous_activity"),
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
