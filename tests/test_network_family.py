"""The hard-threshold and equalizing networks, and their closed forms."""

import numpy as np
import pytest
from benchmarks.peers.similarity_matching import PlainFSM
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from eigenstream import (
    ConvergenceError,
    EqualizingNetwork,
    FastSimilarityMatching,
    HardThresholdNetwork,
    HebbianNetwork,
    MinMaxNetwork,
    NonnegativeNetwork,
    SimilarityMatchingNetwork,
    metrics,
    offline,
    streams,
)
from eigenstream.regularizers import InputOutput, Regularizer, ScaleDependent, SquaredOutput

pytestmark = pytest.mark.kernel

SPECTRUM = np.r_[6.0, 5.0, 4.0, 2.0, np.full(60, 0.1)]
THRESHOLD = 3.0
GAMMA = 1.5


def data(T=12, n=5, seed=0):
    return np.random.default_rng(seed).standard_normal((T, n)) * np.array([3.0, 2.5, 2.0, 1.0, 0.4])[:n]


# --- closed forms ----------------------------------------------------------------------------------------

FORMS = {
    "hard": (offline.solve_hard, offline.cost_hard),
    "equalizing": (
        lambda X, r, k: offline.solve_equalizing(X, r, GAMMA, k),
        lambda X, Y, Z, r: offline.cost_equalizing(X, Y, Z, r, GAMMA),
    ),
}


def slopes(form, X, Y, Z, regularizer, gamma=GAMMA):
    """Derivatives of the cost by Y and by Z, written out from the formulas in the docstrings."""
    r0, r1, _ = regularizer.increment
    measured = r0 * len(X) + r1 * np.sum(X**2)
    theta, goal = regularizer.alpha * measured, gamma * measured
    by_y = (Z @ Z.T - X @ X.T) @ Y + theta * Y
    if form == "hard":
        return 4 * by_y, 4 * ((Y @ Y.T - Z @ Z.T) @ Z - theta * Z)
    return 2 * by_y, 2 * (Y @ Y.T @ Z - goal * Z)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("regularizer", [ScaleDependent(1.5), InputOutput(0.12)])
def test_closed_form_is_stationary_and_a_saddle(form, regularizer):
    solve, cost = FORMS[form]
    X = data()
    found = solve(X, regularizer, 4)
    assert 0 < found.n_components < 4
    for slope in slopes(form, X, found.Y, found.Z, regularizer):
        assert np.max(np.abs(slope)) < 1e-10 * np.sum(X**2) ** 1.5
    best = cost(X, found.Y, found.Z, regularizer)
    rng = np.random.default_rng(1)
    for size in np.geomspace(1e-3, 1, 20):
        Z = found.Z + size * rng.standard_normal(found.Z.shape)
        assert cost(X, found.Y, Z, regularizer) <= best + 1e-9 * abs(best)


@pytest.mark.parametrize("form", FORMS)
def test_costs_have_the_slopes_that_the_formulas_say(form):
    cost, regularizer = FORMS[form][1], InputOutput(0.12)
    rng = np.random.default_rng(2)
    X, Y, Z, dY, dZ = data(), *(rng.standard_normal((12, 3)) for _ in range(4))
    by_y, by_z = slopes(form, X, Y, Z, regularizer)
    h = 1e-5
    for direction, slope, changed in (
        (dY, by_y, lambda s: (Y + s * dY, Z)),
        (dZ, by_z, lambda s: (Y, Z + s * dZ)),
    ):
        measured = (cost(X, *changed(h), regularizer) - cost(X, *changed(-h), regularizer)) / (2 * h)
        assert measured == pytest.approx(np.sum(slope * direction), rel=1e-6)


