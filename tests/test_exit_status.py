"""Exit statuses: rows that were left out are told, whatever was printed; nothing is replaced unasked."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream.cli import main

QUIET = ("--on-bad-row", "skip", "--quiet")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A file of 500 rows, every fifth of which is not one of numbers; and one without a whole row."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((500, 3))
    X[300:330] += 30
    lines = [",".join(map(repr, row)) for row in X.tolist()]
    Path("good.csv").write_text("\n".join(["a,b,c", *lines]) + "\n")
    bad = ["x" + line if i % 5 == 2 else line for i, line in enumerate(lines)]
    Path("bad.csv").write_text("\n".join(["a,b,c", *bad]) + "\n")
    Path("gaps.csv").write_text("\n".join(["a,b,c", *(f"1,,{i}" for i in range(50))]) + "\n")
    return tmp_path


def call(*arguments):
    """Exit status and what was printed."""
    done = CliRunner().invoke(main, list(arguments))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.mark.parametrize("command", ["run", "watch"])
def test_a_job_that_left_out_too_many_rows_says_so(folder, command):
    """A monitor that has not seen four rows in five must not look content, whatever is not printed."""
    more = ("--exit-code", "--false-alarm-rate", "1e-9") if command == "watch" else ()
    code, said = call(command, "bad.csv", "--rows", ":250", *QUIET, *more)
    assert code == 4
    assert said.count("\n") == 1
    assert "50 of 250 rows were left out, the first since bad.csv, line 4" in said
    assert call(command, "bad.csv", "--rows", ":250", *QUIET, "--skip-at-most", "0.2") == (0, "")
    assert call(command, "gaps.csv", "--missing", "skip", "--quiet") == (
        4,
        "Error: gaps.csv: of 50 rows none was of use: all lack values (--missing impute fills gaps)\n",
    )


def test_it_counts_also_what_was_left_out_before_a_kill(folder):
    code, _ = call("run", "bad.csv", "--rows", ":100", "--save", "m", *QUIET)
    assert code == 4
    code, said = call("run", "bad.csv", "--rows", ":500", "--save", "m", "--resume", *QUIET)
    assert code == 4
    assert "100 of 500 rows" in said


def test_an_alarm_counts_for_more(folder):
    assert call("watch", "bad.csv", *QUIET, "--exit-code")[0] == 3
    assert call("watch", "bad.csv", *QUIET)[0] == 4


def test_transform_and_calibrate_say_so_too(folder):
    call("run", "good.csv", "--save", "m", "--quiet")
    code, said = call("transform", "m", "bad.csv", "--on-bad-row", "skip", "--output", "s.csv")
    assert code == 4
    assert "100 of 500 rows were left out" in said
    assert len(Path("s.csv").read_text().splitlines()) == 401
    assert call("calibrate", "bad.csv", "--on-bad-row", "skip", "--components", "1")[0] == 4
    assert call("calibrate", "good.csv", "--components", "1")[0] == 0


@pytest.mark.parametrize(
    "command",
    [
        ["run", "good.csv", "--save", "n", "--picture", "there.png"],
        ["watch", "good.csv", "--save", "n", "--picture", "there.png"],
        ["inspect", "m", "--picture", "there.png"],
        ["run", "good.csv", "--output", "there.csv"],
        ["run", "good.csv", "--save", "there.csv"],
        ["transform", "m", "good.csv", "--output", "there.csv"],
        ["export", "m", "there.csv"],
        ["merge", "m", "m", "--save", "there.csv"],
    ],
    ids=lambda command: f"{command[0]} {command[-2]}",
)
def test_no_output_replaces_a_file_unasked(folder, command):
    """Pictures too: they are refused before any time is spent, and nothing else is written."""
    call("run", "good.csv", "--save", "m", "--quiet")
    for name in ("there.png", "there.csv"):
        Path(name).write_text("mine")
    code, said = call(*command)
    assert code == 1
    assert "exists" in said
    assert "--overwrite replaces it" in said
    assert Path("there.png").read_text() == Path("there.csv").read_text() == "mine"
    assert not Path("n").exists()
    assert call(*command, "--overwrite")[0] == 0
    assert Path(command[-1]).read_bytes() != b"mine"


def test_the_picture_of_the_built_in_stream_replaces_none(folder):
    Path("eigenstream.png").write_text("mine")
    code, said = call("run", "--rows", ":200", "--rate", "1e9")
    assert code == 0
    assert "there is no picture: eigenstream.png exists" in said
    assert Path("eigenstream.png").read_text() == "mine"
