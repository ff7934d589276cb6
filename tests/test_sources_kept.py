"""Columns that are kept as text, times, and columns that are found by name."""

import json

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from eigenstream import sources
from eigenstream.io.sources import SourceError, cells
from eigenstream.io.sources.times import Clock
from tests.source_files import DATA, WRITERS, read

STAMPS = [f"2024-01-01T00:{i:02}:00" for i in range(len(DATA))]
UNITS = [f"unit {i % 3}" for i in range(len(DATA))]
COLUMNS = {"time": STAMPS, "a": DATA[:, 0], "unit": UNITS, "b": DATA[:, 1]}


def as_csv(quote="", delimiter=","):
    lines = [list(COLUMNS), *zip(*[map(str, column) for column in COLUMNS.values()], strict=True)]
    return "".join(delimiter.join(f"{quote}{cell}{quote}" for cell in line) + "\n" for line in lines).encode()


def as_json():
    return "".join(
        json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n" for row in zip(*COLUMNS.values(), strict=True)
    ).encode()


def as_parquet(path):
    parquet.write_table(pyarrow.table(COLUMNS), path, row_group_size=7)


KINDS = {
    "CSV": lambda path: path.write_bytes(as_csv()),
    "quoted": lambda path: path.write_bytes(as_csv('"')),
    "semicolons": lambda path: path.write_bytes(as_csv(delimiter=";")),
    "JSON": lambda path: path.write_bytes(as_json()),
    "Parquet": as_parquet,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("with_arrow", [True, False])
def test_kept_columns_come_as_text_and_are_not_learnt(kind, with_arrow, tmp_path, monkeypatch):
    if not with_arrow:
        monkeypatch.setattr(cells, "available", lambda: False)
    KINDS[kind](tmp_path / "x")
    options = {"keep": "unit", "time_column": "time", "batch_rows": 8}
    batches, positions = read(tmp_path / "x", **options)
    np.testing.assert_array_equal(np.vstack([batch.rows for batch in batches]), DATA[:, :2])
    texts = np.concatenate([batch.texts for batch in batches])
    assert texts.tolist() == [list(pair) for pair in zip(STAMPS, UNITS, strict=True)]
    times = np.concatenate([batch.times for batch in batches])
    np.testing.assert_array_equal(times, 1704067200 + 60.0 * np.arange(len(DATA)))
    rest, later = read(tmp_path / "x", position=positions[2], **options)
    assert later == positions[3:]
    assert np.concatenate([batch.texts for batch in rest]).tolist() == texts[24:].tolist()


@pytest.mark.parametrize("kind", ["no header", "JSON arrays", "NPY", "NPZ", "Zarr", "gzip", "bars"])
def test_columns_without_text_are_kept_as_their_numbers_are_written(kind, tmp_path):
    WRITERS[kind](tmp_path / "x", DATA)
    batches, _ = read(tmp_path / "x", keep="1", batch_rows=20)
    np.testing.assert_array_equal(np.vstack([batch.rows for batch in batches]), DATA[:, [0, 2, 3]])
    assert np.concatenate([batch.texts for batch in batches])[:, 0].tolist() == list(
        map(repr, DATA[:, 1].tolist())
    )


def test_a_row_that_is_left_out_takes_its_texts_along(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"t,a,b\n1,1,2\n2,x,2\n3,5,6\n")
    ((batch,), _) = read(tmp_path / "x.csv", time_column="t", on_bad_row="skip")
    assert batch.texts.tolist() == [["1"], ["3"]]
    assert batch.times.tolist() == [1.0, 3.0]


@pytest.mark.parametrize("time", [{}, {"time_column": "t"}])
def test_keys_are_handed_out(time, tmp_path):
    (tmp_path / "x.csv").write_bytes(b"a,unit,t,note\n1,p,1,x\n2,q,2,y\n")
    ((batch,), _) = read(tmp_path / "x.csv", columns="a", key="unit", keep="note,t", **time)
    assert batch.keys == ["p", "q"]
    assert batch.rows.tolist() == [[1.0], [2.0]]
    ((batch,), _) = read(tmp_path / "x.csv", columns="a")
    assert batch.keys is None


def test_what_cannot_be_kept(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"t,a\n1,1\n")
    for options, message in (
        ({"keep": "t,a"}, "all columns are kept as text"),
        ({"keep": "unit"}, r"there is no column 'unit'; there are t, a"),
        ({"time_format": "s"}, "it needs a time_column"),
        ({"time_column": "t", "key": 0}, r"column t cannot be both the time and the key .*\(key names"),
        ({"key": "0:2"}, "expected one column for the time and one for the key"),
        ({"key": 1.5}, "key must be at least 0 and whole"),
        ({"time_column": "t", "time_format": "ages"}, "'ages' is not a format of times"),
    ):
        with pytest.raises(SourceError, match=message):
            sources.open(tmp_path / "x.csv", **options)


@pytest.mark.parametrize(
    ("format", "taken", "texts", "seconds"),
    [
        (None, "ISO 8601", ["1970-01-01", "1970-01-01 00:00:01", "1970-01-01T01:00:02+01:00"], [0, 1, 2]),
        (None, "seconds since 1970", ["0", "1.5", "1,75", "1700000000"], [0, 1.5, 1.75, 1.7e9]),
        (None, "milliseconds since 1970", ["1700000000000", "1700000000500"], [1.7e9, 1.7e9 + 0.5]),
        (None, "microseconds since 1970", ["1700000000000000"], [1.7e9]),
        (None, "nanoseconds since 1970", ["1700000000000000000"], [1.7e9]),
        ("%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M", ["02.01.1970 00:01"], [86460]),
        ("ms", "milliseconds since 1970", ["1500"], [1.5]),
        (None, None, ["noon"], [np.nan]),
        ("iso", "ISO 8601", ["1_0", ""], [np.nan, np.nan]),
    ],
)
def test_times_are_read_as_they_are_written(format, taken, texts, seconds):
    clock = Clock(format)
    np.testing.assert_allclose(clock.read(texts), seconds, rtol=1e-15)
    assert clock.taken == taken


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("noon,1,2\n", r"line 2, time 't': 'noon' is not a time \(time_format says how"),
        ("1,1,2\n2,1,2\n\nthree,3,4\n", r"line 5, time 't': 'three' is not a time"),
        ("1,1,2\n2,1,2\n3,1,2\n2,3,4\n", r"line 5, time 't': '2' is before the time of an earlier row"),
        ("1,1,2\n1e6,1,2\n2,3,4\n", r"line 3, time 't': '1e6' is far ahead of the rows before and behind it"),
        ("1,1,2\n,3,4\n", r"line 3, time 't': '' is not a time"),
    ],
)
def test_times_that_cannot_be_are_named(content, message, tmp_path):
    (tmp_path / "x.csv").write_text("t,a,b\n" + content)
    with pytest.raises(SourceError, match=r"x\.csv, " + message):
        read(tmp_path / "x.csv", time_column="t")