@pytest.mark.parametrize("regularizer", [ScaleDependent(1.5), InputOutput(0.12)])
def test_generic_search_of_the_hard_saddle_finds_the_closed_form(regularizer):
    """The inner maximum is known for any Y (soft thresholding of YY'): the outer minimum can be searched."""
    X = data()
    best = offline.solve_hard(X, regularizer, 4)
    r0, r1, _ = regularizer.increment
    theta = regularizer.alpha * (r0 * len(X) + r1 * np.sum(X**2))

    def outer(flat):
        Y = flat.reshape(len(X), 4)
        lam, V = np.linalg.eigh(Y.T @ Y)
        Z = Y @ (V * np.sqrt(np.maximum(lam - theta, 0) / np.maximum(lam, 1e-300)))
        return offline.cost_hard(X, Y, Z, regularizer), slopes("hard", X, Y, Z, regularizer)[0].ravel()

    rng = np.random.default_rng(3)
    found = min(
        (
            minimize(
                outer, rng.standard_normal(len(X) * 4), jac=True, method="L-BFGS-B", options={"maxiter": 3000}
            )
            for _ in range(3)
        ),
        key=lambda result: result.fun,
    )
    value = offline.cost_hard(X, best.Y, best.Z, regularizer)
    assert found.fun == pytest.approx(value, rel=1e-6)
    Y = found.x.reshape(len(X), 4)
    spectrum = np.linalg.eigvalsh(Y.T @ Y / len(X))[::-1]
    np.testing.assert_allclose(spectrum, best.output_eigenvalues, atol=2e-2)


@pytest.mark.parametrize(("regularizer", "gamma"), [(ScaleDependent(1.5), GAMMA), (InputOutput(0.12), 0.1)])
def test_descent_and_ascent_find_the_equalizing_saddle(regularizer, gamma):
    """A generic saddle search: extragradient steps from a random start."""
    X = data()
    best = offline.solve_equalizing(X, regularizer, gamma, 4)
    rng = np.random.default_rng(4)
    Y, Z = (rng.standard_normal((len(X), 4)) for _ in range(2))
    rate = 0.2 / np.sum(X**2)
    for _ in range(20_000):
        by_y, by_z = slopes("equalizing", X, Y, Z, regularizer, gamma)
        ahead = slopes("equalizing", X, Y - rate * by_y, Z + rate * by_z, regularizer, gamma)
        Y, Z = Y - rate * ahead[0], Z + rate * ahead[1]
    np.testing.assert_allclose(Y @ Y.T, best.Y @ best.Y.T, atol=1e-6 * np.sum(X**2))
    np.testing.assert_allclose(Z @ Z.T, best.Z @ best.Z.T, atol=1e-6 * np.sum(X**2))


@given(st.lists(st.integers(0, 40), min_size=1, max_size=10), st.floats(0.001, 10), st.data())
def test_hard_spectrum_solves_its_own_threshold_equation(values, alpha, draw):
    mixed = type("Mixed", (Regularizer,), {"name": "mixed", "increment": (0.5, 0.02, 0.3)})
    lam = np.sort(np.array(values, dtype=float))[::-1]
    k = draw.draw(st.integers(1, lam.size))
    for kind in (ScaleDependent, InputOutput, SquaredOutput, mixed):
        theta, d = offline.hard_spectrum(lam, kind(alpha), k)
        r0, r1, r2 = kind.increment
        assert theta == pytest.approx(alpha * (r0 + r1 * lam.sum() + r2 * d.sum()), rel=1e-9, abs=1e-12)
        for value, kept in zip(lam[:k], d, strict=True):
            if value > theta * (1 + 1e-12):
                assert kept == value
            elif value < theta * (1 - 1e-12):
                assert kept == 0
            else:
                assert 0 <= kept <= value * (1 + 1e-9)


def test_a_mode_on_the_threshold_passes_in_part():
    """At alpha = 0.6, 2 is above 0.6 * 3 (its own share left out) and below 0.6 * 5 (counted)."""
    theta, d = offline.hard_spectrum([3.0, 2.0], SquaredOutput(0.6))
    assert theta == 2
    np.testing.assert_allclose(d, [3, 2 / 0.6 - 3])


def test_weights_and_float32_are_kept():
    X = data().astype(np.float32)
    twice = offline.solve_hard(np.vstack((X, X)), ScaleDependent(1.5), 4)
    weighted = offline.solve_hard(X, ScaleDependent(1.5), 4, sample_weight=np.full(len(X), 2.0))
    np.testing.assert_allclose(weighted.output_eigenvalues, twice.output_eigenvalues, rtol=1e-5)
    assert weighted.Y.dtype == weighted.Z.dtype == np.float32


