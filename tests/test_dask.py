"""Dask arrays in one process; clusters of processes are in test_dask_cluster.py."""

import subprocess
import sys
import time

import numpy as np
import pytest

from eigenstream import AdaptivePCA, OnlineAdaptivePCA, metrics, offline

distributed = pytest.importorskip("distributed", reason="needs eigenstream[dask]")
da = pytest.importorskip("dask.array", reason="needs eigenstream[dask]")
from eigenstream.integrations.dask import FeatureShardedPCA, fit_partitions  # noqa: E402


def rows_with_factors(T, n, factors=3, seed=0):
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=(T, factors)) * np.linspace(4, 2, factors)
    axes = np.linalg.qr(rng.normal(size=(n, factors)))[0]
    return signal @ axes.T * np.sqrt(n) / 2 + rng.normal(size=(T, n)) + 10 * rng.normal(size=n)


@pytest.fixture(scope="module")
def client():
    here = "127.0.0.1:0"  # not on all interfaces, which is the default without processes
    with distributed.Client(
        processes=False,
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=here,
        worker_dashboard_address=here,
    ) as one:
        yield one


def in_shards(X, shards, rows=150):
    widths = tuple(len(part) for part in np.array_split(np.arange(X.shape[1]), shards))
    return da.from_array(X, chunks=(rows, widths))


def assert_same(model, sharded, X, *, same_history=True):
    assert sharded.n_components_ == model.n_components_ > 0
    assert sharded.n_samples_seen_ == model.n_samples_seen_
    if same_history:
        assert sharded.rank_history_ == model.rank_history_
    np.testing.assert_allclose(sharded.components_.compute(), model.components_, atol=1e-8)
    np.testing.assert_allclose(sharded.mean_.compute(), model.mean_, atol=1e-8)
    for name in ("explained_variance_", "threshold_", "noise_variance_", "alpha_"):
        tolerance = 1e-8 if same_history or not name.endswith(("threshold_", "alpha_")) else 0.01
        np.testing.assert_allclose(getattr(sharded, name), getattr(model, name), rtol=tolerance)
    np.testing.assert_allclose(
        sharded.spectrum_history_.variances, model.spectrum_history_.variances, rtol=1e-8
    )
    lazy = sharded.transform(in_shards(X, 3))
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(lazy.compute(), model.transform(X), atol=1e-7)
    residuals = sharded.squared_residuals(in_shards(X, 2)).compute()
    np.testing.assert_allclose(residuals, model.squared_residuals(X), rtol=1e-8)


@pytest.mark.parametrize("shards", [1, 2, 7])
def test_feature_shards_give_the_result_of_numpy(client, shards):
    X = rows_with_factors(470, 40)
    model = OnlineAdaptivePCA(solver="subspace", max_components=5).fit(X)
    assert_same(model, FeatureShardedPCA(max_components=5).fit(in_shards(X, shards)), X)


@pytest.mark.parametrize(
    "parameters", [{"half_life": 60}, {"n_components": "parallel"}, {"center": False, "scores": "whitened"}]
)
def test_feature_shards_take_parameters(client, parameters):
    X = rows_with_factors(300, 30)
    model = OnlineAdaptivePCA(solver="subspace", max_components=6, **parameters).fit(X)
    sharded = FeatureShardedPCA(max_components=6, **parameters).fit(in_shards(X, 2))
    # Shards do not tell how inputs differ in their likeness to predecessors. Where the mean is left in rows,
    # that moves the line a little.
    assert_same(model, sharded, X, same_history="center" not in parameters)


def test_feature_shards_and_calls_do_not_matter(client):
    X = rows_with_factors(260, 30)
    X[:, 4] = 7.0
    sharded = FeatureShardedPCA(max_components=4)
    for start, stop in ((0, 20), (20, 50), (50, 260)):
        sharded.partial_fit(in_shards(X[start:stop], 2, rows=45))
        model = OnlineAdaptivePCA(solver="subspace", max_components=4).fit(X[:stop])
        assert sharded.n_components_ == model.n_components_
        np.testing.assert_allclose(sharded.explained_variance_, model.explained_variance_, rtol=1e-8)
    assert_same(model, sharded, X)


