"""`eigenstream watch`: alarms as lines, verdicts as a table, a picture, an exit status; exactly once."""

import csv
import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream import monitoring
from eigenstream.cli import main
from eigenstream.io.sources import ReadOptions
from eigenstream.jobs import Request, prepare
from eigenstream.jobs.watcher import MOST_BREAKS, Numbering
from eigenstream.monitoring import COLUMNS, MonitoredModel, MonitorSettings
from eigenstream.streams import Fault
from tests.environment import ENVIRONMENT
from tests.marks import slow
from tests.plant_files import FAULTS, HEAD, HEAT, NAMES, VALVE, plant_lines, plant_rows, write_plant

HARNESS = Path(__file__).parent / "kill_and_resume.py"
ROWS = 4500
TIMED = ("--time-column", "time")


@pytest.fixture(scope="module")
def plant(tmp_path_factory):
    """A plant of which the valve is off from row 2,000 to 2,040, and the heater from 3,000 on."""
    path = tmp_path_factory.mktemp("plant") / "plant.csv"
    write_plant(path, ROWS)
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def watch(*arguments, code=0):
    """What a call printed to standard output and to standard error."""
    result = CliRunner().invoke(main, ["watch", *map(str, arguments)])
    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit | None)
    return result.stdout, result.stderr


def table(path):
    """Rows by their columns; a number that is not there, which is empty, is NaN."""
    with open(path) as file:
        rows = list(csv.DictReader(file))
    return [
        {name: value or ("nan" if name in COLUMNS else "") for name, value in row.items()} for row in rows
    ]


def test_alarms_are_lines_on_standard_output_and_the_rest_is_elsewhere(plant, folder):
    out, err = watch(plant, *TIMED, "--false-alarm-rate", "1e-5", "--picture", "p.png")
    lines = out.splitlines()
    assert len(lines) >= 4
    assert lines[0].startswith("row 2,000 (2026-11-15 10:33:20): alarm began; largest severity so far ")
    assert "; valve " in lines[0]
    assert "; valve should read " in lines[0]
    # The average of the last rows is off for some rows longer.
    assert re.match(r"row 2,0[78]\d \(2026-11-15 10:34:\d\d\): alarm ended: 4\d rows exceeded", lines[1])
    assert ", the last was row 2,04" in lines[1]
    assert lines[2].startswith("row 3,000 (2026-11-15 10:50:00): alarm began; ")
    assert "; heat " in lines[2]
    accepted = "alarm accepted as the new normal: 1,000 rows exceeded a limit, the last was row 3,999; "
    assert lines[3].startswith(f"row 3,999 (2026-11-15 11:06:39): {accepted}")
    assert re.search(r"alarms: \d alarms; 1,0\d\d rows alarmed", err)
    assert "; a new normal accepted 1 time" in err
    assert re.search(r"rows: 4,500 watched, [12]\d\d not judged", err)  # at first, and after the new normal
    assert re.search(r", 1,0\d\d not learnt, as rows of a fault, ", err)
    assert "limits: T² " in err
    assert "drift: " in err
    assert "picture: p.png" in err
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("batch", [7, 1024])
def test_a_line_names_the_row_of_its_index_and_rows_that_exceed_add_up(plant, folder, batch):
    """How many rows of an alarm have come when it is told depends on the batches; what is told is true."""
    out, err = watch(plant, *TIMED, "--batch-rows", batch, "--rows", ":4020", "--output", "v.csv")
    index = [float(row["severity"]) for row in table("v.csv")]
    told = re.findall(r"largest severity (?:so far )?(\S+) at row ([\d,]+)", out)
    assert len(told) == len(out.splitlines()) > 2
    assert [value for value, _ in told] == [f"{index[int(row.replace(',', ''))]:.3g}" for _, row in told]
    ended = re.findall(r"([\d,]+) rows? exceeded", out)
    assert f"; {sum(int(rows.replace(',', '')) for rows in ended):,} rows alarmed" in err


