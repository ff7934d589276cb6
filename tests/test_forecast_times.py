"""Times of forecasts: the last row's, and on by the usual step, written as in the source."""

import io

import numpy as np
import pandas as pd
import pytest

from eigenstream.io.sources.times import Clock, written
from tests.jobs import call

START = np.datetime64("2024-01-01T00:00:00")
STEPS = 4


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return rng.standard_normal((300, 2)) @ rng.standard_normal((2, 5)) + 0.3 * rng.standard_normal((300, 5))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def frame(X, times, **more):
    names = ["a", "b,c", "d", "e", "f"]
    return pd.DataFrame({"when": times, **more, **dict(zip(names, X.T, strict=True))})


def hours(count):
    return START + np.arange(count).astype("m8[h]")


def forecast(*given):
    return pd.read_csv(io.StringIO(call("forecast", *given, "--steps", STEPS)))


LEARNING = {"rows": (), "time": ("--half-life", "5d")}


@pytest.mark.parametrize("how", LEARNING)
def test_forecasts_join_with_the_measurements_that_come(X, how):
    """Also where rows are missing: the usual step is that of most rows."""
    whole = frame(X, hours(len(X)))
    lost = np.random.default_rng(1).choice(len(X) - 20, 15, replace=False)
    whole[: len(X) - STEPS].drop(index=lost).to_csv("s.csv", index=False)
    call(
        "run",
        "s.csv",
        "--time-column",
        "when",
        "--missing",
        "impute",
        *LEARNING[how],
        "--save",
        "m",
        "--quiet",
    )
    ahead = forecast("m")
    assert list(ahead)[:4] == ["step", "when", "a", "b,c"]
    joined = ahead.assign(when=pd.to_datetime(ahead["when"])).merge(whole, on="when")
    assert joined["step"].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("how", LEARNING)
def test_rows_at_uneven_times_go_on_by_the_mean_step(X, how):
    passed = np.random.default_rng(2).integers(30, 90, len(X))
    times = START + np.cumsum(passed).astype("m8[s]")
    frame(X, times).to_csv("s.csv", index=False)
    call(
        "run",
        "s.csv",
        "--time-column",
        "when",
        "--missing",
        "impute",
        *LEARNING[how],
        "--save",
        "m",
        "--quiet",
    )
    steps = np.diff(pd.to_datetime(forecast("m")["when"]), prepend=times[-1]) / np.timedelta64(1, "s")
    np.testing.assert_allclose(steps, passed[1:].mean(), rtol=1e-6)


