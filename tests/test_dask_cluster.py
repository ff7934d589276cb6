"""A cluster of two worker processes: one is killed, and arrays are larger than what both may hold."""

import os
import signal

import numpy as np
import pytest

from eigenstream import AdaptivePCA, OnlineAdaptivePCA, streams

distributed = pytest.importorskip("distributed", reason="needs eigenstream[dask]")
da = pytest.importorskip("dask.array", reason="needs eigenstream[dask]")
from eigenstream.integrations.dask import FeatureShardedPCA, fit_partitions  # noqa: E402

pytestmark = [pytest.mark.dask, pytest.mark.filterwarnings("ignore::UserWarning")]
LIMIT = 512_000_000
"""Bytes per worker, half of which an idle process takes."""


@pytest.fixture
def client():
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            worker_dashboard_address=None,
            memory_limit=LIMIT,
        ) as cluster,
        distributed.Client(cluster) as one,
    ):
        yield one


def block(seed, start, columns, rows):
    """Rows of a stream with three factors, some columns of them; the same for every call."""
    factors = np.random.default_rng([seed, start]).normal(size=(rows, 3)) * [6.0, 4.0, 3.0]
    rng = np.random.default_rng([seed, start, columns.start])
    axes = np.random.default_rng([seed, columns.start]).normal(size=(3, len(columns)))
    noise = rng.standard_normal((rows, len(columns)))
    noise += factors @ axes
    return noise


def chunk(info, rows, seed=0, kill_at=None, mark=None):
    (start, _), (first, last) = info[0]["array-location"]
    if start == kill_at and first == 0:
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass  # it has happened
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return block(seed, start, range(first, last), rows)


def from_functions(T, n, rows, columns, **more):
    """An array that exists nowhere: each chunk is made when a worker asks for it."""

    def make(empty, block_info=None):
        return chunk({0: {"array-location": block_info[None]["array-location"]}}, len(empty), **more)

    nothing = da.zeros((T, n), chunks=(rows, columns))
    return nothing.map_blocks(make, dtype=np.float64, meta=np.empty((0, 0)))


def spilled(dask_worker):
    """Bytes that this worker has ever written to disk for want of memory."""
    metrics = dask_worker.data.cumulative_metrics
    return sum(value for key, value in metrics.items() if key[0] == "disk-write" and key[-1] == "bytes")


def most_memory():
    """Bytes that this process has held at most."""
    import resource

    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def assert_never_full(client, before):
    assert workers(client) == before, "a worker was restarted"
    assert set(client.run(spilled).values()) == {0}
    assert max(client.run(most_memory).values()) < LIMIT


def workers(client):
    return set(client.scheduler_info()["workers"])


def test_a_worker_killed_in_the_middle_changes_nothing(client, tmp_path):
    T, n = 1000, 60
    X = from_functions(T, n, 100, 20)
    rows = X.compute(scheduler="sync")
    model = OnlineAdaptivePCA(solver="subspace", max_components=6).fit(rows)
    before = workers(client)
    deadly = from_functions(T, n, 100, 20, kill_at=500, mark=str(tmp_path / "killed"))
    sharded = FeatureShardedPCA(max_components=6).fit(deadly)
    assert (tmp_path / "killed").exists()
    assert workers(client) != before
    assert sharded.n_components_ == model.n_components_ == 3
    np.testing.assert_allclose(sharded.components_.compute(), model.components_, atol=1e-8)
    np.testing.assert_allclose(sharded.explained_variance_, model.explained_variance_, rtol=1e-8)


def test_partitions_survive_a_killed_worker(client, tmp_path):
    X = from_functions(1000, 40, 100, 40, kill_at=500, mark=str(tmp_path / "killed"))
    merged = fit_partitions(OnlineAdaptivePCA(max_components=6), X)
    assert (tmp_path / "killed").exists()
    whole = OnlineAdaptivePCA(max_components=6).fit(X.compute(scheduler="sync"))
    assert merged.n_components_ == whole.n_components_ == 3
    np.testing.assert_allclose(merged.explained_variance_, whole.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(merged.components_, whole.components_, atol=1e-8)  # signs, too


def test_rows_that_cannot_be_read_again_give_a_clear_error(client):
    rows = np.vstack(list(streams.paper_stream(400, random_state=0)))
    held = da.from_delayed(client.scatter(rows, hash=False), rows.shape, dtype=rows.dtype)
    sharded = FeatureShardedPCA(max_components=6).fit(held)
    assert sharded.n_samples_seen_ == 400
    client.run(_die, on_error="ignore")
    with pytest.raises(RuntimeError, match=r"workers were lost with what they held.*Fit again"):
        sharded.partial_fit(held)


def _die():
    os.kill(os.getpid(), signal.SIGKILL)


def test_an_array_of_many_times_the_memory_in_feature_shards(client):
    T, n = 6_528, 40_000
    assert 8 * T * n > 4 * LIMIT
    before = workers(client)
    sharded = FeatureShardedPCA(max_components=4).fit(from_functions(T, n, 64, 10_000))
    assert sharded.n_components_ == 3
    scores = sharded.transform(from_functions(T, n, 64, 10_000)).compute()
    assert scores.shape == (T, 4)
    assert_never_full(client, before)


def test_an_array_of_many_times_the_memory_in_closed_form(client):
    T, n = 1_200_000, 220
    assert 8 * T * n > 4 * LIMIT
    X = from_functions(T, n, 10_000, n)
    before = workers(client)
    model = AdaptivePCA(max_components=6).fit(X)
    assert model.n_components_ == 3
    variances = model.transform(X).var(axis=0).compute()
    np.testing.assert_allclose(variances[:3], model.output_variance_, rtol=1e-6)
    assert_never_full(client, before)


def test_an_array_of_many_times_the_memory_in_partitions(client):
    T, n = 504_000, 512
    assert 8 * T * n > 4 * LIMIT
    before = workers(client)
    model = fit_partitions(OnlineAdaptivePCA(max_components=6), from_functions(T, n, 2_000, n))
    assert (model.n_components_, model.n_samples_seen_) == (3, T)
    assert_never_full(client, before)
