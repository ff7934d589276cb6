"""The stored form is the state: what comes out of a file is what was saved, field by field, and goes on so.

Streams have gaps, alarms that end and that are accepted, pauses, outliers, predecessors; monitors are frozen.
After every few rows the object goes through a file (or bytes, a pickle, a bank), every field of the copy is
compared with the original, and both go on with the next rows to the same answers and the same bits.
"""

import pickle
import warnings

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream import OnlineAdaptivePCA, StreamMonitor, load
from eigenstream.cli import main
from eigenstream.keyed import Bank, MonitorBank
from eigenstream.model import StreamModel
from eigenstream.monitoring import MonitoredModel, MonitorSettings
from tests.marks import slow
from tests.same_state import differences


def one_of(rng, *values):
    return values[rng.integers(len(values))]


def stream(rng, rows, width, missing):
    """One or two components in noise, a fault that ends or stays, single outliers, gaps."""
    strong = rng.standard_normal((rows, min(width, 2))) @ rng.standard_normal((min(width, 2), width))
    X = 3 * strong + rng.standard_normal((rows, width))
    begins = int(rng.integers(rows // 3, rows // 2))
    X[begins : begins + int(one_of(rng, 5, 40, rows))] += one_of(rng, 3, 8, 20)
    if rng.random() < 0.3:
        X[rng.random(rows) < 0.02] *= 30
    if missing != "raise":
        X[rng.random(X.shape) < one_of(rng, 0.02, 0.3, 0.6)] = np.nan
    return X.astype(one_of(rng, np.float32, np.float64))


def parameters_of(rng):
    solver = one_of(rng, "exact", "subspace", "network")
    timed, by_network = rng.random() < 0.4, solver == "network"
    return {
        "solver": solver,
        "half_life": "100s" if timed and not by_network else one_of(rng, None, None, 60, 400),
        "standardize": bool(not by_network and rng.random() < 0.5),
        "outliers": "keep" if by_network else one_of(rng, "keep", "cap"),
        "lags": int(one_of(rng, 0, 0, 2)),
        "missing": one_of(rng, "raise", "skip", "impute"),
        "center": bool(rng.random() < 0.8),
        "random_state": 1,
    }


def settings_of(rng):
    rate, confirm = one_of(rng, 0.01, 0.05), one_of(rng, (1, 1), (2, 4))
    return MonitorSettings(rate, bool(rng.random() < 0.2), accept_after=64, confirm=confirm)


def times_of(rng, rows):
    times = np.cumsum(rng.exponential(size=rows))
    times[int(rng.integers(rows)) :] += 10.0 ** rng.uniform(0, 5)
    return times


class Through:
    """One object and its copy: what both are told, and what both say."""

    def __init__(self, made, stored, restored):
        self.stored, self.restored = stored, restored
        self.one, self.other = made, None

    def tell(self, learn):
        """Learn with both, compare their answers, then put the first through its stored form."""
        answers = [learn(each) for each in (self.one, self.other) if each is not None]
        if len(answers) == 2:
            np.testing.assert_array_equal(*answers)
            assert self.stored(self.one) == self.stored(self.other)
        self.other = self.restored(self.stored(self.one))
        assert differences(self.one, self.other) == []


def go_through(seed, longest, kind):
    """A stream in random chunks of up to this many rows."""
    rng = np.random.default_rng(seed)
    parameters, rows = parameters_of(rng), 700
    X = stream(rng, rows, int(one_of(rng, 1, 3, 8)), parameters["missing"])
    times = times_of(rng, rows) if isinstance(parameters["half_life"], str) else None
    frozen = one_of(rng, np.inf, np.inf, 500) if kind is MonitoredModel else np.inf
    made = StreamModel(**parameters) if kind is StreamModel else kind(settings_of(rng), **parameters)
    through = Through(made, kind.to_bytes, kind.from_bytes)
    start = 0
    while start < rows:
        part = slice(start, start + int(rng.integers(1, longest)))

        def learn(model, part=part):
            answers = model.learn_many(X[part], None if times is None else times[part])
            if part.stop >= frozen and not model.monitor.frozen:
                model.freeze()
            return answers

        through.tell(learn)
        start = part.stop


@pytest.mark.parametrize("kind", [StreamModel, MonitoredModel])
@pytest.mark.parametrize(("seeds", "longest"), [(range(3), 90), ((1035,), 12), slow(range(1000, 1100), 12)])
def test_a_file_holds_all_that_a_model_knows(seeds, longest, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about ranks and gaps
        for seed in seeds:
            go_through(seed, longest, kind)


def new_normal(rows):
    """A change for good in rows that nearly all have gaps."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, 50))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rows // 2 :] += 5
    return X


def test_an_alarm_is_accepted_from_rows_with_gaps():
    """A monitor that was saved after accepting such a change said other things than one that was not."""
    made = MonitoredModel(MonitorSettings(accept_after=64), missing="impute", random_state=0)
    through = Through(made, MonitoredModel.to_bytes, MonitoredModel.from_bytes)
    for chunk in np.array_split(new_normal(400), 40):
        through.tell(lambda model, chunk=chunk: model.learn_many(chunk))
    assert made.monitor.counts.accepted == 1
    assert made.monitor.reference.count > 64  # of the rows of the alarm, gaps filled


@pytest.mark.parametrize("rows", [450, slow(470), slow(530)])
def test_watch_goes_on_after_an_accepted_alarm_with_gaps(rows, tmp_path):
    lines = [",".join("" if np.isnan(v) else f"{v:.4f}" for v in row) + "\n" for row in new_normal(700)]
    data, outputs = tmp_path / "rows.csv", []
    options = ["--no-header", "--missing", "impute", "--accept-after", "64", "--batch-rows", "50"]
    for name, parts in {"whole": [lines], "parts": [lines[:rows], lines]}.items():
        files = ["--save", str(tmp_path / name), "--output", str(tmp_path / f"{name}.csv"), "--resume"]
        for part in parts:
            data.write_text("".join(part))
            result = CliRunner().invoke(main, ["watch", str(data), *options, *files])
            assert result.exit_code == 0, result.output
        outputs.append((tmp_path / f"{name}.csv").read_bytes())
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("monitored", [False, True])
def test_a_file_holds_all_that_an_estimator_knows(monitored, tmp_path):
    rng = np.random.default_rng(3)
    X = stream(rng, 500, 5, "impute")
    model = OnlineAdaptivePCA(missing="impute", outliers="cap", half_life=200, lags=1, random_state=0)
    made = StreamMonitor(model, accept_after=64) if monitored else model

    def stored(estimator):
        estimator.save(tmp_path / "file")
        return (tmp_path / "file").read_bytes()

    def restored(content):
        (tmp_path / "again").write_bytes(content)
        return load(tmp_path / "again")

    def parts_of(estimator):
        return {
            name: value for name, value in vars(estimator).items() if name.endswith("_") or name == "_model"
        }

    through = Through(made, stored, restored)
    for chunk in np.array_split(X, 20):
        made.partial_fit(chunk)
        if through.other is not None:
            through.other.partial_fit(chunk)
            assert stored(through.other) == stored(made)
        through.other = restored(stored(made))
        assert differences(parts_of(made), parts_of(through.other)) == []


@pytest.mark.parametrize("kind", [Bank, MonitorBank])
def test_a_bank_holds_all_that_its_models_know(kind, tmp_path):
    """Models of a bank that was closed and opened between calls, against models of their own."""
    rng = np.random.default_rng(5)
    monitored = kind is MonitorBank
    options = {"settings": MonitorSettings(0.01, accept_after=64), "share_limits": False} if monitored else {}
    single = {
        key: MonitoredModel(options["settings"], random_state=0) if monitored else StreamModel(random_state=0)
        for key in "abc"
    }
    streams = {key: stream(rng, 300, 4, "raise").astype(np.float64) for key in single}
    for start in range(0, 300, 50):
        rows = np.concatenate([streams[key][start : start + 50] for key in single])
        keys = np.repeat(list(single), 50)
        with kind(tmp_path / "bank", **({} if start else options | {"random_state": 0})) as bank:
            bank.judge_many(keys, rows) if monitored else bank.learn_many(keys, rows)
            bank.save()
        with kind(tmp_path / "bank") as bank:
            for key, model in single.items():
                model.partial_fit(streams[key][start : start + 50])
                assert differences(model, bank.model(key)) == []


def test_a_pickle_holds_all_that_river_knows():
    pytest.importorskip("river", reason="needs eigenstream[river]")
    river = pytest.importorskip("eigenstream.integrations.river")
    rng = np.random.default_rng(0)
    for made in (river.AnomalyMonitor(false_alarm_rate=0.01, seed=0), river.StreamingPCA(seed=0)):
        for t, row in enumerate(stream(rng, 300, 4, "impute")):
            row[3] = np.nan if t < 100 else row[3]
            made.learn_one({f"x{i}": float(value) for i, value in enumerate(row) if not np.isnan(value)})
            if t % 20 == 0:
                assert differences(made, pickle.loads(pickle.dumps(made))) == []
