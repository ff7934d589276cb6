"""The closing lines of run and watch: what a person needs to know about the columns."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream.cli import main


def said(*arguments, code=0):
    done = CliRunner().invoke(main, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.output


def table(path, X):
    """A CSV file; NaN is an empty cell."""
    lines = [",".join("" if np.isnan(v) else f"{v:.4f}" for v in row) for row in X]
    path.write_text("\n".join([",".join(f"c{i}" for i in range(X.shape[1])), *lines]) + "\n")
    return path


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.standard_normal((600, 2)) @ rng.standard_normal((2, 7)) + 0.1 * rng.standard_normal((600, 7))


def test_columns_without_a_value_and_constant_ones_are_named(tmp_path, X):
    X[:, 5], X[:, 6] = np.nan, 3.0
    source = table(tmp_path / "x.csv", X)
    for more in ([], ["--lags", "1"]):
        told = said("run", source, "--missing", "impute", *more)
        assert "note: c5 has no value at all: --exclude c5 leaves it out\n" in told
        assert "note: c6 is constant\n" in told
    told = said("watch", source, "--missing", "impute")
    assert "c5 has no value at all" in told
    assert "constant" not in told
    notes = json.loads(said("run", source, "--missing", "impute", "--json").splitlines()[-1])["notes"]
    assert notes[:2] == ["c5 has no value at all: --exclude c5 leaves it out", "c6 is constant"]
    told = said("run", source, "--exclude", "c5,c6")
    assert "no value" not in told
    assert "constant" not in told
    assert "no value" not in said("run", source, "--missing", "skip", code=4)  # nothing was learnt
