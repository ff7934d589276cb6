"""The examples of the gallery run from beginning to end."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs_and_draws(path, monkeypatch, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EIGENSTREAM_DATA", raising=False)
    try:
        runpy.run_path(str(path), run_name="__main__")
        assert pyplot.get_fignums()
    finally:
        pyplot.close("all")