def test_a_pinned_model_goes_on_and_has_no_history(client):
    X = rows_with_factors(350, 30)
    sharded = FeatureShardedPCA(max_components=6).fit(in_shards(X[:170], 2))
    sharded.pin().partial_fit(in_shards(X[170:], 2))
    deadline = time.monotonic() + 10
    while client.run_on_scheduler(_blocks_remembered) > 3 and time.monotonic() < deadline:
        time.sleep(0.05)  # the scheduler forgets what nobody holds any more, a moment later
    assert client.run_on_scheduler(_blocks_remembered) <= 3  # of five; fewer once Dask has tidied up
    assert_same(OnlineAdaptivePCA(solver="subspace", max_components=6).fit(X), sharded, X)


def _blocks_remembered(dask_scheduler):
    return sum(key.startswith("led-") for key in map(str, dask_scheduler.tasks))


def test_a_refused_call_leaves_the_shards_as_they_were(client):
    X = rows_with_factors(200, 20)
    sharded = FeatureShardedPCA(max_components=3).fit(in_shards(X, 2))
    before = sharded.components_.compute()
    gap = X.copy()
    gap[150, 3] = np.nan
    with pytest.raises(ValueError, match="Input contains NaN"):
        sharded.partial_fit(in_shards(gap, 2))
    with pytest.raises(ValueError, match="X has 19 features, but the model has learnt from 20"):
        sharded.partial_fit(in_shards(X[:, :19], 2))
    assert sharded.n_samples_seen_ == 200
    np.testing.assert_array_equal(sharded.components_.compute(), before)


def test_rows_that_wait_are_refused_when_they_come(client):
    X = rows_with_factors(80, 20)
    X[70, 3] = np.nan
    sharded = FeatureShardedPCA(max_components=6)
    with pytest.raises(ValueError, match="Input contains NaN"):
        sharded.fit(in_shards(X, 2))
    assert not hasattr(sharded, "n_components_")
    sharded.partial_fit(in_shards(X[:70], 2))
    with pytest.raises(ValueError, match="Input contains NaN"):
        sharded.partial_fit(in_shards(X[70:], 2))
    sharded.partial_fit(in_shards(np.nan_to_num(X[70:]), 2))
    assert_same(OnlineAdaptivePCA(solver="subspace", max_components=6).fit(np.nan_to_num(X)), sharded, X[:70])


def test_a_tracker_drives_the_shards_as_it_drives_any_learner(client):
    X = rows_with_factors(300, 30)
    X[:, 4] = 7.0
    model = OnlineAdaptivePCA(solver="subspace", max_components=4).fit(X)
    sharded = FeatureShardedPCA(max_components=4).fit(in_shards(X, 3))
    ours, theirs = sharded._tracked(), model._tracked()
    assert (ours.time, ours.look_at, ours.blocks.waiting.number) == (300, theirs.look_at, 300 % 64)
    assert sharded.tally_ == model.tally_
    np.testing.assert_allclose(ours.last_look.kept, theirs.last_look.kept, rtol=1e-8)
    np.testing.assert_allclose(ours.last_look.rest, theirs.last_look.rest, rtol=1e-8)
    assert ours.known().n_inputs == theirs.blocks.inputs.number == 29
    seen, expected = ours.last_look.seen(), theirs.last_look.seen()
    np.testing.assert_allclose(seen.axes.compute(), expected.axes, atol=1e-8)
    np.testing.assert_allclose(seen.mean.compute(), expected.mean, atol=1e-8)
    with pytest.raises(NotImplementedError, match="not saved or merged"):
        ours.learner.arrays()


def test_constant_rows_have_no_components(client):
    sharded = FeatureShardedPCA(max_components=3).fit(in_shards(np.full((100, 6), 2.0), 2))
    assert sharded.n_components_ == 0
    assert sharded.transform(in_shards(np.full((5, 6), 2.0), 2)).compute().shape == (5, 3)


