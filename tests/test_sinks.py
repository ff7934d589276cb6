"""Sinks: what is written reads back exactly, and cutting back leaves no trace of what came after."""

import csv
import json
import os
import pathlib

import numpy as np
import pyarrow
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from eigenstream import sources
from eigenstream.io.sinks import Layout, SinkError, check_output, open_sink
from eigenstream.io.sinks import parquet as parquet_sink

KINDS = ["csv", "jsonl", "npy", "parquet"]
TYPES = [np.float64, np.float32]
PART = 16


@pytest.fixture(autouse=True)
def synced(monkeypatch):
    """Small parts; what is made durable is counted, not waited for."""
    calls = []
    monkeypatch.setattr(parquet_sink, "PART", PART)
    monkeypatch.setattr("os.fsync", lambda handle: calls.append(os.path.basename(name_of(handle))))
    return calls


def name_of(handle):
    """The path of an open file, where the system tells."""
    return os.readlink(f"/proc/self/fd/{handle}") if os.path.isdir("/proc/self/fd") else ""


def scores_of(rows, dtype, width=3):
    """Numbers of all sizes, and a row of NaN."""
    rng = np.random.default_rng(rows)
    scores = rng.standard_normal((rows, width)) * 10.0 ** rng.integers(-30, 30, (rows, width))
    scores[rows // 3] = np.nan
    return scores.astype(dtype)


def written(path, numbers, scores, cuts, place=None):
    """Write rows in pieces, settling after each; returns the places, the last of which is final."""
    sink = open_sink(str(path), Layout(scores.shape[1], scores.dtype), place)
    places = []
    for start, stop in zip([0, *cuts], [*cuts, len(scores)], strict=True):
        sink.write(numbers[start:stop], scores[start:stop])
        places.append(sink.settle(final=stop == len(scores)))
        sink.committed()
    sink.close()
    return places


def content(path):
    """All bytes, by name."""
    if path.is_file():
        return path.read_bytes()
    return {file.name: file.read_bytes() for file in path.iterdir()}


def read_back(path, dtype):
    if path.suffix == ".npy":
        return None, np.load(path)
    if path.suffix == ".csv":
        head, *lines = path.read_text().splitlines()
        assert head == "row,component_0,component_1,component_2"
        fields = np.array([[word or "nan" for word in line.split(",")] for line in lines])
        return fields[:, 0].astype(int), fields[:, 1:].astype(dtype)
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        assert list(rows[0]) == ["row", "component_0", "component_1", "component_2"]
        values = np.array([list(row.values()) for row in rows], dtype=float)
        return values[:, 0], values[:, 1:].astype(dtype)
    tables = [parquet.read_table(part) for part in sorted(path.glob("*.parquet"))]
    table = pyarrow.concat_tables(tables)
    assert table.column_names == ["row", "component_0", "component_1", "component_2"]
    columns = [table[name].to_numpy() for name in table.column_names]
    return columns[0], np.column_stack(columns[1:])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_reads_back_exactly(kind, dtype, tmp_path):
    numbers, scores = np.arange(0, 200, 2), scores_of(100, dtype)
    written(tmp_path / f"x.{kind}", numbers, scores, [7, 40])
    rows, values = read_back(tmp_path / f"x.{kind}", dtype)
    assert values.dtype == dtype
    np.testing.assert_array_equal(values, scores)
    if rows is not None:
        np.testing.assert_array_equal(rows, numbers)


@settings(max_examples=200)
@given(rows=st.lists(st.lists(st.floats(), min_size=2, max_size=2), min_size=1, max_size=6))
@example(rows=[[0.0, -0.0], [1.0, -1e22], [1e-4, 9.999999999999999e-5], [1e10, 9999999999.5], [5e-324, 1e16]])
def test_csv_has_numbers_as_python_writes_them(rows):
    path = pathlib.Path(FOLDER) / "bytes.csv"
    path.unlink(missing_ok=True)
    written(path, np.arange(len(rows)) * 7, np.array(rows), [])
    words = [["" if np.isnan(value) else repr(value) for value in row] for row in rows]
    lines = [f"{7 * i},{','.join(row)}" for i, row in enumerate(words)]
    assert path.read_text().splitlines()[1:] == lines


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_a_source_again(kind, tmp_path):
    numbers, scores = np.arange(100), scores_of(100, np.float64)
    path = tmp_path / f"x.{kind}"
    written(path, numbers, scores, [])
    columns = None if kind == "npy" else "1:"
    with sources.open(path, columns=columns, allow_nan=True) as source:
        np.testing.assert_array_equal(np.vstack([batch.rows for batch in source]), scores)


def test_parts_have_as_many_rows_as_they_should(tmp_path):
    written(tmp_path / "x.parquet", np.arange(100), scores_of(100, np.float64), range(5, 100, 5))
    parts = sorted((tmp_path / "x.parquet").iterdir())
    assert [part.name for part in parts] == [f"part-{i:06d}.parquet" for i in range(7)]
    assert [parquet.read_metadata(part).num_rows for part in parts] == [PART] * 6 + [4]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15)
