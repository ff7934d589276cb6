"""Sources: every kind gives the same rows, from any place on, in bounded memory, or says why not."""

import gzip
import io
import itertools
import json
import os
import pathlib
import subprocess
import sys
import threading
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pyarrow
import pytest
import zarr
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from eigenstream import sources, streams
from eigenstream.sources import SourceError, arrays, contents, lines, source
from eigenstream.sources import parquet as parquet_source
from eigenstream.sources.columns import WIDEST, chosen_columns
from eigenstream.sources.csv_lines import Csv
from eigenstream.sources.formats import Format
from eigenstream.sources.lines import piece_of

NAMES = ["a", "b", "c", "d"]
DATA = np.random.default_rng(0).standard_normal((50, 4))


# --- every kind ------------------------------------------------------------------------------------------


def as_csv(X, *, delimiter=",", header=True, quote="", end="\n"):
    titles = [NAMES[: X.shape[1]]] if header else []
    written = [[repr(float(value)) for value in row] for row in X]
    return "".join(delimiter.join(quote + f + quote for f in row) + end for row in titles + written).encode()


def as_json(X, *, objects):
    rows = [dict(zip(NAMES, row, strict=False)) if objects else row for row in X.tolist()]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def with_blank_lines(content):
    return b"\n \n" + b"\r\n\n".join(content.split(b"\n"))


TEXTS = {
    "header": as_csv,
    "no header": lambda X: as_csv(X, header=False),
    "tabs": lambda X: as_csv(X, delimiter="\t"),
    "semicolons": lambda X: as_csv(X, delimiter=";"),
    "bars": lambda X: as_csv(X, delimiter="|", header=False),
    "quoted": lambda X: as_csv(X, quote='"'),
    "CRLF": lambda X: as_csv(X, end="\r\n"),
    "byte order mark": lambda X: b"\xef\xbb\xbf" + as_csv(X),
    "byte order mark, no header": lambda X: b"\xef\xbb\xbf" + as_csv(X, header=False),
    "no final newline": lambda X: as_csv(X)[:-1],
    "blank lines": lambda X: with_blank_lines(as_csv(X)),
    "JSON objects": lambda X: as_json(X, objects=True),
    "JSON arrays": lambda X: as_json(X, objects=False),
    "JSON, byte order mark": lambda X: b"\xef\xbb\xbf" + as_json(X, objects=True),
    "gzip": lambda X: gzip.compress(as_csv(X), mtime=0),
    "gzip, JSON": lambda X: gzip.compress(as_json(X, objects=True), mtime=0),
}


def as_npy(X):
    content = io.BytesIO()
    np.save(content, X)
    return content.getvalue()


def table(X):
    return pyarrow.table({name: X[:, i] for i, name in enumerate(NAMES[: X.shape[1]])})


def write_parquet(path, X):
    parquet.write_table(table(X), path, row_group_size=7)


def write_parts(path, X):
    path.mkdir()
    for i, start in enumerate(range(0, len(X), 11)):
        parquet.write_table(table(X[start : start + 11]), path / f"part-{i}.parquet", row_group_size=4)


def write_zarr(path, X, version=3):
    array = zarr.create_array(
        str(path), shape=X.shape, chunks=(6, 3), dtype=X.dtype, zarr_format=version, overwrite=True
    )
    array[:] = X


WRITERS = {
    **{name: lambda path, X, make=make: path.write_bytes(make(X)) for name, make in TEXTS.items()},
    "NPY": lambda path, X: path.write_bytes(as_npy(X)),
    "NPY by column": lambda path, X: path.write_bytes(as_npy(np.asfortranarray(X))),
    "NPY, other byte order": lambda path, X: path.write_bytes(as_npy(X.astype(">f8"))),
    "Parquet": write_parquet,
    "Parquet folder": write_parts,
    "Zarr": write_zarr,
    "Zarr 2": lambda path, X: write_zarr(path, X, version=2),
}
MATRICES = [name for name in WRITERS if name not in TEXTS]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """`DATA` in every kind of file."""
    folder = tmp_path_factory.mktemp("sources")
    paths = {name: folder / f"source-{i}" for i, name in enumerate(WRITERS)}
    for name, path in paths.items():
        WRITERS[name](path, DATA)
    return paths


