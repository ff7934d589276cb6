"""Signals and checkpoints of jobs, by the work that is done: after a signal, and for saving."""

import json
import os
import signal
import threading
from contextlib import chdir
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream.cli import main
from eigenstream.jobs import Watcher, waiting
from eigenstream.jobs import job as job_module
from eigenstream.jobs.notices import Notices
from eigenstream.keyed import fleet, models, monitors, open_bank
from tests import jobs
from tests.bank_content import content

KEYS, BATCH, BATCHES = 12, 240, 4
COMMON = ["fleet.csv", "--key", "unit", "--batch-rows", str(BATCH), "--json"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((BATCHES * BATCH, 4)) * [5, 3, 1, 1]
    lines = [f"u{i % KEYS}," + ",".join(map(repr, row)) for i, row in enumerate(X.tolist())]
    Path("fleet.csv").write_text("\n".join(["unit,a,b,c,d", *lines]) + "\n")


class Counted:
    """Counts the rows that models learn, one key at a time, and sends a signal in the middle of a batch."""

    def __init__(self, command, monkeypatch, at):
        self.rows, self.after, self.at = 0, 0, at
        if command == "watch":
            original = monitors.MonitoredModel.follow
            monkeypatch.setattr(
                monitors.MonitoredModel,
                "follow",
                lambda model, rows, *given, **named: self.count(
                    len(rows), lambda: original(model, rows, *given, **named)
                ),
            )
        else:
            monkeypatch.setattr(models, "PART", 1)
            monkeypatch.setattr("eigenstream.keyed.bank.cores", lambda: 1)
            learn = fleet.Fleet.learn
            monkeypatch.setattr(
                fleet.Fleet,
                "learn",
                lambda one, slots, counts, rows, *given, **named: self.count(
                    len(rows), lambda: learn(one, slots, counts, rows, *given, **named)
                ),
            )

    def count(self, rows, learn):
        if self.rows > self.at:
            self.after += rows
        elif self.rows + rows > self.at:
            os.kill(os.getpid(), signal.SIGTERM)
        self.rows += rows
        return learn()


def called(command, *arguments, code=0):
    done = CliRunner().invoke(main, [command, *COMMON, *arguments])
    assert done.exit_code == code, done.output
    return json.loads(done.output.splitlines()[-1])


def samples(path):
    with open_bank(path) as bank:
        return bank.samples


def ends_alike(command, output):
    called(command, "--save", "b.bank", "--output", output, "--resume")
    found = Path(output).read_bytes(), content("b.bank")
    Path("calm").mkdir()
    os.link("fleet.csv", "calm/fleet.csv")
    with chdir("calm"):
        called(command, "--save", "b.bank", "--output", output)
        assert (Path(output).read_bytes(), content("b.bank")) == found


@pytest.mark.parametrize("command", ["run", "watch"])
def test_after_a_signal_no_key_learns_another_row(folder, monkeypatch, command):
    with monkeypatch.context() as patched:
        counted = Counted(command, patched, at=2 * BATCH + 3 * BATCH // KEYS)
        end = called(command, "--save", "b.bank", "--output", "y.csv", code=143)
    assert counted.rows < 3 * BATCH
    assert counted.after == 0
    assert (end["signal"], end["unsaved"], end["learnt"]) == (signal.SIGTERM, 0, 2 * BATCH)
    assert samples("b.bank") == 2 * BATCH  # the batch at hand was given up, all before it is saved
    assert len(Path("y.csv").read_text().splitlines()) == 1 + 2 * BATCH
    ends_alike(command, "y.csv")


@pytest.mark.parametrize("command", ["run", "watch"])
def test_where_saving_would_take_too_long_the_last_checkpoint_stays(folder, monkeypatch, command):
    often = ["--checkpoint-rows", str(2 * BATCH)]
    with monkeypatch.context() as patched:
        patched.setattr(waiting, "GRACE", 0.0)
        Counted(command, patched, at=3 * BATCH + 1)
        end = called(command, "--save", "b.bank", "--output", "y.csv", *often, code=143)
    assert (end["unsaved"], samples("b.bank")) == (BATCH, 2 * BATCH)
    ends_alike(command, "y.csv")


def test_a_signal_in_the_first_batch_leaves_nothing_behind(folder, monkeypatch):
    with monkeypatch.context() as patched:
        Counted("watch", patched, at=BATCH // 2)
        end = called("watch", "--save", "b.bank", "--output", "y.csv", code=143)
    assert (end["learnt"], end["keys"]) == (0, 0)
    assert not Path("b.bank").exists()
    ends_alike("watch", "y.csv")


class Clock(Watcher):
    """A clock by which each batch takes a second, and each save as long as it is told."""

    def __init__(self, seconds):
        self.now, self.seconds, self.saves = 0.0, seconds, 0

    def monotonic(self):
        return self.now

    def learnt(self, model, batch):
        self.now += 1.0

    def saving(self):
        self.now += self.seconds(self.saves)
        self.saves += 1


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(lambda n: 0.0, 40), (lambda n: 0.5, 8), (lambda n: 1.0, 4), (lambda n: 0.1 * 3**n, 4)],
)
def test_checkpoints_take_at_most_a_tenth_of_the_time(tmp_path, monkeypatch, seconds, expected):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.random.default_rng(0).standard_normal((40 * jobs.BATCH, jobs.WIDTH)))
    clock = Clock(seconds)
    monkeypatch.setattr(job_module, "time", SimpleNamespace(monotonic=clock.monotonic))
    with jobs.job(every_rows=None, every_seconds=0.0) as job:
        job.watchers = (clock,)
        outcome = job.run()
    # One model is saved once before it is known how long that takes, and at the end whatever it takes.
    unbound = clock.seconds(0) + clock.seconds(clock.saves - 1)
    assert outcome.saving - unbound <= 0.1 * outcome.seconds
    assert clock.saves == expected + 1


def test_a_number_of_rows_is_obeyed_however_long_saving_takes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jobs.write_sources()
    clock = Clock(lambda n: 100.0)
    monkeypatch.setattr(job_module, "time", SimpleNamespace(monotonic=clock.monotonic))
    with jobs.job(every_rows=jobs.BATCH) as job:
        job.watchers = (clock,)
        job.run()
    assert clock.saves == jobs.ROWS // jobs.BATCH + 1


def test_a_bank_knows_what_a_save_will_take_by_its_changed_keys(folder):
    called("run", "--save", "b.bank")
    with open_bank("b.bank") as bank:
        assert bank.seconds_to_save() == 0.0
        bank.learn_many(["u1"] * 3, np.ones((3, 4)))
        assert bank.seconds_to_save() > 0.0


def test_after_a_signal_nobody_waits_for_notices_that_hang():
    hanging = threading.Event()
    way = SimpleNamespace(name="hanging", tell=lambda content, again: hanging.wait())
    notices = Notices([way])
    notices._messengers[0].send(b"{}")
    notices.stopping()
    notices.wait()  # with the usual patience, half a minute
    assert notices.counts["waiting"] == 1
    hanging.set()
