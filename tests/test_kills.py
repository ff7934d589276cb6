"""A job killed, or without power, at each single call that changes a file; and again while it is resumed."""

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from eigenstream.streams import Fault
from tests.environment import ENVIRONMENT
from tests.marks import slow
from tests.plant_files import write_plant

HERE = Path(__file__).parent


def one_file(folder, output, overwrite):
    """A job that reads one file, perhaps in a folder with results of another."""
    X = np.random.default_rng(0).standard_normal((600, 5)) * [5, 3, 1, 1, 1]
    np.save(folder / "x.npy", X)
    np.save(folder / "other.npy", X[::-1])
    options = ["--save", "model", "--quiet", "--batch-rows", "50", "--checkpoint-rows", "150"]
    options += [] if output is None else ["--output", output]
    job = {"command": ["run", "../x.npy", *options]}
    if overwrite:
        job["command"].append("--overwrite")
        job["before"] = ["run", "../other.npy", *options]
    return job


def several_files(folder, kind, solver, output):
    """A job that reads three files, or goes on with two of them after the first."""
    X = np.random.default_rng(0).standard_normal((600, 5)) * [5, 3, 1, 1, 1]
    for i in range(3):
        lines = [
            f"{row},u{row % 7}," + ",".join(map(repr, X[row].tolist()))
            for row in range(200 * i, 200 * (i + 1))
        ]
        (folder / f"{i}.csv").write_text("\n".join(["t,unit,a,b,c,d,e", *lines]) + "\n")
    settings = ["--solver", solver, "--keep", "unit", "--time-column", "t", "--batch-rows", "30"]
    options = ["--save", "model", "--quiet", "--checkpoint-rows", "80"]
    options += [] if output is None else ["--output", output, "--residuals"]
    if kind == "several files":
        return {"command": ["run", "../0.csv", "../1.csv", "../2.csv", *settings, *options]}
    base = ["run", "../0.csv", *settings, "--save", "model", "--quiet"]
    return {"base": base, "command": ["run", "../1.csv", "../2.csv", "--model", "model", *options]}


def watching(folder, output, solver="auto"):
    """A job that watches a plant with two faults, which came in two files."""
    path = folder / "plant.csv"
    write_plant(path, 600, [Fault(1, 300, 380), Fault(2, 450, 470)])
    head, *lines = path.read_text().splitlines(keepends=True)
    (folder / "plant0.csv").write_text(head + "".join(lines[:320]))
    (folder / "plant1.csv").write_text(head + "".join(lines[320:]))
    options = ["--time-column", "time", "--save", "model", "--quiet", "--accept-after", "64"]
    options += ["--solver", solver, "--batch-rows", "50", "--checkpoint-rows", "150"]
    options += ["--output", output] if output else []
    options += ["--no-standardize"] if solver == "network" else []
    return {"command": ["watch", "../plant0.csv", "../plant1.csv", *options]}


SOLVERS = ("exact", "subspace", "network")


@pytest.mark.parametrize(
    ("output", "overwrite", "step"),
    [
        ("scores.csv", False, 17),
        ("scores.parquet", True, 80),
        *(
            slow(output, overwrite, 1)
            for output in ("scores.csv", "scores.npy", "scores.parquet", None)
            for overwrite in (False, True)
        ),
    ],
)
def test_killed_at_any_call_it_ends_as_if_nothing_had_happened(tmp_path, output, overwrite, step):
    ends_as_if_nothing_had_happened(
        tmp_path, one_file(tmp_path, output, overwrite) | {"step": step, "seed": 0}
    )


@pytest.mark.parametrize(
    ("kind", "solver", "output", "step"),
    [
        ("going on", "exact", "scores.csv", 40),
        ("several files", "subspace", "scores.jsonl", 64),
        *(
            slow(kind, solver, output, 2)
            for kind in ("going on", "several files")
            for solver in SOLVERS
            for output in ("scores.csv", "scores.parquet", None)
        ),
    ],
)
def test_killed_between_files_each_is_learnt_once(tmp_path, kind, solver, output, step):
    job = several_files(tmp_path, kind, solver, output)
    ends_as_if_nothing_had_happened(tmp_path, job | {"step": step, "seed": 1})


