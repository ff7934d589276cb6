import numpy as np
import pytest

from eigenstream import ConvergenceError, HebbianNetwork, metrics, offline, streams
from eigenstream.regularizers import InputOutput, ScaleDependent, SquaredOutput

pytestmark = pytest.mark.kernel

SPECTRUM = np.r_[6.0, 5.0, 4.0, 2.0, np.full(60, 0.1)]


def paper(n_samples, seed=0):
    return np.vstack(list(streams.paper_stream(n_samples, random_state=seed)))


def weights(network):
    return [network.W_yx.copy(), network.W_yy.copy(), network.mu.copy()]


def test_learning_is_the_printed_rule_and_local(kind):
    """Each weight is recomputed from its own two activities, itself, mu and one scalar, nothing else."""
    rng = np.random.default_rng(0)
    network = HebbianNetwork(5, 3, kind(0.3), beta=0.9, random_state=0)
    network.W_yy = rng.standard_normal((3, 3)) * (1 - np.eye(3))
    x, y = rng.standard_normal(5), rng.standard_normal(3)
    W_yx, W_yy, mu = weights(network)
    scalar = {"scale-dependent": 1.0, "input-output": sum(x**2), "squared-output": sum(y**2)}[kind.name]
    network.adapt(x, y)
    for i in range(3):
        c = 0.3 * scalar + y[i] ** 2
        new_mu = 0.9**2 * mu[i] + c
        assert network.mu[i] == pytest.approx(new_mu)
        for j in range(5):
            assert network.W_yx[i, j] == pytest.approx(W_yx[i, j] + (y[i] * x[j] - c * W_yx[i, j]) / new_mu)
        for j in range(3):
            expected = W_yy[i, j] + (y[i] * y[j] - c * W_yy[i, j]) / new_mu if j != i else 0.0
            assert network.W_yy[i, j] == pytest.approx(expected)


def test_without_forgetting_section_five_is_section_four(kind):
    """The discounted rules approach the plain ones as beta approaches 1, and differ from them before."""
    X = paper(100)
    plain, nearly, forgetful = (
        HebbianNetwork(64, 6, kind(0.1), random_state=1, beta=beta).run(X) for beta in (1.0, 1 - 1e-12, 0.99)
    )
    np.testing.assert_allclose(nearly, plain, atol=1e-6 * np.abs(plain).max())
    assert np.abs(forgetful - plain).max() > 1e-2 * np.abs(plain).max()


def test_jacobi_settles_on_the_fixed_point(kind):
    network = HebbianNetwork(64, 10, kind(0.1), tol=1e-9, random_state=0)
    X = paper(120)
    network.run(X[:-1])
    y = network.respond(X[-1])
    np.testing.assert_allclose(y, network.filter @ X[-1], atol=1e-6)
    np.testing.assert_allclose(y, network.W_yx @ X[-1] - network.W_yy @ y, atol=1e-6)


def test_learning_rate_saturates_under_forgetting(kind):
    X = paper(400)
    regularizer = kind.for_threshold(SPECTRUM, 2.0)
    forgetful, retentive = (
        HebbianNetwork(64, 5, regularizer, beta=beta, random_state=0) for beta in (0.95, 1.0)
    )
    halfway = []
    for network in (forgetful, retentive):
        network.run(X[:200])
        halfway.append(network.mu.sum())
        network.run(X[200:])
    assert forgetful.mu.sum() == pytest.approx(halfway[0], rel=0.5)
    assert retentive.mu.sum() == pytest.approx(2 * halfway[1], rel=0.2)


def test_it_tracks_the_top_three_components(kind):
    X = paper(1200)
    regularizer = kind.for_threshold(SPECTRUM, 2.0)
    network = HebbianNetwork(64, 8, regularizer, random_state=0)
    Y = network.run(X)
    solution = offline.solve(X, regularizer, 8)
    assert metrics.subspace_error(network.filter, solution.components, 3) < 0.02
    assert metrics.eigenvalue_error(Y[600:], solution.output_eigenvalues) < 0.5


def test_exploding_activity_raises_and_leaves_the_network_alone():
    """White noise with the first sample shown twice: at eta = 0.5 the iteration grows without bound."""
    X = np.random.default_rng(0).standard_normal((50, 64))
    X = np.vstack((X[:1], X))
    network = HebbianNetwork(64, 16, SquaredOutput(0.01), eta=0.5, initial_activity=10.0, random_state=0)
    steady = HebbianNetwork(64, 16, SquaredOutput(0.01), eta=0.1, initial_activity=10.0, random_state=0)
    for x in X:
        steady.step(x)
        if np.linalg.eigvalsh(np.eye(16) + network.W_yy)[-1] > 2 / network.eta:
            break
        network.step(x)
    before = weights(network)
    with pytest.raises(ConvergenceError, match=r"eta=0\.5.*2/k = 0\.125"):
        network.step(x)
    for now, then in zip(weights(network), before, strict=True):
        np.testing.assert_array_equal(now, then)
        assert np.isfinite(now).all()


def test_too_few_iterations_raise():
    network = HebbianNetwork(64, 10, InputOutput(0.1), max_iter=3, random_state=0)
    with pytest.raises(ConvergenceError, match="within 3 iterations"):
        network.step(paper(1)[0])


def test_silence_in_silence_out(kind):
    network = HebbianNetwork(4, 2, kind(0.1), random_state=0)
    np.testing.assert_array_equal(network.step(np.zeros(4)), np.zeros(2))


def test_same_seed_same_network():
    X = paper(50)
    one, two = (HebbianNetwork(64, 4, ScaleDependent(1.0), random_state=3).run(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_empty_run():
    assert HebbianNetwork(4, 2, ScaleDependent(1.0)).run(np.zeros((0, 4))).shape == (0, 2)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"n_outputs": 5}, "n_inputs=4, got 5"),
        ({"n_outputs": 0}, "got 0"),
        ({"beta": 1.5}, "beta"),
        ({"eta": 0}, "eta"),
        ({"tol": 0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"initial_activity": 0}, "initial_activity"),
    ],
)
def test_bad_parameters_are_named(options, says):
    arguments = {"n_inputs": 4, "n_outputs": 2, "regularizer": InputOutput(0.1), **options}
    with pytest.raises(ValueError, match=says):
        HebbianNetwork(**arguments)


@pytest.mark.parametrize("x", [[1.0, 2.0], [[1.0] * 4], [1.0, 2.0, 3.0, np.nan], [1.0, 2.0, 3.0, np.inf]])
def test_bad_input_teaches_nothing(x):
    network = HebbianNetwork(4, 2, InputOutput(0.1), random_state=0)
    before = weights(network)
    with pytest.raises(ValueError, match="length 4"):
        network.step(x)
    for now, then in zip(weights(network), before, strict=True):
        np.testing.assert_array_equal(now, then)