def read(path, **options):
    """All batches, with their positions as JSON keeps them."""
    with sources.open(path, **options) as source:
        batches = list(source)
        positions = [json.loads(json.dumps(batch.position)) for batch in batches]
    return batches, positions


def rows_of(path, **options):
    batches, _ = read(path, **options)
    return np.vstack([batch.rows for batch in batches])


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
    monkeypatch.setattr("eigenstream.sources.source.CELLS", 4 * 6)
    for kind in ("header", "JSON arrays", "NPY", "Zarr"):
        WRITERS[kind](tmp_path / kind, DATA)
        with sources.open(tmp_path / kind, columns=[1]) as source:
            assert source.batch_rows == 6


def test_the_built_in_stream():
    expected = np.vstack(list(streams.switching_stream(10_000, batch_size=100, random_state=0)))
    batches, positions = read(None, batch_rows=937)
    np.testing.assert_array_equal(np.vstack([batch.rows for batch in batches]), expected)
    for position in positions[::4]:
        rest = [batch.rows for batch in read(None, batch_rows=937, position=position)[0]]
        np.testing.assert_array_equal(np.vstack([np.zeros((0, 64)), *rest]), expected[position["row"] :])
    np.testing.assert_array_equal(
        rows_of(None, rows=(950, 1051), columns="3,60:"), expected[950:1051, [3, *range(60, 64)]]
    )


# --- standard input --------------------------------------------------------------------------------------


@pytest.fixture
def piped(tmp_path, monkeypatch):
    """Puts content on standard input, as often as it is called."""
    with pytest.MonkeyPatch.context() as patch, (tmp_path / "piped").open("w+b") as file:

        def pipe(content):
            file.seek(0)
            file.truncate()
            file.write(content)
            file.flush()
            os.lseek(file.fileno(), 0, os.SEEK_SET)
            patch.setattr("sys.stdin", SimpleNamespace(buffer=file))

        yield pipe


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


# --- columns and rows ------------------------------------------------------------------------------------


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


