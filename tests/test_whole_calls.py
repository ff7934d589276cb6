"""A call happens whole or not at all: whatever is raised wherever, the bits are those before the call."""

import copy
import json
import signal
import threading
import warnings

import numpy as np
import pytest

from eigenstream import Network, OnlineAdaptivePCA, StreamMonitor, load
from eigenstream.keyed import Bank
from eigenstream.keyed.models import Models
from eigenstream.learners.marks import Marked
from eigenstream.model import StreamModel, stored_form
from eigenstream.model.blocks import Blocks
from eigenstream.monitoring import MonitoredModel, MonitorSettings
from eigenstream.monitoring import stored_form as monitor_form
from tests.faults import ALLOCATING, LAPACK, MAKING, Bytecodes, Calls, Fault
from tests.marks import others_slow, slow
from tests.online_model import needs_compilation, paper, stored, with_gaps

WIDTH = 6
RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((900, WIDTH)) * [6.0, 4.0, 1.0, 1.0, 1.0, 1.0] + 3.0
FAULTY = ROWS.copy()
FAULTY[210:310, 2] += 40.0
TIMES = np.cumsum(RNG.uniform(0.5, 1.5, 900))
KEYS = [f"k{i % 7}" for i in range(900)]

MODELS = {
    "exact": {"solver": "exact"},
    "exact forgets": {"solver": "exact", "half_life": 100},
    "exact standardizes and caps": {"solver": "exact", "standardize": True, "outliers": "cap"},
    "subspace": {"solver": "subspace"},
    "subspace standardizes": {"solver": "subspace", "standardize": True, "half_life": 100},
    "lags and gaps": {"lags": 2, "missing": "impute"},
    "by the clock": {"half_life": "100s"},
    "network": {"solver": Network(init_samples=20)},
    "network in float32": {"solver": Network(init_samples=0), "half_life": 100},
}
CALLS = {
    "fit": lambda model, rows, times: model.fit(rows, timestamps=times),
    "partial_fit": lambda model, rows, times: model.partial_fit(rows, timestamps=times),
    "learn_many": lambda model, rows, times: model.learn_many(rows, timestamps=times),
    "learn_one": lambda model, rows, times: model.learn_one(rows[-1], times if times is None else times[-1]),
}


class Case:
    """A model that has learnt some rows, the call that is going to fail, and what the model remembers."""

    def __init__(self, begun, call, state):
        self._begun, self.call, self.state = begun, call, state

    def model(self):
        return copy.deepcopy(self._begun)


def bits(arrays, document):
    return {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in arrays.items()}, json.dumps(document)


def tracked(model):
    return bits(*stored_form.stored(model._tracker))


def watched(monitor):
    return tracked(monitor.model_), bits(*monitor_form.stored(monitor._monitor))


def data_for(name):
    rows = with_gaps(ROWS, 0.05) if "gaps" in name else ROWS
    rows = rows.astype(np.float32) if "float32" in name else rows
    return rows, TIMES if "clock" in name else None


