"""Files that ask for more memory than they are worth are refused, in little memory and little time."""

import gzip
import io
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from eigenstream import sources
from eigenstream.io.sources import SourceError, json_lines, lines
from eigenstream.io.sources.line_reader import EMPTIEST
from tests.source_files import read

MOST = 400 << 20
"""Bytes beyond those of a process that has loaded everything."""
BOMB = 100 << 20
"""Bytes of a line; gzip makes little of them."""
SECONDS = 10
"""Of work until a file is refused."""

READ = """
import json, resource, sys, time
import pyarrow.compute, pyarrow.json
from eigenstream import sources
def used():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = used()
for path, options in json.loads(sys.argv[1]):
    begun, told = time.process_time(), "nothing"
    try:
        with sources.open(path, **options) as source:
            for batch in source:
                pass
    except sources.SourceError as error:
        told = str(error)
    print(json.dumps([used() - before, time.process_time() - begun, told]))
"""


def told_of(*files):
    """What is said of files (path, options), by a process that takes little memory and time for them."""
    done = subprocess.run(
        [sys.executable, "-c", READ, json.dumps([(str(path), options) for path, options in files])],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    told = []
    for (path, _), line in zip(files, done.stdout.splitlines(), strict=True):
        used, seconds, message = json.loads(line)
        assert used < MOST, path
        assert seconds < SECONDS, path
        told.append(message)
    return told


def refused(path, **options):
    """What is said of one file."""
    return told_of((path, options))[0]


def repeated(start, middle, end, size=BOMB):
    """Packed text, made without ever holding it."""
    packed, block = io.BytesIO(), middle * (1 + (1 << 20) // len(middle))
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as file:
        file.write(start)
        for _ in range(size // len(block)):
            file.write(block)
        file.write(end)
    return packed.getvalue()


BOMBS = {
    "an endless line of numbers": (b"", b"1,", b"1\n"),
    "an endless line of commas": (b"", b",", b"\n"),
    "an endless line of spaces": (b"1,2\n", b" ", b"\n"),
    "an endless array": (b"[", b"1,", b"1]\n"),
    "an endless object": (b"{", b'"a":1,', b'"b":1}\n'),
    "nested arrays": (b"", b"[", b"\n"),
    "nested objects": (b"", b'{"a":', b"\n"),
    "arrays in arrays": (b"[", b"[],", b"1]\n"),
    "an endless line after a good one": (b"1,2\n", b"1,", b"1\n"),
    "an endless array after a good one": (b"[1, 2]\n", b"[],", b"1]\n"),
}


def packed_files(folder, parts):
    """One packed file for each, small."""
    paths = [folder / f"{name}.gz" for name in parts]
    for path, (*content, size) in zip(paths, parts.values(), strict=True):
        path.write_bytes(repeated(*content, size=size))
        assert path.stat().st_size < 1 << 20
    return paths


def test_a_line_without_end_is_refused(tmp_path):
    paths = packed_files(tmp_path, {kind: (*parts, BOMB) for kind, parts in BOMBS.items()})
    for path, told in zip(paths, told_of(*((path, {}) for path in paths)), strict=True):
        assert "longer than 33,554,432 bytes" in told, path


EMPTY = {
    "blank lines": (b"", b"\n", {}),
    "blank lines after a row": (b"1,2\n", b"\n", {}),
    "blank lines after names": (b"a,b\n", b"\n", {}),
    "lines of spaces": (b"1,2\n", b" \t\n", {}),
    "comments": (b"1,2\n", b"# nothing to see here, nor in any of the lines that follow\n", {"comment": "#"}),
}


def test_lines_with_nothing_on_them_come_to_an_end(tmp_path):
    parts = {kind: (start, line, b"1,2\n", 2 * EMPTIEST) for kind, (start, line, _) in EMPTY.items()}
    paths = packed_files(tmp_path, parts)
    options = [options for *_, options in EMPTY.values()]
    for path, told in zip(paths, told_of(*zip(paths, options, strict=True)), strict=True):
        assert "bytes of blank lines or comments without a row among them" in told, path


def test_blank_lines_between_rows_do_not_add_up(tmp_path, monkeypatch):
    monkeypatch.setattr("eigenstream.io.sources.line_reader.EMPTIEST", 100)
    (tmp_path / "x").write_bytes(b"1,2\n" + (b"\n" * 99 + b"3,4\n") * 10)
    with sources.open(tmp_path / "x", batch_rows=1) as source:
        assert [batch.rows.tolist() for batch in source] == [[[1, 2]], *([[[3, 4]]] * 10)]
    (tmp_path / "x").write_bytes(b"1,2\n" + b"\n" * 150 + b"3,4\n")
    with pytest.raises(SourceError, match=r"x, line \d+: 1\d\d bytes of blank lines"):
        read(tmp_path / "x", batch_rows=1)


LONG_LINES = {
    "too many numbers": (b"", b"1,", b"1\n", "line 1: more than 1,048,576 columns"),
    "too many names": (b"", b"a,", b"a\n", "line 1: more than 1,048,576 columns"),
    "too many spaces": (b"", b"1 ", b"1\n", "line 1: more than 1,048,576 columns"),
    "too many values": (b"[", b"1,", b"1]\n", "line 1: more than 2,097,152 values"),
    "too many arrays": (b"[", b"[],", b"1]\n", "line 1: more than 2,097,152 values"),
    "nested arrays": (b"", b"[", b"\n", "line 1: more than 2,097,152 values"),
    "too many numbers later": (b"1,2\n", b"1,", b"1\n", "line 2: has "),
    "too many quotes later": (b"1,2\n", b'"1",', b"1\n", "line 2: has "),
    "too many arrays later": (b"[1, 2]\n[", b"[],", b"1]\n", "line 2: more than 2,097,152 values"),
    "too many fields later": (
        b'{"a": 1}\n{',
        b'"a":1,',
        b'"a":1}\n',
        "line 2: more than 2,097,152 values",
    ),
}


def test_a_line_with_too_many_columns_is_refused(tmp_path):
    paths = packed_files(tmp_path, {kind: (*parts, 30 << 20) for kind, (*parts, _) in LONG_LINES.items()})
    told = told_of(*((path, {}) for path in paths))
    for path, message, (*_, expected) in zip(paths, told, LONG_LINES.values(), strict=True):
        assert expected in message, path


def test_many_long_lines_are_not_held_together(tmp_path):
    """A batch asks for a thousand lines; each is as long as a line may be."""
    line = b"1" * (8 << 20) + b"," + b"\n"
    path = tmp_path / "bomb.gz"
    path.write_bytes(repeated(b"1,2\n", line, b"", size=200 << 20))
    assert refused(path, on_bad_row="skip") == "nothing"


def test_a_sparse_matrix_that_is_too_wide_is_refused(tmp_path):
    for order, shape in (("C", (3, 2**27)), ("F", (3, 2**27)), ("C", (1, 2**40)), ("F", (2**40, 2**30))):
        path = tmp_path / "x.npy"
        with path.open("wb") as file:
            head = {"descr": "|b1", "fortran_order": order == "F", "shape": shape}
            np.lib.format.write_array_header_1_0(file, head)
            os.truncate(path, min(file.tell() + shape[0] * shape[1], 2**42))
        told = refused(path)
        assert "rows of " in told or "cut off" in told


def test_a_wide_matrix_by_columns_is_read_in_little_memory(tmp_path):
    path, width = tmp_path / "x.npy", 2**21
    with path.open("wb") as file:
        head = {"descr": "|b1", "fortran_order": True, "shape": (3, width)}
        np.lib.format.write_array_header_1_0(file, head)
        os.truncate(path, file.tell() + 3 * width)
    assert refused(path) == "nothing"


def test_limits_are_checked_at_the_line_where_they_are_passed(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST", 100)
    monkeypatch.setattr(lines, "BLOCK", 40)
    (tmp_path / "x").write_bytes(b"1,2\n" * 10 + b"3" * 101 + b"\n1,2\n")
    with pytest.raises(SourceError, match="line 11: longer than 100 bytes"):
        read(tmp_path / "x")
    (tmp_path / "x").write_bytes(b"1,2\n" * 10 + b"3" * 98 + b",\n")
    with pytest.raises(SourceError, match="line 11, column 1: is missing"):
        read(tmp_path / "x")


def test_limits_of_columns_and_values(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "WIDEST_TEXT", 4)
    monkeypatch.setattr(json_lines, "MOST_VALUES", 8)
    for content, message in (
        (b"1,2,3,4,5,6\n", "line 1: more than 4 columns"),
        (b"[1,2,3,4,5]\n", "line 1: more than 4 columns"),
        (b"[1,2,3,4,[[[[[[1]]]]]]]\n", "line 1: more than 8 values"),
        (b'{"a": 1}\n{"a": [[[[[[[[[1]]]]]]]]]}\n', "line 2: more than 8 values"),
    ):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(SourceError, match=message):
            read(tmp_path / "x")
    (tmp_path / "x").write_bytes(b"1,2,3,4\n")
    with sources.open(tmp_path / "x") as source:
        assert source.width == 4


@pytest.mark.parametrize("packed", [False, True])
def test_a_head_that_says_it_is_gigantic_is_not_read(packed, tmp_path):
    head = b"\x93NUMPY\x02\x00" + (2**32 - 1).to_bytes(4, "little")
    path = tmp_path / "x"
    if packed:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w") as file:
            file.write(head)
            for _ in range(600):
                file.write(bytes(1 << 20))
    else:
        path.write_bytes(head)
        os.truncate(path, 2**32 + 100)
    assert "expected 4294967295 bytes" in refused(path)