# --- rows that cannot be used ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (b"a,b,c\n1,2,3\n\n \n4,5,x\n", r"line 5, column 2 \(c\): 'x' is not a number"),
        (b"\n\na,b,c\n1,2,3\n4,,6\n", r"line 5, column 1 \(b\): is missing"),
        (b"1,2,3\n\n4,5\n", r"line 3: has 2 fields where 3 were expected"),
        (b"1,2,3\n4,5,6,\n", r"line 2: has 4 fields where 3 were expected"),
        (b"1,2\r\n\r\n3,inf\r\n", r"line 3, column 1: inf is not a finite number"),
        (b"1,2\n3,1_000\n", r"line 2, column 1: '1_000' is not a number"),
        (b"1,2\n3,0x10\n", r"line 2, column 1: '0x10' is not a number"),
        (b"1,2\n3,1e999\n", r"line 2, column 1: inf is not a finite number"),
        (b"1,2\n3\xa0,4\n", r"line 2, column 0: .* is not a number"),
        (b"1,2\n3,4\r5,6\n", r"line 2: has 3 fields where 2 were expected"),
        (b'{"a": 1, "b": 2}\n\n{"a": 1, "b": "x"}\n', r"line 3, 'b': '\"x\"' is not a number"),
        (b'{"a": 1, "b": 2}\n{"a": 1}\n', r"line 2, 'b': is missing"),
        (b'{"a": 1, "b": 2}\n{"a": 1, "b": true}\n', r"line 2, 'b': 'true' is not a number"),
        (b'{"a": 1, "b": 2}\n[1, 2]\n', r"line 2: .* is not a JSON object"),
        (b"[1, 2]\n[1, 2, 3]\n", r"line 2: has 3 numbers where 2 were expected"),
        (b"[1, 2]\n[1, null]\n", r"line 2, column 1: is missing"),
        (b"[1, 2]\n[1, 2\n", r"line 2: '\[1, 2' is not a JSON array"),
        (b"[1, 2]\n[1, Infinity]\n", r"line 2, column 1: inf is not a finite number"),
        (b"[1, 2]\n[1, 1" + b"0" * 400 + b"]\n", r"line 2, column 1: a number too large"),
        (b"\n" + "1,2\n".encode("utf-16-le"), r"line 2: not text in UTF-8"),
        (b"\n\n{'a': 1}\n", r"line 3: expected a JSON object"),
        (b"[]\n", r"line 1: expected a JSON object"),
        (b"", r"is empty"),
        (b"\n \n\n", r"is empty"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(content, where, tmp_path):
    for name, stored in (("x.csv", content), ("x.gz", gzip.compress(content))):
        path = tmp_path / name
        path.write_bytes(stored)
        with pytest.raises(SourceError, match=f"{name}(, | ){where}"):
            read(path)
    if not any(words in where for words in ("is empty", "expected a JSON", "not text")):
        path.write_bytes(content)
        (batch,), _ = read(path, on_bad_row="skip")
        assert len(batch.rows) == batch.count == 1


@pytest.mark.parametrize("kind", ["NPY", "NPY by column", "Parquet", "Parquet folder", "Zarr"])
def test_numbers_that_are_none_are_named_in_matrices_too(kind, tmp_path):
    X = DATA.copy()
    X[23, 2], X[31, 1] = np.nan, -np.inf
    WRITERS[kind](tmp_path / "x", X)
    named = r" \(c\)" if "Parquet" in kind else ""
    with pytest.raises(SourceError, match=f"x, row 23, column 2{named}: is missing"):
        read(tmp_path / "x", batch_rows=20)
    with pytest.raises(SourceError, match=r"x, row 31, column 1.*: -inf is not a finite number"):
        read(tmp_path / "x", batch_rows=20, allow_nan=True)
    with pytest.raises(SourceError, match="x, row 23, column 2"):
        read(tmp_path / "x", columns=[3, 2])
    reasons = []
    batches, _ = read(tmp_path / "x", batch_rows=20, on_bad_row="skip", on_skip=reasons.append)
    assert [batch.skipped for batch in batches] == [0, 2, 2]
    assert [reason.split(",")[1] for reason in reasons] == [" row 23", " row 31"]
    np.testing.assert_array_equal(np.vstack([b.rows for b in batches]), np.delete(DATA, [23, 31], axis=0))
    rows = rows_of(tmp_path / "x", on_bad_row="skip", allow_nan=True)
    np.testing.assert_array_equal(rows, np.delete(X, 31, axis=0))


def test_nulls_in_parquet_are_missing_values(tmp_path):
    columns = {"a": [1, None, 3], "b": [None, 2.5, 3.5], "c": [True, False, None]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "x.parquet")
    expected = [[1, np.nan, 1], [np.nan, 2.5, 0], [3, 3.5, np.nan]]
    np.testing.assert_array_equal(rows_of(tmp_path / "x.parquet", allow_nan=True), expected)


@pytest.mark.parametrize("kind", ["header", "JSON objects"])
@pytest.mark.parametrize("word", ["", "NA", "n/a", "NaN", "null", "None", "-"])
def test_every_way_to_write_a_missing_value(word, kind, tmp_path):
    if kind == "header":
        content = f"a,b\n1,{word}\n3,4\n".encode()
    else:
        content = b'{"a": 1, "b": null}\n{"a": 3, "b": 4}\n'
    (tmp_path / "x").write_bytes(content)
    np.testing.assert_array_equal(rows_of(tmp_path / "x", allow_nan=True), [[1, np.nan], [3, 4]])
    np.testing.assert_array_equal(rows_of(tmp_path / "x", on_bad_row="skip"), [[3, 4]])


LINE = st.sampled_from(["good"] * 5 + ["blank", "word", "short", "missing", "infinite", "quoted"])


@settings(max_examples=200)
@given(
    drawn=st.lists(LINE, max_size=40),
    header=st.booleans(),
    batch_rows=st.integers(1, 12),
    span=st.tuples(st.integers(0, 20), st.none() | st.integers(21, 40)),
    allow_nan=st.booleans(),
    picked=st.integers(0, 40),
)
def test_skipping_leaves_exactly_the_bad_rows_out(drawn, header, batch_rows, span, allow_nan, picked):
    """Against a walk through the lines, one at a time."""
    good = {"good": "{0},{1}", "quoted": '"{0}",{1}', "missing": "{0},"}
    bad = {"word": "{0},x", "short": "{0}", "infinite": "-inf,{1}"}
    (bad if not allow_nan else good)["missing"] = good.pop("missing")
    content, expected, reasons, row = ["a,b" if header else "1e3,1e4"], [], [], int(not header)
    if not header and span[0] == 0:
        expected.append((0, 1e3, 1e4))
    for number, kind in enumerate(drawn, 2):
        content.append((good | bad | {"blank": " "})[kind].format(number, number / 3))
        if kind == "blank":
            continue
        if span[0] <= row < (span[1] or np.inf):
            if kind in good:
                expected.append((row, number, np.nan if kind == "missing" else number / 3))
            else:
                reasons.append(f"line {number}")
        row += 1
    path = pathlib.Path(FOLDER) / "drawn.csv"
    path.write_text("\n".join(content) + "\n")
    told = []
    options = {"batch_rows": batch_rows, "rows": span, "on_bad_row": "skip", "allow_nan": allow_nan}
    batches, positions = read(path, on_skip=told.append, **options)
    table = [(n, *row) for b in batches for n, row in zip(b.numbers, b.rows, strict=True)]
    np.testing.assert_array_equal(np.array(table).reshape(-1, 3), np.array(expected).reshape(-1, 3))
    assert [reason.split(",")[1].split(":")[0].strip() for reason in told] == reasons
    assert all(batch.count % batch_rows == 0 for batch in batches[:-1])
    if batches:
        picked %= len(batches)
        told_again = []
        rest, later = read(path, position=positions[picked], on_skip=told_again.append, **options)
        assert later == positions[picked + 1 :]
        assert told_again == told[batches[picked].skipped :]
        assert [b.rows.tobytes() for b in rest] == [b.rows.tobytes() for b in batches[picked + 1 :]]


FIELD = st.one_of(
    st.floats().map(repr),
    st.integers().map(str),
    st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=4),
    st.sampled_from(
        ["NA", " 1 ", "1\xa0", "\x1c1", "٣", '"1"', '"1', "1_0", "0x1", "1e5", ".5", "+1", "1.", "#", "1d5"]
    ),
)


