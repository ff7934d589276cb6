"""Rows at uneven times: filled, forecast, and compared with their forecasts."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from eigenstream import OnlineAdaptivePCA
from eigenstream.model import StreamModel
from eigenstream.model.stamps import TimesGoBack
from tests.same_state import differences

PHI, SPREAD = 0.97, 1 / np.sqrt(1 - 0.97**2)


def slow(seed, times, n=3):
    """First-order processes that keep `PHI` over a second, at these times."""
    rng, rows = np.random.default_rng(seed), np.zeros((len(times), n))
    rows[0] = SPREAD * rng.standard_normal(n)
    for t, passed in enumerate(np.diff(times), 1):
        kept = PHI**passed
        rows[t] = kept * rows[t - 1] + SPREAD * np.sqrt(1 - kept**2) * rng.standard_normal(n)
    return rows


def uneven(seed, rows):
    """Times with a second between two rows on average."""
    return np.cumsum(np.random.default_rng(seed).exponential(1.0, rows))


@pytest.fixture(scope="module")
def learnt():
    times = uneven(0, 6000)
    rows = slow(1, times)
    return OnlineAdaptivePCA(missing="impute", half_life="2h").fit(rows, timestamps=times), rows, times


def test_a_gap_is_filled_by_the_power_of_the_step(learnt):
    model, _, _ = learnt
    mean = model.mean_
    row = mean + 2 * SPREAD
    for passed in (0.5, 1.0, 4.0, 20.0):
        rows = np.stack((row, row))
        rows[1] = np.nan
        filled, std = model.impute(rows, [100.0, 100.0 + passed], return_std=True)
        np.testing.assert_allclose((filled[1] - mean) / (row - mean), PHI**passed, atol=0.12)
        np.testing.assert_allclose(std[1], SPREAD * np.sqrt(1 - PHI ** (2 * passed)), rtol=0.3)


def test_one_of_several_inputs_is_filled_over_a_longer_step_with_a_larger_deviation(learnt):
    model, rows, _ = learnt
    gappy = rows[:2].copy()
    gappy[1, 0] = np.nan
    stds = [model.impute(gappy, [0.0, passed], return_std=True)[1][1, 0] for passed in (0.2, 1.0, 5.0, 50.0)]
    assert (np.diff(stds) > 0).all()
    assert stds[-1] < 1.3 * SPREAD


def test_even_steps_are_those_without_times(learnt):
    model, rows, _ = learnt
    usual = model._tracker.usual_step()
    assert usual == pytest.approx(1.0, rel=0.05)
    gappy = rows[:50].copy()
    gappy[10:20, 0] = gappy[30] = np.nan
    without = model.impute(gappy)
    np.testing.assert_allclose(model.impute(gappy, usual * np.arange(50)), without, atol=1e-6)
    frame = pd.DataFrame(gappy, index=pd.to_datetime(1e9 * np.arange(50.0)))
    np.testing.assert_array_equal(model.impute(frame), model.impute(gappy, np.arange(50.0)))


def test_forecasts_at_times_and_over_durations(learnt):
    model, rows, times = learnt
    usual = model._tracker.usual_step()
    ahead = model.forecast(5)
    at = model.forecast(timestamps=times[-1] + usual * np.arange(1, 6))
    for one, other in zip(ahead, at, strict=True):
        np.testing.assert_allclose(one, other)
    assert len(model.forecast("10s").rows) == round(10 / usual)
    assert len(model.forecast("1ms").rows) == 1
    late = model.forecast(timestamps=times[-1] + np.array([1.0, 3.0, 9.0, 1e6]))
    alone = model.forecast(timestamps=[times[-1] + 9.0])
    np.testing.assert_allclose(alone.rows[0], late.rows[2])  # whatever else is asked for
    np.testing.assert_allclose(alone.std[0], late.std[2])
    assert (np.diff(late.std, axis=0) > 0).all()
    kept = (late.rows[:3] - model.mean_) / (rows[-1] - model.mean_)
    np.testing.assert_allclose(kept, np.repeat(PHI ** np.array([[1.0], [3], [9]]), 3, axis=1), atol=0.15)


def test_deviations_of_forecasts_at_uneven_times_cover_as_much_as_they_say():
    times = uneven(2, 4000)
    rows, covered = slow(3, times), []
    model = OnlineAdaptivePCA(missing="impute", half_life="2h").fit(rows[:1000], timestamps=times[:1000])
    for start in range(1000, 3990, 10):
        said, std = model.forecast(timestamps=times[start : start + 10])
        covered.append(np.abs(said - rows[start : start + 10]) < 1.645 * std)
        model.partial_fit(rows[start : start + 10], timestamps=times[start : start + 10])
    share = np.mean(covered, axis=(0, 2))[[0, 4, 9]]
    assert ((share > 0.85) & (share < 0.95)).all()


def test_rows_without_any_value_take_their_time():
    times = uneven(4, 3000)
    rows = slow(5, times)
    rows[2900:2903] = np.nan
    times[2901:] += 3.0
    times[2902:] += 200.0
    options = {"missing": "impute", "half_life": "1h"}
    model = OnlineAdaptivePCA(**options)
    filled, std = model.learn_and_impute(rows, times, return_std=True)
    assert (np.diff(std[2900:2903], axis=0) > 0).all()
    np.testing.assert_allclose(filled[2902], model.mean_, atol=0.3 * SPREAD)
    parts, ends = OnlineAdaptivePCA(**options), [0, 2899, 2901, 2902, 2903, 2950, 3000]
    found = [parts.learn_and_impute(rows[a:b], times[a:b]) for a, b in pairwise(ends)]
    np.testing.assert_array_equal(np.vstack(found), filled)


def test_times_have_to_make_sense(learnt):
    model, rows, times = learnt
    with pytest.raises(TimesGoBack):
        model.forecast(timestamps=[times[-1] - 1])
    with pytest.raises(TimesGoBack):
        model.impute(rows[:2], [1.0, 0.0])
    with pytest.raises(ValueError, match="2 times, one per row"):
        model.impute(rows[:2], [1.0])
    even = OnlineAdaptivePCA(missing="impute").fit(rows[:200])
    with pytest.raises(ValueError, match="half-life is a number of samples"):
        even.impute(rows[:2], [0.0, 1.0])
    with pytest.raises(ValueError, match="half-life is a number of samples"):
        even.forecast(timestamps=[5.0])
    with pytest.raises(ValueError, match="needs rows with time stamps"):
        even.forecast("1h")


@pytest.mark.parametrize("gaps", [0.0, 0.1])
@pytest.mark.parametrize("timed", [False, True])
def test_innovations_have_no_memory_and_the_same_bits_for_any_chunking(gaps, timed):
    times = uneven(6, 1000) if timed else np.arange(1000.0)
    rows = slow(7, times)
    rows[np.random.default_rng(8).random(rows.shape) < gaps] = np.nan
    rows[:700, 2] = np.nan  # its first value comes late
    options = {"missing": "impute", "half_life": "1h" if timed else None, "random_state": 0}
    whole, parts, plain = (OnlineAdaptivePCA(**options) for _ in range(3))
    given = times if timed else None
    scores, new = whole.learn_many(rows, given, return_innovations=True)
    np.testing.assert_array_equal(scores, plain.learn_many(rows, given))
    found = [
        parts.learn_many(rows[a:b], None if given is None else given[a:b], return_innovations=True)[1]
        for a, b in pairwise([0, 1, 60, 64, 65, 200, 333, 1000])
    ]
    np.testing.assert_array_equal(np.vstack(found), new)
    assert differences(whole._tracker, parts._tracker) == []
    assert differences(whole._tracker, plain._tracker) == []
    assert np.isnan(new[: whole._tracker.learner.block]).all()
    assert np.isnan(new[np.isnan(rows)]).all()
    first = 700 + int(np.argmax(~np.isnan(rows[700:, 2])))
    assert np.isnan(new[first, 2])
    assert np.isfinite(new[first + 1, 2]) or np.isnan(rows[first + 1, 2])
    late = new[200:, :2]
    pair = np.isfinite(late[1:]) & np.isfinite(late[:-1])
    assert abs(np.corrcoef(late[1:][pair], late[:-1][pair])[0, 1]) < 0.15
    assert np.nanstd(late) < 0.5 * np.nanstd(rows[200:, :2])


def test_innovations_need_somebody_who_follows_the_past():
    rows = slow(9, np.arange(100.0))
    model = OnlineAdaptivePCA()
    with pytest.raises(ValueError, match="innovations need missing='impute'"):
        model.learn_many(rows, return_innovations=True)
    assert not hasattr(model, "_model")
    scores, new = StreamModel(missing="impute").learn_with_innovations(rows)
    assert scores.shape[1] == 3
    assert new.shape == rows.shape
