"""Sparse rows: the same answers as filled ones, without filling them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse
from scipy.io import mmread, mmwrite

from eigenstream import AdaptivePCA, OnlineAdaptivePCA, StreamMonitor, compare_to_offline, load, sources
from eigenstream.cli import main
from eigenstream.learners.sparse import without_zeros
from tests.marks import slow


def scattered(rng, rows, width, density):
    """Uniform numbers at places drawn at random."""
    number = round(density * rows * width)
    places = rng.choice(rows * width, number, replace=False)
    return sparse.csr_array((rng.random(number), np.divmod(places, width)), shape=(rows, width))


def sample_rows(rows=500, width=300, seed=0):
    """Eight sparse components, sparse noise, a constant column and an empty one."""
    rng = np.random.default_rng(seed)
    signal = scattered(rng, rows, 8, 0.3) @ scattered(rng, 8, width, 0.1)
    X = sparse.lil_array(scattered(rng, rows, width, 0.05) + 5 * signal)
    X[:, 3], X[:, 4] = 0.1, 0.0
    return sparse.csr_array(X)


def error(one, other):
    return np.abs(one - other).max() / (np.abs(other).max() or 1)


PARAMETERS = [{}, {"standardize": True}, {"center": False}, {"scores": "whitened"}]


@pytest.mark.parametrize("parameters", [*PARAMETERS, {"half_life": 100}], ids=str)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-8), (np.float32, 1e-4)])
def test_streams_of_sparse_rows_give_what_filled_ones_give(parameters, dtype, tolerance):
    X = sample_rows().astype(dtype)
    filled = OnlineAdaptivePCA(solver="subspace", **parameters)
    model = OnlineAdaptivePCA(**parameters)
    scores, of_filled = model.learn_many(X), filled.learn_many(X.toarray())
    # The rank after 16 rows may differ: their directions are as good as equally large.
    assert error(scores[64:], of_filled[64:]) < tolerance
    assert model.n_components_ == filled.n_components_ >= 8
    scores = model.transform(X)
    assert scores.dtype == dtype
    assert error(scores, filled.transform(X.toarray())) < tolerance
    assert error(model.squared_residuals(X), filled.squared_residuals(X.toarray())) < tolerance
    assert error(model.mean_, filled.mean_) < tolerance
    assert model.other_ranks_ == filled.other_ranks_


@pytest.mark.parametrize(
    ("parameters", "shape"),
    [slow({"standardize": True}, (2300, 2100))]  # too large for a matrix of its width or height
    + [(parameters, shape) for parameters in PARAMETERS for shape in [(500, 300), (200, 300)]],
)
def test_the_closed_form_of_sparse_rows_is_that_of_filled_ones(parameters, shape):
    X = sample_rows(*shape)
    model, filled = AdaptivePCA(**parameters).fit(X), AdaptivePCA(**parameters).fit(X.toarray())
    assert model.n_components_ == filled.n_components_
    assert model.threshold_ == pytest.approx(filled.threshold_, rel=1e-8)
    assert model.noise_variance_ == pytest.approx(filled.noise_variance_, rel=1e-8)
    assert error(model.transform(X), filled.transform(X.toarray())) < 1e-8
    assert error(model.squared_residuals(X), filled.squared_residuals(X.toarray())) < 1e-8


def test_cutting_into_calls_does_not_change_a_bit(tmp_path):
    X = sample_rows()
    whole, parts = OnlineAdaptivePCA(), OnlineAdaptivePCA()
    scores = whole.learn_many(X)
    pieces = []
    for start, stop in [(0, 1), (1, 40), (40, 64), (64, 65), (65, 300), (300, 500)]:
        pieces.append(parts.learn_many(X[start:stop]))
        parts.save(tmp_path / "model")
        parts = load(tmp_path / "model")
    np.testing.assert_array_equal(np.vstack(pieces), scores)
    np.testing.assert_array_equal(parts.components_, whole.components_)


def test_sparse_and_filled_rows_may_alternate():
    X = sample_rows()
    expected = OnlineAdaptivePCA(solver="subspace").fit(X.toarray())
    model = OnlineAdaptivePCA(solver="subspace")
    for start, stop in [(0, 100), (100, 220), (220, 384), (384, 500)]:
        model.partial_fit(X[start:stop] if start % 100 else X[start:stop].toarray())
    assert error(model.transform(X), expected.transform(X.toarray())) < 1e-8


@pytest.mark.parametrize("form", ["csc", "coo", "lil"])
def test_any_sparse_form_will_do(form):
    X = sample_rows()
    given = X.asformat(form)
    scores = OnlineAdaptivePCA().fit_transform(given)
    np.testing.assert_array_equal(scores, OnlineAdaptivePCA().fit_transform(X))


def test_stored_zeros_and_duplicates_change_nothing():
    X = sample_rows()
    entries = X.tocoo()
    row, column = entries.coords
    halves = np.r_[entries.data / 2, entries.data / 2, 0.0]
    where = np.r_[row, row, 9], np.r_[column, column, 4]
    order = np.argsort(where[0], kind="stable")
    counts = np.bincount(where[0], minlength=X.shape[0])
    twice = sparse.csr_array((halves[order], where[1][order], np.r_[0, np.cumsum(counts)]), X.shape)
    before = twice.copy()
    scores = OnlineAdaptivePCA().fit_transform(twice)
    np.testing.assert_array_equal(scores, OnlineAdaptivePCA().fit_transform(X))
    np.testing.assert_array_equal(twice.data, before.data)


@pytest.mark.parametrize(
    "parameters",
    [{"solver": "exact"}, {"solver": "network"}, {"lags": 1}, {"outliers": "cap"}, {"missing": "skip"}],
)
def test_what_cannot_be_done_with_sparse_rows_is_refused(parameters):
    with pytest.raises(ValueError, match=r"sparse rows are learnt by solver='subspace'.*toarray"):
        OnlineAdaptivePCA(**parameters).fit(sample_rows())


def test_what_takes_filled_rows_only_says_so():
    X = sample_rows()
    with pytest.raises(TypeError, match=r"expected filled rows.*toarray"):
        StreamMonitor().fit(X)
    with pytest.raises(TypeError, match=r"expected filled rows.*toarray"):
        compare_to_offline(OnlineAdaptivePCA().fit(X), X)


def test_missing_and_huge_values_are_refused():
    X = sample_rows()
    for value, message in [(np.nan, "NaN"), (np.inf, "infinity"), (1e200, "too large")]:
        X.data[5] = value
        with pytest.raises(ValueError, match=message):
            OnlineAdaptivePCA().fit(X)
    with pytest.raises(ValueError, match="without lags"):
        AdaptivePCA(lags=1).fit(sample_rows())


def test_memory_is_that_of_a_few_filled_rows():
    X = scattered(np.random.default_rng(0), 4000, 20_000, 0.001)
    model = OnlineAdaptivePCA(max_components=8)
    tracemalloc.start()
    model.fit(X).transform(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    filled_row = 8 * X.shape[1]
    assert peak < 600 * filled_row  # of 4,000


def test_rows_that_are_centered_without_being_filled():
    rng = np.random.default_rng(0)
    X, mean = sample_rows(20, 30), rng.standard_normal(30)
    R = without_zeros(X) - mean
    R *= rng.random((20, 1))
    R *= rng.random(30)
    filled, P = R.get(), rng.standard_normal((3, 20))
    np.testing.assert_allclose(R.gram(), filled @ filled.T, atol=1e-12)
    np.testing.assert_allclose(R.scatter(), filled.T @ filled, atol=1e-12)
    np.testing.assert_allclose(R.sums_of_squares(), np.sum(filled**2, axis=0), atol=1e-12)
    np.testing.assert_allclose(P @ R, P @ filled, atol=1e-12)
    np.testing.assert_allclose(P[0] @ R, P[0] @ filled, atol=1e-12)
    np.testing.assert_allclose(R @ mean, filled @ mean, atol=1e-12)
    first = X[:1].toarray()[0]
    np.testing.assert_array_equal(without_zeros(X).differ_from(first), (X.toarray() != first).any(axis=0))


def written(tmp_path, kind, X):
    path = tmp_path / f"matrix.{kind}"
    if kind == "mtx":
        mmwrite(path, X)
    else:
        sparse.save_npz(path, X)
    return path


@pytest.mark.parametrize("kind", ["mtx", "npz"])
def test_sparse_files_are_sources(tmp_path, kind):
    X = sample_rows(200, 40)
    path = written(tmp_path, kind, X)
    with sources.open(path, batch_rows=64) as source:
        batches = list(source)
    np.testing.assert_array_equal(np.vstack([batch.rows for batch in batches]), X.toarray())
    with sources.open(path, batch_rows=64, position=batches[0].position) as source:
        np.testing.assert_array_equal(next(iter(source)).rows, batches[1].rows)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_any_saved_form_is_read(tmp_path, form):
    X = sample_rows(50, 20)
    with sources.open(written(tmp_path, "npz", X.asformat(form))) as source:
        np.testing.assert_array_equal(np.vstack([batch.rows for batch in source]), X.toarray())


def test_damaged_sparse_files_are_refused(tmp_path):
    broken = tmp_path / "broken.mtx"
    broken.write_text("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1.0\n9 9 2.0\n")
    with pytest.raises(sources.SourceError, match="not a readable Matrix Market file"):
        sources.open(broken)
    broken.write_text("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1.0 2.0\n")
    with pytest.raises(sources.SourceError, match="expected real numbers"):
        sources.open(broken)
    far = tmp_path / "far.npz"
    indices, indptr = np.array([99_999]), np.array([0, 1, 1])
    np.savez(far, format=b"csr", shape=[2, 2], data=np.ones(1), indices=indices, indptr=indptr)
    with pytest.raises(sources.SourceError, match="not a readable NPZ file of a sparse matrix"):
        sources.open(far)


def test_the_command_line_reads_sparse_files(tmp_path):
    X = sample_rows(300, 40)
    path = written(tmp_path, "mtx", X)
    result = CliRunner().invoke(main, ["run", str(path), "--save", str(tmp_path / "model")])
    assert result.exit_code == 0, result.output
    expected = OnlineAdaptivePCA().fit(X.toarray())
    np.testing.assert_array_equal(load(tmp_path / "model").components_, expected.components_)


@pytest.mark.filterwarnings("ignore:The default value for `spmatrix`:DeprecationWarning")
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("dense", [True, False])
def test_every_layout_of_matrix_market_is_read_as_scipy_reads_it(field, symmetry, dense, tmp_path):
    if dense and field == "pattern":
        return  # there is no such layout
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (6, 6)) * (1.0 if field == "integer" else 0.37)
    X = np.where(rng.random((6, 6)) < 0.5, X, 0)
    X = {"general": X, "symmetric": X + X.T, "skew-symmetric": X - X.T}[symmetry]
    given = X if dense else sparse.coo_array(X)
    mmwrite(tmp_path / "x.mtx", given, comment="a comment", field=field, symmetry=symmetry)
    expected = mmread(tmp_path / "x.mtx")
    expected = expected if dense else expected.toarray()
    with sources.open(tmp_path / "x.mtx") as source:
        np.testing.assert_array_equal(np.vstack([batch.rows for batch in source]), expected)
