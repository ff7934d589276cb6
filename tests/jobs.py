"""Jobs that tests run and crash, the sources they read, and commands."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream.cli import main
from eigenstream.io.sources import ReadOptions
from eigenstream.jobs import Request, Watcher, prepare

ROWS, WIDTH, BATCH = 1000, 4, 100
OUTPUTS = ["s.csv", "s.npy", "s.parquet"]


class Crash(BaseException):
    """Ends a job as a kill does: nothing more is written."""


class Crashing(Watcher):
    """Crashes a job after this many batches."""

    def __init__(self, batches):
        self.left = batches

    def learnt(self, model, batch):
        self.left -= 1
        if not self.left:
            raise Crash


def write_sources():
    """Write two sources to the current folder; the second begins differently."""
    X = np.random.default_rng(0).standard_normal((ROWS, WIDTH)) * [9, 3, 1, 1]
    np.save("x.npy", X)
    np.save("other.npy", X[::-1])
    np.savetxt("x.csv", X, delimiter=",")


def job(source="x.npy", output="s.csv", *, save="m", every_rows=300, **options):
    parameters = {"max_components": 3, "random_state": 0}
    asked = Request(source, output, ReadOptions(batch_rows=BATCH), parameters=parameters)
    return prepare(asked, save=save, every_rows=every_rows, **options)


def run(*arguments, **options):
    with job(*arguments, **options) as prepared:
        return prepared.run()


def crash(*arguments, after, **options):
    """A job that is gone after this many batches."""
    with job(*arguments, **options) as prepared:
        prepared.watchers = (Crashing(after),)
        with pytest.raises(Crash):
            prepared.run()


def content(path):
    """The bytes of a file, or of each file in a folder."""
    path = Path(path)
    if not path.is_dir():
        return path.read_bytes()
    return {file.name: file.read_bytes() for file in sorted(path.iterdir())}


def call(*arguments, code=0):
    """What a command prints; it must end with this exit code."""
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit | None)
    return result.output
