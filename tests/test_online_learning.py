"""OnlineAdaptivePCA on streams: rank, attributes, forgetting, weights; every solver."""

import contextlib
import functools
import gc
import tracemalloc
import warnings

import numpy as np
import pytest

from eigenstream import AdaptivePCA, InputOutput, Network, SquaredOutput, metrics, streams
from eigenstream.model import RankChange
from eigenstream.rank import noise_edge
from eigenstream.regularizers import REGULARIZERS
from tests.marks import slow
from tests.online_model import live_signal, needs_compilation, paper, stored

pytestmark = pytest.mark.filterwarnings("ignore:the rank has reached max_components:UserWarning")


@pytest.mark.parametrize("scale", [slow(1e-6), slow(1.0), 1e6])
def test_four_components_on_the_paper_stream_at_any_scale(online, kind, scale):
    for seed in range(2):
        model = online(regularizer=kind.name, random_state=0)
        for batch in streams.paper_stream(2000, random_state=seed):
            model.partial_fit(scale * batch)
            if model.n_samples_seen_ >= 100:
                assert model.n_components_ == 4


@pytest.mark.parametrize("name", ["input-output", "squared-output"])
@pytest.mark.parametrize("alpha", [None, 0.05])
@pytest.mark.parametrize("scale", [1e-6, slow(1e-3), slow(1e3), slow(1e6)])
def test_units_do_not_matter(online, name, alpha, scale):
    X = paper(1500)
    one, other = (online(regularizer=name, alpha=alpha, random_state=0).fit(X * s) for s in (1.0, scale))
    assert [(c.sample, c.after) for c in one.rank_history_] == [
        (c.sample, c.after) for c in other.rank_history_
    ]
    np.testing.assert_allclose(one.components_, other.components_, atol=1e-6)


@needs_compilation
@pytest.mark.parametrize("half_life", [50, slow(500), slow(None)])
@pytest.mark.parametrize("scale", [slow(1e-3), 1e3])
def test_white_noise_has_no_components(online, kind, half_life, scale):
    rng = np.random.default_rng(0)
    model = online(regularizer=kind.name, half_life=half_life, random_state=0)
    ranks = []
    for _ in range(60):
        model.partial_fit(scale * rng.standard_normal((50, 64)))
        ranks.append(model.n_components_)
    assert np.mean(np.array(ranks[4:]) == 0) >= 0.99


@needs_compilation
@pytest.mark.parametrize("half_life", [50, slow(500), slow(None)])
def test_three_spikes_are_three(online, kind, half_life):
    rng = np.random.default_rng(1)
    model = online(regularizer=kind.name, half_life=half_life, random_state=0)
    beta2 = 1.0 if half_life is None else 0.5 ** (1 / half_life)
    deviations = np.ones(64)
    deviations[:3] = np.sqrt(4 * noise_edge(64, 3000, beta2) * np.array([3, 2, 1]))
    ranks = []
    for _ in range(120):
        model.partial_fit(rng.standard_normal((50, 64)) * deviations)
        ranks.append(model.n_components_)
    assert np.mean(np.array(ranks[60:]) == 3) >= 0.99


@needs_compilation
@pytest.mark.parametrize("half_life", [50, slow(300)])
@pytest.mark.parametrize("regularizer", [InputOutput(0.1), slow(SquaredOutput(0.15))])
@pytest.mark.parametrize("silent", [30_000, slow(100_000)])
def test_what_appears_and_vanishes_is_reported_within_ten_windows(online, regularizer, half_life, silent):
    """Even after 100,000 silent samples: a second component of 1.5 theta at least, then none again."""
    rng = np.random.default_rng(0)
    model = online(regularizer=regularizer, max_components=6, half_life=half_life, random_state=0)
    window = int(1 / (1 - 0.5 ** (1 / half_life)))

    def feed(variance, samples):
        for _ in range(0, samples, 1000):
            X = 0.3 * rng.standard_normal((1000, 20))
            X[:, 0] += 3 * rng.standard_normal(1000)
            X[:, 1] += np.sqrt(variance) * rng.standard_normal(1000)
            model.partial_fit(X)

    feed(0.0, silent)
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