@pytest.mark.parametrize(
    ("output", "solver", "step"),
    [
        ("v.csv", "auto", 64),
        *(
            slow(output, solver, 1)
            for output, solver in zip(("v.csv", "v.parquet", None), SOLVERS, strict=True)
        ),
    ],
)
def test_killed_while_it_watches_nothing_is_judged_twice(tmp_path, output, solver, step):
    ends_as_if_nothing_had_happened(tmp_path, watching(tmp_path, output, solver) | {"step": step, "seed": 2})


def ends_as_if_nothing_had_happened(folder, job):
    found = carried_out("kill_at_calls.py", folder, job)
    assert found["complaints"] == []
    assert found["kills"] >= found["calls"] // job["step"] * 2


def write_days(folder):
    """Seven files of a plant with faults and gaps, of different lengths; 40 units take turns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 3)) @ rng.standard_normal((3, 8)) * 3 + rng.standard_normal((900, 8))
    X[400:430, 2] += 60
    names = ",".join(["unit", *(f"x{i}" for i in range(8))])
    cells = np.where(rng.random(X.shape) < 0.02, "", np.char.mod("%.5f", X))
    lines = [",".join([f"u{row % 40}", *cells[row]]) for row in range(len(X))]
    ends = [0, 90, 95, 300, 420, 650, 700, 900]
    for i, (first, last) in enumerate(pairwise(ends)):
        (folder / f"{i}.csv").write_text("\n".join([names, *lines[first:last]]) + "\n")


def alarms_with_gaps(folder):
    """Rows of which hardly one is whole leave the usual pattern for good, and are accepted as the new one."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 30))
    X[300:] += 5
    cells = np.where(rng.random(X.shape) < 0.15, "", np.char.mod("%.4f", X))
    (folder / "gaps.csv").write_text("\n".join(",".join(row) for row in cells) + "\n")


OFTEN = ["--quiet", "--batch-rows", "30", "--checkpoint-rows", "60", "--missing", "impute"]
UNITS = ["--key", "unit", "--max-models", "5", *OFTEN]
ALL_DAYS = [f"{i}.csv" for i in range(7)]


def each_day(command, later=()):
    """A timetable: the files of a folder grow in number, and the same command reads them every day."""
    return [
        {"files": {f"logs/{name}": name}, "command": [*command, *(later if i else ())]}
        for i, name in enumerate(ALL_DAYS)
    ]


def at_once(command):
    return [{"files": {f"logs/{name}": name for name in ALL_DAYS}, "command": command}]


RUN = ["run", "logs", "--save", "model"]
WATCH = ["watch", "logs", "--exclude", "unit", "--save", "model"]
TODAY = ["run", "today.csv", "--exclude", "unit", "--save", "model", "--resume", *OFTEN]
GAPS = ["watch", "gaps.csv", "--no-header", "--accept-after", "64", "--save", "model", "--resume"]
GAPS += ["--output", "v.csv", *OFTEN]
TIMETABLES = {
    "a folder": each_day([*RUN, "--exclude", "unit", "--resume", "--output", "s.csv", *OFTEN]),
    "a folder, no output": each_day([*RUN, "--exclude", "unit", "--resume", *OFTEN]),
    "a folder, going on": each_day([*RUN, "--exclude", "unit", "--resume", *OFTEN], ["--model", "model"]),
    "a file that is another each day": [
        {"files": {"today.csv": name}, "command": [*TODAY, *(["--model", "model"] if i else [])]}
        for i, name in enumerate(ALL_DAYS)
    ],
    "a folder, watched": each_day([*WATCH, "--resume", "--output", "v.csv", "--accept-after", "64", *OFTEN]),
    "units of a folder": each_day([*RUN, "--resume", "--output", "s.csv", *UNITS]),
    "units of a folder, watched": each_day(["watch", *RUN[1:], "--resume", "--output", "v.csv", *UNITS]),
    "accepted alarms with gaps": [{"files": {"gaps.csv": "gaps.csv"}, "command": GAPS}],
    "units afresh over what a kill left": at_once([*RUN, "--output", "s.csv", *UNITS]),
    "units afresh after removing": at_once([*RUN, "--output", "s.csv", *UNITS]),
    "watched units afresh over what a kill left": at_once(["watch", *RUN[1:], "--output", "v.csv", *UNITS]),
}
AFRESH = {"over what a kill left": "overwrite", "after removing": "remove"}


