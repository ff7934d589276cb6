import subprocess
import sys
from itertools import islice

import numpy as np
import pandas as pd
import pytest

from eigenstream.estimators.checks import sample_stream
from eigenstream.model import StreamModel
from eigenstream.model.stored_form import stored
from eigenstream.monitoring import MonitoredModel

river = pytest.importorskip("river", reason="needs eigenstream[river]")
checks, linear_model, preprocessing = (
    pytest.importorskip(f"river.{name}") for name in ("checks", "linear_model", "preprocessing")
)
from eigenstream.integrations.river import AnomalyMonitor, StreamingPCA  # noqa: E402

NAMES = [f"x{i:02d}" for i in range(12)]


def samples(rows, names=NAMES):
    return [dict(zip(names, row.tolist(), strict=False)) for row in rows]


def learnt(rows, names=NAMES, **parameters):
    model = StreamingPCA(seed=0, **parameters)
    for x in samples(rows, names):
        model.learn_one(x)
    return model


def state(model):
    arrays, document = stored(model.model.tracker)
    return {name: array.tobytes() for name, array in arrays.items()}, document, model.inputs.places


@pytest.mark.parametrize("model", [StreamingPCA(), StreamingPCA(half_life=50, solver="subspace")])
def test_passes_every_check_of_river(model):
    assert not model._unit_test_skips()
    number = 0
    for check in checks.yield_checks(model):
        check(model.clone())
        number += 1
    assert number > 20


def test_the_model_is_that_of_the_library():
    rows = sample_stream(300)
    own = StreamModel(missing="impute", random_state=0).partial_fit(rows)
    arrays, document = stored(own.tracker)
    assert state(learnt(rows)) == (
        {name: array.tobytes() for name, array in arrays.items()},
        document,
        dict(zip(NAMES, range(12), strict=True)),
    )


@pytest.mark.parametrize("solver", ["exact", "subspace", "network"])
def test_mini_batches_give_the_bits_of_single_samples_while_features_come_and_go(solver):
    rows = sample_stream(300)
    rows[:40, 7:] = np.nan
    rows[:70, 9] = np.nan
    rows[100:200:3, 2] = np.nan
    rows[150:160] = np.nan
    table = pd.DataFrame(rows, columns=NAMES)
    one, many = (
        learnt(rows, solver=solver, max_components=5),
        StreamingPCA(max_components=5, solver=solver, seed=0),
    )
    for start in range(0, 300, 90):
        many.learn_many(table[start : start + 90])
    assert state(one) == state(many)
    scores = many.transform_many(table)
    assert scores.index.equals(table.index)
    assert scores.iloc[210].to_dict() == pytest.approx(one.transform_one(samples(rows)[210]))
    assert np.abs(scores.to_numpy()).max() > 1


def test_scores_find_the_components():
    rows = sample_stream(500)
    model = learnt(rows)
    scores = np.array([list(model.transform_one(x).values()) for x in samples(rows[400:])])
    assert model.model.n_components_ == 3
    assert scores.shape == (100, 12)
    assert (scores[:, 3:] == 0).all()
    # They rest on the first 448 rows: the last block before the end.
    np.testing.assert_allclose(scores[:, :3].var(axis=0), model.model.output_variance_, rtol=0.4)


def test_a_new_feature_was_constant_so_far():
    rows = sample_stream(400)
    late = rows.copy()
    late[:100, 10:] = rows[100, 10:]
    grown, always = StreamingPCA(max_components=8, seed=0), learnt(late, max_components=8)
    for x in samples(rows[:100], NAMES[:10]) + samples(rows[100:]):
        grown.learn_one(x)
    np.testing.assert_allclose(grown.model.spectrum_, always.model.spectrum_, rtol=1e-10)
    np.testing.assert_allclose(grown.model.mean_, always.model.mean_, rtol=1e-10)
    np.testing.assert_allclose(
        np.abs(grown.model.components_ @ always.model.components_.T), np.eye(3), atol=1e-8
    )
    assert grown.model.n_samples_seen_ == 400
    assert grown.model.tally_.learnt == 400
    assert len(grown.model.spectrum_history_.sample) > 3


def test_an_absent_feature_is_filled_in():
    rows = sample_stream(600)
    model = learnt(rows)
    x = samples(rows)[500]
    whole = np.array(list(model.transform_one(x).values()))
    partial = np.array(list(model.transform_one({name: x[name] for name in NAMES if name != "x03"}).values()))
    zeroed = np.array(list(model.transform_one(x | {"x03": 0.0}).values()))
    assert 0 < np.linalg.norm(partial - whole) < np.linalg.norm(zeroed - whole)
    assert model.transform_one(x | {"x03": None}) == model.transform_one(x | {"x03": float("nan")})
    assert model.transform_one(x | {"never seen": 5.0}) == model.transform_one(x)
    assert set(model.transform_one({}).values()) == {0.0}


