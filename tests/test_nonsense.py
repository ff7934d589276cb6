"""Nonsense in model files under a right checksum is refused; other formats too; unusual models are read."""

import json
import math

import numpy as np
import pytest
from safetensors.numpy import save as serialized

from eigenstream import Network, OnlineAdaptivePCA, StreamMonitor, load, merge
from eigenstream.io import checkpoint
from eigenstream.monitoring.trail import TILE
from tests.damage.models import ROWS
from tests.damage.sources import DATA
from tests.marks import slow


def _plan(**changes):
    return lambda a, d: d["tracker"]["plan"].update(changes)


RESIGNED = {
    "nothing left to look at": lambda a, d: d["tracker"].update(look_at=d["tracker"]["time"]),
    "a gigantic plan": _plan(n=10**12),
    "gigantic arrays to come": _plan(k=10**12),
    "no such handling of gaps": lambda a, d: d["parameters"].update(missing="hide"),
    "no such scores": lambda a, d: d["parameters"].update(scores="huge"),
    "a name too few": lambda a, d: d.update(features=["a", "b", "c", "d"]),
    "names that are none": lambda a, d: d.update(features=[1, 2, 3, 4, 5]),
    "growing memory": _plan(beta=1.5),
    "consolidation all the time": _plan(consolidation=1.0),
    "no such solver": _plan(solver="magic"),
    "a cap that is none": _plan(cap_outliers="no"),
    "a scale that is none": _plan(standardize="yes"),
    "predecessors that do not fit": _plan(lags=2),
    "no time to forget in": _plan(seconds=0.0),
    "blocks of no known length": _plan(longest_block=100),
    "a time that is none": lambda a, d: d["tracker"].update(clock=[math.nan, None, 0.0, 0.0]),
    "a pace that is none": lambda a, d: d["tracker"].update(clock=[None, None, -1.0, 0.0]),
    "rows before of another width": lambda a, d: a.update({"recent": np.zeros((2, 5))}),
    "a threshold that is none": lambda a, d: d["tracker"]["decision"].__setitem__(1, math.nan),
    "a rank beyond the capacity": lambda a, d: d["tracker"]["decision"].__setitem__(2, 9),
    "a rank without variances": lambda a, d: a.update({"kept": np.zeros(0)}),
    "a seed that is none": _plan(seed=-1),
    "a number in words": lambda a, d: d["tracker"].update(time="300"),
    "rows that wait without a block": lambda a, d: a.update({"waiting": np.zeros((99, 5))}),
    "an infinite row that waits": lambda a, d: a.update({"waiting": np.full(a["waiting"].shape, np.inf)}),
    "a waiting row beyond any that is learnt": lambda a, d: a.update(
        {"waiting": np.full(a["waiting"].shape, 1e74)}
    ),
    "a waiting row that counts more than any": lambda a, d: a["waiting_steps"].__setitem__((0, 0), 1e20),
    "a waiting row that lets the past grow": lambda a, d: a["waiting_steps"].__setitem__((1, 0), 1e20),
    "counts below nothing": lambda a, d: d["tracker"]["tally"].update(learnt=-1),
}
RESIGNED_OF = {
    "exact": {
        "half a scatter matrix": lambda a, d: a.update({"learner.C": np.eye(4)}),
        "NaN in what is learnt": lambda a, d: a["learner.C"].__setitem__((0, 0), np.nan),
        "a scatter matrix that is none": lambda a, d: a["learner.C"].__setitem__((0, 1), 1e9),
        "variances below nothing": lambda a, d: a.update({"learner.C": -a["learner.C"]}),
        "a covariance beyond the variances": lambda a, d: a.update(
            {"learner.C": a["learner.C"] + 1e6 * (1 - np.eye(5))}
        ),
        "a first row that none can be": lambda a, d: a["learner.origin"].__setitem__(0, 1e100),
        "a mean that no rows have": lambda a, d: a["learner.offset"].__setitem__(0, 1e100),
        "more axes than components": lambda a, d: a.update({"learner.axes": np.zeros((9, 5))}),
    },
    "subspace": {
        "NaN in what is learnt": lambda a, d: a["learner.L"].__setitem__((0, 0), np.nan),
        "a direction without variance": lambda a, d: a["learner.lam"].__setitem__(0, 0.0),
        "a mean that no rows have": lambda a, d: a["learner.offset"].__setitem__(0, 1e100),
        "a negative count": lambda a, d: a["learner.totals"].__setitem__(0, -1.0),
        "more components than asked for": lambda a, d: a["learner.counters"].__setitem__(1, 9),
    },
    "network": {
        "a clock that would write beyond its arrays": lambda a, d: a.update(
            {"learner.state.clock": np.array([300, 1])}
        ),
        "a negative clock": lambda a, d: a.update({"learner.state.clock": np.array([-1, 0])}),
        "consolidation in the past": lambda a, d: a["learner.clock"].__setitem__(1, a["learner.clock"][0]),
        "consolidation without a state": lambda a, d: [a.pop(name) for name in list(a) if "state." in name],
        "half a state": lambda a, d: a.pop("learner.state.N"),
        "NaN in what is learnt": lambda a, d: a["learner.state.S"].__setitem__((0, 0), np.nan),
        "more axes than components": lambda a, d: a.update({"learner.axes": np.zeros((9, 5))}),
    },
}