@pytest.mark.parametrize(
    ("kind", "kills", "rounds"),
    [
        ("a folder", 1, 1),
        ("accepted alarms with gaps", 1, 1),
        slow("units afresh over what a kill left", 1, 1),
        *(slow(kind, 4, 12 if len(days) > 1 else 40) for kind, days in TIMETABLES.items()),
    ],
)
def test_a_timetable_with_kills_ends_as_one_without(tmp_path, kind, kills, rounds):
    """A week of a folder that grows, alarms accepted, fleets begun afresh: kills change no byte."""
    write_days(tmp_path)
    alarms_with_gaps(tmp_path)
    afresh = next((how for words, how in AFRESH.items() if words in kind), None)
    job = {"days": TIMETABLES[kind], "kills": kills, "rounds": rounds, "seed": len(kind), "afresh": afresh}
    found = carried_out("kill_timetable.py", tmp_path, job)
    assert found["complaints"] == []
    assert found["kills"] > 0


JOBS = {
    "run, CSV": lambda folder: one_file(folder, "scores.csv", overwrite=False),
    "run, NPY": lambda folder: one_file(folder, "scores.npy", overwrite=False),
    "run, Parquet": lambda folder: one_file(folder, "scores.parquet", overwrite=False),
    "run, no output": lambda folder: one_file(folder, None, overwrite=False),
    "run, CSV over another": lambda folder: one_file(folder, "scores.csv", overwrite=True),
    "run, Parquet over another": lambda folder: one_file(folder, "scores.parquet", overwrite=True),
    "several files, CSV": lambda folder: several_files(folder, "several files", "subspace", "scores.csv"),
    "several files, Parquet": lambda folder: several_files(
        folder, "several files", "network", "scores.parquet"
    ),
    "going on, CSV": lambda folder: several_files(folder, "going on", "exact", "scores.csv"),
    "watch, CSV": lambda folder: watching(folder, "v.csv"),
    "watch, JSON": lambda folder: watching(folder, "v.jsonl"),
    "watch, Parquet": lambda folder: watching(folder, "v.parquet"),
}


@pytest.mark.parametrize(
    ("kind", "step", "images"),
    [
        ("run, CSV", 32, 1),
        ("watch, Parquet", 280, 1),
        *(slow(kind, 1, 3) for kind in JOBS if "files" not in kind),
        *(slow(kind, 3, 3) for kind in JOBS if "files" in kind),
    ],
)
def test_after_a_power_cut_it_ends_as_if_nothing_had_happened(tmp_path, kind, step, images):
    job = JOBS[kind](tmp_path) | {"step": step, "seed": 3, "images": images}
    found = carried_out("power_cuts.py", tmp_path, job)
    assert found["complaints"] == []
    assert found["refusals"] == []
    assert found["disks"] >= found["calls"] // step * (4 + images)


def test_on_a_disk_that_forgets_what_it_had_synced_it_is_refused(tmp_path):
    """The harness finds what is lost, and a job that does not find its files says so."""
    job = JOBS["run, CSV"](tmp_path) | {"step": 40, "seed": 3, "images": 3, "forgetful": True}
    found = carried_out("power_cuts.py", tmp_path, job)
    assert found["complaints"] == []
    assert found["refusals"] != []


def carried_out(harness, folder, job):
    """What a harness found, in a process of its own."""
    done = subprocess.run(
        [sys.executable, str(HERE / harness), json.dumps(job)],
        cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=1500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    print(found, done.stderr)
    return found
