"""A fault that lasts is judged by what was known before it, until rows are back or it is accepted."""

import numpy as np
import pytest

from eigenstream import StreamMonitor, load

LIMITS = ("t2_limit", "spe_limit", "distance_limit", "average_limit", "pair_limit", "extreme_limit")


def plant(rows, seed):
    """Eight inputs that follow two factors, with noise."""
    rng = np.random.default_rng(seed)
    factors, loadings = rng.standard_normal((rows, 2)), rng.standard_normal((2, 8))
    return factors @ loadings + 0.5 * rng.standard_normal((rows, 8))


def shifted(rows, seed, **shifts):
    """The same with inputs that are off by 4, each from a row on, or from one row up to another."""
    X = plant(rows, seed)
    for name, place in shifts.items():
        X[slice(*place) if isinstance(place, tuple) else slice(place, None), int(name[1:])] += 4
    return X


def alarms_that_last(monitor, rows=30):
    return [alarm for alarm in monitor.alarms_ if alarm.rows >= rows]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("normal", [200, 300, 500, 800, 1200])
def test_an_alarm_is_on_as_long_as_its_fault(normal, seed):
    monitor = StreamMonitor(confirm="3/5")
    verdicts = monitor.learn_many(shifted(normal + 900, seed, c3=normal))
    (alarm,) = alarms_that_last(monitor)
    assert alarm.began <= normal + 2
    assert alarm.ended is None
    assert verdicts.alarm[normal + 10 :].mean() > 0.95
    assert monitor._monitor.counts.unjudged < 180


@pytest.mark.parametrize("normal", [200, 500, 1200])
def test_a_fault_moves_no_limit_but_by_the_lift_of_its_first_rows(normal):
    verdicts = StreamMonitor(confirm="3/5").learn_many(shifted(normal + 900, 3, c3=normal))
    for name in LIMITS:
        before, after = getattr(verdicts, name)[[normal - 1, -1]]
        assert after <= 1.6 * before, name  # ten rows that exceed lift the line by one logarithm of p


@pytest.mark.parametrize("normal", [200, 500, 1200])
def test_an_alarm_ends_when_rows_are_back(normal):
    monitor, until = StreamMonitor(confirm="3/5"), normal + 700
    verdicts = monitor.learn_many(shifted(normal + 1200, 4, c3=(normal, until)))
    (alarm,) = alarms_that_last(monitor)
    assert not alarm.accepted
    assert until <= alarm.ended <= until + 60  # averages remember for some rows, and 32 calm ones end it
    assert verdicts.alarm[until + 30 :].mean() < 0.02


def test_another_input_that_fails_meanwhile_is_blamed_and_one_after_acceptance_alarms():
    monitor = StreamMonitor(confirm="3/5")
    X = shifted(2300, 5, c3=500, c5=1100, c6=1700)
    monitor.learn_many(X[:1050])
    (first,) = alarms_that_last(monitor)
    assert first.contributors[0][0] == "x3"
    monitor.learn_many(X[1050:1200])
    (first,) = alarms_that_last(monitor)
    assert {name for name, _ in first.contributors[:2]} == {"x3", "x5"}
    monitor.learn_many(X[1200:])
    first, second = alarms_that_last(monitor)
    assert (first.accepted, first.ended) == (True, first.began + 1000)
    assert 1700 <= second.began <= 1702
    assert second.ended is None
    assert second.contributors[0][0] == "x6"


@pytest.mark.parametrize("normal", [300, 600])
def test_a_normal_of_few_rows_is_remembered_when_another_is_accepted(normal):
    monitor, until = StreamMonitor(confirm="3/5", accept_after=300), normal + 800
    verdicts = monitor.learn_many(shifted(until + 400, 6, c3=(normal, until)))
    assert [alarm.accepted for alarm in alarms_that_last(monitor)] == [True]
    assert verdicts.alarm[until:].mean() < 0.03


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("memory", [0.9, 0.97, 0.99])
def test_a_limit_that_was_told_stays_when_rows_turn_out_to_be_alike(memory, seed):
    rng = np.random.default_rng(seed)
    noise, factors = 0.5 * rng.standard_normal((900, 8)), rng.standard_normal((900, 2))
    for i in range(1, len(factors)):
        factors[i] = memory * factors[i - 1] + np.sqrt(1 - memory**2) * factors[i]
    verdicts = StreamMonitor().learn_many(factors @ rng.standard_normal((2, 8)) + noise)
    told = np.isfinite(verdicts.distance_limit).astype(int)
    assert told[-1]
    assert (np.diff(told) >= 0).all()