def estimator(name, call, first=100, last=140):
    """An estimator after 100 rows: 36 wait, and a block and a look are due within the call."""
    rows, times = data_for(name)
    stamps = (lambda part: None) if times is None else (lambda part: times[part])
    begun = OnlineAdaptivePCA(random_state=0, **MODELS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun.fit(rows[:first], timestamps=stamps(slice(first)))
    part = slice(first, last)
    return Case(begun, lambda model: CALLS[call](model, rows[part], stamps(part)), tracked)


def monitor(call):
    """A monitor after 200 rows; a fault begins and is accepted within the next 120."""
    model = OnlineAdaptivePCA(standardize=True, random_state=0)
    begun = StreamMonitor(model, false_alarm_rate=0.01, accept_after=64).fit(FAULTY[:200])
    return Case(begun, lambda model: CALLS[call](model, FAULTY[200:320], None), watched)


def bank_bits(bank):
    return {key: bank.model(key).to_bytes() for key in sorted(bank.keys())}, bank.samples


class BankCase(Case):
    """A bank with seven models of which two stay in memory; the call brings rows for new ones, too."""

    def __init__(self, max_models=None, workers=1, **parameters):
        self.most, self.workers, self.parameters = max_models, workers, parameters
        self.rows = with_gaps(ROWS, 0.02) if parameters.get("missing") == "impute" else ROWS
        self.state = bank_bits

    def model(self):
        bank = Bank(max_models=self.most, workers=self.workers, random_state=0, **self.parameters)
        bank.learn_many(KEYS[:500], self.rows[:500])
        return bank

    def call(self, bank):
        bank.learn_many(["new", *KEYS[501:599], "newer"], self.rows[500:600])


def total(case, faults):
    """The number of points at which the call can fail, but for what is loaded once."""
    case.call(case.model())
    model = case.model()
    with faults.at():
        case.call(model)
    return faults.seen


def check(case, faults, points):
    """Fail at these points; then the same call again gives the bits of a model that was never disturbed."""
    undisturbed = case.model()
    before = case.state(undisturbed)
    case.call(undisturbed)
    after = case.state(undisturbed)
    assert after != before
    for point in points:
        model = case.model()
        with pytest.raises(faults.error), faults.at(int(point)):
            case.call(model)
        assert case.state(model) == before, f"not as before the call, which failed at point {point}"
        case.call(model)
        assert case.state(model) == after, f"not as if nothing had happened at point {point}"


def some(number, most, seed=0):
    """At most this many of the points 1, 2, ..., number: the last ones, and others by chance."""
    last = np.arange(max(number - most // 4, 0), number) + 1
    others = np.random.default_rng(seed).permutation(max(number - len(last), 0)) + 1
    return np.concatenate((last, others[: most - len(last)]))


def check_some(case, faults, most):
    points = total(case, faults)
    check(case, faults, some(points, most))
    return points


ALL_CALLS = ("exact", "subspace standardizes")
"""Models whose every call is tried by `make test`; of others one that learns and answers."""


@pytest.mark.parametrize(
    ("name", "call"),
    [
        (name, call) if name in ALL_CALLS or call == "learn_many" else slow(name, call)
        for name in MODELS
        for call in CALLS
    ],
)
def test_a_fault_at_any_bytecode(name, call):
    points = check_some(estimator(name, call), Bytecodes(), 8)
    assert points > 60


@pytest.mark.parametrize(
    "name", others_slow(MODELS, "exact forgets", "subspace standardizes", "network in float32")
)
def test_memory_that_runs_out_and_lapack_that_fails(name, monkeypatch):
    case = estimator(name, "learn_many")
    for functions, error, most in (
        (LAPACK, np.linalg.LinAlgError, 12),
        (ALLOCATING + MAKING, MemoryError, 25),
    ):
        assert check_some(case, Calls(monkeypatch, functions, error), most) > 0


@pytest.mark.parametrize("first", [1, 30, 127])
@pytest.mark.parametrize("name", ["exact", "subspace", "network"])
def test_a_fault_in_every_bytecode_of_learn_one(name, first):
    """The second row; one that only waits; the last of a block, with a look."""
    case = estimator(name, "learn_one", first, first + 1)
    check_some(case, Bytecodes(), 40)


def test_a_fault_in_the_first_call_leaves_a_new_model():
    for call in CALLS:
        model = OnlineAdaptivePCA(random_state=0)
        before = set(vars(model))
        with pytest.raises(Bytecodes.error), Bytecodes().at(700):
            CALLS[call](model, ROWS[:200], None)
        assert set(vars(model)) - {"_callers"} == before


@pytest.mark.parametrize("call", others_slow(CALLS, "learn_many", "learn_one"))
def test_a_fault_in_a_monitor(call, monkeypatch):
    case = monitor(call)
    check_some(case, Bytecodes(), 12)
    check_some(case, Calls(monkeypatch, LAPACK, np.linalg.LinAlgError), 4)
    check_some(case, Calls(monkeypatch, ALLOCATING + MAKING), 12)


def test_a_fault_while_a_monitor_freezes():
    begun = StreamMonitor(false_alarm_rate=0.01).fit(ROWS[:300])
    check_some(Case(begun, lambda monitor: monitor.freeze(), watched), Bytecodes(), 20)


@pytest.mark.parametrize("settings", [None, MonitorSettings(0.01, False, 64, (1, 1))])
def test_a_fault_in_a_model_without_scikit_learn(settings):
    begun = StreamModel(random_state=0) if settings is None else MonitoredModel(settings, random_state=0)
    begun.partial_fit(FAULTY[:200])
    case = Case(begun, lambda model: model.learn_many(FAULTY[200:320]), lambda model: model.to_bytes())
    check_some(case, Bytecodes(), 20)


BANKS = {
    "all in memory": {},
    "two in memory": {"max_models": 2},
    "half-life": {"half_life": 50, "max_models": 8},
    "gaps": {"missing": "impute"},
    "by themselves": {"lags": 1},
}


@pytest.mark.parametrize("name", others_slow(BANKS, "all in memory", "half-life"))
def test_a_fault_in_a_bank(name, monkeypatch):
    case = BankCase(**BANKS[name])
    check_some(case, Bytecodes(), 12)
    check_some(case, Calls(monkeypatch, LAPACK, np.linalg.LinAlgError), 4)
    check_some(case, Calls(monkeypatch, ALLOCATING + MAKING), 8)


@pytest.mark.slow
def test_a_fault_at_nearly_any_point_of_a_bank():
    """Two of seven thousand points lost a key, between being taken out of its place and put behind others."""
    check_some(BankCase(), Bytecodes(), 4000)


def test_a_fault_in_a_thread_of_a_bank(monkeypatch):
    check_some(BankCase(workers=2), Calls(monkeypatch, LAPACK, np.linalg.LinAlgError), 3)


def test_what_a_failed_call_has_put_into_the_file_is_not_saved(tmp_path, monkeypatch):
    """A bank that evicts, fails in the end, is saved and opened again: the models from before the call."""
    bank = Bank(tmp_path / "bank", max_models=2, random_state=0)
    bank.learn_many(KEYS[:500], ROWS[:500])
    bank.save()
    before = bank_bits(bank)
    with monkeypatch.context() as patch:
        patch.setattr(Models, "remove", Fault.raised)
        with pytest.raises(Fault):
            BankCase(2).call(bank)
    bank.save()
    bank.close()
    with Bank(tmp_path / "bank") as bank:
        assert bank_bits(bank) == before


@pytest.mark.parametrize("monitored", [False, slow(True)])
@pytest.mark.parametrize("name", others_slow(MODELS, "exact", "subspace standardizes", "network in float32"))
def test_a_fault_while_going_back(name, monitored, monkeypatch):
    """Ctrl-C once, at the end of a call, and once more while the model goes back to where it was."""
    model = OnlineAdaptivePCA(random_state=0, **MODELS[name])
    model = StreamMonitor(model, accept_after=64) if monitored else model
    timed = {} if name != "by the clock" else {"timestamps": TIMES}
    rows = with_gaps(FAULTY, 0.1) if "gaps" in name else FAULTY
    model.fit(rows[:250], **{key: times[:250] for key, times in timed.items()})
    before, own = stored_bits(model), Marked.revert
    monkeypatch.setattr(StreamModel, "announce", Fault.raised)
    for fault in (1, 2, 3, 5, 8):
        seen = []

        def revert(self, mark, seen=seen, fault=fault):
            seen.append(self)
            if len(seen) == 2 * fault - 1:
                raise Fault
            own(self, mark)
            if len(seen) == 2 * fault:
                raise Fault

        monkeypatch.setattr(Marked, "revert", revert)
        with pytest.raises(Fault):
            model.partial_fit(rows[250:], **{key: times[250:] for key, times in timed.items()})
        assert stored_bits(model) == before
    monkeypatch.setattr(Marked, "revert", Fault.raised)
    with pytest.raises(Fault):
        model.partial_fit(rows[250:], **{key: times[250:] for key, times in timed.items()})
    with pytest.raises(RuntimeError, match="so did going back"):
        model.partial_fit(rows)  # nobody goes on with what could not be put back


def stored_bits(model):
    return model._model.to_bytes()


def test_an_error_in_a_callback_undoes_the_call():
    def refuse(change):
        raise OSError("no")

    model = OnlineAdaptivePCA(random_state=0).fit(ROWS[:20])
    before = tracked(model)
    model.on_rank_change = refuse
    with pytest.raises(OSError, match="no"):
        model.partial_fit(ROWS[20:300])
    assert tracked(model) == before
    for row in ROWS[20:32]:
        before = tracked(model)
        try:
            model.learn_one(row)
        except OSError:
            break
    assert tracked(model) == before
    model.on_rank_change = None
    assert tracked(model.partial_fit(ROWS[model.n_samples_seen_ : 300])) == tracked(
        OnlineAdaptivePCA(random_state=0).fit(ROWS[:300])
    )


def test_a_warning_that_is_an_error_stops_one_call_only():
    model = OnlineAdaptivePCA(max_components=1, random_state=0).fit(ROWS[:20])
    before = tracked(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="max_components"):
            model.partial_fit(ROWS[20:300])
    assert tracked(model) == before
    assert model.partial_fit(ROWS[20:300]).n_samples_seen_ == 300


def test_ctrl_c_undoes_the_call():
    """A signal that comes while a block is learnt."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        model = OnlineAdaptivePCA(random_state=0).fit(ROWS[:300])
        before = tracked(model)
        model.on_rank_change = None

        def interrupted(*given):
            signal.raise_signal(signal.SIGINT)
            return taking(*given)

        taking = Blocks._learn_block
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Blocks, "_learn_block", interrupted)
            with pytest.raises(KeyboardInterrupt):
                model.partial_fit(ROWS[300:])
        assert tracked(model) == before
    finally:
        signal.signal(signal.SIGINT, handler)


@pytest.mark.slow
@needs_compilation
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", MODELS)
def test_a_fault_at_many_bytecodes(name, call):
    check_some(estimator(name, call), Bytecodes(), 300)


@pytest.mark.slow
@needs_compilation
@pytest.mark.parametrize("name", MODELS)
def test_every_allocation_and_every_call_of_lapack(name, monkeypatch):
    case = estimator(name, "learn_many")
    for functions, error in ((LAPACK, np.linalg.LinAlgError), (ALLOCATING + MAKING, MemoryError)):
        faults = Calls(monkeypatch, functions, error)
        check(case, faults, range(1, total(case, faults) + 1))


def test_a_second_thread_is_refused_not_ignored(online):
    X = paper(20_000)
    model = online(random_state=0).fit(X[:100])
    refused, taken = [], []

    def learn():
        for start in range(0, 10_000, 100):
            try:
                model.partial_fit(X[start : start + 100])
                taken.append(100)
            except RuntimeError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=learn) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.n_samples_seen_ == 100 + sum(taken)
    assert all("another thread" in message for message in refused)


def test_a_wide_row_does_not_ruin_a_narrow_model(online, tmp_path):
    """float64 numbers that float32 cannot square, and weights beyond reason."""
    X = paper(500).astype(np.float32)
    model = online(random_state=0).fit(X)
    model.save(tmp_path / "model")
    before = stored(model)
    for rows in (np.full((1, 64), 1e15), np.full((1, 64), 1e300)):
        with pytest.raises(ValueError, match="too large"):
            model.partial_fit(rows)
    with pytest.raises(ValueError, match="sample_weight must be at most"):
        model.partial_fit(X[:1], sample_weight=[1e200])
    assert stored(model) == before
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").n_components_ == 4


@pytest.mark.parametrize(("dtype", "scale"), [(np.float64, 1e-170), (np.float32, 1e-25)])
def test_tiny_values_are_refused_not_silently_lost(online, dtype, scale):
    X = paper(300)
    with pytest.raises(ValueError, match="too small"):
        online().fit((X * scale).astype(dtype))
    with pytest.raises(ValueError, match="too small"):
        online(solver="network").fit((X * scale).astype(dtype))
    kept = {np.float64: 1e-60, np.float32: 1e-12}[dtype]
    assert online(random_state=0).fit((X * kept).astype(dtype)).n_components_ == 4


def test_a_model_that_could_not_be_read_is_not_saved(online, tmp_path):
    path = tmp_path / "model"
    model = online(random_state=0).fit(paper(300))
    model.save(path)
    good = path.read_bytes()
    look = model._tracker.last_look
    look.kept = np.full_like(look.kept, np.inf)
    with pytest.raises(ValueError, match="kept"):
        model.save(path)
    assert path.read_bytes() == good
