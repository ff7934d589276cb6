"""A half-life in time: rows are forgotten by the clock, not by their number."""

import functools
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from eigenstream import OnlineAdaptivePCA, compare_half_lives, compare_to_offline, load, merge
from eigenstream.learners.learner import Steps
from eigenstream.model import StreamModel
from eigenstream.model.pace import EvenPace
from eigenstream.rank import effective_samples
from tests.marks import slow
from tests.online_model import live_signal, stored, with_gaps

EPOCH = 1.7e9


@pytest.fixture(params=["exact", "subspace"])
def timed(request):
    return functools.partial(OnlineAdaptivePCA, solver=request.param, half_life="100s", random_state=0)


@pytest.fixture
def signal(rng):
    return live_signal(rng, 900, width=20) + 3


@pytest.fixture
def times(rng):
    """Uneven, some of them equal, with a pause of two half-lives."""
    steps = rng.exponential(size=900)
    steps[::7], steps[600] = 0.0, 200.0
    return EPOCH + np.cumsum(steps)


def even(number, start=0.0):
    return EPOCH + start + np.arange(number, dtype=float)


def test_even_times_are_a_half_life_in_samples(timed, signal):
    by_time, by_rows = timed().fit(signal, timestamps=even(900)), timed(half_life=100).fit(signal)
    assert by_time.n_components_ == by_rows.n_components_ == 4
    np.testing.assert_allclose(by_time.explained_variance_, by_rows.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(
        np.abs(by_time.transform(signal)), np.abs(by_rows.transform(signal)), atol=1e-9
    )
    assert by_time.beta_ == pytest.approx(by_rows.beta_, rel=1e-12)


def test_uneven_times_are_the_exact_discounted_answer(timed, signal, times):
    model = timed().fit(signal, timestamps=times)
    weights = 0.5 ** ((times[-1] - times) / 100)
    mean = weights @ signal / weights.sum()
    second = (signal - mean).T @ (weights[:, None] * (signal - mean)) / weights.sum()
    np.testing.assert_allclose(model.mean_, mean, rtol=1e-9)
    np.testing.assert_allclose(model.spectrum_[:4], np.linalg.eigvalsh(second)[:-5:-1], rtol=1e-9)
    report = compare_to_offline(model, signal, timestamps=times)
    assert report.rank_online == report.rank_offline == 4
    assert max(report.variance_errors) < 1e-9


def test_the_effective_number_of_samples_is_that_of_the_weights(timed, signal, times):
    """At every moment: while the window fills, after a pause, and long after."""
    for stop in (20, 100, 599, 601, 605, 640, 700, 900):
        evidence = timed(center=False).fit(signal[:stop], timestamps=times[:stop])._tracker.evidence()
        weights = 0.5 ** ((times[stop - 1] - times[:stop]) / 100)
        kish = weights.sum() ** 2 / (weights @ weights)
        assert evidence.effective == pytest.approx(kish, rel=1e-6)
        assert effective_samples(evidence.span, evidence.beta2) == evidence.effective


@pytest.mark.parametrize("beta2", [0.5, 0.99, 0.9999, 1.0])
@pytest.mark.parametrize("rows", [1, 2, 30, 5000])
def test_the_pace_of_even_rows_is_their_discount(beta2, rows):
    pace = EvenPace().after(Steps.even(rows, beta2))
    if rows > 1:
        assert pace.beta2 == pytest.approx(beta2, abs=1e-9)
    filled = pace.total * (1 - beta2) > 1 - 1e-9
    assert pace.samples == pytest.approx(rows, rel=1e-6) or filled


def test_stamps_in_any_form(timed, signal):
    index = pd.date_range("2024-01-01", periods=900, freq="s", tz="UTC")
    expected = stored(timed().fit(signal, timestamps=index))[0]
    for stamps in (
        index.tz_localize(None).to_numpy(),
        list(index),
        pd.Series(index),
        1_704_067_200 + np.arange(900),
    ):
        assert stored(timed().fit(signal, timestamps=stamps))[0] == expected
    frame = pd.DataFrame(signal, index=index)
    assert stored(timed().fit(frame))[0] == expected
    assert stored(timed(half_life=timedelta(seconds=100)).fit(frame))[0] == expected
    assert stored(timed(half_life=np.timedelta64(100, "s")).fit(frame))[0] == expected


def test_stamps_reach_a_pipeline(timed, signal, times):
    pipeline = make_pipeline("passthrough", timed()).fit(signal, onlineadaptivepca__timestamps=times)
    assert stored(pipeline[-1]) == stored(timed().fit(signal, timestamps=times))


@pytest.mark.parametrize(
    ("standardize", "missing"),
    [
        (False, "raise"),
        (True, "skip"),
        (True, "impute"),
        *(slow(False, missing) for missing in ("skip", "impute")),
        slow(True, "raise"),
    ],
)
def test_chunking_is_exact_to_the_bit(timed, signal, times, missing, standardize, rng):
    X = signal if missing == "raise" else with_gaps(signal, 0.01)
    made = functools.partial(timed, missing=missing, standardize=standardize)
    whole = made()
    scores = whole.learn_many(X, timestamps=times)
    for _ in range(2):
        parts, pieces = made(), []
        cuts = np.sort(rng.integers(1, 900, 12))
        for rows, stamps in zip(np.split(X, cuts), np.split(times, cuts), strict=True):
            if len(rows):
                pieces.append(parts.learn_many(rows, timestamps=stamps))
        assert stored(parts) == stored(whole)
        np.testing.assert_array_equal(np.vstack(pieces), scores)
    single = made()
    ones = [single.learn_one(row, timestamp=stamp) for row, stamp in zip(X, times, strict=True)]
    np.testing.assert_array_equal(ones, scores)
    assert stored(single) == stored(whole)


def test_skipped_rows_let_time_pass(timed, signal, times):
    gappy = signal.copy()
    gappy[100:300] = np.nan
    model = timed(missing="skip").fit(gappy, timestamps=times)
    kept = np.r_[0:100, 300:900]
    np.testing.assert_array_equal(
        model.components_, timed().fit(signal[kept], timestamps=times[kept]).components_
    )
    assert max(compare_to_offline(model, gappy, timestamps=times).variance_errors) < 1e-9


@pytest.mark.parametrize("pause", [1e3, 1e4, 1e6, 1e9])
@pytest.mark.parametrize("at", [599, 600, 607])
def test_a_long_pause_is_survived(timed, signal, pause, at):
    """From a pause that leaves a thousandth up to one after which nothing at all is left."""
    times = even(900)
    times[at:] += pause
    model, fresh = timed(), timed().fit(signal[at:], timestamps=times[at:])
    scores = model.learn_many(signal, timestamps=times)
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(model.explained_variance_, fresh.explained_variance_, rtol=1e-2)
    assert model.n_components_ == 4
    expected = fresh._tracker.evidence().effective
    assert model._tracker.evidence().effective == pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize("weights", [None, "zero after the pause"])
def test_a_pause_before_rows_that_say_less(timed, signal, weights):
    """Fewer directions are known after the pause than components were kept before it."""
    times = even(900)
    times[600:] += 1e9
    signal[600:] = signal[600]
    model = timed().fit(signal[:600], timestamps=times[:600])
    sample_weight = None if weights is None else np.zeros(300)
    model.partial_fit(signal[600:], sample_weight=sample_weight, timestamps=times[600:])
    assert model.explained_variance_.sum() < 1e-20
    assert np.isfinite(model.transform(signal)).all()
    assert np.isfinite(model.learn_one(signal[0], timestamp=times[-1])).all()
    model.partial_fit(signal[:300], timestamps=times[-1] + 1e6 + np.arange(300))
    assert model.n_components_ == 4


@pytest.mark.parametrize("cut", [10, 33, 300, 600])
def test_a_file_continues_exactly(timed, signal, times, cut, tmp_path):
    model = timed().fit(signal[:cut], timestamps=times[:cut])
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.half_life == "100s"
    for each in (model, again):
        each.partial_fit(signal[cut:], timestamps=times[cut:])
    assert stored(model)[:2] == stored(again)[:2]
    with pytest.raises(ValueError, match="backwards"):
        load(tmp_path / "model").partial_fit(signal, timestamps=times - 1e5)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_merged_models_are_those_of_all_rows(timed, signal, times, order):
    """The model whose last row is older is discounted to the last row of the other."""
    models = [timed().fit(signal[part], timestamps=times[part]) for part in (slice(550), slice(550, None))]
    merged = merge([models[i] for i in order])
    whole = timed().fit(signal, timestamps=times)
    np.testing.assert_allclose(merged.explained_variance_, whole.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(merged.mean_, whole.mean_, rtol=1e-9)
    assert merged._tracker.evidence().effective == pytest.approx(
        whole._tracker.evidence().effective, rel=1e-9
    )
    later = times[-1] + 50 + np.arange(100)
    for model in (merged, whole):
        model.partial_fit(signal[:100], timestamps=later)
    np.testing.assert_allclose(merged.explained_variance_, whole.explained_variance_, rtol=1e-9)
    with pytest.raises(ValueError, match="backwards"):
        merged.partial_fit(signal, timestamps=times)


def test_models_with_other_half_lives_cannot_be_merged(timed, signal):
    with pytest.raises(ValueError, match="different half_life"):
        merge(
            [
                timed().fit(signal, timestamps=even(900)),
                timed(half_life="1h").fit(signal, timestamps=even(900)),
            ]
        )


REFUSED = {
    "none": (None, "needs the time of every row: give timestamps"),
    "too few": (EPOCH + np.arange(5.0), "timestamps must be 900 times, one per row"),
    "missing": (np.r_[even(899, 1e4), np.nan], "number 899 is nan"),
    "backwards": (even(900, 1e4)[::-1], "must not go backwards, but row 1 of this call"),
    "before the last call": (even(900), "must not go backwards, but row 0 of this call is at 2023-11-14"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_stamps_leave_the_model_as_it_was(timed, signal, case):
    stamps, message = REFUSED[case]
    model = timed().fit(signal, timestamps=even(900, 500))
    before = stored(model)
    for learn in (model.partial_fit, model.learn_many, model.fit):
        if learn == model.fit and case == "before the last call":
            continue
        with pytest.raises(ValueError, match=message):
            learn(signal, timestamps=stamps)
    assert stored(model) == before
    plain = StreamModel(half_life="100s")
    plain.learn_many(signal, timestamps=even(900, 500))
    with pytest.raises(ValueError, match=message):
        plain.learn_many(signal, timestamps=stamps)
    assert plain.n_samples_seen_ == 900


def test_one_row_needs_its_time_too(timed, signal):
    model = timed()
    with pytest.raises(ValueError, match="give timestamps"):
        model.learn_one(signal[0])
    model.learn_one(signal[0], timestamp=5.0)
    with pytest.raises(ValueError, match="give timestamps"):
        model.learn_one(signal[0])
    with pytest.raises(ValueError, match="backwards"):
        model.learn_one(signal[0], timestamp=4.0)
    assert model.n_samples_seen_ == 1


def test_stamps_without_a_half_life_in_time_are_refused(signal):
    for half_life in (None, 50):
        with pytest.raises(ValueError, match="half-life is a number of samples or None"):
            OnlineAdaptivePCA(half_life=half_life).fit(signal, timestamps=even(900))
        model = OnlineAdaptivePCA(half_life=half_life).fit(signal)
        with pytest.raises(ValueError, match="half-life is a number of samples or None"):
            model.learn_one(signal[0], timestamp=1.0)
    index = pd.date_range("2024-01-01", periods=900, freq="s")
    OnlineAdaptivePCA(half_life=50).fit(pd.DataFrame(signal, index=index))  # an index alone is no order


def test_the_network_refuses(signal):
    with pytest.raises(ValueError, match="the network forgets at the same pace with every row"):
        OnlineAdaptivePCA(solver="network", half_life="10min").fit(signal, timestamps=even(900))


def test_a_stream_model_says_whether_it_needs_stamps():
    assert StreamModel(half_life="10min").needs_timestamps
    assert not StreamModel(half_life=10).needs_timestamps
    assert not StreamModel().needs_timestamps


def test_half_lives_in_time_side_by_side(signal):
    tried = compare_half_lives(signal, ("30s", 30, None), timestamps=even(900))
    assert tried[0].surprise == pytest.approx(tried[1].surprise, rel=1e-6)
    assert str(tried).splitlines()[1].startswith("30s ")