@pytest.mark.filterwarnings("ignore:the rank has reached")
@pytest.mark.parametrize(
    ("solver", "damage"),
    [
        (solver, damage) if solver == "exact" or damage in own else slow(solver, damage)
        for solver, own in RESIGNED_OF.items()
        for damage in (*RESIGNED, *own)
    ],
)
def test_nonsense_under_a_right_checksum_is_refused(solver, damage, tmp_path):
    OnlineAdaptivePCA(max_components=3, random_state=0, solver=solver).fit(ROWS[:290]).save(
        tmp_path / "model"
    )
    arrays, document = checkpoint.read(tmp_path / "model")
    arrays = {name: np.array(array) for name, array in arrays.items()}
    checkpoint.write(tmp_path / "model", arrays, document)
    load(tmp_path / "model")
    if solver == "network" and ("row that waits" in damage or "a waiting row" in damage):
        pytest.skip("no row waits for the network")
    (RESIGNED | RESIGNED_OF[solver])[damage](arrays, document)
    checkpoint.write(tmp_path / "model", arrays, document)
    with pytest.raises(ValueError, match="is a damaged eigenstream model"):
        load(tmp_path / "model")


def _monitor(**changes):
    return lambda a, d: d["monitor"].update(changes)


RESIGNED_MONITOR = {
    "an axis without variance": lambda a, d: a["monitor.reference.variances"].__setitem__(0, 0.0),
    "limits of fewer rows than none": lambda a, d: a["monitor.limits.counts"].__setitem__((1, 0), -1.0),
    "limits of one statistic": lambda a, d: a.update(
        {"monitor.limits.counts": a["monitor.limits.counts"][:1]}
    ),
    "an average of too many rows": lambda a, d: a.update(
        {"monitor.trail.open": np.zeros((TILE, len(a["monitor.trail.start"])))}
    ),
    "a notice of no kind": lambda a, d: a.update({"monitor.inputs.on": np.array([[7, 0, 1, 1]])}),
    "modes that are not there": _monitor(modes=2),
    "more modes than are kept": _monitor(modes=99),
    "charts of rows to come": lambda a, d: a["monitor.history"].__setitem__((-1, 0), 1e6),
    "charts of half rows": lambda a, d: a.update({"monitor.history": a["monitor.history"] * 0.5}),
    "limits due before": _monitor(correct_at=0),
    "a model due before": _monitor(renewals=[-(2**62), 0, 0, 0]),
}


@pytest.mark.parametrize("damage", RESIGNED_MONITOR)
def test_a_monitor_that_makes_no_sense_is_refused(damage, tmp_path):
    path = tmp_path / "model"
    StreamMonitor(OnlineAdaptivePCA(max_components=3, random_state=0)).fit(ROWS).save(path)
    arrays, document = checkpoint.read(path)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    RESIGNED_MONITOR[damage](arrays, document)
    checkpoint.write(path, arrays, document)
    with pytest.raises(ValueError, match="is a damaged eigenstream model"):
        load(path)