def test_rank_changes_are_recorded_and_called(online):
    calls = []
    model = online(half_life=150, random_state=0, on_rank_change=calls.append)
    for batch in streams.changing_rank(random_state=0):
        model.partial_fit(batch)
    assert calls == model.rank_history_
    assert all(isinstance(change, RankChange) and change.before != change.after for change in calls)
    ranks = {1999: 3, 3999: 5, 5999: 2}
    for sample, rank in ranks.items():
        assert [c.after for c in calls if c.sample <= sample][-1] == rank


def test_reading_changes_nothing(online):
    model = online(random_state=0).fit(paper(333))
    before = stored(model)
    for name in dir(model):
        if name.endswith("_") and not name.startswith("_"):
            getattr(model, name)
    model.transform(paper(10))
    model.squared_residuals(paper(10))
    assert stored(model) == before


def test_what_is_handed_out_cannot_change_the_model(online):
    for dtype in (np.float64, np.float32):
        X = paper(500).astype(dtype)
        model = online(random_state=0).fit(X)
        before = model.transform(X)
        for name in ("mean_", "components_", "explained_variance_"):
            with contextlib.suppress(ValueError):  # read-only where it is the model's own
                getattr(model, name)[:] = 7
        np.testing.assert_array_equal(model.transform(X), before)


def test_attributes_are_consistent(online):
    X = paper(3000)
    model = online(random_state=0).fit(X)
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


def test_half_life_is_what_it_says(online):
    model = online(half_life=200).fit(paper(50))
    assert model.beta_ ** (2 * 200) == pytest.approx(0.5)
    assert online().fit(paper(50)).beta_ == 1.0


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 20])
def test_it_answers_from_the_first_rows(online, kind, rows):
    X = paper(rows)
    model = online(regularizer=kind.name, random_state=0).partial_fit(X)
    assert model.transform(X).shape == (rows, 32)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), atol=1e-12)
    assert model.feedforward_weights_.shape == (32, 64)
    assert np.isfinite(model.cumulative_activity_).all()


def test_early_answers_are_the_closed_form(online):
    X = paper(30)
    regularizer = InputOutput(0.05)
    online = online(regularizer=regularizer, random_state=0).fit(X)
    offline = AdaptivePCA(regularizer=regularizer).fit(X)
    assert online.n_components_ == offline.n_components_
    np.testing.assert_allclose(online.explained_variance_, offline.explained_variance_, rtol=1e-9)
    assert metrics.subspace_error(online.components_, offline.components_) < 1e-9


