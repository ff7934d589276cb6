"""Files that grow while they are read."""

import itertools
import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from eigenstream import sources
from eigenstream.io.sources import SourceError, contents, lines, source
from tests.source_files import (
    DATA,
    as_csv,
    read,
    rows_of,
)


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


def test_a_file_rewritten_while_the_reader_lags_behind_is_refused(tmp_path, monkeypatch):
    """Lines of equal length, and more of them than were read: only the content tells."""
    monkeypatch.setattr(lines, "BLOCK", 1 << 10)
    path = tmp_path / "log.csv"
    path.write_bytes(b"".join(b"%06d,1\n" % i for i in range(5000)))
    for follow in (True, False):
        with sources.open(path, batch_rows=100, follow=follow, idle=0.0 if follow else None) as source:
            batches = iter(source)
            next(batches)
            with path.open("r+b") as file:  # as `cat new.csv > log.csv` does
                file.truncate()
                file.write(b"".join(b"%06d,%d\n" % (i, 2 + follow) for i in range(5000)))
            with pytest.raises(SourceError, match="was truncated or rewritten while it was"):
                list(batches)


def test_rows_that_have_come_are_handed_out_before_their_batch_is_full(tmp_path, polled):
    """Nothing more comes for a while: the rows are handed out, and the position says where they end."""
    path = tmp_path / "log.csv"
    path.write_bytes(b"1,2\n3,4\n5,6\n")
    polled += [lambda: None] * 10 + [append(path, b"7,8\n9,10\n11,12\n")]
    batches, positions = read(path, batch_rows=4, follow=True, idle=1.5)
    assert [batch.count for batch in batches] == [3, 4, 6]  # the second goes on to the grid
    assert [position["row"] for position in positions] == [3, 4, 6]
    for position in positions:
        rest = read(path, batch_rows=4, position=position)[0]
        assert sum(len(batch.rows) for batch in rest) == 6 - position["row"]


def test_rows_that_trickle_in_do_not_wait_for_long(tmp_path, polled, monkeypatch):
    """Each row comes soon after the one before; the first waits for a limited time all the same."""
    monkeypatch.setattr(source, "PATIENCE", 0.0)
    path = tmp_path / "log.csv"
    path.write_bytes(b"1,2\n")
    polled += [append(path, b"3,4\n")] * 5
    batches, _ = read(path, batch_rows=100, follow=True, idle=1.0)
    assert [batch.count for batch in batches] == [1, 2, 3, 4, 5, 6]


def test_a_pipe_hands_out_what_has_come():
    code = """
from eigenstream import sources
for batch in sources.open('-'):
    print(batch.rows.tolist(), flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdin.write(b"1,2\n3,4\n5,")
        process.stdin.flush()
        assert process.stdout.readline() == b"[[1.0, 2.0], [3.0, 4.0]]\n"  # though a batch has 1,024 rows
        rest, _ = process.communicate(b"6")
    assert rest == b"[[5.0, 6.0]]\n"
