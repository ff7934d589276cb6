"""Sources are read in bounded memory, and their files are closed."""

import gzip
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pyarrow
import pytest
import zarr
from pyarrow import parquet

from eigenstream import sources
from eigenstream.io.sources import SourceError, lines
from tests.source_files import (
    DATA,
    WRITERS,
    as_npy,
    read,
)


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


def test_memory_does_not_grow_with_what_is_passed_over(tmp_path):
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
