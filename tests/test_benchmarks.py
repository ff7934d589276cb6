import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.__main__ import NAMES, main
from benchmarks.contenders import CONTENDERS
from benchmarks.markdown import table


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    outcome = CliRunner().invoke(main, ["--quick", "--out", str(folder)], catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_every_section_leaves_a_report_its_numbers_and_a_picture(out, name):
    assert f"({name}.md)" in (out / "README.md").read_text()
    assert f"({name}.png)" in (out / f"{name}.md").read_text()
    assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    results = json.loads((out / f"{name}.json").read_text())
    assert {"processor", "numpy", "numba", "Python", "BLAS"} <= set(results["machine"])
    assert results["seconds"] > 0


def test_the_engine_meets_every_peer_on_one_stream(out):
    report = (out / "engine.md").read_text()
    for contest in json.loads((out / "engine.json").read_text())["contests"]:
        found = [(entry["name"], entry["kind"]) for entry in contest["contenders"]]
        assert found == [(make.name, make.flavour) for make in CONTENDERS]
        for entry in contest["contenders"]:
            assert f"| {entry['name']} | {entry['kind']} |" in report
            assert 0 < entry["one thread"]["best"] == min(entry["one thread"]["heats"])
            assert (entry["two threads"] is None) == (entry["kind"] == "compiled")
            assert 0 <= entry["subspace error"] <= 1
            assert 0 < entry["samples seen"] <= contest["T"]
        assert contest["contenders"][0]["samples seen"] == contest["T"]


def test_growth_has_slopes_and_memory(out):
    results = json.loads((out / "growth.json").read_text())
    assert list(results["curves"]) == ["T", "n", "k"]
    assert len(results["memory"]["seen"]) == len(results["memory"]["MiB"]) > 1


def test_offline_compares_with_the_bare_steps(out):
    report = (out / "offline.md").read_text()
    for row in ("| X'X and eigh alone | 1 |", "| solve, 16 outputs | 1 |", "| solve, n outputs | 2 |"):
        assert row in report


def test_quick_figures_do_not_replace_the_real_ones():
    outcome = CliRunner().invoke(main, ["--quick"])
    assert outcome.exit_code == 2
    assert "--quick needs --out" in outcome.output


def test_a_table_is_markdown():
    assert table(("a", "b"), [("x", 1)]) == "| a | b |\n| --- | ---: |\n| x | 1 |"