# --- networks --------------------------------------------------------------------------------------------


def network_of(form, regularizer, k=6, n=64, **options):
    if form == "hard":
        return HardThresholdNetwork(n, k, regularizer, **options)
    return EqualizingNetwork(
        n, k, regularizer, GAMMA / (SPECTRUM.sum() if regularizer.increment[1] else 1), **options
    )


def weights(network):
    return [
        np.copy(w) for w in (network.W_yx, network.W_yz, network.W_zy, network.W_zz, network.D, network.E)
    ]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [ScaleDependent, InputOutput])
def test_learning_is_the_stated_rule_weight_by_weight(form, kind):
    rng = np.random.default_rng(0)
    network = network_of(form, kind(0.3), k=3, n=5, beta=0.9, random_state=0)
    network.W_zz = rng.standard_normal((3, 3)) * (1 - np.eye(3)) * (form == "hard")
    x, y, z = (rng.standard_normal(m) for m in (5, 3, 3))
    W_yx, W_yz, W_zy, W_zz, D, E = weights(network)
    measured = 1.0 if kind is ScaleDependent else sum(x**2)
    c = 0.3 * measured
    network.adapt(x, y, z)
    assert network.D == pytest.approx(0.81 * D + c)
    for i in range(3):
        e = c + z[i] ** 2 if form == "hard" else network.gamma * measured
        assert network.E[i] == pytest.approx(0.81 * E[i] + e)
        for j in range(5):
            assert network.W_yx[i, j] == pytest.approx(
                W_yx[i, j] + (y[i] * x[j] - c * W_yx[i, j]) / network.D
            )
        for j in range(3):
            assert network.W_yz[i, j] == pytest.approx(
                W_yz[i, j] + (y[i] * z[j] - c * W_yz[i, j]) / network.D
            )
            assert network.W_zy[i, j] == pytest.approx(
                W_zy[i, j] + (z[i] * y[j] - e * W_zy[i, j]) / network.E[i]
            )
            lateral = W_zz[i, j] + (z[i] * z[j] - e * W_zz[i, j]) / network.E[i]
            assert network.W_zz[i, j] == pytest.approx(lateral if form == "hard" and i != j else 0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("settling", ["jacobi", "gauss-seidel"])
def test_activity_settles_on_the_fixed_point(form, settling):
    X = np.vstack(list(streams.paper_stream(250, random_state=0)))
    network = network_of(form, InputOutput(3 / 23), settling=settling, tol=1e-10).start_from(X[:150])
    network.run(X[150:-1])
    y, z = network.activity(X[-1])
    np.testing.assert_allclose(y, network.W_yx @ X[-1] - network.W_yz @ z, atol=1e-7)
    np.testing.assert_allclose(z, network.W_zy @ y - network.W_zz @ z, atol=1e-7)
    np.testing.assert_allclose(y, network.filter @ X[-1], atol=1e-7)


@pytest.mark.parametrize("form", FORMS)
def test_closed_form_start_is_the_offline_answer(form):
    X = np.vstack(list(streams.paper_stream(400, random_state=0)))
    network = network_of(form, ScaleDependent(THRESHOLD)).start_from(X)
    Y = X @ network.filter.T
    found = np.linalg.eigvalsh(Y.T @ Y / len(X))[::-1]
    solution = network._optimum(X, 6, np.ones(len(X)))
    np.testing.assert_allclose(found[:3], solution.output_eigenvalues[:3], rtol=1e-3)
    assert found[3] < 0.1 * solution.output_eigenvalues[2]


DISTANCE = {("hard", 1.0): 0.06, ("equalizing", 1.0): 0.12, ("hard", 0.995): 0.2, ("equalizing", 0.995): 0.45}
"""How far the top three output eigenvalues may be from offline, relatively; a window of 100 is noisy."""


@pytest.mark.parametrize(("form", "beta"), DISTANCE)
@pytest.mark.parametrize("kind", [ScaleDependent, InputOutput])
@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(10), marks=pytest.mark.slow)], ids=len)
def test_online_is_within_a_stated_distance_of_offline(form, kind, beta, seeds):
    """Both on all that was seen, discounted as the network forgets."""
    T, regularizer = 4000, kind.for_threshold(SPECTRUM, THRESHOLD)
    discount = beta ** (2.0 * np.arange(T - 1, -1, -1))
    for seed in seeds:
        X = np.vstack(list(streams.paper_stream(T, random_state=seed)))
        network = network_of(form, regularizer, beta=beta, settling="gauss-seidel").start_from(X[:200], 0)
        network.run(X[200:])
        Y = X @ network.filter.T
        found = np.linalg.eigvalsh((Y.T * discount) @ Y / discount.sum())[::-1]
        goal = network._optimum(X, 6, discount).output_eigenvalues
        assert np.max(np.abs(found[:3] / goal[:3] - 1)) < DISTANCE[form, beta]
        assert found[3] < 0.01 * goal[2]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_self_calibrating_outputs_do_not_depend_on_the_units(form, scale):
    X = np.vstack(list(streams.paper_stream(300, random_state=0)))
    kinds = [InputOutput] if form == "equalizing" else [InputOutput, SquaredOutput]
    for kind in kinds:
        outputs = []
        for unit in (1.0, scale):
            network = network_of(form, kind(0.13), beta=0.995, settling="gauss-seidel").start_from(
                unit * X[:100], 0
            )
            outputs.append(network.run(unit * X[100:]) / unit)
        np.testing.assert_allclose(outputs[1], outputs[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_silence_in_silence_out(form):
    network = network_of(form, ScaleDependent(0.5), k=2, n=4, random_state=0)
    np.testing.assert_array_equal(network.step(np.zeros(4)), np.zeros(2))
    assert all(np.isfinite(w).all() for w in weights(network))


def test_gauss_seidel_settles_where_jacobi_cannot():
    """40 outputs at eta = 0.9, far above 2/k: all at once diverges, one after the other does not."""
    X = np.vstack(list(streams.paper_stream(60, random_state=0)))
    with pytest.raises(ConvergenceError):
        HebbianNetwork(64, 40, SquaredOutput(0.01), eta=0.9, random_state=0).run(X)
    network = HebbianNetwork(64, 40, SquaredOutput(0.01), settling="gauss-seidel", tol=1e-10, random_state=0)
    network.run(X[:-1])
    np.testing.assert_allclose(network.respond(X[-1]), network.filter @ X[-1], atol=1e-7)


def test_jacobi_and_gauss_seidel_learn_the_same(kind):
    X = np.vstack(list(streams.paper_stream(200, random_state=0)))
    runs = [
        HebbianNetwork(64, 8, kind(0.1), settling=settling, tol=1e-10, random_state=0).run(X)
        for settling in ("jacobi", "gauss-seidel")
    ]
    np.testing.assert_allclose(*runs, atol=1e-6)


def test_random_lateral_weights_are_drawn_after_the_others():
    plain, random = (
        HebbianNetwork(64, 20, ScaleDependent(2.0), initial_lateral=s, random_state=0) for s in (0, 0.5)
    )
    np.testing.assert_array_equal(plain.W_yx, random.W_yx)
    assert not plain.W_yy.any()
    off = random.W_yy[~np.eye(20, dtype=bool)]
    assert np.std(off) == pytest.approx(0.5 / np.sqrt(20), rel=0.1)
    assert not np.diag(random.W_yy).any()
    X = np.vstack(list(streams.paper_stream(100, random_state=0)))
    assert np.isfinite(random.run(X)).all()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: EqualizingNetwork(4, 2, SquaredOutput(0.1)), "measures by the output"),
        (lambda: EqualizingNetwork(4, 2, InputOutput(0.1), gamma=0), "gamma"),
        (lambda: EqualizingNetwork(4, 2, InputOutput(0.1), SquaredOutput(1.0)), "measures by the output"),
        (lambda: EqualizingNetwork(4, 2, InputOutput(0.1), ScaleDependent(0.0)), "gamma must be positive"),
        (lambda: MinMaxNetwork(4, 2, InputOutput(0.1), tau=0), "tau"),
        (lambda: HebbianNetwork.with_weights(np.eye(2), np.eye(2), [1, 1], InputOutput(0.1)), "self-conn"),
        (lambda: HebbianNetwork.with_weights(np.eye(2), np.zeros((3, 3)), [1, 1], InputOutput(0.1)), "2 x 2"),
        (lambda: HardThresholdNetwork(4, 5, InputOutput(0.1)), "n_inputs=4, got 5"),
        (lambda: HardThresholdNetwork(4, 2, InputOutput(0.1), beta=2), "beta=2"),
        (lambda: HardThresholdNetwork(4, 2, InputOutput(0.0)), "alpha must be positive"),
        (lambda: HardThresholdNetwork(4, 2, InputOutput(0.1)).start_from(np.zeros((3, 4))), "all zero"),
        (lambda: HardThresholdNetwork(4, 2, InputOutput(0.1), settling="newton"), "newton"),
        (lambda: HebbianNetwork(4, 2, InputOutput(0.1), settling="newton"), "newton"),
        (lambda: HebbianNetwork(4, 2, InputOutput(0.1), initial_lateral=-1), "initial_lateral=-1"),
        (lambda: HebbianNetwork(4, 2, InputOutput(0.1), initial_gain=0), "initial_gain=0"),
        (lambda: HardThresholdNetwork(4, 2, InputOutput(0.1)).step([1.0]), "length 4"),
        (lambda: offline.cost_hard(data(), data(), data(), SquaredOutput(0.1)), "has no cost"),
        (lambda: offline.cost_hard(data(), data(), data(11), ScaleDependent(0.1)), "as many rows"),
        (lambda: offline.solve_hard(data(), ScaleDependent(0.1), 6), "max_components"),
        (lambda: offline.solve_equalizing(data(), ScaleDependent(0.1), -1.0), "gamma"),
    ],
)
def test_mistakes_are_named(make, says):
    with pytest.raises(ValueError, match=says):
        make()