def csv_parser(columns, format=None):
    return Csv(b"a,b,c\n", "x", columns, None, format or Format(","), 1, lambda: None)


@settings(max_examples=300)
@given(
    rows=st.lists(st.lists(FIELD, min_size=1, max_size=3), min_size=1, max_size=4), raw=st.binary(max_size=3)
)
def test_all_lines_at_once_are_read_as_each_with_care(rows, raw):
    """The quick way may give up, but what it gives is what the careful way gives."""
    for columns in (None, [0], [2, 1]):
        parser = csv_parser(columns)
        content = [",".join(fields).encode() + b"\n" for fields in rows]
        content[-1] = content[-1][:-1] + raw.replace(b"\n", b"") + b"\n"
        content = [line for line in content if not line.isspace()]
        quick = parser.quick(piece_of(content, np.arange(len(content)))) if content else None
        if quick is not None:
            careful = np.array([parser.row(line) for line in content], dtype=float)
            np.testing.assert_array_equal(quick, careful)


@pytest.fixture(scope="module", autouse=True)
def folder_for_drawn_files(tmp_path_factory):
    global FOLDER
    FOLDER = tmp_path_factory.mktemp("drawn")


# --- sources that are not what they were -----------------------------------------------------------------


def changed(row):
    X = DATA.copy()
    X[row, 1] += 1
    return X


def swapped():
    X = DATA.copy()
    X[[3, 4]] = X[[4, 3]]
    return X


OTHER = {
    "first row": lambda: changed(0),
    "last row read": lambda: changed(31),
    "two rows swapped": swapped,
    "truncated": lambda: DATA[:20],
    "replaced": lambda: np.random.default_rng(1).standard_normal((50, 4)),
    "one column less": lambda: DATA[:, :3],
}


