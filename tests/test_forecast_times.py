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
