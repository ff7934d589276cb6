"""Which files a job may touch, alone or beside another; what it keeps until it is done; jobs in Python."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import eigenstream
from eigenstream import OnlineAdaptivePCA
from eigenstream.io.sinks import SinkError
from eigenstream.jobs import Request, Watcher, prepare
from tests.jobs import BATCH, OUTPUTS, ROWS, call, content, crash, job, run, write_sources


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with the sources in it."""
    monkeypatch.chdir(tmp_path)
    write_sources()
    return tmp_path


# The same file twice


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "x.csv", "--save", "x.csv", "--overwrite"],
        ["run", "x.csv", "--output", "x.csv", "--overwrite"],
        ["run", "x.csv", "--output", "linked.csv", "--overwrite"],
        ["run", "x.csv", "--save", "linked.csv", "--overwrite"],
        ["run", "x.csv", "--save", "b.csv", "--output", "b.csv"],
        ["run", "x.csv", "--save", "b.png", "--picture", "b.png"],
        ["run", "folder.parquet", "--output", "folder.parquet", "--overwrite"],
        ["run", "folder.parquet/part-000000.parquet", "--output", "folder.parquet", "--overwrite"],
        ["transform", "m", "x.csv", "--output", "x.csv", "--overwrite"],
        ["transform", "m.csv", "x.csv", "--output", "m.csv", "--overwrite"],
        ["transform", "m", "folder.parquet", "--output", "folder.parquet", "--overwrite"],
    ],
)
def test_source_model_and_output_must_be_different_files(folder, arguments):
    run(output="folder.parquet")
    Path("m.csv").write_bytes(Path("m").read_bytes())
    Path("linked.csv").symlink_to("x.csv")
    before = {name: content(name) for name in sorted(os.listdir())}
    assert "are the same file" in call(*arguments, code=1)
    assert {name: content(name) for name in sorted(os.listdir())} == before


def test_what_a_job_shares_is_decided_once(folder, monkeypatch):
    looked_at = []
    monkeypatch.setattr("eigenstream.io.files.refuse_shared", lambda named: looked_at.append({**named}))
    run(output="s.csv")
    call("run", "--save", "m", "--resume", "--picture", "p.png", "--quiet")
    assert [(named["source"], named["output"], named.get("picture")) for named in looked_at] == [
        ("x.npy", "s.csv", None),
        ("x.npy", "s.csv", "p.png"),
    ]


