"""Redis streams: every entry exactly once, by its id, whatever is killed or restarted."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import eigenstream
from eigenstream import sources
from eigenstream.io.sources import SourceError, redis_address, redis_stream
from tests.jobs import call
from tests.source_files import DATA, NAMES, read, rows_of

redis = pytest.importorskip("redis", reason="redis-py is not installed")
SERVER = shutil.which("redis-server")
pytestmark = pytest.mark.skipif(SERVER is None, reason="redis-server is not installed")
HARNESS = Path(__file__).parent / "kill_and_resume.py"


class Server:
    """A server on loopback that keeps what it is told through restarts."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder, self.process = folder, None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [SERVER, "--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder),
             "--appendonly", "yes", "--appendfsync", "always", "--save", ""],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        self.client = redis.Redis(port=self.port, decode_responses=True)
        deadline = time.monotonic() + 30
        while True:
            try:
                self.client.ping()
                return
            except redis.ConnectionError:
                assert time.monotonic() < deadline, "the server does not start"
                time.sleep(0.01)

    def stop(self):
        self.client.close()
        self.process.terminate()
        self.process.wait(30)

    def add(self, stream, X):
        pipeline = self.client.pipeline()
        for row in X.tolist():
            pipeline.xadd(stream, {name: repr(value) for name, value in zip(NAMES, row, strict=False)})
        pipeline.execute()

    def address(self, stream):
        return f"redis://127.0.0.1:{self.port}/0?stream={stream}"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture
def stream(server):
    server.client.flushall()
    server.add("sensors", DATA)
    return server.address("sensors")


def test_entries_are_rows_from_any_place_on(stream):
    batches, positions = read(stream, batch_rows=8)
    np.testing.assert_array_equal(np.vstack([batch.rows for batch in batches]), DATA)
    np.testing.assert_array_equal(np.concatenate([batch.numbers for batch in batches]), np.arange(50))
    for i, position in enumerate(positions):
        rest, later = read(stream, batch_rows=8, position=position)
        assert later == positions[i + 1 :]
        assert [b.rows.tobytes() for b in rest] == [b.rows.tobytes() for b in batches[i + 1 :]]


def test_columns_and_rows_are_chosen_as_elsewhere(stream):
    np.testing.assert_array_equal(rows_of(stream, columns="c,a", rows=(5, 9)), DATA[5:9, [2, 0]])
    np.testing.assert_array_equal(rows_of(stream, exclude="b"), DATA[:, [0, 2, 3]])


def test_what_is_wrong_is_named_with_its_entry(server, stream):
    server.client.xadd("sensors", {"a": "1", "b": "x", "c": "1", "d": "1"}, "9999999999999-1")
    with pytest.raises(
        SourceError, match=r"Redis stream 'sensors', entry 9999999999999-1, 'b': 'x' is not a"
    ):
        read(stream)
    server.client.xadd("sensors", {"a": "1"}, "9999999999999-2")
    rows = rows_of(stream, on_bad_row="skip", allow_nan=True)
    np.testing.assert_array_equal(rows, [*DATA.tolist(), [1, np.nan, np.nan, np.nan]])


def test_another_stream_is_refused(server, stream):
    _, positions = read(stream, batch_rows=8)
    server.client.delete("sensors")
    with pytest.raises(SourceError, match="is empty"):
        sources.open(stream, position=positions[2])
    last = positions[2]["id"].split("-")[0]
    server.client.xadd("sensors", dict.fromkeys(NAMES, "1"), "1-1")
    with pytest.raises(SourceError, match="it was emptied or filled anew: 24 entries had been added"):
        sources.open(stream, position=positions[2])
    server.client.xadd("sensors", dict.fromkeys(NAMES, "1"), positions[2]["id"])
    server.client.xadd("sensors", dict.fromkeys(NAMES, "1"), f"{last}9-1")
    with pytest.raises(SourceError, match="does not begin as it did"):
        sources.open(stream, position=positions[2])


def test_entries_that_were_trimmed_before_they_were_read_are_missed(server, stream):
    _, positions = read(stream, batch_rows=8)
    server.client.xtrim("sensors", maxlen=30, approximate=False)
    np.testing.assert_array_equal(rows_of(stream, position=positions[2]), DATA[24:])
    np.testing.assert_array_equal(rows_of(stream, position=positions[3]), DATA[32:])
    with pytest.raises(SourceError, match=r"4 entries after .* were removed before they were read"):
        sources.open(stream, position=positions[1])
    np.testing.assert_array_equal(rows_of(stream), DATA[20:])  # afresh there is nothing to miss