def replaced(kind, path, X):
    if path.is_dir():
        for file in sorted(path.rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
        path.rmdir()
    WRITERS[kind](path, X)


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("other", OTHER)
def test_another_source_is_refused(kind, other, tmp_path):
    path = tmp_path / "x"
    WRITERS[kind](path, DATA)
    _, positions = read(path, batch_rows=16)
    replaced(kind, path, OTHER[other]())
    with pytest.raises(SourceError, match=r"does not begin as it did|has become shorter|is not"):
        sources.open(path, position=positions[1])
    replaced(kind, path, DATA)
    assert len(read(path, position=positions[1])[0]) == 1


@pytest.mark.parametrize("kind", [kind for kind in WRITERS if kind != "Parquet"])
def test_more_rows_behind_the_place_do_no_harm(kind, tmp_path):
    X = DATA[:44] if kind == "Parquet folder" else DATA
    WRITERS[kind](tmp_path / "x", X)
    _, positions = read(tmp_path / "x", batch_rows=22)
    more = np.vstack((X, DATA[::-1]))
    replaced(kind, tmp_path / "x", more)
    np.testing.assert_array_equal(rows_of(tmp_path / "x", position=positions[1]), more[44:])


def test_long_files_are_looked_at_before_the_place_too(tmp_path):
    X = np.random.default_rng(0).standard_normal((2000, 4))
    (tmp_path / "x.csv").write_bytes(as_csv(X))
    assert lines.PRINT * 10 < (tmp_path / "x.csv").stat().st_size
    _, positions = read(tmp_path / "x.csv", batch_rows=1000)
    (tmp_path / "x.csv").write_bytes(
        as_csv(X).replace(repr(float(X[990, 1])).encode(), b"1" * len(repr(float(X[990, 1]))))
    )
    with pytest.raises(SourceError, match="does not begin as it did"):
        sources.open(tmp_path / "x.csv", position=positions[0])


def test_a_last_line_that_has_grown_is_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"1,2\n3,4")
    _, positions = read(path)
    assert read(path, position=positions[0])[0] == []
    with pytest.raises(SourceError, match="line 2: it had no end when it was read"):
        sources.open(path, position=positions[0], follow=True, idle=0)
    path.write_bytes(b"1,2\n3,45\n6,7\n")
    with pytest.raises(SourceError, match="line 2: it had no end when it was read"):
        sources.open(path, position=positions[0])


ABSURD = [
    {"rows": -1},
    {"rows": 49},
    {"row": -5},
    {"row": 1e400},
    {"row": None},
    {"row": 10**30},
    {"skipped": "3"},
    {"fingerprint": None},
]
ABSURD_IN_LINES = [{"offset": -8}, {"offset": 10**30}, {"line": 10**12}, {"line": 0.5}, {"line": -1}]


@pytest.mark.parametrize("kind", ["header", "gzip", "NPY", "Parquet", "Zarr"])
def test_absurd_positions_are_refused(kind, written):
    _, positions = read(written[kind], batch_rows=16)
    damages = ABSURD + (ABSURD_IN_LINES if kind in TEXTS else [])
    for position in ([], {}, *({**positions[1], **damage} for damage in damages)):
        with pytest.raises(SourceError, match="source-"):
            sources.open(written[kind], position=position)


def test_positions_of_one_kind_mean_nothing_to_another(written):
    kinds = ["header", "gzip", "NPY", "Parquet", "Zarr"]
    found = {kind: read(written[kind], batch_rows=16)[1][1] for kind in kinds}
    for one, two in itertools.permutations(kinds, 2):
        if {one, two} != {"NPY", "Zarr"}:  # these are the same numbers
            with pytest.raises(SourceError):
                sources.open(written[one], position=found[two])


def test_npy_and_parquet_that_change_while_they_are_read(tmp_path):
    np.save(tmp_path / "x.npy", DATA)
    with sources.open(tmp_path / "x.npy", batch_rows=10) as source:
        next(iter(source))
        os.truncate(tmp_path / "x.npy", 1000)
        with pytest.raises(SourceError, match="was cut off while it was read"):
            list(source)
    write_parts(tmp_path / "parts", DATA)
    with sources.open(tmp_path / "parts", batch_rows=10) as source:
        next(iter(source))
        parquet.write_table(table(DATA), tmp_path / "parts" / "part-3.parquet")
        with pytest.raises(SourceError, match=r"part-3.parquet was replaced while"):
            list(source)


# --- growing files ---------------------------------------------------------------------------------------


