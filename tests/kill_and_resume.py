"""Run the command line again and again, killing it each time at a random moment, until it comes to its end.

A program of its own: it loads everything once and forks, so that a try costs milliseconds, not seconds. Takes
a JSON object as its argument: ``command`` (arguments of eigenstream) or several ``commands``, ``kills``,
``seed``, ``shortest`` and ``longest`` life in seconds (short lives come first, so that a fast machine is
killed too before it has finished), ``stdin``, a file to be piped in each time, and
``last``, false to stop with the last kill; ``patience``, seconds for the last try. Prints how many times it
killed.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time

import matplotlib.backends.backend_agg
import matplotlib.figure  # noqa: F401

from eigenstream import OnlineAdaptivePCA
from eigenstream.cli import main
from forks import forked


def start(command, stdin):
    """A child that runs the command; its output is dropped, its errors are ours."""
    feeder = subprocess.Popen(["cat", stdin], stdout=subprocess.PIPE) if stdin else None
    child = forked()
    if child:
        if feeder:
            feeder.stdout.close()
        return child, feeder
    if feeder:
        os.dup2(feeder.stdout.fileno(), 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        main(command, prog_name="eigenstream")
    except SystemExit as left:
        sys.stderr.flush()
        os._exit(left.code or 0)
    os._exit(70)


def ended_within(child, seconds):
    """The child's status if it ends in time, None otherwise."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.001)
    return None


def tried(job, life):
    child, feeder = start(job["command"], job.get("stdin"))
    status = ended_within(child, life)
    if status is None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if feeder:
        feeder.kill()
        feeder.wait()
    return status


def run(job):
    rng = random.Random(job["seed"])
    lives = sorted(rng.uniform(job["shortest"], job["longest"]) for _ in range(job["kills"]))
    for kills, life in enumerate(lives):
        status = tried(job, life)
        if status is not None:
            return kills, status
    return len(lives), tried(job, job.get("patience", 60.0)) if job.get("last", True) else None


if __name__ == "__main__":
    OnlineAdaptivePCA(half_life=50).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]] * 100)  # loads the kernels
    asked, kills, status = json.loads(sys.argv[1]), 0, None
    for command in asked.get("commands") or [asked["command"]]:
        more, status = run(asked | {"command": command})
        kills += more
    print(json.dumps({"kills": kills, "exit": None if status is None else os.waitstatus_to_exitcode(status)}))