def test_an_anchor_that_says_nothing_of_drift_is_none():
    monitor = StreamMonitor()
    for rows in np.split(shifted(2400, 8, c3=500, c5=1100), 24):
        verdicts = monitor.learn_many(rows)
        level = monitor.drift_.level
        assert (verdicts.drift == 0).all() or monitor._monitor.anchor is not None
        assert level == 0 or np.isfinite(monitor._monitor.anchor.seen)


def test_a_fault_whose_alarm_ends_again_and_again_is_learnt_in_time():
    X, odd = plant(1500, 9), np.arange(500, 1500)
    X[odd[odd % 4 > 0], 3] += 4
    monitor = StreamMonitor(end_after=1, accept_after=100)
    monitor.learn_many(X)
    assert monitor._monitor.counts.held < 700


def two_products(rows: int, seed: int, dwell: int = 80) -> np.ndarray:
    """A plant that changes between two products, on average every so many rows."""
    rng = np.random.default_rng(seed)
    product = np.cumsum(rng.random(rows) < 1 / dwell) % 2
    return 6.0 * product[:, None] * np.resize([1.0, -1.0, 0.5], 8) + rng.standard_normal((rows, 8))


def test_faults_that_come_again_and_again_are_accepted_together():
    normal = np.random.default_rng(0).standard_normal((400, 8))  # the first product alone
    monitor = StreamMonitor(false_alarm_rate=0.01)
    monitor.learn_many(normal)
    found = monitor.learn_many(two_products(12_000, 1)).alarm
    accepted = [alarm for alarm in monitor.alarms_ if alarm.accepted]
    assert found[:500].mean() > 0.2
    assert len(accepted) >= 1
    assert accepted[0].ended - accepted[0].began < monitor.accept_after  # no alarm lasted for as long
    assert found[4000:].mean() < 0.03


@pytest.mark.parametrize("declared", [True, False])
def test_faults_in_a_tenth_of_the_rows_are_seen_for_ever_and_never_accepted(declared):
    rng = np.random.default_rng(0)
    normal, rows = rng.standard_normal((2000, 8)), rng.standard_normal((16_000, 8))
    faulty = np.arange(len(rows)) % 400 >= 360
    rows[faulty, 3] += 8.0
    monitor = StreamMonitor(accept_after=300)
    monitor.fit(normal) if declared else monitor.learn_many(normal)
    verdicts = monitor.learn_many(rows)
    assert not any(alarm.accepted for alarm in monitor.alarms_)
    assert verdicts.alarm[faulty].reshape(8, -1).mean(axis=1).min() > 0.95
    assert verdicts.distance_limit.max() < 2 * verdicts.distance_limit[0]


@pytest.mark.parametrize("seed", range(3))
def test_what_is_accepted_of_them_does_not_depend_on_how_rows_are_cut(seed):
    X = np.vstack((np.random.default_rng(seed).standard_normal((300, 8)), two_products(2500, seed)))
    whole, cut = StreamMonitor(false_alarm_rate=0.01), StreamMonitor(false_alarm_rate=0.01)
    whole.learn_many(X)
    rng, start = np.random.default_rng(seed), 0
    while start < len(X):
        stop = start + int(rng.choice([1, 7, 64, 300]))
        cut.learn_many(X[start:stop])
        start = stop
    assert [vars(alarm) for alarm in whole.alarms_] == [vars(alarm) for alarm in cut.alarms_]
    np.testing.assert_array_equal(np.array(whole._fitted().recent), np.array(cut._fitted().recent))
    assert whole._fitted().watch.lately == cut._fitted().watch.lately


def test_gross_values_hardly_raise_limits_and_the_drift_says_by_how_much():
    rng = np.random.default_rng(0)
    rows = plant(9000, 3)
    rows[2000::300, rng.integers(8, size=24)] += 12.0
    monitor = StreamMonitor()
    verdicts = monitor.learn_many(rows)
    before, after = verdicts.distance_limit[[1999, -1]]
    assert monitor.drift_.limits == pytest.approx(after / before, rel=0.25)
    assert after < 5 * before  # of values that are 20 times as high
    assert verdicts.distance[2000::300].min() > 5 * before


def test_a_monitor_that_is_frozen_stays_as_it_is_when_frozen_again(tmp_path):
    monitor = StreamMonitor().fit(plant(2100, 1)[:2000])
    monitor.learn_many(plant(2100, 1)[2000:])
    limits = dict(monitor.freeze().limits_)
    assert monitor.freeze().limits_ == limits
    monitor.save(tmp_path / "frozen")
    assert load(tmp_path / "frozen").freeze().limits_ == limits