@given(
    cuts=st.lists(st.integers(1, 63), unique=True, max_size=8).map(sorted),
    ahead=st.lists(st.integers(1, 30), max_size=3),
    torn=st.binary(max_size=30),
)
@example(cuts=list(range(1, 64)), ahead=[5, 20], torn=b"torn")
def test_every_place_continues_as_if_nothing_had_happened(kind, dtype, cuts, ahead, torn):
    """After each place, more is written (and settled, and torn) before the job is killed and comes back."""
    numbers, scores = np.arange(64) + 5, scores_of(64, dtype)
    folder = pathlib.Path(FOLDER)
    whole, path = folder / f"whole.{kind}", folder / f"cut.{kind}"
    for leftover in (whole, path):
        if leftover.exists() and leftover.is_dir():
            [file.unlink() for file in leftover.iterdir()]
    written(whole, numbers, scores, [])
    places = written(path, numbers, scores, cuts)
    assert content(path) == content(whole)

    sink = open_sink(str(path), Layout(3, dtype))
    for i, (start, stop) in enumerate(zip([0, *cuts], [*cuts, 64], strict=True)):
        sink.write(numbers[start:stop], scores[start:stop])
        place = sink.settle()
        assert place == places[i]
        sink.committed()
        for rows in ahead:  # from here on it is lost, whether or not it was settled
            sink.write(numbers[:rows] * 1000, scores[:rows] * 3)
            if rows % 2:
                sink.settle(final=rows % 3 == 0)
        sink.close()
        torn_end = path / f".part-{place['part']:06d}.rows" if kind == "parquet" else path
        with torn_end.open("ab") as file:
            file.write(torn)
        sink = open_sink(str(path), Layout(3, dtype), place)
    assert sink.settle(final=True) == places[-1]
    sink.committed()
    sink.close()
    assert content(path) == content(whole)


@pytest.fixture(scope="module", autouse=True)
def folder_for_drawn_files(tmp_path_factory):
    global FOLDER
    FOLDER = tmp_path_factory.mktemp("drawn")


@pytest.mark.parametrize("kind", KINDS)
def test_beginning_anew_forgets_what_was_there(kind, tmp_path):
    numbers, scores = np.arange(60), scores_of(60, np.float64)
    written(tmp_path / f"one.{kind}", numbers, scores, [50])
    written(tmp_path / f"two.{kind}", numbers, scores[::-1], [20, 40])
    written(tmp_path / f"two.{kind}", numbers[:7], scores[:7], [3])
    written(tmp_path / f"one.{kind}", numbers[:7], scores[:7], [])
    assert content(tmp_path / f"one.{kind}") == content(tmp_path / f"two.{kind}")