def test_refusals_say_what_to_do(client):
    X = da.from_array(rows_with_factors(100, 20), chunks=50)
    with pytest.raises(TypeError, match=r"expected a dask\.array\.Array, got numpy\.ndarray"):
        FeatureShardedPCA().fit(np.zeros((10, 3)))
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        AdaptivePCA().fit(X[X[:, 0] > 0])
    with pytest.raises(ValueError, match="a number of samples here, got '10min'"):
        FeatureShardedPCA(half_life="10min").fit(X)
    with pytest.raises(ValueError, match="half_life=5 needs rows in order"):
        fit_partitions(OnlineAdaptivePCA(half_life=5), X)
    with pytest.raises(ValueError, match="got lags=1 and rows that are sparse or a Dask array"):
        AdaptivePCA(lags=1).fit(X)
    with pytest.raises(ValueError, match="got lags=1 and rows that are sparse or a Dask array"):
        OnlineAdaptivePCA(lags=1).fit(X.compute()).transform(X)
    with pytest.raises(ValueError, match="X has 19 features, but the model has learnt from 20"):
        AdaptivePCA().fit(X).transform(X[:, 1:])
    with pytest.raises(ValueError, match="one of them to be at most 8,192"):
        AdaptivePCA().fit(da.zeros((10_000, 9_000)))
    with pytest.raises(ValueError, match="NaN"):
        AdaptivePCA().fit(da.where(X > 0, X, np.nan))
    with pytest.raises(AttributeError, match="call fit or partial_fit"):
        _ = FeatureShardedPCA().components_


def test_without_a_cluster_feature_shards_say_so():
    code = """
import dask.array as da
from eigenstream.integrations.dask import FeatureShardedPCA
try:
    FeatureShardedPCA().fit(da.zeros((10, 3)))
except ValueError as error:
    print(error)
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert 'start one, for instance with distributed.Client(dashboard_address="127.0.0.1:8787")' in shown


@pytest.mark.parametrize("solver", ["exact", "subspace"])
def test_merged_partitions_are_as_good_as_one_pass(solver):
    X = rows_with_factors(3000, 60, factors=4)
    _, U = offline.spectrum(X - X.mean(axis=0), 4)
    model = OnlineAdaptivePCA(solver=solver, max_components=8)
    parts = fit_partitions(model, da.from_array(X, chunks=(250, 20)))
    whole = model.fit(X)
    assert parts.n_components_ == whole.n_components_ == 4
    assert parts.n_samples_seen_ == len(X)
    error, single = (metrics.subspace_error(one.components_, U) for one in (parts, whole))
    assert error <= 2 * single + 1e-12


@pytest.mark.parametrize("shape", [(900, 50), (40, 300)])
@pytest.mark.parametrize("parameters", [{}, {"standardize": True}, {"center": False, "alpha": 0.1}])
def test_closed_form_of_a_dask_array(shape, parameters):
    X = rows_with_factors(*shape)
    X[:, 7] = 3.0
    chunks = da.from_array(X, chunks=(200, 30))
    model = AdaptivePCA(max_components=6, **parameters).fit(X)
    lazy = AdaptivePCA(max_components=6, **parameters).fit(chunks)
    assert lazy.n_components_ == model.n_components_ > 0
    assert lazy.n_features_in_ == shape[1]
    assert lazy.n_samples_seen_ == shape[0]
    np.testing.assert_allclose(lazy.components_, model.components_, atol=1e-8)
    np.testing.assert_allclose(lazy.explained_variance_, model.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(lazy.threshold_, model.threshold_, rtol=1e-8)
    assert lazy.other_ranks_ == model.other_ranks_
    scores = lazy.transform(chunks)
    assert isinstance(scores, da.Array)
    np.testing.assert_allclose(scores.compute(), model.transform(X), atol=1e-8)
    np.testing.assert_allclose(
        lazy.squared_residuals(chunks).compute(), model.squared_residuals(X), rtol=1e-8
    )
    again = lazy.inverse_transform(scores)
    assert isinstance(again, da.Array)
    np.testing.assert_allclose(again.compute(), model.inverse_transform(model.transform(X)), atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_online_models_transform_lazily(dtype):
    X = (10 * rows_with_factors(400, 30)).astype(dtype)
    model = OnlineAdaptivePCA(max_components=4).fit(X)
    calls = []

    def seen(block):
        calls.append(len(block))
        return block

    scores = model.transform(da.from_array(X, chunks=(100, 30)).map_blocks(seen, dtype=X.dtype))
    assert not [rows for rows in calls if rows == 100]
    assert scores.shape == (400, 4)
    found, expected = scores.compute(), model.transform(X)
    assert found.dtype == scores.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_dask_is_imported_for_dask_arrays_only():
    code = """
import sys
import numpy as np, eigenstream
eigenstream.AdaptivePCA().fit(np.eye(5)).transform(np.eye(5))
print({"dask", "distributed"} & set(sys.modules))
sys.modules["distributed"] = None
try:
    import eigenstream.integrations.dask
except ImportError as error:
    print(error)
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "set()\nto use eigenstream with Dask, pip install 'eigenstream[dask]'\n"