def test_the_table_says_of_each_row_what_the_monitor_does(plant, folder):
    watch(plant, *TIMED, "--output", "v.csv", "--quiet")
    rows = table("v.csv")
    model = MonitoredModel(MonitorSettings(), standardize=True, random_state=0)
    model.features = NAMES
    X = plant_rows(ROWS)
    verdicts, contributors = model.explain_many(X)
    assert list(rows[0]) == ["row", "time", "contributors", *COLUMNS]
    written = np.array([[float(row[name]) for name in COLUMNS] for row in rows])
    np.testing.assert_array_equal(written, verdicts.matrix())
    assert [row["alarm"] for row in rows] == ["1" if alarm else "0" for alarm in verdicts.alarm]
    assert [bool(row["contributors"]) for row in rows] == verdicts.alarm.tolist()
    assert rows[2005]["contributors"].startswith("valve ")
    assert rows[2005]["since"] == "2000"
    assert max(contributors[2005], key=lambda one: one[1])[0] == "valve"


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_every_kind_of_table_holds_the_same(plant, folder, kind):
    watch(plant, *TIMED, "--output", "v.csv", "--quiet", "--rows", ":2100")
    watch(plant, *TIMED, "--output", f"v.{kind}", "--quiet", "--rows", ":2100")
    if kind == "jsonl":
        found = [json.loads(line) for line in Path("v.jsonl").read_text().splitlines()]
    else:
        from pyarrow import parquet

        found = parquet.read_table("v.parquet").to_pylist()
    for row, expected in zip(found, table("v.csv"), strict=True):
        assert isinstance(row["alarm"], int)
        assert isinstance(row["since"], int)
        for name, text in expected.items():
            value = row[name]
            if kind == "jsonl" and text in ("nan", "inf"):
                assert value is None
            else:
                assert text == (value if isinstance(value, str) else repr(value))


@pytest.mark.parametrize("kind", ["csv", slow("jsonl"), slow("parquet")])
def test_how_rows_are_cut_into_batches_changes_nothing(plant, folder, kind):
    for rows in (64, 1000):
        asked = (plant, *TIMED, "--output", f"{rows}.{kind}", "--batch-rows", rows, "--accept-after", "500")
        watch(*asked, "--quiet", "--save", f"{rows}.model")
    one, other = (Path(f"{rows}.{kind}") for rows in (64, 1000))
    if kind == "parquet":
        one, other = (next(path.glob("part*")) for path in (one, other))
    assert one.read_bytes() == other.read_bytes()
    tables = [monitoring.load(f"{rows}.model").monitor.stretches.table for rows in (64, 1000)]
    np.testing.assert_array_equal(*tables)


def test_times_and_predecessors_can_be_watched(plant, folder):
    out, err = watch(plant, *TIMED, "--lags", "2", "--half-life", "20min", "--confirm", "3/4")
    assert out.startswith("row 2,002 (2026-11-15 10:33:22): alarm began, since row 2,000; ")
    assert "; valve " in out.splitlines()[0]
    assert "row 3,999 (2026-11-15 11:06:39): alarm accepted" in out
    assert "drift: " in err


@pytest.mark.parametrize(
    ("policy", "said"), [("impute", "100 learnt with gaps filled"), ("skip", "100 skipped")]
)
def test_gaps_are_counted(plant, folder, policy, said):
    lines = plant.read_text().splitlines(keepends=True)
    for i in range(1001, 1101):
        fields = lines[i].split(",")
        lines[i] = ",".join([*fields[:3], "", *fields[4:]])
    Path("gaps.csv").write_text("".join(lines))
    _, err = watch("gaps.csv", *TIMED, "--missing", policy, "--output", "v.csv", "--rows", ":1900")
    assert said in err
    rows = table("v.csv")
    assert (rows[1050]["spe"] == "nan") == (policy == "skip")


def test_json_lines_are_alarms_on_standard_output_and_events_elsewhere(plant, folder):
    out, err = watch(plant, *TIMED, "--json", "--confirm", "3/4", "--accept-after", "500")
    alarms = [json.loads(line) for line in out.splitlines()]
    assert [(alarm["state"], alarm["row"], alarm["since"]) for alarm in alarms[:2]] == [
        ("began", 2002, 2000),
        ("ended", alarms[1]["row"], 2000),
    ]
    assert alarms[0]["time"] == "2026-11-15T10:33:22"
    assert 39 <= alarms[1]["rows"] <= alarms[1]["length"]
    assert max(alarms[0]["contributors"], key=alarms[0]["contributors"].get) == "valve"
    assert "accepted" in [alarm["state"] for alarm in alarms]
    end = json.loads(err.splitlines()[-1])
    assert end["event"] == "end"
    assert end["alarms"] == len(alarms) // 2
    assert end["watched"] == ROWS
    assert end["accepted"] == 1


