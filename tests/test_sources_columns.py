"""Which columns and rows are read."""

import contextlib
import sqlite3
import zipfile

import numpy as np
import pandas
import pytest

from eigenstream import sources
from eigenstream.io.sources import SourceError
from eigenstream.io.sources.columns import WIDEST, chosen_columns
from tests.source_files import (
    DATA,
    MATRICES,
    NAMES,
    rows_of,
)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (None, [0, 1, 2, 3]),
        ("c,a", [2, 0]),
        (" d , 0", [3, 0]),
        ("1:3,0", [1, 2, 0]),
        (":2", [0, 1]),
        ("2:", [2, 3]),
        (":", [0, 1, 2, 3]),
        (["b", 3], [1, 3]),
        ([np.int64(2)], [2]),
        (range(3), [0, 1, 2]),
    ],
)
def test_columns_by_name_number_and_range(columns, expected, written):
    for kind in ("header", "JSON objects", "Parquet"):
        np.testing.assert_array_equal(rows_of(written[kind], columns=columns), DATA[:, expected])
        with sources.open(written[kind], columns=columns) as source:
            assert source.names == [NAMES[i] for i in expected]
    if not any(name in str(columns) for name in NAMES):
        for kind in ("no header", "JSON arrays", "NPY by column", "Zarr"):
            np.testing.assert_array_equal(rows_of(written[kind], columns=columns), DATA[:, expected])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("e", r"there is no column 'e'; there are a, b, c, d"),
        ("4", r"column '4' does not exist; there are a, b, c, d"),
        ("-1", r"column '-1' does not exist"),
        ("2:2", r"column '2:2' does not exist"),
        ("2:9", r"column '2:9' does not exist"),
        ("9" * 5000, r"there is no column"),
        ("0:3,b", r"column 1 was asked for more than once"),
        ("", r"there is no column ''"),
        ([], r"no column was asked for"),
    ],
)
def test_columns_that_do_not_exist(columns, message, written):
    for kind in ("header", "JSON objects", "Parquet"):
        with pytest.raises(SourceError, match=message):
            sources.open(written[kind], columns=columns)


def test_a_name_that_is_a_number_is_a_name():
    assert chosen_columns("2", ["2", "1", "0"], 3, "x") == [0]
    assert chosen_columns([2], ["2", "1", "0"], 3, "x") == [2]
    with pytest.raises(SourceError, match=r"column '5' does not exist; there are columns 0 to 2"):
        chosen_columns("5", None, 3, "x")
    with pytest.raises(SourceError, match=r"c19 and 5 more"):
        chosen_columns("x", [f"c{i}" for i in range(25)], 25, "x")


def test_many_columns_take_no_time_and_absurdly_many_are_refused():
    assert len(chosen_columns("1:200000", None, 300_000, "x")) == 199_999
    assert chosen_columns(None, None, WIDEST, "x") == range(WIDEST)
    for width in (0, WIDEST + 1, 10**18):
        for columns in (None, "0:99999999"):
            with pytest.raises(SourceError, match=f"rows of {width:,} numbers"):
                chosen_columns(columns, None, width, "x")


@pytest.mark.parametrize("rows", [(-1, None), (5, 5), (5, 3)])
def test_ranges_of_rows_that_make_no_sense(rows, written):
    with pytest.raises(SourceError, match="expected a range of rows"):
        sources.open(written["NPY"], rows=rows)


def test_other_options_that_make_no_sense(written, tmp_path):
    with pytest.raises(SourceError, match="batch_rows must be at least 1"):
        sources.open(written["NPY"], batch_rows=0)
    with pytest.raises(SourceError, match="on_bad_row must be 'fail' or 'skip'"):
        sources.open(written["NPY"], on_bad_row="ignore")
    for delimiter in (";;", '"', "\n"):
        with pytest.raises(SourceError, match="the delimiter must be one character"):
            sources.open(written["header"], delimiter=delimiter)
    with pytest.raises(SourceError, match="there is no file"):
        sources.open(tmp_path / "nowhere")
    with pytest.raises(SourceError, match="neither a Zarr array nor one of Parquet files"):
        sources.open(tmp_path)
    for kind in (*MATRICES, "gzip"):
        with pytest.raises(SourceError, match="cannot be followed"):
            sources.open(written[kind], follow=True)


