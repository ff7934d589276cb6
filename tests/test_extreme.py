"""The extreme of a row: the input that is farthest off, by how far each usually goes on that side."""

import copy

import numpy as np
import pytest

from eigenstream import OnlineAdaptivePCA, StreamMonitor
from eigenstream.monitoring.likeness import DOUBT, NORMAL_POWER, POWER
from eigenstream.monitoring.reference import FIRST_LIKENESS


def rows_of_rain(number: int, seed: int = 0) -> np.ndarray:
    """Nine inputs that only go up, far at times, and one that stays between -1 and 1."""
    rng = np.random.default_rng(seed)
    return np.column_stack((np.exp(1.5 * rng.standard_normal((number, 9))), rng.uniform(-1, 1, number)))


@pytest.fixture(scope="module")
def of_rain():
    return StreamMonitor(false_alarm_rate=0.01).fit(rows_of_rain(3000))


@pytest.mark.parametrize("standardize", [True, False])
def test_it_is_the_largest_square_in_units_of_the_reach(standardize):
    rows = rows_of_rain(2000)
    monitor = StreamMonitor(OnlineAdaptivePCA(standardize=standardize)).fit(rows).freeze()
    reference, new = monitor._fitted().reference, rows_of_rain(50, 1)
    departures = (new - reference.mean) / reference.spreads
    above, below = reference.likeness.reach
    expected = np.square(np.maximum(departures / above, -departures / below).max(axis=1))
    np.testing.assert_allclose(monitor.judge(new).extreme, expected, rtol=1e-9)


def test_the_reach_is_a_mean_power_of_rows_that_were_not_learnt():
    rows = rows_of_rain(2000)
    likeness = StreamMonitor().fit(rows)._fitted().reference.likeness
    assert likeness.counted == len(rows)
    departures = []
    for block in np.array_split(np.arange(len(rows)), 5):
        others = np.delete(rows, block, axis=0)
        departures.append((rows[block] - others.mean(axis=0)) / others.std(axis=0))
    for reach, sign in zip(likeness.reach, (1, -1), strict=True):
        powers = np.maximum(sign * np.concatenate(departures), 0) ** POWER
        mean = (powers.sum(axis=0) + DOUBT * NORMAL_POWER) / (len(rows) + DOUBT)
        np.testing.assert_allclose(reach, mean ** (1 / POWER), rtol=1e-6)


def test_an_input_that_leaves_its_range_is_seen_beside_others_with_long_tails(of_rain):
    rows = rows_of_rain(500, 2)
    rows[:, 9] += 4.0  # seven of its standard deviations: it has never been beyond 1
    verdicts = copy.deepcopy(of_rain).freeze().learn_many(rows)
    by_extreme = (verdicts.extreme > verdicts.extreme_limit).mean()
    by_distance = (verdicts.distance > verdicts.distance_limit).mean()
    assert by_extreme > 0.9
    assert by_distance < 0.5
    usual = copy.deepcopy(of_rain).freeze().learn_many(rows_of_rain(2000, 3))
    assert usual.alarm.mean() < 0.02


def test_where_an_input_only_goes_up_a_little_below_is_far(of_rain):
    low = of_rain._fitted().reference.mean.copy()
    high = low.copy()
    spread = of_rain._fitted().reference.spreads[0]
    low[0], high[0] = low[0] - 4 * spread, high[0] + 4 * spread
    verdicts = of_rain.judge(np.vstack((low, high)))
    assert verdicts.extreme[0] > verdicts.extreme_limit[0] > verdicts.extreme[1]


def test_there_is_no_limit_before_the_reach_is_known():
    verdicts = StreamMonitor().learn_many(rows_of_rain(400))
    first = int(np.argmax(np.isfinite(verdicts.extreme_limit)))
    assert first >= FIRST_LIKENESS


def test_an_input_in_other_units_changes_nothing():
    rows = rows_of_rain(1500)
    units = 10.0 ** np.arange(-5, 5)
    one, two = (StreamMonitor().fit(X) for X in (rows, rows * units))
    new = rows_of_rain(300, 4)
    np.testing.assert_allclose(one.judge(new).extreme, two.judge(new * units).extreme, rtol=1e-6)


def test_an_input_that_never_changed_and_gross_values_leave_it_finite():
    rows = rows_of_rain(1500)
    rows[:, 3] = 7.0
    rows[700, 5] = 1e60
    verdicts = StreamMonitor().learn_many(rows)
    assert np.isfinite(verdicts.extreme[100:]).all()
