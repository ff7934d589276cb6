"""Rows that cannot be used are named, or left out."""

import gzip
import pathlib

import numpy as np
import pyarrow
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from eigenstream import sources
from eigenstream.io.sources import SourceError
from eigenstream.io.sources.csv_lines import CsvParser
from eigenstream.io.sources.options import ReadOptions
from tests.jobs import call
from tests.source_files import (
    DATA,
    WRITERS,
    piece_of,
    read,
    rows_of,
)


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (b"a,b,c\n1,2,3\n\n \n4,5,x\n", r"line 5, column 2 \(c\): 'x' is not a number"),
        (b"\n\na,b,c\n1,2,3\n4,,6\n", r"line 5, column 1 \(b\): is missing"),
        (b'a,b,c\n1,2,3\n4,"x\ny",3\n', r"line 3: a quoted text goes on in the next line"),
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


def csv_parser(columns):
    return CsvParser(b"a,b,c\n", "x", ReadOptions(columns=columns, delimiter=","), 1, lambda: None)


@settings(max_examples=300)
@example(rows=[["0.0", "0.0", '"']], raw=b"")
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
        quick = parser.quick(piece_of(content)) if content else None
        if quick is not None:
            careful = np.array([parser.row(line) for line in content], dtype=float)
            np.testing.assert_array_equal(quick, careful)


@pytest.fixture(scope="module", autouse=True)
def folder_for_drawn_files(tmp_path_factory):
    global FOLDER
    FOLDER = tmp_path_factory.mktemp("drawn")


KEYLESS = {
    "CSV": b"k,a\nu,1\n,2\nv,3\n\xff\xfe,4\n  ,5\nu,6\n",
    "JSON": b'{"k": "u", "a": 1}\n{"a": 2}\n{"k": "v", "a": 3}\n{"k": "\\ud800", "a": 4}\n'
    b'{"k": null, "a": 5}\n{"k": "u", "a": 6}\n',
}


@pytest.mark.parametrize("kind", KEYLESS)
def test_rows_without_a_key_or_with_a_bad_one_are_bad_rows(kind, tmp_path, monkeypatch):
    """A row without a key, or with a key that is no text, stopped a job for good, and no place was named."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").write_bytes(KEYLESS[kind])
    line = 3 if kind == "CSV" else 2
    with pytest.raises(SourceError, match=rf"x, line {line}, key 'k': '' is no key: it is missing"):
        read(tmp_path / "x", key="k")
    reasons = []
    ((batch,), _) = read(tmp_path / "x", key="k", on_bad_row="skip", on_skip=reasons.append)
    assert batch.keys == ["u", "v", "u"]
    assert batch.rows.ravel().tolist() == [1, 3, 6]
    assert [reason.endswith("it is missing") for reason in reasons] == [True, False, True]
    assert "is not text in UTF-8" in reasons[1]
    call("run", "x", "--key", "k", "--on-bad-row", "skip", "--save", "b", "--quiet", code=4)
    told = call("run", "x", "--key", "k", "--save", "c", code=1)
    assert f"line {line}, key 'k': '' is no key: it is missing" in told


def test_bytes_that_are_no_text_do_not_matter_where_they_are_not_read(tmp_path):
    (tmp_path / "x").write_bytes(b'{"a": 1, "b": "\xff"}\n{"a": 2, "b": "x"}\n{"a": "\xff", "b": "x"}\n')
    batches, _ = read(tmp_path / "x", columns="a", on_bad_row="skip")
    assert np.vstack([batch.rows for batch in batches]).tolist() == [[1.0], [2.0]]


class Masked(sources.Reader):
    """Rows as a reader of one's own may hand them out."""

    name, width = "masked", 2

    def take(self, count):
        if self.row:
            return None
        self.row = 2
        rows = np.ma.array([[1.0, 2.0], [3.0, 1e9]], mask=[[False, False], [False, True]])
        return sources.Chunk(rows, np.arange(2))


def test_masked_values_are_missing():
    """A mask was ignored, and what lies beneath it learnt."""
    with sources.Source(Masked(), allow_nan=True) as source:
        np.testing.assert_array_equal(next(iter(source)).rows, [[1, 2], [3, np.nan]])
    with sources.Source(Masked()) as source, pytest.raises(SourceError, match="is missing"):
        list(source)
