"""The closing lines of run and watch: what a person needs to know about the columns."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from eigenstream import AdaptivePCA, OnlineAdaptivePCA, StreamMonitor
from eigenstream.cli import main
from eigenstream.cli.summary import limits_in_words


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


def test_one_input_has_no_limit_for_spe_and_is_one_number(tmp_path, X):
    source = table(tmp_path / "x.csv", X[:, :1])
    told = said("watch", source)
    assert "600 rows of 1 number\n" in told
    assert "; none for SPE: one input has no pattern that a row could be off\n" in told
    assert "watch more normal rows" not in told
    assert "600 rows of 7 numbers" in said("run", table(tmp_path / "y.csv", X))


def test_three_rows_are_too_few(tmp_path, X):
    told = said("run", table(tmp_path / "x.csv", X[:3]))
    assert "note: 3 rows are too few to tell whether a component stands out." in told
    assert "no component stands out" not in told


def test_where_few_inputs_make_up_the_variance_units_and_outliers_may_be_why(tmp_path, X):
    X[:, 2] *= 1e4
    told = said("run", table(tmp_path / "x.csv", X))
    assert "--standardize puts all inputs on the same scale; if a few rows" in told
    assert "--outliers cap bounds their weight" in told


def test_a_forecast_from_a_model_that_knows_no_time_names_the_command(tmp_path, X):
    source, model = table(tmp_path / "x.csv", X), tmp_path / "x.model"
    said("run", source, "--save", model)
    told = said("forecast", model, code=2)
    assert "has learnt with --missing raise, and knows nothing of time" in told
    assert "eigenstream run SOURCE --missing impute --save MODEL" in told
    said("run", source, "--missing", "impute", "--save", model, "--overwrite")
    assert said("forecast", model).startswith("step,c0,")


@pytest.mark.parametrize("estimator", [OnlineAdaptivePCA, StreamMonitor, AdaptivePCA])
def test_a_column_of_text_in_a_data_frame_is_named(X, estimator):
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(7)])
    frame["number"] = "1.5"
    estimator().fit(frame.astype({"number": float}))
    frame["place"] = "ward"
    with pytest.raises(ValueError, match=r"column 'place' holds text, such as 'ward'"):
        estimator().fit(frame)


def test_with_several_files_an_alarm_names_its_file_and_the_row_there(tmp_path, X):
    again = X[:300].copy()
    again[100:140, 1] += 30
    files = [table(tmp_path / "normal.csv", X), table(tmp_path / "today.csv", again)]
    told = said("watch", *files, "--confirm", "2/3", "--batch-rows", "64")
    assert "row 701 (row 101 of today.csv): alarm began, since row 700;" in told
    assert " of today.csv): alarm ended" in told
    lines = said("watch", *files, "--confirm", "2/3", "--batch-rows", "64", "--json").splitlines()
    alarms = [found for found in map(json.loads, lines) if found["event"] == "alarm"]
    assert next((one["row"], one["file"], one["file_row"]) for one in alarms) == (701, "today.csv", 101)
    assert {one["row"] - one["file_row"] for one in alarms} == {600}
    rows = ["--save", tmp_path / "m", "--rows"]
    said("watch", *files, "--confirm", "2/3", *rows, ":650")
    told = said("watch", *files, "--confirm", "2/3", *rows, ":", "--resume")
    assert "row 701 (row 101 of today.csv): alarm began" in told
    single = said("watch", files[0], "--confirm", "2/3")
    assert " of normal.csv)" not in single
    assert '"file"' not in said("watch", files[0], "--confirm", "2/3", "--json")


@pytest.mark.parametrize("command", ["run", "watch"])
def test_a_number_that_may_mean_a_gap_is_noted(tmp_path, X, command):
    X[::20, 3] = -999
    source = table(tmp_path / "x.csv", X)
    told = said(command, source)
    assert "note: -999 stands there 30 times, in c3 for one, far from all other values: if that means" in told
    assert "--na -999 reads it as missing; --missing impute fills it in" in told
    assert "-999 stands" not in said(command, source, "--na", "-999", "--missing", "impute")
    assert "stands there" not in said(command, table(tmp_path / "y.csv", X[:, :3]))


def test_only_the_first_rows_are_looked_at_for_such_numbers(tmp_path, X, monkeypatch):
    X[::20, 3] = -999
    monkeypatch.setattr("eigenstream.jobs.stand_ins.MOST_ROWS", 300)
    source = table(tmp_path / "x.csv", X)
    assert "-999 stands there 15 times in the first 300 rows, in c3" in said(
        "run", source, "--batch-rows", 200
    )


def test_at_rank_0_only_the_limit_within_components_is_missing_for_good():
    facts = {"features": 3, "rank": 0}
    young = {"t2": None, "spe": None, "distance": None, "average": 1.5, "pair": 29.7}
    assert limits_in_words({**facts, "limits": young}) == (
        "average 1.5, pair 29.7; none for T²: at rank 0 there is no pattern to measure within; "
        "none yet for SPE and distance: watch more normal rows first"
    )
    old = young | {"spe": 2.0, "distance": 3.0}
    assert limits_in_words({**facts, "limits": old}).endswith("no pattern to measure within")