@pytest.mark.parametrize("form", FORMS)
def test_what_does_not_settle_raises_and_leaves_the_network_alone(form):
    X = 10 * np.vstack(list(streams.paper_stream(100, random_state=0)))
    network = network_of(form, ScaleDependent(0.5), eta=0.9).start_from(X)
    before = weights(network)
    with pytest.raises(ConvergenceError, match="smaller eta"):
        network.step(X[0])
    for now, then in zip(weights(network), before, strict=True):
        np.testing.assert_array_equal(now, then)


# --- further relatives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_a_fixed_gamma_with_a_measured_threshold_is_gain_control(scale):
    """As many modes, and as large an output, whatever the input's scale; offline and online."""
    X = scale * np.vstack(list(streams.paper_stream(1500, random_state=0)))
    threshold, goal = InputOutput.for_threshold(SPECTRUM, THRESHOLD), ScaleDependent(GAMMA)
    solution = offline.solve_equalizing(X, threshold, goal, 6)
    np.testing.assert_allclose(solution.output_eigenvalues[:4], [GAMMA] * 3 + [0], atol=1e-12)
    best = [offline.cost_equalizing(X, solution.Y, s * solution.Z, threshold, goal) for s in (0.9, 1, 1.1)]
    assert best == pytest.approx([best[1]] * 3, rel=1e-9)  # flat: Z is at its saddle
    options = {"beta": 0.995, "settling": "gauss-seidel"}
    network = EqualizingNetwork(64, 6, threshold, goal, **options).start_from(X[:200], 0)
    Y = network.run(X[200:])
    found = np.linalg.eigvalsh(Y.T @ Y / len(Y))[::-1]
    np.testing.assert_allclose(found[:3], GAMMA, rtol=0.15)
    assert found[3] < 0.05 * GAMMA


