"""Odd names of files, and what goes to standard output and standard error."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream import OnlineAdaptivePCA
from eigenstream.cli import main
from tests.environment import ENVIRONMENT

ODD = ["a[/b].csv", "a[red]b.csv", "cost_$100_$200.csv", "$x^2$ \\frac.csv", "a\x1b[31mb.csv"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((500, 4)) * [9, 3, 1, 1]
    np.savetxt("x.csv", X, delimiter=",", header="a,b,c,d", comments="")
    OnlineAdaptivePCA(random_state=0).fit(X).save("m")
    return tmp_path


def eigenstream(*arguments, **options):
    command = [sys.executable, "-m", "eigenstream", *arguments]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, timeout=120, **options)


def commands(source):
    """Every command that prints a name or draws it."""
    model = source.with_suffix(".model")
    return [
        ("run", source, "--save", model, "--picture", "p.png", "--output", source.with_suffix(".npy")),
        ("inspect", model, "--picture", "q.png"),
        ("merge", model, "--save", model, "--overwrite"),
        ("calibrate", source, "--components", "1"),
        ("transform", model, source),
    ]


@pytest.mark.parametrize("name", ODD)
def test_a_name_is_a_name_and_no_markup(folder, name):
    source = Path(name)
    source.parent.mkdir(exist_ok=True)
    source.write_bytes(Path("x.csv").read_bytes())
    printed = []
    for arguments in commands(source):
        result = CliRunner().invoke(main, list(map(str, arguments)))
        assert result.exit_code == 0, result.output
        printed.append(result.stdout)
    assert name.replace("\x1b", "\N{REPLACEMENT CHARACTER}") in printed[0]
    assert "\x1b" not in "".join(printed)
    assert Path("p.png").stat().st_size > 10_000


def test_a_name_that_is_not_text_is_printed_all_the_same(folder):
    source = Path(os.fsdecode(b"caf\xe9.csv"))
    source.write_bytes(Path("x.csv").read_bytes())
    for arguments in commands(source):
        done = eigenstream(*map(os.fsencode, arguments))
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr
        if arguments[0] in ("run", "inspect", "merge"):
            assert "caf\N{REPLACEMENT CHARACTER}" in done.stdout.decode()


def test_output_on_standard_output_is_only_output(folder):
    assert eigenstream("run", "x.csv", "--output", "s.csv", "--quiet").returncode == 0
    expected = Path("s.csv").read_bytes()
    for more in ((), ("--json",), ("--quiet",)):
        done = eigenstream("run", "x.csv", "--output", "-", *more)
        assert done.returncode == 0
        assert done.stdout == expected
        if more == ("--json",):
            events = [json.loads(line) for line in done.stderr.splitlines()]
            assert events[-1]["event"] == "end"
        else:
            assert (b"rank" in done.stderr) == (more == ())


@pytest.mark.parametrize("command", [["run", "big.csv", "--output", "-"], ["transform", "m", "big.csv"]])
def test_a_reader_that_leaves_early_is_no_error(folder, command):
    head, *lines = Path("x.csv").read_text().splitlines()
    Path("big.csv").write_text("\n".join([head, *(lines * 40)]))
    process = subprocess.Popen(
        [sys.executable, "-m", "eigenstream", *command],
        env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout.readline().startswith(b"row,")
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    process.wait(60)
    assert b"rror" not in errors
    assert b"Traceback" not in errors


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("run - <&-", "standard input is closed"),
        ("transform m - <&-", "standard input is closed"),
        ("calibrate - --components 1 <&-", "standard input is closed"),
        ("run x.csv --output - >&-", "standard output is closed"),
        ("transform m x.csv >&-", "standard output is closed"),
        ("run x.csv --rate 1e-300", "not in the range"),
        ("run x.csv --rate nan", "not a finite number"),
        ("run x.csv --rate inf", "not a finite number"),
        ("run x.csv --follow --idle nan", "not a finite number"),
        ("run x.csv --checkpoint-seconds nan", "not a finite number"),
        ("run x.csv --live-seconds nan", "not a finite number"),
    ],
)
def test_nonsense_is_an_error_in_words(folder, command, message):
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m eigenstream {command}', sys.executable],
        env=ENVIRONMENT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
