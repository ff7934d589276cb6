"""A job killed, or without power, at each single call that changes a file; and again while it is resumed."""

import json
import subprocess
import sys
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
        ("scores.parquet", True, 24),
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
        ("going on", "exact", "scores.csv", 24),
        ("several files", "subspace", "scores.jsonl", 40),
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
        ("v.csv", "auto", 40),
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
        ("run, CSV", 20, 1),
        ("watch, Parquet", 90, 1),
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
