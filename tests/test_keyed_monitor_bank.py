"""A bank of monitors without shared limits: each key is judged as if its rows came alone."""

import numpy as np
import pytest

from eigenstream.keyed import Bank, MonitorBank, open_bank
from eigenstream.monitoring import MonitoredModel, MonitorSettings

SETTINGS = MonitorSettings(false_alarm_rate=1e-3, confirm=(2, 3))


@pytest.fixture(scope="module")
def stream():
    """Keys and rows of three machines in no order; the second breaks in the end."""
    rng = np.random.default_rng(0)
    keys = rng.permutation(np.repeat(["a", "b", "c"], 700))
    rows = rng.standard_normal((len(keys), 5)) * [4.0, 3.0, 0.5, 0.5, 0.5]
    rows[np.flatnonzero(keys == "b")[600:], 3] += 20.0
    return keys, rows


def alone(stream, key):
    keys, rows = stream
    model = MonitoredModel(SETTINGS, random_state=0)
    model.features = list("vwxyz")
    return model, model.explain_many(rows[keys == key])


def new_bank(path=None, **options):
    return MonitorBank(
        path, settings=SETTINGS, features=list("vwxyz"), share_limits=False, random_state=0, **options
    )


@pytest.mark.parametrize("max_models", [None, 1])
def test_each_key_is_judged_as_if_its_rows_came_alone(stream, tmp_path, max_models):
    keys, rows = stream
    told = []
    bank = new_bank(tmp_path / "bank", max_models=max_models)
    bank.on_alarm = lambda key, alarm: told.append(key)
    parts = [bank.explain_many(keys[part], rows[part]) for part in (slice(1000), slice(1000, None))]
    assert (len(bank), bank.samples, bank.alarms, set(told)) == (3, 2100, 1, {"b"})
    for key in "abc":
        model, (verdicts, contributors) = alone(stream, key)
        own = np.flatnonzero(keys == key)
        for name in verdicts._fields:
            whole = np.concatenate([getattr(part[0], name) for part in parts])
            np.testing.assert_array_equal(whole[own], getattr(verdicts, name))
        assert [(parts[0][1] + parts[1][1])[i] for i in own] == contributors
        assert bank.model(key).to_bytes() == model.to_bytes()
    bank.close()


def test_it_goes_on_from_its_file_with_its_own_settings(stream, tmp_path):
    keys, rows = stream
    with new_bank(tmp_path / "bank") as bank:
        bank.judge_many(keys[:900], rows[:900])
        bank.save({"row": 900})
        bank.judge_many(keys[900:], rows[900:])  # is lost
    with open_bank(tmp_path / "bank") as bank:
        assert isinstance(bank, MonitorBank)
        assert (bank.position_, bank.samples, bank.settings) == ({"row": 900}, 900, SETTINGS)
        bank.judge_many(np.append(keys[900:], "new"), np.vstack((rows[900:], rows[:1])))
        assert bank.alarms == 1
        for key in "abc":
            assert bank.model(key).to_bytes() == alone(stream, key)[0].to_bytes()
        assert bank.model("new").features == list("vwxyz")


@pytest.mark.parametrize("max_models", [None, 1])
def test_a_call_that_fails_leaves_all_monitors_as_they_were(stream, tmp_path, max_models):
    keys, rows = stream
    bank = new_bank(tmp_path / "bank", max_models=max_models)
    bank.judge_many(keys[:1500], rows[:1500])

    def bits():
        return {key: bank.model(key).to_bytes() for key in bank}, bank.samples, bank.alarms

    before, told = bits(), []

    def fail(key, alarm):
        told.append(key)
        raise MemoryError

    bank.on_alarm = fail
    with pytest.raises(MemoryError):
        bank.judge_many(np.append("new", keys[1500:]), np.vstack((rows[:1], rows[1500:])))
    assert told == ["b"]
    assert bits() == before
    bank.on_alarm = None
    bank.judge_many(keys[1500:], rows[1500:])
    for key in "abc":
        assert bank.model(key).to_bytes() == alone(stream, key)[0].to_bytes()


def test_what_does_not_fit_is_refused(stream, tmp_path):
    keys, rows = stream
    with pytest.raises(TypeError, match="unknown parameters"):
        MonitorBank(half_lives=3)
    with pytest.raises(ValueError, match="max_models must be None or a whole number"):
        MonitorBank(max_models=0)
    bank = new_bank()
    with pytest.raises(ValueError, match="one key per row, got shape"):
        bank.judge_many(keys[:3], rows[:4])
    with pytest.raises(KeyError, match="no monitor with the key 'a'"):
        bank.model("a")
    with Bank(tmp_path / "models") as models:
        models.learn_many(keys[:300], rows[:300])
        models.save()
    with pytest.raises(ValueError, match="holds models without monitors: open it as a Bank"):
        MonitorBank(tmp_path / "models")