def test_standard_input_that_is_the_output_is_refused(folder):
    before = content("x.csv")
    command = [sys.executable, "-m", "eigenstream", "run", "-", "--output", "x.csv", "--overwrite"]
    with open("x.csv") as piped:
        done = subprocess.run(command, stdin=piped, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "are the same file" in done.stderr
    assert content("x.csv") == before


# Two at once


HOLDER = """
import sys
from eigenstream.jobs import Watcher
from tests.jobs import job
class Waiting(Watcher):
    def learnt(self, model, batch):
        if batch.count == int(sys.argv[3]):
            print("at work", flush=True)
            sys.stdin.readline()
with job(output=sys.argv[1], save=sys.argv[2]) as prepared:
    prepared.watchers = (Waiting(),)
    prepared.run()
"""


class AtWork:
    """A job in another process that waits after this many rows until it is let go."""

    def __init__(self, output, save="first", rows=500):
        command = [sys.executable, "-c", HOLDER, str(output), str(save), str(rows)]
        path = os.pathsep.join([str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
        env = os.environ | {"PYTHONPATH": path}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
        )

    def __enter__(self):
        assert self.process.stdout.readline() == "at work\n"
        return self

    def __exit__(self, *failure):
        self.process.communicate("\n", timeout=60)
        assert self.process.returncode == 0


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_second_job_on_one_output_is_refused_and_harms_nothing(folder, output):
    with AtWork(output):
        before = content(output)
        with pytest.raises(SinkError, match="another process is writing to"):
            run("other.npy", output, save="second", overwrite=True)
        assert content(output) == before
    run(output="calm" + output[1:], save="calm")
    assert content(output) == content("calm" + output[1:])


def test_merge_and_links_take_the_lock(folder):
    run(output=None, save="a")
    Path("link").symlink_to("first")
    with AtWork("s.csv", save="first"):
        for arguments in (
            ("merge", "a", "--save", "first", "--overwrite"),
            ("merge", "a", "--save", "link", "--overwrite"),
            ("run", "x.npy", "--save", "link", "--overwrite"),
        ):
            assert "another process is working on" in call(*arguments, code=1)
    assert Path("link").is_symlink()
    call("merge", "a", "--save", "link", "--overwrite")
    assert Path("link").is_symlink()
    assert content("first") != content("a")
    assert not [name for name in os.listdir() if name.endswith(".lock")]


def test_another_model_s_temporary_file_is_left_alone(folder):
    Path(".m.model.0123456789abcdef.tmp").write_text("being written")
    run(output=None, save="m")
    assert content(".m.model.0123456789abcdef.tmp") == b"being written"


# What is overwritten stays until there is something better


@pytest.mark.parametrize(
    "arguments",
    [
        ["--output", "bad.txt"],
        ["--output", "nowhere/s.csv"],
        ["--output", "s.csv", "--max-components", "100"],
        ["--output", "s.csv", "--columns", "99"],
        ["--output", "s.csv", "--rows", "90000:"],
    ],
)
def test_overwriting_deletes_nothing_before_it_has_learnt(folder, arguments):
    run()
    before = {name: content(name) for name in ("m", "s.csv", ".m.job")}
    call("run", "x.csv", "--save", "m", "--overwrite", *arguments, code=1)
    assert {name: content(name) for name in before} == before
    assert run(resume=True).rows == 0  # the old job can still be resumed


@pytest.mark.parametrize("output", [None, *OUTPUTS])
@pytest.mark.parametrize("after", [1, 2, 3, 5])
def test_an_overwriting_job_that_was_killed_begins_anew(folder, output, after):
    run("other.npy", output)
    crash("x.npy", output, after=after, overwrite=True)
    run("x.npy", output, resume=True)
    calm = None if output is None else "calm" + output[1:]
    run("x.npy", calm, save="calm")
    assert eigenstream.load("m").n_samples_seen_ == ROWS
    np.testing.assert_array_equal(eigenstream.load("m").components_, eigenstream.load("calm").components_)
    if output is not None:
        assert content(output) == content(calm)


def test_an_empty_output_is_nothing_to_lose(folder):
    Path("s.csv").touch()
    run()
    assert len(Path("s.csv").read_text().splitlines()) == 1 + ROWS


# For those who write Python


def test_the_user_s_callback_is_kept_and_called(folder):
    changes, seen = [], []

    class Listening(Watcher):
        def rank_changed(self, change):
            seen.append(change)

    model = OnlineAdaptivePCA(random_state=0, on_rank_change=changes.append)
    with prepare(Request("x.npy"), model=model) as prepared:
        prepared.watchers = (Listening(),)
        prepared.run()
    assert changes == seen == model.rank_history_ != []
    assert model.on_rank_change == changes.append


def test_a_job_runs_outside_the_main_thread(folder):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run, save=None, output=None).result().rows == ROWS


@pytest.mark.parametrize("rate", [0, -1, 1e-300, float("nan"), float("inf")])
def test_rates_that_make_no_sense_are_refused(folder, rate):
    with pytest.raises(ValueError, match="rate must be at least"):
        job(save=None, rate=rate)


def test_the_output_of_transform_is_closed_when_something_goes_wrong(folder):
    from eigenstream import jobs as running
    from eigenstream import sinks, sources

    model = OnlineAdaptivePCA(random_state=0).fit(np.load("x.npy"))
    lines = Path("x.csv").read_text().splitlines()
    lines[500] = "oops,1,2,3"
    Path("bad.csv").write_text("\n".join(lines))
    opened = []

    def sink(layout):
        opened.append(sinks.open_sink("out.csv", layout))
        return opened[0]

    with (
        sources.open("bad.csv", batch_rows=BATCH) as source,
        pytest.raises(sources.SourceError, match="oops"),
    ):
        running.score(model, source, sink)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened[0].file.handle)
    assert len(Path("out.csv").read_text().splitlines()) == 1 + 500
