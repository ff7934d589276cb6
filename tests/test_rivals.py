"""Rivals of the evaluation: each keeps what its paper proves, or gives an answer that its paper gives."""

import numpy as np
import pytest
from benchmarks.peers.incremental_pca import IncrementalPCABy100
from evaluation.methods import METHODS, bytes_of, learnt
from evaluation.question import OURS
from evaluation.rivals import (
    FRAHST,
    GROUSE,
    SPIRIT,
    BlockSVD,
    FederatedPCA,
    FrequentDirections,
    RankAdaptiveFrequentDirections,
    ToleranceSVD,
)
from evaluation.rivals.forecasting import ForecastingSPIRIT
from sklearn.decomposition import IncrementalPCA

from eigenstream.metrics import subspace_error
from eigenstream.streams import colored_gaussian, random_orthonormal

N = 20
SPECTRUM = np.r_[8.0, 6.0, 5.0, 4.0, np.full(N - 4, 0.1)]
TRACKERS = [
    SPIRIT,
    FRAHST,
    FederatedPCA,
    ToleranceSVD,
    RankAdaptiveFrequentDirections,
]
every_tracker = pytest.mark.parametrize("make", TRACKERS, ids=lambda make: make.name)


@pytest.fixture(scope="module")
def X():
    return np.vstack(list(colored_gaussian(SPECTRUM, 3000, random_state=0)))


def discounted_axes(X, beta, k):
    weights = beta ** np.arange(len(X) - 1, -1, -1)
    return np.linalg.eigh((X * weights[:, None]).T @ X)[1][:, ::-1][:, :k].T


def error(found, truth):
    return subspace_error(found, truth, normalize="relative")


@every_tracker
def test_ranks_come_row_by_row_and_chunks_do_not_matter(make, X):
    whole, parts = make(N), make(N)
    ranks = whole.learn(X[:700])
    pieces = [parts.learn(chunk) for chunk in np.split(X[:700], [0, 1, 49, 50, 51, 333])]
    np.testing.assert_array_equal(np.concatenate(pieces), ranks)
    np.testing.assert_array_equal(parts.components(), whole.components())
    assert len(whole.components()) == ranks[-1] > 0


@every_tracker
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_do_not_matter_to_any_rank_rule(make, scale, X):
    np.testing.assert_array_equal(make(N).learn(scale * X[:500]), make(N).learn(X[:500]))


@every_tracker
def test_directions_are_orthonormal(make, X):
    tracker = make(N)
    tracker.learn(X)
    U = tracker.components()
    np.testing.assert_allclose(U @ U.T, np.eye(len(U)), atol=1e-9)


@pytest.mark.parametrize("make", [SPIRIT, FRAHST, FederatedPCA], ids=lambda make: make.name)
def test_at_a_fixed_rank_the_discounted_subspace_is_tracked(make, X):
    beta = 0.5 ** (1 / 300)
    tracker = make(N, beta, least=4, most=4)
    assert set(tracker.learn(X)) <= {0, 4}  # none before the first block
    assert error(tracker.components(), discounted_axes(X, beta, 4)) < 1e-4


def test_spirit_finds_one_two_and_one_hidden_variables():
    """The paper's first example: two sensors agree, then one goes its own way, then they agree again."""
    t = np.arange(3000)
    one = np.sin(2 * np.pi * t / 50)
    two = np.where((t >= 1000) & (t < 2000), np.sin(2 * np.pi * t / 17), one)
    ranks = SPIRIT(2).learn(np.column_stack((one, two)))
    assert [int(np.median(part[500:])) for part in np.split(ranks, 3)] == [1, 2, 1]


def test_spirit_keeps_between_95_and_98_percent_of_the_energy():
    """The paper's bound on what is lost: between 1 - F and 1 - f of the energy."""
    X = np.vstack(list(colored_gaussian(0.8 ** np.arange(30), 6000, random_state=1)))
    spirit = SPIRIT(30, 0.998)
    ranks = spirit.learn(X)
    kept = spirit.energy[: spirit.rank].sum() / spirit.energy[-1]
    assert 0.945 < kept < 0.985
    assert 5 < ranks[-1] < 29


def test_spirit_forecasts_what_repeats():
    """A sinusoid obeys an autoregression of order two: gaps are forecast almost without error."""
    rows = np.outer(np.sin(2 * np.pi * np.arange(2000) / 40), [1.0, -0.5, 2.0])
    gappy = rows.copy()
    gappy[1000::7, 1] = np.nan
    spirit = ForecastingSPIRIT(3, most=1)
    filled = np.array([spirit.fill_one(x) for x in gappy])
    np.testing.assert_allclose(filled[1500:], rows[1500:], atol=1e-2)


