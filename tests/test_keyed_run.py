import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream.cli import main
from eigenstream.keyed import Bank, Store
from eigenstream.model import StreamModel
from eigenstream.model.stored_form import stored
from tests.environment import ENVIRONMENT
from tests.marks import slow

HARNESS = Path(__file__).parent / "kill_and_resume.py"
UNITS = 7


@pytest.fixture(scope="module")
def rows():
    """Unit, time and five numbers per row."""
    rng = np.random.default_rng(0)
    units = rng.integers(0, UNITS, 4000)
    X = rng.standard_normal((4000, 5)) * [4.0, 3.0, 0.5, 0.5, 0.5] + units[:, None]
    return [
        (f"unit {u}", 1_700_000_000 + i, *x) for i, (u, x) in enumerate(zip(units, X.tolist(), strict=True))
    ]


@pytest.fixture
def folder(tmp_path, rows, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ["unit,when,a,b,c,d,e", *(",".join(map(str, row)) for row in rows)]
    Path("x.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def run(*arguments, code=0):
    done = CliRunner().invoke(main, ["run", *arguments], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.output


def state(model):
    arrays, document = stored(model.tracker)
    return {name: array.tobytes() for name, array in arrays.items()}, json.dumps(document)


def models(path):
    with Bank(path, workers=1) as bank:
        return {key: state(bank.model(key)) for key in bank}


def test_each_key_has_the_model_and_the_scores_of_its_own_rows(folder, rows):
    run("x.csv", "--key", "unit", "--exclude", "when", "--output", "y.csv", "--save", "x.bank", "--quiet")
    head, *lines = Path("y.csv").read_text().splitlines()
    assert head == "row,unit," + ",".join(f"component_{i}" for i in range(5))
    written = [line.split(",") for line in lines]
    assert [line[:2] for line in written] == [[str(i), row[0]] for i, row in enumerate(rows)]
    found = models("x.bank")
    assert sorted(found) == [f"unit {i}" for i in range(UNITS)]
    for key in found:
        own = StreamModel(random_state=0)
        scores = own.learn_many(np.array([row[2:] for row in rows if row[0] == key]))
        assert found[key] == state(own)
        # Before its model has started, a row has no scores.
        mine = np.array([[float(word or "nan") for word in line[2:]] for line in written if line[1] == key])
        blank = np.isnan(mine).all(axis=1)
        assert 0 < blank.sum() < 100
        assert blank[: blank.sum()].all()
        assert not scores[blank].any()
        np.testing.assert_array_equal(mine[~blank], scores[~blank])


def test_batches_evictions_and_kept_columns_change_nothing(folder):
    run("x.csv", "--key", "unit", "--exclude", "when", "--save", "x.bank", "--quiet")
    more = ("--batch-rows", "37", "--max-models", "2", "--checkpoint-rows", "500", "--quiet")
    run("x.csv", "--key", "unit", "--time-column", "when", "--output", "y.jsonl", "--save", "z.bank", *more)
    assert models("x.bank") == models("z.bank")
    first = json.loads(Path("y.jsonl").read_text().splitlines()[0])
    assert list(first)[:3] == ["row", "when", "unit"]


@pytest.mark.slow  # by default tests/test_keyed_going_on.py kills a bank on two days
@pytest.mark.parametrize("seed", range(6))
def test_killed_at_any_moment_and_resumed_it_loses_nothing(folder, seed):
    command = ("--key", "unit", "--exclude", "when", "--half-life", "100", "--batch-rows", "64")
    pace = ("--checkpoint-rows", "300", "--max-models", "3", "--quiet")
    run("x.csv", *command, *pace, "--output", "whole.csv", "--save", "whole.bank")
    arguments = ["run", "x.csv", *command, *pace, "--output", "y.csv", "--save", "y.bank", "--resume"]
    job = {"command": arguments, "kills": 6, "seed": seed, "shortest": 0.02, "longest": 0.4}
    done = subprocess.run(
        [sys.executable, str(HARNESS), json.dumps(job)], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["exit"] == 0
    assert json.loads(done.stdout)["kills"] > 0
    assert Path("y.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert models("y.bank") == models("whole.bank")


@pytest.mark.parametrize("removed", [False, slow(True)])
def test_begun_afresh_after_a_kill_it_has_the_bytes_of_a_job_that_was_not_killed(
    folder, monkeypatch, removed
):
    """What a killed job leaves beside its bank must not enter the next one."""
    command = ["run", "../x.csv", "--key", "unit", "--exclude", "when", "--batch-rows", "64", "--quiet"]
    command += ["--checkpoint-rows", "300", "--max-models", "3", "--output", "y.csv", "--save", "y.bank"]
    for name in ("calm", "killed"):
        Path(name).mkdir()
    monkeypatch.chdir(folder / "killed")
    job = {"command": [*command, "--overwrite"], "kills": 3, "seed": 1, "shortest": 0.05, "longest": 0.2}
    words = [sys.executable, str(HARNESS), json.dumps(job | {"last": False})]
    done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kills"] > 0
    if removed:
        for name in ("y.bank", "y.csv"):
            Path(name).unlink(missing_ok=True)
    for place in ("killed", "calm"):
        monkeypatch.chdir(folder / place)
        run(*command[1:], *([] if removed else ["--overwrite"]))
    for name in ("y.bank", "y.csv"):
        assert (folder / "calm" / name).read_bytes() == (folder / "killed" / name).read_bytes()


def test_an_existing_bank_stays_until_there_is_a_better_one(folder):
    asked = ("--key", "unit", "--exclude", "when", "--quiet")
    run("x.csv", *asked, "--save", "x.bank")
    before = Path("x.bank").read_bytes()
    assert "x.bank exists" in run("x.csv", *asked, "--save", "x.bank", code=1)
    assert Path("x.bank").read_bytes() == before
    Path("bad.csv").write_text("unit,when,a,b,c,d,e\n,1,2,3,4,5,6\n")
    said = run("bad.csv", *asked, "--save", "x.bank", "--overwrite", code=1)
    assert "bad.csv, line 2, key 'unit': '' is no key: it is missing" in said
    assert Path("x.bank").read_bytes() == before
    run("x.csv", *asked, "--rows", ":100", "--save", "x.bank", "--overwrite")
    with Bank("x.bank") as bank:
        assert bank.samples == 100
    assert not list(folder.glob(".x.bank.*.tmp*"))


def test_inspect_lists_keys_and_shows_one(folder):
    run("x.csv", "--key", "unit", "--exclude", "when", "--save", "x.bank", "--quiet")
    listed = CliRunner().invoke(main, ["inspect", "x.bank"]).output
    assert "a bank of 7 models, 4,000 samples of 5 numbers" in listed
    facts = json.loads(CliRunner().invoke(main, ["inspect", "x.bank", "--json"]).output)
    assert {entry["key"] for entry in facts["keys"]} == {f"unit {i}" for i in range(UNITS)}
    assert sum(entry["samples"] for entry in facts["keys"]) == 4000
    assert {entry["rank"] for entry in facts["keys"]} == {2}
    one = json.loads(CliRunner().invoke(main, ["inspect", "x.bank", "--key", "unit 3", "--json"]).output)
    assert one["rank"] == 2
    assert set(one["loadings"][0]) <= set("abcde")
    assert (
        "no model with the key 'unit 9'"
        in CliRunner().invoke(main, ["inspect", "x.bank", "--key", "unit 9"]).output
    )


def test_events_carry_keys(folder):
    said = run("x.csv", "--key", "unit", "--exclude", "when", "--json")
    events = [json.loads(line) for line in said.splitlines()]
    assert {event["key"] for event in events if event["event"] == "rank"} == {
        f"unit {i}" for i in range(UNITS)
    }
    assert events[-1] | {"seconds": 0, "saving": 0} == {
        "event": "end", "rows": 4000, "learnt": 4000, "keys": 7, "samples": 4000, "seconds": 0,
        "saving": 0, "unsaved": 0,
        "new_keys": 7, "vanished_keys": 0, "left_out": 0, "signal": None, "notes": [],
        "ranks": {"2": 7}, "ranks_by": "all rows",
    }  # fmt: skip


def test_what_does_not_fit_is_refused_in_words(folder):
    assert "--max-models bounds" in run("x.csv", "--max-models", "3", code=2)
    assert "there is no column 'site'" in run("x.csv", "--key", "site", code=1)
    assert "can only hold numbers" in run("x.csv", "--key", "unit", "--output", "y.npy", code=1)
    run("x.csv", "--key", "unit", "--exclude", "when", "--save", "x.bank", "--quiet")
    assert "nothing new" in run("x.csv", "--save", "x.bank", "--resume")  # it knows its column of keys
    run("x.csv", "--exclude", "when,unit", "--save", "x.model", "--quiet")
    assert "is one model, not a bank" in run(
        "x.csv", "--key", "unit", "--save", "x.model", "--resume", code=1
    )
    assert "was made with --key unit, not with --key when" in run(
        "x.csv", "--key", "when", "--save", "x.bank", "--resume", code=1
    )


@pytest.mark.parametrize("kept", [[], ["--save", "x.bank"], ["--save", "x.bank", "--max-models", "2"]])
def test_closing_lines_say_how_many_keys_are_at_which_rank(folder, rows, kept):
    lines = [row for row in rows if row[0] != "unit 3"]
    flat = [(*row[:2], *np.random.default_rng(i).standard_normal(5)) for i, row in enumerate(rows)]
    lines += [row for row in flat if row[0] == "unit 3"]
    head = Path("x.csv").read_text().splitlines()[0]
    Path("x.csv").write_text("\n".join([head, *(",".join(map(str, row)) for row in lines)]) + "\n")
    said = run("x.csv", "--key", "unit", "--exclude", "when", *kept)
    assert "ranks: 6 keys at rank 2, 1 key at rank 0\n" in said
    facts = json.loads(
        run("x.csv", "--key", "unit", "--exclude", "when", *kept, "--overwrite", "--json").splitlines()[-1]
    )
    assert facts["ranks"] == {"0": 1, "2": 6}


def inspect(*arguments):
    done = CliRunner().invoke(main, ["inspect", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_ranks_of_a_bank_are_those_of_the_models(tmp_path, monkeypatch):
    """Also where rows have come since the last look: the list, the closing lines and the model agree."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    X = rng.standard_normal((50, 1)) @ rng.standard_normal((1, 4)) * 0.8 + rng.standard_normal((50, 4))
    X[:32] = rng.standard_normal((32, 4))
    X[32:, :] += 6 * rng.standard_normal((18, 1))
    lines = [",".join(["one", *(f"{v:.3f}" for v in row)]) for row in X]
    Path("x.csv").write_text("\n".join(["key,a,b,c,d", *lines, ""]))
    told = run("x.csv", "--key", "key", "--save", "x.bank")
    rank = json.loads(inspect("x.bank", "--key", "one", "--json"))["rank"]
    assert rank == 1
    assert Store("x.bank").models["one"].rank == 0  # as of the last look
    assert "ranks: 1 key at rank 1" in told
    listed = json.loads(inspect("x.bank", "--json"))
    assert ([one["rank"] for one in listed["keys"]], listed["ranks_by"]) == ([1], "all rows")
    assert inspect("x.bank").split()[-3:] == ["one", "50", "1"]
    monkeypatch.setattr("eigenstream.keyed.bank.MOST_READ", 0)
    told = run("x.csv", "--key", "key", "--save", "y.bank")
    assert "ranks at the last look of each key: 1 key at rank 0" in told
    listed = json.loads(inspect("x.bank", "--json"))
    assert ([one["rank"] for one in listed["keys"]], listed["ranks_by"]) == ([0], "last look")
