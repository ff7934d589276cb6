"""`eigenstream fill` of matrices, folders, databases and streams: of all that `run` reads and has an end."""

import os
import sqlite3
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import zarr
from scipy import sparse

from eigenstream import sources
from eigenstream.cli import main

from .forks import killed_at_each_change
from .test_fill_command import call, command
from .test_fill_command import plant as walks
from .test_sources_redis import SERVER, Server

TABLE = "sqlite:///plant.db?table=rows&order=id"


def plant():
    X, gone = walks()
    gone[0] = False
    return np.where(gone, np.nan, X), gone


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return plant()[0]


@pytest.fixture
def database(rows):
    """A column of text that is NULL in the first row, whole numbers, decimals, and the ordering column."""
    with sqlite3.connect("plant.db") as base:
        base.execute("create table rows (id integer, at text, a real, b real, note text, c real, d integer)")
        for i, row in enumerate(rows.tolist()):
            a, b, c, d = (None if value != value else round(value, 3) for value in row)
            at, note = f"2024-01-01 00:{i // 60:02d}:{i % 60:02d}", 'said "well, so"' if i % 3 else None
            base.execute(
                "insert into rows values (?, ?, ?, ?, ?, ?, ?)",
                (3 * i, at, a, b, note, c, None if d is None else round(100 * d)),
            )
    base.close()
    return TABLE


def the_same_where_it_was(filled, rows):
    known = ~np.isnan(rows)
    np.testing.assert_array_equal(filled[known], rows[known])
    assert not np.isnan(filled).any()


def test_an_array_of_an_npz_file_is_filled_and_the_others_are_copied(rows):
    narrow = np.asfortranarray(rows.astype(np.float32))
    np.savez_compressed("two.npz", narrow=narrow, wide=rows, names=np.array(["a", "b"]))
    assert "--array" in call("fill", "two.npz", "--output", "whole.npz", code=1)
    call("fill", "two.npz", "--array", "narrow", "--output", "whole.npz", "--flag", "cells.csv")
    with np.load("whole.npz") as found:
        the_same_where_it_was(found["narrow"], narrow)
        assert found["narrow"].dtype == np.float32
        np.testing.assert_array_equal(found["wide"], rows)
        assert found["names"].tolist() == ["a", "b"]
        table = pd.read_csv("cells.csv")
        assert len(table) == np.isnan(rows).sum()
        first = table.iloc[0]
        assert found["narrow"][first["row"], int(first["column"][1:])] == np.float32(first["value"])
    np.savez("whole_numbers.npz", np.arange(400).reshape(100, 4) % 97)
    call("fill", "whole_numbers.npz", "--na", "96", "--output", "filled.npz")
    assert np.load("filled.npz")["arr_0"].dtype.kind == "i"


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_zarr_array_is_copied_with_its_attributes_and_chunks(rows, zarr_format):
    shape, chunks = rows.shape, (64, 3)
    array = zarr.create_array("plant.zarr", shape=shape, chunks=chunks, dtype="f8", zarr_format=zarr_format)
    array[:], array.attrs["unit"] = rows, "bar"
    call("fill", "plant.zarr", "--output", "whole.zarr", "--ahead")
    copy = zarr.open_array("whole.zarr", mode="r")
    the_same_where_it_was(copy[:], rows)
    assert (copy.attrs["unit"], copy.chunks) == ("bar", chunks)
    assert "--overwrite" in call("fill", "plant.zarr", "--output", "whole.zarr", code=1)
    call("fill", "plant.zarr", "--output", "whole.zarr", "--overwrite")
    assert sorted(os.listdir()) == ["plant.zarr", "whole.zarr"]
    Path("mine").mkdir()
    Path("mine", "letter.txt").write_text("dear")
    assert "is no Zarr array" in call("fill", "plant.zarr", "--output", "mine", "--overwrite", code=1)
    assert Path("mine", "letter.txt").read_text() == "dear"
    assert "is a folder" in call("fill", "plant.zarr", "--output", "-", code=1)
    assert "no more columns" in call("fill", "plant.zarr", "--output", "other.zarr", "--flag", code=1)
    np.save("plant.npy", rows)
    call("fill", "plant.npy", "--output", "plain.npy")
    np.testing.assert_array_equal(copy[:] * 0 + zarr.open_array("whole.zarr")[:], np.load("plain.npy"))


def test_a_folder_of_parquet_files_is_one_stream(rows):
    Path("parts").mkdir()
    table = pd.DataFrame(rows, columns=list("abcd"))
    for i in range(3):
        table[100 * i : 100 * i + 100].to_parquet(f"parts/{i}.parquet")
    call("fill", "parts", "--output", "whole")
    table.to_parquet("all.parquet")
    call("fill", "all.parquet", "--output", "one.parquet")
    filled = pd.concat([pd.read_parquet(f"whole/{i}.parquet") for i in range(3)])
    np.testing.assert_array_equal(filled, pd.read_parquet("one.parquet"))
    the_same_where_it_was(filled.to_numpy(), rows)


def test_a_table_is_copied_to_csv_as_it_stands_but_for_gaps(database, rows):
    call("fill", database, "--output", "whole.csv", "--flag", "--std")
    before = pd.read_sql("select * from rows order by id", base := sqlite3.connect("plant.db"))
    base.close()
    filled = pd.read_csv("whole.csv")
    assert list(filled)[:7] == list(before)
    for name in before:
        assert (before[name].isna() | (before[name] == filled[name])).all()
    assert not filled[list("abcd")].isna().any().any()
    assert filled["note"].isna().equals(before["note"].isna())
    assert filled["d"].dtype.kind == "i"
    before.to_csv("before.csv", index=False)
    call("fill", "before.csv", "--exclude", "id,at,note", "--output", "same.csv", "--flag", "--std")
    same = pd.read_csv("same.csv")  # where whole numbers have a decimal, since some are missing
    assert filled.drop(columns="d").equals(same.drop(columns="d"))  # so id is not learnt
    said = call("fill", database, "--time-column", "at", "--rows", "0:100", "--output", "-", "--ahead")
    assert said.startswith("id,at,a,b,note,c,d\n0,2024-01-01 00:00:00,")
    with sqlite3.connect("plant.db") as base:
        base.execute("update rows set note = 'two' || char(10) || 'lines' where id = 300")
    base.close()
    assert "several lines" in call("fill", database, "--output", "new.csv", code=1)
    assert not Path("new.csv").exists()


