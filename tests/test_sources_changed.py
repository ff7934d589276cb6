"""Sources that are not what they were when a position was taken."""

import itertools
import os

import numpy as np
import pytest
from pyarrow import parquet

from eigenstream import sources
from eigenstream.io.sources import SourceError, contents
from tests.source_files import (
    DATA,
    TEXTS,
    WRITERS,
    as_csv,
    read,
    rows_of,
    table,
    write_parts,
)


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


@pytest.mark.parametrize("kind", [kind for kind in WRITERS if kind != "Parquet" and "NPZ" not in kind])
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
    assert contents.PRINT * 10 < (tmp_path / "x.csv").stat().st_size
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


def test_a_position_in_text_tells_of_what_was_read_not_of_what_is_there_now(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(as_csv(DATA))
    with sources.open(path, batch_rows=16) as source:
        batches = list(source)
        path.write_bytes(as_csv(changed(31)))
    with pytest.raises(SourceError, match="does not begin as it did"):
        sources.open(path, position=batches[1].position)


@pytest.mark.parametrize("row", [1984, 1999])
def test_uncompressed_parquet_that_was_rewritten_is_refused(row, tmp_path):
    """Without compression and statistics only the numbers themselves have changed."""
    plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    path, X = tmp_path / "x.parquet", np.random.default_rng(0).standard_normal((5000, 4))
    parquet.write_table(table(X), path, **plain)
    _, positions = read(path, batch_rows=2000)
    size = path.stat().st_size
    X[row] += 1  # among what was read last
    parquet.write_table(table(X), path, **plain)
    assert path.stat().st_size == size
    with pytest.raises(SourceError, match="does not begin as it did"):
        sources.open(path, position=positions[0])
    np.testing.assert_array_equal(rows_of(path, batch_rows=2000), X)