def test_the_exit_status_says_whether_there_was_an_alarm(plant, folder):
    watch(
        plant, "--exclude", "text", "--rows", ":1900", "--false-alarm-rate", "1e-6", "--exit-code", "--quiet"
    )
    asked = (plant, "--exclude", "text", "--rows", "1000:2500", "--quiet", "--save", "m")
    watch(*asked, "--exit-code", code=3)
    watch(*asked, "--exit-code", "--resume", code=3)  # nothing new, but there was one
    watch(*asked, "--overwrite")


def test_rows_are_those_of_the_source(plant, folder):
    """Also where some cannot be read, and where only a part is asked for."""
    lines = plant.read_text().splitlines(keepends=True)
    lines[1501] = "nonsense\n"  # row 1500
    Path("dirty.csv").write_text("".join(lines))
    out, _ = watch(
        "dirty.csv", *TIMED, "--rows", "1000:2500", "--on-bad-row", "skip", "--output", "v.csv", "--json"
    )
    alarms = [json.loads(line) for line in out.splitlines()]
    assert {alarm["since"] for alarm in alarms} >= {2000}
    rows = {row["row"]: row for row in table("v.csv")}
    assert "1500" not in rows
    assert rows["2010"]["since"] == "2000"
    assert rows["2010"]["alarm"] == "1"


def test_training_and_then_standing_still(plant, folder):
    watch(plant, *TIMED, "--freeze-after", "1500", "--rows", ":1500", "--save", "m", "--quiet")
    before = Path("m").read_bytes()
    out, _ = watch(plant, "--model", "m", "--frozen", "--output", "v.csv", "--quiet")
    assert "; valve " in out
    assert "accepted" not in out  # one that stands still accepts nothing
    assert Path("m").read_bytes() == before
    reference = monitoring.load("m").monitor.reference
    watch(plant, "--model", "m", "--frozen", "--save", "n", "--quiet")
    after = monitoring.load("n")
    assert after.monitor.frozen
    np.testing.assert_array_equal(after.monitor.reference.axes, reference.axes)
    assert after.n_samples_seen_ == monitoring.load("m").n_samples_seen_


@pytest.mark.parametrize("how", [["--frozen"], []])
def test_the_summary_counts_the_rows_of_this_job_and_tells_the_total_apart(plant, folder, how):
    """The alarm of row 2,000 is on between the two jobs: it is one of both."""
    watch(plant, *TIMED, "--rows", ":2020", "--false-alarm-rate", "1e-5", "--save", "m", "--quiet")
    asked = (plant, "--model", "m", "--rows", "2020:2900", *how)
    _, err = watch(*asked)
    alarmed = int(re.search(r"alarms: 1 alarm; (\d+) rows alarmed", err)[1])
    assert 20 <= alarmed < 32
    assert re.search("rows: 880 watched.*; the model has learnt from ", err)
    assert f"since the monitor began: 2,900 rows watched, 1 alarm, {20 + alarmed} rows alarmed" in err
    end = json.loads(watch(*asked, "--json")[1].splitlines()[-1])
    assert (end["watched"], end["alarms"], end["alarmed"]) == (880, 1, alarmed)
    assert (end["since_it_began"]["watched"], end["since_it_began"]["alarmed"]) == (2900, 20 + alarmed)


def test_the_summary_of_a_resumed_job_counts_all_its_rows(plant, folder):
    asked = (plant, *TIMED, "--save", "m")
    watch(*asked, "--rows", ":2020", "--quiet")
    _, err = watch(*asked, "--rows", ":2900", "--resume")
    assert re.search(r"rows: 2,900 watched, \d+ not judged", err)
    assert "since the monitor began" not in err


@pytest.mark.parametrize("batch", [100, 1024])
def test_it_stands_still_after_exactly_so_many_rows(plant, folder, batch):
    watch(plant, *TIMED, "--freeze-after", "1234", "--batch-rows", batch, "--save", "m", "--quiet")
    model = MonitoredModel(MonitorSettings(), standardize=True, random_state=0)
    X = plant_rows(ROWS)
    model.judge_many(X[:1234])
    model.freeze()
    model.judge_many(X[1234:])
    found = monitoring.load("m")
    assert found.monitor.frozen
    np.testing.assert_array_equal(found.monitor.reference.axes, model.monitor.reference.axes)
    assert found.monitor.counts == model.monitor.counts


