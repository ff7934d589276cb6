"""`eigenstream run`: exactly once, whatever happens."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import chdir
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import eigenstream
from eigenstream import streams
from eigenstream.cli import main
from tests.environment import ENVIRONMENT

HARNESS = Path(__file__).parent / "kill_and_resume.py"
ROWS, WIDTH = 6000, 6
COMMON = ("--half-life", "300", "--batch-rows", "128", "--max-components", "4", "--quiet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One stream as CSV, gzip and NPY."""
    folder = tmp_path_factory.mktemp("stream")
    X = np.vstack(list(streams.changing_rank(ROWS, ranks={0: 1, 3000: 2}, n_features=WIDTH, random_state=0)))
    np.save(folder / "x.npy", X)
    lines = [",".join(f"s{i}" for i in range(WIDTH)), *(",".join(map(repr, row)) for row in X.tolist())]
    text = ("\n".join(lines) + "\n").encode()
    (folder / "x.csv").write_bytes(text)
    (folder / "x.csv.gz").write_bytes(gzip.compress(text, mtime=0))
    return folder


def eigenstream_run(*arguments, cwd, stdin=None, check=True, **options):
    """Run the command in a folder; in a process of its own only where it needs a pipe or limits."""
    if stdin is None and not options:
        with chdir(cwd):
            result = CliRunner().invoke(main, ["run", *map(str, arguments)])
        done = SimpleNamespace(returncode=result.exit_code, stdout=result.stdout, stderr=result.stderr)
    else:
        done = subprocess.run(
            [sys.executable, "-m", "eigenstream", "run", *map(str, arguments)],
            cwd=cwd, env=ENVIRONMENT, stdin=stdin, capture_output=True, text=True, timeout=120, **options,
        )  # fmt: skip
    if check:
        assert done.returncode == 0, done.stderr
    return done


def killed_run(cwd, *arguments, kills, seed=0, stdin=None, longest=0.25):
    """Run, killed this many times; returns how often it really was."""
    job = {
        "command": ["run", *map(str, arguments), "--resume"],
        "kills": kills, "seed": seed, "stdin": stdin and str(stdin), "shortest": 0.02, "longest": longest,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(HARNESS), json.dumps(job)],
        cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    result = json.loads(done.stdout)
    assert result["exit"] == 0
    return result["kills"]


def content(folder, names):
    """Every byte of these files and folders."""
    found = {}
    for name in names:
        path = folder / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            found[str(file.relative_to(folder))] = file.read_bytes()
    return found


def same_content(one, other, output):
    names = ("model", output)
    expected, found = content(one, names), content(other, names)
    assert found.keys() == expected.keys()
    for name in expected:
        assert found[name] == expected[name], name


SOURCES = {"csv": "x.csv", "gzip": "x.csv.gz", "npy": "x.npy", "pipe": "-", "built-in": None}


@pytest.mark.parametrize(
    ("kind", "output", "kills"),
    [
        ("csv", "scores.csv", 6),
        ("pipe", "scores.npy", 3),
        *(
            pytest.param(kind, output, 30, marks=pytest.mark.slow)
            for kind in SOURCES
            for output in ("scores.csv", "scores.npy", "scores.parquet")
        ),
    ],
)
def test_killed_again_and_again_it_ends_as_if_nothing_had_happened(folder, tmp_path, kind, output, kills):
    source = () if SOURCES[kind] is None else (SOURCES[kind],)
    source = tuple(folder / name if name != "-" else name for name in source)
    stdin = folder / "x.csv" if kind == "pipe" else None
    arguments = (*source, *COMMON, "--output", output, "--save", "model")
    calm, troubled = tmp_path / "calm", tmp_path / "troubled"
    calm.mkdir()
    troubled.mkdir()
    with open(stdin or os.devnull) as piped:
        eigenstream_run(*arguments, "--rate", "1e9", cwd=calm, stdin=piped)
    # As slow as it takes for all the kills to strike; saving all the time, so that some strike then.
    rate = ROWS / (0.14 * kills)
    slow = ("--rate", rate, "--checkpoint-rows", "256", "--checkpoint-seconds", "0.05")
    assert killed_run(troubled, *arguments, *slow, kills=kills, stdin=stdin) >= kills * 2 // 3
    same_content(calm, troubled, output)


@pytest.mark.parametrize("kills", [5, pytest.param(30, marks=pytest.mark.slow)])
def test_a_growing_file_is_followed_through_kills(folder, tmp_path, kills):
    calm, troubled = tmp_path / "calm", tmp_path / "troubled"
    calm.mkdir()
    troubled.mkdir()
    arguments = (*COMMON, "--output", "scores.csv", "--save", "model")
    text = (folder / "x.csv").read_bytes()
    for place in (calm, troubled):
        (place / "log.csv").write_bytes(text if place is calm else text[:5000])
    eigenstream_run("log.csv", *arguments, "--overwrite", cwd=calm)
    seconds = 0.15 * kills
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder / "x.csv"), str(troubled / "log.csv"), str(seconds)]
    )
    try:
        saving = ("--checkpoint-rows", "256", "--follow", "--idle", "2")
        killed = killed_run(troubled, "log.csv", *arguments, *saving, kills=kills)
    finally:
        assert writer.wait(60) == 0
    assert killed == kills
    same_content(calm, troubled, "scores.csv")


