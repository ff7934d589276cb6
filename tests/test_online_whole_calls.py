"""A call happens whole or not at all: interruptions, threads, numbers that would ruin a model."""

import contextlib
import signal
import threading

import numpy as np
import pytest

from eigenstream import load
from eigenstream.model.tracker import Tracker
from tests.online_model import paper, stored


@pytest.fixture(autouse=True)
def ctrl_c():
    """Ctrl-C as usual, also where a shell has started the tests in the background, and ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("rows", [200, 3000])
def test_an_interrupted_call_happens_whole_or_not_at_all(online, rows, monkeypatch):
    """Ctrl-C after every possible block: rows, counts and state always agree."""
    X, take = paper(4000), Tracker._take
    before = online(random_state=0, alpha=0.05).fit(X[:1000])
    whole = stored(online(random_state=0, alpha=0.05).fit(X[:1000]).partial_fit(X[1000 : 1000 + rows]))
    for after in (1, 2, 5):
        model, calls = online(random_state=0, alpha=0.05).fit(X[:1000]), []

        def interrupted(tracker, *args, calls=calls, after=after):
            changes = take(tracker, *args)
            calls.append(1)
            if len(calls) == after:
                signal.raise_signal(signal.SIGINT)
            return changes

        monkeypatch.setattr(Tracker, "_take", interrupted)
        with contextlib.suppress(KeyboardInterrupt):
            model.partial_fit(X[1000 : 1000 + rows])
        monkeypatch.setattr(Tracker, "_take", take)
        assert stored(model) == (whole if rows == 200 else stored(before))
        model.partial_fit(X[:10])


def test_an_interrupted_fit_leaves_the_model_as_it_was(online, monkeypatch):
    X = paper(3000)
    model = online(random_state=0).fit(X[:500])
    before = stored(model)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Tracker, "_look", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    monkeypatch.undo()
    assert stored(model) == before


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
    model._tracker.kept = np.full_like(model._tracker.kept, np.inf)
    with pytest.raises(ValueError, match="kept"):
        model.save(path)
    assert path.read_bytes() == good
