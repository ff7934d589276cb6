"""OnlineAdaptivePCA keeps scikit-learn's contract, our own streaming contract, and its bits."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from eigenstream import Network, OnlineAdaptivePCA
from eigenstream.estimators.checks import (
    check_learn_one,
    check_saving_midstream,
    sample_stream,
    streaming_checks,
)
from tests.marks import slow
from tests.online_model import paper, stored, with_gaps

pytestmark = pytest.mark.filterwarnings("ignore:the rank has reached max_components:UserWarning")


@parametrize_with_checks(
    [
        OnlineAdaptivePCA(),
        OnlineAdaptivePCA(standardize=True, half_life=100),
        OnlineAdaptivePCA(solver="subspace"),
        OnlineAdaptivePCA(solver="network"),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


VARIANTS = {
    "defaults": {},
    "fixed": {"alpha": 0.05, "max_components": 5},
    "squared-output": {"regularizer": "squared-output", "half_life": 80},
    "scale-dependent": {"regularizer": "scale-dependent", "center": False},
    "paper": {
        "solver": Network(init_samples=0, consolidation=None, spontaneous_activity=0),
        "alpha": 0.05,
    },
    "forgetting": {"half_life": 50, "max_components": 4},
    "standardized": {"standardize": True, "lags": 1, "half_life": 50},
}


def options_for(variant, online):
    """The parameters of a variant, or a reason why this solver has none."""
    options, solver = VARIANTS[variant], online.keywords["solver"]
    if "solver" in options and solver != "network":
        pytest.skip("the paper's switches concern the network only")
    if options.get("standardize") and solver == "network":
        pytest.skip("the network does not standardize")
    return options


FURTHER = {"paper", "fixed", "scale-dependent", "squared-output", "forgetting"}
"""Variants with nothing that the others lack; `test_chunking_is_exact_to_the_bit` tries them, too."""


@pytest.mark.parametrize("check", streaming_checks(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("variant", [slow(name) if name in FURTHER else name for name in VARIANTS])
def test_streaming_contract(online, check, variant):
    options = options_for(variant, online)
    check(lambda: online(random_state=0, **options))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("dtype", "gaps"), [(np.float64, 0.05), slow(np.float32, 0), slow(np.float64, 0), slow(np.float32, 0.05)]
)
def test_chunking_is_exact_to_the_bit(online, variant, dtype, gaps):
    """Through the start, blocks, looks and consolidations, whatever the cuts: model and scores."""
    X = with_gaps(sample_stream(500, dtype=dtype), gaps)
    rng = np.random.default_rng(0)
    options = dict(VARIANTS[variant])
    if online.keywords["solver"] == "network":
        options["standardize"] = False
    else:
        options["solver"] = online.keywords["solver"]

    def made():
        return online(random_state=0, missing="impute", **options)

    whole = made()
    scores = whole.learn_many(X)
    for _ in range(2):
        parts, pieces = made(), []
        for chunk in np.split(X, np.sort(rng.integers(1, 500, 12))):
            if len(chunk):
                pieces.append(parts.learn_many(chunk))
        assert stored(parts) == stored(whole)
        np.testing.assert_array_equal(np.vstack(pieces), scores)
        np.testing.assert_array_equal(parts.components_, whole.components_)


def test_a_foreign_class_that_saves_passes_the_battery():
    """A class with `save` and no `load` anywhere near it is skipped with a reason, not failed."""

    class Foreign(OnlineAdaptivePCA):
        def save(self, path):
            raise AssertionError("never called")

    Foreign.__module__ = "numpy"
    with pytest.raises(pytest.skip.Exception, match="load"):
        _run(check_saving_midstream, Foreign)
    with pytest.raises(pytest.skip.Exception, match="learn_one"):
        _run(check_learn_one, object)


def _run(check, make):
    """A check whose reason to skip is handed on to pytest."""
    import unittest

    try:
        check(make)
    except unittest.SkipTest as reason:
        pytest.skip(str(reason))


def test_works_with_the_rest_of_scikit_learn(online):
    X = paper(500)
    y = (X @ np.linspace(-1, 1, 64) > 0).astype(int)
    make_pipeline(online(random_state=0), LogisticRegression()).fit(X, y).predict(X)
    frame = online(max_components=6).set_output(transform="pandas").fit_transform(pd.DataFrame(X))
    assert list(frame.columns) == [f"onlineadaptivepca{i}" for i in range(6)]
    model = online(half_life=10, random_state=3)
    assert clone(model).get_params() == model.get_params()
