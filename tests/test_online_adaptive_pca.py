import contextlib
import copy
import pickle
import tracemalloc
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from numba import config
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from eigenstream import (
    AdaptivePCA,
    HebbianNetwork,
    InputOutput,
    OnlineAdaptivePCA,
    SquaredOutput,
    compare_to_offline,
    load,
    merge,
    metrics,
    streams,
)
from eigenstream.calibration import noise_edge
from eigenstream.engine.state import read_spectrum
from eigenstream.estimators.checks import sample_stream, streaming_checks
from eigenstream.regularizers import REGULARIZERS
from eigenstream.tracking import RankChange, matched

needs_compilation = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="takes minutes without compilation")
pytestmark = pytest.mark.filterwarnings("ignore:the rank has reached max_components:UserWarning")


def paper(n_samples, seed=0):
    return np.vstack(list(streams.paper_stream(n_samples, random_state=seed)))


def stored(model):
    """Everything a model remembers, for comparison before and after."""
    return pickle.dumps(model)


@parametrize_with_checks([OnlineAdaptivePCA(), OnlineAdaptivePCA(alpha=0.01, max_components=2)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


VARIANTS = {
    "defaults": {},
    "fixed": {"alpha": 0.05, "max_components": 5},
    "squared-output": {"regularizer": "squared-output", "half_life": 80},
    "scale-dependent": {"regularizer": "scale-dependent", "center": False},
    "paper": {"init_samples": 0, "consolidation": None, "spontaneous_activity": 0, "alpha": 0.05},
    "forgetting": {"half_life": 50, "max_components": 4},
}


@pytest.mark.parametrize("check", streaming_checks(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("variant", VARIANTS)
def test_streaming_contract(check, variant):
    check(lambda: OnlineAdaptivePCA(random_state=0, **VARIANTS[variant]))


@pytest.mark.parametrize("variant", VARIANTS)
def test_chunking_is_exact_to_the_bit(variant):
    """Through the start, grid points and consolidations, whatever the cuts."""
    for dtype in (np.float64, np.float32):
        X = sample_stream(900, dtype=dtype)
        rng = np.random.default_rng(0)
        whole = OnlineAdaptivePCA(random_state=0, **VARIANTS[variant]).partial_fit(X)
        for _ in range(5):
            parts = OnlineAdaptivePCA(random_state=0, **VARIANTS[variant])
            for chunk in np.split(X, np.sort(rng.integers(1, 900, 12))):
                if len(chunk):
                    parts.partial_fit(chunk)
            one, other = parts._tracker, whole._tracker
            for a, b in zip((*one.network(), *one.view), (*other.network(), *other.view), strict=True):
                np.testing.assert_array_equal(a, b)
            assert one.history == other.history
            assert one.alpha == other.alpha


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_four_components_on_the_paper_stream_at_any_scale(kind, scale):
    for seed in range(3):
        model = OnlineAdaptivePCA(kind.name, random_state=0)
        for batch in streams.paper_stream(2000, random_state=seed):
            model.partial_fit(scale * batch)
            if model.n_samples_seen_ >= 100:
                assert model.n_components_ == 4


@pytest.mark.parametrize("name", ["input-output", "squared-output"])
@pytest.mark.parametrize("alpha", ["auto", 0.05])
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
def test_units_do_not_matter(name, alpha, scale):
    X = paper(1500)
    one, other = (OnlineAdaptivePCA(name, alpha, random_state=0).fit(X * s) for s in (1.0, scale))
    assert [(c.sample, c.after) for c in one.rank_history_] == [
        (c.sample, c.after) for c in other.rank_history_
    ]
    np.testing.assert_allclose(one.components_, other.components_, atol=1e-6)


@needs_compilation
@pytest.mark.parametrize("half_life", [50, 500, None])
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_white_noise_has_no_components(kind, half_life, scale):
    rng = np.random.default_rng(0)
    model = OnlineAdaptivePCA(kind.name, half_life=half_life, random_state=0)
    ranks = []
    for _ in range(100):
        model.partial_fit(scale * rng.standard_normal((50, 64)))
        ranks.append(model.n_components_)
    assert np.mean(np.array(ranks[4:]) == 0) >= 0.99


@needs_compilation
@pytest.mark.parametrize("half_life", [50, 500, None])
def test_three_spikes_are_three(kind, half_life):
    rng = np.random.default_rng(1)
    model = OnlineAdaptivePCA(kind.name, half_life=half_life, random_state=0)
    beta2 = 1.0 if half_life is None else 0.5 ** (1 / half_life)
    deviations = np.ones(64)
    deviations[:3] = np.sqrt(4 * noise_edge(64, 3000, beta2) * np.array([3, 2, 1]))
    ranks = []
    for _ in range(120):
        model.partial_fit(rng.standard_normal((50, 64)) * deviations)
        ranks.append(model.n_components_)
    assert np.mean(np.array(ranks[60:]) == 3) >= 0.99


@needs_compilation
@pytest.mark.parametrize("half_life", [50, 300])
@pytest.mark.parametrize("regularizer", [InputOutput(0.1), SquaredOutput(0.15)])
def test_what_appears_and_vanishes_is_reported_within_ten_windows(regularizer, half_life):
    """Even after 100,000 silent samples: a second component of 1.5 theta at least, then none again."""
    rng = np.random.default_rng(0)
    model = OnlineAdaptivePCA(regularizer, max_components=6, half_life=half_life, random_state=0)
    window = int(1 / (1 - model._plan(np.zeros((1, 20))).beta ** 2))

    def feed(variance, samples):
        for _ in range(0, samples, 1000):
            X = 0.3 * rng.standard_normal((1000, 20))
            X[:, 0] += 3 * rng.standard_normal(1000)
            X[:, 1] += np.sqrt(variance) * rng.standard_normal(1000)
            model.partial_fit(X)

    feed(0.0, 100_000)
    assert model.n_components_ == 1
    appeared = model.n_samples_seen_
    feed(4.0, 20 * window)
    assert model.n_components_ == 2
    found = next(c.sample for c in model.rank_history_ if c.sample > appeared and c.after == 2)
    assert found - appeared <= 10 * window
    vanished = model.n_samples_seen_
    feed(0.0, 20 * window)
    assert model.n_components_ == 1
    lost = next(c.sample for c in model.rank_history_ if c.sample > vanished and c.after == 1)
    assert lost - vanished <= 10 * window


def test_rank_changes_are_recorded_and_called():
    calls = []
    model = OnlineAdaptivePCA(half_life=150, random_state=0, on_rank_change=calls.append)
    for batch in streams.changing_rank(random_state=0):
        model.partial_fit(batch)
    assert calls == model.rank_history_
    assert all(isinstance(change, RankChange) and change.before != change.after for change in calls)
    ranks = {1999: 3, 3999: 5, 5999: 2}
    for sample, rank in ranks.items():
        assert [c.after for c in calls if c.sample <= sample][-1] == rank


def test_reading_changes_nothing():
    model = OnlineAdaptivePCA(random_state=0).fit(paper(333))
    before = stored(model)
    for name in dir(model):
        if name.endswith("_") and not name.startswith("_"):
            getattr(model, name)
    model.transform(paper(10))
    model.score_samples(paper(10))
    assert stored(model) == before


def test_what_is_handed_out_cannot_change_the_model():
    for dtype in (np.float64, np.float32):
        X = paper(500).astype(dtype)
        model = OnlineAdaptivePCA(random_state=0).fit(X)
        before = model.transform(X)
        model.mean_[:] = 7
        for name in ("components_", "explained_variance_"):
            with contextlib.suppress(ValueError):  # read-only where it is the model's own
                getattr(model, name)[:] = 7
        np.testing.assert_array_equal(model.transform(X), before)


def test_attributes_are_consistent():
    X = paper(3000)
    model = OnlineAdaptivePCA(random_state=0).fit(X)
    p = model.n_components_
    assert p == 4
    assert model.components_.shape == (4, 64)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-9)
    assert np.all(np.diff(model.explained_variance_) < 0)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(model.output_variance_, model.explained_variance_ - model.threshold_)
    offline = AdaptivePCA().fit(X)
    np.testing.assert_allclose(model.explained_variance_, offline.explained_variance_, rtol=0.03)
    assert 0.9 < model.explained_variance_ratio_.sum() / offline.explained_variance_ratio_.sum() < 1.1
    assert model.noise_variance_ == pytest.approx(offline.noise_variance_, rel=0.1)
    assert model.n_samples_seen_ == 3000
    assert model.max_components_ == 32
    Z = model.transform(X)
    assert Z.shape == (3000, 32)
    assert not Z[:, 4:].any()
    projection = (X - model.mean_) @ model.components_.T @ model.components_ + model.mean_
    np.testing.assert_allclose(model.inverse_transform(Z), projection, atol=1e-9)


def test_half_life_is_what_it_says():
    model = OnlineAdaptivePCA(half_life=200).fit(paper(50))
    assert model.beta_ ** (2 * 200) == pytest.approx(0.5)
    assert OnlineAdaptivePCA().fit(paper(50)).beta_ == 1.0


def test_everything_off_is_the_papers_network(kind):
    """Random start and nothing else: outputs' spectrum and filter as `HebbianNetwork` learns them."""
    X = paper(400)
    regularizer = kind.for_threshold(np.r_[6, 5, 4, 2, np.full(60, 0.1)], 2.0)
    model = OnlineAdaptivePCA(
        regularizer,
        max_components=8,
        center=False,
        init_samples=0,
        consolidation=None,
        spontaneous_activity=0,
        random_state=0,
    ).fit(X)
    activity = float(X[0] @ X[0])
    network = HebbianNetwork(
        64, 8, regularizer, initial_activity=activity, random_state=np.random.default_rng([0, 1]), tol=1e-10
    )
    network.run(X[1:])
    np.testing.assert_allclose(model.feedforward_weights_, network.W_yx, atol=1e-6)
    np.testing.assert_allclose(model.lateral_weights_, network.W_yy, atol=1e-6)
    np.testing.assert_allclose(model.cumulative_activity_, network.mu, rtol=1e-6)


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 20])
def test_it_answers_from_the_first_rows(kind, rows):
    X = paper(rows)
    model = OnlineAdaptivePCA(kind.name, random_state=0).partial_fit(X)
    assert model.transform(X).shape == (rows, 32)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), atol=1e-12)
    assert model.feedforward_weights_.shape == (32, 64)
    assert np.isfinite(model.cumulative_activity_).all()