WRITER = """
import sys, time
text = open(sys.argv[1], 'rb').read()
with open(sys.argv[2], 'ab', buffering=0) as log:
    at, steps = 5000, 200
    for step in range(1, steps + 1):
        upto = 5000 + (len(text) - 5000) * step // steps  # cuts through lines as it comes
        log.write(text[at:upto])
        at = upto
        time.sleep(float(sys.argv[3]) / steps)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_and_leaves_with_its_code(folder, tmp_path, number, code):
    arguments = (folder / "x.csv", *COMMON[:-1], "--output", "scores.csv", "--save", "model")
    (tmp_path / "calm").mkdir()
    eigenstream_run(*arguments, cwd=tmp_path / "calm")
    process = subprocess.Popen(
        [sys.executable, "-m", "eigenstream", "run", *map(str, arguments), "--rate", "1000", "--json"],
        cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    for line in process.stdout:  # not a comprehension: it must stop reading here
        if json.loads(line)["event"] == "progress":
            break
    process.send_signal(number)
    rest, errors = process.communicate(timeout=60)
    assert process.returncode == code
    assert errors == ""
    events = [json.loads(line) for line in rest.splitlines()]
    assert events[-1]["event"] == "end"
    assert events[-1]["signal"] == number
    saved = eigenstream.load(tmp_path / "model")
    assert 0 < saved.n_samples_seen_ < ROWS
    assert saved.n_samples_seen_ % 128 == 0  # on the grid, though time had nothing to do with it
    eigenstream_run(*arguments, "--resume", cwd=tmp_path)
    same_content(tmp_path / "calm", tmp_path, "scores.csv")


def test_a_signal_ends_the_wait_for_standard_input(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "eigenstream", "run", "-", "--json", "--save", "model", "--batch-rows", "2"],
        cwd=tmp_path, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stdin.write("1,2\n3,4\n5,7\n8,9\n2,1\n" * 40)
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["event"] in ("rank", "progress")  # on a busy computer
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 143
    process.communicate()
    assert eigenstream.load(tmp_path / "model").n_samples_seen_ > 0


def test_a_second_process_is_refused(folder, tmp_path):
    arguments = (folder / "x.csv", *COMMON[:-1], "--save", "model", "--json", "--rate", "300")
    first = subprocess.Popen(
        [sys.executable, "-m", "eigenstream", "run", *map(str, arguments)],
        cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    first.stdout.readline()
    second = eigenstream_run(*arguments, "--resume", cwd=tmp_path, check=False)
    assert second.returncode == 1
    assert "another process is working on model" in second.stderr
    first.terminate()
    first.communicate(timeout=60)
    assert first.returncode == 143


def test_a_full_disk_keeps_the_last_checkpoint(folder, tmp_path):
    def little_room():
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    arguments = (folder / "x.csv", *COMMON, "--output", "scores.csv", "--save", "model")
    saving = ("--checkpoint-rows", "256")
    failed = eigenstream_run(*arguments, *saving, cwd=tmp_path, check=False, preexec_fn=little_room)
    assert failed.returncode == 1
    assert "File too large; the last checkpoint in model is intact" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert eigenstream.load(tmp_path / "model").n_samples_seen_ > 0
    eigenstream_run(*arguments, "--resume", cwd=tmp_path)
    (tmp_path / "calm").mkdir()
    eigenstream_run(*arguments, cwd=tmp_path / "calm")
    same_content(tmp_path / "calm", tmp_path, "scores.csv")


def test_another_source_is_refused(folder, tmp_path):
    eigenstream_run(folder / "x.csv", *COMMON, "--save", "model", "--rows", ":1000", cwd=tmp_path)
    other = (folder / "x.csv").read_bytes().replace(b"-", b"", 1)
    (tmp_path / "other.csv").write_bytes(other)
    refused = eigenstream_run("other.csv", "--save", "model", "--resume", cwd=tmp_path, check=False)
    assert refused.returncode == 1
    assert "does not begin as it did" in refused.stderr


def test_a_replayed_pipe_must_begin_as_it_did(folder, tmp_path):
    with (folder / "x.csv").open() as piped:
        eigenstream_run("-", *COMMON, "--save", "model", cwd=tmp_path, stdin=piped)
    changed = (folder / "x.csv").read_bytes()
    at = changed.index(b"\n", 3000) + 2
    (tmp_path / "changed.csv").write_bytes(changed[:at] + b"1" + changed[at:])
    with (tmp_path / "changed.csv").open() as piped:
        refused = eigenstream_run("-", "--save", "model", "--resume", cwd=tmp_path, stdin=piped, check=False)
    assert refused.returncode == 1
    assert "standard input does not begin as it did" in refused.stderr


def test_a_file_that_grew_is_continued(folder, tmp_path):
    text = (folder / "x.csv").read_bytes()
    half = text.index(b"\n", len(text) // 2) + 1
    (tmp_path / "log.csv").write_bytes(text[:half])
    eigenstream_run("log.csv", *COMMON, "--save", "model", "--output", "scores.csv", cwd=tmp_path)
    (tmp_path / "log.csv").write_bytes(text)
    eigenstream_run("log.csv", "--quiet", "--save", "model", "--resume", cwd=tmp_path)
    whole = eigenstream.OnlineAdaptivePCA(half_life=300, max_components=4, random_state=0)
    whole.partial_fit(np.load(folder / "x.npy"))
    grown = eigenstream.load(tmp_path / "model")
    assert grown.n_samples_seen_ == ROWS
    np.testing.assert_array_equal(grown.components_, whole.components_)
    assert len((tmp_path / "scores.csv").read_text().splitlines()) == 1 + ROWS


def test_what_is_overwritten_cannot_be_resumed(folder, tmp_path):
    eigenstream_run(folder / "x.csv", *COMMON, "--save", "model", cwd=tmp_path)
    arguments = (folder / "x.npy", *COMMON[:-1], "--save", "model", "--overwrite", "--rate", "100", "--json")
    process = subprocess.Popen(
        [sys.executable, "-m", "eigenstream", "run", *map(str, arguments)],
        cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    for line in process.stdout:  # not a comprehension: it must stop reading here
        if json.loads(line)["event"] == "progress":
            break
    process.kill()
    process.communicate(timeout=60)
    before = (tmp_path / "model").read_bytes()  # it stays until there is something to put in its place
    again = (folder / "x.npy", *COMMON, "--save", "model")
    assert "model exists" in eigenstream_run(*again, cwd=tmp_path, check=False).stderr
    assert (tmp_path / "model").read_bytes() == before
    eigenstream_run(*again, "--resume", cwd=tmp_path)
    (tmp_path / "calm").mkdir()
    eigenstream_run(*again, cwd=tmp_path / "calm")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "calm" / "model").read_bytes() != before


def test_scores_are_those_from_before_learning(folder, tmp_path):
    eigenstream_run(folder / "x.npy", *COMMON, "--output", "scores.npy", cwd=tmp_path)
    model = eigenstream.OnlineAdaptivePCA(half_life=300, max_components=4, random_state=0)
    expected = np.array([model.learn_one(x) for x in np.load(folder / "x.npy")])
    found = np.load(tmp_path / "scores.npy")
    blank = np.isnan(found).all(axis=1)
    assert 0 < blank.sum() < 100, "no score, rather than zeros, before the model starts, and only then"
    assert blank[: blank.sum()].all()
    assert not expected[blank].any()
    np.testing.assert_allclose(found[~blank], expected[~blank], atol=1e-10)


def test_nothing_is_overwritten_unasked(folder, tmp_path):
    (tmp_path / "scores.csv").write_text("precious")
    for save in ((), ("--save", "model"), ("--save", "model", "--resume")):
        refused = eigenstream_run(
            folder / "x.csv", *COMMON, "--output", "scores.csv", *save, cwd=tmp_path, check=False
        )
        assert refused.returncode == 1
        assert "scores.csv exists: choose another name (--overwrite replaces it)" in refused.stderr
    assert (tmp_path / "scores.csv").read_text() == "precious"
    eigenstream_run(folder / "x.csv", *COMMON, "--output", "scores.csv", "--overwrite", cwd=tmp_path)
    assert (tmp_path / "scores.csv").read_text().startswith("row,component_0")


def test_two_jobs_cannot_write_to_one_output(folder, tmp_path):
    arguments = (folder / "x.csv", *COMMON[:-1], "--output", "scores.csv", "--overwrite", "--json")
    first = subprocess.Popen(
        [sys.executable, "-m", "eigenstream", "run", *map(str, arguments), "--rate", "300"],
        cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    first.stdout.readline()
    second = eigenstream_run(*arguments, cwd=tmp_path, check=False)
    assert second.returncode == 1
    assert "another process is writing to scores.csv" in second.stderr
    first.terminate()
    first.communicate(timeout=60)


def test_rows_of_a_pipe_are_learnt_as_they_come(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "eigenstream", "run", "-", "--json", "--output", "scores.csv"],
        cwd=tmp_path, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stdin.write("1,2\n3,4\n5,7\n8,9\n" * 10)
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["event"] == "rank"  # though the pipe is still open
    deadline = time.monotonic() + 30
    while lines_of(tmp_path / "scores.csv") < 41 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert lines_of(tmp_path / "scores.csv") == 41
    process.communicate(timeout=60)
    assert lines_of(tmp_path / "scores.csv") == 41


def lines_of(path):
    return len(path.read_text().splitlines()) if path.exists() else 0