def test_a_row_learnt_after_the_last_row_that_came_is_refused(tmp_path):
    path = tmp_path / "model"
    model = OnlineAdaptivePCA(max_components=3, half_life="100s", random_state=0)
    model.partial_fit(ROWS, timestamps=np.arange(300.0)).save(path)
    arrays, document = checkpoint.read(path)
    document["tracker"]["clock"][1] = 1e30
    checkpoint.write(path, arrays, document)
    with pytest.raises(ValueError, match=r"is a damaged eigenstream model.*has learnt one of 1e\+30"):
        load(path)


@pytest.mark.parametrize("version", [0, 2, 3])
def test_a_file_of_another_format_says_what_to_do(version, tmp_path):
    OnlineAdaptivePCA(max_components=2).fit(DATA).save(tmp_path / "model")
    arrays, document = checkpoint.read(tmp_path / "model")
    header = {"version": version, "document": json.dumps(document), "checksum": "whatever"}
    content = serialized(arrays, metadata={checkpoint.FORMAT: json.dumps(header)})
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ValueError, match=rf"version {version}, .*reads version 1: .* or learn the model"):
        load(tmp_path / "model")


def test_a_file_deeper_than_anyone_writes_is_refused(tmp_path):
    model = OnlineAdaptivePCA(max_components=2, random_state=0).fit(DATA)
    model.save(tmp_path / "model")
    arrays, document = checkpoint.read(tmp_path / "model")
    text = json.dumps(document).replace('"position": null', '"position": ' + "[" * 100_000 + "]" * 100_000)
    content = {name: arrays[name].tobytes() for name in arrays}
    checksum = checkpoint._checksum(arrays, content, text)
    header = {"version": checkpoint.VERSION, "document": text, "checksum": checksum}
    content = serialized(arrays, metadata={checkpoint.FORMAT: json.dumps(header)})
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ValueError, match="is not a readable eigenstream model"):
        load(tmp_path / "model")


def whole(**parameters):
    return OnlineAdaptivePCA(max_components=2, random_state=0, **parameters)


@pytest.mark.filterwarnings("ignore:the rank has reached")
@pytest.mark.parametrize(
    "make",
    [
        lambda: whole(missing="skip").partial_fit(np.full((3, 5), np.nan)),
        lambda: merge([whole(missing="skip").partial_fit(X) for X in (np.full((3, 5), np.nan), ROWS[:100])]),
        lambda: whole().partial_fit(np.ones((1, 5))),
        lambda: whole().partial_fit(np.ones((500, 5))),
        lambda: whole(
            alpha=0.0, solver=Network(init_samples=0, consolidation=None), center=False
        ).partial_fit(np.eye(5)[[0] * 50]),
        lambda: whole(half_life=1e-3).partial_fit(ROWS),
        lambda: whole(solver=Network(init_samples=10**30, consolidation=1e30)).partial_fit(ROWS),
        lambda: whole(solver=Network(consolidation=1e30)).partial_fit(ROWS),
        lambda: whole().set_params(random_state=2**63 - 1).partial_fit(ROWS),
        lambda: whole(half_life=20, solver=Network(spontaneous_activity=2.0)).partial_fit(
            ROWS.astype(np.float32)
        ),
        lambda: whole().partial_fit(ROWS * 1e60),
        lambda: whole().partial_fit((ROWS * 1e8).astype(np.float32)),
        lambda: whole().partial_fit(ROWS * 1e-150),
        lambda: whole().partial_fit(ROWS + 1e9),
        lambda: whole().partial_fit(ROWS[:50], sample_weight=np.zeros(50)),
        lambda: merge([whole().fit(ROWS[:150]), whole().fit(ROWS[150:])]),
    ],
)
def test_what_is_unusual_is_not_taken_for_damage(make, tmp_path):
    model = make()
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    X = ROWS[:50] if again._tracker.plan.dtype == np.float64 else ROWS[:50].astype(np.float32)
    for one in (model, again):
        one.partial_fit(X)
        one.save(tmp_path / f"{one is model}")
    assert (tmp_path / "True").read_bytes() == (tmp_path / "False").read_bytes()
