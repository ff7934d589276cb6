"""A keyed job killed, or without power, at each single call that changes a file: the bank and its output."""

import numpy as np
import pytest

from tests.marks import slow
from tests.test_kills import carried_out, ends_as_if_nothing_had_happened

COMMANDS = {"run": "scores.csv", "watch": "verdicts.csv"}


def keyed_job(folder, command, *, overwrite):
    """A job over nine units, of which three stay in memory; perhaps in a folder with the bank of another."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((360, 4)) * [5, 3, 1, 1]
    lines = [
        f"u{unit}," + ",".join(map(repr, row))
        for unit, row in zip(rng.integers(0, 9, 360), X.tolist(), strict=True)
    ]
    for name, order in (("fleet", lines), ("other", lines[::-1])):
        (folder / f"{name}.csv").write_text("\n".join(["unit,a,b,c,d", *order]) + "\n")
    options = ["--key", "unit", "--save", "model", "--output", COMMANDS[command], "--quiet"]
    options += ["--batch-rows", "30", "--checkpoint-rows", "90", "--max-models", "3"]
    job = {"command": [command, "../fleet.csv", *options]}
    if overwrite:
        job["command"].append("--overwrite")
        job["before"] = [command, "../other.csv", *options]
    return job


@pytest.mark.parametrize(
    ("command", "overwrite", "step"),
    [
        ("run", False, 59),
        slow("watch", True, 67),
        *(slow(command, overwrite, 1) for command in COMMANDS for overwrite in (False, True)),
    ],
)
def test_killed_at_any_call_a_bank_ends_as_if_nothing_had_happened(tmp_path, command, overwrite, step):
    job = keyed_job(tmp_path, command, overwrite=overwrite) | {"step": step, "seed": 5}
    ends_as_if_nothing_had_happened(tmp_path, job)


@pytest.mark.parametrize(
    ("command", "overwrite", "step", "images"),
    [
        ("run", False, 83, 1),
        *(slow(command, overwrite, 1, 3) for command in COMMANDS for overwrite in (False, True)),
    ],
)
def test_after_a_power_cut_a_bank_ends_as_if_nothing_had_happened(tmp_path, command, overwrite, step, images):
    job = keyed_job(tmp_path, command, overwrite=overwrite) | {"step": step, "seed": 6, "images": images}
    found = carried_out("power_cuts.py", tmp_path, job)
    assert found["complaints"] == []
    assert found["refusals"] == []
    assert found["disks"] >= found["calls"] // step * (4 + images)
