"""Kill a job at each single call that changes a file, resume it, kill it again, and compare the end.

A program of its own: it loads everything once and forks for each try. Takes a JSON object as its argument:
``command`` (arguments of eigenstream; the model is called ``model``), ``before`` (a command whose results lie
in the folder already), ``base`` (a command that the job goes on from), ``step`` (every how many calls) and
``seed``. Works in the current folder. Prints how many kills there were and what went wrong.
"""

import json
import os
import random
import shutil
import signal
import sys
import traceback
from functools import partial
from pathlib import Path

import numpy as np

import bank_content
import eigenstream.io.sinks.parquet
import eigenstream.jobs
from eigenstream.cli import main
from eigenstream.model import StreamModel
from forks import forked

CALLS = ("open", "write", "pwrite", "fsync", "replace", "link", "ftruncate", "unlink", "mkdir")
MOMENTS = ("before", "after", "torn")
EARLIER = Path("../earlier/.model.job")


class Killer:
    """Counts calls that change files, and ends the process before, after or in the middle of one of them."""

    def __init__(self, at, moment):
        self.calls, self.at, self.moment = [], at, moment
        for name in CALLS:
            setattr(os, name, self.watched(name, getattr(os, name)))

    def watched(self, name, original):
        def call(*arguments, **options):
            if name == "open" and not arguments[1] & os.O_CREAT:
                return original(*arguments, **options)
            self.calls.append(name)
            if len(self.calls) != self.at:
                return original(*arguments, **options)
            if self.moment == "after":
                original(*arguments, **options)
            if self.moment == "torn" and name in ("write", "pwrite"):
                original(arguments[0], memoryview(arguments[1])[: len(arguments[1]) // 2], *arguments[2:])
            os.kill(os.getpid(), signal.SIGKILL)
            return None

        return call


def carry_out(command, install=None):
    """Run in a child; returns its exit code (negative: killed) and, if it came to its end, its calls.

    ``install`` is called in the child before the command, and returns something with ``calls``.
    """
    reading, writing = os.pipe()
    child = forked()
    if child:
        os.close(writing)
        with os.fdopen(reading) as told:
            said = told.read()
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status), json.loads(said or "[]")
    write = os.write
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        installed = install() if install else None
        main(command, prog_name="eigenstream")
        code = 70
    except SystemExit as left:
        code = left.code or 0
    except BaseException:
        traceback.print_exc()
        code = 71
    sys.stderr.flush()
    write(writing, json.dumps(installed.calls if installed else []).encode())
    os._exit(code)


def content(folder):
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file() and path.name not in (".model.job", ".model.lock"):
            found[str(path.relative_to(folder))] = bank_content.content(path)
    return found


def prepared():
    """An empty folder, or one with the results of an earlier job."""
    shutil.rmtree("tried", ignore_errors=True)
    if Path("earlier").exists():
        shutil.copytree("earlier", "tried")
    else:
        os.mkdir("tried")
    os.chdir("tried")


def again(command):
    """The same command, to be resumed; once more as it was, if it has not begun to replace anything."""
    if "--model" in command:
        return [*command, "--resume"]
    notes = [path.read_bytes() if path.exists() else None for path in (Path(".model.job"), EARLIER)]
    if EARLIER.parent.exists() and notes[0] == notes[1]:
        return command
    return [word for word in command if word != "--overwrite"] + ["--resume"]


def tried(job, at, moment, rng, expected):
    """Two kills and a run to the end; returns how many kills there were and a complaint, if any."""
    prepared()
    try:
        first, _ = carry_out(job["command"], partial(Killer, at, moment))
        second, _ = carry_out(
            again(job["command"]), partial(Killer, rng.randrange(1, 40), rng.choice(MOMENTS))
        )
        last, _ = carry_out(again(job["command"]))
        found = content(".")
    finally:
        os.chdir("..")
    kills = (first < 0) + (second < 0)
    if last != 0:
        return kills, f"killed {moment} call {at}, then {second}: ends with {last}"
    wrong = {name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)}
    return kills, f"killed {moment} call {at}, then {second}: differs in {sorted(wrong)}" if wrong else None


def calm(job):
    """What a folder holds after a job that nothing happened to; also makes that with earlier results."""
    os.mkdir("calm")
    os.chdir("calm")
    if job.get("base"):
        assert carry_out(job["base"])[0] == 0
    assert carry_out(job["command"])[0] == 0
    os.chdir("..")
    earlier = job.get("before") or job.get("base")
    if earlier:
        os.mkdir("earlier")
        os.chdir("earlier")
        assert carry_out(earlier)[0] == 0
        os.chdir("..")
    return content("calm")


def run(job):
    rng, expected = random.Random(job["seed"]), calm(job)
    prepared()
    code, calls = carry_out(job["command"], partial(Killer, None, None))
    os.chdir("..")
    assert code == 0
    kills, complaints = 0, []
    for at in range(1, len(calls) + 1, job["step"]):
        for moment in MOMENTS if calls[at - 1] == "write" else MOMENTS[:2]:
            more, complaint = tried(job, at, moment, rng, expected)
            kills += more
            complaints += [complaint] if complaint else []
    return {"calls": len(calls), "kills": kills, "complaints": complaints}


def load_everything(job):
    """So that forks need not; and parts so small that a job has several."""
    eigenstream.io.sinks.parquet.PART = 128
    solver = "network" if "network" in job["command"] else "auto"
    StreamModel(half_life=50, solver=solver).partial_fit(np.eye(3)[np.arange(300) % 3])


if __name__ == "__main__":
    wanted = json.loads(sys.argv[1])
    load_everything(wanted)
    print(json.dumps(run(wanted)))
