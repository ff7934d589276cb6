"""A fleet goes on with tomorrow's file, exactly once, killed or not; each of its units has a clock."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream.cli import main
from eigenstream.io import sources
from eigenstream.keyed import Bank, Store, open_bank
from eigenstream.model.stored_form import stored
from tests.environment import ENVIRONMENT
from tests.marks import slow

HARNESS = Path(__file__).parent / "kill_and_resume.py"
DAYS = ("mon", "tue")


def lines(seed, units, rows=600):
    """A day: rows of units in no order."""
    rng = np.random.default_rng(seed)
    whose = rng.choice(units, rows)
    X = rng.standard_normal((rows, 4)) * [4.0, 3.0, 0.5, 0.5] + 5 * whose[:, None]
    X[-1, 2] += 40.0
    return [f"u{u}," + ",".join(map(repr, x)) for u, x in zip(whose, X.tolist(), strict=True)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two days; u0 is gone on the second, u3 is new on it."""
    monkeypatch.chdir(tmp_path)
    days = {"mon": lines(0, [0, 1, 2]), "tue": lines(1, [1, 2, 3])}
    for name, rows in (days | {"both": [*days["mon"], *days["tue"]]}).items():
        Path(f"{name}.csv").write_text("\n".join(["unit,a,b,c,d", *rows]) + "\n")
    return tmp_path


def call(*words, code=0):
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.output


def states(path):
    """What each model of a bank knows, to the bit."""
    bank = open_bank(path)
    try:
        found = {key: stored(bank.model(key).tracker) for key in bank}
    finally:
        bank.close()
    return {
        key: ({name: array.tobytes() for name, array in arrays.items()}, json.dumps(document))
        for key, (arrays, document) in found.items()
    }


@pytest.mark.parametrize("command", ["run", "watch"])
@pytest.mark.parametrize("key", [(), ("--key", "unit")], ids=["its own key", "key named"])
def test_a_bank_goes_on_in_its_file_as_one_job_over_both_days(folder, command, key):
    call(command, "mon.csv", "--key", "unit", "--save", "fleet", "--quiet")
    said = call(command, "tue.csv", *key, "--model", "fleet", "--save", "fleet", "--max-models", "2")
    assert "600 rows of 4 keys" in said
    assert "keys: 1 new, 1 known before that have no row in this source" in said
    call(command, "both.csv", "--key", "unit", "--save", "calm", "--quiet")
    assert states("fleet") == states("calm")
    refused = call(command, "tue.csv", "--model", "fleet", "--save", "fleet", code=1)
    assert "tue.csv was learnt before: it would be counted twice" in refused
    assert "nothing new" in call(command, "tue.csv", "--model", "fleet", "--save", "fleet", "--resume")
    assert states("fleet") == states("calm")


def test_a_bank_goes_on_in_another_file_and_stays_as_it_is(folder):
    call("run", "mon.csv", "--key", "unit", "--seed", "5", "--save", "fleet", "--quiet")
    before = Path("fleet").read_bytes()
    call("run", "tue.csv", "--model", "fleet", "--save", "next", "--max-models", "1", "--quiet")
    call("run", "tue.csv", "--model", "fleet", "--output", "scores.csv", "--max-models", "1", "--quiet")
    assert Path("fleet").read_bytes() == before
    call("run", "both.csv", "--key", "unit", "--seed", "5", "--save", "calm", "--output", "s.csv", "--quiet")
    assert states("next") == states("calm")
    tail = [line.split(",")[1:] for line in Path("s.csv").read_text().splitlines()[601:]]
    assert [line.split(",")[1:] for line in Path("scores.csv").read_text().splitlines()[1:]] == tail


