"""The exact and the subspace learner: the closed form, tracked."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_sample_images, load_wine

from eigenstream import AdaptivePCA, OnlineAdaptivePCA, compare_to_offline, merge, metrics, offline, streams
from eigenstream.learners.knowledge import Knowledge
from eigenstream.learners.learner import Steps
from eigenstream.learners.scatter import Scatter
from eigenstream.learners.subspace import Subspace
from eigenstream.model.plan import automatic_solver
from tests.marks import slow
from tests.online_model import paper

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:.*max_components:UserWarning")]


def patches():
    image = load_sample_images().images[0].mean(axis=2)
    views = np.lib.stride_tricks.sliding_window_view(image, (12, 12))[::9, ::9]
    return views.reshape(-1, 144).astype(float)


REAL = {
    "wine": lambda: load_wine().data,
    "breast cancer": lambda: load_breast_cancer().data,
    "digits": lambda: load_digits().data,
    "patches": patches,
}


def weighted_scatter(X, weights, *, center=True):
    """The plain formula: the oracle of every learner."""
    mean = weights @ X / weights.sum() if center else np.zeros(X.shape[1])
    return (X - mean).T @ ((X - mean) * weights[:, None]), mean


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("beta2", [1.0, 0.99])
@pytest.mark.parametrize("center", [True, False])
def test_several_blocks_at_once_have_the_bits_of_one_after_the_other(center, beta2, standardize, rng):
    X, block = 5 + rng.standard_normal((40 * 16, 20)), 16
    one, several = (Scatter(20, 3, block, center=center, standardize=standardize) for _ in range(2))
    steps = Steps.even(block, beta2)
    for learner in one, several:
        assert learner.at_once == 1  # there are no axes yet
        learner.learn(X[:block], steps)
        learner.align(2, 0.0)
    assert several.at_once > 1
    for start in range(block, len(X), block):
        one.learn(X[start : start + block], steps)
    for start in range(block, len(X), 13 * block):
        several.learn(X[start : start + 13 * block], steps)
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(array, several.arrays()[name], err_msg=name)


@pytest.mark.parametrize("make", [Scatter, Subspace])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("beta2", [1.0, 0.99])
def test_blocks_of_any_size_add_up_to_the_scatter_matrix(make, center, beta2, rng):
    """Weights, discounts, offsets, and blocks of weight 0 included; while rows have rank r or less."""
    n, T = 9, 200
    X = rng.standard_normal((T, n)) * np.linspace(3, 0.1, n) + 50
    weights = rng.uniform(0, 2, T)
    weights[17:24] = 0.0
    learner, start = make(n, n, 16, center=center), 0
    for size in (1, 16, 7, 16, 16, 2):
        part = slice(start, start + size)
        learner.learn(X[part], Steps(weights[part], np.full(size, beta2), np.zeros(size), np.ones(size)))
        start += size
    faded = weights[:start] * beta2 ** np.arange(start - 1, -1, -1.0)
    C, mean = weighted_scatter(X[:start], faded, center=center)
    known = learner.known()
    np.testing.assert_allclose((known.U.T * known.lam) @ known.U, C, atol=1e-9 * np.trace(C))
    np.testing.assert_allclose(known.U @ known.U.T, np.eye(len(known.U)), atol=1e-9)
    np.testing.assert_allclose(known.mean, mean, atol=1e-10)
    np.testing.assert_allclose(known.inputs, np.diag(C), rtol=1e-9)
    assert known.trace == pytest.approx(np.trace(C), rel=1e-10)
    assert known.effective == pytest.approx(faded.sum(), rel=1e-12)


@pytest.mark.parametrize("half_life", [None, 300])
@pytest.mark.parametrize("name", REAL)
def test_exact_is_the_closed_form(name, half_life):
    """Rank, variances and projector to 1e-10, on real data, at any moment; thresholds to 1e-5.

    Of inputs that others explain next to all, thresholds ask what is left: a difference of large numbers.

    Rows are shuffled: how alike rows in their own order are, a stream judges by the axes that it has had.
    """
    X = REAL[name]()
    X = X[np.random.default_rng(0).permutation(len(X))]
    for rows in (X[:50], X[:173], X):
        model = OnlineAdaptivePCA(solver="exact", half_life=half_life).fit(rows)
        if half_life is None:
            closed = AdaptivePCA().fit(rows)
            assert model.n_components_ == closed.n_components_
            assert model.threshold_ == pytest.approx(closed.threshold_, rel=1e-5)
        weights = model.beta_ ** (2.0 * np.arange(len(rows) - 1, -1, -1))
        centered = rows - weights @ rows / weights.sum()
        lam, axes = offline.spectrum(centered, model.max_components_, sample_weight=weights)
        p = model.n_components_
        np.testing.assert_allclose(model.explained_variance_, lam[:p], rtol=1e-10, atol=1e-15 * lam[0])
        assert metrics.subspace_error(model.components_, axes[:p]) < 1e-10 if p else True
        # Offline, other axes judge how alike rows are: where a line is near, ranks may differ by one.
        assert abs(compare_to_offline(model, rows).rank_offline - p) <= 1


@pytest.mark.parametrize("half_life", [None, 200])
def test_subspace_is_the_closed_form_while_the_rank_is_below_its_own(half_life, rng):
    X = rng.standard_normal((1000, 12)) * np.linspace(5, 1, 12) @ rng.standard_normal((12, 300)) + 7
    exact, subspace = (
        OnlineAdaptivePCA(alpha=1e-6, solver=solver, half_life=half_life, max_components=12).fit(X)
        for solver in ("exact", "subspace")
    )
    assert subspace.n_components_ == exact.n_components_ == 12
    np.testing.assert_allclose(subspace.explained_variance_, exact.explained_variance_, rtol=1e-10)
    assert metrics.subspace_error(subspace.components_, exact.components_) < 1e-10
    np.testing.assert_allclose(subspace.mean_, exact.mean_, atol=1e-10)


@pytest.mark.parametrize("name", REAL)
def test_order_does_not_matter_without_forgetting(name, rng):
    """Exact to rounding; subspace within 1 % in every kept variance."""
    X = REAL[name]()
    shuffled = X[rng.permutation(len(X))]
    for solver, tolerance in (("exact", 1e-9), ("subspace", 1e-2)):
        own, mixed = (OnlineAdaptivePCA(solver=solver).fit(rows) for rows in (X, shuffled))
        p = min(own.n_components_, mixed.n_components_)
        assert abs(own.n_components_ - mixed.n_components_) <= (solver == "subspace")
        one, other = (np.sort(model.explained_variance_[:p]) for model in (own, mixed))
        np.testing.assert_allclose(one, other, rtol=tolerance)


def test_attributes_include_every_row_and_reading_changes_nothing(online):
    """Asked after every row or only at the end: the same attributes, the same events, the same state."""
    X = paper(200)
    asked, silent = (online(random_state=0) for _ in range(2))
    for row in X:
        asked.partial_fit(row[None])
        np.testing.assert_allclose(asked.mean_, X[: asked.n_samples_seen_].mean(axis=0), atol=1e-9)
    silent.fit(X)
    np.testing.assert_array_equal(asked.components_, silent.components_)
    assert asked.rank_history_ == silent.rank_history_
    np.testing.assert_array_equal(asked.spectrum_history_.variances, silent.spectrum_history_.variances)


@pytest.mark.parametrize("solver", ["exact", "subspace"])
def test_what_lies_below_the_threshold_is_shown(solver, rng):
    X = rng.standard_normal((3000, 40)) * np.sqrt(np.linspace(2, 1, 40))
    model = OnlineAdaptivePCA(solver=solver, max_components=10).fit(X)
    assert model.n_components_ == 0
    truth = np.sort(np.linalg.eigvalsh(np.cov(X.T, bias=True)))[::-1][:10]
    np.testing.assert_allclose(model.spectrum_, truth, rtol=0.05 if solver == "subspace" else 1e-9)
    assert len(set(model.spectrum_history_.variances[-1])) == 10


@pytest.mark.parametrize("solver", ["exact", "subspace"])
def test_a_half_life_of_nearly_forever_is_none(solver):
    X = np.vstack(list(streams.paper_stream(2000, random_state=0)))
    plain, long = (OnlineAdaptivePCA(solver=solver, half_life=h).fit(X) for h in (None, 1e9))
    assert plain.n_components_ == long.n_components_
    np.testing.assert_allclose(plain.explained_variance_, long.explained_variance_, rtol=1e-5)


@pytest.mark.parametrize(("half_life", "within"), [(35, 64), slow(350, 200)])
@pytest.mark.parametrize("solver", ["exact", "subspace"])
def test_a_component_that_returns_is_reported_soon(solver, half_life, within, rng):
    model = OnlineAdaptivePCA(solver=solver, half_life=half_life)
    noise = rng.standard_normal((24_000, 64))
    noise[:, 0] *= np.r_[np.full(2000, 8.0), np.ones(20_000), np.full(2000, 8.0)]
    model.partial_fit(noise[:22_000])
    assert model.n_components_ == 0
    model.partial_fit(noise[22_000:])
    found = next(c.sample for c in model.rank_history_ if c.sample > 22_000 and c.after >= 1)
    assert found - 22_000 <= within


def test_merged_exact_models_are_the_model_of_all_rows(rng):
    X = rng.standard_normal((3000, 20)) * np.linspace(4, 0.2, 20) + np.arange(20)
    whole = OnlineAdaptivePCA(solver="exact").fit(X)
    merged = merge([OnlineAdaptivePCA(solver="exact").fit(part) for part in np.split(X, [700, 1900])])
    np.testing.assert_allclose(merged.explained_variance_, whole.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(merged.mean_, whole.mean_, atol=1e-12)
    more = rng.standard_normal((500, 20))
    np.testing.assert_allclose(
        merged.partial_fit(more).spectrum_, whole.partial_fit(more).spectrum_, rtol=1e-9
    )


def test_a_learner_restarts_from_what_another_knows(rng):
    X = rng.standard_normal((256, 30)) * np.linspace(3, 0.5, 30) + 4
    exact = Scatter(30, 30, 64)
    for start in range(0, 256, 64):
        exact.learn(X[start : start + 64], Steps.even(64, 1.0))
    known = exact.known()
    assert isinstance(known, Knowledge)
    for other in (Scatter(30, 30, 64), Subspace(30, 30, 64)):
        other.restart(known, 256, 0.1)
        again = other.known()
        np.testing.assert_allclose(again.lam, known.lam, rtol=1e-9)
        np.testing.assert_allclose(again.mean, known.mean, atol=1e-12)
        assert again.trace == pytest.approx(known.trace, rel=1e-12)


@pytest.mark.parametrize("standardize", [False, True])
def test_axes_found_at_once_are_those_found_one_after_the_other(standardize, rng):
    X = rng.standard_normal((320, 64)) * np.geomspace(1, 9, 64)
    X[:, 7] = 3.0
    learner = Scatter(64, 4, 64, standardize=standardize)
    for start in range(0, 320, 64):
        learner.learn(X[start : start + 64], Steps.even(64, 1.0))
        if start == 0:
            learner.align(3, 0.0)
    once, known = learner.known_at_once(), learner.known()
    np.testing.assert_allclose(once.lam, known.lam, rtol=1e-10)
    np.testing.assert_allclose(np.abs(np.einsum("ij,ij->i", once.U, known.U)), 1.0, atol=1e-9)
    assert once.U.shape == known.U.shape == (63, 64)
    np.testing.assert_array_equal(once.U[:, 7], 0.0)
    assert once.trace == known.trace


@pytest.mark.parametrize("standardize", [False, True])
def test_what_filled_rows_lack_is_learnt_in_one_decomposition_with_them(standardize, rng, monkeypatch):
    """It says the same as one after the other, and a mark keeps what was known before."""
    X, found, leading = rng.standard_normal((192, 30)) @ rng.standard_normal((30, 30)), [], Subspace.leading
    lacking = rng.standard_normal((5, 30))
    each, learner = (Subspace(30, 30, 64, standardize=standardize) for _ in range(2))
    for start in (0, 64):
        each.learn(X[start : start + 64], Steps.even(64, 1.0))
        each._spread(lacking)
    monkeypatch.setattr(Subspace, "leading", lambda *given: found.append(1) or leading(*given))
    learner.learn(X[:64], Steps.even(64, 1.0), lacking)  # the first block has no axes beside which to put it
    mark, before = learner.mark(), learner.known().lam.copy()
    for _ in range(2):
        learner.learn(X[64:128], Steps.even(64, 1.0), lacking)
        assert learner.known().trace == pytest.approx(each.known().trace, rel=1e-12)
        np.testing.assert_allclose(learner.known().lam, each.known().lam, rtol=1e-9)
        learner.revert(mark)
        np.testing.assert_array_equal(learner.known().lam, before)
    assert len(found) == 4
    assert learner.room.shape == (64, 30)


@pytest.mark.parametrize("capacity", [2, 25])
@pytest.mark.parametrize("kind", [Scatter, Subspace])
def test_what_was_taken_over_from_a_learner_with_other_axes_can_be_stored(kind, capacity, rng):
    """A monitor that had accepted an alarm wrote a file that it could not read."""
    before = kind(30, 12, 64)
    before.learn(rng.standard_normal((64, 30)), Steps.even(64, 1.0))
    after, again = kind(30, capacity, 64), kind(30, capacity, 64)
    after.restart(before.known(), 64, 0.1)
    again.restore(after.arrays())
    np.testing.assert_array_equal(again.lags.sums, after.lags.sums)
    shared = min(12, capacity) + 1
    np.testing.assert_array_equal(after.lags.sums[:, :shared], before.lags.sums[:, :shared])


def test_automatic_solver_by_width_and_window():
    assert OnlineAdaptivePCA().fit(paper(40))._tracker.plan.solver == "exact"
    assert automatic_solver(256, 32) == "exact"
    assert automatic_solver(256, 32, window=500) == "subspace"
    assert automatic_solver(4096, 32) == "subspace"
    assert automatic_solver(300, 200) == "exact"


@pytest.mark.slow
def test_ten_million_float32_rows_do_not_drift():
    """float32 beside float64 on the same rows."""
    models = [OnlineAdaptivePCA(max_components=4, solver="subspace") for _ in range(2)]
    batches = streams.colored_gaussian(
        np.r_[6.0, 5.0, 4.0, np.full(13, 0.2)], None, batch_size=100_000, random_state=0
    )
    for _ in range(100):
        batch = next(batches)
        models[0].partial_fit(batch)
        models[1].partial_fit(batch.astype(np.float32))
    assert models[1].n_components_ == 3
    np.testing.assert_allclose(models[1].explained_variance_, models[0].explained_variance_, rtol=1e-4)
    assert metrics.subspace_error(models[0].components_, models[1].components_.astype(float)) < 1e-6


def test_float32_follows_float64_after_ten_million_rows(rng):
    """Rows are 10^4 times smaller than what has added up before them: none may be lost in rounding."""
    n, count, variances = 60, 1e7, np.r_[6.0, 5.0, 4.0, np.full(57, 0.2)]
    U = np.linalg.qr(rng.standard_normal((n, n)))[0].T
    known = Knowledge(
        count * variances, U, count, count * variances.sum(), np.zeros(n), count * variances @ U**2
    )
    moved = np.linalg.qr((U[:3] + 0.3 * U[3:6]).T)[0].T
    learners = [Subspace(n, 8, 64, dtype=dtype) for dtype in (np.float64, np.float32)]
    for learner in learners:
        learner.restart(known, 0, 0.0)
    for _ in range(256):
        X = rng.standard_normal((64, 3)) * np.sqrt(variances[:3]) @ moved
        X += np.sqrt(0.2) * rng.standard_normal((64, n))
        for learner in learners:
            learner.learn(X.astype(learner.dtype), Steps.even(64, 1.0))
    wide, narrow = learners
    np.testing.assert_allclose(narrow.lam[:3], wide.lam[:3], rtol=1e-8)
    followed = metrics.subspace_error(U[:3], wide.known().U[:3])
    assert metrics.subspace_error(wide.known().U[:3], narrow.known().U[:3]) < 1e-5 * followed


@pytest.mark.parametrize("half_life", [None, 500])
def test_float32_rows_are_learnt_in_float32(half_life, rng):
    X = rng.standard_normal((2000, 8)) * np.linspace(6, 3, 8) @ rng.standard_normal((8, 300)) + 100
    X += rng.standard_normal(X.shape)
    wide, narrow = (
        OnlineAdaptivePCA(max_components=12, solver="subspace", half_life=half_life).fit(X.astype(dtype))
        for dtype in (np.float64, np.float32)
    )
    assert narrow._tracker.learner.rows.dtype == np.float32
    assert narrow.n_components_ == wide.n_components_ == 8
    np.testing.assert_allclose(narrow.explained_variance_, wide.explained_variance_, rtol=1e-5)
    assert metrics.subspace_error(wide.components_, narrow.components_.astype(float)) < 1e-9


def test_moves_take_memory_only_once_rows_are_alike(rng):
    white, slow = Subspace(30, 4, 64), Subspace(30, 4, 64)
    rows = rng.standard_normal((320, 30))
    for start in range(0, 320, 64):
        white.learn(rows[start : start + 64], Steps.even(64, 1.0))
        slow.learn(np.cumsum(rows, axis=0)[start : start + 64], Steps.even(64, 1.0))
    assert white.lags.moves.inputs.size == 0
    assert not white.lags.moves.known
    assert slow.lags.moves.inputs.size == 30
    assert slow.lags.moves.known
    for learner in (white, slow):
        again = Subspace(30, 4, 64)
        again.restore(learner.arrays())
        for one, other in zip(again.lags.moves, learner.lags.moves, strict=True):
            np.testing.assert_array_equal(one, other)
    for joined in (white.lags.joined(slow.lags), slow.lags.joined(white.lags)):
        for one, other in zip(joined.moves, slow.lags.moves, strict=True):
            np.testing.assert_array_equal(one, other)