def test_what_has_come_is_handed_out_while_more_is_waited_for(server, stream):
    with sources.open(stream, follow=True, idle=5.0, batch_rows=64) as source:
        batches = iter(source)
        first = next(batches)  # though the batch is not full
        assert first.count == 50
        server.add("sensors", DATA[:14])
        assert next(batches).count == 64


def test_a_model_goes_on_with_another_stream_and_with_what_is_added(server, stream, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server.client.delete("later")
    server.add("later", DATA[::-1])
    one, two = stream, server.address("later")
    call("run", one, "--save", "m", "--quiet")
    assert "was learnt before" in call("run", one, "--model", "m", "--save", "m", code=1)
    call("run", two, "--model", "m", "--save", "m", "--quiet")
    assert "nothing new" in call("run", two, "--model", "m", "--save", "m", "--resume")
    server.add("later", DATA[:5])
    call("run", two, "--model", "m", "--save", "m", "--resume", "--quiet")
    assert eigenstream.load("m").n_samples_seen_ == 2 * len(DATA) + 5


def test_addresses_that_make_no_sense(server, monkeypatch):
    with pytest.raises(SourceError, match="add \\?stream=NAME"):
        sources.open(f"redis://127.0.0.1:{server.port}/0")
    monkeypatch.setattr(redis_address, "FIRST_PATIENCE", 0.0)
    with pytest.raises(SourceError, match="the server does not answer"):
        sources.open("redis://127.0.0.1:1/0?stream=x")
    server.client.set("word", "1")
    with pytest.raises(SourceError, match="'word' cannot be read: WRONGTYPE"):
        sources.open(server.address("word"))
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(SourceError, match=r"pip install 'eigenstream\[redis\]'"):
        sources.open(server.address("x"))


def test_a_server_that_does_not_come_back_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(redis_stream, "PATIENCE", 0.0)
    server = Server(tmp_path)
    server.add("sensors", DATA)
    with sources.open(server.address("sensors"), batch_rows=8) as source:
        next(iter(source))
        server.stop()
        with pytest.raises(SourceError, match="the server does not answer"):
            list(source)


def wait_for_rows(path, rows, process):
    """Until a job has written this many, or has ended."""
    deadline = time.monotonic() + 120
    while process.poll() is None and (not path.exists() or path.read_bytes().count(b"\n") < rows):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(("kills", "restarts"), [(4, 1), pytest.param(25, 3, marks=pytest.mark.slow)])
def test_killed_and_restarted_nothing_is_lost_and_nothing_twice(kills, restarts, tmp_path):
    """The same model and scores as from a file, byte for byte."""
    server = Server(tmp_path)
    try:
        X = np.random.default_rng(0).standard_normal((3000, 4)) * [4, 2, 1, 1]
        server.add("sensors", X)
        lines = [",".join(NAMES), *(",".join(map(repr, row)) for row in X.tolist())]
        (tmp_path / "x.csv").write_text("\n".join(lines) + "\n")
        options = ["--batch-rows", "64", "--max-components", "3", "--quiet", "--output", "scores.csv"]
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        for name in ("calm", "troubled"):
            (tmp_path / name).mkdir()
        subprocess.run(
            [sys.executable, "-m", "eigenstream", "run", "../x.csv", *options, "--save", "model"],
            cwd=tmp_path / "calm", env=environment, check=True, timeout=120,
        )  # fmt: skip
        slowly = ["--checkpoint-rows", "64", "--checkpoint-seconds", "0.05", "--rate", str(20_000 / kills)]
        command = ["run", server.address("sensors"), *options, "--save", "model", "--resume", *slowly]
        job = {"command": command, "kills": kills, "seed": 0, "shortest": 0.02, "longest": 0.25}
        scores = tmp_path / "troubled" / "scores.csv"
        with subprocess.Popen(
            [sys.executable, str(HARNESS), json.dumps(job)],
            cwd=tmp_path / "troubled", env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as harness:  # fmt: skip
            for part in range(1, restarts + 1):
                wait_for_rows(scores, 3000 * part // (restarts + 1), harness)
                server.stop()
                server.start()
            told, errors = harness.communicate(timeout=300)
        assert errors == ""
        assert json.loads(told)["exit"] == 0
        assert json.loads(told)["kills"] >= kills // 3
        assert scores.read_bytes() == (tmp_path / "calm" / "scores.csv").read_bytes()
        calm, troubled = (eigenstream.load(tmp_path / name / "model") for name in ("calm", "troubled"))
        np.testing.assert_array_equal(calm.components_, troubled.components_)
        assert calm.n_samples_seen_ == troubled.n_samples_seen_ == 3000
    finally:
        server.stop()