def test_several_files_go_on_with_resume_as_one_job(folder):
    call("watch", "both.csv", "--key", "0", "--output", "calm.csv", "--save", "calm", "--quiet")
    command = ("watch", "--key", "0", "--output", "v.csv", "--save", "fleet", "--resume", "--quiet")
    call(*command[:1], "mon.csv", *command[1:])
    call(*command[:1], "mon.csv", "tue.csv", *command[1:])
    assert states("fleet") == states("calm")
    assert Path("v.csv").read_bytes() == Path("calm.csv").read_bytes()
    said = call(*command[:1], "mon.csv", *command[1:], code=1)
    assert "the stored position is not one in a text source" in said


def test_alarms_and_the_exit_status_are_those_of_the_day(folder):
    facts = []
    for day in (*DAYS, "calm"):
        if day == "calm":  # as Monday began, so that there is nothing to alarm for
            rows = Path("mon.csv").read_text().splitlines()
            Path("calm.csv").write_text("\n".join([rows[0], *rows[1:60]]) + "\n")
        more = () if day == "mon" else ("--model", "fleet", "--relearn")
        done = CliRunner().invoke(
            main,
            ["watch", f"{day}.csv", "--key", "unit", "--save", "fleet", "--json", "--exit-code", *more],
        )
        facts.append((done.exit_code, json.loads(done.stderr.splitlines()[-1])))
    alarms = [end["alarms"] for _, end in facts]
    with open_bank("fleet") as bank:
        assert sum(alarms) == bank.alarms
    assert min(alarms[:2]) > 0
    assert [code for code, _ in facts][:2] == [3, 3]
    assert [(end["new_keys"], end["vanished_keys"]) for _, end in facts] == [(3, 0), (1, 1), (0, 1)]


def test_what_is_one_model_and_what_is_a_bank_is_said(folder):
    call("run", "mon.csv", "--key", "unit", "--save", "fleet", "--quiet")
    call("run", "mon.csv", "--exclude", "unit", "--save", "one", "--quiet")
    assert "one is one model, not a bank" in call("run", "tue.csv", "--key", "unit", "--model", "one", code=1)
    assert "does not watch its streams" in call("watch", "tue.csv", "--model", "fleet", code=1)
    call("watch", "mon.csv", "--key", "unit", "--save", "monitors", "--quiet")
    assert "go on with eigenstream watch" in call("run", "tue.csv", "--model", "monitors", code=1)
    with Bank("made") as bank:
        bank.learn_many(["a", "b"] * 10, np.eye(4)[np.arange(20) % 4])
        bank.save()
    assert "made is a bank of models (--key names" in call("run", "tue.csv", "--model", "made", code=1)
    call("run", "tue.csv", "--model", "made", "--key", "unit", "--save", "made", "--quiet")
    assert set(states("made")) == {"a", "b", "u1", "u2", "u3"}


def two_days(command, place, *extra):
    """The commands of two days: a bank, and the same bank going on."""
    return [
        [command, f"{day}.csv", *more, "--save", place, "--output", f"{place}-{day}.csv", "--resume", *extra]
        for day, more in zip(DAYS, (("--key", "unit"), ("--model", place)), strict=True)
    ]


def killed(commands, **job):
    """Carry each of them out, killed at random moments until it ends; returns the number of kills."""
    words = [sys.executable, str(HARNESS), json.dumps({"commands": commands, **job})]
    done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["exit"] == 0, done.stderr
    return json.loads(done.stdout)["kills"]


def ends_as_one_job_over_both_days(command, *extra):
    for asked in two_days(command, "calm", *extra):
        call(*asked)
    call(command, "both.csv", "--key", "unit", "--save", "one", "--quiet")
    assert states("killed") == states("calm") == states("one")
    for day in DAYS:
        assert Path(f"killed-{day}.csv").read_bytes() == Path(f"calm-{day}.csv").read_bytes()


@pytest.mark.parametrize(
    ("command", "seed"),
    [("run", 0), *(slow(command, seed) for command in ("run", "watch") for seed in (1, 2, 3))],
)
def test_killed_on_both_days_it_ends_as_if_nothing_had_happened(folder, command, seed):
    extra = ("--batch-rows", "32", "--checkpoint-rows", "100", "--max-models", "2", "--quiet")
    commands = two_days(command, "killed", *extra)
    assert killed(commands, kills=4, seed=seed, shortest=0.01, longest=0.25) > 0
    ends_as_one_job_over_both_days(command, *extra)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "watch"])
