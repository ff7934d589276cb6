"""What is the network's own: the paper's mode, its weights, and the spectrum read off its state."""

import numpy as np
import pytest

from eigenstream import HebbianNetwork, Network, OnlineAdaptivePCA, streams
from eigenstream.learners.axes import matched
from eigenstream.learners.network.state import read_spectrum
from tests.online_model import paper

pytestmark = pytest.mark.kernel

PAPER = {
    "solver": Network(init_samples=0, consolidation=None, spontaneous_activity=0),
    "center": False,
}
SPECTRUM = np.r_[6, 5, 4, 2, np.full(60, 0.1)]


def test_everything_off_is_the_papers_network(kind):
    """Random start and nothing else: outputs' spectrum and filter as `HebbianNetwork` learns them."""
    X = paper(400)
    regularizer = kind.for_threshold(SPECTRUM, 2.0)
    model = OnlineAdaptivePCA(regularizer=regularizer, max_components=8, random_state=0, **PAPER).fit(X)
    activity = float(X[0] @ X[0])
    network = HebbianNetwork(
        64, 8, regularizer, initial_activity=activity, random_state=np.random.default_rng([0, 1]), tol=1e-10
    )
    network.run(X[1:])
    np.testing.assert_allclose(model.feedforward_weights_, network.W_yx, atol=1e-6)
    np.testing.assert_allclose(model.lateral_weights_, network.W_yy, atol=1e-6)
    np.testing.assert_allclose(model.cumulative_activity_, network.mu, rtol=1e-6)


def test_dead_modes_do_not_read_as_components(kind):
    """The switching stream in the paper's mode: silent modes decay to rounding, and must stay unread."""
    half_life = 0.5 * np.log(0.5) / np.log(0.995)
    model = OnlineAdaptivePCA(
        regularizer=kind.for_threshold(SPECTRUM, 2.0),
        max_components=20,
        half_life=half_life,
        random_state=0,
        **PAPER,
    )
    for batch in streams.switching_stream(10_000, random_state=0):
        assert model.partial_fit(batch).n_components_ <= 4
    assert model.spectrum_[3] < 2.5


def test_read_off_never_overestimates():
    X = paper(2000)
    model = OnlineAdaptivePCA(solver="network", random_state=0, center=False).fit(X)
    lam = read_spectrum(model._tracker.learner.network()).lam
    truth = np.linalg.eigvalsh(X.T @ X)[::-1][: len(lam)]
    assert np.all(lam <= truth * (1 + 1e-6))


@pytest.mark.parametrize("solver", ["exact", "subspace"])
def test_other_solvers_show_the_network_at_its_optimum(solver):
    """Its filter transmits the kept components and shrinks them as their scores are shrunk."""
    X = paper(3000)
    model = OnlineAdaptivePCA(alpha=0.05, solver=solver, max_components=8, random_state=0).fit(X)
    W_yx, W_yy = model.feedforward_weights_, model.lateral_weights_
    F = np.linalg.solve(np.eye(8) + W_yy, W_yx)
    gains = np.linalg.svd(F, compute_uv=False)[: model.n_components_]
    expected = np.sqrt(model.output_variance_ / model.explained_variance_)
    np.testing.assert_allclose(gains, expected, rtol=1e-6)


def test_near_ties_do_not_trade_places():
    U = np.eye(3)
    reference = U[[1, 0, 2]]
    order, signs = matched(U * [[-1], [1], [1]], np.array([5.05, 5.0, 1.0]), reference, 2)
    np.testing.assert_array_equal(order, [1, 0, 2])
    np.testing.assert_array_equal(signs, [1, -1, 1])
    order, _ = matched(U, np.array([5.05, 5.0, 1.0]), reference, 1)
    np.testing.assert_array_equal(order, [0, 1, 2])
    order, _ = matched(U, np.array([5.2, 5.0, 1.0]), reference, 2)
    np.testing.assert_array_equal(order, [0, 1, 2])
