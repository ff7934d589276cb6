"""A job killed at each single call that changes a file, and once more while it is resumed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from eigenstream.streams import Fault
from tests.plant_files import write_plant

HARNESS = Path(__file__).parent / "kill_at_calls.py"
ENVIRONMENT = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize(
    ("output", "overwrite", "step"),
    [
        ("scores.csv", False, 6),
        ("scores.parquet", True, 12),
        *(
            pytest.param(output, overwrite, 1, marks=pytest.mark.slow)
            for output in ("scores.csv", "scores.npy", "scores.parquet", None)
            for overwrite in (False, True)
        ),
    ],
)
def test_killed_at_any_call_it_ends_as_if_nothing_had_happened(tmp_path, output, overwrite, step):
    X = np.random.default_rng(0).standard_normal((600, 5)) * [5, 3, 1, 1, 1]
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "other.npy", X[::-1])
    options = ["--save", "model", "--quiet", "--batch-rows", "50", "--checkpoint-rows", "150"]
    options += [] if output is None else ["--output", output]
    job = {"command": ["run", "../x.npy", *options], "step": step, "seed": 0}
    if overwrite:
        job["command"].append("--overwrite")
        job["before"] = ["run", "../other.npy", *options]
    ends_as_if_nothing_had_happened(tmp_path, job)


@pytest.mark.parametrize(
    ("kind", "solver", "output", "step"),
    [
        ("going on", "exact", "scores.csv", 12),
        ("several files", "subspace", "scores.jsonl", 20),
        *(
            pytest.param(kind, solver, output, 2, marks=pytest.mark.slow)
            for kind in ("going on", "several files")
            for solver in ("exact", "subspace", "network")
            for output in ("scores.csv", "scores.parquet", None)
        ),
    ],
)
def test_killed_between_files_each_is_learnt_once(tmp_path, kind, solver, output, step):
    X = np.random.default_rng(0).standard_normal((600, 5)) * [5, 3, 1, 1, 1]
    for i in range(3):
        lines = [
            f"{row},u{row % 7}," + ",".join(map(repr, X[row].tolist()))
            for row in range(200 * i, 200 * (i + 1))
        ]
        (tmp_path / f"{i}.csv").write_text("\n".join(["t,unit,a,b,c,d,e", *lines]) + "\n")
    settings = ["--solver", solver, "--keep", "unit", "--time-column", "t", "--batch-rows", "30"]
    options = ["--save", "model", "--quiet", "--checkpoint-rows", "80"]
    options += [] if output is None else ["--output", output, "--residuals"]
    job = {"step": step, "seed": 1}
    if kind == "going on":
        job["base"] = ["run", "../0.csv", *settings, "--save", "model", "--quiet"]
        job["command"] = ["run", "../1.csv", "../2.csv", "--model", "model", *options]
    else:
        job["command"] = ["run", "../0.csv", "../1.csv", "../2.csv", *settings, *options]
    ends_as_if_nothing_had_happened(tmp_path, job)


@pytest.mark.parametrize(
    ("output", "step"),
    [
        ("v.csv", 20),
        *(pytest.param(output, 1, marks=pytest.mark.slow) for output in ("v.csv", "v.parquet", None)),
    ],
)
def test_killed_while_it_watches_nothing_is_judged_twice(tmp_path, output, step):
    write_plant(tmp_path / "plant.csv", 600, [Fault(1, 300, 380), Fault(2, 450, 470)])
    options = ["--time-column", "time", "--save", "model", "--quiet", "--accept-after", "64"]
    options += ["--batch-rows", "50", "--checkpoint-rows", "150"] + (["--output", output] if output else [])
    ends_as_if_nothing_had_happened(
        tmp_path, {"command": ["watch", "../plant.csv", *options], "step": step, "seed": 2}
    )


def ends_as_if_nothing_had_happened(folder, job):
    done = subprocess.run(
        [sys.executable, str(HARNESS), json.dumps(job)],
        cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=1500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["complaints"] == [], done.stderr
    assert found["kills"] >= found["calls"] // job["step"] * 2
