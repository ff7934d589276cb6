"""Five jobs that a plant engineer has with files as they come, each at the first try, by the documents alone.

The files are generated, with the quirks of those that were tried: semicolons, decimal commas, -200 for a
missing value, dates and times of day in two columns, empty lines and columns at the end; no names at all;
a row name that the header lacks; units one after the other, each with its own clock, and a second day.
"""

from __future__ import annotations

import csv
import json
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream.cli import main


def first_try(*words: str) -> tuple[str, str]:
    """Standard output and standard error of a command that must succeed."""
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout, done.stderr


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)


def plant(rows: int, seed: int, width: int = 6) -> np.ndarray:
    """Inputs with two causes, and noise."""
    rng = np.random.default_rng(seed)
    causes = rng.standard_normal((rows, 2)) @ np.random.default_rng(9).standard_normal((2, width))
    return 20 + 3 * causes + 0.3 * rng.standard_normal((rows, width))


def test_a_file_from_europe_is_learnt_and_filled() -> None:
    X, gone = plant(400, 0, 4), np.random.default_rng(1).random((400, 4)) < 0.05
    start, lines = datetime(2004, 3, 10, 18), ["Date;Time;CO(GT);PT08;NMHC;T;;"]
    for i, row in enumerate(X):
        cells = ["-200" if gap else f"{x:.2f}".replace(".", ",") for x, gap in zip(row, gone[i], strict=True)]
        lines.append(f"{start + timedelta(hours=i):%d/%m/%Y;%H.%M.%S};{';'.join(cells)};;")
    Path("air.csv").write_text("\r\n".join([*lines, *[";;;;;;;"] * 50, ""]))
    asked = ("--time-column", "Date+Time", "--na", "-200", "--missing", "impute", "--save", "air.model")
    said, _ = first_try("run", "air.csv", *asked)
    assert "400 rows of 4 numbers" in said
    first_try("export", "air.model", "air.json")
    assert json.loads(Path("air.json").read_text())["inputs"] == ["CO(GT)", "PT08", "NMHC", "T"]
    said, notes = first_try("fill", "air.csv", "--na", "-200", "--output", "whole.csv")
    assert said.startswith(f"400 rows, {gone.sum()} gaps: ")
    assert "50 lines of delimiters alone are no rows" in notes
    whole = Path("whole.csv").read_text().splitlines()
    assert len(whole) == 451
    assert "-200" not in "".join(whole[60:])


def test_a_sensor_that_fails_twice_is_reported_twice() -> None:
    X = plant(1500, 2)
    X[700:730, 3] += 15.0
    X[1200:1230, 3] += 15.0
    start = datetime(2024, 1, 1)
    lines = [
        f"{start + timedelta(hours=i):%d.%m.%Y;%H:%M};" + ";".join(f"{x:.3f}".replace(".", ",") for x in row)
        for i, row in enumerate(X)
    ]
    Path("oil.csv").write_text("\n".join(["Datum;Uhrzeit;HUFL;HULL;MUFL;MULL;LUFL;OT", *lines]) + "\n")
    options = (
        "--time-column",
        "Datum+Uhrzeit",
        "--half-life",
        "30d",
        "--confirm",
        "3/5",
        "--picture",
        "oil.png",
    )
    told, _ = first_try("watch", "oil.csv", *options, "--json")
    began = [one for one in map(json.loads, told.splitlines()) if one.get("state") == "began"]
    alarms = [one for one in began if one["event"] == "alarm" and next(iter(one["contributors"])) == "MULL"]
    assert [one["since"] for one in alarms] == [700, 1200]
    assert alarms[0]["time"] == (start + timedelta(hours=alarms[0]["row"])).isoformat()
    assert Path("oil.png").stat().st_size > 10_000


def turbofans(day: int) -> str:
    """Units one after the other without names, each from its first cycle on; unit 2 fails on day two."""
    lines = []
    for unit in range(1, 4):
        X = plant(200, 10 * day + unit)
        X[150:, 4] += 20.0 * (unit == 2 and day == 1)
        lines += [f"{unit} {i + 1} " + " ".join(f"{x:.4f}" for x in row) + "  " for i, row in enumerate(X)]
    return "\n".join(lines) + "\n"


def test_a_fleet_has_a_tomorrow_and_a_picture() -> None:
    for day in (0, 1):
        Path(f"day{day}.txt").write_text(turbofans(day))
    Path("names.txt").write_text("unit\ncycle\n" + "".join(f"sensor {i}\n" for i in range(6)))
    asked = ("--names", "names.txt", "--key", "unit", "--time-column", "cycle", "--confirm", "3/5")
    first_try("watch", "day0.txt", *asked, "--save", "fleet")
    told, said = first_try(
        "watch", "day1.txt", "--model", "fleet", "--save", "fleet", "--picture", "fleet.png"
    )
    assert "2, row 352 (cycle 153): alarm began, since row 350" in told
    assert "sensor 4" in told
    assert "600 rows of 3 keys" in said
    listed, _ = first_try("inspect", "fleet", "--picture", "all.png")
    assert "a bank of 3 monitors, 1,200 samples" in listed
    whole, _ = first_try("watch", "day0.txt", "day1.txt", *asked)
    assert "sensor 4" in whole


def test_an_alarm_reaches_somebody() -> None:
    for number in range(3):
        X = plant(300, 20 + number)
        X[200:, 1] += 15.0 * (number == 2)
        np.savetxt(f"run{number}.csv", X, delimiter=",", header="a,b,c,d,e,f", comments="")
    Path("tell.py").write_text(
        "import sys\nwith open('told.jsonl', 'a') as file: file.write(sys.stdin.read() + '\\n')\n"
    )
    files = [f"run{number}.csv" for number in range(3)]
    told, _ = first_try(
        "watch", *files, "--on-alarm", f"{sys.executable} tell.py", "--confirm", "3/5", "--json"
    )
    alarms = [one for one in map(json.loads, told.splitlines()) if one["event"] == "alarm"]
    heard = [json.loads(line) for line in Path("told.jsonl").read_text().splitlines() if line]
    assert [one["since"] for one in heard if one["event"] == "alarm"] == [one["since"] for one in alarms]
    assert 800 in [one["since"] for one in alarms if next(iter(one["contributors"])) == "b"]


def test_a_table_from_r_is_explained_to_a_boss() -> None:
    rows = [f'"{i + 1}",' + ",".join(f"{x:.4f}" for x in row) for i, row in enumerate(plant(300, 30))]
    Path("cars.csv").write_text("\n".join(['"mpg","disp","hp","drat","wt","qsec"', *rows]) + "\n")
    asked = ("--save", "cars.model", "--output", "scores.csv", "--picture", "cars.png")
    said, _ = first_try("run", "cars.csv", *asked)
    assert "300 rows of 6 numbers" in said
    assert "rank 2" in said
    with open("scores.csv", newline="") as file:
        scores = list(csv.reader(file))
    assert scores[1][1:] == [""] * (len(scores[0]) - 1)  # nothing is known before the model starts
    first_try("inspect", "cars.model", "--loadings", "loadings.csv", "--picture", "scores")
    with open("loadings.csv", newline="") as file:
        assert [line["input"] for line in csv.DictReader(file)] == ["mpg", "disp", "hp", "drat", "wt", "qsec"]