def test_a_model_that_run_saved_is_watched_by(plant, folder):
    done = CliRunner().invoke(
        main, ["run", str(plant), *TIMED, "--rows", ":1500", "--standardize", "--save", "plain", "--quiet"]
    )
    assert done.exit_code == 0, done.output
    out, err = watch(plant, "--model", "plain", "--rows", "1500:", "--save", "m")
    assert out.startswith("row 2,000 ")
    assert "the model has learnt from " in err
    assert re.search(r"rows: 3,000 watched, \d+ not judged", err)  # until there were limits


def test_one_file_after_the_other_is_watched_as_if_they_were_one(plant, folder):
    """Also where an alarm is on between them."""
    lines = plant.read_text().splitlines(keepends=True)
    for name, part in (("a.csv", lines[1:2021]), ("b.csv", lines[2021:])):
        Path(name).write_text("".join([lines[0], *part]))
    watch(plant, *TIMED, "--output", "whole.csv", "--quiet")
    watch("a.csv", *TIMED, "--output", "first.csv", "--save", "m", "--quiet")
    out, _ = watch("b.csv", "--model", "m", "--save", "m", "--output", "second.csv", "--quiet")
    assert re.match(r"row \d\d \(.*\): alarm ended: \d\d rows exceeded a limit, the last was row 2\d; ", out)
    whole, parts = table("whole.csv"), table("first.csv") + table("second.csv")
    assert [int(row["row"]) for row in parts] == [*range(2020), *range(ROWS - 2020)]
    for one, two in zip(whole, parts, strict=True):
        assert {name: one[name] for name in COLUMNS[:-1]} == {name: two[name] for name in COLUMNS[:-1]}
        assert one["contributors"] == two["contributors"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["plant.csv", "--frozen"], "--frozen needs --model"),
        (["plant.csv", "--model", "m", "--frozen", "--freeze-after", "5"], "exclude each other"),
        (["plant.csv", "--confirm", "3/2"], "of n rows, such as '3/5'"),
        (["plant.csv", "--confirm", "often"], "of n rows, such as '3/5'"),
        (["plant.csv", "--false-alarm-rate", "0"], "0<x<=0.1"),
        (["plant.csv", "--accept-after", "10"], "x>=64"),
        (["plant.csv", "--exclude", "text", "--freeze-after", "20"], "no basis for limits yet"),
        (["plant.csv", "--output", "v.npy"], "can only hold numbers"),
        (["plant.csv", "--resume"], "--resume needs --save"),
        (["plant.csv", "--save", "m", "--output", "-"], "--save needs a file"),
        ([], "name a SOURCE"),
        (["plant.csv", "--model", "plain", "--frozen", "--rows", "900:"], "never watched"),
        (["plant.csv", "--resume", "--save", "plain"], "does not watch its stream"),
        (
            ["plant.csv", "--model", "m", "--confirm", "2/3", "--rows", "900:"],
            "goes on with its own settings",
        ),
    ],
)
def test_refusals_say_what_to_do(plant, folder, options, message):
    Path("plant.csv").write_bytes(plant.read_bytes())
    some = ["--exclude", "text", "--rows", ":900", "--quiet"]
    watch("plant.csv", *some, "--save", "m")
    assert CliRunner().invoke(main, ["run", "plant.csv", *some, "--save", "plain"]).exit_code == 0
    result = CliRunner().invoke(main, ["watch", *options])
    assert result.exit_code in (1, 2)
    assert message in result.output


def test_run_does_not_drop_a_monitor(plant, folder):
    watch(plant, *TIMED, "--rows", ":900", "--save", "m", "--quiet")
    for options in (["--model", "m", "--rows", "900:"], ["--resume", "--save", "m"]):
        result = CliRunner().invoke(main, ["run", str(plant), *options])
        assert result.exit_code == 1
        assert "go on with eigenstream watch" in result.output


def test_inspect_knows_a_monitor(plant, folder):
    watch(plant, *TIMED, "--save", "m", "--quiet")
    shown = CliRunner().invoke(main, ["inspect", "m", "--picture", "m.png"])
    assert "m: a monitor of" in shown.output
    assert "alarms: " in shown.output
    facts = json.loads(CliRunner().invoke(main, ["inspect", "m", "--json"]).output)
    assert facts["watching"]["watched"] == ROWS
    assert (Path("m.png")).read_bytes().startswith(b"\x89PNG")


