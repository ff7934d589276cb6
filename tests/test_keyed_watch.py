import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream.cli import main
from eigenstream.keyed import Bank, MonitorBank, Store
from eigenstream.monitoring.inputs import Inputs
from tests.environment import ENVIRONMENT

HARNESS = Path(__file__).parent / "kill_and_resume.py"
UNITS = 5
SHIFTED = 2
"""The unit whose input c jumps, for its last 400 rows but a hundred."""
ASKED = ("--key", "unit", "--exclude", "when")


@pytest.fixture(scope="module")
def rows():
    """Unit, time and five numbers per row; the rows of the units come in no order."""
    rng = np.random.default_rng(0)
    units = rng.permutation(np.repeat(np.arange(UNITS), 900))
    X = rng.standard_normal((len(units), 5)) * [4.0, 3.0, 0.5, 0.5, 0.5] + 10 * units[:, None]
    own = np.flatnonzero(units == SHIFTED)
    X[own[500:800], 2] += 30.0
    return [
        (f"unit {u}", 1_700_000_000 + i, *x) for i, (u, x) in enumerate(zip(units, X.tolist(), strict=True))
    ]


@pytest.fixture
def folder(tmp_path, rows, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ["unit,when,a,b,c,d,e", *(",".join(map(str, row)) for row in rows)]
    Path("x.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def watch(*arguments, code=0):
    done = CliRunner().invoke(main, ["watch", *arguments], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def states(path):
    store = Store(path)
    found = {entry.key: store.state(entry.key) for entry in store.entries()}
    store.close()
    return found


def test_each_key_is_judged_as_by_a_bank_of_monitors(folder, rows):
    watch("x.csv", *ASKED, "--output", "y.csv", "--quiet")
    written = table("y.csv")
    assert [line["unit"] for line in written] == [row[0] for row in rows]
    bank = MonitorBank(standardize=True, random_state=0)
    verdicts = bank.judge_many([row[0] for row in rows], np.array([row[2:] for row in rows]))
    assert (np.isfinite(verdicts.distance_limit).mean()) > 0.9
    for name in ("t2", "spe", "distance", "average", "pair", "distance_limit", "severity", "alarm"):
        said = [float(line[name] or "nan") for line in written]
        np.testing.assert_array_equal(said, getattr(verdicts, name).astype(float), err_msg=name)


def test_alarms_name_the_key_and_its_rows_and_decide_the_exit_status(folder, rows):
    said = watch("x.csv", *ASKED, "--exit-code", "--confirm", "2/3", code=3)
    places = [i for i, row in enumerate(rows) if row[0] == f"unit {SHIFTED}"]
    began, ended, *_ = (line for line in said.stdout.splitlines() if line.startswith(f"unit {SHIFTED}, "))
    assert began.startswith(f"unit {SHIFTED}, row {places[501]:,}: alarm began, since row {places[500]:,}")
    assert "c " in began
    assert f"unit {SHIFTED}, row " in ended
    assert re.search(r"alarm ended: 3\d\d rows exceeded a limit", ended)
    assert "4,500 rows of 5 keys" in said.stderr
    assert re.search(r"alarms: \d", said.stderr)
    events = watch("x.csv", *ASKED, "--exit-code", "--confirm", "2/3", "--json", code=3)
    facts = [json.loads(line) for line in events.stdout.splitlines()]
    facts = [one for one in facts if one["event"] == "alarm"]
    assert [(one["key"], one["state"], one["since"]) for one in facts if one["key"] == f"unit {SHIFTED}"][
        :2
    ] == [
        (f"unit {SHIFTED}", "began", places[500]),
        (f"unit {SHIFTED}", "ended", places[500]),
    ]
    assert json.loads(events.stderr.splitlines()[-1])["alarms"] == len(facts) // 2
    assert "no alarm" in watch("x.csv", *ASKED, "--exit-code", "--rows", ":300").stderr


def test_the_second_day_says_which_alarms_are_still_on(folder, rows):
    places = [i for i, row in enumerate(rows) if row[0] == f"unit {SHIFTED}"]
    day = slice(places[560], places[660])
    first = watch("x.csv", *ASKED, "--rows", f":{day.start}", "--confirm", "2/3", "--save", "day.bank")
    assert f"; on alarm at the end: unit {SHIFTED}" in first.stderr
    header, *lines = Path("x.csv").read_text().splitlines()
    Path("later.csv").write_text("\n".join([header, *lines[day]]) + "\n")
    later = watch("later.csv", "--model", "day.bank", "--save", "later.bank", "--json")
    end = json.loads(later.stderr.splitlines()[-1])
    assert end["keys_on_alarm"] == [f"unit {SHIFTED}"]
    told = watch("later.csv", "--model", "day.bank", "--save", "again.bank").stderr
    assert re.search(rf"(no new alarm|alarms: \d+); on alarm at the end: unit {SHIFTED}\n", told)


def test_batches_and_evictions_change_nothing(folder):
    asked = (*ASKED, "--quiet")
    watch("x.csv", *asked, "--output", "y.csv", "--save", "x.bank")
    more = ("--batch-rows", "37", "--max-models", "2", "--checkpoint-rows", "500")
    watch("x.csv", *asked, *more, "--output", "z.csv", "--save", "z.bank")
    assert Path("y.csv").read_bytes() == Path("z.csv").read_bytes()
    assert states("x.bank") == states("z.bank")


@pytest.mark.slow  # tests/test_keyed_kills.py kills such a job at single calls
@pytest.mark.parametrize("seed", range(6))
def test_killed_at_any_moment_and_resumed_it_loses_nothing(folder, seed):
    command = (*ASKED, "--half-life", "200", "--batch-rows", "64", "--exit-code")
    pace = ("--checkpoint-rows", "300", "--max-models", "3", "--quiet")
    watch("x.csv", *command, *pace, "--output", "whole.csv", "--save", "whole.bank", code=3)
    arguments = ["watch", "x.csv", *command, *pace, "--output", "y.csv", "--save", "y.bank", "--resume"]
    job = {"command": arguments, "kills": 6, "seed": seed, "shortest": 0.02, "longest": 0.6}
    done = subprocess.run(
        [sys.executable, str(HARNESS), json.dumps(job)], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["exit"] == 3
    assert json.loads(done.stdout)["kills"] > 0
    assert Path("y.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert states("y.bank") == states("whole.bank")
    watch("--key", "unit", "--save", "y.bank", "--resume", "--quiet", "--exit-code", code=3)


def test_inspect_lists_keys_and_shows_one(folder):
    watch("x.csv", *ASKED, "--save", "x.bank", "--quiet")
    listed = CliRunner().invoke(main, ["inspect", "x.bank"]).output
    assert "a bank of 5 monitors, 4,500 samples of 5 numbers" in listed
    facts = json.loads(
        CliRunner().invoke(main, ["inspect", "x.bank", "--key", f"unit {SHIFTED}", "--json"]).output
    )
    assert facts["watching"]["alarms"] >= 1
    assert facts["watching"]["watched"] == 900
    said = CliRunner().invoke(main, ["inspect", "x.bank", "--key", "unit 9"]).output
    assert "no model with the key 'unit 9'" in said


def test_what_does_not_fit_is_refused_in_words(folder):
    assert "--max-models bounds" in watch("x.csv", "--max-models", "3", code=2).output
    watch("x.csv", *ASKED, "--save", "x.bank", "--quiet")
    said = watch("x.csv", "--model", "x.bank", "--frozen", "--save", "y.bank", code=2).output
    assert "--frozen learns nothing, so there is no bank to save" in said
    again = CliRunner().invoke(main, ["run", "x.csv", *ASKED, "--save", "x.bank", "--resume"])
    assert again.exit_code == 1
    assert "x.bank watches its stream: go on with eigenstream watch" in again.output
    with pytest.raises(ValueError, match="holds monitors, and models are needed"):
        Bank("x.bank")
    CliRunner().invoke(main, ["run", "x.csv", *ASKED, "--save", "y.bank", "--quiet"], catch_exceptions=False)
    said = watch("x.csv", *ASKED, "--save", "y.bank", "--resume", code=1).output
    assert "y.bank was made by eigenstream run and does not watch its streams" in said


def test_a_frozen_bank_judges_by_its_monitors_and_counts_what_it_cannot_judge(folder):
    watch("x.csv", *ASKED, "--rows", ":2000", "--save", "x.bank", "--quiet")
    before = Path("x.bank").read_bytes()
    lines = Path("x.csv").read_text().splitlines()
    Path("y.csv").write_text(
        "\n".join([*lines[:1], *lines[2001:], lines[-1].replace("unit", "new", 1)]) + "\n"
    )
    done = watch("y.csv", "--model", "x.bank", "--frozen", "--output", "v.csv")
    assert "rows not judged: 1, of 1 keys without a monitor that has limits" in done.stderr
    assert Path("x.bank").read_bytes() == before
    with open("v.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2501
    assert (rows[-1]["severity"], rows[-1]["alarm"], rows[-1]["since"]) == ("0.0", "0", "-1")
    shifted = [row for row in rows if row["unit"] == f"unit {SHIFTED}"]
    watch("y.csv", "--model", "x.bank", "--frozen", "--batch-rows", "100", "--output", "w.csv")
    assert Path("w.csv").read_bytes() == Path("v.csv").read_bytes()
    assert sum(row["alarm"] == "1" for row in shifted) >= 300


def test_what_has_never_moved_is_not_flat_once_its_monitor_is_frozen():
    """A constant column of each unit of a fleet would be a line per unit."""
    rows = np.column_stack((np.full(900, 100.0), np.random.default_rng(0).standard_normal(900)))
    rows[600:, 1] = 0.5
    inputs, calm = Inputs(2, 1e-3), np.zeros(300, dtype=bool)
    assert inputs.follow(rows[:300], calm, []) == []
    assert inputs.follow(rows[300:600], calm, [], learn=False) == []
    assert [one.input for one in inputs.follow(rows[600:], calm, [], learn=False)] == ["x1"]


def test_closing_lines_count_rows_that_came_before_limits_and_keys_without_any(folder):
    lines = Path("x.csv").read_text().splitlines()
    late = [line.replace(line.split(",")[0], "unit 9") for line in lines[-7:]]
    Path("late.csv").write_text("\n".join([*lines[:-7], *late]) + "\n")
    for batch in ("100", "4500"):
        said = watch("late.csv", *ASKED, "--batch-rows", batch, "--output", f"{batch}.csv").stderr
        blank = [one for one in table(f"{batch}.csv") if not one["severity"] or not has_limit(one)]
        assert f"rows not judged: {len(blank):,}, before their keys had limits" in said
        assert "; 1 key has no limits yet: 7 of these rows" in said
    facts = json.loads(watch("late.csv", *ASKED, "--json").stderr.splitlines()[-1])
    counted = facts["before_limits"], facts["keys_without_limits"], facts["rows_without_limits"]
    assert counted == (len(blank), 1, 7)
    said = watch("x.csv", *ASKED).stderr
    assert "before their keys had limits\n" in said


def has_limit(line):
    return any(line[name] not in ("", "inf") for name in line if name.endswith("_limit"))
