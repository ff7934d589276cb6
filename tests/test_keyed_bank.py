import json
import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenstream import rules
from eigenstream.keyed import Bank
from eigenstream.model import StreamModel
from eigenstream.model.stored_form import stored
from eigenstream.rank.decision import Decision, Evidence, Memory, decide
from eigenstream.rank.stacked_decisions import Decisions, Memories, decide_together
from eigenstream.regularizers import REGULARIZERS

KEYS = 12


def streams(rows, width=6, dtype=np.float64, seed=0):
    """Rows of every key, as many for each: two components in noise, each key with a mean of its own."""
    rng = np.random.default_rng(seed)
    scale = np.r_[4.0, 3.0, np.full(width - 2, 0.4)]
    return (rng.standard_normal((KEYS, rows, width)) * scale + np.arange(KEYS)[:, None, None]).astype(dtype)


def calls(X, seed=1, sizes=(1, 200)):
    """The same rows as one stream: keys and rows of each call, rows of a key in their order."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(np.repeat(np.arange(KEYS), X.shape[1]))
    places = np.zeros(KEYS, dtype=int)
    start = 0
    while start < len(order):
        keys = order[start : start + rng.integers(*sizes)]
        rows = []
        for key in keys:
            rows.append(X[key, places[key]])
            places[key] += 1
        yield [f"key {key}" for key in keys], np.array(rows)
        start += len(keys)


def state(model):
    arrays, document = stored(model.tracker)
    return {name: (array.dtype.str, array.tobytes()) for name, array in arrays.items()}, json.dumps(document)


def assert_models_of_their_own(bank, X, found=None, **parameters):
    for key, rows in enumerate(X):
        own = StreamModel(**{"random_state": 0} | parameters)
        before = own.learn_many(rows)
        assert state(bank.model(f"key {key}")) == state(own)
        if found is not None:
            np.testing.assert_array_equal(found[f"key {key}"], before)


def learnt(bank, calls):
    """Scores by key."""
    scores = {}
    for keys, rows in calls:
        for key, score in zip(keys, bank.learn_many(keys, rows), strict=True):
            scores.setdefault(key, []).append(score)
    return scores


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"max_components": 2, "workers": 2},
        {"half_life": 30.0, "workers": 3},
        {"half_life": 400.0, "n_components": rules.ParallelAnalysis()},
        {"n_components": rules.VarianceShare(0.9), "center": False},
        {"alpha": 0.3, "regularizer": "squared-output"},
        {"scores": "whitened", "outliers": "cap"},
        {"standardize": True},
        {"lags": 2},
        {"solver": "subspace", "max_components": 3},
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_each_model_is_what_it_would_be_by_itself(parameters, dtype):
    X = streams(330, dtype=dtype)
    X[3, :, 4] = 7  # a constant input
    X[4, :90, 2] = 5  # one that begins late
    X[5] = X[5, :, :1]  # inputs that are all the same
    with Bank(**parameters) as bank:
        scores = learnt(bank, calls(X))
        own = {name: value for name, value in parameters.items() if name != "workers"}
        assert_models_of_their_own(bank, X, scores, **own)
        assert bank.samples == KEYS * 330


def test_wide_input_with_a_fixed_rank_has_the_same_bits():
    X = streams(200, width=64)[:2]
    with Bank(n_components=2) as bank:
        for key, rows in enumerate(X):
            bank.learn_many([f"key {key}"] * len(rows), rows)
        assert_models_of_their_own(bank, X, n_components=2)


@pytest.mark.parametrize("missing", ["skip", "impute"])
def test_gaps_are_each_models_own(missing):
    X = streams(200)
    X[2, 50:60, 3] = np.nan
    X[7, ::5, 0] = np.nan
    with Bank(missing=missing, workers=2) as bank:
        scores = learnt(bank, calls(X))
        assert_models_of_their_own(bank, X, scores, missing=missing)


def test_a_half_life_in_time_takes_the_times_of_each_key(tmp_path):
    X, rng = streams(150), np.random.default_rng(3)
    stamps = np.cumsum(rng.exponential(10.0, (KEYS, 150)), axis=1)
    with Bank(half_life="5min", workers=2, max_models=4) as bank:
        for start in range(0, 150, 40):
            part = slice(start, start + 40)
            keys = np.repeat([f"key {key}" for key in range(KEYS)], X[:, part].shape[1])
            bank.learn_many(keys, X[:, part].reshape(-1, 6), stamps[:, part].ravel())
        for key, rows in enumerate(X):
            own = StreamModel(half_life="5min", random_state=0)
            own.learn_many(rows, stamps[key])
            assert state(bank.model(f"key {key}")) == state(own)
        before = {key: state(bank.model(key)) for key in bank}
        with pytest.raises(ValueError, match="must not go backwards"):
            bank.learn_many([*before, "new"], np.zeros((KEYS + 1, 6)), np.full(KEYS + 1, 5.0))
        assert {key: state(bank.model(key)) for key in bank} == before


def test_a_full_window_goes_on_moving():
    X = streams(3000)  # after that many half-lives the effective number of samples stands still
    with Bank(half_life=8.0) as bank:
        scores = learnt(bank, calls(X, sizes=(900, 1000)))
        assert_models_of_their_own(bank, X, scores, half_life=8.0)


def test_many_rows_at_once_are_the_same_as_few():
    X = streams(500)
    with Bank() as bank:
        learnt(bank, calls(X, sizes=(5000, 6000)))
        assert_models_of_their_own(bank, X)


def test_the_longest_idle_wait_in_the_file_and_come_back(tmp_path):
    X = streams(200)
    with Bank(tmp_path / "models.bank", max_models=5, half_life=100.0) as bank:
        for keys, rows in calls(X, sizes=(1, 30)):
            bank.learn_many(keys, rows)
            in_memory = list(bank._models.keys())
            assert len(in_memory) <= 5
            assert in_memory[-1] == list(dict.fromkeys(keys))[-1]
        assert len(bank) == KEYS
        assert sorted(bank.keys()) == sorted(f"key {key}" for key in range(KEYS))
        assert_models_of_their_own(bank, X, half_life=100.0)


def test_changes_of_rank_are_told_with_their_keys():
    X = streams(300)
    told, own = [], []
    with Bank(workers=2) as bank:
        bank.on_rank_change = lambda key, change: told.append((key, change))
        learnt(bank, calls(X))
    for key, rows in enumerate(X):
        model = StreamModel()
        model.on_rank_change = lambda change, key=key: own.append((f"key {key}", change))
        model.learn_many(rows)
    assert sorted(told) == sorted(own)
    assert own


def test_a_bank_goes_on_from_what_was_saved(tmp_path):
    path, X = tmp_path / "models.bank", streams(300)
    pieces = list(calls(X))
    half = len(pieces) // 2
    with Bank(path, half_life=50.0, n_components=rules.VarianceShare(0.9), max_models=4) as bank:
        learnt(bank, pieces[:half])
        bank.save({"row": 5})
        learnt(bank, pieces[half : half + 5])  # not saved: gone
    with Bank(path) as bank:
        assert bank.position_ == {"row": 5}
        assert bank.parameters["half_life"] == 50.0
        learnt(bank, pieces[half:])
        assert_models_of_their_own(bank, X, half_life=50.0, n_components=rules.VarianceShare(0.9))


KILLED = """
import pickle, sys
from eigenstream.keyed import Bank
path, pieces = sys.argv[1], pickle.load(sys.stdin.buffer)
with Bank(path, max_models=int(sys.argv[2]), max_components=int(sys.argv[3])) as bank:
    done = bank.position_ or 0
    for i, (keys, rows) in enumerate(pieces[done:], done + 1):
        bank.learn_many(keys, rows)
        if i % 3 == 0:
            bank.save(i)
        print(i, flush=True)