def test_frahst_stays_orthonormal_to_rounding(X):
    """Strobach's claim for the row-Householder recursion: no loss of orthonormality."""
    frahst = FRAHST(N, 0.998, least=4, most=4)
    frahst.learn(np.vstack((X, X, X)))
    np.testing.assert_allclose(frahst.Q.T @ frahst.Q, np.eye(4), atol=1e-12)


def test_federated_pca_is_exact_while_its_rank_holds_all_that_there_is(rng):
    """The paper's lemma on merging: nothing is lost as long as the rank is that of the rows."""
    X = rng.standard_normal((600, 5)) @ random_orthonormal(N, 5, rng)
    federated = FederatedPCA(N, least=5, most=5)
    federated.learn(X)
    s, V = np.linalg.svd(X, full_matrices=False)[1:]
    np.testing.assert_allclose(np.linalg.norm(federated.scaled, axis=1), s[:5], rtol=1e-10)
    assert error(federated.components(), V[:5]) < 1e-20


def test_federated_pca_ends_with_a_share_between_its_bounds(X):
    federated = FederatedPCA(N)
    federated.learn(X)
    s = np.linalg.norm(federated.scaled, axis=1)
    assert 0.01 <= s[-1] / s.sum() <= 0.1
    assert federated.rank == federated.target


def test_the_tolerance_bounds_the_error_of_the_incremental_svd(rng):
    """Each of the ten blocks drops at most the squared tolerance times the largest squared singular value."""
    X = rng.standard_normal((500, 40)) * 0.5 ** np.arange(40)
    tracker = ToleranceSVD(40, tolerance=1e-4)
    tracker.learn(X)
    B = tracker.scaled
    assert np.linalg.norm(X.T @ X - B.T @ B, 2) <= 10 * (1e-4 * np.linalg.norm(X, 2)) ** 2
    assert 5 < tracker.rank < 40


@pytest.mark.parametrize("l", [4, 8, 15])
def test_frequent_directions_keeps_its_bound(l, X):
    """0 <= A'A - B'B <= |A - A_k|^2 / (l - k) for every k < l."""
    sketch = FrequentDirections(N, l)
    sketch.learn(X)
    B = sketch.sketch[: sketch.used]
    off = np.linalg.eigvalsh(X.T @ X - B.T @ B)
    tails = np.cumsum(np.linalg.svd(X, compute_uv=False)[::-1] ** 2)[::-1]
    assert off[0] > -1e-8 * tails[0]
    assert off[-1] <= min(tails[k] / (l - k) for k in range(l))


def test_arams_widens_until_rows_fit(X):
    arams = RankAdaptiveFrequentDirections(N, error=0.2)
    ranks = arams.learn(X)
    assert (np.diff(ranks) >= 0).all()
    V = arams.components()
    assert np.sum((X - X @ V.T @ V) ** 2) < 0.2 * np.sum(X**2)
    assert 4 <= ranks[-1] < 10


def test_block_svd_is_the_algorithm_of_incremental_pca(X):
    shifted = X[:1000] + 3
    theirs = IncrementalPCA(n_components=6)
    for rows in np.split(shifted, 10):
        theirs.partial_fit(rows)
    ours = BlockSVD(N, 6, block=100)
    ours.learn(shifted)
    np.testing.assert_allclose(ours.mean, theirs.mean_, rtol=1e-12)
    assert error(ours.components(6), theirs.components_) < 1e-20


def test_grouse_finds_a_subspace_from_half_of_the_entries(rng):
    """The paper's experiment: without noise the subspace is found although much is missing."""
    U = random_orthonormal(40, 3, rng)
    grouse = GROUSE(40, 3, step=0.5)
    for _ in range(4000):
        x = rng.standard_normal(3) @ U
        grouse.fill_one(np.where(rng.random(40) < 0.5, x, np.nan))
    np.testing.assert_allclose(grouse.components() @ grouse.components().T, np.eye(3), atol=1e-8)
    assert error(grouse.components(), U) < 1e-6


@pytest.mark.parametrize("name", METHODS)
def test_every_method_finds_the_subspace(name, X):
    learner = learnt(METHODS[name](N, 4), X)
    bound = {"Frequent Directions": 0.2, OURS: 1e-20}.get(name, 2e-3)
    assert error(learner.components(4), np.linalg.svd(X - X.mean(axis=0))[2][:4]) < bound


def test_bytes_are_those_of_the_arrays_held():
    learner = learnt(BlockSVD(N, 4, block=10), np.zeros((100, N)))
    assert bytes_of(learner, N, 4) == 8 * ((4 + 1 + 10) * N + N)
    assert bytes_of(IncrementalPCABy100(N, 4), N, 4) == 8 * (4 * N + 2 * N + 4 + 100 * N)
