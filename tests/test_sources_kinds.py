"""Every kind of source gives the same rows, from any place on."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from eigenstream import sources, streams
from eigenstream.io.sources import SourceError
from tests.source_files import (
    DATA,
    MATRICES,
    NAMES,
    TEXTS,
    WRITERS,
    read,
    rows_of,
    table,
    write_parquet,
    write_parts,
    write_zarr,
)


@pytest.mark.parametrize("kind", WRITERS)
def test_every_kind_gives_the_same_rows(kind, written):
    batches, _ = read(written[kind], batch_rows=8)
    assert [batch.count for batch in batches] == [8, 16, 24, 32, 40, 48, 50]
    assert all(len(batch.rows) == 8 for batch in batches[:-1])
    np.testing.assert_array_equal(np.vstack([batch.rows for batch in batches]), DATA)
    np.testing.assert_array_equal(np.concatenate([batch.numbers for batch in batches]), np.arange(50))
    assert all(batch.rows.dtype == np.float64 and batch.rows.flags.c_contiguous for batch in batches)


@pytest.mark.parametrize("kind", WRITERS)
def test_every_kind_knows_its_width_and_how_far_it_is(kind, written):
    with sources.open(written[kind], batch_rows=50) as source:
        assert source.width == 4
        unnamed = kind in MATRICES and "Parquet" not in kind
        assert source.names == (
            None if unnamed or "no header" in kind or kind in ("bars", "JSON arrays") else NAMES
        )
        assert source.total == (50 if kind in MATRICES else None)
        next(iter(source))
        if "gzip" not in kind and kind != "blank lines":  # there are more of these behind the last row
            assert source.reader.progress() == 1.0
            assert source.reader.behind() == 0


@settings(max_examples=300)
@given(
    kind=st.sampled_from(list(WRITERS)),
    batch_rows=st.integers(1, 60),
    start=st.integers(0, 60),
    length=st.none() | st.integers(1, 60),
    columns=st.none() | st.permutations(range(4)).map(lambda order: order[:3]),
    picked=st.integers(0, 49),
)
@example(kind="Parquet", batch_rows=1, start=0, length=None, columns=None, picked=13)
def test_any_place_continues_exactly(written, kind, batch_rows, start, length, columns, picked):
    stop = None if length is None else start + length
    options = {"batch_rows": batch_rows, "rows": (start, stop), "columns": columns}
    batches, positions = read(written[kind], **options)
    expected = DATA[start:stop][:, columns or range(4)]
    found = np.vstack([np.zeros((0, expected.shape[1])), *(batch.rows for batch in batches)])
    np.testing.assert_array_equal(found, expected)
    if not batches:
        return
    picked %= len(batches)
    rest, later = read(written[kind], position=positions[picked], **options)
    assert later == positions[picked + 1 :]
    for one, two in zip(batches[picked + 1 :], rest, strict=True):
        np.testing.assert_array_equal(one.rows, two.rows)
        np.testing.assert_array_equal(one.numbers, two.numbers)


@pytest.mark.parametrize("kind", WRITERS)
def test_continuing_with_other_batches_comes_back_to_the_grid(kind, written):
    _, positions = read(written[kind], batch_rows=10)
    batches, _ = read(written[kind], batch_rows=16, position=positions[0])
    assert [batch.count for batch in batches] == [16, 32, 48, 50]
    np.testing.assert_array_equal(np.vstack([batch.rows for batch in batches]), DATA[10:])


@pytest.mark.parametrize("stored", ["<f4", ">f4", "<f2", "i1", "<u2", ">i4", "<i8", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_of_every_type(stored, order, tmp_path):
    X = np.array(DATA * 10, dtype=stored, order=order)
    np.save(tmp_path / "x.npy", X)
    rows = rows_of(tmp_path / "x.npy", batch_rows=7)
    assert rows.dtype == (np.float32 if "f" in stored else np.float64)
    np.testing.assert_array_equal(rows, X)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npy_of_every_version(version, tmp_path):
    with (tmp_path / "x.npy").open("wb") as file:
        np.lib.format.write_array(file, DATA, version=version)
    np.testing.assert_array_equal(rows_of(tmp_path / "x.npy"), DATA)


def test_npy_is_read_whole_where_the_system_hands_out_less_than_asked(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", DATA)
    whole = os.preadv
    monkeypatch.setattr("os.preadv", lambda handle, views, offset: whole(handle, [views[0][:13]], offset))
    np.testing.assert_array_equal(rows_of(tmp_path / "x.npy"), DATA)


def test_float32_stays_float32(tmp_path):
    X = DATA.astype(np.float32)
    write_parquet(tmp_path / "x.parquet", X)
    write_zarr(tmp_path / "x.zarr", X)
    for name in ("x.parquet", "x.zarr"):
        rows = rows_of(tmp_path / name)
        assert rows.dtype == np.float32
        np.testing.assert_array_equal(rows, X)


def test_parts_of_different_precision_lose_nothing(tmp_path):
    parquet.write_table(table(DATA.astype(np.float32)), tmp_path / "1.parquet")
    parquet.write_table(table(DATA), tmp_path / "2.parquet")
    np.testing.assert_array_equal(rows_of(tmp_path), np.vstack((DATA.astype(np.float32), DATA)))


def test_more_parts_than_files_may_be_open(tmp_path, monkeypatch):
    write_parts(tmp_path / "parts", DATA)
    opened, most = [], 0

    class Counted(parquet.ParquetFile):
        def __init__(self, *given, **options):
            nonlocal most
            super().__init__(*given, **options)
            opened.append(self)
            most = max(most, sum(not file.closed for file in opened))

    monkeypatch.setattr(parquet, "ParquetFile", Counted)
    np.testing.assert_array_equal(rows_of(tmp_path / "parts"), DATA)
    assert (len(opened), most) == (10, 1)
    assert all(file.closed for file in opened)


def test_wide_sources_come_in_fewer_rows_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr("eigenstream.io.sources.source.CELLS", 4 * 6)
    for kind in ("header", "JSON arrays", "NPY", "Zarr"):
        WRITERS[kind](tmp_path / kind, DATA)
        with sources.open(tmp_path / kind, columns=[1]) as source:
            assert source.batch_rows == 6


def test_the_built_in_stream():
    ranks = {0: 3, 3000: 5, 6000: 2}
    expected = np.vstack(list(streams.changing_rank(10_000, ranks=ranks, batch_size=100, random_state=0)))
    batches, positions = read(None, batch_rows=937)
    np.testing.assert_array_equal(np.vstack([batch.rows for batch in batches]), expected)
    for position in positions[::4]:
        rest = [batch.rows for batch in read(None, batch_rows=937, position=position)[0]]
        np.testing.assert_array_equal(np.vstack([np.zeros((0, 64)), *rest]), expected[position["row"] :])
    np.testing.assert_array_equal(
        rows_of(None, rows=(950, 1051), columns="3,60:"), expected[950:1051, [3, *range(60, 64)]]
    )


@pytest.mark.parametrize("kind", ["header", "CRLF", "byte order mark", "blank lines", "JSON objects"])
def test_standard_input_gives_the_same_rows_from_any_place(kind, piped):
    content = TEXTS[kind](DATA)
    piped(content)
    batches, positions = read("-", batch_rows=8)
    np.testing.assert_array_equal(np.vstack([batch.rows for batch in batches]), DATA)
    for i, position in enumerate(positions):
        piped(content)
        rest, later = read("-", batch_rows=8, position=position)
        assert later == positions[i + 1 :]
        np.testing.assert_array_equal(
            np.vstack([DATA[:0], *(batch.rows for batch in rest)]), DATA[8 * (i + 1) :]
        )


def test_another_standard_input_is_refused(piped):
    piped(TEXTS["header"](DATA))
    _, positions = read("-", batch_rows=8)
    changed = DATA.copy()
    changed[20] = 0
    for content in (TEXTS["header"](changed), TEXTS["header"](DATA[:20])):
        piped(content)
        with pytest.raises(SourceError, match="standard input does not begin as it did"):
            sources.open("-", batch_rows=8, position=positions[2])
    piped(TEXTS["header"](changed))
    assert len(read("-", batch_rows=8, position=positions[1])[0]) == 5


def test_a_pipe_hands_out_batches_before_it_ends():
    code = """
from eigenstream import sources
for batch in sources.open('-', batch_rows=2):
    print(batch.rows.tolist(), flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdin.write(b"1,2\n3,4\n5,")
        process.stdin.flush()
        assert process.stdout.readline() == b"[[1.0, 2.0], [3.0, 4.0]]\n"
        rest, _ = process.communicate(b"6")
    assert rest == b"[[5.0, 6.0]]\n"
