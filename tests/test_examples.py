"""The examples of the gallery run from beginning to end."""

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def marked(path):
    """An example that needs PyTorch is run by `make test-torch`."""
    marks = [pytest.mark.torch] if "integrations.torch" in path.read_text() else []
    return pytest.param(path, marks=marks, id=path.stem)


def test_each_answers_a_question():
    for path in EXAMPLES:
        assert re.search(r"The question: \*.*\?\*", path.read_text()), path.name
        assert "The answer: **" in path.read_text(), path.name


@pytest.mark.parametrize("path", list(map(marked, EXAMPLES)))
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
