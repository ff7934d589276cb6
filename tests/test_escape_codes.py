"""Names of files, columns and keys may hold codes that a terminal obeys: none of them is printed as it is."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream.cli import main

RED = "\x1b[31m"
NAME = f"a{RED}b\x07"
COLUMNS = ["unit", f"x{RED}0", "x1\x9b2J", "x2"]
KEEP = ["--exclude", "0", "--batch-rows", "50"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((400, 3)) * [5, 1, 1]
    X[300:330] += 50
    rows = [f"u{RED}{i % 2}," + ",".join(map(repr, row)) for i, row in enumerate(X.tolist())]
    Path(f"{NAME}.csv").write_text("\n".join([",".join(COLUMNS), *rows]) + "\n")
    Path(f"bad{NAME}.csv").write_text("\n".join([",".join(COLUMNS), *rows[:99], f"u,{RED},1,2", *rows[99:]]))
    call("run", f"{NAME}.csv", *KEEP, "--save", f"{NAME}.model")
    call("watch", f"{NAME}.csv", *KEEP, "--save", f"{NAME}.monitor", "--time-format", "", code=None)
    call("run", f"{NAME}.csv", "--key", "unit", "--save", f"{NAME}.bank")
    return tmp_path


def call(*arguments, code=0):
    """Everything printed; if any of it is obeyed by a terminal, that is a failure."""
    done = CliRunner().invoke(main, [str(one) for one in arguments], prog_name="eigenstream")
    printed = done.output + done.stderr
    for letter in ("\x1b", "\x07", "\x9b"):
        assert letter not in printed, (arguments, printed)
    assert code is None or done.exit_code == code, printed
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return printed


COMMANDS = [
    ["run", f"{NAME}.csv", *KEEP],
    ["run", f"{NAME}.csv", *KEEP, "--json"],
    ["run", f"{NAME}.csv", *KEEP, "--picture", f"p{NAME}.png", "--output", f"o{NAME}.csv"],
    ["run", f"{NAME}.csv", "--columns", "q"],
    ["run", f"{NAME}.csv", "--columns", RED],
    ["run", f"{NAME}.csv", "--key", RED],
    ["run", f"{NAME}.csv", "--time-column", "unit"],
    ["run", f"{NAME}.csv", "--components", RED],
    ["run", f"{NAME}.csv", "--save", f"{NAME}.model"],
    ["run", f"{NAME}.csv", "--save", f"{NAME}.model", "--resume"],
    ["run", f"{NAME}.csv", "--model", f"{NAME}.model"],
    ["run", f"{NAME}.csv", "--model", f"{NAME}.bank"],
    ["run", f"bad{NAME}.csv", *KEEP],
    ["run", f"bad{NAME}.csv", *KEEP, "--on-bad-row", "skip"],
    ["run", f"bad{NAME}.csv", *KEEP, "--on-bad-row", "skip", "--skip-at-most", "0"],
    ["run", f"bad{NAME}.csv", *KEEP, "--on-bad-row", "skip", "--json"],
    ["run", f"missing{NAME}.csv"],
    ["run", f"{NAME}.csv", f"bad{NAME}.csv", *KEEP],
    ["run", f"{NAME}.csv", f"{NAME}.model"],
    ["run", f"{NAME}.csv", *KEEP, "--output", f"{NAME}.csv"],
    ["run", f"{NAME}.csv", *KEEP, "--output", f"o{NAME}.txt"],
    ["watch", f"{NAME}.csv", *KEEP],
    ["watch", f"{NAME}.csv", *KEEP, "--json"],
    ["watch", f"{NAME}.csv", "--key", "unit"],
    ["watch", f"{NAME}.csv", "--model", f"{NAME}.model", "--frozen"],
    ["transform", f"{NAME}.model", f"{NAME}.csv", "--output", f"t{NAME}.csv"],
    ["transform", f"{NAME}.bank", f"{NAME}.csv", "--output", f"b{NAME}.csv"],
    ["export", f"{NAME}.bank", f"{NAME}.jsonl"],
    ["merge", f"{NAME}.bank", f"{NAME}.bank", "--save", f"two {NAME}.bank"],
    ["run", f"{NAME}.csv", "--model", f"{NAME}.bank"],
    ["watch", f"{NAME}.csv", *KEEP, "--on-alarm", f"{NAME} x"],
    ["watch", f"{NAME}.csv", *KEEP, "--webhook", f"http://{NAME}"],
    ["transform", f"{NAME}.model", f"{NAME}.csv", "--columns", "0:2"],
    ["inspect", f"{NAME}.model"],
    ["inspect", f"{NAME}.model", "--json"],
    ["inspect", f"{NAME}.csv"],
    ["inspect", f"{NAME}.bank"],
    ["inspect", f"{NAME}.bank", "--json"],
    ["inspect", f"{NAME}.bank", "--key", RED],
    ["inspect", f"{NAME}.bank", "--key", f"u{RED}0"],
    ["inspect", f"{NAME}.model", "--key", RED],
    ["inspect", f"{NAME}.model", "--picture", f"q{NAME}.jpg"],
    ["inspect", f"{NAME}.monitor"],
    ["export", f"{NAME}.model", f"e{NAME}.json"],
    ["export", f"{NAME}.bank", f"e{NAME}.json", "--key", RED],
    ["merge", f"{NAME}.model", f"{NAME}.model", "--save", f"m{NAME}"],
    ["merge", f"{NAME}.model", f"{NAME}.bank", "--save", f"m{NAME}"],
    ["merge", f"{NAME}.model", f"{NAME}.csv", "--save", f"m{NAME}"],
    ["calibrate", f"{NAME}.csv", *KEEP, "--components", "2"],
    ["calibrate", f"{NAME}.csv", "--columns", RED, "--components", "2"],
    ["calibrate", f"bad{NAME}.csv", *KEEP, "--components", "2"],
    ["reproduce", RED],
    ["reproduce", "--set", RED],
    [RED],
    ["run", RED],
    ["run", f"--{RED}"],
]


def test_no_code_of_a_file_reaches_the_terminal(folder):
    """Also in errors: `run file --columns q` lists the columns that there are."""
    for command in COMMANDS:
        call(*command, code=None)
    said = call("run", f"{NAME}.csv", "--columns", "q", code=1)
    assert "x\N{REPLACEMENT CHARACTER}[31m0" in said
    assert json.loads(call("inspect", f"{NAME}.model", "--json"))["sources"] == [f"{NAME}.csv"]


def test_a_page_that_is_no_report_is_not_replaced(tmp_path):
    """`reproduce --out` writes index.html: not over that of somebody else."""
    shutil.copyfile(__file__, tmp_path / "index.html")
    said = call("reproduce", "large-alpha", "--quick", "--out", tmp_path, code=2)
    assert "is not a report: choose another folder" in said
    assert (tmp_path / "index.html").read_bytes() == Path(__file__).read_bytes()
