import sys
from pathlib import Path

import numpy as np
import pytest

from eigenstream.metrics import subspace_error
from eigenstream.streams import colored_gaussian
from tests.marks import slow

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.peers import PEERS

N, K = 20, 4
SPECTRUM = np.concatenate((np.linspace(6.0, 3.0, K), np.full(N - K, 0.2)))
# Relative error after 5000 samples; each bound is three to eight times what the peer was measured at.
BOUND = {"FSM": 2e-4, "CCIPCA": 2e-5, "Oja": 2e-4, "IncrementalPCA": 3e-6}
PAIRS = [
    pytest.param(plain, compiled, id=plain.name)
    for plain in PEERS
    for compiled in PEERS
    if plain.name == compiled.name and (plain.flavour, compiled.flavour) == ("installable", "compiled")
]
pytestmark = pytest.mark.slow  # peers change seldom

every_peer = pytest.mark.parametrize("make", PEERS, ids=lambda peer: f"{peer.name} {peer.flavour}")


@pytest.fixture(scope="module")
def X():
    return np.vstack(list(colored_gaussian(SPECTRUM, 5000, random_state=0)))


def learnt(make, X, k=K, **options):
    peer = make(X.shape[1], k, **options)
    peer.learn(X)
    return peer


def error(components, X):
    U = np.linalg.svd(X, full_matrices=False)[2][: len(components)]
    return subspace_error(components, U, normalize="relative")


@every_peer
@pytest.mark.parametrize("scale", [1e-4, slow(1e4)])
def test_finds_the_principal_subspace_at_any_scale(make, scale, X):
    U = learnt(make, scale * X).components(K)
    np.testing.assert_allclose(U @ U.T, np.eye(K), atol=1e-12)
    assert error(U, X) < BOUND[make.name.split(",")[0]]


@every_peer
def test_directions_come_largest_first(make, rng):
    X = rng.standard_normal((3000, 8)) * np.array([0.1, 4.0, 0.2, 3.0, 0.1, 2.0, 0.2, 0.1])
    U = learnt(make, X, k=3).components(3)
    assert list(np.abs(U).argmax(axis=1)) == [1, 3, 5]


@pytest.mark.parametrize(("plain", "compiled"), PAIRS)
@pytest.mark.parametrize("k", [1, slow(3), 4, slow(10)])
def test_compiled_is_plain(plain, compiled, k, X):
    one, other = (learnt(make, X[:1000], k=k).components(k) for make in (plain, compiled))
    np.testing.assert_allclose(other, one, atol=1e-9)


@every_peer
def test_chunks_do_not_matter(make, X):
    whole, parts = learnt(make, X[:1000]), make(N, K)
    for chunk in np.split(X[:1000], [0, 1, 3, 100, 101, 640]):
        parts.learn(chunk)
    np.testing.assert_allclose(parts.components(K), whole.components(K), atol=1e-12)


@pytest.mark.parametrize(
    "make",  # a compiled one would be compiled once more
    [slow(peer) if peer.flavour == "compiled" else peer for peer in PEERS],
    ids=lambda peer: f"{peer.name} {peer.flavour}",
)
def test_float32_stays_float32(make, X):
    peer = learnt(make, X.astype(np.float32), dtype=np.float32)
    assert {a.dtype for a in vars(peer).values() if isinstance(a, np.ndarray) and a.ndim == 2} <= {peer.dtype}
    U = peer.components(K)
    assert U.dtype == np.float32
    assert error(U, X) < BOUND[make.name.split(",")[0]]


@pytest.mark.parametrize("make", [peer for pair in PAIRS for peer in pair.values])
def test_silence_and_repetition_are_survived(make, X):
    silent = np.concatenate((np.zeros((10, N)), np.repeat(X[:1], 10, axis=0), np.zeros((10, N)), X))
    U = learnt(make, silent).components(K)
    np.testing.assert_allclose(U @ U.T, np.eye(K), atol=1e-12)


@every_peer
def test_the_callers_rows_are_left_alone(make, X):
    rows = X[:200].copy()
    learnt(make, rows)
    np.testing.assert_array_equal(rows, X[:200])


@every_peer
def test_impossible_questions_are_named(make, X):
    with pytest.raises(ValueError, match="k=5 must be between 1 and n=4"):
        make(4, 5)
    with pytest.raises(RuntimeError, match="has seen 3 samples"):
        learnt(make, X[:3]).components(1)
    with pytest.raises(ValueError, match="m=5"):
        learnt(make, X[:100]).components(5)