def test_two_days_of_a_thousand_keys_killed_on_both(folder, command):
    for seed, day in enumerate(DAYS):
        own = np.arange(50 * seed, 1000 + 50 * seed)
        Path(f"{day}.csv").write_text("\n".join(["unit,a,b,c,d", *lines(seed, own, 60_000)]) + "\n")
    parts = [Path(f"{day}.csv").read_text() for day in DAYS]
    Path("both.csv").write_text(parts[0] + parts[1].split("\n", 1)[1])
    extra = ("--checkpoint-rows", "20000", "--max-models", "300", "--quiet")
    commands = two_days(command, "killed", *extra)
    assert killed(commands, kills=8, seed=3, shortest=0.3, longest=5.0, patience=900.0) > 4
    ends_as_one_job_over_both_days(command, *extra)
    assert len(states("one")) == 1050


def timed(folder, order):
    """Rows of three units with their cycles, in this order of units; some cycles are wrong."""
    rng, at, rows = np.random.default_rng(3), dict.fromkeys("abc", 0), []
    for unit in order:
        at[unit] += 1
        cycle = {("a", 5): 3, ("b", 9): 1e9}.get((unit, at[unit]), at[unit])
        rows.append((unit, cycle, *rng.standard_normal(3).tolist()))
    text = "\n".join(["unit,cycle,x,y,z", *(",".join(map(str, row)) for row in rows)]) + "\n"
    Path("timed.csv").write_text(text)
    return rows


