import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenstream import OnlineAdaptivePCA, load, streams
from eigenstream.model.history import LIMIT, History


def recorded(samples):
    history = History(k=3)
    for sample in samples:
        history.note(sample, [float(sample), 1.0, 0.0], 0.5, 1, 0.25)
    return history


@given(st.lists(st.integers(1, 400), min_size=1, max_size=1500))
def test_a_recording_is_bounded_ordered_and_spread_over_the_stream(steps):
    samples = np.cumsum(steps)
    kept = recorded(samples.tolist()).history().sample
    assert 1 <= len(kept) <= LIMIT
    assert (np.diff(kept) > 0).all()
    assert set(kept) <= set(samples)
    assert kept[0] == samples[0]
    if len(samples) > LIMIT:  # no stretch is left out that could have been shown
        assert np.diff(np.append(kept, samples[-1])).max() <= 4 * samples[-1] / LIMIT + 2 * max(steps)


def test_a_recording_keeps_what_it_was_told():
    history = recorded([1, 5]).history()
    np.testing.assert_array_equal(history.variances, [[1, 1, 0], [5, 1, 0]])
    np.testing.assert_array_equal(history.threshold, [0.5, 0.5])
    assert history.rank.tolist() == [1, 1]


@pytest.fixture
def X():
    return np.vstack(list(streams.changing_rank(6000, n_features=16, random_state=0)))


def test_the_history_does_not_depend_on_chunking_or_saving(X, tmp_path):
    whole = OnlineAdaptivePCA(half_life=200, random_state=0).fit(X)
    pieces = OnlineAdaptivePCA(half_life=200, random_state=0)
    for start in range(0, len(X), 777):
        pieces.partial_fit(X[start : start + 777])
        pieces.save(tmp_path / "model")
        pieces = load(tmp_path / "model")
    for one, other in zip(whole.spectrum_history_, pieces.spectrum_history_, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_history_tells_the_story_of_the_stream(X):
    model = OnlineAdaptivePCA(half_life=200, random_state=0).fit(X)
    history = model.spectrum_history_
    at = {time: int(history.rank[np.searchsorted(history.sample, time)]) for time in (1500, 3500, 5800)}
    assert at == {1500: 3, 3500: 5, 5800: 2}
    above = (history.variances > history.threshold[:, None]).sum(axis=1)
    np.testing.assert_array_equal(above, history.rank)
    assert model.spectrum_.shape == (16,)
    np.testing.assert_array_equal(model.spectrum_[: model.n_components_], model.explained_variance_)


def test_fitting_anew_forgets_the_history(X):
    model = OnlineAdaptivePCA(random_state=0).fit(X)
    assert model.fit(X[:50]).spectrum_history_.sample.max() <= 50
