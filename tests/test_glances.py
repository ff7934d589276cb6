"""Looks that change nothing: a glance decides as a look at everything would, to the same bits however cut."""

import numpy as np
import pytest

from eigenstream import OnlineAdaptivePCA, load
from eigenstream.keyed import Bank
from eigenstream.learners.bounds import largest_beyond, moments_of, turned
from eigenstream.model.tracker import Tracker
from eigenstream.rank import Evidence, NoiseEdge
from eigenstream.rank.standing import GLANCES, Standing, may_have_crossed
from tests.marks import slow
from tests.same_state import differences

WIDTHS = {"exact": 64, "narrow": 20, "subspace": 100}
SOLVERS = {"narrow": "exact"}


def stream(kind, n, T=1_800, seed=0):
    """Noise with components that come and go, or stay."""
    rng = np.random.default_rng(seed)
    X, factors = rng.standard_normal((T, n)), rng.standard_normal((T, 4)) * [5, 4, 3, 2.5]
    axes = np.linalg.qr(rng.standard_normal((n, 4)))[0].T
    if kind == "regimes":
        factors[: T // 3, 2] = factors[T // 2 :, 1] = factors[: 3 * T // 4, 3] = 0
    if kind == "uneven":
        X *= np.exp(0.6 * rng.standard_normal(n))
    if kind == "alike":
        for t in range(1, T):
            X[t] = 0.8 * X[t - 1] + 0.6 * X[t]
    return X + factors @ axes if kind != "noise" else X


def followed(X, monkeypatch, *, glances, **parameters):
    """Model, and numbers of looks that were glances and that were not."""
    model, number, stands = OnlineAdaptivePCA(**parameters), [0, 0], Tracker._stands

    def counted(tracker, learner):
        stood = glances and stands(tracker, learner)
        number[not stood] += 1
        return stood

    with monkeypatch.context() as patch:
        patch.setattr(Tracker, "_stands", counted)
        model.fit(X)
    return model, number


@pytest.mark.parametrize("solver", ["exact", "narrow", "subspace"])
@pytest.mark.parametrize("half_life", [None, 150])
@pytest.mark.parametrize("kind", ["regimes", "noise", slow("alike"), slow("steady"), slow("uneven")])
def test_a_glance_decides_as_a_look_does(kind, half_life, solver, monkeypatch):
    X = stream(kind, WIDTHS[solver])
    parameters = {"max_components": 8, "half_life": half_life, "solver": SOLVERS.get(solver, solver)}
    one, (glances, others) = followed(X, monkeypatch, glances=True, **parameters)
    other, _ = followed(X, monkeypatch, glances=False, **parameters)
    assert one._model.tracker.changes == other._model.tracker.changes
    assert one.n_components_ == other.n_components_
    np.testing.assert_allclose(one.explained_variance_, other.explained_variance_, rtol=1e-9)
    if kind in ("regimes", "noise"):
        assert glances > 0
    if kind == "noise" and half_life is not None:
        assert glances > 3 * others


@pytest.mark.parametrize("n", [2, 5, 8, 12, 30, slow(3), slow(20), slow(40), slow(47)])
@pytest.mark.parametrize("half_life", [None, 100, slow(300), slow(1000)])
def test_narrow_input_has_the_same_ranks_with_glances(n, half_life, monkeypatch):
    """There gaps in the spectrum decide often. Of 2,000 such streams, three had a change 64 rows later."""
    later = seen = 0
    for kind in ("regimes", "uneven", "alike"):
        X = stream(kind, max(n, 4), 2_500, seed=1)[:, :n]
        parameters = {"max_components": min(n, 8), "half_life": half_life}
        one, (glances, _) = followed(X, monkeypatch, glances=True, **parameters)
        other, _ = followed(X, monkeypatch, glances=False, **parameters)
        assert [change[1:] for change in one._model.tracker.changes][-1:] == [
            change[1:] for change in other._model.tracker.changes
        ][-1:]
        later += one._model.tracker.changes != other._model.tracker.changes
        seen += glances
    assert later <= 1 < seen


def test_what_comes_near_its_line_is_looked_at():
    evidence = Evidence(np.array([9.0, 2.0, 1.0, 1.0]), 13.0, 4, 4, 500)
    standing = Standing((1.0, 1.0), (9.0,), 1.0, spectrum=(9.0, 2.0, 1.0, 1.0), unit=1.0, margin=0.5)
    standing = standing._replace(unit=NoiseEdge().units(evidence, 1))
    assert not may_have_crossed(standing, NoiseEdge(), evidence)
    for i, factor in ((0, 0.8), (1, 1.25), (3, 0.75)):
        moved = evidence.variances.copy()
        moved[i] *= factor
        assert may_have_crossed(standing, NoiseEdge(), evidence._replace(variances=moved))
        assert not may_have_crossed(
            standing._replace(margin=2.0), NoiseEdge(), evidence._replace(variances=moved)
        )
    assert may_have_crossed(standing, NoiseEdge(), evidence._replace(n_samples=20))
    assert may_have_crossed(standing, NoiseEdge(), evidence._replace(variances=evidence.variances[:3]))
    assert not may_have_crossed(standing._replace(spectrum=()), NoiseEdge(), evidence)


@pytest.mark.parametrize(("half_life", "standardize"), [(None, False), (300, False), (300, True)])
def test_where_nothing_moves_a_glance_is_not_needed(half_life, standardize, monkeypatch, tmp_path):
    """Most looks at a stream that stands still find so by its moments, and decide as others do."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((8_000, 64))
    X += rng.standard_normal((8_000, 2)) * [9, 7] @ np.linalg.qr(rng.standard_normal((64, 2)))[0].T
    X[5_000:] += 5 * np.random.default_rng(8).standard_normal((3_000, 1)) * np.eye(64)[5]
    parameters = {"max_components": 8, "half_life": half_life, "standardize": standardize, "random_state": 0}
    found, is_still = [], Tracker._is_still

    def counted(tracker, learner):
        found.append(is_still(tracker, learner))
        return found[-1]

    with monkeypatch.context() as patch:
        patch.setattr(Tracker, "_is_still", counted)
        model, parts = OnlineAdaptivePCA(**parameters).fit(X), OnlineAdaptivePCA(**parameters)
        assert sum(found) > len(found) / 2
        for rows in np.split(X, [1_000, 2_013, 5_555, 7_000]):
            parts.partial_fit(rows)
            parts.save(tmp_path / "model")
            parts = load(tmp_path / "model")
    assert not differences(model._model.tracker, parts._model.tracker)
    other, _ = followed(X, monkeypatch, glances=False, **parameters)
    assert model._model.tracker.changes == other._model.tracker.changes
    assert len(model._model.tracker.history.moments) == len(other._model.tracker.history.moments)


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e-40, 1e40, 1e60])
@pytest.mark.parametrize("varying", [1, 3, 64])
def test_units_and_constant_inputs_do_not_matter(scale, varying, tmp_path):
    """Squares of sums of squares overflow or vanish where the sums do not."""
    X = np.ones((3_000, 64))
    rng = np.random.default_rng(9)
    X[:, :varying] = (
        rng.standard_normal((3_000, varying)) + 9 * rng.standard_normal((3_000, 1)) / varying**0.5
    )
    model = OnlineAdaptivePCA(max_components=8, half_life=200).fit(X)
    scaled = OnlineAdaptivePCA(max_components=8, half_life=200).fit(scale * X)
    scaled.save(tmp_path / "model")
    assert load(tmp_path / "model").n_components_ == scaled.n_components_ == model.n_components_


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_moments_are_those_of_the_spectrum(rank, rng):
    rows = rng.standard_normal((600, 50)) * np.r_[9, 6, 4, np.ones(47)]
    C = rows.T @ rows
    lam, V = np.linalg.eigh(C)
    U = V[:, ::-1][:, :rank].T
    found = moments_of(np.trace(C), np.sum(C * C), U, C @ U.T, 1.0)
    np.testing.assert_allclose(found.kept, lam[::-1][:rank])
    np.testing.assert_allclose(
        [found.rest, found.spread * found.rest**2], [lam[: 50 - rank].sum(), (lam[: 50 - rank] ** 2).sum()]
    )
    assert max(found.strayed, found.mixed) < 1e-9
    turned_by = np.linalg.qr((U + 0.05 * rng.standard_normal(U.shape)).T)[0].T
    if rank:
        assert moments_of(np.trace(C), np.sum(C * C), turned_by, C @ turned_by.T, 1.0).strayed > 1e-3


def test_everything_is_looked_at_now_and_then(monkeypatch):
    X = stream("noise", 64, 4_000)
    _, (glances, others) = followed(X, monkeypatch, glances=True, max_components=8, half_life=200)
    assert others >= glances // GLANCES


def test_kept_axes_follow_a_turning_component(monkeypatch):
    """Scores between looks are by axes that glances have turned: as good as those of looks at everything."""
    rng, T, n = np.random.default_rng(1), 3_000, 64
    angle, factor = np.linspace(0, np.pi, T), 6 * rng.standard_normal(T)
    X = rng.standard_normal((T, n))
    X[:, 0] += factor * np.cos(angle)
    X[:, 1] += factor * np.sin(angle)
    parameters = {"max_components": 4, "half_life": 150}
    one, number = followed(X, monkeypatch, glances=True, **parameters)
    other, _ = followed(X, monkeypatch, glances=False, **parameters)
    assert number[0] > number[1]
    seen = [model._model.tracker.last_look.seen().axes for model in (one, other)]
    mine, others = (other._model.tracker.learner.variances(axes)[0] for axes in seen)
    assert mine == pytest.approx(others, rel=1e-3)


@pytest.mark.parametrize("solver", ["exact", "subspace"])
def test_glances_have_the_same_bits_however_rows_come(solver, tmp_path):
    n = WIDTHS[solver]
    X = stream("regimes", n, 1_500)
    parameters = {"max_components": 6, "half_life": 150, "solver": solver, "random_state": 0}
    whole, parts = OnlineAdaptivePCA(**parameters).fit(X), OnlineAdaptivePCA(**parameters)
    for i, rows in enumerate(np.split(X, [1, 77, 640, 641, 1_000, 1_333])):
        parts.partial_fit(rows)
        if i % 2:
            parts.save(tmp_path / "model")
            parts = load(tmp_path / "model")
    assert whole._model.tracker.decision.standing.lines
    assert not differences(whole._model.tracker, parts._model.tracker)


def test_a_bank_glances_as_a_model_does():
    X = stream("regimes", 64, 1_500)
    bank = Bank(max_components=6, half_life=150)
    bank.learn_many(["a"] * 700 + ["b"] * 800, X)
    alone = OnlineAdaptivePCA(max_components=6, half_life=150).fit(X[700:])._model.tracker
    tracker = bank.model("b").tracker
    np.testing.assert_array_equal(tracker.learner.axes, alone.learner.axes)
    assert tracker.decision == alone.decision
    assert tracker.decision.standing.lines


@pytest.mark.parametrize(("n", "rank"), [(48, 0), (64, 3), slow(200, 8)])
def test_the_largest_eigenvalue_beyond_axes(n, rank):
    for seed in range(5):
        rng = np.random.default_rng(100 + seed)
        rows = rng.standard_normal((6 * n, n))
        rows[:, :rank] *= 4
        rows[:, rank] *= 1 + seed % 2  # something that stands out of the noise, or nothing
        C = rows.T @ rows
        lam, V = np.linalg.eigh(C)
        columns = np.column_stack((V[:, ::-1][:, :rank], rng.standard_normal(n)))
        axes, found = np.linalg.qr(columns)[0].T, 0.0
        for _ in range(4):  # each time from what the last one has found
            found, axes[rank] = largest_beyond(lambda u, C=C: C @ u.T, axes)
        assert 0.93 < found / lam[-rank - 1] < 1.07
        np.testing.assert_allclose(axes @ axes.T, np.eye(rank + 1), atol=1e-12)


@pytest.mark.parametrize("rank", [1, 3])
def test_axes_turn_towards_eigenvectors_and_keep_their_order_and_signs(rank, rng):
    rows = rng.standard_normal((600, 50))
    rows[:, :3] *= [6, 4, 3]
    C = rows.T @ rows
    lam, V = np.linalg.eigh(C)
    exact = V[:, ::-1][:, : rank + 1].T * np.array([1, -1, 1, -1])[: rank + 1, None]
    near = np.linalg.qr((exact + 0.02 * rng.standard_normal(exact.shape)).T)[0].T
    near *= np.sign(np.sum(near * exact, axis=1))[:, None]
    found = turned(lambda u: C @ u.T, near, rank)
    cosines = np.sum(found.axes * exact, axis=1)[:rank]
    assert (cosines > 0.999).all()
    assert (cosines >= np.sum(near * exact, axis=1)[:rank]).all()
    np.testing.assert_allclose(found.axes @ found.axes.T, np.eye(rank + 1), atol=1e-12)
    assert (found.lam[:rank] <= lam[::-1][:rank] * (1 + 1e-12)).all()
    np.testing.assert_allclose(found.lam[:rank], lam[::-1][:rank], rtol=5e-3)


def test_axes_that_have_turned_too_far_are_not_followed(rng):
    rows = rng.standard_normal((600, 50))
    assert turned(lambda u: (rows.T @ rows) @ u.T, np.eye(50)[:4], 3) is None


@pytest.mark.parametrize("kind", ["fading", "growing noise", "uneven from the middle on"])
def test_slow_changes_are_seen_at_the_same_look(kind, monkeypatch):
    rng, n, T = np.random.default_rng(1_003), 64, 3_000
    X, axes = rng.standard_normal((T, n)), np.linalg.qr(rng.standard_normal((n, 5)))[0].T
    factors = rng.standard_normal((T, 5)) * [4, 3, 2.5, 2, 1.7]
    if kind == "fading":
        factors[:, 1:] *= np.linspace(1, 0, T)[:, None]
    elif kind == "growing noise":
        X *= np.linspace(1, 2, T)[:, None]
    else:
        X[T // 2 :] *= np.exp(0.8 * rng.standard_normal(n))
    X += factors @ axes
    parameters = {"max_components": 8, "half_life": 150}
    one, (glances, _) = followed(X, monkeypatch, glances=True, **parameters)
    other, _ = followed(X, monkeypatch, glances=False, **parameters)
    assert glances > 0
    assert one._model.tracker.changes == other._model.tracker.changes