@pytest.fixture
def polled(monkeypatch):
    """What happens to a followed file while nothing comes: one step each time it is waited for."""
    steps = []

    def sleep(seconds):
        if steps:
            steps.pop(0)()

    monkeypatch.setattr(contents, "time", SimpleNamespace(sleep=sleep))
    return steps


def append(path, content):
    def step():
        with path.open("ab") as file:
            file.write(content)

    return step


def test_a_growing_file_is_read_in_whole_lines(tmp_path, polled):
    path = tmp_path / "log.csv"
    path.write_bytes(b"")
    polled += map(append, [path] * 6, [b"a,", b"b\n1,2\n3", b",4", b"\n", b"\n5,6\n7,8\n9,", b"10"])
    batches, positions = read(path, batch_rows=2, follow=True, idle=1.0)
    assert [batch.rows.tolist() for batch in batches] == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    assert polled == []
    append(path, b"1\n")()
    for position in positions:
        rows = rows_of(path, batch_rows=2, follow=True, idle=0.1, position=position)
        assert rows[-1].tolist() == [9, 101]
        assert len(rows) == 5 - position["row"]


def test_an_idle_file_ends_and_a_silent_one_is_empty(tmp_path, polled, monkeypatch):
    monkeypatch.setattr(source, "PATIENCE", 0.0)
    path = tmp_path / "log.csv"
    path.write_bytes(b"1,2\n")
    waits = []
    polled += [lambda: waits.append(1)] * 100
    assert len(read(path, follow=True, idle=contents.POLL * 7.5)[0]) == 1
    assert len(waits) == 8
    path.write_bytes(b"1,2")
    with pytest.raises(SourceError, match="is empty"):
        sources.open(path, follow=True, idle=0)
    (batch,), _ = read(path)
    assert batch.rows.tolist() == [[1, 2]]


def test_a_writer_in_a_thread_is_followed_to_the_last_row(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "POLL", 0.0005)
    path, content = tmp_path / "log.csv", as_csv(np.tile(DATA, (40, 1)))
    path.write_bytes(b"")
    cuts = np.sort(np.random.default_rng(2).integers(0, len(content), 300))

    def write():
        with path.open("ab", buffering=0) as file:
            for start, stop in itertools.pairwise([0, *cuts, len(content)]):
                file.write(content[start:stop])

    writer = threading.Thread(target=write)
    writer.start()
    rows = rows_of(path, follow=True, rows=(0, 2000), batch_rows=64)
    writer.join()
    np.testing.assert_array_equal(rows, np.tile(DATA, (40, 1)))


def rewrite(path):
    path.write_bytes(as_csv(DATA[::-1], header=False))


def replace(path):
    os.replace(path.with_name("other"), path)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda path: os.truncate(path, 5), "was truncated or rewritten while it was followed"),
        (rewrite, "was truncated or rewritten while it was followed"),
        (replace, "was replaced by another file while it was followed"),
        (os.unlink, "was removed while it was followed"),
    ],
)
def test_a_followed_file_that_becomes_another_is_refused(step, message, tmp_path, polled):
    path = tmp_path / "log.csv"
    for name in ("log.csv", "other"):
        (tmp_path / name).write_bytes(as_csv(DATA[:10], header=False))
    polled += [lambda: None, lambda: step(path)]
    with sources.open(path, batch_rows=10, follow=True, idle=10.0) as source:
        batches = iter(source)
        np.testing.assert_array_equal(next(batches).rows, DATA[:10])
        with pytest.raises(SourceError, match=message):
            next(batches)


# --- memory and files ------------------------------------------------------------------------------------


def peak(path, **options):
    """Most bytes Python and NumPy held while the source was read, and how many rows it had."""
    with sources.open(path, **options) as source:
        tracemalloc.start()
        try:
            for batch in source:
                batch.position  # noqa: B018
            return tracemalloc.get_traced_memory()[1], source.count
        finally:
            tracemalloc.stop()


def write_long(kind, path):
    if kind == "NPY":
        path.write_bytes(as_npy(np.ones((60_000, 64))))
    elif kind == "Zarr":
        array = zarr.create_array(str(path), shape=(60_000, 64), chunks=(1000, 64), dtype="f8")
        array[:] = 1.0
    else:
        content = (b",".join([b"0.25"] * 256) + b"\n") * 16_000
        path.write_bytes(gzip.compress(content, 1) if kind == "gzip" else content)