def test_early_answers_are_the_closed_form():
    X = paper(30)
    regularizer = InputOutput(0.05)
    online = OnlineAdaptivePCA(regularizer, random_state=0).fit(X)
    offline = AdaptivePCA(regularizer).fit(X)
    assert online.n_components_ == offline.n_components_
    np.testing.assert_allclose(online.explained_variance_, offline.explained_variance_, rtol=1e-9)
    assert metrics.subspace_error(online.components_, offline.components_) < 1e-9


def test_a_long_constant_beginning_is_waited_out():
    """An idle sensor: nothing varies for 5,000 samples, then there are two components."""
    rng = np.random.default_rng(0)
    model = OnlineAdaptivePCA(random_state=0)
    model.partial_fit(np.full((5000, 10), 7.5))
    assert model.n_components_ == 0
    assert len(model._tracker.rows) < 300
    X = 0.1 * rng.standard_normal((3000, 10)) + 7.5
    X[:, :2] += rng.standard_normal((3000, 2)) * [3, 2]
    model.partial_fit(X)
    assert model.n_components_ == 2
    both = np.vstack((np.full((5000, 10), 7.5), X))
    np.testing.assert_allclose(model.mean_, both.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(
        model.explained_variance_, AdaptivePCA().fit(both).explained_variance_, rtol=0.05
    )


def live_signal(rng, rows, width=64, rank=4):
    axes = np.linalg.qr(rng.standard_normal((width, rank)))[0].T
    return 3 * rng.standard_normal((rows, rank)) @ axes + 0.3 * rng.standard_normal((rows, width))


@pytest.mark.parametrize(
    "options", [{}, {"half_life": 300}, {"consolidation": None}, {"regularizer": "squared-output"}]
)
@pytest.mark.parametrize("idle_rows", [1, 200, 500])
def test_idle_readings_are_no_signal(options, idle_rows):
    """Constant readings that are not round numbers: their mean must not leave rounding behind."""
    rng = np.random.default_rng(0)
    idle = np.round(rng.uniform(10, 100, 64), 1)
    model = OnlineAdaptivePCA(random_state=0, **options).partial_fit(np.tile(idle, (idle_rows, 1)))
    assert model.n_components_ == 0
    model.partial_fit(live_signal(rng, 3000) + idle)
    assert model.n_components_ == 4
    assert np.isfinite(model.feedforward_weights_).all()


@needs_compilation
@pytest.mark.parametrize("quiet", [0.0, 1e-14, 1e-9])
def test_a_signal_that_stops_and_returns(quiet):
    """Next to nothing, or nothing at all for 1,000 half-lives; then fourteen orders of magnitude more."""
    rng = np.random.default_rng(0)
    for half_life in (20, None):
        model = OnlineAdaptivePCA(half_life=half_life, random_state=0)
        if half_life:
            model.partial_fit(live_signal(rng, 1000))
        model.partial_fit(quiet * rng.standard_normal((20_000, 64)))
        model.partial_fit(live_signal(np.random.default_rng(1), 3000))
        assert np.isfinite(model.feedforward_weights_).all()
        assert model.n_components_ == 4 or half_life == 20
        assert model.n_components_ >= 3


@pytest.mark.parametrize("value", [3.3, 0.1, 21.7, 1e6 + 0.1])
@pytest.mark.parametrize("half_life", [None, 30])
def test_constant_data_have_no_components(value, half_life):
    model = OnlineAdaptivePCA(half_life=half_life, random_state=0).fit(np.full((500, 5), value))
    assert model.n_components_ == 0
    assert model.rank_history_ == []


@pytest.mark.parametrize("dead", [5, 25, 60])
@pytest.mark.parametrize("value", [0.0, 21.7, 1e6 + 0.1])
def test_dead_inputs_do_not_count_as_noise(dead, value):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 2)) @ rng.standard_normal((2, 10)) + 0.1 * rng.standard_normal((2000, 10))
    for half_life in (None, 200):
        model = OnlineAdaptivePCA(half_life=half_life, random_state=0)
        assert model.fit(np.hstack((X, np.full((2000, dead), value)))).n_components_ == 2