def test_a_job_can_watch_from_python(plant, folder):
    asked = Request(
        str(plant),
        "v.csv",
        ReadOptions(time_column="time"),
        parameters={"confirm": "2/3", "standardize": True},
    )
    with prepare(asked, save="m", resume=True) as job:
        job.run()
    assert isinstance(job.model, MonitoredModel)
    assert job.model.settings.confirm == (2, 3)
    assert 3000 in [alarm.began for alarm in job.model.alarms_]


def test_a_growing_file_is_answered_at_once(folder):
    """While it is followed, an alarm comes before the file goes on."""
    X = plant_rows(2100, FAULTS)
    log = folder / "log.csv"
    log.write_text(HEAD + "".join(plant_lines(X[:2000])))
    command = [sys.executable, "-m", "eigenstream", "watch", "log.csv", *TIMED, "--follow", "--quiet"]
    with subprocess.Popen(
        [*command, "--false-alarm-rate", "1e-6"], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            with log.open("a") as file:
                file.write("".join(plant_lines(X[2000:2001], 2000)))
            assert process.stdout.readline().startswith("row 2,000 (2026-11-15 10:33:20): alarm began")
            with log.open("a") as file:
                file.write("".join(plant_lines(X[2001:], 2001)))
            assert re.match(r"row 2,0[78]\d ", process.stdout.readline())
        finally:
            process.terminate()
    assert process.returncode == 143


@pytest.mark.parametrize(
    ("output", "kills"),
    [
        ("v.csv", 2),
        *(pytest.param(output, 25, marks=pytest.mark.slow) for output in ("v.csv", "v.jsonl", "v.parquet")),
    ],
)
def test_killed_again_and_again_it_ends_as_if_nothing_had_happened(plant, tmp_path, output, kills):
    command = ["watch", str(plant), *TIMED, "--output", output, "--save", "model", "--quiet"]
    command += ["--batch-rows", "64", "--confirm", "2/3", "--freeze-after", "4200"]
    for place in ("calm", "troubled"):
        (tmp_path / place).mkdir()
    subprocess.run(
        [sys.executable, "-m", "eigenstream", *command], cwd=tmp_path / "calm", env=ENVIRONMENT, check=True
    )
    slow = ["--rate", str(ROWS / (0.14 * kills)), "--checkpoint-rows", "100", "--checkpoint-seconds", "0.05"]
    job = {
        "command": [*command, *slow, "--resume"],
        "kills": kills,
        "seed": 0,
        "shortest": 0.02,
        "longest": 0.25,
    }
    done = subprocess.run(
        [sys.executable, str(HARNESS), json.dumps(job)],
        cwd=tmp_path / "troubled", env=ENVIRONMENT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["exit"] == 0
    assert found["kills"] >= kills * 2 // 3
    for calm in sorted((tmp_path / "calm").rglob("*")):
        if calm.is_file() and not calm.name.startswith(".model"):
            troubled = tmp_path / "troubled" / calm.relative_to(tmp_path / "calm")
            assert troubled.read_bytes() == calm.read_bytes(), calm.name


def test_an_alarm_that_never_ends_does_not_let_the_model_file_grow(folder):
    """Every second row is left out while an alarm lasts that is never accepted: row numbers jump there."""
    X = np.random.default_rng(0).standard_normal((2500, 4))
    X[500:] += 20
    lines = [",".join(f"{value:.3f}" for value in row) + "\n" for row in X]
    lines[501::2] = ["bad,1,1,1\n"] * len(lines[501::2])
    sizes = []
    for rows in (2000, 2500):
        Path("rows.csv").write_text("".join(lines[:rows]))
        options = ["--no-header", "--on-bad-row", "skip", "--accept-after", "1000000000", "--resume"]
        result = CliRunner().invoke(main, ["watch", "rows.csv", *options, "--save", "m", "--output", "o.csv"])
        assert result.exit_code == 4, result.output
        sizes.append(Path("m").stat().st_size)
    assert sizes[1] < sizes[0] + 20_000  # the control charts may grow by so much, to 512 stretches
    with open("o.csv") as table:
        since = [row["since"] for row in csv.DictReader(table)]
    assert set(since[501:]) == {"500"}
    assert len(since) == 500 + 1000


def test_alarm_lines_do_not_depend_on_how_many_rows_come_together(folder):
    faults = (Fault(VALVE, 2000, 2060, "biased", 8.0), Fault(HEAT, 2006, 2060, "biased", 40.0))
    write_plant(folder / "two.csv", 2300, faults)
    told = [
        watch("two.csv", *TIMED, "--false-alarm-rate", "1e-5", "--json", "--batch-rows", rows)[0]
        for rows in ("1", "7", "100", "2300")
    ]
    assert told[1:] == told[:1] * 3
    events = [json.loads(line) for line in told[0].splitlines()]
    began, lasts, ended = (one for one in events if one["event"] == "alarm")
    assert (began["state"], began["row"], began["last"], began["rows"]) == ("began", 2000, 2000, 1)
    assert next(iter(began["contributors"])) == "valve"
    # By the sixteenth row most of it is explained by the heater.
    assert (lasts["state"], lasts["row"], lasts["rows"]) == ("lasts", 2015, 16)
    assert next(iter(lasts["contributors"])) == next(iter(ended["contributors"])) == "heat"
    words, _ = watch("two.csv", *TIMED, "--false-alarm-rate", "1e-5")
    assert "row 2,015 (2026-11-15 10:33:35): alarm blamed anew, since row 2,000; " in words


def test_row_numbers_of_an_alarm_are_kept_in_bounded_memory_in_any_chunking():
    numbers = np.cumsum(np.random.default_rng(0).integers(1, 3, 5000))
    found = []
    for chunks in (1, 50, 5000):
        numbering, first = Numbering(), 0
        for part in np.array_split(numbers, chunks):
            numbering.note(first, part)
            first += len(part)
            needed = [row for row in (700, 900, 2345, 4990) if row < first]
            numbering.forget(needed)
            assert [numbering.number(row) for row in needed] == numbers[needed].tolist()
        assert len(numbering.breaks) <= MOST_BREAKS + len(needed)
        found.append(numbering.breaks)
    assert found[0] == found[1] == found[2]


def test_a_frozen_monitor_judges_rows_from_before_those_it_has_learnt(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, day, number in (("new", 20, 900), ("old", 3, 200)):
        X = rng.standard_normal((number, 4)) * [4.0, 3.0, 0.5, 0.5]
        X[-1, 2] = 40.0
        lines = [
            f"2026-01-{day:02d}T{i // 60:02d}:{i % 60:02d}:00," + ",".join(map(repr, row))
            for i, row in enumerate(X.tolist())
        ]
        Path(f"{name}.csv").write_text("\n".join(["time,a,b,c,d", *lines]) + "\n")
    call = partial(CliRunner().invoke, main, catch_exceptions=False)
    done = call(["watch", "new.csv", "--time-column", "time", "--half-life", "2d", "--save", "m", "--quiet"])
    assert done.exit_code == 0, done.output
    done = call(["watch", "old.csv", "--model", "m", "--frozen"])
    assert done.exit_code == 0, done.output
    assert "row 199 (2026-01-03 03:19:00): alarm began" in done.stdout
    done = call(["watch", "old.csv", "--model", "m"])  # one that learns cannot go back
    assert "is before the last row that was learnt" in done.output


def test_nobody_is_told_of_an_input_that_is_shelved(plant, folder):
    out, err = watch(plant, *TIMED, "--rows", ":2500", "--shelve", "valve=50min")
    assert "valve is shelved: nobody was told of" in " ".join(err.split())
    told, _ = watch(plant, *TIMED, "--rows", ":2500", "--quiet")
    assert "; valve 9" in told
    kept = [line for line in told.splitlines() if "; valve " not in line and ": valve " not in line]
    assert out.splitlines() == kept
    out, _ = watch(plant, *TIMED, "--rows", ":2500", "--shelve", "valve=1000", "--quiet")
    assert out == told


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("valv=2h", "there is no input 'valv'; inputs are feed, valve"),
        ("valve", "names no input and no time"),
        ("valve=2 fortnights", "is not a duration"),
        ("valve=0", "at least 1"),
        ("valve=2h", "a time needs rows that say when they were taken"),
    ],
)
def test_shelves_that_cannot_be_are_refused(folder, given, says):
    X = plant_rows(20)
    lines = [f"{','.join(map(repr, row))}\n" for row in X.tolist()]
    Path("x.csv").write_text(",".join(NAMES) + "\n" + "".join(lines))
    assert says in " ".join(watch("x.csv", "--shelve", given, code=2)[1].replace("│", " ").split())
