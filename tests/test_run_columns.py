"""What `run`, `transform` and `inspect` say and write besides scores: columns, times, residuals, names."""

import csv
import json
import re
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream import OnlineAdaptivePCA, load
from eigenstream.cli import main
from eigenstream.jobs.starting_point import StartingPoint
from eigenstream.jobs.times import LIMIT, Times
from tests.jobs import call

ROWS = 600
X = np.random.default_rng(0).standard_normal((ROWS, 4)) * [9, 4, 1, 1]
X[:, 1] += X[:, 0]
STAMPS = [f"2024-01-{1 + i // 100:02} {i % 100 // 60:02}:{i % 100 % 60:02}" for i in range(ROWS)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{STAMPS[i]},{','.join(map(repr, X[i].tolist()))},pump {i % 2}" for i in range(ROWS)]
    Path("x.csv").write_text("\n".join(["time,flow,heat,noise,hum,unit", *lines]) + "\n")
    return tmp_path


KEEPING = ("--time-column", "time", "--keep", "unit")


def times_of(model):
    return StartingPoint.of(model, "m").times.at_all


@pytest.mark.parametrize("output", ["s.csv", "s.jsonl"])
def test_kept_columns_stand_before_the_scores(output):
    call("run", "x.csv", *KEEPING, "--output", output, "--save", "m", "--max-components", "2", "--quiet")
    call("transform", "m", "x.csv", "--output", "t.csv")
    for name in (output, "t.csv"):
        with open(name, newline="") as file:
            rows = list(csv.DictReader(file)) if name.endswith("csv") else [json.loads(line) for line in file]
        assert list(rows[0]) == ["row", "time", "unit", "component_0", "component_1"]
        assert [(row["time"], row["unit"]) for row in rows] == [
            (STAMPS[i], f"pump {i % 2}") for i in range(ROWS)
        ]
    assert load("m").n_features_in_ == 4


def test_numbers_alone_keep_no_text():
    assert "can only hold numbers" in call("run", "x.csv", "--keep", "unit", "--output", "s.npy", code=1)
    call("run", "x.csv", "--exclude", "unit", "--time-column", "time", "--output", "s.npy", "--quiet")
    assert np.load("s.npy").shape == (ROWS, 4)


@pytest.mark.parametrize("solver", ["exact", "subspace", "network"])
@pytest.mark.parametrize("batch_rows", ["7", "600"])
def test_residuals_are_squared_distances_from_what_was_known(solver, batch_rows):
    options = (*KEEPING, "--solver", solver, "--max-components", "2", "--residuals", "--quiet")
    call(
        "run", "x.csv", *options, "--output", f"{batch_rows}.jsonl", "--save", "m", "--batch-rows", batch_rows
    )
    rows = [json.loads(line) for line in Path(f"{batch_rows}.jsonl").read_text().splitlines()]
    found = np.array([row["squared_residual"] for row in rows], dtype=float)
    assert np.isnan(found[0])
    assert np.isfinite(found[-300:]).all()
    model = load("m")
    np.testing.assert_allclose(found[-50:], model.squared_residuals(X[-50:]), rtol=0.2, atol=0.5)
    call("transform", "m", "x.csv", "--residuals", "--output", "t.csv")
    written = np.genfromtxt("t.csv", delimiter=",", names=True, usecols=(0, 5))
    np.testing.assert_allclose(written["squared_residual"], model.squared_residuals(X))


@pytest.mark.parametrize("solver", ["exact", "subspace", "network"])
def test_residuals_have_the_same_bits_for_any_batches(solver):
    found = []
    for rows in ("7", "64", "600"):
        options = ("--solver", solver, "--residuals", "--quiet", "--batch-rows", rows)
        call("run", "x.csv", *KEEPING, *options, "--output", f"{rows}.csv")
        found.append(Path(f"{rows}.csv").read_bytes())
    assert found[0] == found[1] == found[2]


def test_residuals_need_an_output():
    assert "--residuals are written beside the scores" in call("run", "x.csv", "--residuals", code=2)


def test_components_are_told_by_the_inputs_that_make_them_up():
    said = call("run", "x.csv", *KEEPING, "--save", "m", "--components", "95%")
    assert re.search(r"component 0: ([+-])0\.7\d heat, \1(0\.7|0\.6)\d flow", said)
    assert "600 learnt" in said
    assert "times in 'time' are read as ISO 8601" in said
    assert "component 0: " in call("inspect", "m")
    first = json.loads(call("inspect", "m", "--json"))["loadings"][0]
    assert list(first)[:2] == ["heat", "flow"]
    np.savetxt("bare.csv", X, delimiter=",")
    assert "x1, " in call("run", "bare.csv", "--components", "95%")


def test_errors_and_advice_name_flags():
    rng = np.random.default_rng(0)
    np.save("noise.npy", rng.standard_normal((500, 6)))
    said = call("run", "noise.npy", "--save", "m")
    assert "--components parallel" in said
    assert "rules." not in said
    said = call("run", "x.csv", *KEEPING, "--save", "m", code=1)
    assert (
        "m exists (--resume continues it; --model m goes on from it with another source; --overwrite" in said
    )
    assert "deserializ" not in call("inspect", "x.csv", code=1)


def test_calibrate_skips_rows_that_lack_values():
    X[5, 1], Y = np.nan, X[np.arange(ROWS) != 5]
    try:
        np.savetxt("gaps.csv", X, delimiter=",")
        np.savetxt("whole.csv", Y, delimiter=",")
        assert "--missing skip leaves such rows out" in call(
            "calibrate", "gaps.csv", "--components", "1", code=1
        )
        command = ("--components", "1", "--json")
        found = call("calibrate", "gaps.csv", "--missing", "skip", *command)
        assert json.loads(found) == json.loads(call("calibrate", "whole.csv", *command))
        assert "needs a model" in call("calibrate", "gaps.csv", "--missing", "impute", *command, code=2)
    finally:
        X[5, 1] = 1.0


@pytest.mark.parametrize(
    ("content", "options", "hint"),
    [
        ('a;b\n"1.234,5";2,5\n3,5;4,5\n', ["--decimal", ","], "--thousands . reads groups of three digits"),
        ('a,b\n"1,234.5",2.5\n3.5,4.5\n', [], "--thousands , reads groups of three digits"),
        ("a;b\n1.234,5;2,5\n3,5;4,5\n", [], "'1.234,5' is not a number (--thousands . reads groups"),
        ("a;b\n1 234.5;2.5\n3.5;4.5\n", ["--delimiter", ";"], "--thousands ' ' reads groups of three digits"),
    ],
)
def test_thousands_marks_are_read_or_named(content, options, hint):
    Path("n.csv").write_text(content)
    said = call("run", "n.csv", *options, "--output", "-", code=1)
    assert hint in said
    mark = hint.split("--thousands ")[1][0].replace("'", " ")
    more = ["--decimal", ","] if "--decimal" in hint else []
    call("run", "n.csv", *options, *more, "--thousands", mark, "--save", "m", "--quiet")
    np.testing.assert_allclose(load("m").mean_, [(1234.5 + 3.5) / 2, 3.5])


def test_a_mark_that_does_not_part_groups_of_three_is_no_thousands_mark():
    Path("n.csv").write_text("a;b\n1.23;2\n")
    said = call("run", "n.csv", "--decimal", ",", "--thousands", ".", code=1)
    assert "'1.23' is not a number" in said
    said = call("run", "n.csv", "--decimal", ",", "--thousands", ",", code=1)
    assert "thousands mark must be a point, a comma or a space, and not the decimal mark" in said


def test_several_threads_read_the_same_bits():
    text = Path("x.csv").read_text()
    Path("bad.csv").write_text(text.replace(STAMPS[300] + ",", STAMPS[300] + ",oops,", 1))
    for name, more in (("one", ()), ("four", ("--threads", "4"))):
        call("run", "bad.csv", *KEEPING, "--on-bad-row", "skip", "--save", name, "--quiet", *more)
    assert load("one").n_samples_seen_ == ROWS - 1
    assert Path("one").read_bytes() == Path("four").read_bytes()


def test_resuming_with_other_rows_says_what_it_does():
    call("run", "x.csv", *KEEPING, "--rows", ":200", "--save", "m", "--quiet")
    said = call("run", "x.csv", "--save", "m", "--resume")
    assert "x.csv: nothing new, it had been learnt to row 200, as --rows 0:200 asks" in said
    call("run", "x.csv", "--rows", ":500", "--save", "m", "--resume", "--quiet")
    assert load("m").n_samples_seen_ == 500
    for rows in (":400", "100:600"):
        said = call("run", "x.csv", "--rows", rows, "--save", "m", "--resume", code=1)
        assert "m was made with --rows 0:500, not with --rows " in said
    call("run", "x.csv", "--rows", "0:", "--save", "m", "--resume", "--quiet")
    assert load("m").n_samples_seen_ == ROWS


def test_resuming_with_another_file_names_the_old_one():
    call("run", "x.csv", *KEEPING, "--save", "m", "--quiet")
    Path("y.csv").write_text("time,flow,heat,noise,hum,unit\n2024-01-01,1,2,3,4,a\n")
    said = call("run", "y.csv", "--save", "m", "--resume", code=1)
    assert "the model had been learning from x.csv" in said


@pytest.mark.parametrize("rows", ["50", "1024"])
def test_times_are_the_axis_of_pictures(rows):
    pytest.importorskip("matplotlib")
    from matplotlib.dates import num2date

    from eigenstream.plotting import draw_history

    call("run", "x.csv", *KEEPING, "--save", "m", "--batch-rows", rows, "--picture", "p.png", "--quiet")
    model = load("m")
    figure = draw_history(model.spectrum_history_, "x", times_of(model))
    axis = figure.axes[1]
    assert axis.get_xlabel() == "time (UTC)"
    assert num2date(axis.dataLim.x0).strftime("%Y-%m-%d") == "2024-01-01"
    assert num2date(axis.dataLim.x1).strftime("%Y-%m-%d") in ("2024-01-05", "2024-01-06")
    call("inspect", "m", "--picture", "q.png")


SECONDS = np.array([datetime.fromisoformat(f"{stamp}+00:00").timestamp() for stamp in STAMPS])


@pytest.mark.parametrize("rows", ["7", "50", "1024"])
def test_times_are_right_beside_each_pause(rows):
    """The rows of `STAMPS` come in the first 100 minutes of each day."""
    call("run", "x.csv", *KEEPING, "--save", "m", "--batch-rows", rows, "--quiet")
    np.testing.assert_allclose(times_of(load("m"))(np.arange(1, ROWS + 1)), SECONDS, rtol=0, atol=1e-3)


def test_times_are_those_of_the_rows_learnt_and_of_each_source():
    lines = Path("x.csv").read_text().splitlines(keepends=True)
    gaps = [
        lines[0],
        *lines[1:90],
        *(re.sub("^(.*?),.*?,", r"\1,,", line) for line in lines[90:96]),
        *lines[96:251],
    ]
    Path("one.csv").write_text("".join(gaps))
    Path("two.csv").write_text("".join([lines[0], *lines[441:]]))
    call("run", "one.csv", *KEEPING, "--missing", "skip", "--save", "m", "--quiet")
    call("run", "two.csv", "--model", "m", "--save", "m", "--quiet")
    expected = np.concatenate((SECONDS[:89], SECONDS[95:250], SECONDS[440:]))
    at = times_of(load("m"))(np.arange(1, load("m").n_samples_seen_ + 1))
    np.testing.assert_allclose(at, expected, rtol=0, atol=6 * 60)  # six minutes without a row are no pause


def test_times_do_not_depend_on_where_a_pipe_paused():
    moments = np.cumsum(np.random.default_rng(1).pareto(1.0, 20_000))
    found = []
    for size in (100, 1000):
        times = Times()
        for start in range(0, len(moments), size):
            times.add(start, moments[start : start + size], begins=start % 1000 == 0)
        found.append(times.pairs)
    assert found[0] == found[1]
    late = Times()
    late.add(0, moments[:0], begins=True)  # all of these had gaps
    late.add(0, np.arange(9.0), begins=False)
    late.add(9, np.arange(9.0, 20.0), begins=False)
    assert late.at([1, 9]).tolist() == [0.0, 8.0]
    assert len(found[0]) <= LIMIT


def test_times_are_thinned_where_that_shows_least():
    counts = np.arange(1, 3 * LIMIT)
    moments = 2.0 * counts + 1e6 * (counts > 700) + 1e6 * (counts > 701)
    times = Times()
    for count, moment in zip(counts, moments, strict=True):
        times.add(count - 1, np.array([moment]), begins=True)
    assert len(times.pairs) <= LIMIT
    np.testing.assert_allclose(times.at(counts), moments, rtol=0, atol=1e-6)
    assert Times().at_all is None


def test_progress_is_that_of_rows_learnt(monkeypatch):
    from eigenstream import sources
    from eigenstream.jobs import Request, Watcher, prepare

    shares = []

    class Watching(Watcher):
        def learnt(self, model, batch):
            shares.append((batch.count, batch.share))

    reading = sources.ReadOptions(exclude="time,unit", batch_rows=100)
    with prepare(Request("x.csv", reading=reading)) as job:
        job.watchers = (Watching(),)
        job.run()
    with sources.open("x.csv", exclude="time,unit", batch_rows=100) as source:
        expected = [(batch.count, source.reader.progress()) for batch in source]
    assert shares == expected
    assert [count for count, _ in shares] == [100, 200, 300, 400, 500, 600]
    assert 0 < shares[0][1] < 0.3


def test_help_is_short_of_nothing():
    said = CliRunner().invoke(main, ["run", "--help"]).output
    for option in (
        "--model",
        "--relearn",
        "--keep",
        "--time-column",
        "--time-format",
        "--residuals",
        "--threads",
    ):
        assert option in said


def test_a_half_life_in_time_needs_times_and_forgets_by_them():
    assert "--time-column names the column" in call(
        "run", "x.csv", "--exclude", "text,time", "--half-life", "2h", code=1
    )
    call("run", "x.csv", *KEEPING, "--half-life", "2h", "--save", "m", "--batch-rows", "70", "--quiet")
    model = OnlineAdaptivePCA(half_life="2h", random_state=0).fit(X, timestamps=SECONDS)
    np.testing.assert_array_equal(load("m").components_, model.components_)
    np.testing.assert_array_equal(load("m").spectrum_, model.spectrum_)


@pytest.mark.parametrize("output", [None, "s.csv"])
def test_a_half_life_in_time_goes_on_and_resumes(output):
    lines = Path("x.csv").read_text().splitlines(keepends=True)
    Path("one.csv").write_text("".join(lines[:301]))
    Path("two.csv").write_text("".join([lines[0], *lines[301:]]))
    more = [] if output is None else ["--output", output]
    options = (*KEEPING, "--half-life", "2h", "--quiet")
    call("run", "x.csv", *options, "--save", "calm")
    call("run", "one.csv", *options, "--rows", ":100", "--save", "m")
    call("run", "one.csv", "--rows", "0:", "--save", "m", "--resume", "--quiet")
    call("run", "two.csv", "--model", "m", "--save", "m", *more, "--quiet")
    np.testing.assert_array_equal(load("m").components_, load("calm").components_)
    assert load("m").n_samples_seen_ == ROWS
    said = call("run", "one.csv", "--model", "m", "--save", "n", "--relearn", code=1)
    assert "is before the last row that was learnt" in said


def test_with_lags_predecessors_are_named():
    said = call("run", "x.csv", *KEEPING, "--lags", "1", "--components", "95%")
    assert re.search(r"component 0: .*(flow|heat)", said)


def test_a_source_to_transform_needs_inputs_and_nothing_else():
    call("run", "x.csv", *KEEPING, "--save", "m", "--max-components", "2", "--quiet")
    lines = [",".join(map(repr, row)) for row in X[:5, [3, 0, 1, 2]].tolist()]
    Path("bare.csv").write_text("\n".join(["hum,flow,heat,noise", *lines]) + "\n")
    said = call("transform", "m", "bare.csv")
    assert said.startswith("row,component_0,component_1\n")
    assert "there is no column 'unit'" in call("transform", "m", "bare.csv", "--keep", "unit", code=1)
    assert "there is no column 'time'" in call("run", "bare.csv", "--model", "m", code=1)
    call("run", "bare.csv", "--model", "m", "--save", "m", "--keep", "", "--time-column", "", "--quiet")
    assert load("m").n_samples_seen_ == ROWS + 5
