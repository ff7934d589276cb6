"""A model in several threads and in forked processes: what it is asked is refused with a sentence, or right.

One thread learns; others may read between its calls, and together. Whatever they do, the model that learns
has the bits of one that nobody looked at.
"""

import os
import threading

import numpy as np
import pytest

from eigenstream import OnlineAdaptivePCA, StreamMonitor
from tests.forks import forked
from tests.marks import slow

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1500, 2)) @ RNG.standard_normal((2, 6)) * 3 + RNG.standard_normal((1500, 6))
GAPPY = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
MODELS = {
    "exact": {"solver": "exact"},
    "exact, gaps": {"solver": "exact", "missing": "impute", "standardize": True},
    "subspace, gaps": {"solver": "subspace", "missing": "impute", "half_life": 300},
    "network": {"solver": "network"},
}

CASES = [("exact", False), ("subspace, gaps", False), ("exact, gaps", True)]
CASES += [slow("exact, gaps", False), slow("network", False), slow("subspace, gaps", True)]


def made(name, monitored):
    model = OnlineAdaptivePCA(random_state=0, **MODELS[name])
    return StreamMonitor(model, accept_after=64) if monitored else model


def rows_for(name):
    return GAPPY if "gaps" in name else X


def read(model, rows):
    model.n_rows_seen_ if isinstance(model, StreamMonitor) else model.n_samples_seen_
    if isinstance(model, StreamMonitor):
        model.judge(rows), model.drift_, model.limits_
        model = model.model_
    model.components_, model.transform(rows), model.impute(rows), model.other_ranks_


@pytest.mark.parametrize(("name", "monitored"), CASES)
def test_readers_do_not_change_what_is_learnt(name, monitored):
    rows, parts = rows_for(name)[:300], 20
    alone, model = made(name, monitored), made(name, monitored)
    for chunk in np.array_split(rows, parts):
        alone.partial_fit(chunk)
    model.partial_fit(np.array_split(rows, parts)[0])
    ended, complaints, found = threading.Event(), [], []

    def look():
        while not ended.is_set():
            try:
                read(model, rows[:5])
                found.append(1)
            except RuntimeError as error:
                complaints.append(str(error))

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for chunk in np.array_split(rows, parts)[1:]:
        model.partial_fit(chunk)
    ended.set()
    for thread in threads:
        thread.join()
    assert all("another thread is learning" in complaint for complaint in complaints)
    assert model._model.to_bytes() == alone._model.to_bytes()


@pytest.mark.parametrize("name", MODELS)
def test_threads_read_together(name):
    rows = rows_for(name)
    model, other = made(name, False).partial_fit(rows[:1000]), made(name, False).partial_fit(rows[:1000])
    answers, expected = [], other.transform(rows[:50])
    threads = [threading.Thread(target=lambda: answers.append(model.transform(rows[:50]))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == len(threads)
    for answer in answers:
        np.testing.assert_array_equal(answer, expected)
    model.partial_fit(rows[1000:]), other.partial_fit(rows[1000:])
    assert model._model.to_bytes() == other._model.to_bytes()


def in_a_child(work):
    """The exit status of a forked process: 0 if it did the work without an exception."""
    child = forked()
    if not child:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize(("name", "monitored"), CASES)
def test_a_forked_process_goes_on(name, monitored):
    rows = rows_for(name)
    model = made(name, monitored).partial_fit(rows[:700])
    expected = made(name, monitored).partial_fit(rows[:700]).partial_fit(rows[700:])._model.to_bytes()

    def work():
        model.partial_fit(rows[700:])
        assert model._model.to_bytes() == expected

    assert in_a_child(work) == 0
    assert model.partial_fit(rows[700:])._model.to_bytes() == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_process_forked_within_a_call_is_told_so():
    inside, forks_done = threading.Event(), threading.Event()

    def wait(change):
        inside.set()
        forks_done.wait()

    model = OnlineAdaptivePCA(random_state=0, on_rank_change=wait)
    learner = threading.Thread(target=model.partial_fit, args=(X,))
    learner.start()
    inside.wait()

    def refused():
        for use in (lambda: model.partial_fit(X), lambda: model.learn_one(X[0]), lambda: model.n_components_):
            with pytest.raises(RuntimeError, match="forked while another thread"):
                use()

    status = in_a_child(refused)
    with pytest.raises(RuntimeError, match="another thread is learning"):
        model.transform(X)
    forks_done.set()
    learner.join()
    assert status == 0
    assert model.partial_fit(X).n_samples_seen_ == 2 * len(X)