@pytest.mark.parametrize(
    ("texts", "format", "next_one"),
    [
        (lambda t: t.dt.strftime("%d.%m.%Y %H:%M"), (), "13.01.2024 12:00"),
        (
            lambda t: t.dt.strftime("%d/%m/%Y %H.%M"),
            ("--time-format", "31/12/2024 23.59"),
            "13/01/2024 12.00",
        ),
        (lambda t: (t - START) // pd.Timedelta("1s"), (), "1080000"),
        (lambda t: 1_704_067_200_000 + (t - START) // pd.Timedelta("1ms"), (), "1705147200000"),
    ],
)
def test_times_are_written_as_in_the_source(X, texts, format, next_one):
    frame(X, texts(pd.Series(hours(len(X))))).to_csv("s.csv", index=False)
    call("run", "s.csv", "--time-column", "when", *format, "--missing", "impute", "--save", "m", "--quiet")
    assert call("forecast", "m").splitlines()[1].startswith(f"1,{next_one},")


def test_each_key_has_its_own_times(X):
    frame(X, hours(len(X)), unit=["a", "b", "b"] * 100).to_csv("s.csv", index=False)
    given = ("--key", "unit", "--time-column", "when", "--missing", "impute")
    call("run", "s.csv", *given, "--save", "b", "--quiet")
    ahead = pd.to_datetime(forecast("b", "--key", "a")["when"])
    assert list(ahead) == [hours(298)[-1] + 3 * h * np.timedelta64(1, "h") for h in range(1, STEPS + 1)]
    assert pd.to_datetime(forecast("b", "--key", "b")["when"])[0] > hours(300)[-1]


def test_a_model_that_has_filled_knows_the_times_and_whether_it_has_filled(X):
    frame(X, hours(len(X))).to_csv("s.csv", index=False)
    given = ("fill", "s.csv", "--time-column", "when", "--output", "o.csv", "--save", "m")
    call(*given)
    assert forecast("m")["when"][0] == "2024-01-13T12:00:00"
    assert "nothing to do" in call(*given, "--model", "m")


def test_of_a_job_in_the_middle_the_last_row_is_the_last_one_learnt(X):
    times = hours(len(X))
    times[150:] += np.timedelta64(40, "D")
    frame(X, times).to_csv("s.csv", index=False)
    given = ("--time-column", "when", "--missing", "impute", "--batch-rows", 50, "--rows", ":150")
    call("run", "s.csv", *given, "--save", "m", "--quiet")
    assert pd.to_datetime(forecast("m")["when"])[0] == hours(151)[-1]


def test_without_times_there_is_no_column_of_them(X):
    frame(X, hours(len(X))).drop(columns="when").to_csv("s.csv", index=False)
    call("run", "s.csv", "--missing", "impute", "--save", "m", "--quiet")
    assert list(forecast("m"))[:2] == ["step", "a"]


def test_the_usual_step_does_not_depend_on_chunks_and_survives_a_position():
    rng = np.random.default_rng(3)
    times = np.cumsum(np.where(rng.random(500) < 0.3, 25.0, 10.0))
    whole, parts = Clock(), Clock()
    whole.judge(times, final=True)
    for part in np.split(times, [3, 40, 41, 260, 499]):
        went_on = Clock()
        went_on.go_to(parts.place(), parts.held)
        went_on.judge(part)
        parts = went_on
    parts.judge(np.zeros(0), final=True)
    assert parts.place() == whole.place()
    assert whole.usual == 10.0
    whole.judge(times[-1] + np.cumsum(rng.uniform(5, 15, 500)), final=True)
    assert whole.usual == pytest.approx(whole.last / 1000, rel=0.2)
    # Positions from before there were votes.
    whole.go_to(["s", 3, 0.0, 8.0])
    assert whole.usual == 4.0
    for wrong in (["s", 3, 0.0, 8.0, -1.0, 1], ["s", 3, 0.0, 8.0, np.nan, 1], ["s", 3, 0.0, 8.0, 1.0, 10**9]):
        with pytest.raises(ValueError, match="votes"):
            Clock().go_to(wrong)


@pytest.mark.parametrize(
    "format", ["iso", "s", "ms", "us", "ns", "%d.%m.%Y %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S.%f%z"]
)
def test_times_that_were_written_are_read(format):
    for seconds in (1.7e9, 1_700_000_000.25, 12.5, -86_400.0):
        assert Clock(format).read([written(seconds, format)])[0] == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize(
    ("first", "frequency", "expected"),
    [
        ("2000-01-01", "MS", ["2012-07-01", "2012-08-01", "2012-09-01", "2012-10-01"]),
        ("2000-01-31", pd.offsets.MonthEnd(), ["2012-07-31", "2012-08-31", "2012-09-30", "2012-10-31"]),
        ("1970-01-15", "QS", ["2008-01-01", "2008-04-01", "2008-07-01", "2008-10-01"]),
        ("1860-01-01", pd.offsets.YearBegin(), ["2010-01-01", "2011-01-01", "2012-01-01", "2013-01-01"]),
    ],
)
def test_months_and_years_go_on_by_the_calendar(X, first, frequency, expected):
    times = pd.date_range(first, periods=151 if frequency == "QS" else 150, freq=frequency)
    frame(X[: len(times)], times.strftime("%Y-%m-%d")).to_csv("s.csv", index=False)
    call("run", "s.csv", "--time-column", "when", "--missing", "impute", "--save", "m", "--quiet")
    assert [str(one)[:10] for one in forecast("m")["when"]] == expected


def test_months_go_on_where_some_are_missing_and_days_do_not(X):
    months = pd.date_range("2000-01-01", periods=200, freq="MS").delete([20, 60, 61, 140])
    for times, step in ((months, None), (pd.date_range("2000-01-01", periods=150, freq="30D"), 30)):
        frame(X[: len(times)], times.strftime("%Y-%m-%d")).to_csv("s.csv", index=False)
        call(
            "run",
            "s.csv",
            "--time-column",
            "when",
            "--missing",
            "impute",
            "--save",
            "m",
            "--quiet",
            "--overwrite",
        )
        ahead = pd.to_datetime(forecast("m")["when"])
        wanted = pd.date_range(times[-1], periods=STEPS + 1, freq="MS" if step is None else f"{step}D")[1:]
        assert list(ahead) == list(wanted)


def test_years_are_read_as_years(X):
    frame(X[:60], np.arange(1959, 2019)).to_csv("s.csv", index=False)
    told = call("run", "s.csv", "--time-column", "when", "--missing", "impute", "--save", "m")
    assert "times in 'when' are read as years" in told
    assert forecast("m")["when"].tolist() == [2019, 2020, 2021, 2022]
    for text, seconds in (("1499", 1499.0), ("2200", 2200.0), ("1959.5", 1959.5), ("12", 12.0)):
        assert Clock().read([text]).tolist() == [seconds]
    one_by_one = Clock()
    assert [one_by_one.read([text])[0] for text in ("1970", "1971", "2300")] == [
        0.0,
        365 * 86400.0,
        10413792000.0,
    ]
    assert Clock("s").read(["1959"]).tolist() == [1959.0]