def test_a_long_constant_beginning_is_waited_out(online):
    """An idle sensor: nothing varies for 5,000 samples, then there are two components."""
    rng = np.random.default_rng(0)
    model = online(random_state=0)
    model.partial_fit(np.full((5000, 10), 7.5))
    assert model.n_components_ == 0
    X = 0.1 * rng.standard_normal((3000, 10)) + 7.5
    X[:, :2] += rng.standard_normal((3000, 2)) * [3, 2]
    model.partial_fit(X)
    assert model.n_components_ == 2
    both = np.vstack((np.full((5000, 10), 7.5), X))
    np.testing.assert_allclose(model.mean_, both.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(
        model.explained_variance_, AdaptivePCA().fit(both).explained_variance_, rtol=0.05
    )


@pytest.mark.parametrize(
    "options",
    [{}, {"half_life": 300}, {"solver": Network(consolidation=None)}, {"regularizer": "squared-output"}],
)
@pytest.mark.parametrize("idle_rows", [1, slow(200), slow(500)])
def test_idle_readings_are_no_signal(online, options, idle_rows):
    """Constant readings that are not round numbers: their mean must not leave rounding behind."""
    rng = np.random.default_rng(0)
    idle = np.round(rng.uniform(10, 100, 64), 1)
    model = online(random_state=0, **options).partial_fit(np.tile(idle, (idle_rows, 1)))
    assert model.n_components_ == 0
    model.partial_fit(live_signal(rng, 3000) + idle)
    assert model.n_components_ == 4
    assert np.isfinite(model.feedforward_weights_).all()


@needs_compilation
@pytest.mark.parametrize("quiet", [0.0, slow(1e-14), slow(1e-9)])
def test_a_signal_that_stops_and_returns(online, quiet):
    """Next to nothing, or nothing at all for 200 half-lives; then fourteen orders of magnitude more."""
    rng = np.random.default_rng(0)
    for half_life in (20, None):
        model = online(half_life=half_life, random_state=0)
        if half_life:
            model.partial_fit(live_signal(rng, 1000))
        model.partial_fit(quiet * rng.standard_normal((4_000, 64)))
        model.partial_fit(live_signal(np.random.default_rng(1), 3000))
        assert np.isfinite(model.feedforward_weights_).all()
        # The network finds what stands fourteen orders of magnitude above its memory slowly.
        assert model.n_components_ >= 2 if model.solver == "network" else model.n_components_ == 4


@pytest.mark.parametrize("value", [3.3, 0.1, 21.7, 1e6 + 0.1])
@pytest.mark.parametrize("half_life", [None, 30])
def test_constant_data_have_no_components(online, value, half_life):
    model = online(half_life=half_life, random_state=0).fit(np.full((500, 5), value))
    assert model.n_components_ == 0
    assert model.rank_history_ == []


@pytest.mark.parametrize("dead", [slow(5), slow(25), 60])
@pytest.mark.parametrize("value", [slow(0.0), slow(21.7), 1e6 + 0.1])
def test_dead_inputs_do_not_count_as_noise(online, dead, value):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 2)) @ rng.standard_normal((2, 10)) + 0.1 * rng.standard_normal((2000, 10))
    for half_life in (None, 200):
        model = online(half_life=half_life, random_state=0)
        assert model.fit(np.hstack((X, np.full((2000, dead), value)))).n_components_ == 2


@pytest.mark.parametrize(("width", "rank"), [(8, 1), (20, 3), (64, 3)])
def test_noise_free_data_of_low_rank(online, width, rank):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, rank)) @ rng.standard_normal((rank, width))
    assert online(random_state=0).fit(X).n_components_ == rank
    assert online(half_life=300, random_state=0).fit(X).n_components_ == rank