"""


def killed(path, pieces, calls, max_models, max_components):
    """Let a process learn this many calls, and kill it."""
    arguments = [str(path), str(max_models), str(max_components)]
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    pickle.dump(pieces, child.stdin)
    child.stdin.close()
    for _ in range(calls):
        assert child.stdout.readline()
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()


def test_killed_and_resumed_loses_nothing(tmp_path):
    path, X = tmp_path / "models.bank", streams(150)
    pieces = list(calls(X))
    for deaths in range(2):
        killed(path, pieces, 4 + deaths, 4, 6)
    with Bank(path) as bank:
        done = bank.position_
        assert done % 3 == 0
        assert 0 < done < len(pieces)
        learnt(bank, pieces[done:])
        assert_models_of_their_own(bank, X, max_components=6)


@pytest.mark.bank
def test_ten_thousand_keys_killed_and_resumed_lose_nothing(tmp_path):
    path, rng = tmp_path / "models.bank", np.random.default_rng(0)
    X = rng.standard_normal((10_000, 96, 32)) * np.r_[5.0, 4.0, 3.0, np.ones(29)]
    pieces = []
    for start in range(0, 96, 8):
        keys = rng.permutation(10_000)
        pieces.append((np.repeat(keys, 8), X[keys, start : start + 8].reshape(-1, 32)))
    for deaths in range(2):
        killed(path, pieces, 4 + deaths, 6_000, 4)
    with Bank(path) as bank:
        assert bank.position_ == 6
        for keys, rows in pieces[6:]:
            bank.learn_many(keys, rows)
        for key, rows in enumerate(X):
            own = StreamModel(max_components=4, random_state=0)
            own.learn_many(rows)
            assert state(bank.model(key)) == state(own)


def test_keys_are_texts_or_whole_numbers(tmp_path):
    rows = np.random.default_rng(0).standard_normal((4, 3))
    with Bank(tmp_path / "models.bank", max_models=1) as bank:
        bank.learn_many([1, "1", -5, "ü\n"], rows)
        bank.learn_many(np.array([1, 1, 2, 2]), rows)
        assert {bank.model(key).n_samples_seen_ for key in ("1", -5, "ü\n")} == {1}
        assert bank.model(1).n_samples_seen_ == 3
        assert 1 in bank
        assert "2" not in bank
        for wrong in (1.5, None, b"a", True, 2**70):
            with pytest.raises(TypeError, match="keys must be strings or whole numbers"):
                bank.learn_many(["a", 5, 5, wrong], rows)
        with pytest.raises(KeyError, match="no model with the key 'nobody'"):
            bank.model("nobody")


def test_refused_rows_leave_the_bank_as_it_was():
    rows = np.random.default_rng(0).standard_normal((10, 3))
    with Bank() as bank:
        bank.learn_many(["a"] * 10, rows)
        before = state(bank.model("a"))
        wrong = rows.copy()
        wrong[4, 1] = np.nan
        with pytest.raises(ValueError, match="row 4, column 1 is nan"):
            bank.learn_many(["a"] * 10, wrong)
        with pytest.raises(ValueError, match="expected rows of 3 numbers, got 2"):
            bank.learn_many(["a"] * 10, rows[:, :2])
        with pytest.raises(ValueError, match="one key per row, got 3 keys and 10 rows"):
            bank.learn_many(["a"] * 3, rows)
        with pytest.raises(ValueError, match="too large"):
            bank.learn_many(["a"] * 10, rows * 1e200)
        assert bank.learn_many([], rows[:0]).shape == (0, 3)
        assert state(bank.model("a")) == before
        assert len(bank) == 1


def test_other_files_and_parameters_are_refused(tmp_path):
    path = tmp_path / "models.bank"
    with Bank(path, half_life=10.0) as bank:
        bank.learn_many(["a"], np.ones((1, 3)))
        bank.save()
    with pytest.raises(ValueError, match=r"was made with half_life=10\.0, not half_life=20\.0"):
        Bank(path, half_life=20.0)
    with pytest.raises(TypeError, match="unknown parameters"):
        Bank(halflife=3)
    with pytest.raises(ValueError, match="max_models must be None or a whole number"):
        Bank(max_models=0)
    other = tmp_path / "other"
    other.write_text("some text")
    with pytest.raises(ValueError, match="is not a bank of models"):
        Bank(other)
    assert other.read_text() == "some text"


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_decisions_together_are_those_one_by_one(data):
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    m, r = int(rng.integers(1, 6)), int(rng.integers(1, 14))
    capacity = int(rng.integers(1, r + 1))
    beta2 = data.draw(st.sampled_from([1.0, 0.999, 0.95]))
    rule = data.draw(st.sampled_from([rules.NoiseEdge(), rules.ParallelAnalysis(), rules.VarianceShare(0.8)]))
    kind = REGULARIZERS[data.draw(st.sampled_from(sorted(REGULARIZERS)))]
    lam = -np.sort(-np.exp(rng.normal(0, 2, (m, r))), axis=1)
    samples = int(rng.integers(1, 3000))
    inputs = rng.uniform(0.1, 2, (m, r))
    lively = rng.integers(0, 2, m).astype(bool)
    tau = None if lively.all() else np.where(lively[:, None], 1.0, 1 + rng.exponential(20, (m, 4)))
    evidence = Evidence(lam, lam.sum(axis=1), capacity, r, samples, beta2, inputs, persistence=tau)
    earlier = rng.integers(0, samples + 1, m) * rng.integers(0, 2, m)
    before = [
        Decision(0.1, 0.2, int(rank), Memory(float(seen), float(since), float(doubt), float(asked)))
        for rank, seen, since, doubt, asked in zip(
            rng.integers(0, capacity + 1, m),
            earlier,
            rng.uniform(0, samples, m),
            rng.normal(0, 500, m) * rng.integers(0, 2, m),
            rng.uniform(0, capacity, m),
            strict=True,
        )
    ]
    memory = Memories(*np.array([one.memory for one in before]).T)
    held = Decisions(np.full(m, 0.1), np.full(m, 0.2), np.array([one.rank for one in before]), memory)
    made, _ = decide_together(kind, rule, evidence, held)
    for i, one in enumerate(before):
        own = evidence._replace(
            variances=lam[i],
            total=float(lam[i].sum()),
            input_variances=inputs[i],
            persistence=None if tau is None or lively[i] else tau[i],
        )
        expected = decide(kind, rule, own, one)
        found = Decision(
            made.alpha[i], made.threshold[i], made.rank[i], Memory(*(column[i] for column in made.memory))
        )
        assert found == expected