@pytest.mark.parametrize("beta", [1.0, 0.99])
def test_equal_rates_make_the_min_max_form_the_papers_network(kind, beta):
    X = np.vstack(list(streams.paper_stream(200, random_state=0)))
    options = {"beta": beta, "settling": "gauss-seidel", "tol": 1e-12, "random_state": 0}
    mine, paper = (make(64, 8, kind(0.1), **options) for make in (MinMaxNetwork, HebbianNetwork))
    np.testing.assert_allclose(mine.run(X), paper.run(X), atol=1e-10)
    np.testing.assert_allclose(mine.filter, paper.filter, atol=1e-10)


def test_two_rates_reach_the_same_answer_and_settle_in_both_ways():
    X = np.vstack(list(streams.paper_stream(3000, random_state=0)))
    regularizer = InputOutput.for_threshold(SPECTRUM, 2.0)
    best = offline.solve(X, regularizer, 6).output_eigenvalues
    network = MinMaxNetwork(64, 6, regularizer, tau=0.25, settling="gauss-seidel", random_state=0)
    Y = network.run(X)[1000:]
    np.testing.assert_allclose(np.linalg.eigvalsh(Y.T @ Y / len(Y))[::-1][:3], best[:3], rtol=0.1)
    one_by_one = network.respond(X[0])
    network.settling, network.tol = "jacobi", 1e-12
    np.testing.assert_allclose(network.respond(X[0]), one_by_one, atol=1e-4)
    network.eta, network.max_iter = 1.0, 0
    with pytest.raises(ConvergenceError, match="smaller eta"):
        network.respond(X[0])