@pytest.mark.parametrize(
    "order", ["a" * 30 + "b" * 30 + "c" * 2, "abc" * 20, "aabbc" * 12], ids=["in turn", "mixed", "uneven"]
)
def test_each_key_has_its_clock_as_if_its_rows_came_alone(folder, order):
    rows = timed(folder, order)
    options = {"time_column": "cycle", "key": "unit", "on_bad_row": "skip"}
    found = {}
    for size in (1000, 7, 1):
        with sources.open("timed.csv", batch_rows=size, **options) as source:
            batches = list(source)
        found[size] = [number for batch in batches for number in batch.numbers.tolist()]
        keys = [key for batch in batches for key in batch.keys]
        # Continued from any batch it hands out the same rows.
        for i in range(0, len(batches), max(len(batches) // 9, 1)):
            place = json.loads(json.dumps(batches[i].position))
            with sources.open("timed.csv", batch_rows=size, position=place, **options) as source:
                rest = [number for batch in source for number in batch.numbers.tolist()]
            assert rest == [number for batch in batches[i + 1 :] for number in batch.numbers.tolist()]
    assert found[7] == found[1] == found[1000]
    for unit in "abc":
        own = [i for i, row in enumerate(rows) if row[0] == unit]
        Path("one.csv").write_text(
            "\n".join(["cycle,x,y,z", *(",".join(map(str, rows[i][1:])) for i in own)]) + "\n"
        )
        with sources.open("one.csv", time_column="cycle", on_bad_row="skip") as source:
            alone = [own[number] for batch in source for number in batch.numbers.tolist()]
        assert [n for n, key in zip(found[1000], keys, strict=True) if key == unit] == alone


def test_units_one_after_the_other_need_no_option(folder):
    timed(folder, "c" * 60)
    text = Path("timed.csv").read_text()
    Path("timed.csv").write_text(text + text.split("\n", 1)[1].replace("c,", "d,"))
    call("run", "timed.csv", "--key", "unit", "--time-column", "cycle", "--half-life", "20s", "--save", "f")
    call("watch", "timed.csv", "--key", "unit", "--time-column", "cycle", "--quiet")
    assert [entry.samples for entry in Store("f").entries()] == [60, 60]
    said = call("run", "timed.csv", "--key", "0", "--time-column", "unit", code=1)
    assert "cannot be both the time and the key" in said


@pytest.mark.parametrize("key", [(), ("--key", "unit")], ids=["one model", "keyed"])
@pytest.mark.parametrize("command", ["run", "watch"])
def test_clocks_may_begin_anew_with_a_file_unless_a_half_life_needs_them(folder, command, key):
    """One rule, in one job over both files and in two jobs; within a file times never go backwards."""
    rng = np.random.default_rng(0)
    for day in DAYS:
        rows = [
            f"u{i // 40},{i % 40 if key else i},{x:.3f},{y:.3f}"
            for i, (x, y) in enumerate(rng.random((80, 2)))
        ]
        Path(f"{day}.csv").write_text("\n".join(["unit,cycle,a,b", "", *rows]) + "\n")
    asked = (*key, "--time-column", "cycle", *(() if key else ("--exclude", "unit")), "--quiet")
    call(command, "mon.csv", *asked, "--save", "two")
    call(command, "tue.csv", "--model", "two", "--save", "two", "--quiet")
    call(command, "mon.csv", "tue.csv", *asked, "--save", "one")
    if key:
        assert states("two") == states("one")
    asked += ("--half-life", "20s")
    call(command, "mon.csv", *asked, "--save", "timed")
    last = 39 if key else 79
    of_key = ", key 'u0'" if key else ""
    said = f"tue.csv, line 3{of_key}: cycle 0 is before the last row that was learnt"
    for words in (("tue.csv", "--model", "timed", "--save", "timed"), ("mon.csv", "tue.csv", *asked)):
        refused = call(command, *words, code=1)
        assert f"{said}, cycle {last}" in refused
        assert "--half-life 200 counts rows instead" in refused
    Path("back.csv").write_text(Path("mon.csv").read_text() + "u0,3,1.0,1.0\n")
    refused = call(command, "back.csv", *asked[:-2], code=1)
    assert "line 83, time 'cycle': '3' is before the time of an earlier row" in refused


def test_transform_scores_each_row_by_the_model_of_its_key(folder):
    asked = ("run", "mon.csv", "--key", "unit", "--lags", "1", "--save", "fleet", "--quiet")
    call(*asked)
    said = CliRunner().invoke(
        main, ["transform", "fleet", "tue.csv", "--output", "s.csv", "--batch-rows", "50"]
    )
    assert said.exit_code == 0, said.output
    rows = [line.split(",") for line in Path("tue.csv").read_text().splitlines()[1:]]
    unknown = sum(row[0] == "u3" for row in rows)
    assert f"rows without scores: {unknown}, of the unknown key u3" in said.stderr
    written = [line.split(",") for line in Path("s.csv").read_text().splitlines()[1:]]
    with Bank("fleet") as bank:
        for key in ("u1", "u2"):
            own = np.array([row[1:] for row in rows if row[0] == key], dtype=float)
            found = [line[2:] for line in written if line[1] == key]
            expected = bank.model(key).transform(own)
            # A product of 50 rows and one of all of them may round differently: it depends on the processor.
            np.testing.assert_allclose(np.array(found, dtype=float), expected, rtol=1e-12, atol=1e-13)
    assert {value for line in written if line[1] == "u3" for value in line[2:]} <= {"", "nan"}
    call("run", "mon.csv", "--exclude", "unit", "--save", "one", "--quiet")
    said = call("transform", "one", "tue.csv", "--key", "unit", code=2)
    assert "--key is for banks of models, and one is one model" in said


def test_banks_are_merged_key_by_key(folder):
    for day in DAYS:
        call("run", f"{day}.csv", "--key", "unit", "--save", day, "--quiet")
        call("watch", f"{day}.csv", "--key", "unit", "--save", f"{day}.monitors", "--quiet")
    said = call("merge", "mon", "tue", "--save", "both")
    assert "1,200 samples of 4 keys, of which 2 were in several" in said
    call("run", "both.csv", "--key", "unit", "--save", "one", "--quiet")
    with Bank("both") as both, Bank("one") as one:
        for key in one:
            np.testing.assert_allclose(both.model(key).spectrum_, one.model(key).spectrum_, rtol=1e-9)
            assert both.model(key).n_samples_seen_ == one.model(key).n_samples_seen_
    assert states("both")["u0"] == states("mon")["u0"]
    assert "mon.csv was learnt before" in call("run", "mon.csv", "--model", "both", code=1)
    Path("wed.csv").write_text("\n".join(["unit,a,b,c,d", *lines(2, [0, 3])]) + "\n")
    assert "600 rows of 4 keys" in call("run", "wed.csv", "--model", "both", "--save", "both")
    said = call("merge", "mon.monitors", "tue.monitors", "--save", "none", code=1)
    assert "both have a monitor with the key 'u" in said
    call("watch", "tue.csv", "--key", "unit", "--rows", ":600", "--save", "other", "--quiet")
    said = call("merge", "mon", "other", "--save", "none", code=1)
    assert "have different settings of their monitors (none and some)" in said
    call("run", "mon.csv", "--exclude", "unit", "--save", "model", "--quiet")
    assert "mon is a bank of models and model is one model" in call(
        "merge", "mon", "model", "--save", "x", code=2
    )
    assert not Path("none").exists()


def test_a_bank_of_monitors_is_merged_where_keys_differ(folder):
    text = Path("mon.csv").read_text()
    Path("other.csv").write_text(text.replace("\nu", "\nother-u"))
    for name in ("mon", "other"):
        call("watch", f"{name}.csv", "--key", "unit", "--save", name, "--quiet")
    call("merge", "mon", "other", "--save", "both")
    call("watch", "tue.csv", "--model", "both", "--save", "both", "--quiet")
    assert sorted(states("both")) == ["other-u0", "other-u1", "other-u2", "u0", "u1", "u2", "u3"]


def test_a_bank_is_exported_with_all_its_keys(folder):
    call("run", "mon.csv", "--key", "unit", "--save", "fleet", "--quiet")
    assert "3 models, one per line" in call("export", "fleet", "fleet.jsonl")
    found = {one["key"]: one for one in map(json.loads, Path("fleet.jsonl").read_text().splitlines())}
    assert sorted(found) == ["u0", "u1", "u2"]
    call("export", "fleet", "u1.json", "--key", "u1")
    assert {"key": "u1"} | json.loads(Path("u1.json").read_text()) == found["u1"]
    assert found["u1"]["inputs"] == ["a", "b", "c", "d"]


def test_the_next_rows_of_one_key_are_forecast(folder):
    call("run", "mon.csv", "--key", "unit", "--missing", "impute", "--save", "fleet", "--quiet")
    head, *rows = call("forecast", "fleet", "--key", "u2", "--steps", "3").splitlines()
    assert head == "step,a,b,c,d,a_std,b_std,c_std,d_std"
    with Bank("fleet") as bank:
        ahead = bank.model("u2").forecast(3)
    np.testing.assert_array_equal(np.array([row.split(",")[1:5] for row in rows], float), ahead.rows)
    assert "fleet is a bank of models: name one with --key KEY" in call("forecast", "fleet", code=2)


def test_the_file_of_a_bank_names_itself_where_one_model_is_expected(folder):
    import eigenstream

    call("run", "mon.csv", "--key", "unit", "--save", "fleet", "--quiet")
    with pytest.raises(ValueError, match="'fleet' is a bank of models, one per key, where one model"):
        eigenstream.load("fleet")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_banks_learn_from_data_frames_with_a_column_of_keys(folder, library):
    module = pytest.importorskip(library)
    from eigenstream.keyed import MonitorBank, learn_frame

    days = [module.read_csv(f"{day}.csv") for day in DAYS]
    if library == "pandas":  # whose own parser is exact in the newest versions only
        days = [module.read_csv(f"{day}.csv", dtype=str).astype(dict.fromkeys("abcd", float)) for day in DAYS]
    days[1] = days[1][["d", "unit", "c", "b", "a"]]  # tomorrow in another order
    with Bank("fleet") as bank:
        for day in days:
            scores = learn_frame(bank, day, key="unit")
        bank.save()
        assert list(scores.columns) == ["unit", *(f"component_{i}" for i in range(4))]
        assert scores["unit"].to_list() == day["unit"].to_list()
    call("run", "both.csv", "--key", "unit", "--save", "calm", "--quiet")
    assert states("fleet") == states("calm")
    with Bank("fleet") as bank:
        assert bank.model("u1").features == ["a", "b", "c", "d"]
        with pytest.raises(ValueError, match="there is no column 'site' in the frame; there are unit, a"):
            learn_frame(bank, days[0], key="site")
        with pytest.raises(ValueError, match="the bank has learnt from a, b, c, d, not from a, b"):
            learn_frame(bank, days[0], key="unit", columns=["a", "b"])
    monitors = MonitorBank(standardize=True, random_state=0)
    verdicts = [learn_frame(monitors, day, key="unit") for day in days][-1]
    call("watch", "both.csv", "--key", "unit", "--save", "watched", "--output", "v.csv", "--quiet")
    with open("v.csv", newline="") as file:
        severity = [row["severity"] for row in csv.DictReader(file)][600:]
    np.testing.assert_array_equal(np.array(severity, float), verdicts["severity"].to_list())
    assert verdicts["blamed"].to_list()[-1] == "c"


@pytest.mark.parametrize("ahead", [(), ("--ahead",)], ids=["by the past", "ahead"])
def test_gaps_are_filled_by_the_rows_of_their_key(folder, ahead):
    rows = [line.split(",") for line in Path("mon.csv").read_text().splitlines()[1:]]
    for i in range(200, 600, 7):
        rows[i][1 + i % 4] = ""
    head = ["unit,a,b,c,d"]
    Path("gaps.csv").write_text("\n".join([*head, *map(",".join, rows)]) + "\n")
    call("fill", "gaps.csv", "--key", "unit", "--output", "whole.csv", *ahead)
    whole = [line.split(",") for line in Path("whole.csv").read_text().splitlines()[1:]]
    for key in ("u0", "u1", "u2"):
        own = [row for row in rows if row[0] == key]
        Path("one.csv").write_text("\n".join([*head, *map(",".join, own)]) + "\n")
        call("fill", "one.csv", "--columns", "a,b,c,d", "--output", "alone.csv", "--overwrite", *ahead)
        alone = [line.split(",") for line in Path("alone.csv").read_text().splitlines()[1:]]
        found = [row[1:] for row in whole if row[0] == key]
        np.testing.assert_allclose(
            np.array([row[1:] for row in alone], float), np.array(found, float), rtol=1e-12
        )
    assert not any("" in row for row in whole)


def test_gaps_are_filled_by_the_models_of_a_bank(folder):
    call("run", "mon.csv", "--key", "unit", "--missing", "impute", "--save", "fleet", "--quiet")
    Path("gap.csv").write_text("unit,a,b,c,d\nu1,1.0,,5.0,5.0\nnew,1.0,,5.0,5.0\n")
    said = CliRunner().invoke(main, ["fill", "gap.csv", "--model", "fleet", "--output", "whole.csv"])
    assert said.exit_code == 0, said.output
    assert "keys that the bank does not know: 1" in said.stderr
    first, second = (line.split(",") for line in Path("whole.csv").read_text().splitlines()[1:])
    assert abs(float(first[2]) - 5.0) < 6  # the mean of u1's b is 5, its standard deviation 3
    assert second[2] == ""  # nothing is known of it yet
    call("run", "mon.csv", "--key", "unit", "--save", "other", "--quiet")
    assert "it fills no gaps" in call("fill", "gap.csv", "--model", "other", "--output", "x.csv", code=2)
    said = call("fill", "gap.csv", "--key", "unit", "--output", "x.csv", "--save", "m", code=2)
    assert "learn them by run --key --save" in said
