import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

import eigenstream
from eigenstream.cli import main


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_loads_next_to_nothing():
    code = """
import sys, json
before = set(sys.modules)
import eigenstream
print(json.dumps(sorted(set(sys.modules) - before)))
"""
    loaded = json.loads(run_python(code))
    heavy = {"numba", "sklearn", "scipy", "numpy", "matplotlib", "click", "rich"}
    assert heavy.isdisjoint(name.split(".")[0] for name in loaded)
    assert len(loaded) <= 15


def test_vocabulary_needs_neither_numba_nor_scikit_learn():
    code = """
import sys, eigenstream
eigenstream.offline.solve([[1.0, 2.0]], eigenstream.InputOutput(0.1))
eigenstream.theory, eigenstream.streams, eigenstream.metrics, eigenstream.calibrate_alpha
print({"numba", "sklearn"} & set(sys.modules))
"""
    assert run_python(code).strip() == "set()"


def test_every_public_name_resolves():
    for name in eigenstream.__all__:
        assert getattr(eigenstream, name) is not None
        assert name in dir(eigenstream)
    assert eigenstream.__version__.count(".") == 2
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = eigenstream.nothing_like_it


def test_demo_finds_four_components_each_way():
    result = CliRunner().invoke(main, ["demo", "--samples", "2000"])
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.output.splitlines()]
    ranks = {
        solved: [row[row.index(solved) + 3] for row in rows if solved in row]
        for solved in ("offline", "online")
    }
    assert ranks == {"offline": ["4"] * 3, "online": ["4"] * 3}
    for name in ("scale-dependent", "input-output", "squared-output"):
        assert name in result.output


def test_reproduce_prints_section_three():
    result = CliRunner().invoke(main, ["reproduce"])
    assert result.exit_code == 0, result.output
    assert "(0.2525, 0.7475)" in result.output
    assert result.output.count("(0.0198, 1.0000)") == 2


def test_module_is_the_command_line():
    shown = subprocess.run(
        [sys.executable, "-m", "eigenstream", "--version"], capture_output=True, text=True, check=True
    )
    assert eigenstream.__version__ in shown.stdout