@pytest.mark.parametrize(("width", "rank"), [(8, 1), (20, 3), (64, 3)])
def test_noise_free_data_of_low_rank(width, rank):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, rank)) @ rng.standard_normal((rank, width))
    assert OnlineAdaptivePCA(random_state=0).fit(X).n_components_ == rank
    assert OnlineAdaptivePCA(half_life=300, random_state=0).fit(X).n_components_ == rank


@pytest.mark.parametrize(("width", "rank"), [(3, 1), (10, 3), (64, 20), (64, 28)])
def test_many_components_for_their_width(width, rank):
    """As long as half of the directions are noise, a clear gap is found."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.standard_normal((width, rank)))[0].T
    X = rng.standard_normal((3000, rank)) @ axes + 0.1 * rng.standard_normal((3000, width))
    assert OnlineAdaptivePCA(random_state=0).fit(X).n_components_ == rank


@pytest.mark.parametrize("alpha", [0.1, 1.0, 100.0, 1e3])
def test_squared_output_is_never_silent(alpha):
    model = OnlineAdaptivePCA("squared-output", alpha, random_state=0).fit(paper(2000))
    assert model.n_components_ >= 1


def test_float32_stays():
    X = paper(1000).astype(np.float32)
    model = OnlineAdaptivePCA(random_state=0).fit(X)
    for array in (
        model.components_,
        model.explained_variance_,
        model.mean_,
        model.transform(X),
        model.learn_one(X[0]),
    ):
        assert array.dtype == np.float32
    assert model.n_components_ == 4
    double = OnlineAdaptivePCA(random_state=0).fit(X.astype(np.float64))
    np.testing.assert_allclose(model.explained_variance_, double.explained_variance_, rtol=1e-4)


def test_axes_keep_their_sign_and_place():
    signs = []
    model = OnlineAdaptivePCA(half_life=300, random_state=0)
    previous = None
    for batch in streams.paper_stream(6000, random_state=0, batch_size=50):
        model.partial_fit(batch)
        if model.n_samples_seen_ > 300 and model.n_components_ == 4:
            if previous is not None:
                signs.append(np.sum(previous * model.components_, axis=1))
            previous = model.components_
    assert np.min(signs) > 0


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


# --- missing values --------------------------------------------------------------------------------------


def with_gaps(X, share, seed=0):
    gappy = X.copy()
    gappy[np.random.default_rng(seed).uniform(size=X.shape) < share] = np.nan
    return gappy


def test_missing_values_are_imputed_without_bias(kind):
    X = paper(6000)
    model = OnlineAdaptivePCA(kind.name, missing="impute", random_state=0).fit(with_gaps(X, 0.3))
    truth = AdaptivePCA().fit(X)
    assert model.n_components_ == 4
    np.testing.assert_allclose(model.explained_variance_, truth.explained_variance_, rtol=0.05)
    assert metrics.subspace_error(model.components_, truth.components_, normalize="relative") < 0.02
    assert np.sum(model._tracker.view.total) == pytest.approx(np.sum(X.var(axis=0)), rel=0.05)
    filled = model.transform(with_gaps(X[:100], 0.3, seed=1))
    assert np.isfinite(filled).all()
    assert np.abs(filled - model.transform(X[:100])).max() < 2


def test_imputing_does_not_depend_on_chunks():
    X = with_gaps(paper(700), 0.2)
    whole = OnlineAdaptivePCA(missing="impute", random_state=0).fit(X)
    parts = OnlineAdaptivePCA(missing="impute", random_state=0)
    for chunk in np.split(X, [1, 50, 333, 334]):
        parts.partial_fit(chunk)
    np.testing.assert_array_equal(parts.components_, whole.components_)


def test_rows_with_too_little_are_left_out():
    X = paper(1000)
    model = OnlineAdaptivePCA(missing="impute", random_state=0).fit(X)
    hopeless = np.full((1, 64), np.nan)
    sparse = hopeless.copy()
    sparse[0, :7] = 1.0  # rank 4 needs 8
    for row in (hopeless, sparse):
        before = stored(model)
        assert np.isnan(model.transform(row)).all()
        model.partial_fit(row)
        assert stored(model) == before


def test_skipped_rows_teach_nothing_and_score_nan():
    X = paper(1000)
    gappy = np.insert(X, [3, 500, 500, 999], np.nan, axis=0)
    model = OnlineAdaptivePCA(missing="skip", random_state=0).fit(gappy)
    plain = OnlineAdaptivePCA(missing="skip", random_state=0).fit(X)
    np.testing.assert_array_equal(model.components_, plain.components_)
    assert model.n_samples_seen_ == 1000
    scores = model.transform(gappy)
    np.testing.assert_array_equal(np.isnan(scores).all(axis=1), np.isnan(gappy).any(axis=1))
    assert np.isnan(model.learn_one(gappy[3])).all()
    assert model.n_samples_seen_ == 1000


# --- weights ---------------------------------------------------------------------------------------------


def test_weights_scale_out_and_select():
    X = paper(1200)
    one = OnlineAdaptivePCA(alpha=0.05, random_state=0).partial_fit(X, sample_weight=np.full(1200, 3.0))
    other = OnlineAdaptivePCA(alpha=0.05, random_state=0).partial_fit(X)
    np.testing.assert_allclose(one.explained_variance_, other.explained_variance_, rtol=1e-6)
    weights = (np.arange(1200) % 2).astype(float)
    half = OnlineAdaptivePCA(alpha=0.05, random_state=0).partial_fit(X, sample_weight=weights)
    truth = AdaptivePCA(alpha=0.05).fit(X[1::2])
    np.testing.assert_allclose(half.explained_variance_, truth.explained_variance_, rtol=0.05)
    np.testing.assert_allclose(half.mean_, X[1::2].mean(axis=0), atol=1e-9)


def test_all_weights_zero_teach_nothing():
    model = OnlineAdaptivePCA(random_state=0).partial_fit(paper(5), sample_weight=np.zeros(5))
    assert model.n_components_ == 0
    model.partial_fit(paper(500))
    assert model.n_components_ == 4


# --- persistence, merging, comparison --------------------------------------------------------------------


def test_files_continue_exactly_and_carry_everything(tmp_path):
    frame = pd.DataFrame(paper(900), columns=[f"sensor{i}" for i in range(64)])
    model = OnlineAdaptivePCA(
        SquaredOutput(0.1), half_life=300, missing="impute", random_state=np.random.RandomState(1)
    )
    model.partial_fit(frame[:500])
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.regularizer == SquaredOutput(0.1)
    assert list(again.feature_names_in_) == list(frame.columns)
    for one in (model, again):
        one.partial_fit(frame[500:])
    np.testing.assert_array_equal(again.transform(frame), model.transform(frame))
    assert again.rank_history_ == model.rank_history_
    for a, b in zip(again._tracker.state, model._tracker.state, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("copied", [pickle.dumps, copy.deepcopy, "joblib"])
def test_other_copies_work_too(copied, tmp_path):
    X = paper(600)
    model = OnlineAdaptivePCA(random_state=0).partial_fit(X[:301])
    if copied == "joblib":
        joblib.dump(model, tmp_path / "model.joblib")
        again = joblib.load(tmp_path / "model.joblib")
    else:
        again = copied(model)
        again = pickle.loads(again) if isinstance(again, bytes) else again
    np.testing.assert_array_equal(
        again.partial_fit(X[301:]).transform(X), model.partial_fit(X[301:]).transform(X)
    )


def test_saving_replaces_all_or_nothing(tmp_path, monkeypatch):
    model = OnlineAdaptivePCA(random_state=0).fit(paper(300))
    path = tmp_path / "model"
    model.save(path)
    good = path.read_bytes()

    def disk_full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", disk_full)
    with pytest.raises(OSError, match="No space"):
        model.partial_fit(paper(10)).save(path)
    assert path.read_bytes() == good
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_no_pickle_on_the_load_path(tmp_path, monkeypatch):
    model = OnlineAdaptivePCA(random_state=0).fit(paper(300))
    model.save(tmp_path / "model")

    def refuse(*_, **__):
        raise AssertionError("pickle was used")

    monkeypatch.setattr(pickle, "loads", refuse)
    monkeypatch.setattr(pickle, "load", refuse)
    assert load(tmp_path / "model").n_components_ == 4


def test_damaged_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "model"
    OnlineAdaptivePCA(random_state=0).fit(paper(300)).save(path)
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    cases = [b"", b"hello", good[:10], good[: len(good) // 2], good[:-1], good + b"x", rng.bytes(5000)]
    flipped = bytearray(good)
    flipped[-100] ^= 1
    cases.append(bytes(flipped))
    cases += [
        good.replace(rb"\"version\": 1", rb"\"version\": 9"),
        good.replace(b"eigenstream", b"eigenstraem", 1),
    ]
    for content in cases:
        path.write_bytes(content)
        with pytest.raises(ValueError, match="eigenstream"):
            load(path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load(tmp_path / "nowhere")


@pytest.mark.parametrize("part", ["header", "anywhere"])
def test_mutated_files_give_an_error_or_a_model(tmp_path, part):
    path = tmp_path / "model"
    OnlineAdaptivePCA(max_components=3, random_state=0).fit(paper(250)[:, :8]).save(path)
    good = path.read_bytes()
    header = 8 + int.from_bytes(good[:8], "little")
    rng = np.random.default_rng(0)
    for _ in range(500):
        mutated = bytearray(good)
        for position in rng.integers(0, header if part == "header" else len(good), rng.integers(1, 4)):
            mutated[position] = rng.integers(256)
        path.write_bytes(bytes(mutated))
        if bytes(mutated) != good:
            with pytest.raises(ValueError, match="eigenstream"):
                load(path)


def test_merged_shards_know_what_one_model_knows(kind):
    X = paper(8000)
    alpha = {"scale-dependent": 1.0, "input-output": 0.05, "squared-output": 0.08}[kind.name]
    shards = [OnlineAdaptivePCA(kind(alpha), random_state=i).fit(X[i::4]) for i in range(4)]
    before = [stored(model) for model in shards]
    merged = merge(shards)
    assert [stored(model) for model in shards] == before
    truth = AdaptivePCA(kind(alpha)).fit(X)
    assert merged.n_components_ == truth.n_components_
    assert merged.n_samples_seen_ == 8000
    np.testing.assert_allclose(merged.explained_variance_, truth.explained_variance_, rtol=0.02)
    np.testing.assert_allclose(merged.mean_, X.mean(axis=0), atol=1e-10)
    assert metrics.subspace_error(merged.components_, truth.components_, normalize="relative") < 1e-3
    assert merged.threshold_ == pytest.approx(truth.threshold_, rel=0.02)
    backwards = merge(shards[::-1])
    np.testing.assert_allclose(backwards.explained_variance_, merged.explained_variance_, rtol=1e-9)
    merged.partial_fit(X[:500])
    assert merged.n_components_ == truth.n_components_


def test_merging_sees_the_distance_between_means(kind):
    """Two shards around different means: the joint model has the direction between them."""
    rng = np.random.default_rng(0)
    X = 0.3 * rng.standard_normal((2000, 10))
    X[:1000, 0] += 5
    alpha = {"scale-dependent": 1.0, "input-output": 0.1, "squared-output": 0.2}[kind.name]
    merged = merge([OnlineAdaptivePCA(kind(alpha), random_state=0).fit(part) for part in np.split(X, 2)])
    truth = AdaptivePCA(kind(alpha)).fit(X)
    assert merged.n_components_ == truth.n_components_ == 1
    np.testing.assert_allclose(merged.explained_variance_, truth.explained_variance_, rtol=0.02)
    assert abs(merged.components_[0, 0]) > 0.99


def test_a_tree_of_merges_agrees():
    X = paper(8000)
    models = [OnlineAdaptivePCA(alpha=0.05, random_state=i).fit(X[i::4]) for i in range(4)]
    flat, tree = merge(models), merge([merge(models[:2]), merge(models[2:])])
    np.testing.assert_allclose(tree.explained_variance_, flat.explained_variance_, rtol=1e-3)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"alpha": 0.2}, "alpha"),
        ({"regularizer": "squared-output"}, "regularizer"),
        ({"half_life": 100}, "half_life"),
        ({"center": False}, "centering"),
        ({"max_components": 5}, "max_components"),
    ],
)
def test_incompatible_models_are_refused(options, word):
    one = OnlineAdaptivePCA(alpha=0.1).fit(paper(100))
    with pytest.raises(ValueError, match=f"different {word}"):
        merge([one, OnlineAdaptivePCA(**{"alpha": 0.1, **options}).fit(paper(100))])
    with pytest.raises(ValueError, match="number of features"):
        merge([one, OnlineAdaptivePCA(alpha=0.1).fit(paper(100)[:, :40])])
    with pytest.raises(ValueError, match="nothing to merge"):
        merge([])
    with pytest.raises(TypeError, match="got AdaptivePCA"):
        merge([one, AdaptivePCA().fit(paper(100))])


@pytest.mark.parametrize("half_life", [None, 400])
def test_online_is_compared_with_offline(kind, half_life):
    X = paper(4000)
    model = OnlineAdaptivePCA(kind.name, half_life=half_life, random_state=0).fit(X)
    report = compare_to_offline(model, X)
    assert report.rank_online == report.rank_offline == 4
    assert report.eigenvalue_error < 0.02
    assert report.subspace_error < 0.02
    text = str(report)
    assert "online" in text
    assert "offline" in text
    assert "4,000 samples" in text
    wrong = compare_to_offline(model, paper(4000, seed=9))
    assert wrong.subspace_error > 0.3
    with pytest.raises(ValueError, match="n_features=64"):
        compare_to_offline(model, X[:, :10])


# --- bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": "best"}, "'auto'"),
        ({"regularizer": InputOutput(0.1), "alpha": 0.1}, "brings its own alpha"),
        ({"regularizer": "nuclear"}, "nuclear"),
        ({"max_components": 65}, "n_features=64"),
        ({"half_life": 0}, "half_life"),
        ({"half_life": -5}, "half_life"),
        ({"missing": "ignore"}, "missing"),
        ({"scores": "raw"}, "scores"),
        ({"init_samples": -1}, "init_samples"),
        ({"init_samples": "many"}, "init_samples"),
        ({"consolidation": 1.0}, "consolidation"),
        ({"consolidation": "often"}, "consolidation"),
        ({"spontaneous_activity": -0.1}, "spontaneous_activity"),
        ({"spontaneous_activity": "some"}, "spontaneous_activity"),
    ],
)
def test_bad_parameters_are_named_and_change_nothing(options, says):
    X = paper(50)
    with pytest.raises(ValueError, match=says):
        OnlineAdaptivePCA(**options).fit(X)
    model = OnlineAdaptivePCA(random_state=0).fit(X)
    tracker = stored(model._tracker)
    model.set_params(**options)
    with pytest.raises(ValueError, match=says):
        model.fit(X[:, :64])
    assert stored(model._tracker) == tracker


@pytest.mark.parametrize("missing", ["raise", "skip", "impute"])
def test_bad_rows_are_refused_before_anything_changes(missing):
    X = paper(60)
    model = OnlineAdaptivePCA(missing=missing, random_state=0).fit(X)
    before = stored(model)
    bad = {
        "width": X[:, :5],
        "dimension": X[0],
        "empty": X[:0],
        "infinite": np.where(np.arange(64) == 3, np.inf, X),
        "complex": X * 1j,
        "text": np.array([["a"] * 64], dtype=object),
    }
    if missing == "raise":
        bad["nan"] = with_gaps(X, 0.1)
    for name, rows in bad.items():
        with pytest.raises((ValueError, TypeError)):
            model.partial_fit(rows)
        if name != "width":
            with pytest.raises((ValueError, TypeError)):
                model.fit(rows)
        assert stored(model) == before, name
    for weights in (np.full(60, -1.0), np.full(60, np.nan), np.ones(3), np.full(60, np.inf)):
        with pytest.raises(ValueError, match="sample_weight"):
            model.partial_fit(X, sample_weight=weights)
        assert stored(model) == before


def test_bad_vectors_are_refused_before_anything_changes():
    model = OnlineAdaptivePCA(random_state=0).fit(paper(60))
    before = stored(model)
    for x in (np.zeros(3), np.zeros((1, 64)), np.full(64, np.nan), np.full(64, np.inf), ["a"] * 64):
        with pytest.raises((ValueError, TypeError)):
            model.learn_one(x)
        assert stored(model) == before


def test_missing_values_say_what_to_do():
    with pytest.raises(ValueError, match="missing='skip'"):
        OnlineAdaptivePCA().fit(with_gaps(paper(50), 0.1))


def test_an_unfitted_model_says_so():
    model = OnlineAdaptivePCA()
    with pytest.raises(AttributeError, match="has not learnt anything"):
        _ = model.n_components_
    with pytest.raises(Exception, match="not fitted"):
        model.transform(np.zeros((1, 3)))
    with pytest.raises(Exception, match="not fitted"):
        merge([model])


@pytest.mark.parametrize(("dtype", "huge"), [(np.float64, 1e80), (np.float32, 1e11)])
def test_values_whose_squares_overflow_are_refused(dtype, huge):
    X = paper(300).astype(dtype)
    model = OnlineAdaptivePCA(random_state=0, missing="impute").fit(X)
    before = stored(model)
    rows = X[:3].copy()
    rows[1, 5], rows[2, 6] = huge, np.nan
    for call in (model.partial_fit, model.fit, lambda rows: model.learn_one(rows[1])):
        with pytest.raises(ValueError, match="too large"):
            call(rows)
        assert stored(model) == before
    largest = {np.float64: 1e65, np.float32: 1e8}[dtype]
    big = OnlineAdaptivePCA(random_state=0).fit(X * dtype(largest))
    assert big.n_components_ == 4
    assert np.isfinite(big.transform(X * dtype(largest))).all()


def test_learn_one_starts_a_model():
    model = OnlineAdaptivePCA(random_state=0)
    np.testing.assert_array_equal(model.learn_one(np.arange(5.0)), np.zeros(5))
    assert model.n_samples_seen_ == 1
    with pytest.raises(ValueError, match="array"):
        OnlineAdaptivePCA().learn_one(np.zeros((2, 3)))


def test_capacity_warns_once():
    X = paper(600)
    model = OnlineAdaptivePCA(max_components=2, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for chunk in np.split(X, 6):
            model.partial_fit(chunk)
    assert [str(w.message).split(";")[0] for w in caught] == ["the rank has reached max_components=2"]


def test_works_with_the_rest_of_scikit_learn():
    X = paper(500)
    y = (X @ np.linspace(-1, 1, 64) > 0).astype(int)
    make_pipeline(OnlineAdaptivePCA(random_state=0), LogisticRegression()).fit(X, y).predict(X)
    frame = OnlineAdaptivePCA(max_components=6).set_output(transform="pandas").fit_transform(pd.DataFrame(X))
    assert list(frame.columns) == [f"onlineadaptivepca{i}" for i in range(6)]
    model = OnlineAdaptivePCA(half_life=10, random_state=3)
    assert clone(model).get_params() == model.get_params()


@needs_compilation
def test_memory_is_flat():
    model = OnlineAdaptivePCA(half_life=1000, random_state=0)
    batches = streams.paper_stream(None, batch_size=2000, random_state=0)
    for _ in range(5):
        model.partial_fit(next(batches))
    tracemalloc.start()
    for _ in range(5):
        model.partial_fit(next(batches))
    early = tracemalloc.get_traced_memory()[0]
    for _ in range(20):
        model.partial_fit(next(batches))
    late = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert late - early < 200_000


def test_read_off_never_overestimates():
    X = paper(2000)
    model = OnlineAdaptivePCA(random_state=0, center=False).fit(X)
    lam = read_spectrum(model._tracker.network()).lam
    truth = np.linalg.eigvalsh(X.T @ X)[::-1][: len(lam)]
    assert np.all(lam <= truth * (1 + 1e-6))


def test_every_regularizer_by_name():
    for name in REGULARIZERS:
        assert OnlineAdaptivePCA(name, random_state=0).fit(paper(300)).n_components_ == 4


@pytest.mark.parametrize("half_life", [None, 40, 300])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_learn_many_is_learn_one_row_by_row(half_life, center, dtype):
    X = np.vstack(list(streams.changing_rank(1500, n_features=12, random_state=0)))
    X = (X + np.linspace(0, 20, len(X))[:, None]).astype(dtype)  # a mean that moves
    many, one = (OnlineAdaptivePCA(half_life=half_life, center=center, random_state=0) for _ in range(2))
    scores = np.vstack([many.learn_many(X[i : i + 400]) for i in range(0, len(X), 400)])
    expected = np.array([one.learn_one(x) for x in X])
    tolerance = 1e-10 if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(scores, expected, atol=tolerance)
    assert scores.dtype == dtype
    np.testing.assert_array_equal(many.components_, one.components_)


@pytest.mark.parametrize("missing", ["skip", "impute"])
def test_learn_many_with_gaps_learns_as_partial_fit_does(missing):
    X = np.vstack(list(streams.paper_stream(800, random_state=0)))
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.02] = np.nan
    X[5] = np.nan
    many, fitted = (OnlineAdaptivePCA(missing=missing, random_state=0) for _ in range(2))
    scores = many.learn_many(X)
    fitted.partial_fit(X)
    np.testing.assert_array_equal(many.components_, fitted.components_)
    gaps = np.isnan(X).any(axis=1) if missing == "skip" else np.isnan(X).all(axis=1)
    np.testing.assert_array_equal(np.isnan(scores).any(axis=1), gaps)


def test_learn_checked_is_learn_many_and_partial_fit():
    X = np.vstack(list(streams.paper_stream(600, random_state=0)))
    models = [OnlineAdaptivePCA(random_state=0).partial_fit(X[:100]) for _ in range(3)]
    np.testing.assert_array_equal(
        models[0].learn_checked(X[100:], scored=True), models[1].learn_many(X[100:])
    )
    assert models[2].learn_checked(X[100:]) is None
    for model in models:
        np.testing.assert_array_equal(model.components_, models[0].components_)


def test_a_position_is_saved_with_the_model(tmp_path):
    model = OnlineAdaptivePCA(random_state=0).fit(np.eye(4))
    position = {"rows": 4, "place": [1, "two", None]}
    model.save(tmp_path / "model", position=position)
    assert model.position_ is None  # saving changes nothing
    assert load(tmp_path / "model").position_ == position
    with pytest.raises(TypeError, match="JSON"):
        model.save(tmp_path / "model", position={1, 2})
    assert load(tmp_path / "model").position_ == position
    assert load(tmp_path / "model").fit(np.eye(4)).position_ is None