def test_delimiter_and_header_can_be_told(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"1;2,5\n3;4,5\n")
    np.testing.assert_array_equal(rows_of(path, delimiter=";", columns=[0]), [[1], [3]])
    path.write_bytes(b"1 2\n3 4\n")
    np.testing.assert_array_equal(rows_of(path, delimiter=" "), [[1, 2], [3, 4]])
    path.write_bytes(b"2001,2002\n3,4\n")
    np.testing.assert_array_equal(rows_of(path, header=True, columns="2002"), [[4]])
    path.write_bytes(b"NA,NA\n3,4\n")
    np.testing.assert_array_equal(rows_of(path, header=False, allow_nan=True), [[np.nan] * 2, [3, 4]])


def test_text_beside_the_numbers_does_no_harm(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('name,one,two\n"Ada, ""the"" first",1,2\nBjörn,3,4\n"x",5,6\n', encoding="utf-8")
    np.testing.assert_array_equal(rows_of(path, columns="one,two"), [[1, 2], [3, 4], [5, 6]])


def as_zip_of_csv(path, frame):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.csv", frame.to_csv(index=False))


def as_table_of_a_database(path, frame):
    with contextlib.closing(sqlite3.connect(path)) as database:
        frame.to_sql("measured", database, index=False)


FORMATS = {
    "x.csv": lambda path, frame: frame.to_csv(path, index=False),
    "x.jsonl": lambda path, frame: frame.to_json(path, orient="records", lines=True),
    "x.parquet": lambda path, frame: frame.to_parquet(path),
    "x.xlsx": lambda path, frame: frame.to_excel(path, index=False),
    "x.zip": as_zip_of_csv,
    "x.sqlite": as_table_of_a_database,
    "x.npy": lambda path, frame: np.save(path, frame.to_numpy()),
    "x.npz": lambda path, frame: np.savez(path, rows=frame.to_numpy()),
}


@pytest.mark.parametrize("name", FORMATS)
def test_columns_that_the_model_does_not_know_are_named_in_every_format(tmp_path, name):
    path = tmp_path / name
    FORMATS[name](path, pandas.DataFrame({"new": [1.0, 2.0], "b": [3.0, 4.0], "a": [5.0, 6.0]}))
    source = f"sqlite:///{path}?table=measured&order=new" if name == "x.sqlite" else str(path)
    titles = "new,b,a" if name in ("x.npy", "x.npz") else None
    names = ["a"] if name == "x.sqlite" else ["a", "b"]  # what rows are ordered by is not learnt
    with sources.open(source, names=names, titles=titles) as opened:
        new = "b" if name == "x.sqlite" else "new"
        said = f"{opened.name}: not read, column that the model does not know: {new}"
        assert said in opened.notes
        np.testing.assert_array_equal(next(iter(opened)).rows[:, 0], [5.0, 6.0])


def test_columns_that_the_model_does_not_know_are_named(tmp_path):
    path = tmp_path / "tuesday.csv"
    path.write_text("new,a,b,unit,x\n1,2,3,u,4\n5,6,7,u,8\n")
    with sources.open(str(path), names=["a", "b"], exclude="unit") as source:
        assert source.names == ["a", "b"]
        assert source.notes == [f"{path}: not read, columns that the model does not know: new, x"]
    with sources.open(str(path), names=["a", "b"], exclude="unit,x") as source:
        assert source.notes == [f"{path}: not read, column that the model does not know: new"]
    for chosen in ({"columns": "a,b", "names": ["a", "b"]}, {"columns": "a,b"}):
        with sources.open(str(path), **chosen) as source:
            assert source.notes == []


def test_a_file_that_is_given_twice_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    with pytest.raises(SourceError, match=r"a\.csv is given twice: its rows would be counted twice"):
        sources.open([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")])
