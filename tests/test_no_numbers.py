"""What holds no numbers is refused with a sentence, and what is masked is missing, wherever rows come in.

NumPy makes numbers of times and of complex values without a word, and of masked values whatever stands
below the mask: a model of these would be of nothing that anybody has measured.
"""

import datetime
import warnings

import numpy as np
import pandas as pd
import pytest

from eigenstream import AdaptivePCA, OnlineAdaptivePCA, StreamMonitor, calibrate_alpha
from eigenstream.array_types import as_numbers
from eigenstream.keyed import Bank, MonitorBank
from eigenstream.model import StreamModel
from eigenstream.monitoring import MonitoredModel

X = np.random.default_rng(0).standard_normal((150, 3)) * [3.0, 1.0, 1.0]
DAYS = (np.datetime64("2026-01-01") + np.arange(450).reshape(150, 3)).astype("datetime64[ns]")
PASSED = DAYS - DAYS[0, 0]
NO_NUMBERS = {
    "datetime64": DAYS,
    "timedelta64": PASSED,
    "complex": X + 1j,
    "data frame of dates": pd.DataFrame(DAYS, columns=list("abc")),
    "data frame with one column of dates": pd.DataFrame({"a": X[:, 0], "b": DAYS[:, 0], "c": X[:, 2]}),
    "objects: datetime64": np.array(
        [[np.datetime64(day, "ns") for day in row] for row in DAYS], dtype=object
    ),
    "objects: datetime": DAYS.astype("datetime64[us]").astype(object),
    "objects: timedelta": PASSED.astype("timedelta64[us]").astype(object),
    "objects: complex": (X + 1j).astype(object),
    "objects: dictionaries": np.array([[{}] * 3] * 150, dtype=object),
    "lists of datetime": DAYS.astype("datetime64[us]").tolist(),
    "lists of datetime64": [list(row) for row in DAYS],
    "masked datetime64": np.ma.array(DAYS, mask=DAYS == DAYS[0, 0]),
    "texts": np.full((150, 3), "much"),
}


SENTENCE = r"real numbers|must be .*number|could not convert string|expected a table of numbers"


def first_row(rows):
    return rows.iloc[0].to_numpy() if isinstance(rows, pd.DataFrame) else rows[0]


LEARNING = ("fit", "partial_fit", "learn_many")
READING = ("transform", "score_samples", "squared_residuals", "impute", "score")
METHODS = [
    *((AdaptivePCA, name) for name in ("fit", *READING)),
    *((OnlineAdaptivePCA, name) for name in LEARNING + READING),
    *((StreamMonitor, name) for name in (*LEARNING, "judge", "predict", "score_samples", "contributions")),
]


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize(("kind", "method"), METHODS)
def test_estimators_refuse_what_holds_no_numbers(kind, method, fitted):
    if not fitted and method not in LEARNING:
        return
    for name, rows in NO_NUMBERS.items():
        model = kind().fit(X) if fitted else kind()
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # nothing is cast with a mere warning
            warnings.filterwarnings("ignore", "X does not have|X has feature names")
            with pytest.raises((ValueError, TypeError), match=SENTENCE) as refused:
                getattr(model, method)(rows)
        assert len(str(refused.value)) > 20, name


@pytest.mark.parametrize("kind", [OnlineAdaptivePCA, StreamMonitor])
@pytest.mark.parametrize("fitted", [False, True])
def test_single_rows_that_hold_no_numbers_are_refused(kind, fitted):
    for rows in NO_NUMBERS.values():
        model = kind().fit(X) if fitted else kind()
        with pytest.raises((ValueError, TypeError), match=SENTENCE):
            model.learn_one(first_row(rows))


@pytest.mark.parametrize(
    "name",
    [name for name in NO_NUMBERS if "frame" not in name and name not in ("texts", "objects: dictionaries")],
)
def test_models_and_banks_refuse_what_holds_no_numbers(name):
    rows = NO_NUMBERS[name]
    for learn in (
        StreamModel().learn_many,
        StreamModel().partial_fit(X).transform,
        StreamModel().partial_fit(X).squared_residuals,
        MonitoredModel().judge_many,
        lambda rows: Bank().learn_many(["a"] * 150, rows),
        lambda rows: MonitorBank().judge_many(["a"] * 150, rows),
        lambda rows: calibrate_alpha(rows, "input-output", n_components=1),
    ):
        with pytest.raises((ValueError, TypeError), match=SENTENCE):
            learn(rows)


