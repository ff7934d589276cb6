"""What is the network's own: the paper's mode, its weights, and the spectrum read off its state."""

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream import (
    ConvergenceError,
    HebbianNetwork,
    InputOutput,
    Network,
    OnlineAdaptivePCA,
    load,
    streams,
)
from eigenstream.cli import main
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


# --- its own outputs -------------------------------------------------------------------------------------


def settled_elsewhere(W_yx, W_yy, x, eta=0.05):
    """The paper's dynamics, written out here: each neuron its inputs less what its neighbours say."""
    y = np.zeros(len(W_yx))
    for _ in range(4000):
        y = np.array([(1 - eta) * y[i] + eta * (W_yx[i] @ x - W_yy[i] @ y) for i in range(len(y))])
    return y


@pytest.mark.parametrize("solver", ["paper", "network", "exact"])
def test_responses_are_where_the_dynamics_end(solver):
    X = paper(600) + 3.0
    model = OnlineAdaptivePCA(alpha=0.08, solver=solver, max_components=6, random_state=0).fit(X)
    Y = model.respond(X[:3])
    assert Y.shape == (3, 6)
    for x, y in zip(X[:3], Y, strict=True):
        independent = settled_elsewhere(model.feedforward_weights_, model.lateral_weights_, x - model.mean_)
        np.testing.assert_allclose(y, independent, atol=1e-8)
    for settling in ("jacobi", "gauss-seidel"):
        np.testing.assert_allclose(model.respond(X[:3], settling, tol=1e-12), Y, atol=1e-8)
    # Asking teaches nothing.
    np.testing.assert_array_equal(model.respond(X[:3]), Y)


@pytest.mark.filterwarnings("ignore:the rank has reached")  # at once: the random start has no spectrum yet
def test_responses_are_those_that_the_printed_network_emits():
    """Row by row before it is learnt: what `HebbianNetwork` answers on the same stream."""
    X, regularizer = paper(120), InputOutput(2 / 23)
    model = OnlineAdaptivePCA(
        regularizer=regularizer, solver="paper", center=False, max_components=8, random_state=0
    )
    model.partial_fit(X[:1])
    weights = np.random.default_rng([0, 1])
    options = {"initial_activity": float(X[0] @ X[0]), "random_state": weights, "tol": 1e-12}
    network = HebbianNetwork(64, 8, regularizer, **options)
    for x in X[1:]:
        mine = model.respond(x[None])[0]
        np.testing.assert_allclose(mine, network.step(x), atol=1e-8)
        model.partial_fit(x[None])


def test_paper_is_a_name_for_its_network(tmp_path):
    X = paper(300)
    named, spelled = (
        OnlineAdaptivePCA(alpha=0.08, solver=solver, center=False, random_state=0).fit(X)
        for solver in ("paper", PAPER["solver"])
    )
    np.testing.assert_array_equal(named.feedforward_weights_, spelled.feedforward_weights_)
    named.save(tmp_path / "paper.model")
    again = load(tmp_path / "paper.model")
    assert again.solver == "paper"
    np.testing.assert_array_equal(again.partial_fit(X).respond(X), named.partial_fit(X).respond(X))


@pytest.mark.parametrize("asked", [{}, {"n_components": 3}, {"n_components": 0.9}])
def test_the_papers_network_wants_its_alpha(asked):
    """A rule would move alpha by the whole spectrum, which is not local; a given one stays."""
    X = paper(100)
    with pytest.raises(ValueError, match=r"such as alpha=0\.1.*calibrate_alpha.*solver='network'"):
        OnlineAdaptivePCA(solver="paper", center=False, **asked).fit(X)
    model = OnlineAdaptivePCA(regularizer=InputOutput(0.1), solver="paper", center=False, random_state=0)
    assert {model.partial_fit(rows).alpha_ for rows in np.split(X, 10)} == {0.1}


def test_the_command_line_wants_alpha_for_the_papers_network(tmp_path):
    np.save(tmp_path / "x.npy", paper(100))
    done = CliRunner().invoke(main, ["run", str(tmp_path / "x.npy"), "--solver", "paper"])
    assert done.exit_code == 2
    assert "give --alpha" in done.output
    assert "eigenstream calibrate" in done.output


def test_responses_on_the_command_line(tmp_path, monkeypatch):
    X = paper(300)
    np.save(tmp_path / "x.npy", X)
    model, output = str(tmp_path / "x.model"), tmp_path / "y.npy"
    learnt = ["run", str(tmp_path / "x.npy"), "--solver", "paper", "--no-center", "--alpha", "0.08"]
    done = CliRunner().invoke(main, [*learnt, "--max-components", "8", "--save", model, "--quiet"])
    assert done.exit_code == 0, done.output
    asked = ["transform", model, str(tmp_path / "x.npy"), "--overwrite"]
    exact = load(model).respond(X)
    for settling, atol in (
        (["fixed-point"], 1e-12),
        (["jacobi"], 1e-3),
        (["jacobi", "--tol", "1e-10"], 1e-8),
    ):
        done = CliRunner().invoke(main, [*asked, "--respond", *settling, "--output", str(output)])
        assert done.exit_code == 0, done.output
        np.testing.assert_allclose(np.load(output), exact, atol=atol)
    done = CliRunner().invoke(main, [*asked, "--respond", "fixed-point"])
    assert done.output.splitlines()[0] == ",".join(["row", *(f"neuron_{i}" for i in range(8))])
    done = CliRunner().invoke(main, [*asked, "--respond", "fixed-point", "--tol", "1e-9"])
    assert done.exit_code == 2
    assert "needs --respond jacobi" in " ".join(done.output.split())

    def unsettled(network, x):
        raise ConvergenceError("not in a thousand iterations")

    monkeypatch.setattr(HebbianNetwork, "respond", unsettled)
    done = CliRunner().invoke(main, [*asked, "--respond", "jacobi"])
    assert done.exit_code == 1
    assert "take --respond fixed-point" in done.output


def test_rows_without_values_have_no_response():
    X = paper(300)
    model = OnlineAdaptivePCA(alpha=0.08, solver="network", missing="skip", random_state=0).fit(X)
    X[1, 5] = np.nan
    Y = model.respond(X[:3])
    assert np.isnan(Y[1]).all()
    assert np.isfinite(Y[[0, 2]]).all()


@pytest.mark.parametrize(
    ("asked", "error", "says"),
    [
        ({"settling": "newton"}, ValueError, "newton"),
        ({"eta": 0.1}, ValueError, "takes no eta"),
        ({"settling": "jacobi", "eta": 1.0, "max_iter": 200}, ConvergenceError, "smaller eta"),
    ],
)
def test_what_cannot_settle_is_said(asked, error, says):
    X = paper(300)
    model = OnlineAdaptivePCA(alpha=0.01, solver="paper", center=False, random_state=0).fit(X)
    with pytest.raises(error, match=says):
        model.respond(X[:3], **asked)