def test_fast_similarity_matching_is_the_published_one():
    """From the same start it answers as the rewrite that benchmarks compare with."""
    X = np.vstack(list(streams.paper_stream(300, random_state=0)))
    network = FastSimilarityMatching(64, 3, random_state=0)
    peer = PlainFSM(64, 3)
    peer.W, peer.Minv, peer.t = network.W_yx.copy(), network.M_inverse.copy(), 0
    peer._consume(X)
    network.run(X)
    np.testing.assert_allclose(network.filter, peer.Minv @ peer.W, atol=1e-10)


@pytest.mark.parametrize(
    "make",
    [
        lambda: SimilarityMatchingNetwork(64, 3, settling="gauss-seidel", random_state=0),
        lambda: FastSimilarityMatching(64, 3, random_state=0),
    ],
)
def test_without_a_threshold_the_principal_subspace_is_found(make):
    X = np.vstack(list(streams.paper_stream(2000, random_state=0)))
    network = make()
    network.run(X)
    axes = offline.solve(X, ScaleDependent(0.0), 3).components
    assert metrics.subspace_error(network.filter, axes, 3) < 0.01


@pytest.mark.parametrize("settling", ["jacobi", "gauss-seidel"])
def test_rectified_outputs_minimize_over_what_is_not_negative(settling):
    """The conditions of Karush, Kuhn and Tucker: no slope where active, none downhill where silent."""
    X = np.vstack(list(streams.paper_stream(150, random_state=0)))
    network = NonnegativeNetwork(64, 6, InputOutput(0.05), settling=settling, tol=1e-11, random_state=0)
    assert network.run(X[:-1]).min() >= 0
    y = network.respond(X[-1])
    slope = y + network.W_yy @ y - network.W_yx @ X[-1]
    assert (y > 0).any()
    assert np.max(np.abs(slope[y > 0])) < 1e-8
    assert np.all(slope[y == 0] > -1e-8)
    with pytest.raises(AttributeError, match="no linear filter"):
        _ = network.filter


def test_the_fixed_point_is_where_every_network_settles():
    X = np.vstack(list(streams.paper_stream(250, random_state=0)))
    kinds = {
        "soft": lambda **options: HebbianNetwork(64, 6, InputOutput(0.1), **options),
        "two rates": lambda **options: MinMaxNetwork(64, 6, InputOutput(0.1), **options),
        **{
            form: lambda form=form, **options: network_of(form, InputOutput(0.1), **options) for form in FORMS
        },
    }
    for make in kinds.values():
        outputs = []
        for settling in ("fixed-point", "gauss-seidel"):
            network = make(settling=settling, tol=1e-12, random_state=0)
            if hasattr(network, "start_from"):
                network.start_from(X[:150], 0)
            outputs.append(network.run(X[150:]))
        np.testing.assert_allclose(*outputs, atol=1e-8)
    with pytest.raises(ValueError, match="have to settle"):
        NonnegativeNetwork(64, 6, InputOutput(0.1), settling="fixed-point").respond(X[0])