@pytest.mark.parametrize(
    ("kind", "rows"), [("CSV", 16_000), ("gzip", 16_000), ("NPY", 60_000), ("Zarr", 60_000)]
)
def test_memory_does_not_grow_with_the_source(kind, rows, tmp_path):
    path = tmp_path / "x"
    write_long(kind, path)
    if kind != "Zarr":
        assert kind == "gzip" or path.stat().st_size > 20e6
    most, count = peak(path, batch_rows=256)
    assert count == rows
    assert most < 8e6


def test_memory_does_not_grow_with_what_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr("eigenstream.sources.line_reader.CELLS", 256 * 16)
    write_long("gzip", tmp_path / "x")
    tracemalloc.start()
    try:
        with sources.open(tmp_path / "x", rows=(15_999, None)) as source:
            (batch,) = source
            _, most = tracemalloc.get_traced_memory()
            assert most < 8e6
            assert batch.numbers.tolist() == [15_999]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_a_row_group(tmp_path):
    path = tmp_path / "x.parquet"
    columns = {f"c{i}": np.random.default_rng(i).standard_normal(1_000_000) for i in range(4)}
    parquet.write_table(pyarrow.table(columns), path, row_group_size=1_000_000, use_dictionary=False)
    code = """
import sys, pyarrow
from eigenstream import sources
rows = sum(len(batch.rows) for batch in sources.open(sys.argv[1]))
print(rows, pyarrow.default_memory_pool().max_memory())
"""
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, check=True)
    rows, most = map(int, done.stdout.split())
    assert rows == 1_000_000
    assert 0 < most < 16e6 < path.stat().st_size / 2


def test_an_endless_line_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST", 1 << 21)
    (tmp_path / "x").write_bytes(b"1,2\n" + b"3" * (1 << 22))
    with pytest.raises(SourceError, match="line 2: longer than 2,097,152 bytes"):
        read(tmp_path / "x")


def open_files():
    return sorted(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="only Linux lists the open files")
@pytest.mark.parametrize("kind", WRITERS)
def test_files_are_closed(kind, written, tmp_path):
    read(written[kind])  # whatever a library opens for good
    before = open_files()
    _, positions = read(written[kind], batch_rows=16)
    with sources.open(written[kind], batch_rows=16) as source:
        next(iter(source))
        source.close()
    for wrong in ({"columns": "x"}, {"position": {**positions[0], "fingerprint": "0"}}):
        with pytest.raises(SourceError):
            sources.open(written[kind], **wrong)
    assert open_files() == before


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="only Linux lists the open files")
def test_files_that_cannot_be_read_are_closed(tmp_path):
    cases = {"empty": b"", "npy": as_npy(DATA)[:200], "text.npy": as_npy(np.array([["x"]])), "json": b"[]\n"}
    before = open_files()
    for name, content in (cases | {"gzip": gzip.compress(b""), "parquet": b"PAR1xxxx"}).items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(SourceError, match=name):
            sources.open(tmp_path / name)
    assert open_files() == before


def test_a_position_asked_for_too_late_is_an_error(tmp_path):
    """Never a look at whatever file has the same number by then."""
    WRITERS["NPY"](tmp_path / "x", DATA)
    with sources.open(tmp_path / "x", batch_rows=16) as source:
        batches = list(source)
        position = batches[0].position
    with (tmp_path / "x").open("rb"), pytest.raises(ValueError, match="closed"):
        batches[1].position  # noqa: B018
    assert batches[0].position == position


def test_a_position_in_text_tells_of_what_was_read_not_of_what_is_there_now(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(as_csv(DATA))
    with sources.open(path, batch_rows=16) as source:
        batches = list(source)
        path.write_bytes(as_csv(changed(31)))
    with pytest.raises(SourceError, match="does not begin as it did"):
        sources.open(path, position=batches[1].position)


# --- matrices that are none ------------------------------------------------------------------------------


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
    monkeypatch.setattr(arrays, "LARGEST_CHUNK", 6 * 3 * 8 - 1)
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
