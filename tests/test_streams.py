import itertools

import numpy as np
import pytest

from eigenstream import streams

ALL = [
    lambda **o: streams.colored_gaussian([3.0, 1.0, 0.1], **o),
    streams.paper_stream,
    streams.switching_stream,
    streams.changing_rank,
]


@pytest.mark.parametrize("stream", ALL)
def test_seed_decides_and_batches_do_not(stream):
    def rows(**options):
        return np.vstack(list(stream(n_samples=730, **options)))

    one = rows(random_state=1, batch_size=100)
    np.testing.assert_array_equal(one, rows(random_state=1, batch_size=100))
    np.testing.assert_allclose(one, rows(random_state=1, batch_size=7), atol=1e-12)
    assert len(one) == 730
    assert not np.allclose(one, rows(random_state=2))


@pytest.mark.parametrize("stream", ALL)
def test_endless_streams_come_batch_by_batch(stream):
    batches = stream(n_samples=None, batch_size=10, random_state=0)
    assert [len(batch) for batch in itertools.islice(batches, 300)] == [10] * 300


def spectrum(X):
    return np.linalg.eigvalsh(X.T @ X / len(X))[::-1]


def test_colored_gaussian_has_its_spectrum():
    lam = np.array([5.0, 2.0, 1.0, 0.0])
    X = np.vstack(list(streams.colored_gaussian(lam, 50_000, random_state=0)))
    np.testing.assert_allclose(spectrum(X), lam, rtol=0.03, atol=1e-12)
    axes = np.linalg.eigh(X.T @ X)[1]
    assert np.abs(axes).max() < 0.999  # rotated, not along the inputs


def test_paper_stream():
    X = np.vstack(list(streams.paper_stream(20_000, random_state=0)))
    lam = spectrum(X)
    assert X.shape[1] == 64
    np.testing.assert_allclose(lam[:4], [6, 5, 4, 2], rtol=0.05)
    assert lam[4] < 0.25
    assert streams.paper_stream(10, n_noise=56, random_state=0).__next__().shape == (10, 60)


def test_switching_stream_doubles_and_returns_in_mid_batch():
    X = np.vstack(list(streams.switching_stream(random_state=0, batch_size=333)))
    power = [np.mean(part**2) for part in (X[:1000], X[1000:6000], X[6000:])]
    assert power[1] / power[0] == pytest.approx(2, rel=0.1)
    assert power[2] / power[0] == pytest.approx(1, rel=0.1)
    plain = np.vstack(list(streams.paper_stream(random_state=0, batch_size=333)))
    np.testing.assert_allclose(X[1000:6000], np.sqrt(2) * plain[1000:6000], atol=1e-12)


def test_components_keep_their_place_when_others_come_and_go():
    X = np.vstack(list(streams.changing_rank(9000, ranks={0: 2, 3000: 3, 6000: 1}, random_state=3)))
    tops = [np.linalg.eigh(part.T @ part)[1][:, -1] for part in np.split(X, 3)]
    assert abs(tops[0] @ tops[1]) > 0.9
    assert abs(tops[0] @ tops[2]) > 0.9


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: streams.colored_gaussian([1.0, -1.0]), "eigenvalues"),
        (lambda: streams.colored_gaussian([]), "eigenvalues"),
        (lambda: streams.colored_gaussian([1.0], batch_size=0), "batch_size=0"),
        (lambda: streams.colored_gaussian([1.0], n_samples=-1), "n_samples=-1"),
        (lambda: streams.switching_stream(factors={-5: 2.0}), "negative"),
        (lambda: streams.switching_stream(factors={5: -2.0}), "eigenvalues"),
        (lambda: streams.changing_rank(ranks={0: 65}), "n_features=64"),
    ],
)
def test_bad_requests_are_refused_at_once(call, says):
    with pytest.raises(ValueError, match=says):
        call()