@pytest.mark.parametrize("kind", KINDS)
def test_no_rows_change_nothing(kind, tmp_path):
    numbers, scores = np.arange(30), scores_of(30, np.float64)
    written(tmp_path / f"one.{kind}", numbers, scores, [10])
    written(tmp_path / f"two.{kind}", numbers, scores, [0, 10, 10, 10])
    assert content(tmp_path / f"one.{kind}") == content(tmp_path / f"two.{kind}")


@pytest.mark.parametrize("kind", ["csv", "npy"])
def test_an_output_shorter_than_its_place_is_refused(kind, tmp_path):
    path = tmp_path / f"x.{kind}"
    place, *_ = written(path, np.arange(60), scores_of(60, np.float64), [40])
    os.truncate(path, place["bytes"] - 1)
    before = content(path)
    with pytest.raises(
        SinkError, match=rf"x\.{kind} (is gone|has [\d,]+ bytes), but [\d,]+ had been written"
    ):
        open_sink(str(path), Layout(3, np.float64), place)
    assert content(path) == before
    path.unlink()
    with pytest.raises(SinkError, match="is gone, but"):
        open_sink(str(path), Layout(3, np.float64), place)
    assert not path.exists()


def test_parquet_rows_or_parts_that_are_gone_are_refused(tmp_path):
    path = tmp_path / "x.parquet"
    sink = open_sink(str(path), Layout(3, np.float64))
    sink.write(np.arange(40), scores_of(40, np.float64))
    place = sink.settle()
    sink.committed()
    sink.close()
    assert place["part"] == 2
    os.truncate(path / ".part-000002.rows", place["bytes"] - 1)
    before = content(path)
    with pytest.raises(SinkError, match=r"\.part-000002\.rows has [\d,]+ bytes, but \d+ had been"):
        open_sink(str(path), Layout(3, np.float64), place)
    assert content(path) == before
    (path / "part-000001.parquet").unlink()
    with pytest.raises(SinkError, match=r"part-000001\.parquet had been written, but is gone"):
        open_sink(str(path), Layout(3, np.float64), place)
    assert len(content(path)) == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "place",
    [
        {}, [], "x", {"bytes": 5}, {"bytes": -1, "rows": 0}, {"bytes": -1, "part": 0},
        {"bytes": 0, "part": -1}, {"bytes": 1.5, "rows": 1}, {"bytes": None, "part": 0},
        {"bytes": 10**30, "rows": 0}, {"bytes": 0, "part": 10**30}, {"bytes": True, "rows": 1},
    ],
)  # fmt: skip
def test_absurd_places_are_refused(kind, place, tmp_path):
    place = {**place, "sha256": "0"} if len(place) == 2 else place
    with pytest.raises(SinkError, match=rf"x\.{kind}.*is not a place in such a file"):
        open_sink(str(tmp_path / f"x.{kind}"), Layout(3, np.float64), place)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x.txt", "x", "csv", "x.csv.gz"])
def test_unknown_kinds_are_refused(name, tmp_path):
    with pytest.raises(SinkError, match=r"must end in \.csv, \.jsonl, \.npy or \.parquet"):
        open_sink(str(tmp_path / name), Layout(3, np.float64))


def test_the_kind_does_not_depend_on_the_case(tmp_path):
    written(tmp_path / "X.NPY", np.arange(5), scores_of(5, np.float64), [])
    assert np.load(tmp_path / "X.NPY").shape == (5, 3)


def test_standard_output_is_csv(capfdbinary, tmp_path):
    numbers, scores = np.arange(5), scores_of(5, np.float64)
    written("-", numbers, scores, [2])
    written(tmp_path / "x.csv", numbers, scores, [])
    assert capfdbinary.readouterr().out == (tmp_path / "x.csv").read_bytes()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="only Linux names the open files")