def test_times_that_go_back_are_found_across_batches_and_resumes(tmp_path):
    (tmp_path / "x.csv").write_text("t,a\n" + "".join(f"{t},{t % 7}\n" for t in (1, 2, 3, 2, 4, 3, 5)))
    options = {"time_column": "t", "on_bad_row": "skip", "batch_rows": 2}
    batches, positions = read(tmp_path / "x.csv", **options)
    assert np.concatenate([batch.times for batch in batches]).tolist() == [1, 2, 3, 4, 5]
    rest, _ = read(tmp_path / "x.csv", position=positions[1], **options)
    assert np.concatenate([batch.times for batch in rest]).tolist() == [5]


def test_equal_times_are_no_step_back_and_notes_say_how_times_were_read(tmp_path):
    (tmp_path / "x.csv").write_text("t,a\n5,1\n5,2\n")
    with sources.open(tmp_path / "x.csv", time_column="t") as source:
        assert [batch.times.tolist() for batch in source] == [[5.0, 5.0]]
        assert source.notes == [f"{tmp_path / 'x.csv'}: times in 't' are read as seconds since 1970"]


def test_columns_are_found_by_name_in_any_order(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"extra,c,0,a\nx,3,9,1\n")
    options = {"columns": "1:3", "exclude": "0", "names": ["a", "0", "c"]}
    ((batch,), _) = read(tmp_path / "x.csv", **options)
    assert batch.rows.tolist() == [[1, 9, 3]]
    (tmp_path / "x.csv").write_bytes(b"5,6,7\n")
    ((batch,), _) = read(tmp_path / "x.csv", **options)
    assert batch.rows.tolist() == [[6, 7]]


def test_a_name_that_is_missing_is_never_taken_for_a_number(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(SourceError, match=r"there is no column '1'; there are a, b"):
        sources.open(tmp_path / "x.csv", names=["a", "1"])
    with pytest.raises(SourceError, match=r"there is no column called x, y; there are a, b"):
        sources.open(tmp_path / "x.csv", names=["a", "x", "y"])
    (tmp_path / "x.csv").write_bytes(b"a,a\n1,2\n")
    with pytest.raises(SourceError, match="there are 2 columns called 'a'"):
        sources.open(tmp_path / "x.csv", names=["a"])


def test_kept_columns_are_found_in_every_file(tmp_path):
    (tmp_path / "1.csv").write_bytes(b"t,a,b\n1,2,3\n")
    (tmp_path / "2.csv").write_bytes(b"b,a,t\n5,4,2\n")
    batches, _ = read([tmp_path / "1.csv", tmp_path / "2.csv"], time_column="t")
    assert np.vstack([batch.rows for batch in batches]).tolist() == [[2, 3], [4, 5]]
    assert np.concatenate([batch.times for batch in batches]).tolist() == [1, 2]