def test_a_classifier_behind_it_beats_chance():
    rng = np.random.default_rng(0)
    pipeline = (
        preprocessing.StandardScaler()
        | StreamingPCA(max_components=4, seed=0)
        | linear_model.LogisticRegression()
    )
    right = 0
    labels = rng.uniform(size=800) < 0.5
    direction = rng.standard_normal(20)
    rows = rng.standard_normal((800, 20)) + np.outer(np.where(labels, 1.5, -1.5), direction)
    for x, y in zip(samples(rows, range(20)), labels.tolist(), strict=True):
        right += pipeline.predict_one(x) == y
        pipeline.learn_one(x, y)
    assert right / 800 > 0.8  # chance is 0.5


def test_nothing_learnt_has_no_scores():
    assert StreamingPCA().transform_one({"a": 1.0}) == {}
    assert StreamingPCA().transform_many(pd.DataFrame({"a": [1.0, 2.0]})).shape == (2, 0)
    model = StreamingPCA()
    model.learn_one({"a": None})
    assert model.model is None


def test_refused_samples_leave_the_model_as_it_was():
    model = learnt(sample_stream(100))
    before = state(model)
    x = samples(sample_stream(1))[0]
    for wrong, message in (("warm", "feature 'x04' is 'warm', expected a number"), (np.inf, "too large")):
        with pytest.raises(ValueError, match=message):
            model.learn_one(x | {"x04": wrong, "new": 1.0})
    with pytest.raises(ValueError, match="holds no numbers"):
        model.learn_many(pd.DataFrame([x | {"x04": "warm"}]))
    assert state(model) == before


def test_river_is_loaded_only_when_used_and_named_where_it_lacks():
    code = """
import sys, eigenstream, eigenstream.integrations
assert "river" not in sys.modules
sys.modules["river"] = None
try:
    import eigenstream.integrations.river
except ImportError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "to use eigenstream in river, pip install 'eigenstream[river]'"


def card_payments(frauds=0.01):
    """Stands in for river's credit cards, which are a download: 30 features, some rows strange."""
    rng = np.random.default_rng(0)
    axes = rng.standard_normal((5, 30))
    while True:
        fraud = bool(rng.uniform() < frauds)
        row = 2 * rng.standard_normal(5) @ axes + (3 if fraud else 1) * rng.standard_normal(30)
        yield (
            dict(zip([*(f"V{i}" for i in range(28)), "Amount", "Time"], row.tolist(), strict=True)),
            int(fraud),
        )


class Payments:
    """A third of the samples that river asks for: a basis for limits, and time to use them."""

    def take(self, number):
        return islice(card_payments(frauds=0.03), number // 3)


@pytest.mark.slow
def test_the_monitor_passes_every_check_of_river(monkeypatch):
    monkeypatch.setattr("river.datasets.CreditCard", Payments)
    model = AnomalyMonitor()
    assert not model._unit_test_skips()
    number = 0
    for check in checks.yield_checks(model):
        check(model.clone())
        number += 1
    assert number > 20


def test_the_monitor_ranks_strange_samples_above_usual_ones():
    model, scores, labels = AnomalyMonitor(seed=0), [], []
    for x, strange in islice(card_payments(0.02), 3000):
        scores.append(model.score_one(x))
        labels.append(strange)
        model.learn_one(x)
    scores, labels = np.array(scores[1000:]), np.array(labels[1000:], dtype=bool)
    assert scores[labels].min() > np.quantile(scores[~labels], 0.95)
    assert np.mean(scores[~labels] > 1) < 0.01


def test_scores_are_the_verdicts_of_the_library():
    rows = sample_stream(400)
    own = MonitoredModel(n_components="parallel", missing="impute", random_state=0).judge_many(rows)
    model, scores = AnomalyMonitor(seed=0), []
    for x in samples(rows):
        scores.append(model.score_one(x))
        model.learn_one(x)
    np.testing.assert_allclose(scores, own.severity, rtol=1e-9)
    assert max(scores) > 0.3


def test_the_monitor_grows_with_its_features():
    rows = sample_stream(900)
    model = AnomalyMonitor(seed=0)
    for x in samples(rows[:300], NAMES[:10]) + samples(rows[300:]):
        assert np.isfinite(model.score_one(x))
        model.learn_one(x)
    x = samples(rows)[800]
    assert model.score_one(x) < 1 < model.score_one(x | {"x11": 60.0})