@pytest.mark.parametrize(("width", "rank"), [(3, 1), (10, 3), (64, 20), (64, 28)])
def test_many_components_for_their_width(online, width, rank):
    """As long as half of the directions are noise, a clear gap is found."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.standard_normal((width, rank)))[0].T
    X = rng.standard_normal((3000, rank)) @ axes + 0.1 * rng.standard_normal((3000, width))
    assert online(random_state=0).fit(X).n_components_ == rank


@pytest.mark.parametrize("alpha", [0.1, 1.0, 100.0, 1e3])
def test_squared_output_is_never_silent(online, alpha):
    model = online(regularizer="squared-output", alpha=alpha, random_state=0).fit(paper(2000))
    assert model.n_components_ >= 1


def test_float32_stays(online):
    X = paper(1000).astype(np.float32)
    model = online(random_state=0).fit(X)
    for array in (
        model.components_,
        model.explained_variance_,
        model.mean_,
        model.transform(X),
        model.learn_one(X[0]),
    ):
        assert array.dtype == np.float32
    assert model.n_components_ == 4
    double = online(random_state=0).fit(X.astype(np.float64))
    double.learn_one(X[0])
    np.testing.assert_allclose(model.explained_variance_, double.explained_variance_, rtol=1e-4)


def test_axes_keep_their_sign_and_place(online):
    signs = []
    model = online(half_life=300, random_state=0)
    previous = None
    for batch in streams.paper_stream(6000, random_state=0, batch_size=50):
        model.partial_fit(batch)
        if model.n_samples_seen_ > 300 and model.n_components_ == 4:
            if previous is not None:
                signs.append(np.sum(previous * model.components_, axis=1))
            previous = model.components_
    assert np.min(signs) > 0


def test_weights_scale_out_and_select(online):
    X = paper(1200)
    one = online(alpha=0.05, random_state=0).partial_fit(X, sample_weight=np.full(1200, 3.0))
    other = online(alpha=0.05, random_state=0).partial_fit(X)
    np.testing.assert_allclose(one.explained_variance_, other.explained_variance_, rtol=1e-6)
    weights = (np.arange(1200) % 2).astype(float)
    half = online(alpha=0.05, random_state=0).partial_fit(X, sample_weight=weights)
    truth = AdaptivePCA(alpha=0.05).fit(X[1::2])
    np.testing.assert_allclose(half.explained_variance_, truth.explained_variance_, rtol=0.05)
    np.testing.assert_allclose(half.mean_, X[1::2].mean(axis=0), atol=1e-9)


def test_all_weights_zero_teach_nothing(online):
    model = online(random_state=0).partial_fit(paper(5), sample_weight=np.zeros(5))
    assert model.n_components_ == 0
    model.partial_fit(paper(500))
    assert model.n_components_ == 4


def traced():
    """Bytes in use, without the answers of pure functions that all models share: at most 1,024 of each."""
    gc.collect()
    for one in gc.get_objects():
        if type(one) is functools._lru_cache_wrapper and one.__module__.startswith("eigenstream.rank"):
            one.cache_clear()
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@needs_compilation
def test_memory_is_flat(online):
    model = online(half_life=1000, random_state=0)
    batches = streams.paper_stream(None, batch_size=1000, random_state=0)
    for _ in range(5):
        model.partial_fit(next(batches))
    tracemalloc.start()
    for _ in range(5):
        model.partial_fit(next(batches))
    early = traced()
    for _ in range(20):
        model.partial_fit(next(batches))
    late = traced()
    tracemalloc.stop()
    assert late - early < 200_000  # most of it: up to 256 moments of the spectrum


def test_every_regularizer_by_name(online):
    for name in REGULARIZERS:
        assert online(regularizer=name, random_state=0).fit(paper(300)).n_components_ == 4


@pytest.mark.parametrize("half_life", [slow(None), 40, slow(300)])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, slow(np.float64)])
def test_learn_many_is_learn_one_row_by_row(online, half_life, center, dtype):
    X = np.vstack(list(streams.changing_rank(1500, n_features=12, random_state=0)))
    X = (X + np.linspace(0, 20, len(X))[:, None]).astype(dtype)  # a mean that moves
    many, one = (online(half_life=half_life, center=center, random_state=0) for _ in range(2))
    scores = np.vstack([many.learn_many(X[i : i + 400]) for i in range(0, len(X), 400)])
    expected = np.array([one.learn_one(x) for x in X])
    np.testing.assert_array_equal(scores, expected)
    assert scores.dtype == dtype
    np.testing.assert_array_equal(many.components_, one.components_)


def test_learn_one_starts_a_model(online):
    model = online(random_state=0)
    np.testing.assert_array_equal(model.learn_one(np.arange(5.0)), np.zeros(5))
    assert model.n_samples_seen_ == 1
    with pytest.raises(ValueError, match="array"):
        online().learn_one(np.zeros((2, 3)))


def test_capacity_warns_once(online):
    X = paper(600)
    model = online(max_components=2, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for chunk in np.split(X, 6):
            model.partial_fit(chunk)
    assert [str(w.message).split(";")[0] for w in caught] == ["the rank has reached max_components=2"]
