"""Limits that the monitors of a fleet share: watched from the twentieth row, whatever calls and evictions."""

import numpy as np
import pytest

from eigenstream.keyed import MonitorBank, merge_banks
from eigenstream.monitoring import MonitoredModel, MonitorSettings
from eigenstream.monitoring.shared_limits import SharedLimits, next_renewal

SETTINGS = MonitorSettings(false_alarm_rate=0.01)
UNITS, LIFE, WIDTH = 40, 80, 4


def fleet(seed, fault=None):
    """Rows of engines with units and correlations of their own, and the engine of each, the later ones later.

    With ``fault``, that engine's third input is 8 spreads off in its rows 30 to 50.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for unit in range(UNITS):
        X = rng.standard_normal((LIFE, 2)) @ rng.standard_normal((2, WIDTH)) * 2
        X = (X + rng.standard_normal((LIFE, WIDTH))) * 10 ** rng.uniform(-2, 2, WIDTH)
        if unit == fault:
            X[30:50, 2] += 8 * X[:30, 2].std()
        rows.append(X)
    when = 20 * np.arange(UNITS)[:, None] + np.arange(LIFE)
    order = np.argsort(when.ravel(), kind="stable")
    return (
        np.repeat(np.arange(UNITS), LIFE)[order],
        np.vstack(rows)[order],
        np.tile(np.arange(LIFE), UNITS)[order],
    )


def judged(bank, keys, rows, ends):
    parts = [
        bank.judge_many(keys[a:b], rows[a:b]) for a, b in zip([0, *ends], [*ends, len(rows)], strict=True)
    ]
    return np.vstack([part.matrix() for part in parts])


def new_bank(path=None, **options):
    return MonitorBank(path, settings=SETTINGS, standardize=True, random_state=0, **options)


def test_calm_engines_alarm_as_often_as_promised_from_their_twentieth_row_on():
    judged_rows = alarms = 0
    for seed in range(3):
        keys, rows, age = fleet(seed)
        verdicts = new_bank().judge_many(keys, rows)
        young = (keys >= 20) & (age >= 20)
        assert np.isfinite(verdicts.distance_limit[young]).mean() > 0.95
        judged_rows, alarms = judged_rows + np.count_nonzero(young), alarms + verdicts.alarm[young].sum()
        alone = new_bank(share_limits=False).judge_many(keys, rows)
        assert not np.isfinite(alone.distance_limit[age < 64]).any()
    assert 0.002 < alarms / judged_rows < 0.02


def test_a_fault_at_the_thirtieth_row_of_a_young_engine_is_found_and_blamed():
    found = 0
    for seed in range(5):
        keys, rows, age = fleet(seed, fault=30)
        verdicts, blamed = new_bank(features=list("wxyz")).explain_many(keys, rows)
        hit = np.flatnonzero((keys == 30) & (age >= 30) & (age < 35) & verdicts.alarm)
        found += bool(len(hit)) and blamed[hit[0]][0][0] == "y"
        assert not new_bank(share_limits=False).judge_many(keys, rows).alarm[keys == 30][:50].any()
    assert found >= 4


def test_calls_evictions_and_files_change_no_bit(tmp_path):
    keys, rows, _ = fleet(1, fault=25)
    expected = judged(new_bank(), keys, rows, [])
    ends = np.unique(np.random.default_rng(0).integers(1, len(keys), 9)).tolist()
    np.testing.assert_array_equal(judged(new_bank(), keys, rows, ends), expected)
    np.testing.assert_array_equal(
        judged(new_bank(tmp_path / "small", max_models=3), keys, rows, ends), expected
    )
    with new_bank(tmp_path / "bank") as bank:
        first = judged(bank, keys[:1300], rows[:1300], [])  # 276 rows behind a renewal
        bank.save()
        bank.judge_many(keys[1300:1600], rows[1300:1600])  # is lost
    with MonitorBank(tmp_path / "bank") as bank:
        rest = judged(bank, keys[1300:], rows[1300:], [700])
        np.testing.assert_array_equal(np.vstack((first, rest)), expected)
        copy = bank.model(39)
        assert MonitoredModel.from_bytes(copy.to_bytes()).to_bytes() == copy.to_bytes()
        own = copy.monitor.limits
        assert own.told.any()
        np.testing.assert_array_equal(own.limits_at(np.array([own.line]), copy.monitor.reference),
                                      (held := bank._monitors[39].monitor).limits.limits_at(
                                          np.array([own.line]), held.reference))  # fmt: skip


def test_the_order_of_engines_within_a_part_does_not_matter():
    keys, rows, _ = fleet(2)
    parts, at = [], 0
    while at < len(keys):
        end = min(next_renewal(at), len(keys))
        parts.append(at + np.argsort(keys[at:end], kind="stable"))
        at = end
    order = np.concatenate(parts)
    assert (order != np.arange(len(keys))).any()
    mixed, sorted_ = (
        new_bank().judge_many(keys[one], rows[one]).matrix() for one in (np.arange(len(keys)), order)
    )
    np.testing.assert_array_equal(mixed[order], sorted_)


def test_a_call_that_fails_leaves_what_is_shared_as_it_was():
    keys, rows, _ = fleet(3, fault=30)
    bank = new_bank()
    bank.judge_many(keys[:1000], rows[:1000])
    before = bank.shared.document()

    def fail(key, alarm):
        raise MemoryError

    bank.on_alarm = fail
    with pytest.raises(MemoryError):
        bank.judge_many(keys[1000:], rows[1000:])
    assert bank.shared.document() == before
    bank.on_alarm = None
    rest = bank.judge_many(keys[1000:], rows[1000:]).matrix()
    np.testing.assert_array_equal(rest, judged(new_bank(), keys, rows, [])[1000:])


def test_banks_that_are_merged_share_what_both_have_shown(tmp_path):
    keys, rows, _ = fleet(4)
    for name, own in (("even", keys % 2 == 0), ("odd", keys % 2 == 1)):
        with new_bank(tmp_path / name) as bank:
            bank.judge_many(keys[own], rows[own])
            bank.save()
    merge_banks([tmp_path / "even", tmp_path / "odd"], tmp_path / "both")
    with MonitorBank(tmp_path / "both") as bank:
        shared = bank.shared
        some = [sum(MonitorBank(tmp_path / one).shared.known[0].counts.sum() for one in ("even", "odd"))]
        assert shared.known[0].counts.sum() >= some[0] > 0
        assert bank.judge_many(["new"] * 25, rows[:25]).distance_limit[-1] < np.inf


def test_what_is_stored_is_checked():
    shared = SharedLimits()
    keys, rows, _ = fleet(5)
    bank = new_bank()
    bank.judge_many(keys[:1200], rows[:1200])
    document = bank.shared.document()
    assert SharedLimits.from_document(document).document() == document
    for wrong in (
        {"known": {"99": document["known"]["0"]}, "waiting": {}},
        {"known": {"0": "AAAA"}, "waiting": {}},
        {"known": {"0": document["known"]["0"][:-40]}, "waiting": {}},
    ):
        with pytest.raises(ValueError, match="shared limits"):
            SharedLimits.from_document(wrong)
    assert shared.at(20) is None


def test_renewals_become_rarer_on_a_grid_of_their_own():
    at, seen = 0, []
    while at < 10**6:
        at = next_renewal(at)
        seen.append(at)
    assert seen[:3] == [512, 1024, 1536]
    assert len(seen) < 60
    assert all(next_renewal(one - 1) == one for one in seen)
