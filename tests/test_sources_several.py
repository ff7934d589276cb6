"""Several files as one stream: the same rows as from one file, from any place on."""

import gzip
import itertools
import json
import shutil

import numpy as np
import pytest

from eigenstream import sources
from eigenstream.io.sources import SourceError
from tests.source_files import DATA, NAMES, as_csv, as_json, as_npy, read, rows_of

CUTS = [0, 13, 13, 30, 31, 50]
"""Where a file ends and the next begins; one has no rows."""


def parts():
    return [DATA[start:stop] for start, stop in itertools.pairwise(CUTS)]


KINDS = {
    "CSV": (".csv", as_csv),
    "no header": (".csv", lambda X: as_csv(X, header=False)),
    "gzip": (".csv.gz", lambda X: gzip.compress(as_csv(X), mtime=0)),
    "JSON": (".jsonl", lambda X: as_json(X, objects=True)),
    "NPY": (".npy", lambda X: as_npy(X) if len(X) else b""),
}


def write(folder, kind):
    suffix, make = KINDS[kind]
    folder.mkdir()
    for day, X in enumerate(parts(), 1):
        (folder / f"2024-01-0{day}{suffix}").write_bytes(make(X))
    return sorted(folder.iterdir())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch_rows", [1, 7, 50, 64])
def test_several_files_are_one_stream(kind, batch_rows, tmp_path):
    paths = write(tmp_path / "days", kind)
    for source in (paths, tmp_path / "days", str(tmp_path / "days" / "2024-*")):
        batches, positions = read(source, batch_rows=batch_rows)
        np.testing.assert_array_equal(np.vstack([batch.rows for batch in batches]), DATA)
        np.testing.assert_array_equal(np.concatenate([batch.numbers for batch in batches]), np.arange(50))
        assert all(len(batch.rows) == batch_rows for batch in batches[:-1])
    for i, position in enumerate(positions):
        rest, later = read(paths, batch_rows=batch_rows, position=position)
        assert later == positions[i + 1 :]
        assert [b.rows.tobytes() for b in rest] == [b.rows.tobytes() for b in batches[i + 1 :]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [(0, 20), (13, 31), (20, None), (49, None), (31, 32)])
def test_rows_of_several_files(kind, rows, tmp_path):
    paths = write(tmp_path / "days", kind)
    np.testing.assert_array_equal(rows_of(paths, rows=rows), DATA[slice(*rows)])


def test_the_next_day_goes_on_where_the_last_ended(tmp_path):
    """A position at the end of a list is one in a longer list."""
    paths = write(tmp_path / "days", "CSV")
    _, positions = read(paths[:3], batch_rows=8)
    np.testing.assert_array_equal(rows_of(paths, position=positions[-1]), DATA[30:])
    with pytest.raises(SourceError, match="3 files had been read or begun; there are 2 now"):
        sources.open(paths[:2], position=positions[-1])


@pytest.mark.parametrize("changed", ["edited", "renamed", "swapped", "shorter"])
def test_other_files_are_refused(changed, tmp_path):
    paths = write(tmp_path / "days", "CSV")
    _, positions = read(paths, batch_rows=8)
    position = json.loads(json.dumps(positions[4]))
    if changed == "edited":
        paths[0].write_bytes(paths[0].read_bytes().replace(b"1", b"2", 1))
    elif changed == "renamed":
        paths[0] = paths[0].rename(paths[0].with_name("other.csv"))
    elif changed == "swapped":
        paths[0], paths[1] = paths[1], paths[0]
    else:
        paths[3].write_bytes(paths[3].read_bytes()[:50])
    with pytest.raises(SourceError, match=r"are not the files they were|has become shorter"):
        sources.open(paths, position=position)


def test_columns_are_found_by_name_in_every_file(tmp_path):
    (tmp_path / "1.csv").write_bytes(b"a,b,note\n1,2,x\n")
    (tmp_path / "2.csv").write_bytes(b"note,b,a\nx,4,3\n")
    paths = [tmp_path / "1.csv", tmp_path / "2.csv"]
    np.testing.assert_array_equal(rows_of(paths, exclude="note"), [[1, 2], [3, 4]])
    (tmp_path / "2.csv").write_bytes(b"note,b,c\nx,4,3\n")
    with pytest.raises(SourceError, match=r"2\.csv: there is no column 'a'; there are note, b, c"):
        read(paths, exclude="note")
    (tmp_path / "1.csv").write_bytes(b"1,2\n")
    (tmp_path / "2.csv").write_bytes(b"1,2,3\n")
    with pytest.raises(SourceError, match=r"2\.csv has other columns than .*1\.csv"):
        read(paths)


def test_what_is_wrong_is_named_in_its_own_file(tmp_path):
    (tmp_path / "1.csv").write_bytes(b"a,b\n1,2\n")
    (tmp_path / "2.csv").write_bytes(b"a,b\n3,4\n5,x\n")
    with pytest.raises(SourceError, match=r"2\.csv, line 3, column 1 \(b\): 'x' is not a number"):
        read([tmp_path / "1.csv", tmp_path / "2.csv"])
    (tmp_path / "2.csv").write_bytes(b"a,b\n3,4\n5,\n")
    with pytest.raises(SourceError, match=r"2\.csv, line 3, column 1 \(b\): is missing"):
        read([tmp_path / "1.csv", tmp_path / "2.csv"])


def test_lists_that_make_no_sense(tmp_path):
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "none.csv").write_bytes(b"")
    for source, message in (
        ([], "the list of files is empty"),
        ([tmp_path / "empty.csv", tmp_path / "none.csv"], "are all empty"),
        ([tmp_path / "empty.csv", tmp_path], "is not a file"),
        (str(tmp_path / "*.json"), "there is no file"),
    ):
        with pytest.raises(SourceError, match=message):
            sources.open(source)
    with pytest.raises(SourceError, match="2 files cannot be followed"):
        sources.open(tmp_path, follow=True)


def test_a_name_with_signs_of_a_pattern_is_a_name(tmp_path):
    (tmp_path / "a[1].csv").write_bytes(b"1,2\n")
    (tmp_path / "a1.csv").write_bytes(b"3,4\n")
    np.testing.assert_array_equal(rows_of(str(tmp_path / "a[1].csv")), [[1, 2]])


def test_names_come_from_the_first_file_and_files_are_closed(tmp_path):
    paths = write(tmp_path / "days", "CSV")
    with sources.open(paths) as source:
        assert source.names == NAMES
        assert source.reader.progress() is not None
        list(source)
        assert source.reader.progress() == 1.0
    shutil.rmtree(tmp_path / "days")