def test_weights_and_scores_hold_numbers():
    model = OnlineAdaptivePCA(max_components=3).fit(X)
    for rows in (DAYS, PASSED, X + 1j):
        with pytest.raises(ValueError, match="sample_weight must be real numbers"):
            model.partial_fit(X, sample_weight=rows[:, 0])
        with pytest.raises(ValueError, match="scores must be real numbers"):
            model.inverse_transform(rows)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(X, sample_weight=np.ma.array(np.ones(150), mask=np.arange(150) == 7))


def test_river_refuses_what_is_no_number():
    pytest.importorskip("river", reason="needs eigenstream[river]")
    river = pytest.importorskip("eigenstream.integrations.river")
    for value in (DAYS[0, 0], PASSED[0, 1], 1j, datetime.datetime(2026, 1, 1), "much"):
        for made in (river.StreamingPCA(), river.AnomalyMonitor()):
            with pytest.raises(ValueError, match="expected a number"):
                made.learn_one({"x": 1.0, "y": value})
    with pytest.raises(ValueError, match="no numbers"):
        river.StreamingPCA().learn_many(pd.DataFrame({"x": [1.0, 2.0], "y": DAYS[:2, 0]}))
    pca = river.StreamingPCA()
    pca.learn_one({"x": 1.0, "y": np.ma.masked})
    assert pca.model.n_features_in_ == 1


MASK = np.random.default_rng(1).random(X.shape) < 0.1
MASKED = np.ma.array(np.where(MASK, 1e6, X), mask=MASK)
GAPS = np.where(MASK, np.nan, X)
AS_MASKED = {
    "array": MASKED,
    "float32": MASKED.astype(np.float32),
    "whole numbers": np.ma.array(np.where(MASK, 10**6, 10 * X).astype(int), mask=MASK),
    "list of rows": list(MASKED),
}


@pytest.mark.parametrize("name", AS_MASKED)
@pytest.mark.parametrize("missing", ["skip", "impute"])
def test_masked_values_are_missing(name, missing):
    masked = AS_MASKED[name]
    gaps = np.where(MASK, np.nan, np.array([np.ma.getdata(row) for row in masked]))
    gaps = gaps.astype(np.float32 if name == "float32" else np.float64)
    options = {"missing": missing, "random_state": 0}
    for learn in ("fit", "partial_fit", "learn_many"):
        one, other = OnlineAdaptivePCA(**options), OnlineAdaptivePCA(**options)
        getattr(one, learn)(masked), getattr(other, learn)(gaps)
        assert one._model.to_bytes() == other._model.to_bytes()
    for method in ("transform", "impute", "score_samples", "squared_residuals"):
        np.testing.assert_array_equal(getattr(one, method)(masked), getattr(other, method)(gaps))
    for masked_row, row in zip(masked, gaps, strict=True):
        np.testing.assert_array_equal(one.learn_one(masked_row), other.learn_one(row))
    monitors = [StreamMonitor(OnlineAdaptivePCA(**options)).fit(rows) for rows in (masked, gaps)]
    for masked_row, row in zip(masked, gaps, strict=True):
        monitors[0].learn_one(masked_row), monitors[1].learn_one(row)
    assert monitors[0]._model.to_bytes() == monitors[1]._model.to_bytes()
    banks = Bank(**options), Bank(**options)
    banks[0].learn_many(["a"] * 150, masked), banks[1].learn_many(["a"] * 150, gaps)
    assert banks[0].model("a").to_bytes() == banks[1].model("a").to_bytes()


@pytest.mark.parametrize("name", AS_MASKED)
def test_masked_values_are_refused_where_none_may_be_missing(name):
    masked = AS_MASKED[name]
    for learn in (
        AdaptivePCA().fit,
        AdaptivePCA().fit(X).transform,
        OnlineAdaptivePCA().fit,
        OnlineAdaptivePCA().fit(X).transform,
        StreamMonitor().fit,
        StreamMonitor().fit(X).predict,
        lambda rows: Bank().learn_many(["a"] * 150, rows),
        lambda rows: MonitorBank().judge_many(["a"] * 150, rows),
    ):
        with pytest.raises(ValueError, match="NaN"):
            learn(masked)
    whole = np.ma.array(X)
    assert as_numbers(whole).tolist() == X.tolist()


def test_a_mask_over_infinity_hides_it():
    rows = np.ma.masked_invalid(np.where(MASK, np.inf, X))
    model = OnlineAdaptivePCA(missing="impute").fit(rows)
    assert np.isfinite(model.mean_).all()