@pytest.mark.parametrize("kind", KINDS)
def test_settling_makes_it_durable(kind, tmp_path, synced):
    sink = open_sink(str(tmp_path / f"x.{kind}"), Layout(3, np.float64))
    assert synced == []
    sink.write(np.arange(5), scores_of(5, np.float64))
    # Names are durable: of the file in its folder; of the rows that wait in theirs, which is new as well.
    assert synced == (["x.parquet", tmp_path.name] if kind == "parquet" else [tmp_path.name])
    synced.clear()
    sink.settle()
    assert synced == [".part-000000.rows" if kind == "parquet" else f"x.{kind}"]
    synced.clear()
    sink.write(np.arange(5), scores_of(5, np.float64))
    sink.settle(final=True)
    if kind == "parquet":  # the part, its name, and the rows that wait: none
        assert synced == [".part-000000.tmp", "x.parquet", ".part-000001.rows"]
    else:
        assert synced == [f"x.{kind}"]
    sink.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_shows_when_it_is_written_to(kind, tmp_path, monkeypatch):
    sink = open_sink(str(tmp_path / f"x.{kind}"), Layout(3, np.float64))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    with pytest.raises(OSError, match="No space left"):
        sink.write(np.arange(5), scores_of(5, np.float64))
    sink.close()


@pytest.mark.parametrize("kind", KINDS)
def test_writes_that_the_system_cuts_short_are_finished(kind, tmp_path, monkeypatch):
    numbers, scores = np.arange(60), scores_of(60, np.float64)
    written(tmp_path / f"one.{kind}", numbers, scores, [20])
    whole = os.write
    monkeypatch.setattr("os.write", lambda handle, content: whole(handle, content[:7]))
    written(tmp_path / f"two.{kind}", numbers, scores, [20])
    assert content(tmp_path / f"one.{kind}") == content(tmp_path / f"two.{kind}")


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="only Linux lists the open files")
@pytest.mark.parametrize("kind", KINDS)
def test_files_are_closed(kind, tmp_path):
    before = sorted(os.listdir("/proc/self/fd"))
    places = written(tmp_path / f"x.{kind}", np.arange(60), scores_of(60, np.float64), [20])
    with pytest.raises(SinkError):
        open_sink(str(tmp_path / f"x.{kind}"), Layout(3, np.float64), {**places[0], "bytes": 10**9})
    assert sorted(os.listdir("/proc/self/fd")) == before


TEXTS = np.array([["2024", 'a "b", c'], ["", "line\nfeed"], ["\ud800", "é"]] * 20, dtype=object)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("cuts", [[], [7, 30]])
def test_text_is_kept_before_the_scores(kind, cuts, tmp_path):
    path, scores = tmp_path / f"x.{kind}", scores_of(60, np.float64)
    layout = Layout(3, np.float64, ("time", "row"), residuals=True)
    names = ["row", "time", "kept_row", "component_0", "component_1", "squared_residual"]
    place = None
    for start, stop in zip([0, *cuts], [*cuts, 60], strict=True):
        sink = open_sink(str(path), layout, place)
        sink.write(np.arange(start, stop), scores[start:stop], TEXTS[start:stop])
        place = sink.settle(final=stop == 60)
        sink.committed()
        sink.close()
    if kind == "csv":
        with path.open(newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
    elif kind == "jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        head, rows = list(rows[0]), [list(row.values()) for row in rows]
    else:
        table = pyarrow.concat_tables(parquet.read_table(part) for part in sorted(path.glob("*.parquet")))
        head, rows = table.column_names, list(zip(*(column.to_pylist() for column in table), strict=True))
    assert head == names
    replaced = TEXTS if kind == "jsonl" else np.where(TEXTS == "\ud800", "?", TEXTS)
    assert [list(row[1:3]) for row in rows] == replaced.tolist()
    values = [[np.nan if value == "" else value for value in row[3:]] for row in rows]
    np.testing.assert_array_equal(np.array(values, dtype=float), scores)


def test_numbers_alone_cannot_hold_text(tmp_path):
    with pytest.raises(SinkError, match="can only hold numbers: for text, such as columns that are kept"):
        check_output(str(tmp_path / "x.npy"), keep=True)
    check_output(str(tmp_path / "x.npy"))