def test_errors_name_the_table_and_not_its_copy(database):
    with sqlite3.connect("plant.db") as base:
        base.execute("update rows set b = 'much' where id = 300")
    base.close()
    said = call("fill", database, "--output", "new.csv", code=1)
    assert said.startswith(f"Error: {TABLE}, line 102, column 3 (b): 'much' is not a number")


def test_a_model_learns_a_table_once(database):
    asked = ("fill", database, "--output", "whole.csv", "--save", "m")
    call(*asked)
    assert "nothing to do" in call(*asked, "--model", "m")
    with sqlite3.connect("plant.db") as base:
        base.execute("insert into rows values (3000, '2024-01-01 01:00:00', 1, NULL, 'more', 3, 4)")
    base.close()
    assert "not what this command writes" in call(*asked, "--model", "m", code=1)
    call("fill", "-", "--output", "piped.csv", "--save", "p", code=1)


@pytest.mark.skipif(SERVER is None, reason="redis-server is not installed")
def test_a_redis_stream_is_read_to_its_end_with_fields_that_the_first_entry_lacks(rows):
    server = Server(Path.cwd())
    try:
        for i, row in enumerate(rows.tolist()):
            words = {name: f"{value:.3f}" for name, value in zip("abcd", row, strict=True) if value == value}
            if i == 0:
                del words["c"]
            server.client.xadd("sensors", words | {"unit": "k1" if i % 2 else "k2"})
        call("fill", server.address("sensors"), "--output", "whole.csv")
        keyed = call("fill", server.address("sensors"), "--key", "unit", "--output", "-", "--flag")
    finally:
        server.stop()
    filled = pd.read_csv("whole.csv")
    assert list(filled) == ["a", "b", "d", "unit", "c"]
    assert filled["c"].isna().tolist() == [True] + [False] * 299  # nothing was known of it yet
    known = ~np.isnan(rows[1:])
    np.testing.assert_array_equal(filled[list("abcd")].to_numpy()[1:][known], rows[1:].round(3)[known])
    assert keyed.splitlines()[0] == "a,b,d,unit,c,filled"


def test_a_source_of_ones_own_is_filled_by_its_address(rows, monkeypatch):
    class Own(sources.Reader):
        name, width, names = "own rows", 4, list("abcd")

        def take(self, count):
            found = np.ascontiguousarray(rows[self.row : self.row + count])
            numbers = np.arange(self.row, self.row + len(found))
            self.row += len(found)
            return sources.Chunk(found, numbers) if len(found) else None

    monkeypatch.setitem(sources.SCHEMES, "own", lambda address, options: Own())
    call("fill", "own://", "--output", "whole.csv")
    the_same_where_it_was(pd.read_csv("whole.csv", dtype=str).astype(float).to_numpy(), rows)


def test_what_cannot_be_filled_says_what_to_do(rows, database):
    sparse.save_npz("sparse.npz", sparse.csr_array(np.eye(30)))
    assert "dense NPY file" in call("fill", "sparse.npz", "--output", "whole.npz", code=1)
    assert "spool=FILE" in call("fill", "mqtt://127.0.0.1/plant", "--output", "whole.csv", code=1)
    assert "another ending than .parquet" in call("fill", database, "--output", "whole.parquet", code=1)
    assert "is not read" in call("fill", "ftp://127.0.0.1/plant", "--output", "whole.csv", code=1)
    assert "one by one" in command("fill", database, "sparse.npz", "--output", "folder").output
    assert not [name for name in os.listdir() if name.startswith((".", "whole"))]


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
@pytest.mark.parametrize("source", ["plant.zarr", TABLE, "plant.npz"])
def test_killed_at_each_change_of_a_file_and_given_once_more(database, rows, source):
    zarr.create_array("plant.zarr", shape=rows.shape, chunks=(100, 4), dtype="f8")[:] = rows
    np.savez("plant.npz", rows)
    output = "whole" + (".csv" if source == TABLE else Path(source).suffix)
    asked = ("fill", source, "--output", output, "--save", "m")
    call(*asked)
    reference = contents(output), Path("m").read_bytes()

    def prepare():
        remove(output)
        Path("m").unlink(missing_ok=True)

    kills = 0
    for _ in killed_at_each_change(lambda: main(list(asked), standalone_mode=False), prepare):
        kills += 1
        assert not Path(output).exists() or contents(output) == reference[0]
        if not Path("m").exists():
            call(*asked)
        assert (contents(output), Path("m").read_bytes()) == reference
        assert not [name for name in os.listdir() if name.endswith(".tmp") and "whole" in name]
    assert kills >= 4


def contents(path):
    if Path(path).is_file():
        return Path(path).read_bytes()
    return {str(one): one.read_bytes() for one in Path(path).rglob("*") if one.is_file()}


def remove(path):
    if Path(path).is_dir():
        for one in sorted(Path(path).rglob("*"), reverse=True):
            one.rmdir() if one.is_dir() else one.unlink()
        Path(path).rmdir()
    else:
        Path(path).unlink(missing_ok=True)
