"""Matrices that are none."""

import os
import sys

import numpy as np
import pyarrow
import pytest
import zarr
from pyarrow import parquet

from eigenstream import sources
from eigenstream.io.sources import SourceError, matrices
from eigenstream.io.sources import parquet as parquet_source
from tests.source_files import (
    DATA,
    as_npy,
    as_npz,
    read,
    rows_of,
    write_parquet,
    write_zarr,
)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(5), r"expected a matrix with rows and columns, got shape \(5,\)"),
        (np.zeros((0, 3)), r"got shape \(0, 3\)"),
        (np.zeros((2, 2, 2)), r"got shape \(2, 2, 2\)"),
        (np.zeros((2, 2), dtype=complex), "expected real numbers, got type complex128"),
        (np.array([["a"]]), "expected real numbers"),
        (np.zeros((2, 2), dtype="f8,f8"), "expected real numbers"),
    ],
)
def test_npy_that_is_no_matrix_of_numbers(X, message, tmp_path):
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(SourceError, match=message):
        sources.open(tmp_path / "x.npy")


@pytest.mark.parametrize("missing", [1, 100, 1500])
def test_npy_that_is_cut_off_is_refused_at_once(missing, tmp_path):
    (tmp_path / "x.npy").write_bytes(as_npy(DATA)[:-missing])
    with pytest.raises(SourceError, match=r"is cut off: shape \(50, 4\) needs 1,728 bytes"):
        sources.open(tmp_path / "x.npy")


def test_npy_that_could_run_code_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[print]], dtype=object), allow_pickle=True)
    with pytest.raises(SourceError, match=r"x\.npy"):
        sources.open(tmp_path / "x.npy")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pyarrow.array(["x"]), "column 'a': expected numbers, got string"),
        (pyarrow.array([{"x": 1}]), "column 'a': expected numbers, got struct"),
        (pyarrow.array(["x"]).dictionary_encode(), "column 'a': expected numbers, got dictionary"),
        (pyarrow.array([0], pyarrow.timestamp("s")), "column 'a': expected numbers, got timestamp"),
    ],
)
def test_parquet_columns_that_are_no_numbers(column, message, tmp_path):
    parquet.write_table(pyarrow.table({"a": column, "b": [1.0]}), tmp_path / "x.parquet")
    with pytest.raises(SourceError, match=message):
        sources.open(tmp_path / "x.parquet")
    np.testing.assert_array_equal(rows_of(tmp_path / "x.parquet", columns="b"), [[1.0]])


def test_parquet_that_does_not_fit_together(tmp_path):
    parquet.write_table(pyarrow.table({}), tmp_path / "1.parquet")
    with pytest.raises(SourceError, match="rows of 0 numbers"):
        sources.open(tmp_path / "1.parquet")
    parquet.write_table(pyarrow.table([[1], [2]], names=["a", "a"]), tmp_path / "1.parquet")
    with pytest.raises(SourceError, match="two columns have the same name"):
        sources.open(tmp_path / "1.parquet")
    parquet.write_table(pyarrow.table({"a": [1]}), tmp_path / "1.parquet")
    parquet.write_table(pyarrow.table({"b": [1]}), tmp_path / "2.parquet")
    with pytest.raises(SourceError, match=r"2\.parquet has other columns than .*1\.parquet"):
        sources.open(tmp_path)
    parquet.write_table(pyarrow.table({"a": ["x"]}), tmp_path / "2.parquet")
    with pytest.raises(SourceError, match=r"2\.parquet, column 'a': expected numbers, got string"):
        sources.open(tmp_path)


def test_zarr_with_gigantic_chunks_is_refused(tmp_path, monkeypatch):
    write_zarr(tmp_path / "x", DATA)
    monkeypatch.setattr(matrices, "LARGEST_CHUNK", 6 * 3 * 8 - 1)
    with pytest.raises(SourceError, match="its chunks have 144 bytes"):
        sources.open(tmp_path / "x")
    zarr.create_array(str(tmp_path / "y"), shape=(80, 4), chunks=(1, 4), shards=(40, 4), dtype="f8")
    with pytest.raises(SourceError, match="its chunks have 1,280 bytes"):
        sources.open(tmp_path / "y")


def test_a_named_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match="pass pipes through standard input"):
        sources.open(tmp_path / "pipe")


@pytest.mark.parametrize(("module", "extra"), [("pyarrow", "parquet"), ("zarr", "zarr")])
def test_without_a_library_the_message_says_what_to_install(module, extra, written, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SourceError, match=rf"pip install 'eigenstream\[{extra}\]'"):
        sources.open(written["Parquet" if extra == "parquet" else "Zarr"])


def test_footers_are_looked_at_beside_the_beginning(tmp_path):
    """A change beyond the first bytes of a large file shows in its statistics."""
    X = np.random.default_rng(0).standard_normal((5000, 4))
    write_parquet(tmp_path / "x.parquet", X)
    assert (tmp_path / "x.parquet").stat().st_size > 10 * parquet_source.BEGINNING
    _, positions = read(tmp_path / "x.parquet", batch_rows=1000)
    X[4500] *= 2
    write_parquet(tmp_path / "x.parquet", X)
    with pytest.raises(SourceError, match="does not begin as it did"):
        sources.open(tmp_path / "x.parquet", position=positions[1])


def test_npz_with_several_arrays_needs_a_name(tmp_path):
    path = tmp_path / "x.npz"
    path.write_bytes(as_npz(DATA, other=DATA[:, :2], vector=np.zeros(5)))
    with pytest.raises(SourceError, match=r"holds 3 arrays: rows, other, vector \(array='rows' chooses"):
        sources.open(path)
    np.testing.assert_array_equal(rows_of(path, array="other"), DATA[:, :2])
    with pytest.raises(SourceError, match="there is no array 'x'; there are rows, other, vector"):
        sources.open(path, array="x")
    with pytest.raises(SourceError, match=r"expected a matrix with rows and columns, got shape \(5,\)"):
        sources.open(path, array="vector")


def test_npz_that_is_damaged_is_refused(tmp_path):
    good = as_npz(np.random.default_rng(0).standard_normal((500, 4)), np.savez_compressed)
    refused = 0
    for i in range(0, len(good), 97):
        (tmp_path / "x.npz").write_bytes(good[:i] + bytes([good[i] ^ 64]) + good[i + 1 :])
        try:
            read(tmp_path / "x.npz")
        except SourceError:
            refused += 1
    assert refused > len(good) / 97 * 0.8
    (tmp_path / "x.npz").write_bytes(good[:-30])
    with pytest.raises(SourceError, match="is not a readable NPZ, XLSX or ZIP file"):
        sources.open(tmp_path / "x.npz")
